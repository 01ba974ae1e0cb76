//! The table of known devices.

mod cpu;
mod gpus;
mod tpus;

use crate::{CompilerModel, DeviceKind, PlanningRates, TargetSpec};

pub use cpu::CPU;
pub use tpus::V5E;

/// All known devices.
pub static SPECS: [&TargetSpec; 13] = [
    &CPU,
    &tpus::V4,
    &tpus::V5E,
    &tpus::V5P,
    &tpus::V6E,
    &tpus::TPU7X,
    &gpus::RTX_4090,
    &gpus::A100_40GB,
    &gpus::L40S,
    &gpus::H100,
    &gpus::A100_80GB,
    &gpus::H200,
    &gpus::B200,
];

impl Default for PlanningRates {
    /// The rates of a TPU v5e.
    fn default() -> Self {
        V5E.planning_rates()
    }
}

impl Default for CompilerModel {
    /// The compiler of a TPU v5e.
    fn default() -> Self {
        V5E.compiler
    }
}

/// Returns the device with this name; `None` if it is unknown.
#[must_use]
pub fn find(name: &str) -> Option<&'static TargetSpec> {
    SPECS.into_iter().find(|spec| spec.name == name)
}

/// Returns the device that stands for its kind where no device is chosen: a core of a server, an H100 or a TPU v5e.
#[must_use]
pub fn usual(kind: DeviceKind) -> &'static TargetSpec {
    match kind {
        DeviceKind::Cpu => &cpu::CPU,
        DeviceKind::Gpu => &gpus::H100,
        DeviceKind::Tpu => &tpus::V5E,
    }
}

/// Returns the names of all devices, for messages.
#[must_use]
pub fn names() -> String {
    SPECS.map(|spec| &*spec.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    #[test]
    fn names_are_unique_and_rates_are_plausible() {
        for (i, spec) in SPECS.iter().enumerate() {
            assert!(SPECS[..i].iter().all(|other| other.name != spec.name), "{}", spec.name);
            let rates = spec.planning_rates();
            assert!(
                rates.start > 0.0 && rates.per_memory_byte < 1.0 && rates.per_flop < rates.per_memory_byte
            );
            assert!(spec.peaks.of(Number::F16) >= spec.peaks.of(Number::F32), "{}", spec.name);
            assert_eq!(spec.gpu.is_some(), spec.kind == DeviceKind::Gpu, "{}", spec.name);
        }
    }
}
