//! Activation checkpointing of steps with a backward pass: less memory, and no more traffic.

use std::fmt::Write as _;

use shardc::Compiler;
use shardc_strategy::{Settings, Sharding, Wrap};

use super::annotated_by;
use super::closed_form::sent;
use shardc_tests::training::PROGRAMS;

/// Steps with many layers outside of loops, each with upper bounds of the estimated temporaries and of the bytes sent, as fractions of the
/// figures without checkpointing. For GPT-2, libtpu's temporaries (v5p:2x2x2) are 0.46 of those without checkpointing. For
/// Llama 70B, they are 0.34 (v5p:4x4x2). Llama 7B fits on no TPU without checkpointing. With it, libtpu's temporaries are 0.05 of the estimate
/// without it. The bounds of the Llamas are those of the estimate for a v5e, whose heaps have gaps.
const STEPS: &[(&str, f64, f64)] =
    &[("gpt2_base", 0.4, 1.0), ("llama70b_4l", 0.37, 1.0), ("llama7b_32l", 0.061, 1.0)];

/// Checks that the temporaries and the bytes sent do not exceed the listed bounds.
pub(super) fn fewer_activations_are_kept() -> Result<(), String> {
    let mut faults = String::new();
    let find = |name: &str| PROGRAMS.iter().find(|program| program.name == name).ok_or(name.to_owned());
    for &(name, most, most_sent) in STEPS {
        let program = find(name)?;
        let of = |activation_checkpointing| {
            let sharding = Sharding::FullShard;
            let wrap = Some(Wrap::Layers);
            let settings = Settings { sharding, wrap, activation_checkpointing, ..Settings::default() };
            let module = annotated_by(program, settings, "fsdp=8");
            let output = Compiler::new().partition_module(module).map_err(|error| error.to_string())?;
            Ok::<_, String>((output.memory().temporaries as f64, sent(&output)))
        };
        let (kept, again) = (of(false)?, of(true)?);
        let ratios = (again.0 / kept.0, again.1 / kept.1);
        if ratios.0 > most || ratios.1 > most_sent {
            let (took, sends) = ratios;
            writeln!(faults, "{name}: {took:.3} of the temporaries, {sends:.3} of what is sent").unwrap();
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
