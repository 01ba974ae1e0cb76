//! `shardc partition`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::Stage;
use shardc_passes::cost::traffic::summarize;

use crate::args::{Emit, PartitionArgs};
use crate::job;
use crate::output::Outputs;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(crate) fn run(args: &PartitionArgs, ui: &Ui) -> Result<ExitCode> {
    let manifest = args.manifest.as_deref().map(|path| ("--manifest", path));
    let named = args.how.outputs(&[Some(("--output", &args.output)), manifest]);
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let mut job = job::partition(&args.input, &args.how, ui)?;
    job.progress.stage(Stage::Print.as_str());
    let program = match args.emit {
        Emit::Pretty => job.output.text().into_bytes(),
        Emit::Generic => job.output.generic_text().into_bytes(),
        Emit::Bytecode => job.output.bytecode().map_err(|e| job.source.explain(&e))?,
    };
    job.progress.finish(&mut outputs, args.how.timings.as_deref())?;
    outputs.put(&args.output, program)?;
    if let Some(path) = &args.manifest {
        outputs.put(path, format!("{}\n", job.output.manifest().to_json()))?;
    }
    outputs.commit()?;
    if args.summary {
        let rows = summarize(&job.output.module);
        let cleaned = job.output.cleaned.text();
        let text = || {
            let mut table = Table::new(&["collective", ">count", ">in loops", ">sent per device"]);
            for row in &rows {
                let (count, in_loops) = (row.count.to_string(), row.in_loops.to_string());
                table.row(vec![row.kind.clone(), count, in_loops, bytes(row.bytes_sent)]);
            }
            let table = ui.summary_table(&table);
            match cleaned.as_str() {
                "" => table,
                cleaned => format!("{table}cleaned up: {cleaned}\n"),
            }
        };
        ui.summary(text, || {
            let collectives = rows.iter().map(|row| {
                json!({ "kind": row.kind, "count": row.count, "in_loops": row.in_loops, "bytes_sent": row.bytes_sent })
            });
            json!({ "collectives": collectives.collect::<Vec<_>>(), "cleaned": cleaned })
        });
    }
    Ok(ExitCode::SUCCESS)
}
