//! LoRA adapters in PEFT's format: `adapter_model.safetensors` and `adapter_config.json`.
//!
//! For each layer, PEFT stores `lora_A` as `[rank, inputs]` and `lora_B` as `[outputs, rank]`. shardc stores `lora_a` as `[inputs.., rank]`
//! and `lora_b` as `[rank, outputs..]`, with a leading layer dimension for a stack. Layers of a stack share one rank and one scale: lower
//! ranks are padded with zeros, which training preserves, and `lora_B` of a layer with a different scale is multiplied by the ratio of the
//! scales.

use indexmap::{IndexMap, IndexSet};
use shardc::Error;
use shardc_ir::Diagnostic;
use shardc_nn::{Init, Kind, Lora, Variable};
use shardc_runtime::HostArray;
use shardc_statedict::{StateDict, Tensor, safetensors};

use super::Family;
use super::assemble::Assembled;
use super::files::AdapterFiles;
use super::names::{How, module_names};
use super::parsed::{Parsed, Role};

impl AdapterFiles {
    /// The LoRA settings of these files, with the module names of shardc's model of the family. A model built with these settings
    /// ([`Scope::with_lora`](crate::nn::Scope::with_lora)) computes the same as the adapted model in PEFT.
    ///
    /// # Errors
    /// A file is invalid (SH0725), or settings or tensors are not supported, all reported at once (SH0726).
    pub fn lora(&self, family: Family) -> Result<Lora, Error> {
        Parsed::of(family, self)?.lora()
    }
}

/// Reads the adapters among `variables` from PEFT's files, and the base-model parameters that these files replace: `modules_to_save`, and
/// biases. `lora` contains the settings with which the variables were created, such as [`AdapterFiles::lora`].
///
/// # Errors
/// A file is invalid (SH0725); settings or tensors are not supported (SH0726); adapters are missing, have different shapes, or have no
/// variable, all reported at once (SH0723).
pub fn read_adapters(
    family: Family,
    variables: &[Variable],
    lora: &Lora,
    files: &AdapterFiles,
) -> Result<IndexMap<String, HostArray>, Error> {
    let parsed = Parsed::of(family, files)?;
    let (mut arrays, mut wrong, mut used) = (IndexMap::new(), Vec::new(), IndexSet::new());
    let is_read = |v: &&Variable| {
        matches!(v.kind, Kind::Parameter | Kind::Frozen) && !matches!(v.init, Init::CopyOf(_))
    };
    for variable in variables.iter().filter(is_read) {
        let array = match Factor::of(variable) {
            Some(factor) => parsed.factor(variable, &factor, lora, &mut used).map(Some),
            None => parsed.replaced(variable, &mut used),
        };
        match array {
            Ok(Some(array)) => _ = arrays.insert(variable.name.clone(), array),
            Ok(None) => {}
            Err(text) => wrong.push(text),
        }
    }
    let unused = parsed.tensors.iter().filter(|(name, _)| !used.contains(*name));
    wrong.extend(unused.map(|(name, _)| format!("the model has no variable for {name:?}")));
    if wrong.is_empty() {
        return Ok(arrays);
    }
    let text = format!("the adapters do not fit this model: {}", wrong.join("; "));
    let hint = "build the model with the settings that AdapterFiles::lora returns";
    Err(Diagnostic::invalid("SH0723", text).hint(hint).into())
}

/// Whether a variable belongs to an adapter.
pub(super) fn is_adapter(name: &str) -> bool {
    matches!(name.rsplit_once('.'), Some((_, "lora_a" | "lora_b" | "lora_magnitude")))
}

/// A variable of an adapter.
pub(super) struct Factor<'a> {
    /// The name of the linear layer.
    pub(super) map: &'a str,
    pub(super) role: Role,
    /// The number of layers.
    pub(super) layers: i64,
    /// The rank; 1 for magnitudes.
    pub(super) rank: usize,
    /// The number of inputs for `lora_a`, of outputs for `lora_b` and magnitudes.
    pub(super) size: usize,
}

impl<'a> Factor<'a> {
    pub(super) fn of(variable: &'a Variable) -> Option<Factor<'a>> {
        let (map, name) = variable.name.rsplit_once('.')?;
        let (layers, own) = variable.layers();
        let (role, rank) = match name {
            "lora_a" => (Role::A, own.last().map_or(1, |&n| n as usize)),
            "lora_b" => (Role::B, own.first().map_or(1, |&n| n as usize)),
            "lora_magnitude" => (Role::Magnitude, 1),
            _ => return None,
        };
        let size = own.iter().product::<i64>() as usize / rank.max(1);
        Some(Factor { map, role, layers, rank, size })
    }
}

impl Parsed {
    /// The value of an adapter variable.
    fn factor(
        &self,
        variable: &Variable,
        factor: &Factor<'_>,
        lora: &Lora,
        used: &mut IndexSet<String>,
    ) -> Result<HostArray, String> {
        let mut data = vec![0.0; factor.layers as usize * factor.rank * factor.size];
        let names = module_names(self.family, factor.map);
        if names.is_empty() {
            return Err(format!(
                "{:?} is not a linear layer of {:?} that PEFT can adapt",
                factor.map, self.family
            ));
        }
        let width = factor.rank * factor.size;
        for (layer, into) in data.chunks_mut(width.max(1)).enumerate() {
            let modules = names.iter().map(|(name, how)| (name.replace("{}", &layer.to_string()), *how));
            let modules: Vec<(String, How)> = modules.filter(|(name, _)| self.is_prefixed(name)).collect();
            let found = modules.iter().find_map(|(module, how)| {
                let name = factor.role.tensor(module);
                Some((module, how, self.tensors.find(&name)?, name))
            });
            let Some((module, how, tensor, name)) = found else {
                match modules.iter().find(|(module, _)| self.config.adapts(module, false)) {
                    Some((module, _)) => return Err(format!("{:?} is missing", factor.role.tensor(module))),
                    // A layer without an adapter keeps zeros.
                    None => continue,
                }
            };
            let numbers = host_array(tensor).map_err(|error| format!("{name:?}: {error}"))?.to_f64_vec();
            let (rank, scale) = (self.config.rank_of(module) as usize, self.config.scale_of(module));
            let (first, parts) = match how {
                How::Third(part) if factor.role != Role::A => (part * factor.size, 3),
                _ => (0, 1),
            };
            let want = match factor.role {
                Role::A => vec![rank, factor.size],
                Role::B => vec![factor.size * parts, rank],
                Role::Magnitude => vec![factor.size * parts],
            };
            if tensor.shape() != want || (rank > factor.rank && factor.role != Role::Magnitude) {
                let shape = tensor.shape();
                let ours = &variable.shape;
                return Err(format!(
                    "{name:?} has shape {shape:?}, expected {want:?}, for {:?} of {ours:?}",
                    variable.name
                ));
            }
            let ratio = scale / lora.scale_of(factor.map);
            let ratio = if (ratio - 1.0).abs() < 1e-12 { 1.0 } else { ratio };
            for i in 0..factor.size {
                match factor.role {
                    Role::A => {
                        (0..rank).for_each(|k| into[i * factor.rank + k] = numbers[k * factor.size + i])
                    }
                    Role::B => (0..rank)
                        .for_each(|k| into[k * factor.size + i] = numbers[(first + i) * rank + k] * ratio),
                    Role::Magnitude => into[i] = numbers[first + i],
                }
            }
            used.insert(name);
        }
        let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
        HostArray::from_f64(variable.dtype, &shape, &data)
            .map_err(|error| format!("{:?}: {error}", variable.name))
    }

    /// Returns the value of a parameter that is not an adapter, if the files contain the parameter.
    fn replaced(
        &self,
        variable: &Variable,
        used: &mut IndexSet<String>,
    ) -> Result<Option<HostArray>, String> {
        let assembled = Assembled::of(self.family, variable, &self.tensors);
        let is_trained = variable.kind == Kind::Parameter;
        let assembled = match assembled {
            Ok(assembled) => assembled,
            Err(text) if is_trained => {
                return Err(format!("no value for the trained parameter {:?}: {text}", variable.name));
            }
            Err(_) => return Ok(None),
        };
        used.extend(assembled.names().map(str::to_owned));
        let bounds: Vec<_> = variable.shape.iter().map(|&n| 0..n as usize).collect();
        assembled.block(&bounds).map(Some).map_err(|error| error.to_string())
    }
}

pub(super) fn host_array(tensor: &Tensor) -> Result<HostArray, Error> {
    if !tensor.dtype().is_float() {
        let text = format!("it has element type {}, expected a float type", tensor.dtype());
        return Err(Diagnostic::invalid("SH0723", text).into());
    }
    Ok(HostArray::new(tensor.dtype(), tensor.shape(), tensor.read()?)?)
}

/// The bytes of a safetensors file.
pub(super) fn bytes(tensors: &StateDict) -> Result<Vec<u8>, Error> {
    let mut weights = Vec::new();
    safetensors::write(tensors, &mut weights, &mut |_| {})?;
    Ok(weights)
}
