//! The option `--target`: the machine that the program is planned and compiled for.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use shardc::runtime::PluginKind;
use shardc::target::{DeviceKind, Target, TargetSpec, find, unknown_hint, usual};
use shardc::{Compiler, Machine};

use crate::failure::{Failure, usage};
use crate::source::Source;

/// The machine of `--target`.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// One kind of device. All mesh axes have links of the same bandwidth.
    Device(&'static TargetSpec),
    /// Devices in a grid.
    Target(Arc<Target>),
}

impl Chosen {
    /// Parses `KIND`, `KIND:GRID` with an optional prefix `tpu:` or `cuda:`, or the name of a TOML file, which is read.
    pub(crate) fn parse(text: &str) -> Result<Chosen> {
        if Path::new(text).extension().is_some_and(|extension| extension == "toml") {
            let source = Source::read(Path::new(text))?;
            let target =
                Target::from_toml(&source.text()).map_err(|error| usage(format!("{text}: {error}")))?;
            return Ok(Chosen::Target(Arc::new(target)));
        }
        let name = text.strip_prefix("tpu:").or_else(|| text.strip_prefix("cuda:")).unwrap_or(text);
        if name.contains(':') {
            let target = name.parse::<Target>().map_err(|error| usage(error.to_string()))?;
            return Ok(Chosen::Target(Arc::new(target)));
        }
        match find(name) {
            Some(device) => Ok(Chosen::Device(device)),
            None => Err(Failure::Usage {
                message: format!("there is no device {name:?}"),
                hint: Some(format!("{}; or describe one in a TOML file", unknown_hint(name))),
            }
            .into()),
        }
    }

    /// Returns the usual device of a plugin's kind for a program that runs on this machine. `None` for the CPU: the program is then
    /// partitioned like for real devices, which is what `shardc verify` checks.
    pub(crate) fn of_plugin(kind: PluginKind) -> Option<Chosen> {
        match kind {
            PluginKind::Cpu => None,
            PluginKind::Cuda => Some(Chosen::Device(usual(DeviceKind::Gpu))),
            PluginKind::Tpu => Some(Chosen::Device(usual(DeviceKind::Tpu))),
        }
    }

    /// The kind of device.
    pub(crate) fn spec(&self) -> &TargetSpec {
        match self {
            Chosen::Device(device) => device,
            Chosen::Target(target) => target.spec(),
        }
    }

    /// The model of the memory estimate.
    pub(crate) fn machine(&self) -> Machine {
        self.spec().into()
    }

    /// Returns the compiler that plans for this machine.
    pub(crate) fn configure(&self, compiler: Compiler) -> Compiler {
        match self {
            Chosen::Device(device) => compiler.device(device),
            Chosen::Target(target) => compiler.target(Arc::clone(target)),
        }
    }
}

/// Returns the compiler that plans for a machine, if one is chosen.
pub(crate) fn configure(compiler: Compiler, chosen: Option<&Chosen>) -> Compiler {
    match chosen {
        Some(chosen) => chosen.configure(compiler),
        None => compiler,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_grids_are_parsed() {
        assert!(matches!(Chosen::parse("v5p").unwrap(), Chosen::Device(device) if device.name == "v5p"));
        assert!(
            matches!(Chosen::parse("cuda:h100:8").unwrap(), Chosen::Target(target) if target.num_devices() == 8)
        );
        for text in ["gpu", "v5e:4", "missing.toml"] {
            assert!(Chosen::parse(text).is_err(), "{text}");
        }
    }
}
