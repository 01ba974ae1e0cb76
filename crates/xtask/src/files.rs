//! Files that commands write, with their folders.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// Copies a file with its permissions.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    make_parent(to)?;
    fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Writes a text.
pub(crate) fn write(to: &Path, text: &str) -> Result<()> {
    make_parent(to)?;
    fs::write(to, text).with_context(|| format!("writing {}", to.display()))
}

fn make_parent(file: &Path) -> Result<()> {
    let Some(folder) = file.parent() else { return Ok(()) };
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))
}
