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

/// Returns the hint for an unknown device: the devices whose names begin like `name`, or of which `name` is a longer form, and all names.
#[must_use]
pub fn unknown_hint(name: &str) -> String {
    let lower = name.to_lowercase();
    let is_like = |known: &str| !lower.is_empty() && (known.starts_with(&lower) || lower.starts_with(known));
    let like: Vec<&str> = SPECS.map(|spec| &*spec.name).into_iter().filter(|known| is_like(known)).collect();
    match &like[..] {
        [] => format!("known devices are {}", names()),
        like => format!("did you mean {}? known devices are {}", like.join(" or "), names()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    #[test]
    fn short_and_long_names_have_suggestions() {
        assert!(
            unknown_hint("a100").starts_with("did you mean a100-40gb or a100-80gb? known devices are cpu")
        );
        assert!(unknown_hint("H100-80GB").starts_with("did you mean h100? "));
        assert!(unknown_hint("gpu").starts_with("known devices are "));
    }

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
