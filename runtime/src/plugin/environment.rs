//! The environment in which plugins are looked up: variables, home directory and explicit paths.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::PluginKind;

/// The environment of a lookup, captured by the caller: variables, home directory, and files named on a command line. Nothing here reads
/// the process's environment implicitly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The values of environment variables, by name: `SHARDC_PJRT_CPU`, `VIRTUAL_ENV`, `CONDA_PREFIX`, `PYTHONPATH`, `PATH`,
    /// `XDG_CACHE_HOME`, `PIP_INDEX_URL`.
    pub variables: BTreeMap<String, OsString>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Paths of plugins that the user named, by kind. These paths have priority over lookups.
    pub explicit: BTreeMap<PluginKind, PathBuf>,
}

impl Environment {
    /// Captures the environment of this process.
    #[must_use]
    pub fn from_process() -> Environment {
        Environment {
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .collect(),
            home: std::env::home_dir(),
            explicit: BTreeMap::new(),
        }
    }

    /// Sets the path of a plugin's file.
    #[must_use]
    pub fn with_plugin(mut self, kind: PluginKind, path: impl Into<PathBuf>) -> Environment {
        self.explicit.insert(kind, path.into());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Environment {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the value of a variable; `None` if it is not set or empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// Returns the folder of shardc's caches for this user: `$XDG_CACHE_HOME/shardc`, or `.cache/shardc` in the home directory; `None` if
    /// there is neither.
    #[must_use]
    pub fn cache(&self) -> Option<PathBuf> {
        // The XDG specification requires that relative paths are ignored.
        let xdg = self.variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = xdg.or_else(|| Some(self.home.as_ref()?.join(".cache")))?;
        Some(cache.join("shardc"))
    }

    /// The folder of installed plugins: `plugins` in the [cache](Environment::cache).
    #[must_use]
    pub fn plugin_cache(&self) -> Option<PathBuf> {
        Some(self.cache()?.join("plugins"))
    }

    /// Returns the directories that Python would search for packages, most specific first, without duplicates. They are found from the
    /// layout of the file system, without running Python.
    pub(crate) fn site_packages(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        let mut add = |directory: PathBuf| {
            // Resolves links to find duplicates: on most systems, `/lib` is a link to `/usr/lib`.
            let Ok(real) = directory.canonicalize() else { return };
            if real.is_dir() && !seen.contains(&real) {
                seen.push(real);
                found.push(directory);
            }
        };
        for directory in self.variable("PYTHONPATH").iter().flat_map(std::env::split_paths) {
            if directory.is_absolute() {
                add(directory);
            }
        }
        let mut prefixes = Vec::new();
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            prefixes.extend(self.variable(name).map(PathBuf::from));
        }
        for directory in self.variable("PATH").iter().flat_map(std::env::split_paths) {
            let python = directory.join("python3");
            if !python.exists() {
                continue;
            }
            // Searches next to the unresolved and next to the resolved path of python3. In a virtual environment, python3 is a link to a
            // file outside of it, so only the unresolved path leads to the packages. A python3 of the system may be a link into the folder
            // with the packages.
            prefixes.extend(directory.parent().map(Path::to_owned));
            let real = python.canonicalize().ok();
            prefixes
                .extend(real.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned));
        }
        prefixes.extend(self.home.as_ref().map(|home| home.join(".local")));
        // If pyenv is used, the python3 in `PATH` is a script whose location does not lead to the packages, so the versions of pyenv are
        // searched.
        let pyenv = self.variable("PYENV_ROOT").map(PathBuf::from);
        let pyenv = pyenv.or_else(|| Some(self.home.as_ref()?.join(".pyenv")));
        prefixes.extend(pyenv.iter().flat_map(|root| entries(&root.join("versions"))));
        prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
        for prefix in prefixes {
            let lib = prefix.join("lib");
            for version in python_versions(&lib) {
                add(version.join("site-packages"));
                add(version.join("dist-packages"));
            }
            // Debian keeps packages of all its Python versions here.
            add(lib.join("python3").join("dist-packages"));
        }
        found
    }
}

/// Returns the directories such as `python3.11` in a `lib` directory, newest version first.
fn python_versions(lib: &Path) -> Vec<PathBuf> {
    let minor = |path: &Path| path.file_name()?.to_str()?.strip_prefix("python3.")?.parse::<u32>().ok();
    let mut versions: Vec<(u32, PathBuf)> =
        entries(lib).into_iter().filter_map(|path| Some((minor(&path)?, path))).collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, path)| path).collect()
}

/// Returns the entries of a directory, in reverse order of names; empty if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort_by(|a, b| b.cmp(a));
    paths
}
