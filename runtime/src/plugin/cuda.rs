//! The NVIDIA libraries that the CUDA plugin loads on first use.

use std::path::{Path, PathBuf};

use super::Environment;

/// For each NVIDIA wheel, its folder below `nvidia` and the library that the plugin loads from it.
const LIBRARIES: [(&str, &str); 10] = [
    ("cuda_runtime", "libcudart.so.12"),
    ("cublas", "libcublas.so.12"),
    ("cublas", "libcublasLt.so.12"),
    ("cudnn", "libcudnn.so.9"),
    ("cufft", "libcufft.so.11"),
    ("cusparse", "libcusparse.so.12"),
    ("cuda_cupti", "libcupti.so.12"),
    ("nvjitlink", "libnvJitLink.so.12"),
    ("cuda_nvrtc", "libnvrtc.so.12"),
    ("nccl", "libnccl.so.2"),
];

/// The package with NVIDIA's compiler, which is the only package needed to compile without a GPU.
pub(super) const COMPILER: &str = "nvidia-cuda-nvcc-cu12";

/// The path in the package [`COMPILER`] of NVIDIA's library of device functions, without which nothing compiles.
const LIBDEVICE: &str = "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc";

/// The library of the NVIDIA driver.
const DRIVER: &str = "libcuda.so.1";

/// Returns the relative path at which a file of a wheel is installed, which is its path in the wheel. `None` for files that are not needed:
/// headers, static libraries and text files.
pub(super) fn place(member: &str) -> Option<PathBuf> {
    let name = member.rsplit('/').next().unwrap_or(member);
    let is_wanted = name.ends_with(".so")
        || name.contains(".so.")
        || name.starts_with("libdevice.")
        || member.ends_with("/bin/ptxas");
    (member.starts_with("nvidia/") && is_wanted).then(|| PathBuf::from(member))
}

/// Returns the folder of Python packages that contains a plugin.
fn packages(plugin: &Path) -> &Path {
    plugin.ancestors().nth(3).unwrap_or(Path::new(""))
}

/// Returns whether NVIDIA's compiler is in the folder that the plugin searches first.
pub(crate) fn has_compiler(plugin: &Path) -> bool {
    packages(plugin).join(LIBDEVICE).is_file()
}

/// Returns the libraries that are missing in the folders that the plugin searches first: the folders of the wheels that are installed next
/// to the plugin's own wheel.
pub(super) fn missing_beside(plugin: &Path) -> Vec<&'static str> {
    let packages = packages(plugin);
    let is_missing = |(folder, name): &(&str, &str)| {
        !packages.join("nvidia").join(folder).join("lib").join(name).is_file()
    };
    LIBRARIES.iter().filter(|library| is_missing(library)).map(|(_, name)| *name).collect()
}

/// The dynamic loader's default folders on common systems.
const SYSTEM: [&str; 7] = [
    "/usr/local/cuda/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/wsl/lib",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
];

/// Returns the missing libraries, including the driver's library. A library is missing if it is neither next to the plugin nor in the
/// system's library folders. Only the libraries of the plugin for CUDA 12 are known; for another plugin only the driver is checked.
pub(crate) fn missing(plugin: &Path, environment: &Environment) -> Vec<String> {
    let is_known = plugin.components().any(|part| part.as_os_str() == "xla_cuda12");
    let beside = if is_known { missing_beside(plugin) } else { Vec::new() };
    let path = environment.variable("LD_LIBRARY_PATH").cloned().unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(SYSTEM.map(PathBuf::from)).collect();
    let is_nowhere = |name: &&str| !folders.iter().any(|folder| folder.join(name).exists());
    [DRIVER].into_iter().chain(beside).filter(is_nowhere).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_libraries_are_named() {
        let root = tempfile::tempdir().unwrap();
        let plugin = root.path().join("jax_plugins/xla_cuda12/xla_cuda_plugin.so");
        for (folder, name) in LIBRARIES {
            let path = root.path().join("nvidia").join(folder).join("lib");
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join(name), "").unwrap();
        }
        assert!(missing_beside(&plugin).is_empty());
        std::fs::remove_file(root.path().join("nvidia/cudnn/lib/libcudnn.so.9")).unwrap();
        assert_eq!(missing_beside(&plugin), ["libcudnn.so.9"]);
        // A library in a folder of LD_LIBRARY_PATH is not missing.
        let here = root.path().join("here");
        std::fs::create_dir(&here).unwrap();
        for name in ["libcudnn.so.9", DRIVER] {
            std::fs::write(here.join(name), "").unwrap();
        }
        let environment = Environment::default().with_variable("LD_LIBRARY_PATH", &here);
        assert_eq!(missing(&plugin, &environment), Vec::<String>::new());
    }
}
