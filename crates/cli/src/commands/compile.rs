//! `shardc compile`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use shardc::exec::{backend_for, compile_options};
use shardc::runtime::aot::{CompileReport, CompileRequest, Target, compile_in_child};
use shardc::runtime::{Environment, PluginKind, plugin};
use shardc::target::find;

use super::client::{devices_error, runtime_error};
use crate::args::{CompileArgs, PluginFileArgs};
use crate::failure::Failure;
use crate::job::{self, Job};
use crate::output::Outputs;
use crate::target::Chosen;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(crate) fn run(args: &CompileArgs, ui: &Ui) -> Result<ExitCode> {
    let (target, machine) = devices(&args.target)?;
    let executable = args.output.as_deref().map(|path| ("--output", path));
    let report = args.json.as_deref().map(|path| ("--json", path));
    let how = args.how.for_plugin(target.kind(), machine);
    let named = how.outputs(&[executable, report]);
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let compiler = Compiler::find(target, &args.plugin)?;
    let mut job = job::partition(&args.input, &how, ui)?;
    let executable = args.output.as_deref().map(|path| outputs.place(path)).transpose()?;
    let report = compiler.compile(&mut job, executable)?;
    job.finish(&mut outputs, &how, ui)?;
    if let Some(path) = &args.json {
        outputs.put(path, format!("{}\n", serde_json::to_string_pretty(&report)?))?;
    }
    outputs.commit()?;
    // If the JSON report goes to standard output, the text is not printed.
    if args.json.as_deref() != Some(Path::new("-")) {
        let json = serde_json::to_value(&report)?;
        ui.result(|| describe(&report, ui), || json)?;
    }
    // The memory is checked after the report is printed, because the report shows the memory use.
    report.require_fit().map_err(runtime_error)?;
    Ok(ExitCode::SUCCESS)
}

/// The compiler of a plugin, for devices that need not be present.
pub(super) struct Compiler {
    target: Target,
    plugin: PathBuf,
}

impl Compiler {
    /// Finds the plugin that compiles for a target.
    pub(super) fn find(target: Target, file: &PluginFileArgs) -> Result<Compiler> {
        let mut environment = Environment::from_process();
        if let Some(path) = &file.file {
            environment = environment.with_plugin(target.kind(), path.clone());
        }
        let found = plugin::find(target.kind(), &environment).map_err(runtime_error)?;
        Ok(Compiler { target, plugin: found.path })
    }

    /// The kind of plugin.
    pub(super) fn kind(&self) -> PluginKind {
        self.target.kind()
    }

    /// Compiles a partitioned program, and writes the executable to a file if one is given.
    pub(super) fn compile(self, job: &mut Job, executable: Option<PathBuf>) -> Result<CompileReport> {
        let backend = backend_for(self.kind());
        let request = CompileRequest {
            target: self.target,
            plugin: self.plugin,
            program: job.output.backend_code_for(backend).map_err(|e| job.source.explain(&e))?,
            options: compile_options(job.output.interface.mode, job.output.num_devices()),
            executable,
        };
        job.progress.stage("compile");
        let program = std::env::current_exe().context("cannot find the path of this executable")?;
        compile_in_child(&program, &request)
            .map_err(|error| devices_error(&error, &job.output.interface.mesh))
    }
}

/// Returns the devices of the option `--target`, and the machine that the program is planned for: the same devices, if they are in the table of
/// devices or described by a TOML file. The compiler gets the base device of a file. The GPUs of this machine, and TPU generations that only
/// the compiler knows, are planned as the usual device of their kind.
fn devices(text: &str) -> Result<(Target, Option<Chosen>)> {
    let parse = |text: &str| {
        Target::parse(text).map_err(|e| Failure::Usage { message: e.to_string(), hint: e.hint() })
    };
    if Path::new(text).extension().is_some_and(|extension| extension == "toml")
        && let Chosen::Target(described) = Chosen::parse(text)?
    {
        return Ok((parse(&described.topology())?, Some(Chosen::Target(described))));
    }
    let target = parse(text)?;
    let machine = match target.topology() {
        Some(name) if is_known(name) => Some(Chosen::parse(name)?),
        _ => Chosen::of_plugin(target.kind()),
    };
    Ok((target, machine))
}

/// Whether the device of a topology name such as `v5e:2x4` is in the table.
fn is_known(name: &str) -> bool {
    name.split_once(':').is_some_and(|(kind, _)| find(kind).is_some())
}

fn describe(report: &CompileReport, ui: &Ui) -> String {
    let mut memory = Table::new(&["per device", ">"]);
    for (name, n) in [
        ("arguments", Some(report.argument_bytes)),
        ("outputs", Some(report.output_bytes)),
        ("  aliased with arguments", Some(report.alias_bytes)),
        ("temporaries", Some(report.temp_bytes)),
        ("total", Some(report.needed_bytes())),
        ("host memory", Some(report.host_bytes).filter(|&n| n > 0)),
        ("device memory", report.device_bytes),
        ("executable", report.executable_bytes),
    ] {
        // Numbers that the compiler does not report are omitted.
        if let Some(n) = n {
            memory.row(vec![name.into(), bytes(n)]);
        }
    }
    if let Some(flops) = report.flops {
        memory.row(vec!["flops (loop bodies once)".into(), format!("{flops:.3e}")]);
    }
    if let Some(cycles) = report.cycles {
        memory.row(vec!["compute cycles".into(), format!("{cycles:.3e}")]);
    }
    let mut collectives = Table::new(&["collective", ">count", ">sent"]);
    for (kind, c) in &report.collectives {
        collectives.row(vec![kind.to_string(), c.count.to_string(), bytes(c.bytes_sent)]);
    }
    collectives.row(vec!["total".into(), String::new(), bytes(report.bytes_sent())]);
    let (memory, collectives) = (ui.table(&memory), ui.table(&collectives));
    format!(
        "compiled for {} ({} devices) in {:.1} s\n\n{memory}\n{collectives}",
        report.target, report.devices, report.compile_seconds
    )
}
