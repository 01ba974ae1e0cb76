//! `shardc lora`

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::lora::{self, Adapted, AdapterConfig, LinearMap, Lora, Merge, Targets};
use shardc::{Compiler, Module};
use shardc_ir::suggest::EXPORT_NAMES;

use super::printed;
use crate::args::LoraArgs;
use crate::failure::usage;
use crate::job::specialize;
use crate::output::Outputs;
use crate::source::Source;
use crate::ui::Ui;
use crate::ui::table::Table;

pub(crate) fn run(args: &LoraArgs, ui: &Ui) -> Result<ExitCode> {
    let mut named: Vec<(&str, &Path)> = vec![("--output", &args.to.output)];
    let others = [
        ("--init", &args.init),
        ("--merge", &args.merge),
        ("--unmerge", &args.unmerge),
        ("--save-config", &args.save_config),
    ];
    named.extend(others.iter().filter_map(|&(option, path)| Some((option, path.as_deref()?))));
    let mut outputs = Outputs::plan(&named, &[("the input", &args.input)])?;
    let lora = settings(args)?;
    let source = Source::read(&args.input)?;
    let mut progress = ui.progress();
    progress.stage("read");
    let mut module = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    specialize(&mut module, args.entry.as_deref(), &args.symbolic, &source)?;
    let (located, unnamed) = (module.has_locations(), module.has_no_argument_names());
    progress.stage("adapt");
    let roles: Vec<&str> = args.role.iter().map(String::as_str).collect();
    let adapted = lora::adapt(&mut module, &lora, &roles).map_err(|e| source.explain(&e))?;
    progress.stage("print");
    let mut programs = vec![(args.to.output.as_path(), printed(&module, args.to.form, located))];
    if let Some(path) = &args.init {
        programs.push((
            path,
            lora::initial(&module, &adapted).and_then(|made| printed(&made, args.to.form, located)),
        ));
    }
    for (path, merge) in [(&args.merge, Merge::Into), (&args.unmerge, Merge::OutOf)] {
        if let Some(path) = path {
            let made = lora::merged(&module, &adapted, &lora, merge);
            programs.push((path, made.and_then(|made| printed(&made, args.to.form, located))));
        }
    }
    for (path, program) in programs {
        outputs.put(path, program.map_err(|e| source.explain(&e))?)?;
    }
    if let Some(path) = &args.save_config {
        outputs.put(path, AdapterConfig { lora }.to_json().into_bytes())?;
    }
    progress.finish();
    ui.warn(&source, &adapted.warnings);
    outputs.commit()?;
    tell(&adapted, &module, unnamed, ui);
    Ok(ExitCode::SUCCESS)
}

/// Returns the settings of the adapters, from the options or from PEFT's configuration file.
fn settings(args: &LoraArgs) -> Result<Lora> {
    if let Some(path) = &args.config {
        let source = Source::read(path)?;
        return Ok(AdapterConfig::parse(&source.text()).map_err(|e| source.explain(&e))?.lora);
    }
    let targets: Targets = args.targets.parse().map_err(|error| usage(format!("--targets: {error}")))?;
    Ok(Lora {
        dropout: args.dropout,
        rank_stabilized: args.rslora,
        targets,
        ..Lora::new(args.rank, args.alpha.unwrap_or(args.rank as f64))
    })
}

/// Prints the linear layers with their adapters, and the number of trained parameters.
fn tell(adapted: &Adapted, module: &Module, unnamed: bool, ui: &Ui) {
    let text = || {
        let mut table = Table::new(&["linear layer", "weight", "inputs", "outputs", "layers", "adapters"]);
        let row = |map: &LinearMap, adapters: String| {
            let [inputs, outputs] = [&map.contracted, &map.free].map(|dims| sizes(map, dims));
            let layers = map.stacked.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
            vec![map.name.clone(), format!("arg{}", map.weight), inputs, outputs, layers, adapters]
        };
        for adapter in &adapted.adapters {
            table.row(row(&adapter.map, format!("arg{}, arg{}", adapter.a, adapter.b)));
        }
        for map in &adapted.others {
            let why = if map.is_output { "none: the output" } else { "none" };
            table.row(row(map, why.to_owned()));
        }
        let unnamed = if unnamed { format!("note: {EXPORT_NAMES}\n") } else { String::new() };
        format!("{}{}\n{unnamed}", ui.summary_table(&table), adapted.parameters)
    };
    ui.summary(text, || {
        let map = |map: &LinearMap| {
            json!({
                "name": map.name,
                "weight": map.weight,
                "inputs": map.contracted.iter().map(|&d| map.shape[d]).collect::<Vec<_>>(),
                "outputs": map.free.iter().map(|&d| map.shape[d]).collect::<Vec<_>>(),
                "layers": map.stacked,
                "is_output": map.is_output,
            })
        };
        let name = |i: usize| argument_name(module, i);
        let adapters = adapted.adapters.iter().map(|adapter| {
            json!({
                "map": map(&adapter.map),
                "a": { "index": adapter.a, "name": name(adapter.a) },
                "b": { "index": adapter.b, "name": name(adapter.b) },
            })
        });
        json!({
            "adapters": adapters.collect::<Vec<Value>>(),
            "others": adapted.others.iter().map(map).collect::<Vec<Value>>(),
            "dropout_key": adapted.key,
            "trained": adapted.parameters.trained,
            "parameters": adapted.parameters.all,
        })
    });
}

/// The name of an argument of the entry function.
fn argument_name(module: &Module, i: usize) -> String {
    module.entry().map(|func| module.funcs[func].shown_argument(&module.locs, i)).unwrap_or_default()
}

/// The sizes of some dimensions of a linear layer's weight, as in `4 x 8`.
fn sizes(map: &LinearMap, dims: &[usize]) -> String {
    dims.iter().map(|&d| map.shape[d].to_string()).collect::<Vec<_>>().join(" x ")
}
