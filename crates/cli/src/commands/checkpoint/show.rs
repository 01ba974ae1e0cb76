//! `shardc checkpoint show`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::checkpoint::{Entry, Sharding};

use super::source::{self, Opened};
use crate::args::checkpoint::StepPlaceArgs;
use crate::checkpoints::options;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(super) fn run(args: &StepPlaceArgs, ui: &Ui) -> Result<ExitCode> {
    let options = options(&args.place.store.options)?;
    let opened = Opened::new(&args.place.place, &options, args.step, args.item.as_deref())?;
    let (entries, info) = (opened.source().arrays(), opened.source().about());
    let size: u64 = entries.iter().map(source::bytes).sum();
    let text = || {
        let mut table = Table::new(&["array", "type", ">blocks", "block", "mesh", "spec"]);
        for entry in &entries {
            let (mesh, spec) = entry.sharding.as_ref().map(words).unwrap_or_default();
            table.row(vec![
                entry.name.clone(),
                format!("{}[{}]", entry.dtype, sizes(&entry.shape)),
                entry.blocks().len().to_string(),
                sizes(&entry.block),
                mesh,
                spec,
            ]);
        }
        let mut text = ui.table(&table);
        text.push_str(&format!(
            "{}: {} arrays, {}, {}\n",
            opened.place(),
            entries.len(),
            bytes(size),
            opened.origin()
        ));
        let step = info.step.map(|step| ("step", step.to_string()));
        let program = info.program.clone().map(|program| ("program", program));
        for (key, value) in step.into_iter().chain(program) {
            text.push_str(&format!("{key}: {value}\n"));
        }
        info.notes.iter().for_each(|(key, value)| text.push_str(&format!("{key}: {value}\n")));
        text
    };
    ui.result(text, || {
        let array = |entry: &Entry| {
            json!({
                "name": entry.name,
                "dtype": entry.dtype.as_str(),
                "shape": entry.shape,
                "block": entry.block,
                "blocks": entry.blocks().len(),
                "mesh": entry.sharding.as_ref().map(|sharding| &sharding.mesh),
                "spec": entry.sharding.as_ref().map(|sharding| &sharding.spec),
            })
        };
        json!({
            "version": 1,
            "place": opened.place(),
            "step": info.step,
            "program": info.program,
            "notes": info.notes,
            "processes": opened.processes(),
            "bytes": size,
            "arrays": entries.iter().map(array).collect::<Vec<Value>>(),
        })
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Sizes as in `4, 8`.
fn sizes(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// A mesh and a spec in the syntax of the command line.
fn words(sharding: &Sharding) -> (String, String) {
    let mesh: Vec<String> = sharding.mesh.iter().map(|(axis, size)| format!("{axis}={size}")).collect();
    let dim = |axes: &Vec<String>| if axes.is_empty() { "-".to_owned() } else { axes.join("+") };
    (mesh.join(","), sharding.spec.iter().map(dim).collect::<Vec<_>>().join(","))
}
