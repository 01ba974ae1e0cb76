//! The wheels from which shardc installs plugins, pinned by hash.

use std::path::{Path, PathBuf};

use super::PluginKind;

/// A wheel: one file of one release of a project on PyPI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wheel {
    pub(super) project: &'static str,
    pub(super) version: &'static str,
    pub(super) file: &'static str,
    /// File size in bytes.
    pub(super) size: u64,
    pub(super) sha256: &'static str,
}

impl Wheel {
    /// The project and its version, for messages.
    pub(super) fn package(&self) -> String {
        format!("{} {}", self.project, self.version)
    }
}

/// A pinned plugin for one platform, and its libraries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    pub(super) kind: PluginKind,
    /// The operating system and the processor architecture, by Rust's names.
    pub(super) platform: (&'static str, &'static str),
    /// The wheel that contains the plugin.
    pub(super) wheel: Wheel,
    /// The path of the plugin's shared library in the wheel.
    pub(super) member: &'static str,
    /// The wheels of libraries that the plugin loads. The plugin searches for them in the folders of other wheels next to its own, so they
    /// are installed with the paths that they have in their wheels.
    pub(super) libraries: &'static [Wheel],
}

const PINS: &[Pin] = &[
    Pin {
        kind: PluginKind::Cpu,
        platform: ("linux", "x86_64"),
        wheel: Wheel {
            project: "xla-cpu-pjrt",
            version: "0.0.1",
            file: "xla_cpu_pjrt-0.0.1-py3-none-manylinux_2_27_x86_64.whl",
            size: 63_461_052,
            sha256: "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
        },
        member: "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
        libraries: &[],
    },
    // The wheels for different Python versions differ only in `sdk.so`, which shardc does not use.
    Pin {
        kind: PluginKind::Tpu,
        platform: ("linux", "x86_64"),
        wheel: Wheel {
            project: "libtpu",
            version: "0.0.51",
            file: "libtpu-0.0.51-cp311-cp311-manylinux_2_31_x86_64.whl",
            size: 204_805_508,
            sha256: "ba67ddbfdbac61c8da1fafc26cd51b93e9fe4d298016e2882eb986b1718cba34",
        },
        member: "libtpu/libtpu.so",
        libraries: &[],
    },
    // The plugin for CUDA 12 is pinned, because more machines have drivers for CUDA 12 than for 13. It has the same version of the C API as
    // the pinned libtpu.
    Pin {
        kind: PluginKind::Cuda,
        platform: ("linux", "x86_64"),
        wheel: Wheel {
            project: "jax-cuda12-pjrt",
            version: "0.12.0.1",
            file: "jax_cuda12_pjrt-0.12.0.1-py3-none-manylinux_2_27_x86_64.whl",
            size: 191_846_358,
            sha256: "5ec28e06198d094031c37590b4ea753ae8cde4879ab4b60baf40f0dffb673286",
        },
        member: "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
        libraries: CUDA_12,
    },
];

/// The dependencies of `jax-cuda12-plugin[with-cuda]`, without cuSOLVER and NVSHMEM, which the plugin does not load; all of them are from
/// CUDA 12.9.
const CUDA_12: &[Wheel] = &[
    Wheel {
        project: "nvidia-cublas-cu12",
        version: "12.9.1.4",
        file: "nvidia_cublas_cu12-12.9.1.4-py3-none-manylinux_2_27_x86_64.whl",
        size: 581_242_350,
        sha256: "453611eb21a7c1f2c2156ed9f3a45b691deda0440ec550860290dc901af5b4c2",
    },
    Wheel {
        project: "nvidia-cuda-cupti-cu12",
        version: "12.9.79",
        file: "nvidia_cuda_cupti_cu12-12.9.79-py3-none-manylinux_2_25_x86_64.whl",
        size: 10_814_997,
        sha256: "096bcf334f13e1984ba36685ad4c1d6347db214de03dbb6eebb237b41d9d934f",
    },
    Wheel {
        project: "nvidia-cuda-nvcc-cu12",
        version: "12.9.86",
        file: "nvidia_cuda_nvcc_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
        size: 40_546_229,
        sha256: "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
    },
    Wheel {
        project: "nvidia-cuda-runtime-cu12",
        version: "12.9.79",
        file: "nvidia_cuda_runtime_cu12-12.9.79-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        size: 3_493_179,
        sha256: "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
    },
    Wheel {
        project: "nvidia-cudnn-cu12",
        version: "9.10.2.21",
        file: "nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl",
        size: 706_758_467,
        sha256: "949452be657fa16687d0930933f032835951ef0892b37d2d53824d1a84dc97a8",
    },
    Wheel {
        project: "nvidia-cufft-cu12",
        version: "11.4.1.4",
        file: "nvidia_cufft_cu12-11.4.1.4-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        size: 200_877_592,
        sha256: "c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28",
    },
    Wheel {
        project: "nvidia-cusparse-cu12",
        version: "12.5.10.65",
        file: "nvidia_cusparse_cu12-12.5.10.65-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        size: 366_465_088,
        sha256: "73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78",
    },
    Wheel {
        project: "nvidia-nccl-cu12",
        version: "2.29.7",
        file: "nvidia_nccl_cu12-2.29.7-py3-none-manylinux_2_18_x86_64.whl",
        size: 293_633_942,
        sha256: "ecd0a012051abc20c1aa87328841efa8cade3ced65803046e38c2f03c0891fea",
    },
    Wheel {
        project: "nvidia-nvjitlink-cu12",
        version: "12.9.86",
        file: "nvidia_nvjitlink_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
        size: 39_748_338,
        sha256: "e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9",
    },
    Wheel {
        project: "nvidia-cuda-nvrtc-cu12",
        version: "12.9.86",
        file: "nvidia_cuda_nvrtc_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
        size: 89_568_129,
        sha256: "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
    },
];

impl Pin {
    /// Returns the pinned plugin of a kind for the platform of this machine; `None` if there is none.
    pub(super) fn of(kind: PluginKind) -> Option<Pin> {
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        PINS.iter().find(|pin| pin.kind == kind && pin.platform == here).copied()
    }

    /// Returns the directory in the cache in which the plugin is installed.
    pub(super) fn directory(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.wheel.project, self.wheel.version))
    }

    /// Returns the path of the shared library in the directory of the plugin.
    pub(super) fn place(&self) -> PathBuf {
        match self.libraries {
            [] => PathBuf::from(self.member.rsplit('/').next().unwrap_or(self.member)),
            _ => PathBuf::from(self.member),
        }
    }

    /// Returns the path of the shared library in the cache.
    pub(super) fn installed_path(&self, cache: &Path) -> PathBuf {
        self.directory(cache).join(self.place())
    }
}
