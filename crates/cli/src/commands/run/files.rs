//! Safetensors files of `--inputs` and `--outputs`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use shardc::ir::DType;
use shardc::runtime::{ArrayType, HostArray};
use shardc_passes::annotations::names::Names;

use crate::commands::client::runtime_error;
use crate::failure::Failure;

/// The name and the type of each parameter of a program.
pub(super) type Parameters = [(Option<String>, ArrayType)];

const TYPES: &[(DType, Dtype)] = &[
    (DType::I1, Dtype::BOOL),
    (DType::I8, Dtype::I8),
    (DType::UI8, Dtype::U8),
    (DType::I16, Dtype::I16),
    (DType::UI16, Dtype::U16),
    (DType::I32, Dtype::I32),
    (DType::UI32, Dtype::U32),
    (DType::I64, Dtype::I64),
    (DType::UI64, Dtype::U64),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
];

/// Reads the arrays of a file, keyed by the index of the argument. All mismatches are reported in one error.
pub(super) fn load(
    path: &Path,
    names: &Names,
    parameters: &Parameters,
) -> Result<BTreeMap<usize, HostArray>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = SafeTensors::deserialize(&bytes)
        .with_context(|| format!("{} is not a safetensors file", path.display()))?;
    let mut tensors = file.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut wrong = Vec::new();
    let mut unknown = Vec::new();
    let mut given: BTreeMap<usize, String> = BTreeMap::new();
    let mut arrays = BTreeMap::new();
    for (name, view) in tensors {
        let index = match names.find_argument(&name) {
            Ok(index) => index,
            Err(error) => {
                unknown.push(error);
                continue;
            }
        };
        if let Some(other) = given.insert(index, name.clone()) {
            wrong.push(format!("{other} and {name} name the same input"));
            continue;
        }
        let (_, wanted) = &parameters[index];
        let dtype = TYPES.iter().find(|(_, t)| *t == view.dtype()).map(|(d, _)| *d);
        match dtype.map(|dtype| ArrayType { dtype, shape: view.shape().to_vec() }) {
            Some(ty) if ty == *wanted => {
                let data = view.data().to_vec();
                let array = HostArray::new(wanted.dtype, view.shape(), data).map_err(runtime_error)?;
                arrays.insert(index, array);
            }
            Some(ty) => wrong.push(format!("{name} has type {ty}, expected {wanted}")),
            None => wrong.push(format!("{name} has element type {:?}, expected {wanted}", view.dtype())),
        }
    }
    if wrong.is_empty() {
        return match unknown.is_empty() {
            true => Ok(arrays),
            false => Err(Failure::of(&unknown.into(), &path.display().to_string(), "").into()),
        };
    }
    wrong.extend(unknown.iter().map(|error| error.message.clone()));
    let message = match wrong.as_slice() {
        [only] => format!("{}: {only}", path.display()),
        all => format!(
            "{}: {} inputs do not match the program:\n  {}",
            path.display(),
            all.len(),
            all.join("\n  ")
        ),
    };
    let hint = unknown.into_iter().find_map(|error| error.hint.map(|hint| hint.to_string()));
    Err(Failure::Runtime { code: "RT0303".to_owned(), message, notes: Vec::new(), hint }.into())
}

pub(super) fn serialized(outputs: &[HostArray]) -> Result<Vec<u8>> {
    let mut tensors = BTreeMap::new();
    for (i, array) in outputs.iter().enumerate() {
        let Some((_, dtype)) = TYPES.iter().find(|(d, _)| *d == array.dtype) else {
            bail!("out{i} has type {}, which safetensors does not support", array.dtype);
        };
        tensors.insert(format!("out{i}"), TensorView::new(*dtype, array.shape.clone(), &array.data)?);
    }
    Ok(safetensors::serialize(tensors, None)?)
}
