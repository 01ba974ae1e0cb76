//! The command line of `shardc grad` and `shardc jvp`.

use std::path::PathBuf;

use clap::Args;

use super::program::{SymbolicArgs, ToArgs};

/// The function, the result and the arguments of a derivative.
#[derive(Args, Debug)]
pub(crate) struct DerivativeArgs {
    /// The program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    pub(crate) input: PathBuf,
    /// The function to differentiate; by default main, or the only public function
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The arguments: argN, a name of the front end or of the file, or a prefix of such names (params)
    #[arg(long, value_name = "ARG", value_delimiter = ',', required = true)]
    pub(crate) wrt: Vec<String>,
    /// The index of the result, from 0. `grad` takes one scalar, by default the first result; `jvp` takes several, by default all
    /// that are differentiable
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) of: Vec<usize>,
    /// Also return the results, before the derivatives
    #[arg(long)]
    pub(crate) value: bool,
    /// The derivative of a function, composite or custom call: NAME=JVP, a function that returns values and tangents;
    /// NAME=FORWARD,BACKWARD, functions that return values and residuals, and cotangents; or NAME=stop for no derivative
    #[arg(long, value_name = "NAME=RULE")]
    pub(crate) rule: Vec<String>,
    /// The results of the forward pass that are saved for the backward pass: everything, nothing, dots (matmuls and convolutions), or
    /// names:A,B (values named by shardc.checkpoint_name). All others are rematerialized
    #[arg(long, value_name = "POLICY", default_value = "everything")]
    pub(crate) checkpoint: String,
    /// The saved values that are offloaded to host memory: nothing, everything, dots, or names:A,B
    #[arg(long, value_name = "POLICY", default_value = "nothing")]
    pub(crate) offload: String,
    /// Functions whose calls are rematerialized one by one in the backward pass; by default --checkpoint applies to the whole
    /// program
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    pub(crate) layers: Vec<String>,
    /// Checkpoint loops in blocks: save the loop state once for about the square root of the iterations, and rematerialize the iterations
    /// in between block by block in the backward pass
    #[arg(long)]
    pub(crate) blocks: bool,
    /// Do not copy the shardings of arguments, results and constraints to derivatives
    #[arg(long)]
    pub(crate) free_shardings: bool,
    #[command(flatten)]
    pub(crate) to: ToArgs,
}
