//! The program that a command reads.

use std::borrow::Cow;
use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use shardc::Error;

use crate::failure::Failure;

/// A program, as text or bytecode, and its name in messages.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Source> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
            return Ok(Source { name: "<stdin>".to_owned(), bytes });
        }
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Source { name: path.display().to_string(), bytes })
    }

    /// Returns the text to which spans of diagnostics refer; the text is empty if the program is bytecode.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        if shardc::is_bytecode(&self.bytes) {
            Cow::Borrowed("")
        } else {
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(&self.bytes),
            }
        }
    }

    /// Adds the name and text of this program to an error.
    pub(crate) fn explain(&self, error: &Error) -> anyhow::Error {
        Failure::of(error, &self.name, &self.text()).into()
    }
}
