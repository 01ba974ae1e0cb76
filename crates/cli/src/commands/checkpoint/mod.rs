//! `shardc checkpoint`

mod reshard;
mod show;
mod source;

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::checkpoint::{Checkpoint, CheckpointError, Damage, Difference, diff, items, steps};

use self::source::Opened;
use super::{consolidate, convert};
use crate::args::checkpoint::{CheckpointArgs, CheckpointCommand, DiffArgs, PlaceArgs, VerifyCheckpointArgs};
use crate::checkpoints::{failure, line, options, store, try_open};
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(crate) fn run(args: &CheckpointArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.command {
        CheckpointCommand::Ls(args) => list(args, ui),
        CheckpointCommand::Show(args) => show::run(args, ui),
        CheckpointCommand::Verify(args) => verify(args, ui),
        CheckpointCommand::Diff(args) => compare(args, ui),
        CheckpointCommand::Reshard(args) => reshard::run(args, ui),
        CheckpointCommand::Consolidate(args) => consolidate::run(args, ui),
        CheckpointCommand::Convert(args) => convert::run(args, ui),
    }
}

fn list(args: &PlaceArgs, ui: &Ui) -> Result<ExitCode> {
    let store = store(&args.place, &options(&args.store.options)?)?;
    let numbers = steps(&store, "").map_err(failure)?;
    // The item name is empty if the step has no named items.
    let mut all: Vec<(u64, String, Result<Checkpoint, CheckpointError>)> = Vec::new();
    for step in numbers {
        let path = step.to_string();
        let items = items(&store, &path).map_err(failure)?;
        if items.iter().all(|item| item == "default") {
            all.push((step, String::new(), Checkpoint::open(&store, &path)));
            continue;
        }
        for item in items {
            let checkpoint = Checkpoint::open_item(&store, &path, Some(&item));
            all.push((step, item, checkpoint));
        }
    }
    let has_items = all.iter().any(|(_, item, _)| !item.is_empty());
    let text = || {
        let step_columns = if has_items { vec![">step", "item"] } else { vec![">step"] };
        let columns = [step_columns, vec![">arrays", ">size", ">processes", "program"]].concat();
        let mut table = Table::new(&columns);
        for (step, item, checkpoint) in &all {
            let cells = match checkpoint {
                Ok(checkpoint) => vec![
                    checkpoint.entries().len().to_string(),
                    bytes(checkpoint.bytes()),
                    checkpoint.processes().map_or_else(|| "Orbax".to_owned(), |n| n.to_string()),
                    checkpoint.info().program.clone().unwrap_or_default(),
                ],
                Err(error) => vec![String::new(), String::new(), String::new(), error.to_string()],
            };
            let item = has_items.then(|| item.clone());
            table.row([vec![step.to_string()], item.into_iter().collect(), cells].concat());
        }
        if all.is_empty() { format!("{}: no steps\n", args.place) } else { ui.table(&table) }
    };
    ui.result(text, || {
        let steps = all.iter().map(|(step, item, checkpoint)| {
            let mut value = match checkpoint {
                Ok(checkpoint) => json!({
                    "step": step,
                    "arrays": checkpoint.entries().len(),
                    "bytes": checkpoint.bytes(),
                    "processes": checkpoint.processes(),
                    "program": checkpoint.info().program,
                }),
                Err(error) => json!({ "step": step, "error": error.to_string(), "code": error.code() }),
            };
            if !item.is_empty() {
                value["item"] = json!(item);
            }
            value
        });
        json!({ "version": 1, "steps": steps.collect::<Vec<Value>>() })
    })?;
    Ok(ExitCode::SUCCESS)
}

fn verify(args: &VerifyCheckpointArgs, ui: &Ui) -> Result<ExitCode> {
    let place = &args.place.place.place;
    if !args.all && shardc::statedict::is_state_dict(place.as_ref()) {
        return source::verify(place, ui);
    }
    let mut checked: Vec<(String, Vec<Damage>)> = Vec::new();
    let mut check = |place: String, checkpoint: Result<Checkpoint, CheckpointError>| -> Result<()> {
        let damages = checkpoint.and_then(|checkpoint| checkpoint.verify(None));
        match damages {
            Ok(damages) | Err(CheckpointError::Damaged(damages)) => checked.push((place, damages)),
            Err(CheckpointError::Metadata { path, reason }) => {
                checked.push((place, vec![Damage { entry: String::new(), object: path, what: reason }]));
            }
            Err(error) => return Err(failure(error)),
        }
        Ok(())
    };
    let mut progress = ui.progress();
    progress.stage("verify");
    if args.all {
        let store = store(&args.place.place.place, &options(&args.place.place.store.options)?)?;
        for step in steps(&store, "").map_err(failure)? {
            check(step.to_string(), Checkpoint::open(&store, &step.to_string()))?;
        }
    } else {
        let place = &args.place.place;
        check(
            place.place.clone(),
            try_open(
                &place.place,
                &options(&place.store.options)?,
                args.place.step,
                args.place.item.as_deref(),
            )?,
        )?;
    }
    progress.finish();
    let is_good = checked.iter().all(|(_, damages)| damages.is_empty());
    let text = || {
        let mut text = String::new();
        for (place, damages) in &checked {
            match damages.as_slice() {
                [] => text.push_str(&format!("{place}: all data is intact\n")),
                _ => damages.iter().for_each(|d| text.push_str(&format!("{place}: {}\n", line(d)))),
            }
        }
        text
    };
    ui.result(text, || {
        let damage = |d: &Damage| json!({ "array": d.entry, "object": d.object, "what": d.what });
        let checkpoints = checked.iter().map(|(place, damages)| {
            json!({ "place": place, "damages": damages.iter().map(damage).collect::<Vec<_>>() })
        });
        json!({ "version": 1, "checkpoints": checkpoints.collect::<Vec<_>>() })
    })?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    let options = options(&args.store.options)?;
    let mut progress = ui.progress();
    progress.stage("compare");
    let item = args.item.as_deref();
    let first = Opened::new(&args.first, &options, None, item)?;
    let second = Opened::new(&args.second, &options, None, item)?;
    let found = diff(first.source(), second.source(), !args.types_only).map_err(failure)?;
    progress.finish();
    let text = || {
        let line = |difference: &Difference| match difference {
            Difference::OnlyFirst(name) => format!("- {name}\n"),
            Difference::OnlySecond(name) => format!("+ {name}\n"),
            Difference::Type { name, first, second } => {
                format!("! {name}: {first} in the first checkpoint, {second} in the second\n")
            }
            Difference::Values { name, elements, of } => format!("~ {name}: {elements} of {of} elements\n"),
        };
        found.iter().map(line).collect()
    };
    ui.result(text, || {
        let object = |difference: &Difference| match difference {
            Difference::OnlyFirst(name) => json!({ "array": name, "kind": "only-first" }),
            Difference::OnlySecond(name) => json!({ "array": name, "kind": "only-second" }),
            Difference::Type { name, first, second } => {
                json!({ "array": name, "kind": "type", "first": first, "second": second })
            }
            Difference::Values { name, elements, of } => {
                json!({ "array": name, "kind": "values", "elements": elements, "of": of })
            }
        };
        json!({ "version": 1, "differences": found.iter().map(object).collect::<Vec<_>>() })
    })?;
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
