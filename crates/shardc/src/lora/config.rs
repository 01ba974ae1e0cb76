//! PEFT's `adapter_config.json` of LoRA adapters.

use serde_json::{Map, Value, json};
use shardc_ir::Diagnostic;
use shardc_strategy::{Bias, Layers, Lora, Patterns, Targets};

use crate::Error;

/// The LoRA settings of `adapter_config.json`, with the module names of the model that the adapters belong to. The format is that of PEFT
/// 0.21.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterConfig {
    /// The adapters. Names are those of the model's modules, without `base_model.model.`. A targeted parameter (`target_parameters`) is a
    /// target with the name of its module.
    pub lora: Lora,
}

/// Settings that do not affect the results of an adapted model.
const DESCRIPTIVE: &[&str] = &[
    "auto_mapping",
    "base_model_name_or_path",
    "revision",
    "task_type",
    "inference_mode",
    "peft_version",
    // Whether the base weight is transposed. The model determines this, not the adapter.
    "fan_in_fan_out",
    // Options of initialization and quantization methods. A separate setting selects each method.
    "eva_config",
    "corda_config",
    "loftq_config",
    "lora_ga_config",
    "qalora_group_size",
    "megatron_core",
    "runtime_config",
];

impl AdapterConfig {
    /// Reads the text of `adapter_config.json`.
    ///
    /// # Errors
    /// The text is invalid or has unsupported settings (SH0726); the error names all of them.
    pub fn parse(text: &str) -> Result<AdapterConfig, Error> {
        let invalid = |why: String| Diagnostic::invalid("SH0726", format!("adapter_config.json: {why}"));
        let value: Value = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
        let Value::Object(settings) = value else {
            return Err(invalid("expected a JSON object".to_owned()).into());
        };
        let mut reader = Reader { settings, wrong: Vec::new() };
        let lora = reader.lora();
        reader.rest();
        if reader.wrong.is_empty() {
            return Ok(AdapterConfig { lora });
        }
        let text = format!("adapter_config.json: {}", reader.wrong.join("; "));
        Err(Diagnostic::unsupported("SH0726", text).into())
    }

    /// Writes `adapter_config.json` in the form that PEFT reads.
    #[must_use]
    pub fn to_json(&self) -> String {
        let lora = &self.lora;
        let list = |targets: &Targets| match targets {
            Targets::AllLinear => json!("all-linear"),
            Targets::Names(names) => json!(names),
            Targets::Pattern(_) => json!(targets.to_string()),
        };
        let bias = match lora.bias {
            Bias::None => "none",
            Bias::All => "all",
            Bias::LoraOnly => "lora_only",
        };
        let ranks: Map<String, Value> =
            lora.rank_pattern.iter().map(|(k, &v)| (k.to_owned(), json!(v))).collect();
        let alphas: Map<String, Value> =
            lora.alpha_pattern.iter().map(|(k, &v)| (k.to_owned(), number(v))).collect();
        let parents = lora.layers.as_ref().map(Layers::parents).filter(|parents| !parents.is_empty());
        let config = json!({
            "peft_type": "LORA",
            "r": lora.rank,
            "lora_alpha": number(lora.alpha),
            "lora_dropout": lora.dropout,
            "use_rslora": lora.rank_stabilized,
            "use_dora": lora.dora,
            "target_modules": list(&lora.targets),
            "exclude_modules": lora.exclude.as_ref().map(list),
            "layers_to_transform": lora.layers.as_ref().map(Layers::numbers),
            "layers_pattern": parents,
            "rank_pattern": ranks,
            "alpha_pattern": alphas,
            "modules_to_save": (!lora.modules_to_save.is_empty()).then_some(&lora.modules_to_save),
            "bias": bias,
            "fan_in_fan_out": false,
            "inference_mode": true,
            "base_model_name_or_path": null,
            "task_type": null,
        });
        format!("{config:#}\n")
    }
}

/// A number as PEFT writes it: an integer if it has no fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

struct Reader {
    settings: Map<String, Value>,
    wrong: Vec<String>,
}

impl Reader {
    fn lora(&mut self) -> Lora {
        if let Some(kind) = self.take("peft_type").filter(|kind| kind != "LORA") {
            self.wrong.push(format!("\"peft_type\": {kind} is not supported, only \"LORA\""));
        }
        let rank = self.number("r", 8.0);
        if rank < 1.0 || rank.fract() != 0.0 {
            self.wrong.push(format!("\"r\" must be a positive integer, got {rank}"));
        }
        let dropout = self.number("lora_dropout", 0.0);
        let bias = match self.take("bias").as_ref().map(|bias| bias.as_str().unwrap_or_default()) {
            None | Some("none") => Bias::None,
            Some("all") => Bias::All,
            Some("lora_only") => Bias::LoraOnly,
            Some(other) => {
                self.wrong
                    .push(format!("\"bias\" must be \"none\", \"all\" or \"lora_only\", got {other:?}"));
                Bias::None
            }
        };
        let lora = Lora {
            rank: rank as i64,
            alpha: self.number("lora_alpha", 8.0),
            dropout,
            rank_stabilized: self.is_on("use_rslora"),
            targets: self.targets("target_modules").unwrap_or(Targets::Names(Vec::new())),
            exclude: self.targets("exclude_modules"),
            layers: self.layers(),
            rank_pattern: self.patterns("rank_pattern", |n| n as i64),
            alpha_pattern: self.patterns("alpha_pattern", |n| n),
            dora: self.is_on("use_dora"),
            modules_to_save: self.words("modules_to_save"),
            bias,
        };
        self.parameters(lora)
    }

    /// Adds targeted parameters to the targets.
    fn parameters(&mut self, mut lora: Lora) -> Lora {
        let parameters = self.words("target_parameters");
        if parameters.is_empty() {
            return lora;
        }
        let modules = parameters.iter().map(|name| name.strip_suffix(".weight").unwrap_or(name).to_owned());
        let refused = [
            (lora.dora, "use_dora"),
            (lora.dropout > 0.0, "lora_dropout"),
            (lora.layers.is_some(), "layers_to_transform"),
            (!matches!(lora.targets, Targets::Names(_)), "target_modules that are not a list"),
        ];
        for (_, name) in refused.iter().filter(|(is_set, _)| *is_set) {
            self.wrong.push(format!("\"target_parameters\" are not supported together with {name}"));
        }
        if let Targets::Names(names) = &mut lora.targets {
            names.extend(modules);
        }
        lora
    }

    /// Checks the remaining settings: none of them may change the result of an adapted model.
    fn rest(&mut self) {
        for (name, value) in std::mem::take(&mut self.settings) {
            let is_off = match &value {
                Value::Null => true,
                Value::Bool(on) => !on,
                Value::Object(map) => map.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Number(_) | Value::String(_) => false,
            };
            // These initializations keep the base weights. Other methods, such as PiSSA and LoftQ, change the base weights.
            let keeps_weights = |init: &str| matches!(init, "gaussian" | "eva" | "orthogonal");
            let is_plain = match name.as_str() {
                "init_lora_weights" => value.is_boolean() || value.as_str().is_some_and(keeps_weights),
                name => DESCRIPTIVE.contains(&name),
            };
            if !is_off && !is_plain {
                self.wrong.push(format!("{name:?}: {value} is not supported"));
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.settings.shift_remove(name).filter(|value| !value.is_null())
    }

    fn number(&mut self, name: &str, default: f64) -> f64 {
        let Some(value) = self.take(name) else { return default };
        value.as_f64().unwrap_or_else(|| {
            self.wrong.push(format!("{name:?} must be a number, got {value}"));
            default
        })
    }

    fn is_on(&mut self, name: &str) -> bool {
        let Some(value) = self.take(name) else { return false };
        value.as_bool().unwrap_or_else(|| {
            self.wrong.push(format!("{name:?} must be true or false, got {value}"));
            false
        })
    }

    /// Removes a setting that is a list of strings or one string, and returns its strings.
    fn words(&mut self, name: &str) -> Vec<String> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let words = match self.take(name) {
            None => return Vec::new(),
            Some(Value::String(text)) => return vec![text],
            Some(Value::Array(list)) => list.iter().map(word).collect(),
            Some(_) => None,
        };
        words.unwrap_or_else(|| {
            self.wrong.push(format!("{name:?} must be a list of names"));
            Vec::new()
        })
    }

    fn targets(&mut self, name: &str) -> Option<Targets> {
        let text = match self.settings.get(name)? {
            Value::String(text) => text.clone(),
            Value::Null => return None,
            _ => return Some(Targets::Names(self.words(name))).filter(|t| *t != Targets::Names(Vec::new())),
        };
        _ = self.take(name);
        match Targets::pattern(&text) {
            _ if text == "all-linear" => Some(Targets::AllLinear),
            Ok(targets) => Some(targets),
            Err(error) => {
                self.wrong.push(format!("{name:?}: {error}"));
                None
            }
        }
    }

    fn layers(&mut self) -> Option<Layers> {
        let parents = self.words("layers_pattern");
        let numbers: Option<Vec<u64>> = match self.take("layers_to_transform")? {
            Value::Array(list) if list.is_empty() => return None,
            Value::Array(list) => list.iter().map(Value::as_u64).collect(),
            one => one.as_u64().map(|number| vec![number]),
        };
        let Some(numbers) = numbers else {
            self.wrong.push("\"layers_to_transform\" must be a list of layer numbers".to_owned());
            return None;
        };
        match Layers::new(numbers, parents) {
            Ok(layers) => Some(layers),
            Err(error) => {
                self.wrong.push(format!("\"layers_pattern\": {error}"));
                None
            }
        }
    }

    fn patterns<T>(&mut self, name: &str, of: impl Fn(f64) -> T) -> Patterns<T> {
        let map = match self.take(name) {
            Some(Value::Object(map)) => map,
            Some(_) => {
                self.wrong.push(format!("{name:?} must be an object"));
                return Patterns::default();
            }
            None => return Patterns::default(),
        };
        let entries: Option<Vec<(String, T)>> = map
            .into_iter()
            .map(|(key, value)| Some((key, of(value.as_f64().filter(|&n| n > 0.0)?))))
            .collect();
        let Some(entries) = entries else {
            self.wrong.push(format!("{name:?} has a value that is not a positive number"));
            return Patterns::default();
        };
        Patterns::new(entries).unwrap_or_else(|error| {
            self.wrong.push(format!("{name:?}: {error}"));
            Patterns::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_written() {
        let text = r#"{"peft_type": "LORA", "r": 4, "lora_alpha": 6, "use_rslora": true, "use_dora": true, "bias": "lora_only",
            "target_modules": ["q_proj", "k_proj"], "exclude_modules": "x.*", "layers_to_transform": 1, "layers_pattern": "h",
            "rank_pattern": {"q_proj": 2}, "alpha_pattern": {"k_proj": 1.5}, "modules_to_save": ["lm_head"],
            "init_lora_weights": "gaussian", "loftq_config": {}, "peft_version": "0.21.0", "use_qalora": false}"#;
        let config = AdapterConfig::parse(text).unwrap();
        let lora = &config.lora;
        assert_eq!((lora.rank, lora.alpha, lora.dora, lora.bias), (4, 6.0, true, Bias::LoraOnly));
        assert!(lora.adapts("m.h.1.q_proj", false) && !lora.adapts("m.h.0.q_proj", false));
        assert_eq!((lora.rank_of("h.1.q_proj"), lora.scale_of("h.1.k_proj")), (2, 0.75));
        assert_eq!(AdapterConfig::parse(&config.to_json()).unwrap(), config);
        let defaults = AdapterConfig::parse("{}").unwrap().lora;
        assert_eq!((defaults.rank, defaults.alpha), (8, 8.0), "PEFT's");
        let parameters = r#"{"target_modules": null, "target_parameters": ["experts.up", "q.weight"]}"#;
        assert_eq!(AdapterConfig::parse(parameters).unwrap().lora.targets, "experts.up,q".parse().unwrap());
    }

    #[test]
    fn unsupported_settings_are_reported() {
        let text = r#"{"peft_type": "LOHA", "r": 0, "lora_bias": true, "init_lora_weights": "pissa_niter_4",
            "layer_replication": [[0, 1]], "bias": "some", "rank_pattern": {"a(": 1}, "something_new": 3,
            "trainable_token_indices": [1], "use_dora": true, "target_parameters": ["w"]}"#;
        let error = AdapterConfig::parse(text).unwrap_err().to_string();
        for name in [
            "LOHA",
            "\"r\"",
            "lora_bias",
            "pissa_niter_4",
            "layer_replication",
            "\"bias\"",
            "rank_pattern",
            "something_new",
            "trainable_token_indices",
            "target_parameters",
        ] {
            assert!(error.contains(name), "{name}: {error}");
        }
        assert!(AdapterConfig::parse("[]").is_err() && AdapterConfig::parse("{").is_err());
    }
}
