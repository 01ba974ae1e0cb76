//! `shardc propagate`

use std::process::ExitCode;

use anyhow::Result;
use shardc::Compiler;

use crate::args::PropagateArgs;
use crate::io::{self, Source};

pub(crate) fn run(args: &PropagateArgs) -> Result<ExitCode> {
    let compiler = io::compiler(&args.input, None)?;
    let source = Source::read(&args.input.input)?;
    let propagated = Compiler::read(&source.bytes)
        .and_then(|module| compiler.propagate(module))
        .and_then(|propagated| if args.emit_gspmd { propagated.into_gspmd() } else { Ok(propagated) })
        .map_err(|e| source.explain(&e))?;
    source.warn(&propagated.warnings);
    io::write(&args.output, propagated.text().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
