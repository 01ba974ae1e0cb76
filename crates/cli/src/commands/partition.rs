//! `shardc partition`

use std::process::ExitCode;

use anyhow::Result;
use shardc::Stage;
use shardc::passes::summary::summarize;

use crate::args::{Emit, PartitionArgs};
use crate::io;
use crate::table::{Table, bytes};

pub(crate) fn run(args: &PartitionArgs) -> Result<ExitCode> {
    let mut job = io::partition(&args.input, &args.how)?;
    job.progress.stage(Stage::Print.as_str());
    let program = match args.emit {
        Emit::Pretty => job.output.text().into_bytes(),
        Emit::Generic => job.output.generic_text().into_bytes(),
        Emit::Bytecode => job.output.bytecode().map_err(|e| job.source.explain(&e))?,
    };
    job.progress.finish(args.how.timings.as_deref())?;
    io::write(&args.output, &program)?;
    if let Some(path) = &args.manifest {
        io::write(path, format!("{}\n", job.output.manifest.to_json()).as_bytes())?;
    }
    if args.summary {
        let mut table = Table::new(&["collective", ">count", ">in loops", ">sent per device"]);
        for row in summarize(&job.output.module) {
            table.row(vec![row.kind, row.count.to_string(), row.in_loops.to_string(), bytes(row.bytes_sent)]);
        }
        eprint!("{table}");
        let cleaned = job.output.cleaned.text();
        if !cleaned.is_empty() {
            eprintln!("cleaned up: {cleaned}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
