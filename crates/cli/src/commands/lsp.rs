//! `shardc lsp`

use std::process::ExitCode;

use anyhow::Result;

use crate::args::LspArgs;
use crate::job;
use crate::target;

pub(crate) fn run(args: &LspArgs) -> Result<ExitCode> {
    let compiler = job::with_rules(job::compiler(&args.annotations, None)?, &args.rules)?;
    let compiler = target::configure(compiler, args.target.chosen()?.as_ref());
    shardc_lsp::serve_stdio(&compiler)?;
    Ok(ExitCode::SUCCESS)
}
