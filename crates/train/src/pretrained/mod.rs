//! Loads weights of Hugging Face models by name from safetensors files.
//!
//! ```no_run
//! use shardc::statedict;
//! use shardc_train::Step;
//! use shardc_train::pretrained::{Family, load};
//!
//! # fn f(step: &Step) -> Result<(), shardc::Error> {
//! // The folder of a model, whose weights may be in several files. Only the shards of this process's devices are read.
//! let weights = statedict::open("Llama-3.2-1B".as_ref())?;
//! let state = load(Family::Llama, step, &weights, None)?;
//! # Ok(())
//! # }
//! ```

mod adapters;
mod assemble;
mod files;
mod names;
mod parsed;
mod save;
mod written;

use std::ops::Range;

use indexmap::IndexMap;
use shardc::Error;
pub use shardc::lora::AdapterConfig;
use shardc_ir::Diagnostic;
use shardc_nn::{Init, Kind, Variable};
use shardc_runtime::HostArray;
use shardc_statedict::{StateDict, safetensors};

pub use self::adapters::read_adapters;
use self::assemble::Assembled;
pub use self::files::AdapterFiles;
pub use self::save::{save_model, write_model};
pub use self::written::write_adapters;
use crate::{State, Step};

/// The naming scheme of a checkpoint, which determines the model in [`nn::models`](crate::nn::models) that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// GPT-2: [`Decoder::gpt2`](crate::nn::models::Decoder::gpt2).
    Gpt2,
    /// Llama, and models with its names: [`Decoder::llama`](crate::nn::models::Decoder::llama).
    Llama,
    /// BERT: [`Bert`](crate::nn::models::Bert).
    Bert,
    /// ViT: [`Vit`](crate::nn::models::Vit).
    Vit,
}

/// Reads the parameters among `variables` from the files of one checkpoint, given as bytes, for a model of the family. Layers are
/// stacked, kernels transposed, and elements converted to the variable's type. Other tensors are ignored, and adapters are not read
/// ([`read_adapters`]).
///
/// # Errors
/// A file is invalid (SH0725), or parameters are missing or have different shapes, all reported at once (SH0723).
pub fn read(
    family: Family,
    variables: &[Variable],
    files: &[&[u8]],
) -> Result<IndexMap<String, HostArray>, Error> {
    let mut weights = StateDict::new();
    // If two files contain the same tensor, the later file takes precedence.
    for (i, file) in files.iter().enumerate().rev() {
        for (name, tensor) in parse(i, file)?.iter() {
            if weights.find(name).is_none() {
                weights.insert(name, tensor.clone())?;
            }
        }
    }
    read_from(family, variables, &weights)
}

/// Reads the parameters among `variables` from a state dict, like [`read`].
///
/// # Errors
/// Parameters are missing or have different shapes, all reported at once (SH0723), or a file cannot be read (SH1401).
pub fn read_from(
    family: Family,
    variables: &[Variable],
    weights: &StateDict,
) -> Result<IndexMap<String, HostArray>, Error> {
    let mut arrays = IndexMap::new();
    for found in find(family, variables, weights)? {
        let whole: Vec<Range<usize>> = found.variable.shape.iter().map(|&n| 0..n as usize).collect();
        arrays.insert(found.variable.name.clone(), found.block(&whole)?);
    }
    Ok(arrays)
}

/// Returns the training state of a step, with its parameters loaded from a published checkpoint of a model of `family`. Each device gets
/// its shard, and only the shards of this process's devices are read, one variable at a time. Variables that are copies of parameters are initialized from the parameters,
/// and DoRA magnitudes from the norms of the kernels. Other variables and adapters come from `others`, which may be `step.init(seed)`.
///
/// # Errors
/// Parameters are missing or have different shapes, all reported at once (SH0723), a file cannot be read (SH1401), or `others` lacks a
/// variable (SH0720).
pub fn load(
    family: Family,
    step: &Step,
    weights: &StateDict,
    others: Option<&State>,
) -> Result<State, Error> {
    let found = find(family, step.variables(), weights)?;
    step.put_blocks(others, |variable, bounds| {
        if let Init::NormOf { of, axes } = &variable.init {
            let kernel = found.iter().find(|found| found.variable.name == *of);
            return kernel.map(|kernel| norms(kernel, variable, *axes, bounds)).transpose();
        }
        found
            .iter()
            .find(|found| found.variable.name == variable.name)
            .map(|found| found.block(bounds))
            .transpose()
    })
}

/// A block of the initial DoRA magnitudes: the norms of each layer's kernel over its input dimensions.
fn norms(
    kernel: &Assembled<'_>,
    variable: &Variable,
    axes: usize,
    bounds: &[Range<usize>],
) -> Result<HostArray, Error> {
    let (layers, outputs) = bounds.split_at(variable.num_stacks);
    let inputs = kernel.variable.shape.iter().skip(variable.num_stacks).take(axes);
    let inputs: Vec<Range<usize>> = inputs.map(|&n| 0..n as usize).collect();
    let block = kernel.block(&[layers, &inputs, outputs].concat())?.to_f64_vec();
    let size =
        |bounds: &[Range<usize>]| bounds.iter().map(|bounds| bounds.end - bounds.start).product::<usize>();
    let (inputs, outputs) = (size(&inputs), size(outputs));
    let mut squares = vec![0.0; size(layers) * outputs];
    for (i, number) in block.iter().enumerate() {
        squares[i / (inputs * outputs) * outputs + i % outputs] += number * number;
    }
    let shape: Vec<usize> = bounds.iter().map(|bounds| bounds.end - bounds.start).collect();
    let norms: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
    Ok(HostArray::from_f64(variable.dtype, &shape, &norms)?)
}

/// Finds the source tensors of the parameters among `variables`.
fn find<'a>(
    family: Family,
    variables: &'a [Variable],
    weights: &'a StateDict,
) -> Result<Vec<Assembled<'a>>, Error> {
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    let is_read = |v: &&Variable| {
        let is_of_model = matches!(v.kind, Kind::Parameter | Kind::Frozen) && !adapters::is_adapter(&v.name);
        // A variable that is a copy of another variable is not read from the checkpoint, but initialized from that variable.
        is_of_model && !matches!(v.init, Init::CopyOf(_))
    };
    for variable in variables.iter().filter(is_read) {
        match Assembled::of(family, variable, weights) {
            Ok(found) => all.push(found),
            Err(text) => wrong.push(text),
        }
    }
    if wrong.is_empty() {
        return Ok(all);
    }
    let text = format!("the checkpoint does not fit this model: {}", wrong.join("; "));
    Err(Diagnostic::invalid("SH0723", text).into())
}

/// The tensors of a file.
fn parse(i: usize, file: &[u8]) -> Result<StateDict, Diagnostic> {
    let wrong = |error| Diagnostic::invalid("SH0725", format!("file {i} is not a safetensors file: {error}"));
    safetensors::from_bytes(file).map_err(wrong)
}
