//! Adapters of low rank as PEFT keeps them: `adapter_model.safetensors` and `adapter_config.json`.
//!
//! PEFT has `lora_A` of `[rank, inputs]` and `lora_B` of `[outputs, rank]` for each layer; ours are `lora_a`, `[inputs.., rank]`, and `lora_b`,
//! `[rank, outputs..]`, with the layers of a stack in front.

use indexmap::IndexMap;
use serde_json::json;
use shardc_ir::Diagnostic;
use shardc_nn::{Kind, Lora, Targets, Variable};
use shardc_runtime::HostArray;
use shardc_statedict::{StateDict, Tensor, safetensors};

use super::names::{How, places};
use super::{Family, parse};
use crate::Error;

/// What names of PEFT's begin with.
const PREFIX: &str = "base_model.model.";

/// Files of adapters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterFiles {
    /// The bytes of `adapter_model.safetensors`.
    pub weights: Vec<u8>,
    /// The text of `adapter_config.json`.
    pub config: String,
}

/// The adapters among `variables`, whose values `value` gives by name, as PEFT keeps them beside a model of the family.
///
/// # Errors
/// A variable that is trained is no adapter, or is of a map that has no place of its own in the family's checkpoints (SH0724); a value
/// cannot be had.
pub fn write_adapters(
    family: Family,
    variables: &[Variable],
    lora: &Lora,
    mut value: impl FnMut(&str) -> Result<HostArray, Error>,
) -> Result<AdapterFiles, Error> {
    let mut tensors = StateDict::new();
    let mut modules: Vec<String> = Vec::new();
    for variable in variables.iter().filter(|v| v.kind == Kind::Parameter) {
        let place = Place::of(family, variable)?;
        let array = value(&variable.name)?;
        for layer in 0..place.layers {
            tensors.insert(place.name(layer), tensor(&place.layer_out(&array, layer)?)?)?;
        }
        let module = place.module.rsplit('.').next().unwrap_or_default().to_owned();
        if !modules.contains(&module) {
            modules.push(module);
        }
    }
    tensors.metadata.insert("format".to_owned(), "pt".to_owned());
    let mut weights = Vec::new();
    safetensors::write(&tensors, &mut weights, &mut |_| {})?;
    let targets = match &lora.targets {
        Targets::Pattern(pattern) => json!(pattern.as_str()),
        _ => json!(modules),
    };
    let config = json!({
        "peft_type": "LORA",
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": lora.dropout,
        "use_rslora": lora.rank_stabilized,
        "target_modules": targets,
        "bias": "none",
        "fan_in_fan_out": family == Family::Gpt2,
        "inference_mode": true,
        "base_model_name_or_path": null,
        "task_type": null,
    });
    Ok(AdapterFiles { weights, config: format!("{config:#}\n") })
}

/// The adapters among `variables`, read from the bytes of `adapter_model.safetensors`.
///
/// # Errors
/// It is no such file (SH0725), or adapters are missing or have other shapes, which is said of all (SH0723).
pub fn read_adapters(
    family: Family,
    variables: &[Variable],
    weights: &[u8],
) -> Result<IndexMap<String, HostArray>, Error> {
    let tensors = parse(0, weights)?;
    let (mut arrays, mut wrong) = (IndexMap::new(), Vec::new());
    for variable in variables.iter().filter(|v| v.kind == Kind::Parameter) {
        match Place::of(family, variable)?.read(variable, &tensors) {
            Ok(array) => _ = arrays.insert(variable.name.clone(), array),
            Err(text) => wrong.push(text),
        }
    }
    if wrong.is_empty() {
        return Ok(arrays);
    }
    let text = format!("these are no adapters of this model: {}", wrong.join("; "));
    Err(Diagnostic::invalid("SH0723", text).into())
}

/// Whether a variable is a factor of adapters.
pub(super) fn is_adapter(name: &str) -> bool {
    matches!(name.rsplit_once('.'), Some((_, "lora_a" | "lora_b")))
}

/// Where an adapter lies in PEFT's file.
struct Place {
    /// The name of the map, with `{}` for the number of the layer.
    module: String,
    /// `lora_A` or `lora_B`.
    factor: &'static str,
    layers: i64,
    /// The shape of a layer's as a matrix, ours: PEFT's is transposed.
    rows: usize,
    columns: usize,
}

impl Place {
    fn of(family: Family, variable: &Variable) -> Result<Place, Error> {
        let name = &variable.name;
        let refused = |text: String| Error::from(Diagnostic::unsupported("SH0724", text));
        let factor = match name.rsplit_once('.') {
            Some((map, "lora_a")) => Some((map, "lora_A")),
            Some((map, "lora_b")) => Some((map, "lora_B")),
            _ => None,
        };
        let Some((map, factor)) = factor else {
            return Err(refused(format!("{name:?} is trained, and no adapter")));
        };
        let found = places(family, &format!("{map}.kernel"));
        let module = found.iter().flatten().find_map(|(name, how)| {
            let is_whole = matches!(how, How::Same | How::Transposed);
            name.strip_suffix(".weight").filter(|_| is_whole)
        });
        let Some(module) = module else {
            let text = format!("{map:?} is no map of {family:?} that adapters have a place for");
            return Err(refused(text));
        };
        let (layers, own) = variable.layers();
        let all = own.iter().product::<i64>() as usize;
        let rank = if factor == "lora_A" { own.last() } else { own.first() }.map_or(1, |&n| n as usize);
        let (rows, columns) =
            if factor == "lora_A" { (all / rank.max(1), rank) } else { (rank, all / rank.max(1)) };
        Ok(Place { module: module.to_owned(), factor, layers, rows, columns })
    }

    fn name(&self, layer: i64) -> String {
        format!("{PREFIX}{}.{}.weight", self.module.replace("{}", &layer.to_string()), self.factor)
    }

    /// PEFT's tensor of a layer of ours.
    fn layer_out(&self, array: &HostArray, layer: i64) -> Result<HostArray, Error> {
        let (size, count) = (array.dtype.bytes(), self.rows * self.columns);
        let all = array.data.get(layer as usize * count * size..).unwrap_or_default();
        let data = transposed(all, size, self.rows, self.columns);
        Ok(HostArray::new(array.dtype, &[self.columns, self.rows], data)?)
    }

    /// A variable out of PEFT's tensors.
    fn read(&self, variable: &Variable, tensors: &StateDict) -> Result<HostArray, String> {
        let mut data = Vec::new();
        for layer in 0..self.layers {
            let name = self.name(layer);
            let tensor = tensors.find(&name).ok_or_else(|| format!("{name:?} is missing"))?;
            let array = host_array(tensor).map_err(|error| format!("{name:?}: {error}"))?;
            if array.shape != [self.columns, self.rows] {
                let want = [self.columns, self.rows];
                return Err(format!("{name:?} has the shape {:?}, not {want:?}", array.shape));
            }
            let array = if array.dtype == variable.dtype {
                array
            } else {
                HostArray::from_f64(variable.dtype, &array.shape, &array.to_f64_vec())
                    .map_err(|error| format!("{name:?}: {error}"))?
            };
            data.extend(transposed(&array.data, array.dtype.bytes(), self.columns, self.rows));
        }
        let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
        HostArray::new(variable.dtype, &shape, data).map_err(|error| format!("{:?}: {error}", variable.name))
    }
}

/// The bytes of a matrix with its rows as columns.
fn transposed(data: &[u8], size: usize, rows: usize, columns: usize) -> Vec<u8> {
    let places = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    places.flat_map(|at| data.get(at * size..(at + 1) * size).unwrap_or_default()).copied().collect()
}

fn tensor(array: &HostArray) -> Result<Tensor, Error> {
    if !array.dtype.is_float() {
        let text = format!("adapters of {} have no place in a file", array.dtype);
        return Err(Diagnostic::unsupported("SH0724", text).into());
    }
    Ok(Tensor::from_bytes(array.dtype, &array.shape, array.data.as_slice())?)
}

fn host_array(tensor: &Tensor) -> Result<HostArray, Error> {
    if !tensor.dtype().is_float() {
        let text = format!("it has elements of {}", tensor.dtype());
        return Err(Diagnostic::invalid("SH0723", text).into());
    }
    Ok(HostArray::new(tensor.dtype(), tensor.shape(), tensor.read()?)?)
}
