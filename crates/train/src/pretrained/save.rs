//! Writes models with Hugging Face names. This is the inverse of loading pretrained models.

use std::path::Path;

use indexmap::IndexMap;
use shardc::Error;
use shardc_ir::Diagnostic;
use shardc_nn::{Init, Kind, Variable};
use shardc_runtime::HostArray;
use shardc_statedict::{StateDict, Tensor, safetensors};

use super::Family;
use super::adapters::is_adapter;
use super::assemble::strides;
use super::names::{How, places, prefix};

/// Converts the parameters among `variables` of a model of the family to the names and shapes of transformers; `value` returns the value of
/// a variable by name. Each layer gets its own tensor, kernels are transposed back, and queries, keys and values of GPT-2 become one
/// tensor. Element types are kept. Adapters are left out ([`write_adapters`](super::write_adapters)); a tied embedding table is one tensor.
/// The names are those of the model with its head, or of the bare model for [`Bert`](crate::nn::models::Bert) and a `Vit` without a head.
///
/// # Errors
/// A variable has no name in checkpoints of the family, or a part of a fused tensor is missing, all reported at once (SH0724).
pub fn write_model(
    family: Family,
    variables: &[Variable],
    mut value: impl FnMut(&str) -> Result<HostArray, Error>,
) -> Result<StateDict, Error> {
    let is_written = |v: &&Variable| {
        let is_of_model = matches!(v.kind, Kind::Parameter | Kind::Frozen) && !is_adapter(&v.name);
        is_of_model && !matches!(v.init, Init::CopyOf(_))
    };
    let is_bare = match family {
        Family::Gpt2 | Family::Llama => false,
        Family::Bert => true,
        Family::Vit => !variables.iter().any(|v| v.name.starts_with("head.")),
    };
    let (mut tensors, mut wrong) = (IndexMap::new(), Vec::new());
    for variable in variables.iter().filter(is_written) {
        let Some((template, how)) = place(family, &variable.name, is_bare) else {
            wrong.push(format!("{:?} is not a parameter of {family:?}", variable.name));
            continue;
        };
        let array = value(&variable.name)?;
        if let Err(text) = put(&mut tensors, variable, &template, how, &array) {
            wrong.push(text);
        }
    }
    let incomplete = tensors.iter().filter(|(_, tensor)| tensor.missing > 0);
    wrong.extend(
        incomplete.map(|(name, _)| format!("{name:?} is incomplete: some of its variables are missing")),
    );
    if !wrong.is_empty() {
        let text = format!("the model cannot be written for {family:?}: {}", wrong.join("; "));
        return Err(Diagnostic::unsupported("SH0724", text).into());
    }
    let mut out = StateDict::new();
    for (name, tensor) in tensors {
        out.insert(name, Tensor::from_bytes(tensor.dtype, &tensor.shape, tensor.bytes)?)?;
    }
    // transformers rejects files that do not name the framework.
    out.metadata.insert("format".to_owned(), "pt".to_owned());
    Ok(out)
}

/// Writes a model, such as the result of [`write_model`], to an existing folder: `model.safetensors`, or an index and several files of
/// at most `max_shard_size` bytes of elements each; and `config.json`, if its text is given.
///
/// # Errors
/// A file cannot be written (SH0725).
pub fn save_model(
    folder: &Path,
    tensors: &StateDict,
    max_shard_size: u64,
    config: Option<&str>,
) -> Result<(), Error> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| {
            let text = format!("{} cannot be written: {error}", path.display());
            Error::from(Diagnostic::invalid("SH0725", text))
        })
    };
    let split = safetensors::split(tensors, "model", max_shard_size)?;
    for part in &split.parts {
        write(&part.file, &super::adapters::bytes(&part.tensors)?)?;
    }
    if let Some((name, text)) = &split.index {
        write(name, text.as_bytes())?;
    }
    config.map_or(Ok(()), |text| write("config.json", text.as_bytes()))
}

/// A partially assembled tensor.
struct Whole {
    dtype: shardc_ir::DType,
    shape: Vec<usize>,
    bytes: Vec<u8>,
    /// The number of parts that are still missing.
    missing: usize,
}

/// The name of a variable's tensor in a checkpoint, with `{}` for the layer number, and its conversion.
fn place(family: Family, variable: &str, is_bare: bool) -> Option<(String, How)> {
    let is_head = matches!(variable.split('.').next(), Some("lm_head" | "head"));
    let has_prefix = |name: &str| name.starts_with(prefix(family));
    places(family, variable)?.into_iter().find(|(name, _)| has_prefix(name) != (is_bare || is_head))
}

/// The checkpoint shape of one layer of a variable; `own` is the shape of the layer in shardc's model.
fn shape(how: How, name: &str, own: &[usize]) -> Option<Vec<usize>> {
    let (module, parameter) = name.rsplit_once('.').unwrap_or(("", name));
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    // The output projection of attention has several input dimensions; all other projections have one.
    let num_inputs = if module.ends_with(".out") { own.len().saturating_sub(1) } else { 1.min(own.len()) };
    let (inputs, outputs) = own.split_at(num_inputs);
    Some(match (how, parameter) {
        (How::Window, "kernel") => {
            let [window @ .., inputs, outputs] = own else { return None };
            [&[*outputs, *inputs], window].concat()
        }
        (How::Transposed, "kernel") => vec![product(outputs), product(inputs)],
        (How::Third(_), "kernel") => vec![product(inputs), 3 * product(outputs)],
        (How::Third(_), _) => vec![3 * product(own)],
        (_, "kernel") => vec![product(inputs), product(outputs)],
        (_, "bias" | "scale") => vec![product(own)],
        (_, "embedding") => own.to_vec(),
        // Parameters that are not modules (tokens, positions) have a leading batch dimension.
        _ => std::iter::repeat_n(1, 3usize.saturating_sub(own.len())).chain(own.iter().copied()).collect(),
    })
}

fn put(
    tensors: &mut IndexMap<String, Whole>,
    variable: &Variable,
    template: &str,
    how: How,
    array: &HostArray,
) -> Result<(), String> {
    let (layers, own) = variable.layers();
    let own: Vec<usize> = own.iter().map(|&n| n as usize).collect();
    let refused = || format!("{:?} of shape {own:?} does not match the tensor {template:?}", variable.name);
    if !array.dtype.is_float() || !array.dtype.bits().is_multiple_of(8) {
        return Err(format!("{:?} has the unsupported element type {}", variable.name, array.dtype));
    }
    let shape = shape(how, &variable.name, &own).ok_or_else(refused)?;
    let (first, strides) = strides(how, &shape, &own).ok_or_else(refused)?;
    let width = array.dtype.bits() as usize / 8;
    let count = own.iter().product::<usize>();
    if array.data.len() != layers.max(0) as usize * count * width {
        return Err(format!(
            "the value of {:?} has shape {:?}, which does not match the variable",
            variable.name, array.shape
        ));
    }
    let positions = positions(first, &strides, &own);
    let parts = if matches!(how, How::Third(_)) { 3 } else { 1 };
    for (layer, from) in array.data.chunks((count * width).max(1)).enumerate() {
        let name = template.replace("{}", &layer.to_string());
        let whole = tensors.entry(name).or_insert_with(|| Whole {
            dtype: array.dtype,
            bytes: vec![0; shape.iter().product::<usize>() * width],
            shape: shape.clone(),
            missing: parts,
        });
        if whole.missing == 0 || whole.dtype != array.dtype || whole.shape != shape {
            return Err(refused());
        }
        whole.missing -= 1;
        for (element, &at) in from.chunks(width).zip(&positions) {
            whole.bytes[at * width..][..width].copy_from_slice(element);
        }
    }
    Ok(())
}

/// The positions of a layer's elements in the flattened tensor, in row-major order of the layer.
fn positions(first: usize, strides: &[usize], own: &[usize]) -> Vec<usize> {
    own.iter().zip(strides).fold(vec![first], |places, (&n, &stride)| {
        places.iter().flat_map(|&place| (0..n).map(move |i| place + i * stride)).collect()
    })
}
