//! What a program is compiled for.

use std::fmt;
use std::str::FromStr;

use crate::error::{Result, RuntimeError};
use crate::plugin::PluginKind;

/// What a program is compiled for: `cpu`, `cuda`, or a TPU slice such as `tpu:v5e:4x4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    kind: PluginKind,
    topology: Option<String>,
}

impl Target {
    /// This machine's processor.
    #[must_use]
    pub fn cpu() -> Target {
        Target { kind: PluginKind::Cpu, topology: None }
    }

    /// Reads a target. The name of a TPU slice is checked by the TPU compiler, which knows its generations.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Target`] with the reason.
    pub fn parse(text: &str) -> Result<Target> {
        let fail = |reason: String| Err(RuntimeError::Target { text: text.to_owned(), reason });
        let (kind, topology) = match text.split_once(':') {
            Some((kind, topology)) => (kind, Some(topology)),
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
            ("tpu", None) => fail("it does not say which TPU slice".to_owned()),
            ("cpu" | "cuda", Some(_)) => fail(format!("{kind} takes no topology")),
            _ => fail(format!("`{kind}` is no kind of device")),
        }
    }

    /// The kind of plugin that compiles for it.
    #[must_use]
    pub fn kind(&self) -> PluginKind {
        self.kind
    }

    /// The plugin's name of the devices, where they need not be there: `v5e:4x4`.
    #[must_use]
    pub fn topology(&self) -> Option<&str> {
        self.topology.as_deref()
    }
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
        for text in ["cpu", "cuda", "tpu:v5e:4x4", "tpu:tpu7x:2x2x2"] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
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
        ] {
            let error = Target::parse(text).unwrap_err();
            assert_eq!(error.code(), "RT0501", "{text}");
        }
    }
}
