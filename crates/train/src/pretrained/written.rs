//! Writes adapters in PEFT's format.

use shardc::Error;
use shardc::lora::AdapterConfig;
use shardc_ir::Diagnostic;
use shardc_nn::{Bias, Init, Kind, Lora, Patterns, Targets, Variable};
use shardc_runtime::HostArray;
use shardc_statedict::{StateDict, Tensor};

use super::Family;
use super::adapters::{Factor, bytes};
use super::files::AdapterFiles;
use super::names::{How, is_only, module_names, places};
use super::parsed::{PREFIX, Role};

/// Writes the trained parameters among `variables` as a PEFT adapter of a model of the family: adapters, `modules_to_save`, and biases.
/// `value` returns the value of a variable by name.
///
/// # Errors
/// A trained variable has no tensor of its own in the family's checkpoints (SH0724), or `value` fails.
pub fn write_adapters(
    family: Family,
    variables: &[Variable],
    lora: &Lora,
    mut value: impl FnMut(&str) -> Result<HostArray, Error>,
) -> Result<AdapterFiles, Error> {
    let mut out = Writer {
        family,
        tensors: StateDict::new(),
        targets: Vec::new(),
        saved: Vec::new(),
        patterns: Vec::new(),
    };
    for variable in
        variables.iter().filter(|v| v.kind == Kind::Parameter && !matches!(v.init, Init::CopyOf(_)))
    {
        match Factor::of(variable) {
            Some(factor) => out.factor(&factor, &value(&variable.name)?)?,
            None => out.whole(variable, lora, &value(&variable.name)?)?,
        }
    }
    out.tensors.metadata.insert("format".to_owned(), "pt".to_owned());
    let wrong = |error: shardc_strategy::TargetsError| Diagnostic::invalid("SH0724", error.to_string());
    let differ = |of: fn(&Lora, &str) -> Option<f64>| -> Vec<(String, f64)> {
        out.patterns.iter().filter_map(|(key, map)| Some((key.clone(), of(lora, map)?))).collect()
    };
    let ranks = differ(|lora, map| lora.rank_pattern.get(map).map(|&rank| rank as f64));
    let alphas = differ(|lora, map| lora.alpha_pattern.get(map).copied());
    let config = AdapterConfig {
        lora: Lora {
            targets: Targets::Names(out.targets),
            exclude: None,
            layers: None,
            rank_pattern: Patterns::new(ranks.into_iter().map(|(key, rank)| (key, rank as i64)))
                .map_err(wrong)?,
            alpha_pattern: Patterns::new(alphas).map_err(wrong)?,
            modules_to_save: out.saved,
            ..lora.clone()
        },
    };
    let text = config.to_json();
    let text = match family {
        Family::Gpt2 => text.replace("\"fan_in_fan_out\": false", "\"fan_in_fan_out\": true"),
        _ => text,
    };
    Ok(AdapterFiles { weights: bytes(&out.tensors)?, config: text })
}

struct Writer {
    family: Family,
    tensors: StateDict,
    /// `target_modules`.
    targets: Vec<String>,
    /// `modules_to_save`.
    saved: Vec<String>,
    /// For each adapted module, a regular expression for its name, and the name of the linear layer in shardc's model.
    patterns: Vec<(String, String)>,
}

impl Writer {
    fn factor(&mut self, factor: &Factor<'_>, array: &HostArray) -> Result<(), Error> {
        let names = module_names(self.family, factor.map);
        let own = |how: How| matches!(how, How::Same | How::Transposed);
        let Some((template, _)) = names.first().filter(|(_, how)| own(*how)) else {
            let text =
                format!("{:?} is not a linear layer of {:?} that PEFT can adapt", factor.map, self.family);
            return Err(refused(text));
        };
        let numbers = floats(array)?;
        let width = (factor.rank * factor.size).max(1);
        for (layer, from) in numbers.chunks(width).enumerate() {
            let module = template.replace("{}", &layer.to_string());
            let (rows, columns) = match factor.role {
                Role::A => (factor.size, factor.rank),
                Role::B => (factor.rank, factor.size),
                Role::Magnitude => (1, factor.size),
            };
            let transposed =
                (0..columns).flat_map(|c| (0..rows).map(move |r| from[r * columns + c])).collect::<Vec<_>>();
            let shape = if factor.role == Role::Magnitude { vec![columns] } else { vec![columns, rows] };
            self.put(&factor.role.tensor(&module), &HostArray::from_f64(array.dtype, &shape, &transposed)?)?;
        }
        // A target is the module's name within a layer, or only the last component of that name if the component is unique.
        let within = template.rsplit_once("{}.").map_or(template.as_str(), |(_, within)| within);
        let last = within.rsplit('.').next().unwrap_or(within);
        let target = if is_only(self.family, last) { last } else { within };
        if !self.targets.iter().any(|known| known == target) {
            self.targets.push(target.to_owned());
        }
        let pattern = (within.replace('.', r"\."), factor.map.to_owned());
        if !self.patterns.contains(&pattern) {
            self.patterns.push(pattern);
        }
        Ok(())
    }

    /// Adds a parameter that is trained in full.
    fn whole(&mut self, variable: &Variable, lora: &Lora, array: &HostArray) -> Result<(), Error> {
        let (module, parameter) = variable.name.rsplit_once('.').unwrap_or(("", &variable.name));
        let family = self.family;
        let refused =
            || refused(format!("{:?} is trained, but {:?} has no tensor for it", variable.name, family));
        let names = module_names(self.family, module);
        let (template, _) = names.first().ok_or_else(refused)?;
        let how = places(self.family, &variable.name).and_then(|places| places.first().map(|(_, how)| *how));
        let how = how.filter(|how| matches!(how, How::Same | How::Transposed)).ok_or_else(refused)?;
        let is_bias_alone = parameter == "bias" && lora.bias != Bias::None && !lora.saves(module);
        let suffix = match (parameter, is_bias_alone && lora.adapts(module, false)) {
            ("bias", true) => ".base_layer.bias",
            ("bias", false) => ".bias",
            _ => ".weight",
        };
        let (layers, own) = variable.layers();
        let own: Vec<usize> = own.iter().map(|&n| n as usize).collect();
        let size = own.iter().product::<usize>().max(1);
        let numbers = floats(array)?;
        for (layer, from) in numbers.chunks(size).enumerate().take(layers.max(1) as usize) {
            let name = format!("{}{suffix}", template.replace("{}", &layer.to_string()));
            let array = match (how, own.as_slice()) {
                (How::Transposed, &[inputs, outputs]) => {
                    let swapped = (0..outputs).flat_map(|o| (0..inputs).map(move |i| from[i * outputs + o]));
                    HostArray::from_f64(array.dtype, &[outputs, inputs], &swapped.collect::<Vec<_>>())?
                }
                // A kernel with separate dimensions for heads and their elements is not supported: PEFT merges the two dimensions.
                (How::Transposed, _) => return Err(refused()),
                (_, own) if parameter == "bias" => {
                    HostArray::from_f64(array.dtype, &[own.iter().product()], from)?
                }
                (_, own) => HostArray::from_f64(array.dtype, own, from)?,
            };
            self.put(&name, &array)?;
        }
        let within = template.rsplit_once("{}.").map_or(template.as_str(), |(_, within)| within).to_owned();
        if !is_bias_alone && !self.saved.contains(&within) {
            self.saved.push(within);
        }
        Ok(())
    }

    fn put(&mut self, name: &str, array: &HostArray) -> Result<(), Error> {
        let tensor = Tensor::from_bytes(array.dtype, &array.shape, array.data.as_slice())?;
        Ok(self.tensors.insert(format!("{PREFIX}{name}"), tensor)?)
    }
}

fn floats(array: &HostArray) -> Result<Vec<f64>, Error> {
    if array.dtype.is_float() {
        return Ok(array.to_f64_vec());
    }
    Err(refused(format!("adapters have the unsupported element type {}", array.dtype)))
}

fn refused(text: String) -> Error {
    Diagnostic::unsupported("SH0724", text).into()
}
