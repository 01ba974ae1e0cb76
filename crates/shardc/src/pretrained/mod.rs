//! Weights of Hugging Face's models, by name, out of safetensors files.
//!
//! ```no_run
//! use shardc::pretrained::{Family, read};
//! use shardc::train::Step;
//!
//! # fn f(step: &Step) -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("model.safetensors")?;
//! let state = step.put(&read(Family::Llama, step.variables(), &[&file])?)?;
//! # Ok(())
//! # }
//! ```

mod adapters;
mod names;

use std::collections::HashMap;

use indexmap::IndexMap;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use shardc_ir::{DType, Diagnostic};
use shardc_nn::{Kind, Variable};
use shardc_runtime::HostArray;

pub use self::adapters::{AdapterFiles, read_adapters, write_adapters};
use self::names::{How, places};
use crate::Error;

/// Whose names a checkpoint has, which says what model of [`nn::models`](crate::nn::models) it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// GPT-2: [`Decoder::gpt2`](crate::nn::models::Decoder::gpt2).
    Gpt2,
    /// Llama, and what has its names: [`Decoder::llama`](crate::nn::models::Decoder::llama).
    Llama,
    /// BERT: [`Bert`](crate::nn::models::Bert).
    Bert,
    /// ViT: [`Vit`](crate::nn::models::Vit).
    Vit,
}

/// The parameters among `variables`, read from files of one checkpoint, given as their bytes: those of a model of the family. Layers
/// are put together, kernels transposed, and elements converted to the type that a variable has. What else is in the files is left, and
/// adapters are not looked for ([`read_adapters`]).
///
/// # Errors
/// A file is none (SH0725), or parameters are missing or have other shapes, which is said of all (SH0723).
pub fn read(
    family: Family,
    variables: &[Variable],
    files: &[&[u8]],
) -> Result<IndexMap<String, HostArray>, Error> {
    let mut tensors: HashMap<String, TensorView<'_>> = HashMap::new();
    for (i, file) in files.iter().enumerate() {
        tensors.extend(parse(i, file)?.tensors());
    }
    let (mut arrays, mut wrong) = (IndexMap::new(), Vec::new());
    let is_read =
        |v: &&Variable| matches!(v.kind, Kind::Parameter | Kind::Frozen) && !adapters::is_adapter(&v.name);
    for variable in variables.iter().filter(is_read) {
        match assembled(family, variable, &tensors) {
            Ok(array) => _ = arrays.insert(variable.name.clone(), array),
            Err(text) => wrong.push(text),
        }
    }
    if wrong.is_empty() {
        return Ok(arrays);
    }
    let text = format!("the checkpoint is not of this model: {}", wrong.join("; "));
    Err(Diagnostic::invalid("SH0723", text).into())
}

/// The tensors of a file.
fn parse(i: usize, file: &[u8]) -> Result<SafeTensors<'_>, Diagnostic> {
    let wrong = |error| Diagnostic::invalid("SH0725", format!("file {i} is no safetensors file: {error}"));
    SafeTensors::deserialize(file).map_err(wrong)
}

/// One variable: of a stack, of all layers.
fn assembled(
    family: Family,
    variable: &Variable,
    tensors: &HashMap<String, TensorView<'_>>,
) -> Result<HostArray, String> {
    let name = &variable.name;
    let Some(places) = places(family, name) else {
        return Err(format!("{name:?} is no parameter of {family:?}"));
    };
    let (layers, own) = variable.layers();
    let count: i64 = own.iter().product();
    let mut data = Vec::with_capacity((layers * count) as usize * variable.dtype.bytes());
    for layer in 0..layers {
        let filled = |name: &str| name.replace("{}", &layer.to_string());
        let found =
            places.iter().find_map(|(name, how)| Some((filled(name), tensors.get(&filled(name))?, *how)));
        let Some((place, view, how)) = found else {
            return Err(format!("{:?} is missing, for {name:?}", filled(&places[0].0)));
        };
        let array = host_array(&place, view)?;
        let order = order(how, &array.shape);
        if order.len() as i64 != count {
            return Err(format!("{place:?} has the shape {:?}, and {name:?} is {own:?}", array.shape));
        }
        let array = if array.dtype == variable.dtype {
            array
        } else {
            let numbers = array.to_f64_vec();
            HostArray::from_f64(variable.dtype, &array.shape, &numbers)
                .map_err(|e| format!("{place:?}: {e}"))?
        };
        let size = variable.dtype.bytes();
        for from in order {
            data.extend_from_slice(&array.data[from * size..][..size]);
        }
    }
    let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
    HostArray::new(variable.dtype, &shape, data).map_err(|error| format!("{name:?}: {error}"))
}

/// For each number of a variable, which of the tensor's it is.
fn order(how: How, shape: &[usize]) -> Vec<usize> {
    let count = shape.iter().product();
    match (how, shape) {
        (How::Transposed, &[out, inputs]) => {
            (0..inputs).flat_map(|i| (0..out).map(move |o| o * inputs + i)).collect()
        }
        (How::Third(part), [.., last]) => {
            let third = last / 3;
            (0..count / last.max(&1))
                .flat_map(|row| (0..third).map(move |i| row * last + part * third + i))
                .collect()
        }
        (How::Window, &[out, inputs, ref window @ ..]) => {
            let window: usize = window.iter().product();
            let of_place = move |w: usize| {
                (0..inputs).flat_map(move |i| (0..out).map(move |o| (o * inputs + i) * window + w))
            };
            (0..window).flat_map(of_place).collect()
        }
        _ => (0..count).collect(),
    }
}

fn host_array(name: &str, view: &TensorView<'_>) -> Result<HostArray, String> {
    let dtype = match view.dtype() {
        Dtype::F64 => DType::F64,
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        other => return Err(format!("{name:?} has elements of {other:?}")),
    };
    HostArray::new(dtype, view.shape(), view.data().to_vec()).map_err(|error| format!("{name:?}: {error}"))
}
