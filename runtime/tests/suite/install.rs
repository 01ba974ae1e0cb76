//! Installs a plugin from the package index.

use shardc_filetest::skip::{Need, skip};
use shardc_runtime::doctor::{Health, doctor};
use shardc_runtime::plugin::{InstallProgress, PluginSource};
use shardc_runtime::{Environment, Plugin, PluginKind, RuntimeError, plugin};

/// Downloads 60 MB the first time.
#[test]
fn installing_twice_is_installing_once() {
    let cache = tempfile::tempdir().unwrap();
    let mut environment = Environment::default().with_variable("XDG_CACHE_HOME", cache.path());
    // Uses the mirror of the package index that this machine is configured for, if any.
    if let Some(index) = Environment::from_process().variables.get("PIP_INDEX_URL") {
        environment = environment.with_variable("PIP_INDEX_URL", index);
    }
    let mut steps = Vec::new();
    let found = match plugin::install(PluginKind::Cpu, &environment, &mut |step| steps.push(step)) {
        Ok(found) => found,
        Err(error @ (RuntimeError::Install { .. } | RuntimeError::NotInstallable { .. })) => {
            return skip(Need::Network, &error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(found.source, PluginSource::Cache);
    assert_eq!(steps.last(), Some(&InstallProgress::Installed));
    let written = std::fs::metadata(&found.path).unwrap().modified().unwrap();

    let mut steps = Vec::new();
    let again = plugin::install(PluginKind::Cpu, &environment, &mut |step| steps.push(step)).unwrap();
    assert_eq!((steps, &again), (vec![InstallProgress::AlreadyInstalled], &found));
    assert_eq!(std::fs::metadata(&found.path).unwrap().modified().unwrap(), written);
    // The folder contains only the plugin: no temporary file is left.
    assert_eq!(std::fs::read_dir(environment.plugin_cache().unwrap()).unwrap().count(), 1);

    // Damage of the file after the installation is detected, and the plugin is installed again.
    let whole = std::fs::read(&found.path).unwrap();
    std::fs::write(&found.path, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(Plugin::load(&found.path).unwrap_err().code(), "RT0107");
    plugin::install(PluginKind::Cpu, &environment, &mut |_| {}).unwrap();
    assert!(std::fs::read(&found.path).unwrap() == whole);

    let loaded = Plugin::load(&found.path).unwrap();
    assert_eq!(loaded.api_version().0, 0);
    assert!(loaded.missing_functions().is_empty(), "{:?}", loaded.missing_functions());
    let checks = doctor(&Environment::default().with_plugin(PluginKind::Cpu, &found.path), None);
    let check =
        checks.iter().find(|c| c.found.as_ref().is_some_and(|f| f.source == PluginSource::Explicit)).unwrap();
    assert!(
        matches!(&check.health, Health::Loads { devices: Ok((platform, count)), .. } if platform == "cpu" && *count > 0)
    );
}
