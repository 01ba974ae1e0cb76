//! `shardc opt`

use std::process::ExitCode;

use anyhow::Result;
use shardc::passes::pipeline::{PASSES, PassContext, find};
use shardc::{Compiler, Error};

use crate::args::OptArgs;
use crate::io::{self, Source, usage};
use crate::table::Table;

pub(crate) fn run(args: &OptArgs) -> Result<ExitCode> {
    if args.passes.iter().any(|p| p == "list") {
        let mut table = Table::new(&["pass", "what it does"]);
        for pass in PASSES {
            table.row(vec![pass.name.into(), pass.about.into()]);
        }
        io::print(&table)?;
        return Ok(ExitCode::SUCCESS);
    }
    let passes = args
        .passes
        .iter()
        .map(|name| {
            let name = name.trim().trim_start_matches('-');
            find(name).ok_or_else(|| {
                usage(format!("no pass is called {name}; `shardc opt --passes list` shows them"))
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let Some(input) = &args.input else {
        return Err(usage("which program? `shardc opt FILE --passes PASSES`, or - for the standard input"));
    };
    let source = Source::read(input)?;
    let mut module = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    let context = PassContext { mode: args.spmd_mode.into() };
    for pass in passes {
        let warnings =
            (pass.run)(&mut module, &context).map_err(|e| source.explain(&Error::Diagnostics(e)))?;
        source.warn(&warnings);
        shardc::ir::verify(&module)
            .map_err(|e| source.explain(&Error::Diagnostics(e)).context(format!("after {}", pass.name)))?;
    }
    let text = shardc::stablehlo::print(&module, &shardc::stablehlo::PrintOptions::default());
    io::write(&args.output, text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
