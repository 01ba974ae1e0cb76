//! What all examples share: devices, progress, and the words for both.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use shardc::Compiler;
use shardc::graph::Mesh;
use shardc::nn::StepProgram;
use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
use shardc::train::{Meter, Step};

/// Where an example runs, and for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Devices along the axis "data", each with its part of the batch
    #[arg(long, default_value_t = 4)]
    pub data: i64,
    /// Devices along the axis "model", each with its part of the weights
    #[arg(long, default_value_t = 2)]
    pub model: i64,
    /// Run on one device, without partitioning: the losses have to be the same
    #[arg(long)]
    pub single: bool,
    /// Where random numbers begin
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// End after so many steps
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Print the loss of each step, and no progress bar
    #[arg(long)]
    pub losses: bool,
    /// What all devices together can do in a second, in 10^12 floating-point operations: the bar shows which part is made use of
    #[arg(long, value_name = "TFLOPS")]
    pub peak: Option<f64>,
}

impl Options {
    /// The mesh.
    ///
    /// # Errors
    /// A size is below one.
    pub fn mesh(&self) -> Result<Mesh> {
        Ok(Mesh::new(&[("data", self.data), ("model", self.model)])?)
    }

    /// The devices: virtual ones of XLA's CPU plugin.
    ///
    /// # Errors
    /// There is no plugin.
    pub fn client(&self) -> Result<Client> {
        plugin::quiet_plugin_logs();
        let found = plugin::find(PluginKind::Cpu, &Environment::from_process())
            .context("`shardc plugin install cpu` fetches the plugin")?;
        let devices = if self.single { 1 } else { (self.data * self.model) as usize };
        Ok(Client::new(&Plugin::load(&found.path)?, ClientOptions { cpu_device_count: Some(devices) })?)
    }

    /// Compiles a step for these devices.
    ///
    /// # Errors
    /// It cannot be partitioned or compiled.
    pub fn compile(&self, client: &Client, step: StepProgram) -> Result<Step> {
        Ok(if self.single {
            Step::single(client, step)?
        } else {
            Step::compile(client, &Compiler::new(), step)?
        })
    }

    /// How many steps are done, where the example would do `all`.
    #[must_use]
    pub fn limited(&self, all: u64) -> u64 {
        self.steps.map_or(all, |steps| steps.min(all))
    }

    /// Progress over so many runs of a step.
    #[must_use]
    pub fn progress(&self, step: &Step, steps: u64) -> Progress {
        let bar = if self.losses { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (eta {eta})") {
            bar.set_style(style);
        }
        let (flops, peak) = (step.flops().unwrap_or(0.0), self.peak.map(|tera| tera * 1e12));
        Progress { bar, meter: None, flops, peak, prints: self.losses, step: 0, smooth: None }
    }
}

/// A bar with the loss and the speed.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// From the second step on: the first warms up.
    meter: Option<Meter>,
    /// Floating-point operations of a step, and those that the devices can do in a second.
    flops: f64,
    peak: Option<f64>,
    prints: bool,
    step: u64,
    /// The loss, smoothed.
    smooth: Option<f64>,
}

impl Progress {
    /// One more step, on so many examples or tokens.
    #[expect(clippy::print_stdout, reason = "it was asked for")]
    pub fn step(&mut self, loss: f64, count: u64) {
        if self.prints {
            println!("{} {loss:.7}", self.step);
        }
        self.step += 1;
        let smooth = self.smooth.map_or(loss, |smooth| 0.9 * smooth + 0.1 * loss);
        self.smooth = Some(smooth);
        match &mut self.meter {
            Some(meter) => {
                meter.step(count);
                self.bar.set_message(format!("loss {smooth:.4}, {}", meter.speed()));
            }
            None => self.meter = Some(Meter::start().with_flops(self.flops, self.peak)),
        }
        self.bar.inc(1);
    }

    /// The bar goes; returns the smoothed loss.
    pub fn finish(self) -> f64 {
        self.bar.finish_and_clear();
        self.smooth.unwrap_or(f64::NAN)
    }

    /// Draws the bar also while nothing happens.
    pub fn tick(&self) {
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }
}
