//! `shardc checkpoint convert`

use std::process::ExitCode;

use anyhow::Result;
use shardc::statedict::{open, open_torch, torch};

use crate::args::statedict::ConvertArgs;
use crate::failure::usage;
use crate::state_dict::{Destination, Wrapping, failure, write};
use crate::ui::Ui;

pub(crate) fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode> {
    let destination = Destination::new("--output", &args.output, args.shards.max_shard_size.as_deref())?;
    let mut dict = match &args.key {
        None => open(&args.input).map_err(failure)?,
        Some(key) if args.input.is_file() && torch::is_torch(&args.input).map_err(failure)? => {
            open_torch(&args.input, Some(key)).map_err(failure)?
        }
        Some(_) => return Err(usage("--key is for files of torch.save: leave it out")),
    };
    dict.metadata.entry("format".to_owned()).or_insert_with(|| "pt".to_owned());
    write(&dict, &destination, Wrapping::Nothing, &[("the input", &args.input)], ui)?;
    Ok(ExitCode::SUCCESS)
}
