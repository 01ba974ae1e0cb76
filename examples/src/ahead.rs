//! Partitions and compiles models ahead of time for TPU slices or GPUs that need not be present. The models are too large for this machine.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use shardc::exec::{backend_for, compile_options};
use shardc::graph::Mesh;
use shardc::runtime::aot::{self, CompileReport, CompileRequest, Target};
use shardc::runtime::{Environment, PjrtCode, PluginKind, RuntimeError, plugin};
use shardc::strategy::{Role, Roles, Settings};
use shardc::target::{DeviceKind, Target as Devices, TargetSpec, find, names, usual};
use shardc::{Compiler, Output};
use shardc_train::nn::{Parameters, StepProgram};
use shardc_train::strategy::{annotate, roles_of};

/// The largest number of devices that is tried.
const MOST_DEVICES: u32 = 256;

/// The target of the compilation.
#[derive(Args, Clone, Debug)]
pub struct Ahead {
    /// The kind of device, such as v5e, v5p, h100 or rtx4090
    #[arg(long, default_value = "v5p")]
    pub generation: String,
    /// One slice, such as 4x4, or one number of GPUs, such as 8 or 2x8, instead of the smallest that fits
    #[arg(long)]
    pub slice: Option<String>,
    /// Keep parameters and optimizer state in host memory
    #[arg(long)]
    pub offload: bool,
    /// Partition and estimate only, without compiling
    #[arg(long)]
    pub estimate: bool,
    /// Estimate for this number of devices of an unspecified kind instead
    #[arg(long, value_name = "N")]
    pub devices: Option<i64>,
    /// Write the program of one device as StableHLO
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// Runs a compilation if another process started this process for it. A program must call this function before anything else.
pub fn serve() {
    let mut arguments = std::env::args_os().skip(1);
    if let (Some(command), Some(request)) = (arguments.next(), arguments.next())
        && command == aot::CHILD_COMMAND
    {
        std::process::exit(i32::from(aot::run_child(request.as_ref())));
    }
}

/// Finds the smallest slice that fits a step with all state sharded (`full_shard`), and prints the memory that a device needs.
///
/// # Errors
/// There is no such slice or generation, no plugin, or no slice on which the step fits.
#[expect(clippy::print_stdout, reason = "an example shows its results")]
pub fn smallest_slice(args: &Ahead, make: impl Fn(&Mesh) -> Result<StepProgram>) -> Result<()> {
    if let Some(devices) = args.devices {
        println!(
            "{devices} devices: {}",
            Need::of(make(&Mesh::new(&[("fsdp", devices)])?)?, args, usual(DeviceKind::Tpu))?
        );
        return Ok(());
    }
    let device = find(&args.generation).with_context(|| format!("the kinds of devices are {}", names()))?;
    let memory = device.memory;
    let kind = PluginKind::from(device.kind);
    for target in targets(device) {
        let name = target.to_string();
        let slice = name.split_once(':').map_or("", |(_, grid)| grid);
        if args.slice.as_deref().is_some_and(|wanted| wanted != slice) {
            continue;
        }
        let devices = target.num_devices();
        let need = Need::of(make(&Mesh::new(&[("fsdp", devices as i64)])?)?, args, device)?;
        println!("{name}, {devices} devices of {}: {need}", gigabytes(memory));
        // If memory does not suffice, the compiler rematerializes values, which may halve the peak. So a step may fit if its estimated
        // peak is at most twice the memory.
        if need.arguments.max(need.peak / 2) > memory {
            println!("  does not fit");
            continue;
        }
        if args.estimate {
            return Ok(());
        }
        let found = plugin::find(kind, &Environment::from_process())
            .with_context(|| format!("`shardc plugin install {kind}` fetches the compiler"))?;
        let output = need.output;
        let request = CompileRequest {
            target: Target::parse(&format!("{kind}:{name}"))?,
            plugin: found.path,
            program: output.backend_code_for(backend_for(kind))?,
            options: compile_options(output.interface.mode, output.num_devices()),
            executable: None,
        };
        match aot::compile_in_child(&std::env::current_exe()?, &request) {
            Ok(report) => {
                println!("  compiled in {:.1} s: {}", report.compile_seconds, described(&report));
                match report.require_fit() {
                    Ok(()) => return Ok(()),
                    Err(error) => println!("  does not fit: {error}"),
                }
            }
            Err(RuntimeError::Compile { code: PjrtCode::RESOURCE_EXHAUSTED, .. }) => {
                println!("  does not fit")
            }
            Err(error) => return Err(error.into()),
        }
    }
    bail!("no slice fits");
}

/// The targets with this device whose numbers of devices are powers of two, in ascending order. The smallest TPU slice has four chips.
fn targets(device: &'static TargetSpec) -> impl Iterator<Item = Devices> {
    let least = if device.kind == DeviceKind::Tpu { 4 } else { 1 };
    let sizes = std::iter::successors(Some(least), |n| Some(2 * n)).take_while(|&n| n <= MOST_DEVICES);
    sizes.filter_map(move |n| Devices::with_devices(device, n).ok())
}

/// A partitioned step, and the memory that a device needs for it.
struct Need {
    output: Output,
    parameters: Parameters,
    classes: Classes,
    /// Bytes of arguments in a device's memory.
    arguments: u64,
    /// Estimated bytes of device memory at the peak.
    peak: u64,
    /// Bytes of host memory per device.
    host: u64,
    seconds: f64,
}

impl Need {
    fn of(mut step: StepProgram, args: &Ahead, device: &TargetSpec) -> Result<Need> {
        let started = Instant::now();
        let settings = Settings { offload_params: args.offload, ..Settings::default() }.for_device(device);
        let roles = roles_of(&step)?;
        annotate(&mut step, &settings)?;
        let parameters = step.parameters();
        let output = Compiler::new().device(device).partition_module(step.module)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(path) = &args.write {
            std::fs::write(path, output.text())?;
        }
        let classes = Classes::of(&output.interface.inputs, &roles);
        // Offloaded parameters and optimizer state are in host memory.
        let host = if args.offload { classes.state() } else { 0 };
        let (arguments, peak) = (classes.all() - host, output.memory().peak.saturating_sub(host));
        Ok(Need { output, parameters, classes, arguments, peak, host, seconds })
    }
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.parameters)?;
        writeln!(f, "  {}", self.classes)?;
        write!(
            f,
            "  partitioned in {:.1} s; estimated {} at the peak, {} in host memory",
            self.seconds,
            gigabytes(self.peak),
            gigabytes(self.host)
        )
    }
}

/// Bytes of a device's arguments, by role.
struct Classes {
    weights: u64,
    adapters: u64,
    optimizer: u64,
    others: u64,
}

impl Classes {
    fn of(inputs: &[shardc::InterfaceTensor], roles: &Roles) -> Classes {
        let of = |is: &dyn Fn(Role) -> bool| -> u64 {
            let of_role = inputs.iter().zip(&roles.arguments).filter(|(_, argument)| is(argument.role));
            let bytes = of_role.map(|(input, _)| {
                let elements: i64 = input.local_shape.iter().product();
                (elements.unsigned_abs() * u64::from(input.global.dtype.bits())).div_ceil(8)
            });
            bytes.sum()
        };
        let is_other = |role: Role| !role.is_weight() && role != Role::OptimizerState;
        Classes {
            weights: of(&|role| role == Role::FrozenParameter),
            adapters: of(&|role| role == Role::Parameter),
            optimizer: of(&|role| role == Role::OptimizerState),
            others: of(&is_other),
        }
    }

    fn state(&self) -> u64 {
        self.weights + self.adapters + self.optimizer
    }

    fn all(&self) -> u64 {
        self.state() + self.others
    }
}

impl std::fmt::Display for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [weights, adapters, optimizer, others] =
            [self.weights, self.adapters, self.optimizer, self.others].map(gigabytes);
        write!(
            f,
            "each has {weights} of frozen weights, {adapters} of adapters, {optimizer} of optimizer state, {others} of other arguments"
        )
    }
}

fn described(report: &CompileReport) -> String {
    format!(
        "arguments {}, temporaries {}, {} in all; {} sent in a step by each device",
        gigabytes(report.argument_bytes),
        gigabytes(report.temp_bytes),
        gigabytes(report.needed_bytes()),
        gigabytes(report.bytes_sent())
    )
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30))
}
