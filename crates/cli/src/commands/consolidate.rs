//! `shardc checkpoint consolidate`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use shardc::statedict::{fsdp, torch};

use crate::args::statedict::ConsolidateArgs;
use crate::state_dict::{Destination, Wrapping, failure, write};
use crate::ui::Ui;

pub(crate) fn run(args: &ConsolidateArgs, ui: &Ui) -> Result<ExitCode> {
    let files = fsdp::find_files(&args.ckpt_prefix, &args.ckpt_suffix).map_err(failure)?;
    let default = |ending: &str| PathBuf::from(format!("{}_consolidated.{ending}", args.ckpt_prefix));
    let path = match (&args.save_path, files.first()) {
        (Some(path), _) => path.clone(),
        (None, Some(file)) if torch::is_torch(file).map_err(failure)? => default("pth"),
        (None, _) => default("safetensors"),
    };
    let destination = Destination::new("--save-path", &path, args.shards.max_shard_size.as_deref())?;
    let mut full = fsdp::consolidate_files(&files).map_err(failure)?;
    full.metadata.insert("format".to_owned(), "pt".to_owned());
    let inputs: Vec<(&str, &Path)> = files.iter().map(|file| ("a file of a rank", file.as_path())).collect();
    write(&full, &destination, Wrapping::Model, &inputs, ui)?;
    Ok(ExitCode::SUCCESS)
}
