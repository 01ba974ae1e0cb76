//! What a device sends in a step, beside the closed form.
//!
//! The ZeRO paper (Rajbhandari et al., 2020, section 7) counts what is sent by parameters of one type: gradients are reduced and
//! parameters gathered over `k` devices, each of which takes `(k - 1) / k` of their bytes; across nodes, of which each has a copy, the
//! parts of gradients are summed. Frozen parameters are gathered. Two things that it leaves out are counted here, too: a gradient is
//! sent in the type in which the program sums it, and each statistic of a batch is summed once forwards and once backwards.

use std::fmt::Write as _;

use shardc::{Compiler, Output};
use shardc_passes::cost::traffic::summarize;
use shardc_strategy::{Role, Sharding};

use super::programs::{PROGRAMS, Program};
use super::{STRATEGIES, annotated};

/// How far from the closed form a program may be: 1 %.
const TOLERANCE: f64 = 0.01;

/// Programs that send less, by at most this part of the closed form, and why.
const LESS: &[(&str, &str, f64, &str)] = &[
    ("llama70b_4l", "zero3", 0.05, ONCE),
    ("llama70b_4l", "hybrid", 0.04, ONCE),
    ("llama7b_32l", "zero3", 0.02, ONCE),
    ("llama7b_32l", "hybrid", 0.02, ONCE),
    ("llama_tiny", "zero3", 0.06, ONCE),
    ("llama_tiny", "hybrid_zero2", 0.04, ROWS),
    ("llama_tiny", "hybrid", 0.07, ONCE),
    ("lora_llama_tiny", "zero3", 0.22, ONCE),
    ("lora_llama_tiny", "hybrid", 0.22, ONCE),
    ("lstm_tiny", "zero3", 0.19, ONCE),
    ("lstm_tiny", "hybrid", 0.17, ONCE),
    ("resnet_tiny", "ddp", 0.03, "some statistics are gradients, too, and summed once"),
    ("resnet_tiny", "zero3", 0.05, ONCE),
    ("resnet_tiny", "hybrid", 0.05, ONCE),
    ("unet_tiny", "zero3", 0.11, ONCE),
    ("unet_tiny", "hybrid", 0.10, ONCE),
    ("vit_tiny_accum", "zero3", 0.07, ONCE),
    ("vit_tiny_accum", "hybrid", 0.06, ONCE),
    ("own moe", "zero3", 0.23, ONCE),
    ("own moe", "hybrid", 0.21, ONCE),
    ("own llama_tiny", "zero3", 0.05, ONCE),
    ("own llama_tiny", "hybrid", 0.04, ONCE),
    ("mlp_sgd", "zero", 0.42, FEWER_ACTIVATIONS),
    ("mlp_sgd", "hybrid", 0.39, FEWER_ACTIVATIONS),
    ("own mlp", "zero", 0.50, FEWER_ACTIVATIONS),
    ("own mlp", "hybrid", 0.49, FEWER_ACTIVATIONS),
    ("own gpt2", "zero3", 0.49, HALF),
    ("own gpt2", "hybrid", 0.48, HALF),
    ("own gpt2", "", 0.35, HALF),
    ("own llama7b_2l", "zero", 0.10, ROWS),
    ("own llama7b_2l", "hybrid", 0.12, ROWS),
];

const ONCE: &str =
    "what the backward part does not read is gathered once: tables of embeddings, first layers, biases";
const HALF: &str = "parameters are f32, and bf16 where they are gathered and all but one summed";
const FEWER_ACTIVATIONS: &str = "activations are smaller than the weights, and sent in their place";
const ROWS: &str = "rows of the table of embeddings are sent, rather than the table";

/// Gradients that are summed in another type than their parameter has: the program, what their names begin with, and the bytes of an
/// element.
const WIDE_GRADIENTS: &[(&str, &str, f64)] =
    &[("llama70b_4l", "params['embed']", 4.0), ("llama7b_32l", "params['embed']", 4.0)];

/// Each partitioned step sends what the closed form says, or less with a reason.
#[allow(clippy::print_stdout, reason = "the table is what somebody looks at whose change sends more")]
pub(crate) fn bytes() -> Result<(), String> {
    let mut faults = String::new();
    for program in PROGRAMS.iter() {
        for &(strategy, sharding, mesh) in STRATEGIES {
            let output = Compiler::new()
                .partition_module(annotated(program, sharding, mesh))
                .map_err(|error| error.to_string())?;
            let (sent, form) = (sent(&output), closed_form(program, sharding));
            let ratio = sent / form;
            println!("{} {strategy}: {sent} bytes, {form} by the closed form, {ratio:.4}", program.name);
            let listed = LESS.iter().find(|(name, of, ..)| *name == program.name && strategy.contains(of));
            let least = 1.0 - listed.map_or(TOLERANCE, |(_, _, less, _)| *less);
            if !(least..=1.0 + TOLERANCE).contains(&ratio) {
                writeln!(faults, "{} {strategy}: {ratio:.4} of the closed form", program.name).unwrap();
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The bytes that a device sends while a program runs.
pub(super) fn sent(output: &Output) -> f64 {
    summarize(&output.module).iter().map(|row| row.bytes_in_run as f64).sum()
}

fn closed_form(program: &Program, sharding: Sharding) -> f64 {
    let (module, roles) = program.on("fsdp=8");
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let args = &module.regions[body].args;
    let bytes = |i: usize| module.stored(args[i]).unwrap().num_bytes().unwrap() as f64;
    let sum = |role| -> f64 { roles.of(role).map(bytes).sum() };
    let reduced = |i: usize| {
        let name = &roles.arguments[i].name;
        let wide =
            WIDE_GRADIENTS.iter().find(|(of, begin, _)| *of == program.name && name.starts_with(begin));
        wide.map_or(bytes(i), |(.., each)| module.shape(args[i]).iter().product::<i64>() as f64 * each)
    };
    let (parameters, frozen) = (sum(Role::Parameter), sum(Role::FrozenParameter));
    let gradients: f64 = roles.of(Role::Parameter).map(reduced).sum();
    let statistics = 2.0 * sum(Role::ModelState);
    let share = |k: f64| (k - 1.0) / k;
    let step = match sharding {
        Sharding::NoShard => 2.0 * gradients * share(8.0),
        Sharding::Zero1 => (gradients + parameters) * share(8.0),
        Sharding::ShardGradOp => (gradients + parameters + frozen) * share(8.0),
        Sharding::FullShard => (gradients + 2.0 * (parameters + frozen)) * share(8.0),
        Sharding::HybridShardZero2 => {
            (gradients + parameters + frozen) * share(4.0) + 2.0 * (gradients / 4.0) * share(2.0)
        }
        Sharding::HybridShard => {
            (gradients + 2.0 * (parameters + frozen)) * share(4.0) + 2.0 * (gradients / 4.0) * share(2.0)
        }
    };
    step + 2.0 * statistics * share(8.0)
}
