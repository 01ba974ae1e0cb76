//! Configuration files of Hugging Face's Trainer: `fsdp_config` alone, or the Trainer's arguments, which contain `fsdp` and
//! `fsdp_config`.

use saphyr::{MarkedYaml, YamlData};
use shardc_ir::DType;

use super::keys::{KEYS, Place};
use super::values::{truth, word};
use super::{Reader, sharding};

/// Returns Accelerate's name of a key of `fsdp_config`: the Trainer accepts keys with and without `fsdp_` (transformers 5.24).
pub(super) fn key(name: &str) -> String {
    let own = name.strip_prefix("fsdp_").unwrap_or(name);
    match own {
        "cpu_offload" => "fsdp_offload_params".to_owned(),
        own if own.starts_with("xla") => own.to_owned(),
        own => format!("fsdp_{own}"),
    }
}

impl Reader<'_> {
    /// Reads the keys of a file: Accelerate's, the Trainer's arguments, or the Trainer's `fsdp_config` alone.
    pub(super) fn root(&mut self, document: &MarkedYaml<'_>) {
        let YamlData::Mapping(pairs) = &document.data else { return self.keys(document, Place::Top) };
        let has = |name: &str| pairs.iter().any(|(key, _)| word(key).as_deref() == Some(name));
        let is_known =
            |place: Place, name: &str| KEYS.iter().any(|key| key.place == place && key.name == name);
        let names = || pairs.iter().filter_map(|(key, _)| word(key));
        let is_accelerates = has("distributed_type") || has("compute_environment") || has("num_processes");
        if !is_accelerates && has("fsdp") {
            self.is_trainer = true;
            return self.arguments(document);
        }
        let is_config = names().any(|name| is_known(Place::Fsdp, &key(&name)));
        if is_config
            && !names().any(|name| is_known(Place::Top, &name))
            && !names().any(|name| name == "fsdp")
        {
            self.is_trainer = true;
            self.fsdp = Some(self.span(document));
            // The Trainer's default policy wraps transformer layers.
            self.wrap = Some("TRANSFORMER_BASED_WRAP");
            return self.keys(document, Place::Fsdp);
        }
        self.keys(document, Place::Top);
    }

    /// Reads arguments of the Trainer, most of which do not affect partitioning.
    fn arguments(&mut self, document: &MarkedYaml<'_>) {
        let YamlData::Mapping(pairs) = &document.data else { return };
        self.wrap = Some("TRANSFORMER_BASED_WRAP");
        self.is_fsdp = false;
        for (key, value) in pairs {
            match word(key).as_deref() {
                Some("fsdp") => self.words(value),
                Some("fsdp_config") => {
                    self.fsdp = Some(self.span(key));
                    self.keys(value, Place::Fsdp);
                }
                Some("bf16") if truth(value) == Some(true) => self.computed_in(DType::BF16),
                Some("fp16") if truth(value) == Some(true) => self.computed_in(DType::F16),
                Some("gradient_checkpointing") => {
                    let settings = &mut self.out.settings;
                    settings.activation_checkpointing |= truth(value) == Some(true);
                    self.out.model.activation_checkpointing = settings.activation_checkpointing;
                }
                _ => {}
            }
        }
    }

    fn computed_in(&mut self, dtype: DType) {
        self.out.settings.compute_dtype = Some(dtype);
        self.out.model.compute_dtype = Some(dtype);
    }

    /// Reads `fsdp`: a boolean, words separated by spaces, or a list of words. In FSDP version 2, a strategy only determines whether
    /// parameters are resharded after the forward pass.
    fn words(&mut self, value: &MarkedYaml<'_>) {
        let words: Vec<String> = match &value.data {
            YamlData::Sequence(items) => items.iter().filter_map(word).collect(),
            _ => word(value).unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        };
        self.is_fsdp = !words.is_empty() && truth(value) != Some(false);
        for word in words {
            match word.to_lowercase().as_str() {
                "true" | "false" | "auto_wrap" => {}
                "offload" => self.out.settings.offload_params = true,
                name => match sharding(&name.to_uppercase()) {
                    Some(strategy) => self.sharding = Some((strategy, self.span(value))),
                    None => self
                        .wrong(value, format!("fsdp must be a strategy, offload or auto_wrap, got {name:?}")),
                },
            }
        }
    }
}
