//! Code shared by all examples: devices, progress, and their options.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use shardc::graph::{Graph, GraphError, Keep, Mesh, PartitionSpec, Tensor, spec};
use shardc::runtime::{
    Client, ClientOptions, Environment, Plugin, PluginKind, PluginOptions, ProcessOptions, Processes, plugin,
};
use shardc::strategy::{Accelerate, Settings};
use shardc::{Compiler, Diagnostic};
use shardc_train::nn::{Policy, Scope, StepProgram};
use shardc_train::{Meter, Metrics, Step, Timings, strategy};

use crate::run::Saving;

/// The devices and the duration of an example.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Devices along the axis "data", which shards the batch
    #[arg(long, default_value_t = 4)]
    pub data: i64,
    /// Devices along the axis "model", which shards the weights
    #[arg(long, default_value_t = 2)]
    pub model: i64,
    /// Named axes and their sizes, such as "fsdp=8", instead of --data and --model
    #[arg(long, value_name = "MESH", value_parser = mesh)]
    pub mesh: Option<Mesh>,
    /// A strategy in the syntax of `accelerate launch --fsdp`, such as "full_shard"; it shards everything that is not annotated
    #[arg(long, value_name = "WORDS", value_parser = words, conflicts_with = "config")]
    pub fsdp: Option<Settings>,
    /// A file of `accelerate config` with strategy, devices, precision and activation checkpointing
    #[arg(long, value_name = "FILE", value_parser = accelerate)]
    pub config: Option<Accelerate>,
    /// Device kind: cpu (as many virtual devices as the mesh has), cuda or tpu
    #[arg(long, value_name = "KIND", default_value = "cpu")]
    pub target: PluginKind,
    /// Run on one device, without partitioning; the losses must be the same
    #[arg(long)]
    pub single: bool,
    /// Seed of random numbers
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Stop after this number of steps
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Print the loss of each step instead of a progress bar
    #[arg(long)]
    pub losses: bool,
    /// Peak of all devices together, in TFLOP/s; the bar then shows the utilization
    #[arg(long, value_name = "TFLOPS")]
    pub peak: Option<f64>,
    /// Report the time of steps: devices, waiting for batches, transfers
    #[arg(long)]
    pub times: bool,
    /// The location of the saved state.
    #[command(flatten)]
    pub saving: Saving,
}

impl Options {
    /// Returns the options with a default mesh and strategy, if the command line specifies none.
    ///
    /// # Panics
    /// The default mesh or strategy of the example is invalid.
    #[must_use]
    #[expect(clippy::expect_used, reason = "examples are tested")]
    pub fn or(mut self, mesh: &str, fsdp: &str) -> Options {
        if self.config.as_ref().is_none_or(|config| config.mesh().is_none()) {
            self.mesh.get_or_insert_with(|| mesh.parse().expect("a mesh"));
        }
        if self.config.is_none() {
            self.fsdp.get_or_insert_with(|| Settings::from_words(fsdp).expect("a strategy"));
        }
        self
    }

    /// The mesh.
    ///
    /// # Errors
    /// A size is below one.
    pub fn mesh(&self) -> Result<Mesh> {
        match (&self.mesh, self.config.as_ref().and_then(Accelerate::mesh)) {
            (Some(mesh), _) => Ok(mesh.clone()),
            (None, Some(mesh)) => Ok(mesh.parse()?),
            (None, None) => Ok(Mesh::new(&[("data", self.data), ("model", self.model)])?),
        }
    }

    /// The root scope of a graph, with the precision and the activation checkpointing of the configuration file.
    #[must_use]
    pub fn scope<'g>(&self, g: &'g Graph) -> Scope<'g> {
        let model = self.config.as_ref().map(|config| config.model).unwrap_or_default();
        let mut p = Scope::new(g);
        if let Some(compute) = model.compute_dtype {
            p = p.with_policy(Policy { compute, ..Policy::default() });
        }
        if model.activation_checkpointing { p.checkpointed(Keep::Nothing) } else { p }
    }

    /// Creates a client of the devices: virtual devices of XLA's CPU plugin, unless another target is selected. If environment variables
    /// specify several processes ([`ProcessOptions::from_variables`]), each process owns a subset of the devices, and the other processes
    /// must also be started.
    ///
    /// # Errors
    /// The plugin or another process is missing.
    #[expect(clippy::print_stderr, reason = "keys without effect are reported")]
    pub fn client(&self) -> Result<Client> {
        for warning in self.config.iter().flat_map(|config| &config.warnings) {
            eprintln!("{warning}");
        }
        plugin::quiet_plugin_logs();
        let kind = self.target;
        let found = plugin::find(kind, &Environment::from_process())
            .with_context(|| format!("`shardc plugin install {kind}` fetches the plugin"))?;
        let devices = if self.single { 1 } else { self.mesh()?.num_devices() };
        let plugin = Plugin::load(&found.path)?;
        let options = |devices| match kind {
            PluginKind::Cpu => ClientOptions { cpu_device_count: Some(devices) }.into(),
            PluginKind::Tpu | PluginKind::Cuda => PluginOptions::default(),
        };
        let job = ProcessOptions::from_variables(|name| std::env::var(name).ok())?;
        Ok(match job.filter(|_| !self.single) {
            Some(job) => {
                let processes = Processes::connect(job)?;
                Client::across(&plugin, kind, options(devices.div_ceil(processes.count())), &processes)?
            }
            None => Client::new(&plugin, options(devices))?,
        })
    }

    /// Compiles a step for these devices, sharded by the strategy.
    ///
    /// # Errors
    /// The strategy is invalid for the step, or the step cannot be partitioned or compiled.
    #[expect(clippy::print_stderr, reason = "settings without effect are reported")]
    pub fn compile(&self, client: &Client, mut step: StepProgram) -> Result<Step> {
        // The model already uses the precision and the activation checkpointing of the file.
        let of_file = || {
            let settings = self.config.as_ref()?.settings;
            Some(Settings { compute_dtype: None, activation_checkpointing: false, ..settings })
        };
        let settings = self.fsdp.or_else(of_file);
        if let Some(settings) = settings.filter(|_| !self.single) {
            for warning in strategy::annotate(&mut step, &settings)? {
                eprintln!("{warning}");
            }
        }
        if self.single {
            return Ok(Step::single(client, step)?);
        }
        let step = Step::compile(client, &Compiler::new(), step)?;
        for warning in step.warnings_to_print().diagnostics() {
            eprintln!("{warning}");
        }
        Ok(step)
    }

    /// The number of steps to run, for an example that runs `all` by default.
    #[must_use]
    pub fn limited(&self, all: u64) -> u64 {
        self.steps.map_or(all, |steps| steps.min(all))
    }

    /// A progress bar for `steps` steps.
    #[must_use]
    pub fn progress(&self, step: &Step, steps: u64) -> Progress {
        let bar = if self.losses { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (eta {eta})") {
            bar.set_style(style);
        }
        let (flops, peak) = (step.flops().unwrap_or(0.0), self.peak.map(|tera| tera * 1e12));
        Progress {
            bar,
            meter: None,
            timings: Timings::default(),
            tells_times: self.times,
            flops,
            peak,
            prints: self.losses,
            step: 0,
            smooth: None,
            running: None,
        }
    }
}

fn mesh(text: &str) -> Result<Mesh, String> {
    text.parse().map_err(|error: GraphError| error.to_string())
}

fn words(text: &str) -> Result<Settings, String> {
    Settings::from_words(text).map_err(|errors| all(&errors))
}

fn accelerate(path: &str) -> Result<Accelerate, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    Accelerate::parse(&text).map_err(|errors| all(&errors))
}

fn all(errors: &[Diagnostic]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Shards a batch over the axis "data" if the mesh has this axis. On other meshes, a strategy shards the batch.
#[must_use]
pub fn batch(tensor: Tensor<'_>) -> Tensor<'_> {
    if tensor.graph().mesh().axis_size("data").is_none() {
        return tensor;
    }
    let mut spec = PartitionSpec::replicated(tensor.rank());
    spec.dims[0] = spec!["data"].dims.swap_remove(0);
    tensor.mark_sharding(spec)
}

/// A progress bar with the loss and the speed.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Measures the speed from the second step on, because the first step is a warm-up.
    meter: Option<Meter>,
    timings: Timings,
    tells_times: bool,
    /// Floating-point operations of a step.
    flops: f64,
    peak: Option<f64>,
    prints: bool,
    step: u64,
    /// The smoothed loss.
    smooth: Option<f64>,
    /// The last launched step, and its number of examples or tokens.
    running: Option<(Metrics, u64)>,
}

impl Progress {
    /// Starts at step `first`.
    #[must_use]
    pub fn from(mut self, first: u64) -> Progress {
        self.step = first;
        self.bar.set_position(first);
        self
    }

    /// Records the launch of a step on `count` examples or tokens, and reports the step before it.
    ///
    /// # Errors
    /// The step before it has failed, or has no loss.
    pub fn step(&mut self, metrics: Metrics, count: u64) -> Result<()> {
        match self.running.replace((metrics, count)) {
            Some((before, count)) => self.tell(&before, count),
            None => Ok(()),
        }
    }

    #[expect(clippy::print_stdout, reason = "an option requests the output")]
    fn tell(&mut self, metrics: &Metrics, count: u64) -> Result<()> {
        let loss = metrics.scalar("loss")?;
        self.timings.add(metrics.times()?);
        if self.prints {
            println!("{} {loss:.7}", self.step);
        }
        self.step += 1;
        let smooth = self.smooth.map_or(loss, |smooth| 0.9 * smooth + 0.1 * loss);
        self.smooth = Some(smooth);
        match &mut self.meter {
            Some(meter) => {
                meter.step(count);
                let input = self.timings.report().map_or(0.0, |report| 100.0 * report.input_share);
                self.bar.set_message(format!(
                    "loss {smooth:.4}, {}, {input:.0} % waiting for input",
                    meter.speed()
                ));
            }
            None => self.meter = Some(Meter::start().with_flops(self.flops, self.peak)),
        }
        self.bar.inc(1);
        Ok(())
    }

    /// Reports the last step, removes the bar, and returns the smoothed loss.
    ///
    /// # Errors
    /// The last step has failed, or has no loss.
    #[expect(clippy::print_stdout, reason = "an option requests the output")]
    pub fn finish(mut self) -> Result<f64> {
        if let Some((last, count)) = self.running.take() {
            self.tell(&last, count)?;
        }
        self.bar.finish_and_clear();
        if let Some(report) = self.timings.report().filter(|_| self.tells_times) {
            println!("{report}");
        }
        Ok(self.smooth.unwrap_or(f64::NAN))
    }

    /// Redraws the bar at intervals, even if no step ends.
    pub fn tick(&self) {
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }
}
