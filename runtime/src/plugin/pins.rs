//! The wheels that shardc installs plugins from, pinned by hash.

use std::path::{Path, PathBuf};

use super::PluginKind;

/// One file of one release on PyPI, and the plugin in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    pub(super) kind: PluginKind,
    /// Rust's names of operating system and processor.
    pub(super) platform: (&'static str, &'static str),
    pub(super) project: &'static str,
    pub(super) version: &'static str,
    pub(super) file: &'static str,
    pub(super) sha256: &'static str,
    /// The plugin's path in the wheel.
    pub(super) member: &'static str,
}

const PINS: &[Pin] = &[
    Pin {
        kind: PluginKind::Cpu,
        platform: ("linux", "x86_64"),
        project: "xla-cpu-pjrt",
        version: "0.0.1",
        file: "xla_cpu_pjrt-0.0.1-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
        member: "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
    },
    // The wheels for the versions of Python differ in `sdk.so`, which shardc does not use.
    Pin {
        kind: PluginKind::Tpu,
        platform: ("linux", "x86_64"),
        project: "libtpu",
        version: "0.0.51",
        file: "libtpu-0.0.51-cp311-cp311-manylinux_2_31_x86_64.whl",
        sha256: "ba67ddbfdbac61c8da1fafc26cd51b93e9fe4d298016e2882eb986b1718cba34",
        member: "libtpu/libtpu.so",
    },
];

impl Pin {
    /// The pin of a kind for this machine.
    pub(super) fn of(kind: PluginKind) -> Option<Pin> {
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        PINS.iter().find(|pin| pin.kind == kind && pin.platform == here).copied()
    }

    /// The directory of the installed plugin in the cache.
    pub(super) fn directory(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.project, self.version))
    }

    /// The name of the plugin's file.
    pub(super) fn file_name(&self) -> &'static str {
        self.member.rsplit('/').next().unwrap_or(self.member)
    }

    /// The plugin's file in the cache.
    pub(super) fn installed_path(&self, cache: &Path) -> PathBuf {
        self.directory(cache).join(self.file_name())
    }
}
