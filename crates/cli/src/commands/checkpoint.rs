//! `shardc checkpoint`

use std::process::ExitCode;

use anyhow::Result;

use super::{consolidate, convert};
use crate::args::{CheckpointArgs, CheckpointCommand};
use crate::ui::Ui;

pub(crate) fn run(args: &CheckpointArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.command {
        CheckpointCommand::Consolidate(args) => consolidate::run(args, ui),
        CheckpointCommand::Convert(args) => convert::run(args, ui),
    }
}
