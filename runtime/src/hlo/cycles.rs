//! The cycles of computation, as the TPU compiler estimates them.
//!
//! The compiler writes an estimate to the backend config of each kernel for TPU v5e. Collectives, and programs for other devices, have none.

use std::collections::HashMap;

use super::proto::{Instruction, Module};

/// Estimates above this number stand for unknown.
const UNKNOWN: u64 = 1 << 60;

/// Returns the sum over all executed kernels; `None` if no kernel has an estimate. `times` are the executions of each computation.
pub(super) fn of(module: &Module, times: &HashMap<i64, u64>) -> Option<u64> {
    let executed = module.computations.iter().filter_map(|c| Some((c, *times.get(&c.id)?)));
    let kernels = executed.flat_map(|(c, times)| c.instructions.iter().map(move |at| (at, times)));
    let cycles = kernels.filter_map(|(at, times)| Some(estimate(at)?.saturating_mul(times)));
    cycles.reduce(u64::saturating_add)
}

/// Returns the compiler's estimate for an instruction.
fn estimate(at: &Instruction) -> Option<u64> {
    let config: serde_json::Value = serde_json::from_slice(&at.backend_config).ok()?;
    let cycles = config.get("window_config")?.get("estimated_cycles")?;
    cycles.as_u64().or_else(|| cycles.as_str()?.parse().ok()).filter(|&cycles| cycles < UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::proto::Computation;

    #[test]
    fn estimates_are_summed_over_executions() {
        let kernel = |cycles: &str| Instruction {
            backend_config: format!(r#"{{"window_config":{{"estimated_cycles":"{cycles}"}}}}"#).into_bytes(),
            ..Instruction::default()
        };
        let computation = |id, kernels: &[&str]| Computation {
            id,
            instructions: kernels.iter().map(|cycles| kernel(cycles)).collect(),
            ..Computation::default()
        };
        let computations = vec![
            computation(1, &["10", "9223372036854775807"]),
            computation(2, &["5"]),
            computation(3, &["1000"]),
        ];
        let module = Module { computations, entry_computation_id: 2 };
        assert_eq!(of(&module, &[(1, 3), (2, 1)].into()), Some(35));
        assert_eq!(of(&Module::default(), &HashMap::new()), None);
    }
}
