//! `shardc partition`

use std::borrow::Cow;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::plan::seconds_text;
use shardc::prove::{Certificate, Options, Report, Verdict};
use shardc::{Compiler, Output, Stage};
use shardc_passes::cost::traffic::summarize;

use super::{memory, prove};
use crate::args::{Emit, Mode, PartitionArgs};
use crate::failure::Failure;
use crate::job::{self, Job, Ran};
use crate::output::Outputs;
use crate::target::Chosen;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(crate) fn run(args: &PartitionArgs, ui: &Ui) -> Result<ExitCode> {
    let manifest = args.manifest.as_deref().map(|path| ("--manifest", path));
    let certificate = args.certificate.as_deref().map(|path| ("--certificate", path));
    let named = args.how.outputs(&[Some(("--output", &args.output)), manifest, certificate]);
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let mut how = args.how.for_machine(args.target.chosen()?);
    if args.manual_computation {
        how.spmd_mode.get_or_insert(Mode::Partition);
    }
    let mut job = match job::partition_until(&args.input, &how, Some(&args.stop), ui)? {
        Ran::Whole(job) => job,
        Ran::Stopped(module, times) => {
            if let Some(path) = &args.how.observe.timings {
                outputs.put(path, times)?;
            }
            let options = args.form.print_options(module.has_locations());
            outputs.put(&args.output, shardc_stablehlo::print(&module, &options))?;
            return outputs.commit().map(|()| ExitCode::SUCCESS);
        }
    };
    check_devices(how.machine.as_ref(), &job.output)?;
    job.progress.stage(Stage::Print.as_str());
    let program = program(args, &job.output).map_err(|e| job.source.explain(&e))?;
    job.finish(&mut outputs, &args.how, ui)?;
    outputs.put(&args.output, program)?;
    if let Some(path) = &args.manifest {
        outputs.put(path, format!("{}\n", job.output.manifest().to_json()))?;
    }
    let proof = proof(args, &job)?;
    if let Some((path, (_, Some(certificate)))) = args.certificate.as_deref().zip(proof.as_ref()) {
        outputs.put(path, prove::certificate_text(certificate)?)?;
    }
    outputs.commit()?;
    if args.summary {
        summary(&job.output, args.how.memory.filter(|&limit| limit > 0), ui);
    }
    if args.at_peak {
        at_peak(&job.output, ui);
    }
    let mut code = ExitCode::SUCCESS;
    if let Some((report, _)) = &proof {
        if args.prove {
            ui.summary(
                || prove::text(report, &job.source, ui),
                || json!({ "proof": prove::document(report, &job.source) }),
            );
        }
        if report.verdict == Verdict::Refuted {
            code = ExitCode::FAILURE;
        }
    }
    // Since the process exits next, freeing the memory of the job would only take time.
    std::mem::forget(job);
    Ok(code)
}

/// Checks the partition if the options ask for it, and describes its values if they ask for a certificate.
fn proof(args: &PartitionArgs, job: &Job) -> Result<Option<(Report, Option<Certificate>)>> {
    if !args.prove && args.certificate.is_none() {
        return Ok(None);
    }
    let explained = |error| job.source.explain(&error);
    let original = Compiler::read(&job.source.bytes).map_err(explained)?;
    let (module, manifest, options) = (&job.output.module, job.output.manifest(), Options::default());
    let found = match args.certificate {
        None => shardc::prove::prove(&original, module, &manifest, &options).map(|report| (report, None)),
        Some(_) => shardc::prove::certify(&original, module, &manifest, &options)
            .map(|(report, certificate)| (report, Some(certificate))),
    };
    found.map(Some).map_err(explained)
}

/// Returns the partitioned program in the form of the options.
fn program(args: &PartitionArgs, output: &Output) -> Result<Vec<u8>, shardc::Error> {
    let module = match args.manual_computation {
        true => Cow::Owned(output.manual_computation()?),
        false => Cow::Borrowed(&output.module),
    };
    match (args.form.emit, &module) {
        (Emit::Pretty | Emit::Generic, module) => {
            let options = args.form.print_options(module.has_locations());
            Ok(shardc_stablehlo::print(module, &options).into_bytes())
        }
        (Emit::Bytecode, Cow::Owned(module)) => Compiler::write_bytecode(module),
        (Emit::Bytecode, Cow::Borrowed(_)) => output.bytecode(),
        (Emit::Artifact(version), Cow::Owned(module)) => Compiler::write_artifact(module, version),
        (Emit::Artifact(version), Cow::Borrowed(_)) => output.artifact(version),
    }
}

/// Checks that the mesh has as many devices as the target, if that is known.
pub(super) fn check_devices(machine: Option<&Chosen>, output: &Output) -> Result<()> {
    let Some(Chosen::Target(target)) = machine else { return Ok(()) };
    let (mesh, devices) = (output.num_devices(), target.num_devices());
    if mesh == devices {
        return Ok(());
    }
    let message = format!("the mesh has {mesh} devices, but the target {target} has {devices}");
    let hint = format!("use a mesh of {devices} devices, or a target with {mesh}");
    Err(Failure::Usage { message, hint: Some(hint) }.into())
}

/// Prints the collectives of the program, and the memory of a device.
fn summary(output: &Output, limit: Option<u64>, ui: &Ui) {
    let rows = summarize(&output.module);
    let cleaned = output.cleaned.text();
    let memory = output.memory();
    let text = || {
        let mut table = Table::new(&["collective", ">count", ">in loops", ">runs", ">sent per device"]);
        for row in &rows {
            let [count, in_loops] = [row.count, row.in_loops].map(|n| n.to_string());
            table.row(vec![row.kind.clone(), count, in_loops, row.runs.to_string(), bytes(row.bytes_in_run)]);
        }
        if !rows.is_empty() {
            let count: u64 = rows.iter().map(|row| row.count as u64).sum();
            let in_loops: u64 = rows.iter().map(|row| row.in_loops as u64).sum();
            let runs: u64 = rows.iter().map(|row| row.runs).fold(0, u64::saturating_add);
            let sent = rows.iter().map(|row| row.bytes_in_run).fold(0, u64::saturating_add);
            let [count, in_loops, runs] = [count, in_loops, runs].map(|n| n.to_string());
            table.row(vec!["total".to_owned(), count, in_loops, runs, bytes(sent)]);
        }
        let host = match memory.host {
            0 => String::new(),
            host => format!("; host memory: {}", bytes(host)),
        };
        let fits = match limit {
            None => String::new(),
            Some(limit) if memory.high <= limit => {
                format!("fits in {}, with {} left\n", bytes(limit), bytes(limit - memory.high))
            }
            Some(limit) => {
                format!("does not fit in {}: {} more are needed\n", bytes(limit), bytes(memory.high - limit))
            }
        };
        let needs = format!(
            "estimated memory of a device: arguments {}, outputs {} ({} in place), temporaries {}, peak {}{host}\n{fits}",
            bytes(memory.arguments),
            bytes(memory.outputs),
            bytes(memory.aliases),
            bytes(memory.temporaries),
            bytes(memory.peak)
        );
        let order = output.device_order.as_ref().map_or_else(String::new, |order| {
            let [before, after] = [order.before, order.after].map(seconds_text);
            format!("order of devices: collectives take {after} instead of {before}\n")
        });
        let table = format!("{}{order}{needs}", ui.summary_table(&table));
        match cleaned.as_str() {
            "" => table,
            cleaned => format!("{table}collectives cleaned up: {cleaned}\n"),
        }
    };
    ui.summary(text, || {
        let collectives = rows.iter().map(|row| {
            json!({
                "kind": row.kind,
                "count": row.count,
                "in_loops": row.in_loops,
                "runs": row.runs,
                "bytes_sent": row.bytes_sent,
                "bytes_in_run": row.bytes_in_run,
            })
        });
        let mut memory = memory::json(&memory);
        memory["limit"] = json!(limit);
        json!({
            "collectives": collectives.collect::<Vec<_>>(),
            "memory": memory,
            "total_bytes_in_run": rows.iter().map(|row| row.bytes_in_run).fold(0, u64::saturating_add),
            "cleaned": cleaned,
        })
    });
}

/// The maximum number of values that `--at-peak` prints as text.
const SHOWN: usize = 20;

/// Prints the values that are live at the memory peak.
fn at_peak(output: &Output, ui: &Ui) {
    let all = output.at_peak();
    let text = || {
        let mut table = Table::new(&[">bytes", ">count", "type", "produced by", "live until"]);
        let place = |op: &str, at: Option<&str>| at.map_or(op.to_owned(), |at| format!("{op} {at}"));
        for it in all.iter().take(SHOWN) {
            table.row(vec![
                bytes(it.bytes),
                it.count.to_string(),
                it.ty.clone(),
                place(&it.made_by, it.made_at.as_deref()),
                place(&it.kept_until, it.kept_until_at.as_deref()),
            ]);
        }
        let left = all.iter().skip(SHOWN).map(|it| it.bytes).fold(0, u64::saturating_add);
        let rest = match all.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!("and {n} more with {}\n", bytes(left)),
        };
        format!("temporaries at the memory peak of a device:\n{}{rest}", ui.summary_table(&table))
    };
    ui.summary(text, || {
        let temporaries = all.iter().map(|it| {
            json!({
                "bytes": it.bytes,
                "count": it.count,
                "tensor": it.ty,
                "made_by": it.made_by,
                "made_at": it.made_at,
                "kept_until": it.kept_until,
                "kept_until_at": it.kept_until_at,
            })
        });
        json!({ "at_peak": temporaries.collect::<Vec<_>>() })
    });
}
