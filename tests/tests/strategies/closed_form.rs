//! Compares the bytes that a device sends in a step with the closed form.
//!
//! The ZeRO paper (Rajbhandari et al., 2020, section 7) counts the traffic if parameters have one element type. Gradients are reduce-scattered and
//! parameters all-gathered over `k` devices. Each of these collectives sends `(k - 1) / k` of its bytes from each device. Nodes are
//! replicas, and shards of gradients are all-reduced across nodes. Frozen parameters are only all-gathered.
//!
//! The remaining traffic is computed from the single-device program. A parameter is all-gathered in the type of its uses, once for each
//! pass of the step that uses the parameter. The backward pass does not read biases, tables that are only looked up, or the weight of the
//! first layer. If cheaper, batch elements are sent instead of a gradient, and rows instead of a table. Each batch statistic is all-reduced
//! in the forward and in the backward pass.

use std::fmt::Write as _;

use shardc::{Compiler, Output};
use shardc_passes::cost::traffic::summarize;
use shardc_strategy::{Role, Settings, Sharding};

use super::reads::{self, Reads};
use super::{STRATEGIES, annotated_by};
use shardc_tests::sample::sample;
use shardc_tests::training::{PROGRAMS, Program};

/// Relative tolerance of the closed form: 1 %.
const TOLERANCE: f64 = 0.01;

/// Gradients that are sent in a wider type than the one in which their parameter is read: the program, the prefix of their names, the bytes
/// of an element, and the reason.
const WIDE_GRADIENTS: &[(&str, &str, f64, &str)] = &[
    ("llama70b_4l", "params['lm_head']", 4.0, IN_F32),
    ("llama7b_32l", "params['lm_head']", 4.0, IN_F32),
    (
        "own gpt2",
        "wte",
        4.0,
        "the f32 sum of two bf16 gradients: that of the looked-up rows, and that of the matmul with the table",
    ),
];

const IN_F32: &str =
    "logits are in f32, and so is the gradient of the weight from which a matmul computes them";

/// The number of rows that matmuls process, if it is not the number of elements of a batch: a vision transformer processes patches.
const EXAMPLES: &[(&str, f64)] = &[("vit_tiny_accum", 8.0 * 17.0)];

/// Minimum saving for sending batch elements with two collectives instead of the gradient with one.
const WORTH: f64 = 16.0 * 1024.0;

/// The minimum number of bytes saved by sending looked-up rows instead of the gradient of a table, which takes two more collectives.
const WORTH_EXCHANGING: f64 = 4.0 * 1024.0 * 1024.0;

/// The bytes sent by each partitioned step agree with the closed form.
#[allow(clippy::print_stdout, reason = "the table shows what a change sends")]
pub(crate) fn bytes() -> Result<(), String> {
    let mut faults = String::new();
    for (at, program) in PROGRAMS.iter().enumerate() {
        let for_gpus = ("zero3 for GPUs", Sharding::FullShard, "data=8");
        let all = STRATEGIES.iter().map(|&strategy| (strategy, false)).chain([(for_gpus, true)]);
        for ((strategy, sharding, mesh), split_stacks_first) in sample(all, at, 3) {
            let settings = Settings { sharding, split_stacks_first, ..Settings::default() };
            let output = Compiler::new()
                .partition_module(annotated_by(program, settings, mesh))
                .map_err(|error| error.to_string())?;
            let (sent, form) = (sent(&output), closed_form(program, sharding));
            let ratio = sent / form;
            println!("{} {strategy}: {sent} bytes, {form} by the closed form, {ratio:.4}", program.name);
            if !(1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&ratio) {
                writeln!(faults, "{} {strategy}: {ratio:.4} of the closed form", program.name).unwrap();
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The bytes that a device sends in one execution of a program.
pub(super) fn sent(output: &Output) -> f64 {
    summarize(&output.module).iter().map(|row| row.bytes_in_run as f64).sum()
}

/// The data of a step that the closed form needs.
struct Step {
    parameters: Vec<Parameter>,
    /// Bytes of running statistics.
    statistics: f64,
    /// Number of examples; each token counts as one.
    examples: f64,
}

/// A parameter, which may be frozen.
struct Parameter {
    is_trained: bool,
    shape: Vec<f64>,
    reads: Reads,
    /// Bytes of a stored element of the parameter; `gradient` has the bytes of an element of its gradient.
    kept: f64,
    gradient: f64,
}

impl Step {
    fn of(program: &Program) -> Step {
        let (module, roles) = program.on("fsdp=8");
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        let args = &module.regions[body].args;
        let reads = reads::of(module.clone(), &roles);
        let shape = |i: usize| -> Vec<f64> { module.shape(args[i]).iter().map(|&n| n as f64).collect() };
        let parameter = |i: usize| {
            let (name, reads) = (&roles.arguments[i].name, reads[i]);
            let wide =
                WIDE_GRADIENTS.iter().find(|(of, begin, ..)| *of == program.name && name.starts_with(begin));
            Parameter {
                is_trained: roles.arguments[i].role == Role::Parameter,
                shape: shape(i),
                reads,
                kept: f64::from(module.stored(args[i]).unwrap().dtype.bits()) / 8.0,
                gradient: wide.map_or(f64::from(reads.bits) / 8.0, |(_, _, each, _)| *each),
            }
        };
        let weights = roles.of(Role::Parameter).chain(roles.of(Role::FrozenParameter));
        let numbered = roles.of(Role::Batch).filter(|&i| module.stored(args[i]).unwrap().dtype.is_integer());
        Step {
            parameters: weights.map(parameter).collect(),
            statistics: roles
                .of(Role::ModelState)
                .map(|i| module.stored(args[i]).unwrap().num_bytes().unwrap() as f64)
                .sum(),
            examples: EXAMPLES.iter().find(|(of, _)| *of == program.name).map_or_else(
                || numbered.map(|i| shape(i).iter().product()).fold(f64::INFINITY, f64::min),
                |(_, examples)| *examples,
            ),
        }
    }
}

impl Parameter {
    fn elements(&self) -> f64 {
        self.shape.iter().product()
    }

    /// Bytes of an element in the type in which the parameter is used.
    fn read(&self) -> f64 {
        f64::from(self.reads.bits) / 8.0
    }

    /// The bytes that a device sends so that each of `k` devices can use the parameter for its shard of `examples`. The parameter is
    /// all-gathered. If it is a table that is used only in lookups, the looked-up rows are sent instead, or slices of rows by an
    /// all-to-all, if that is cheaper.
    fn gathered(&self, k: f64, examples: f64) -> f64 {
        let share = (k - 1.0) / k;
        let whole = self.elements() * self.read();
        match (self.shape.as_slice(), self.reads) {
            (&[_, row], Reads { is_looked_up: true, is_multiplied: false, .. }) => {
                let rows = examples * row * self.read();
                or_exchanged(or_less(whole * share, rows * share), exchanged(whole + rows, k))
            }
            _ => whole * share,
        }
    }

    /// The bytes that a device sends so that each of `k` devices has the entire gradient for a batch of `examples`.
    ///
    /// For a table that is both looked up and multiplied, the two gradients are added before the all-reduce, and their sum is rounded to
    /// their type.
    fn summed(&self, k: f64, examples: f64) -> f64 {
        let share = (k - 1.0) / k;
        let summed = |bytes: f64| 2.0 * self.elements() * bytes * share;
        match (self.shape.as_slice(), self.reads) {
            (&[_, _], Reads { is_looked_up: true, is_multiplied: true, .. }) => {
                summed(self.gradient.min(self.read()))
            }
            (&[_, row], Reads { is_looked_up: true, .. }) => {
                let rows = examples * row * self.read();
                let whole = summed(self.gradient);
                or_exchanged(whole, whole / 2.0 + exchanged(rows, k))
            }
            _ => summed(self.gradient),
        }
    }

    /// The bytes sent for an element of a table's gradient from a matmul. If the gradient is reduced together with the gradient from the
    /// lookup, these are all bytes of the element. Otherwise each of the two gradients is reduced in its own type.
    fn product(&self) -> f64 {
        match self.reads {
            Reads { is_looked_up: true, is_multiplied: true, .. } if self.gradient <= self.read() => {
                self.gradient
            }
            Reads { is_multiplied: true, .. } => self.gradient - self.read(),
            _ => 0.0,
        }
    }

    /// The bytes that a device sends so that each of `k` devices has its shard of the gradient for a batch of `examples`.
    ///
    /// A gradient is reduce-scattered. If cheaper, the device that owns a shard computes it from the entire batch instead: for a table,
    /// from the looked-up rows; for a matrix, from its input and its output cotangent, of which one is only partly needed. Alternatively,
    /// slices of rows are exchanged, and then slices of the table.
    fn scattered(&self, k: f64, examples: f64) -> f64 {
        let share = (k - 1.0) / k;
        let summed = |bytes: f64| self.elements() * bytes * share;
        match (self.shape.as_slice(), self.reads) {
            (&[_, row], Reads { is_looked_up: true, .. }) if self.gradient > self.product() => {
                let table = self.elements() * (self.gradient - self.product());
                let rows = examples * row * self.read();
                let of_rows = or_exchanged(or_less(table * share, rows * share), exchanged(table + rows, k));
                summed(self.product()) + of_rows
            }
            (&[rows, columns], Reads { is_looked_up: false, .. }) => {
                let (part, whole) = (rows.max(columns), rows.min(columns));
                or_less(summed(self.gradient), examples * (part / k + whole) * self.read() * share)
            }
            _ => summed(self.gradient),
        }
    }
}

/// The bytes that each of `k` devices sends in an exchange: all bytes except its own share.
fn exchanged(bytes: f64, k: f64) -> f64 {
    bytes / k * (k - 1.0) / k
}

/// Returns the bytes `one` of a method, or the bytes `other` of a second method if they save enough to pay for more collectives.
fn or_less(one: f64, other: f64) -> f64 {
    if other + WORTH < one { other } else { one }
}

/// Returns the bytes sent without an exchange, or with an exchange if the exchange is cheaper despite its collectives.
fn or_exchanged(sent: f64, exchanged: f64) -> f64 {
    if exchanged + WORTH_EXCHANGING < sent { exchanged } else { sent }
}

/// The bytes that each of eight devices sends. For the hybrid strategies, the devices form two nodes of four.
fn closed_form(program: &Program, sharding: Sharding) -> f64 {
    let step = Step::of(program);
    let share = |k: f64| (k - 1.0) / k;
    let mut sent = 0.0;
    for parameter in &step.parameters {
        let times = parameter.reads.times();
        let gathered = |k: f64, nodes: f64| parameter.gathered(k, step.examples / nodes);
        let elements = if parameter.is_trained { parameter.elements() } else { 0.0 };
        let scattered = |k: f64, nodes: f64| {
            let across = 2.0 * elements * parameter.gradient / k * share(nodes);
            if parameter.is_trained { parameter.scattered(k, step.examples / nodes) + across } else { 0.0 }
        };
        sent += match sharding {
            Sharding::NoShard if parameter.is_trained => parameter.summed(8.0, step.examples),
            Sharding::NoShard => 0.0,
            Sharding::Zero1 => scattered(8.0, 1.0) + elements * parameter.kept * share(8.0),
            Sharding::ShardGradOp => scattered(8.0, 1.0) + gathered(8.0, 1.0) * times.min(1.0),
            Sharding::FullShard => scattered(8.0, 1.0) + gathered(8.0, 1.0) * times,
            Sharding::HybridShardZero2 => scattered(4.0, 2.0) + gathered(4.0, 2.0) * times.min(1.0),
            Sharding::HybridShard => scattered(4.0, 2.0) + gathered(4.0, 2.0) * times,
        };
    }
    // The gradient with respect to a batch mean is a sum that is also the gradient of the bias after the normalization. If both are
    // all-reduced in full, one all-reduce suffices.
    let backwards = if sharding == Sharding::NoShard { 0.5 } else { 1.0 };
    sent + 2.0 * step.statistics * (1.0 + backwards) * share(8.0)
}
