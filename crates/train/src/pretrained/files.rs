//! The files of adapters.

use std::path::Path;

use shardc::Error;
use shardc_ir::Diagnostic;

/// The two files of a PEFT adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterFiles {
    /// The bytes of `adapter_model.safetensors`.
    pub weights: Vec<u8>,
    /// The text of `adapter_config.json`.
    pub config: String,
}

impl AdapterFiles {
    /// Reads `adapter_model.safetensors` and `adapter_config.json` from a folder.
    ///
    /// # Errors
    /// A file cannot be read (SH0725).
    pub fn open(folder: &Path) -> Result<AdapterFiles, Error> {
        let failed = |name: &str, error: std::io::Error| {
            let text = format!("{} cannot be read: {error}", folder.join(name).display());
            Error::from(Diagnostic::invalid("SH0725", text))
        };
        let (weights, config) = ("adapter_model.safetensors", "adapter_config.json");
        Ok(AdapterFiles {
            weights: std::fs::read(folder.join(weights)).map_err(|error| failed(weights, error))?,
            config: std::fs::read_to_string(folder.join(config)).map_err(|error| failed(config, error))?,
        })
    }
}
