//! `shardc plan --sweep` and `--smallest-slice`: one plan for each target, mesh and strategy.

mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use indicatif::ProgressBar;
use shardc::Module;
use shardc::ir::Mesh;
use shardc::plan::{Plan, PlanOptions, PlanReport};
use shardc::target::{Target, TargetSpec, find, names, unknown_hint};
use shardc_passes::annotations::spec::MeshSpec;

use self::rows::{Row, best_of_each, padding, table};
use crate::args::{AnnotationArgs, HowArgs, PlanArgs, StrategyArgs};
use crate::failure::usage;
use crate::job::{self, Prepared};
use crate::source::Source;
use crate::target::Chosen;
use crate::ui::Ui;
use crate::ui::table::bytes;

/// The numbers of devices that are compared.
const SIZES: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];

/// The strategies that are compared for a program without annotations.
const STRATEGIES: [&str; 4] = [
    "no_shard",
    "shard_grad_op auto_wrap",
    "full_shard auto_wrap",
    "full_shard auto_wrap activation_checkpointing",
];

/// The sizes of the axis of tensor parallelism that are compared for a program without annotations.
const TENSOR: [u32; 3] = [1, 4, 8];

/// A target with a mesh and a strategy.
struct Case {
    target: Arc<Target>,
    /// The mesh; `None` if a search chooses it.
    mesh: Option<String>,
    /// The strategy in words, if the options do not select it.
    words: Option<&'static str>,
}

/// Plans the program for each target; returns the table or JSON, and whether the program fits on any.
pub(super) fn run(args: &PlanArgs, source: &Source, module: &Module, ui: &Ui) -> Result<(String, bool)> {
    let prices = prices(&args.price)?;
    let kinds = match (&args.sweep, &args.smallest_slice) {
        (Some(kinds), _) | (None, Some(kinds)) => specs(kinds)?,
        (None, None) => Vec::new(),
    };
    let cases = cases(args, module, &kinds)?;
    let mut progress = ui.progress();
    progress.stage("plan");
    let done = Done { planned: AtomicUsize::new(0), all: cases.len(), shown: progress.handle() };
    let sweep = Sweep { args, source, module, prices: &prices, ui, done: &done };
    let mut rows: Vec<Row> = Vec::new();
    let mut nearest = None;
    if args.smallest_slice.is_some() {
        // Smaller targets come first; the search ends at the first that fits.
        for same in cases.chunk_by(|a, b| a.target == b.target) {
            rows.extend(sweep.planned(same)?);
            if rows.iter().any(|row| row.fits) {
                break;
            }
        }
        nearest = rows.iter().min_by_key(|row| row.memory).cloned();
        rows.retain(|row| row.fits);
    } else {
        rows = sweep.planned(&cases)?;
    }
    progress.finish();
    if !args.all {
        rows = best_of_each(rows);
    }
    // Rows of kinds without a price follow those with one.
    let cost = |row: &Row| (row.price.unwrap_or(f64::INFINITY), row.device_seconds);
    rows.sort_by(|a, b| {
        let ((price, seconds), (other_price, other_seconds)) = (cost(a), cost(b));
        b.fits.cmp(&a.fits).then(price.total_cmp(&other_price)).then(seconds.total_cmp(&other_seconds))
    });
    let fits = rows.iter().any(|row| row.fits);
    let text = if ui.is_json() || args.json.is_some() {
        format!("{}\n", serde_json::to_string_pretty(&rows)?)
    } else if rows.is_empty() {
        let nearest = nearest.map(|row| {
            let (needs, limit) = (bytes(row.memory), bytes(row.limit));
            format!(
                "; {} with {} comes nearest: it needs up to {needs}, a device has {limit}",
                row.target, row.mesh
            )
        });
        format!(
            "no target of this kind with 4 to 256 devices has enough memory{}\n",
            nearest.unwrap_or_default()
        )
    } else {
        ui.table(&table(&rows))
    };
    Ok((text, fits))
}

/// The kinds of devices in a list of names; all except `cpu` for `all`.
fn specs(kinds: &str) -> Result<Vec<&'static TargetSpec>> {
    if kinds == "all" {
        return Ok(shardc::target::SPECS.into_iter().filter(|spec| spec.memory > 0).collect());
    }
    let spec = |name: &str| {
        find(name).ok_or_else(|| usage(format!("there is no device {name:?}; {}", unknown_hint(name))))
    };
    kinds.split(',').map(spec).collect()
}

fn prices(texts: &[String]) -> Result<Vec<(&str, f64)>> {
    let prices = texts.iter().map(|text| {
        let (kind, price) = text.split_once('=')?;
        find(kind)?;
        let price = price.parse::<f64>().ok().filter(|price| *price > 0.0)?;
        Some((kind, price))
    });
    prices.collect::<Option<_>>().ok_or_else(|| {
        usage(format!("--price: expected KIND=PRICE, as in v5e=1.2; the kinds are {}", names()))
    })
}

/// The cases, in ascending order of devices for each kind.
fn cases(args: &PlanArgs, module: &Module, kinds: &[&'static TargetSpec]) -> Result<Vec<Case>> {
    let StrategyArgs { config, fsdp } = &args.how.strategy;
    let has_strategy = config.is_some() || fsdp.is_some() || args.how.auto;
    let given = match &args.input.annotations.mesh {
        Some(text) => {
            Some(text.parse::<MeshSpec>().map_err(|_| usage(format!("--mesh: {text} is no mesh")))?.to_mesh())
        }
        None => module.meshes.values().find(|mesh| !mesh.is_maximal()).cloned(),
    };
    let words: &[Option<&'static str>] =
        if has_strategy || given.is_some() { &[None] } else { &STRATEGIES.map(Some) };
    let mut cases = Vec::new();
    for &spec in kinds {
        for devices in SIZES {
            let Ok(target) = Target::with_devices(spec, devices).map(Arc::new) else { continue };
            let meshes = match &given {
                None if args.how.auto => vec![None],
                given => meshes(given.as_ref(), devices).into_iter().map(Some).collect(),
            };
            for mesh in meshes {
                cases.extend(words.iter().map(|&words| Case {
                    target: Arc::clone(&target),
                    mesh: mesh.clone(),
                    words,
                }));
            }
        }
    }
    Ok(cases)
}

/// The meshes for a number of devices: the given mesh with another size of the first axis, or data and tensor parallelism.
fn meshes(given: Option<&Mesh>, devices: u32) -> Vec<String> {
    let Some(mesh) = given else {
        let split = |&tensor: &u32| devices.is_multiple_of(tensor) && devices / tensor >= 2;
        let text = |tensor: u32| match tensor {
            1 => format!("fsdp={devices}"),
            _ => format!("fsdp={},tensor={tensor}", devices / tensor),
        };
        return TENSOR.into_iter().filter(split).map(text).collect();
    };
    let others: i64 = mesh.axes.values().skip(1).product();
    let devices = i64::from(devices);
    if others == 0 || devices % others != 0 || devices < others {
        return Vec::new();
    }
    let axes = mesh.axes.iter().enumerate().map(|(i, (name, &size))| {
        let size = if i == 0 { devices / others } else { size };
        format!("{name}={size}")
    });
    vec![axes.collect::<Vec<_>>().join(",")]
}

/// The plans that are made, for the progress on a terminal.
struct Done {
    planned: AtomicUsize,
    all: usize,
    shown: Option<ProgressBar>,
}

impl Done {
    fn add(&self, case: &Case) {
        let planned = self.planned.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(bar) = &self.shown {
            let mesh = case.mesh.as_ref().map_or_else(String::new, |mesh| format!(" with {mesh}"));
            bar.set_message(format!("plan {planned} of {}: {}{mesh}", self.all, case.target));
        }
    }
}

/// The inputs of all plans.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    args: &'a PlanArgs,
    source: &'a Source,
    module: &'a Module,
    prices: &'a [(&'a str, f64)],
    ui: &'a Ui,
    done: &'a Done,
}

impl Sweep<'_> {
    /// Plans the cases on all processors. Cases that cannot be partitioned, because the mesh does not fit the program, have no row.
    fn planned(&self, cases: &[Case]) -> Result<Vec<Row>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut rows = Vec::new();
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                rows.extend(self.plan(case));
                self.done.add(case);
            }
            rows
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(cases.len().max(1));
        let mut rows: Vec<Row> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        });
        if rows.is_empty() && !cases.is_empty() {
            // The error of the first case explains why there is no row.
            let case = &cases[0];
            let (annotations, how) = options(self.args, case);
            let Prepared { compiler, module, .. } =
                job::prepare(self.module.clone(), self.source, &annotations, &how, self.ui)?;
            compiler.partition_module(module).map_err(|e| self.source.explain(&e))?;
        }
        rows.sort_by(|a, b| (&a.target, &a.mesh, &a.strategy).cmp(&(&b.target, &b.mesh, &b.strategy)));
        Ok(rows)
    }

    fn plan(&self, case: &Case) -> Option<Row> {
        let (annotations, how) = options(self.args, case);
        let Prepared { compiler, module, .. } =
            job::prepare(self.module.clone(), self.source, &annotations, &how, self.ui).ok()?;
        let options = PlanOptions {
            memory: self.args.how.memory.filter(|&bytes| bytes > 0),
            changes: false,
            ..PlanOptions::new(&self.source.name, Arc::clone(&case.target))
        };
        let Plan { output, report } = compiler.plan(module, &options).ok()?;
        let device_seconds = report.time.seconds * report.target.devices as f64;
        let price = self.prices.iter().find(|(kind, _)| *kind == case.target.spec().name);
        let mesh = case.mesh.clone().unwrap_or_else(|| axes(&report));
        Some(Row {
            target: report.target.name,
            devices: report.target.devices,
            mesh,
            strategy: how.strategy.fsdp.or_else(|| how.auto.then(|| "auto".to_owned())),
            fits: report.memory.fits,
            memory: report.memory.high,
            limit: report.memory.limit,
            seconds: report.time.seconds,
            device_seconds,
            hfu: report.time.hfu,
            padding: padding(&output.interface),
            price: price.map(|(_, price)| price * device_seconds / 3600.0),
            per_sample: self.args.samples.map(|samples| device_seconds / samples.max(1) as f64),
        })
    }
}

/// The mesh of a plan: `fsdp=8,tensor=2`.
fn axes(report: &PlanReport) -> String {
    report.mesh.iter().map(|axis| format!("{}={}", axis.name, axis.size)).collect::<Vec<_>>().join(",")
}

/// The options of a case.
fn options(args: &PlanArgs, case: &Case) -> (AnnotationArgs, HowArgs) {
    let mut annotations = args.input.annotations.clone();
    annotations.mesh.clone_from(&case.mesh);
    let mut how = args.how.for_machine(Some(Chosen::Target(Arc::clone(&case.target))));
    if let Some(words) = case.words {
        how.strategy.fsdp = Some(words.to_owned());
    }
    (annotations, how)
}
