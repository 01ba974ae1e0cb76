//! Installs XLA's PJRT plugins, which compile and run partitioned programs.

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result};
use shardc_runtime::plugin::{Environment, InstallProgress, Libraries, PluginKind, find, install_with};

/// Installs the pinned plugin of a kind into shardc's cache, unless a plugin of this kind is already installed. The GPU plugin is used only
/// for compilation: no check runs on a GPU.
pub fn ensure(kind: PluginKind) -> Result<()> {
    let title = match kind {
        PluginKind::Cpu => "XLA's CPU plugin",
        PluginKind::Tpu => "the TPU compiler",
        PluginKind::Cuda => "the GPU compiler",
    };
    let libraries = if kind == PluginKind::Cuda { Libraries::Compiler } else { Libraries::Fetched };
    let environment = Environment::from_process();
    if let Ok(found) = find(kind, &environment) {
        println!("{title}: already installed ({}, {})", found.path.display(), found.source);
        return Ok(());
    }
    let terminal = std::io::stdout().is_terminal();
    let mut percent = 0;
    let mut show = |progress: InstallProgress| match progress {
        InstallProgress::Looking { url } => println!("{title}: looking up the file on {url}"),
        InstallProgress::Downloading { file, received, total } => {
            // On a terminal, the progress is updated in one line. Otherwise, only the start of the download is printed.
            let now = total.filter(|&all| all > 0).map_or(0, |all| received * 100 / all);
            if terminal && now > percent {
                percent = now;
                print!("\r{title}: {file} {now} %");
                let _ = std::io::stdout().flush();
            } else if received == 0 {
                println!("{title}: {file}");
            }
        }
        InstallProgress::Unpacking if terminal => println!("\n{title}: unpacking"),
        InstallProgress::Unpacking => println!("{title}: unpacking"),
        InstallProgress::Size { .. } | InstallProgress::AlreadyInstalled | InstallProgress::Installed => {}
    };
    let found = install_with(kind, libraries, &environment, &mut show)
        .with_context(|| format!("installing {title}"))?;
    println!("{title}: installed in {}", found.path.display());
    Ok(())
}
