//! The command line of `shardc launch`.

use std::ffi::OsString;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct LaunchArgs {
    /// The number of processes
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) processes: usize,
    /// The command that each process runs, with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
