//! The command line of `shardc grad` and `shardc jvp`.

use std::path::PathBuf;

use clap::Args;

use super::program::{SymbolicArgs, ToArgs};

/// What is differentiated by what.
#[derive(Args, Debug)]
pub(crate) struct DerivativeArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: PathBuf,
    /// The function that is worked on; main, or the only public one, if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The arguments: argN, names as the front end or the file gives them, or what such names begin with (params)
    #[arg(long, value_name = "ARG", value_delimiter = ',', required = true)]
    pub(crate) wrt: Vec<String>,
    /// The result, from 0: a scalar for a gradient; several for tangents. The first if not given, all for tangents
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) of: Vec<usize>,
    /// Return the results themselves too, first
    #[arg(long)]
    pub(crate) value: bool,
    /// The derivative of a function, composite or custom call: a function that returns values and tangents (NAME=JVP), two for
    /// values and residuals, and for cotangents (NAME=FORWARD,BACKWARD), or none (NAME=stop)
    #[arg(long, value_name = "NAME=RULE")]
    pub(crate) rule: Vec<String>,
    /// What is kept from the forward pass for the backward pass: everything, nothing, dots (products and convolutions), or
    /// names:A,B (what shardc.checkpoint_name names); the rest is computed again
    #[arg(long, value_name = "POLICY", default_value = "everything")]
    pub(crate) checkpoint: String,
    /// What of it waits in the host's memory: nothing, everything, dots, or names:A,B
    #[arg(long, value_name = "POLICY", default_value = "nothing")]
    pub(crate) offload: String,
    /// Functions whose calls are computed again one by one, each where its gradient is; the whole program if not given
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    pub(crate) layers: Vec<String>,
    /// Do loops in blocks: of about the square root of their trips the state is kept, and each block is computed again where
    /// its gradient is
    #[arg(long)]
    pub(crate) blocks: bool,
    /// Leave open how derivatives are sharded, rather than as what they are derivatives of or by
    #[arg(long)]
    pub(crate) free_shardings: bool,
    #[command(flatten)]
    pub(crate) to: ToArgs,
}
