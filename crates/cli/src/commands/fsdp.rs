//! `shardc fsdp`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::strategy::{self, ApplyStep, PerParameter, Role, Roles, Settings, Sharding, StoredBytes};
use shardc::target::{DeviceKind, usual};
use shardc::{Compiler, Error, InterfaceTensor, Module};
use shardc_ir::TensorType;
use shardc_ir::suggest::EXPORT_NAMES;
use shardc_passes::cost::traffic::summarize;

use super::printed;
use crate::apply_steps::WatchSteps;
use crate::args::{
    FsdpApplyArgs, FsdpArgs, FsdpCommand, FsdpConfigArgs, FsdpEstimateArgs, FsdpRolesArgs, SymbolicArgs,
};
use crate::failure::usage;
use crate::job::specialize;
use crate::output::Outputs;
use crate::source::Source;
use crate::strategy::mesh_for;
use crate::target::Chosen;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

/// The strategies with their names, ordered by how much they shard.
const STRATEGIES: [(&str, Sharding); 6] = [
    ("no_shard", Sharding::NoShard),
    ("zero1", Sharding::Zero1),
    ("shard_grad_op", Sharding::ShardGradOp),
    ("full_shard", Sharding::FullShard),
    ("hybrid_shard_zero2", Sharding::HybridShardZero2),
    ("hybrid_shard", Sharding::HybridShard),
];

pub(crate) fn run(args: &FsdpArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.command {
        FsdpCommand::Roles(args) => show_roles(args, ui),
        FsdpCommand::Apply(args) => apply(args, ui),
        FsdpCommand::Estimate(args) => estimate(args, ui),
        FsdpCommand::Config(args) => config(args),
    }
}

/// Asks questions on standard error, and reads answers from standard input. After the end of the input, the default is used.
fn config(args: &FsdpConfigArgs) -> Result<ExitCode> {
    let mut outputs = Outputs::plan(&[("--output", &args.output)], &[])?;
    let mut answers = Vec::new();
    let (mut lines, mut stderr) = (std::io::stdin().lines(), std::io::stderr());
    while let Some(question) = strategy::next_question(&answers) {
        let choices = question.choices();
        let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
        write!(stderr, "{}{choices} [{}] ", question.text, question.default)?;
        let answer = if args.defaults { None } else { lines.next().transpose()? };
        if answer.is_none() {
            writeln!(stderr)?;
        }
        match question.value(answer.as_deref().unwrap_or_default()) {
            Some(value) => answers.push((question.key, value)),
            None => {
                writeln!(stderr, "'{}' is not a valid answer", answer.as_deref().unwrap_or_default())?;
            }
        }
    }
    outputs.put(&args.output, strategy::config_text(&answers))?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a step, and infers the roles of its arguments.
fn read(
    source: &Source,
    role: &[String],
    loss: Option<&str>,
    entry: Option<&str>,
    symbolic: &SymbolicArgs,
) -> Result<(Module, Roles)> {
    let mut module = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    specialize(&mut module, entry, symbolic, source)?;
    let texts: Vec<&str> = role.iter().map(String::as_str).collect();
    let roles = strategy::role_overrides(&module, &texts, loss)
        .and_then(|overrides| strategy::roles(&module, &overrides))
        .map_err(|e| source.explain(&e))?;
    Ok((module, roles))
}

fn show_roles(args: &FsdpRolesArgs, ui: &Ui) -> Result<ExitCode> {
    let step = &args.step;
    let source = Source::read(&step.input)?;
    let (module, roles) =
        read(&source, &step.role, step.loss.as_deref(), step.entry.as_deref(), &step.symbolic)?;
    let wrap = args.strategy.chosen(false, ui)?.and_then(|chosen| chosen.settings.wrap);
    let units = match wrap {
        Some(wrap) => strategy::units(&module, &roles, wrap).map_err(|e| source.explain(&e))?,
        None => None,
    };
    let unit = |i: usize| units.as_ref().and_then(|units| Some(units.names[units.of[i]?].as_str()));
    let types = types(&module);
    let text = || {
        let mut headings = vec!["argument", "name", "type", "role", "next value", "state of", "batch"];
        headings.extend(units.as_ref().map(|_| "unit"));
        let mut table = Table::new(&headings);
        let number = |of: Option<usize>, prefix: &str| of.map(|i| format!("{prefix}{i}")).unwrap_or_default();
        for (i, argument) in roles.arguments.iter().enumerate() {
            let mut cells = vec![
                format!("arg{i}"),
                argument.name.clone(),
                types[i].clone(),
                argument.role.to_string(),
                number(argument.next, "res"),
                number(argument.of, "arg"),
                number(argument.batch_dim, "dimension "),
            ];
            let root = if argument.role.is_weight() { "(root)" } else { "" };
            cells.extend(units.as_ref().map(|_| unit(i).unwrap_or(root).to_owned()));
            table.row(cells);
        }
        let loss = roles.loss.map(|loss| format!("the loss is res{loss}\n")).unwrap_or_default();
        let none = match (wrap, &units) {
            (Some(_), None) => {
                "the wrap policy creates no units: each parameter is all-gathered separately\n"
            }
            _ => "",
        };
        let unnamed =
            if module.has_no_argument_names() { format!("note: {EXPORT_NAMES}\n") } else { String::new() };
        format!("{}{loss}{none}{unnamed}", ui.table(&table))
    };
    ui.result(text, || {
        let argument = |(i, argument): (usize, &strategy::Argument)| {
            json!({
                "index": i,
                "name": argument.name,
                "type": types[i],
                "role": argument.role.as_str(),
                "next": argument.next,
                "of": argument.of,
                "batch_dim": argument.batch_dim,
                "unit": unit(i),
            })
        };
        let arguments: Vec<Value> = roles.arguments.iter().enumerate().map(argument).collect();
        json!({ "version": 1, "arguments": arguments, "loss": roles.loss })
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The types of a step's arguments as text.
fn types(module: &Module) -> Vec<String> {
    let params = module.entry().map(|func| module.funcs[func].params.as_slice()).unwrap_or_default();
    params.iter().map(|&ty| module.types.display(ty).to_string()).collect()
}

fn apply(args: &FsdpApplyArgs, ui: &Ui) -> Result<ExitCode> {
    let timings = args.timings.as_deref().map(|path| ("--timings", path));
    let named: Vec<_> = [("--output", args.to.output.as_path())].into_iter().chain(timings).collect();
    let mut outputs = Outputs::plan(&named, &[("the input", &args.step.input)])?;
    let mut watch = WatchSteps::new(&args.print_after)?;
    let chosen = args.strategy.chosen(args.strict, ui)?.unwrap_or_default();
    let mut settings = chosen.settings;
    if let Some(target) = args.target.chosen()? {
        settings = settings.for_device(target.spec());
    }
    settings.reshard_after_forward = args.reshard_after_forward.or(settings.reshard_after_forward);
    settings.shard_param_on_dim_0 |= args.shard_param_on_dim_0;
    let step = &args.step;
    let source = Source::read(&step.input)?;
    let mut progress = ui.progress();
    progress.stage("read");
    let (mut module, roles) =
        read(&source, &step.role, step.loss.as_deref(), step.entry.as_deref(), &step.symbolic)?;
    let located = module.has_locations();
    let mesh = chosen.mesh(args.mesh.as_deref(), &module)?;
    progress.stage("annotate");
    let mut after = |step: &ApplyStep, module: &Module| watch.after(step, module);
    let warnings = strategy::apply_observed(&mut module, &roles, &settings, &mesh, &mut after)
        .map_err(|e| source.explain(&e))?;
    progress.stage("print");
    let program = printed(&module, args.to.form, located).map_err(|e| source.explain(&e))?;
    progress.finish();
    ui.warn(&source, &warnings);
    if let Some(path) = &args.timings {
        outputs.put(path, watch.timings(ui))?;
    }
    outputs.put(&args.to.output, program)?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}

/// The memory of a device, and the bytes that it sends, under one strategy.
struct Row {
    name: &'static str,
    parameters: u64,
    optimizer: u64,
    /// Bytes of gradients if estimated by formulas, or of gradient accumulators if a step is partitioned.
    gradients: u64,
    /// Bytes of the arguments that are not parameters, gradient accumulators or optimizer state; `None` if estimated by formulas.
    others: Option<u64>,
    /// The peak memory of the partitioned step minus its arguments; `None` if estimated by formulas.
    temporaries: Option<u64>,
    sent: u64,
}

impl Row {
    fn total(&self) -> u64 {
        let others = self.others.unwrap_or(0) + self.temporaries.unwrap_or(0);
        self.parameters + self.optimizer + self.gradients + others
    }
}

fn estimate(args: &FsdpEstimateArgs, ui: &Ui) -> Result<ExitCode> {
    let rows = match (&args.input, args.parameters, args.devices) {
        (None, Some(parameters), Some(devices)) => formulas(parameters, devices, args.nodes),
        (Some(input), _, _) => {
            let source = Source::read(input)?;
            let (module, roles) = read(&source, &args.role, args.loss.as_deref(), None, &args.symbolic)?;
            let mesh = mesh_for(args.mesh.as_deref(), &module)?;
            let chosen = args.target.as_deref().map(Chosen::parse).transpose()?;
            let machine = chosen.unwrap_or_else(|| Chosen::Device(usual(DeviceKind::Cpu)));
            of_step(&source, (&module, &roles), &mesh, &machine, ui)?
        }
        _ => return Err(usage("no step is given: use `shardc fsdp estimate FILE --mesh fsdp=8`")),
    };
    let is_step = args.input.is_some();
    let shown = |n: u64| if is_step { bytes(n) } else { format!("{:.1} GB", n as f64 / 1e9) };
    let text = || {
        let gradients = if is_step { ">accumulators" } else { ">gradients" };
        let mut headings = vec!["strategy", ">parameters", gradients, ">optimizer"];
        if is_step {
            headings.extend([">others", ">temporaries"]);
        }
        headings.extend([">total", ">sent per step"]);
        let mut table = Table::new(&headings);
        for row in &rows {
            let mut cells = vec![row.name.to_owned()];
            cells.extend([row.parameters, row.gradients, row.optimizer].map(shown));
            cells.extend(row.others.into_iter().chain(row.temporaries).map(shown));
            cells.extend([row.total(), row.sent].map(shown));
            table.row(cells);
        }
        format!("Each device:\n{}", ui.table(&table))
    };
    ui.result(text, || {
        let row = |row: &Row| {
            json!({
                "strategy": row.name,
                "parameters": row.parameters,
                "gradients": row.gradients,
                "optimizer": row.optimizer,
                "others": row.others,
                "temporaries": row.temporaries,
                "all": row.total(),
                "sent": row.sent,
            })
        };
        json!({ "version": 1, "strategies": rows.iter().map(row).collect::<Vec<_>>() })
    })?;
    Ok(ExitCode::SUCCESS)
}

fn is_hybrid(sharding: Sharding) -> bool {
    matches!(sharding, Sharding::HybridShard | Sharding::HybridShardZero2)
}

/// The strategies that are possible on a mesh with `axes` axes.
fn possible(axes: usize) -> impl Iterator<Item = (&'static str, Sharding)> {
    STRATEGIES.into_iter().filter(move |&(_, sharding)| axes > 1 || !is_hybrid(sharding))
}

/// Estimates by the formulas of the ZeRO paper.
fn formulas(parameters: f64, devices: u64, nodes: u64) -> Vec<Row> {
    let each = PerParameter::MIXED_ADAM;
    let row = |(name, sharding)| {
        let StoredBytes { parameters: kept, gradients, optimizer } =
            strategy::stored_bytes(parameters, each, sharding, devices, nodes);
        let sent = strategy::sent_bytes(parameters * each.parameter, sharding, devices, nodes);
        Row {
            name,
            parameters: kept as u64,
            gradients: gradients as u64,
            optimizer: optimizer as u64,
            others: None,
            temporaries: None,
            sent: (sent.inside + sent.across) as u64,
        }
    };
    possible(if nodes > 1 { 2 } else { 1 }).map(row).collect()
}

/// Estimates by partitioning a step with each strategy.
fn of_step(
    source: &Source,
    (module, roles): (&Module, &Roles),
    mesh: &str,
    target: &Chosen,
    ui: &Ui,
) -> Result<Vec<Row>> {
    let mut progress = ui.progress();
    let mut rows = Vec::new();
    let compiler = target.configure(Compiler::new());
    let machine = target.machine();
    for (name, sharding) in possible(mesh.matches('=').count()) {
        progress.stage(name);
        let mut step = module.clone();
        let settings = Settings { sharding, ..Settings::default() }.for_device(target.spec());
        match strategy::apply(&mut step, roles, &settings, mesh) {
            // Hybrid strategies are omitted on a mesh with only one data-parallel axis.
            Err(Error::Diagnostics(errors))
                if is_hybrid(sharding) && errors.iter().any(|e| e.code == "SH1251") =>
            {
                continue;
            }
            applied => applied.map_err(|e| source.explain(&e))?,
        };
        let output = compiler.partition_module(step).map_err(|e| source.explain(&e))?;
        let inputs = &output.interface.inputs;
        let of = |role: &dyn Fn(Role) -> bool| -> u64 {
            let arguments = roles.arguments.iter().zip(inputs).filter(|(argument, _)| role(argument.role));
            let local = |tensor: &InterfaceTensor| TensorType::new(&tensor.local_shape, tensor.global.dtype);
            arguments.map(|(_, tensor)| machine.bytes_of_argument(&local(tensor))).sum()
        };
        let all = of(&|_| true);
        let parameters = of(&Role::is_weight);
        let optimizer = of(&|role| role == Role::OptimizerState);
        let gradients = of(&|role| role == Role::GradientAccumulator);
        let peak = output.memory().peak;
        rows.push(Row {
            name,
            parameters,
            optimizer,
            gradients,
            others: Some(all - parameters - optimizer - gradients),
            temporaries: Some(peak.saturating_sub(all)),
            sent: summarize(&output.module).iter().map(|row| row.bytes_in_run).sum(),
        });
    }
    progress.finish();
    Ok(rows)
}
