//! Looks up the files of plugins.

use std::path::{Path, PathBuf};

use super::pins::Pin;
use super::{Environment, PluginKind};
use crate::error::{Result, RuntimeError};

/// The way a plugin was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// The user named the file.
    Explicit,
    /// This environment variable contains the path.
    Variable(&'static str),
    /// The plugin is in a Python package in this directory.
    Python(PathBuf),
    /// The plugin is in shardc's own cache, in which [`super::install`] places plugins.
    Cache,
}

impl std::fmt::Display for PluginSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PluginSource::Explicit => f.write_str("named explicitly"),
            PluginSource::Variable(name) => write!(f, "named by {name}"),
            PluginSource::Python(directory) => write!(f, "Python packages in {}", directory.display()),
            PluginSource::Cache => f.write_str("shardc's cache"),
        }
    }
}

/// A plugin's file, found but not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlugin {
    /// The kind of plugin.
    pub kind: PluginKind,
    /// The path of the plugin's shared library.
    pub path: PathBuf,
    /// The way the plugin was found.
    pub source: PluginSource,
}

impl FoundPlugin {
    /// Creates the plugin with the path that the user named. Its kind is inferred from the file name: `tpu` or `cuda` if a word of the name
    /// begins or ends with it, as in `libtpu.so` and `xla_cuda_plugin.so`, and otherwise `cpu`.
    #[must_use]
    pub fn named(path: &Path) -> FoundPlugin {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let says = |kind: &PluginKind| {
            let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
            words.any(|word| word.starts_with(kind.as_str()) || word.ends_with(kind.as_str()))
        };
        let kind = [PluginKind::Tpu, PluginKind::Cuda].into_iter().find(says).unwrap_or(PluginKind::Cpu);
        FoundPlugin { kind, path: path.to_owned(), source: PluginSource::Explicit }
    }
}

/// Returns the paths at which Python packages contain a plugin of this kind, relative to a directory of packages.
fn package_files(kind: PluginKind) -> &'static [&'static str] {
    match kind {
        PluginKind::Cpu => &["xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"],
        PluginKind::Tpu => &["libtpu/libtpu.so"],
        PluginKind::Cuda => {
            &["jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"]
        }
    }
}

/// Finds a plugin: an explicit path, then the environment variable of the kind, then Python environments, then shardc's cache.
///
/// # Errors
///
/// [`RuntimeError::PluginNotFound`] with the searched locations. If the user or a variable names a file that does not exist, this is an
/// immediate error: falling back to another plugin would hide the mistake.
pub fn find(kind: PluginKind, environment: &Environment) -> Result<FoundPlugin> {
    let named = [
        (environment.explicit.get(&kind).cloned(), PluginSource::Explicit),
        (environment.variable(kind.variable()).map(PathBuf::from), PluginSource::Variable(kind.variable())),
    ];
    for (path, source) in named {
        let Some(path) = path else { continue };
        if !path.is_file() {
            return Err(RuntimeError::PluginLoad { path, reason: format!("no such file ({source})") });
        }
        return Ok(FoundPlugin { kind, path, source });
    }
    let mut looked = vec![format!("{}, which is not set", kind.variable())];
    let found = candidates(kind, environment, &mut looked).into_iter().next();
    found.ok_or(RuntimeError::PluginNotFound { kind: kind.to_string(), looked })
}

/// Returns all plugins of all kinds, for each kind in the order in which [`find`] searches. Paths given by the user are listed even if no
/// such file exists, so that [`doctor`](crate::doctor) reports the problem.
#[must_use]
pub fn list(environment: &Environment) -> Vec<FoundPlugin> {
    let mut found = Vec::new();
    for kind in PluginKind::ALL {
        if let Some(path) = environment.explicit.get(&kind) {
            found.push(FoundPlugin { kind, path: path.clone(), source: PluginSource::Explicit });
        }
        if let Some(path) = environment.variable(kind.variable()) {
            let source = PluginSource::Variable(kind.variable());
            found.push(FoundPlugin { kind, path: PathBuf::from(path), source });
        }
        found.extend(candidates(kind, environment, &mut Vec::new()));
    }
    found
}

/// Returns the plugins of a kind in Python packages and in shardc's cache. Adds the searched folders to `looked`.
fn candidates(kind: PluginKind, environment: &Environment, looked: &mut Vec<String>) -> Vec<FoundPlugin> {
    let mut found = Vec::new();
    for directory in environment.site_packages() {
        looked.push(directory.display().to_string());
        for file in package_files(kind) {
            let path = directory.join(file);
            if path.is_file() {
                found.push(FoundPlugin { kind, path, source: PluginSource::Python(directory.clone()) });
            }
        }
    }
    if let Some(cache) = environment.plugin_cache() {
        looked.push(cache.display().to_string());
        found.extend(cached(kind, &cache));
    }
    found
}

/// Returns the pinned plugin of a kind in the cache; `None` if it is not installed.
pub(super) fn cached(kind: PluginKind, cache: &Path) -> Option<FoundPlugin> {
    let path = Pin::of(kind)?.installed_path(cache);
    path.is_file().then_some(FoundPlugin { kind, path, source: PluginSource::Cache })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"").unwrap();
    }

    /// Creates an environment that contains nothing of this machine except `/usr`.
    fn empty(root: &Path) -> Environment {
        Environment { home: Some(root.join("home")), ..Environment::default() }
    }

    #[test]
    fn search_order_is_explicit_variable_python_cache() {
        let root = tempfile::tempdir().unwrap();
        let in_venv =
            root.path().join("venv/lib/python3.12/site-packages").join(package_files(PluginKind::Tpu)[0]);
        let by_variable = root.path().join("a.so");
        let by_hand = root.path().join("b.so");
        let mut environment = empty(root.path());
        for path in [&in_venv, &by_variable, &by_hand] {
            touch(path);
        }
        if let Some(pin) = Pin::of(PluginKind::Tpu) {
            let path = pin.installed_path(&environment.plugin_cache().unwrap());
            touch(&path);
            assert_eq!(find(PluginKind::Tpu, &environment).unwrap().source, PluginSource::Cache);
        }
        environment = environment.with_variable("VIRTUAL_ENV", root.path().join("venv"));
        assert_eq!(find(PluginKind::Tpu, &environment).unwrap().path, in_venv);
        environment = environment.with_variable("SHARDC_PJRT_TPU", &by_variable);
        assert_eq!(find(PluginKind::Tpu, &environment).unwrap().path, by_variable);
        environment = environment.with_plugin(PluginKind::Tpu, &by_hand);
        assert_eq!(find(PluginKind::Tpu, &environment).unwrap().path, by_hand);
        assert!(list(&environment).len() >= 3);
    }

    #[test]
    fn plugin_kind_is_inferred_from_the_file_name() {
        let kind = |name: &str| FoundPlugin::named(Path::new(name)).kind;
        assert_eq!(kind("/opt/libtpu.so"), PluginKind::Tpu);
        assert_eq!(kind("pjrt_c_api_tpu_plugin.so"), PluginKind::Tpu);
        assert_eq!(kind("xla_cuda13/xla_cuda_plugin.so"), PluginKind::Cuda);
        assert_eq!(kind("xla_cpu_pjrt.so"), PluginKind::Cpu);
        assert_eq!(kind("tpu/output.so"), PluginKind::Cpu);
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let environment = empty(root.path()).with_variable("SHARDC_PJRT_CUDA", "/nowhere/x.so");
        let error = find(PluginKind::Cuda, &environment).unwrap_err();
        assert_eq!(error.code(), "RT0102");
    }

    #[test]
    fn python_is_found_through_the_path() {
        let root = tempfile::tempdir().unwrap();
        touch(&root.path().join("py/bin/python3"));
        let plugin =
            root.path().join("py/lib/python3.9/dist-packages").join(package_files(PluginKind::Cuda)[1]);
        touch(&plugin);
        let environment = empty(root.path()).with_variable("PATH", root.path().join("py/bin"));
        assert_eq!(find(PluginKind::Cuda, &environment).unwrap().path, plugin);
    }

    #[test]
    fn nothing_found_names_the_places() {
        let root = tempfile::tempdir().unwrap();
        match find(PluginKind::Cuda, &empty(root.path())) {
            Err(error @ RuntimeError::PluginNotFound { .. }) => {
                assert_eq!(error.to_string(), "no PJRT plugin for cuda was found");
                assert_eq!(error.notes()[0], "looked in SHARDC_PJRT_CUDA, which is not set");
                assert!(error.notes().iter().all(|note| !note.contains(", /")));
                assert!(error.hint().is_some());
            }
            // This machine may have a plugin in `/usr`; the lookup then succeeds.
            other => assert!(other.is_ok()),
        }
    }
}
