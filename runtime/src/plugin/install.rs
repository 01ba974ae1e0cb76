//! Installation of pinned plugins from wheels.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::download::{BOUNDS, download};
use super::find::cached;
use super::pins::{Pin, Wheel};
use super::progress::InstallProgress;
use super::{Environment, FoundPlugin, PluginKind, cuda, digest};
use crate::error::{Result, RuntimeError};
use crate::scratch::Scratch;

/// An estimate of the disk space for the wheels and the extracted files, as a multiple of the wheels' size. NVIDIA's plugin takes 2.5 times
/// the size of its wheel. During extraction, the actual size of each file is compared with the free space.
const UNPACKED: u64 = 3;

/// Installs the pinned plugin of a kind and the libraries that it needs into shardc's cache, unless they are already installed.
///
/// Files come from the package index (PyPI's simple API, JSON or HTML; `PIP_INDEX_URL` names another index) and must have the pinned
/// SHA-256. A download fails if the file is larger than a gigabyte, if the server sends nothing for a minute, or after an hour; the
/// received part is kept for the next attempt. The plugin appears in the cache atomically, and concurrent installations by two processes
/// are safe. A damaged plugin is installed again.
///
/// # Errors
///
/// There is no pinned plugin for this machine, no cache directory, no network, or not enough disk space; a file is not the pinned one.
pub fn install(
    kind: PluginKind,
    environment: &Environment,
    progress: &mut dyn FnMut(InstallProgress),
) -> Result<FoundPlugin> {
    install_with(kind, Libraries::Fetched, environment, progress)
}

/// The source from which the libraries of a plugin are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libraries {
    /// All libraries are downloaded from the package index, with the plugin.
    Fetched,
    /// Only the libraries for ahead-of-time compilation are downloaded from the package index.
    Compiler,
    /// No libraries are downloaded: the dynamic loader must find those of the system.
    System,
}

impl Libraries {
    /// Returns the wheels of libraries to download for the plugin `pin`.
    fn wanted(self, pin: &Pin) -> Vec<Wheel> {
        let is_wanted = |wheel: &&Wheel| match self {
            Libraries::Fetched => true,
            Libraries::Compiler => wheel.project == cuda::COMPILER,
            Libraries::System => false,
        };
        pin.libraries.iter().filter(is_wanted).copied().collect()
    }

    /// Returns whether the libraries from the package index are installed next to the plugin, or none are needed.
    fn are_beside(self, pin: &Pin, plugin: &Path) -> bool {
        self.wanted(pin).is_empty()
            || cuda::has_compiler(plugin)
                && (self == Libraries::Compiler || cuda::missing_beside(plugin).is_empty())
    }
}

/// Installs a plugin as [`install`] does, with libraries from this source.
///
/// # Errors
///
/// The errors of [`install`].
pub fn install_with(
    kind: PluginKind,
    libraries: Libraries,
    environment: &Environment,
    progress: &mut dyn FnMut(InstallProgress),
) -> Result<FoundPlugin> {
    let pin = Pin::of(kind).ok_or_else(|| RuntimeError::NotInstallable {
        kind: kind.to_string(),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
    })?;
    let cache = environment.plugin_cache().ok_or_else(|| {
        RuntimeError::Argument(
            "no cache directory: neither XDG_CACHE_HOME nor a home directory is known".to_owned(),
        )
    })?;
    let wanted = libraries.wanted(&pin);
    if let Some(found) = cached(kind, &cache) {
        match digest::check(&found.path) {
            Ok(()) if libraries.are_beside(&pin, &found.path) => {
                progress(InstallProgress::AlreadyInstalled);
                return Ok(found);
            }
            Ok(()) | Err(RuntimeError::Damaged { .. }) => {
                let damaged = pin.directory(&cache);
                fs::remove_dir_all(&damaged).map_err(RuntimeError::io(&damaged))?;
            }
            Err(error) => return Err(error),
        }
    }
    fs::create_dir_all(&cache).map_err(RuntimeError::io(&cache))?;
    let size = wanted.iter().map(|wheel| wheel.size).sum::<u64>() + pin.wheel.size;
    let free = free_bytes(&cache);
    progress(InstallProgress::Size { download: size, free });
    enough(&pin.wheel, size.saturating_mul(UNPACKED), free)?;
    // The work directory is in the cache, so that the final rename is within one file system.
    let work = Scratch::new(|| tempfile::Builder::new().prefix(".installing-").tempdir_in(&cache))
        .map_err(RuntimeError::io(&cache))?;
    let ready = work.path().join("ready");
    fs::create_dir(&ready).map_err(RuntimeError::io(&ready))?;
    let mut fetch = |wheel: &Wheel, choose: &dyn Fn(&str) -> Option<PathBuf>| {
        let place = Part::of(wheel, &cache, work.path())?;
        download(wheel, environment, &place.path, &BOUNDS, progress)?;
        progress(InstallProgress::Unpacking);
        unpack(wheel, &place.path, &ready, choose)?;
        fs::remove_file(&place.path).map_err(RuntimeError::io(&place.path))
    };
    let unpacked = ready.join(pin.place());
    fetch(&pin.wheel, &|member| (member == pin.member).then(|| pin.place()))?;
    for wheel in &wanted {
        fetch(wheel, &cuda::place)?;
    }
    if !unpacked.is_file() {
        let reason = format!("{} has no {}", pin.wheel.file, pin.member);
        return Err(RuntimeError::Install { package: pin.wheel.package(), reason });
    }
    digest::record(&unpacked)?;
    let _ = fs::remove_dir(cache.join(PARTS));
    let target = pin.directory(&cache);
    // The rename fails if another process has installed the plugin meanwhile, because it can only replace an empty directory. Then the
    // plugin of that process is used.
    match (fs::rename(&ready, &target), cached(kind, &cache)) {
        (_, Some(found)) => {
            progress(InstallProgress::Installed);
            Ok(found)
        }
        (Err(error), None) => Err(RuntimeError::io(&target)(error)),
        (Ok(()), None) => Err(RuntimeError::Install {
            package: pin.wheel.package(),
            reason: format!("{} was removed after it was written", target.display()),
        }),
    }
}

/// The folder in the cache that contains incomplete downloads.
const PARTS: &str = ".downloads";

/// The file to which a wheel is downloaded.
struct Part {
    path: PathBuf,
    /// The lock of the file, held so that no other process writes to it; `None` if the file is used only by this process.
    _lock: Option<File>,
}

impl Part {
    /// Returns the file in the cache from which an interrupted download can be resumed. If another process is writing that file, returns a
    /// file in `work` that only this process uses.
    fn of(wheel: &Wheel, cache: &Path, work: &Path) -> Result<Part> {
        let parts = cache.join(PARTS);
        fs::create_dir_all(&parts).map_err(RuntimeError::io(&parts))?;
        let path = parts.join(wheel.file);
        let file =
            OpenOptions::new().create(true).append(true).open(&path).map_err(RuntimeError::io(&path))?;
        Ok(match file.try_lock() {
            Ok(()) => Part { path, _lock: Some(file) },
            Err(_) => Part { path: work.join(wheel.file), _lock: None },
        })
    }
}

/// Returns an error if the disk has fewer than `need` free bytes.
fn enough(wheel: &Wheel, need: u64, free: Option<u64>) -> Result<()> {
    match free {
        Some(free) if free < need => {
            let gigabytes = |bytes: u64| bytes as f64 / 1e9;
            let (need, free) = (gigabytes(need), gigabytes(free));
            let reason = format!(
                "it needs {need:.1} GB of disk space, but only {free:.1} GB are free in shardc's cache"
            );
            Err(RuntimeError::Install { package: wheel.package(), reason })
        }
        _ => Ok(()),
    }
}

/// Returns the free bytes in the file system of a directory; `None` if the system does not report them.
fn free_bytes(directory: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(directory).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    #[cfg(not(unix))]
    {
        let _ = directory;
        None
    }
}

/// Extracts files from a wheel, which is a zip file. `choose` maps the path of a file in the wheel to the path relative to `to` at which it
/// is extracted, or `None` to skip it.
fn unpack(wheel: &Wheel, from: &Path, to: &Path, choose: &dyn Fn(&str) -> Option<PathBuf>) -> Result<()> {
    let fail = |reason: String| RuntimeError::Install { package: wheel.package(), reason };
    let file = File::open(from).map_err(RuntimeError::io(from))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| fail(e.to_string()))?;
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).map_err(|e| fail(e.to_string()))?;
        let safe = member.is_file() && member.enclosed_name().is_some();
        let name = member.name().map_err(|e| fail(e.to_string()))?.into_owned();
        let Some(place) = choose(&name).filter(|_| safe) else { continue };
        enough(wheel, member.size(), free_bytes(to))?;
        let path = to.join(place);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(RuntimeError::io(folder))?;
        }
        let mut out = File::create(&path).map_err(RuntimeError::io(&path))?;
        std::io::copy(&mut member, &mut out).map_err(RuntimeError::io(&path))?;
        #[cfg(unix)]
        if let Some(mode) = member.unix_mode().filter(|mode| mode & 0o100 != 0) {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::Permissions::from_mode(mode & 0o755);
            fs::set_permissions(&path, mode).map_err(RuntimeError::io(&path))?;
        }
        out.sync_all().map_err(RuntimeError::io(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const WHEEL: Wheel = Wheel { project: "pkg", version: "1", file: "pkg-1.whl", size: 1, sha256: "" };

    #[test]
    fn disk_space_is_checked_before_a_download() {
        assert!(enough(&WHEEL, 10, Some(10)).is_ok() && enough(&WHEEL, 10, None).is_ok());
        let error = enough(&WHEEL, 5_600_000_000, Some(1_000_000_000)).unwrap_err();
        assert_eq!(error.code(), "RT0105");
        assert!(
            error.to_string().contains("needs 5.6 GB of disk space, but only 1.0 GB are free"),
            "{error}"
        );
    }

    #[test]
    fn the_layout_of_wheels_is_kept_and_nothing_leaves_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wheel");
        let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
        for name in [
            "nvidia/cublas/lib/libcublas.so.12",
            "nvidia/cublas/include/cublas.h",
            "nvidia/cuda_nvcc/bin/ptxas",
            "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
            "nvidia/../../out.so",
            "other/lib/x.so",
        ] {
            archive.start_file(name, options).unwrap();
            archive.write_all(name.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        let to = directory.path().join("to/inner");
        fs::create_dir_all(&to).unwrap();
        unpack(&WHEEL, &path, &to, &cuda::place).unwrap();
        let there = |name: &str| to.join(name).is_file();
        assert!(there("nvidia/cublas/lib/libcublas.so.12") && there("nvidia/cuda_nvcc/bin/ptxas"));
        assert!(there("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc"));
        assert!(!there("nvidia/cublas/include/cublas.h") && !to.join("other").exists());
        assert!(!directory.path().join("out.so").exists() && !directory.path().join("to/out.so").exists());
    }
}
