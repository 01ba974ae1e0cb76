//! Compilation targets.

use std::fmt;
use std::str::FromStr;

use shardc_target::{DeviceKind, find};

use super::gpus::Gpu;
use super::grid::Grid;
use crate::error::{Result, RuntimeError};
use crate::plugin::PluginKind;

/// A compilation target: `cpu`; `cuda`, the GPUs of this machine; or devices that need not exist, such as `tpu:v5e:4x4` and `cuda:h100:2x8`
/// (two hosts with eight GPUs each). The prefixes `tpu:` and `cuda:` may be omitted if the device is in the table of `shardc-target`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    kind: PluginKind,
    topology: Option<String>,
}

impl Target {
    /// Creates the target `cpu`, the CPU of this machine.
    #[must_use]
    pub fn cpu() -> Target {
        Target { kind: PluginKind::Cpu, topology: None }
    }

    /// Parses a target. Names of TPU slices with the prefix `tpu:` are checked later, by the TPU compiler, which knows the TPU generations.
    /// Other names are checked against the table of `shardc-target`.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Target`] with the reason.
    pub fn parse(text: &str) -> Result<Target> {
        let fail = |reason: String| Err(RuntimeError::Target { text: text.to_owned(), reason });
        let (kind, topology) = match text.split_once(':') {
            Some((kind, topology)) => {
                plugin_of(kind).map_or((kind, Some(topology)), |kind| (kind, Some(text)))
            }
            None => (text, None),
        };
        match (kind, topology) {
            ("cpu", None) => Ok(Target::cpu()),
            ("cuda", None) => Ok(Target { kind: PluginKind::Cuda, topology: None }),
            ("tpu", Some(topology)) => {
                let well_formed = topology.split_once(':').is_some_and(|(generation, grid)| {
                    generation.chars().all(|c| c.is_ascii_alphanumeric())
                        && !generation.is_empty()
                        && grid.split('x').all(|n| n.parse::<u32>().is_ok_and(|n| n > 0))
                });
                if !well_formed {
                    return fail("a TPU slice is GENERATION:GRID, such as v5e:4x4 or v5p:2x2x2".to_owned());
                }
                Ok(Target { kind: PluginKind::Tpu, topology: Some(topology.to_owned()) })
            }
            ("cuda", Some(topology)) => {
                if gpus(topology).is_none() {
                    return fail(format!(
                        "a GPU target is KIND:GPUS or KIND:HOSTSxGPUS, such as h100:8 or h100:2x8; the \
                         kinds are {}",
                        Gpu::names()
                    ));
                }
                Ok(Target { kind: PluginKind::Cuda, topology: Some(topology.to_owned()) })
            }
            ("tpu", None) => {
                fail("it does not name a TPU slice; expected, for example, tpu:v5e:4x4".to_owned())
            }
            ("cpu", Some(_)) => fail("cpu takes no topology".to_owned()),
            _ => fail(format!("unknown kind of device `{kind}`")),
        }
    }

    /// The kind of plugin that compiles for this target.
    #[must_use]
    pub fn kind(&self) -> PluginKind {
        self.kind
    }

    /// Returns the topology name of devices that need not exist, such as `v5e:4x4` or `h100:8`; `None` for this machine's devices.
    #[must_use]
    pub fn topology(&self) -> Option<&str> {
        self.topology.as_deref()
    }

    /// Returns the kind and the grid of the GPUs of a target such as `cuda:h100:8`; `None` for other targets.
    pub(crate) fn gpus(&self) -> Option<(Gpu, Grid)> {
        self.topology().filter(|_| self.kind == PluginKind::Cuda).and_then(gpus)
    }
}

/// Returns the prefix of the targets with a device of the table; `None` if there is no such device, or if it needs no grid.
fn plugin_of(name: &str) -> Option<&'static str> {
    match find(name)?.kind {
        DeviceKind::Cpu => None,
        DeviceKind::Gpu => Some("cuda"),
        DeviceKind::Tpu => Some("tpu"),
    }
}

/// Parses the kind and the grid of GPUs: `h100:8` or `h100:2x8`.
fn gpus(topology: &str) -> Option<(Gpu, Grid)> {
    let (name, grid) = topology.split_once(':')?;
    Some((Gpu::named(name)?, Grid::parse(grid)?))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.topology {
            Some(topology) => write!(f, "{}:{topology}", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}

impl FromStr for Target {
    type Err = RuntimeError;

    fn from_str(text: &str) -> Result<Target> {
        Target::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        for text in ["cpu", "cuda", "cuda:h100:8", "cuda:a100-40gb:4x8", "tpu:v5e:4x4", "tpu:tpu7x:2x2x2"] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
        for (text, prefixed) in [("v5e:4x4", "tpu:v5e:4x4"), ("h100:2x8", "cuda:h100:2x8")] {
            assert_eq!(Target::parse(text).unwrap().to_string(), prefixed);
        }
        for text in [
            "",
            "tpu",
            "gpu",
            "cpu:4",
            "tpu:",
            "tpu:v5e",
            "tpu:v5e:",
            "tpu:v5e:4x",
            "tpu:v5e:0x4",
            "tpu::4x4",
            "cuda:8",
            "cuda:h100",
            "cuda:h100:",
            "cuda:h100:0",
            "cuda:h100:2x",
            "cuda:h100:2x2x2",
            "cuda:h100:65536x65536",
            "cuda:h99:8",
        ] {
            let error = Target::parse(text).unwrap_err();
            assert_eq!(error.code(), "RT0501", "{text}");
        }
        let error = Target::parse("cuda:h99:8").unwrap_err().to_string();
        assert!(error.contains("the kinds are rtx4090, a100-40gb, l40s, h100"), "{error}");
        let (gpu, grid) = Target::parse("cuda:h100:2x8").unwrap().gpus().unwrap();
        assert_eq!((Some(gpu), grid), (Gpu::named("h100"), Grid { hosts: 2, per_host: 8 }));
    }
}
