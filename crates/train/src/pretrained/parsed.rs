//! Parses PEFT's files and assigns each tensor to a module; unsupported tensors are an error.

use indexmap::IndexMap;
use shardc::Error;
use shardc::lora::AdapterConfig;
use shardc_ir::Diagnostic;
use shardc_nn::{Bias, Lora, Patterns, Targets};
use shardc_statedict::StateDict;

use super::files::AdapterFiles;
use super::names::{modules, prefix};
use super::{Family, parse};

/// The prefix of names in PEFT's files.
pub(super) const PREFIX: &str = "base_model.model.";

/// The kind of a tensor in an adapter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    A,
    B,
    /// The magnitude vector of DoRA.
    Magnitude,
}

impl Role {
    fn suffix(self) -> &'static str {
        match self {
            Role::A => ".lora_A.weight",
            Role::B => ".lora_B.weight",
            Role::Magnitude => ".lora_magnitude_vector",
        }
    }

    /// The name of a module's tensor, without [`PREFIX`].
    pub(super) fn tensor(self, module: &str) -> String {
        format!("{module}{}", self.suffix())
    }
}

/// The parsed files of an adapter.
pub(super) struct Parsed {
    pub(super) family: Family,
    /// The settings, with the names of the checkpoint.
    pub(super) config: Lora,
    /// The tensors by their names in the checkpoint, without PEFT's prefix and `base_layer` component.
    pub(super) tensors: StateDict,
    /// Whether tensor names have the prefix of the family.
    has_prefix: bool,
}

impl Parsed {
    /// Reads both files, and assigns each tensor to a module.
    ///
    /// # Errors
    /// The errors of [`AdapterFiles::lora`].
    pub(super) fn of(family: Family, files: &AdapterFiles) -> Result<Parsed, Error> {
        let config = AdapterConfig::parse(&files.config)?.lora;
        let mut tensors = StateDict::new();
        for (name, tensor) in parse(0, &files.weights)?.iter() {
            tensors.insert(plain(name), tensor.clone())?;
        }
        let has_prefix = tensors.iter().any(|(name, _)| name.starts_with(prefix(family)));
        let parsed = Parsed { family, config, tensors, has_prefix };
        let mut wrong: Vec<String> =
            parsed.tensors.iter().filter_map(|(name, _)| parsed.refused(name)).collect();
        for saved in &parsed.config.modules_to_save {
            if !parsed
                .tensors
                .iter()
                .any(|(name, _)| module_of(name).is_some_and(|module| saves(saved, module)))
            {
                wrong.push(format!("no tensor belongs to {saved:?} of modules_to_save"));
            }
            if family == Family::Gpt2 && saved == "wte" {
                wrong.push(
                    "modules_to_save \"wte\": the output of GPT-2 is tied to it, and PEFT unties it"
                        .to_owned(),
                );
            }
        }
        if wrong.is_empty() {
            return Ok(parsed);
        }
        let text = format!("unsupported adapters of {family:?}: {}", wrong.join("; "));
        Err(Diagnostic::unsupported("SH0726", text).into())
    }

    /// Whether a module's name has the family's prefix if and only if tensor names have the prefix. Heads are exempt, because their names
    /// never have the prefix.
    pub(super) fn is_prefixed(&self, module: &str) -> bool {
        let is_beside =
            modules(self.family, module).iter().any(|module| matches!(module.ours, "lm_head" | "head"));
        is_beside || module.starts_with(prefix(self.family)) == self.has_prefix
    }

    /// Returns the reason why a tensor is not supported, or `None` for a supported tensor.
    fn refused(&self, name: &str) -> Option<String> {
        if let Some(module) =
            [Role::A, Role::B, Role::Magnitude].iter().find_map(|role| name.strip_suffix(role.suffix()))
        {
            let is_known = !modules(self.family, module).is_empty();
            if is_known && self.config.adapts(module, false) {
                return None;
            }
            let why = if is_known {
                "adapter_config.json does not target it"
            } else {
                "the model has no such linear layer"
            };
            return Some(format!("{name:?} ({why})"));
        }
        let known = module_of(name).filter(|module| !modules(self.family, module).is_empty());
        let Some(module) = known else {
            return Some(format!("{name:?} (the model has no such parameter)"));
        };
        let is_saved = self.config.modules_to_save.iter().any(|saved| saves(saved, module));
        let is_bias = name.ends_with(".bias")
            && match self.config.bias {
                Bias::None => false,
                Bias::All => true,
                Bias::LoraOnly => self.config.adapts(module, false),
            };
        // PEFT also saves the base weights of embeddings and heads that have adapters.
        let is_base = self.config.adapts(module, false);
        (!is_saved && !is_bias && !is_base).then(|| format!("{name:?} (it is not in modules_to_save)"))
    }

    /// The settings with the names of shardc's model.
    ///
    /// # Errors
    /// A name cannot be written as a pattern.
    pub(super) fn lora(&self) -> Result<Lora, Error> {
        // For each linear layer of a stack, the highest rank among its layers, with the alpha of that layer.
        let mut maps: IndexMap<&'static str, (i64, f64)> = IndexMap::new();
        let mut saved: Vec<String> = Vec::new();
        for (name, _) in self.tensors.iter() {
            if let Some(module) = name.strip_suffix(Role::A.suffix()) {
                let rank = self.config.rank_of(module);
                let alpha = self.config.alpha_pattern.get(module).copied().unwrap_or(self.config.alpha);
                for ours in modules(self.family, module) {
                    let known = maps.entry(ours.ours).or_insert((rank, alpha));
                    if rank > known.0 {
                        *known = (rank, alpha);
                    }
                }
                continue;
            }
            let Some(module) = module_of(name) else { continue };
            if self.config.modules_to_save.iter().any(|of| saves(of, module)) {
                for ours in modules(self.family, module) {
                    if !saved.iter().any(|known| known == ours.ours) {
                        saved.push(ours.ours.to_owned());
                    }
                }
            }
        }
        let Lora { rank, alpha, dropout, rank_stabilized, dora, bias, .. } = self.config;
        let wrong = |error: shardc_strategy::TargetsError| Diagnostic::invalid("SH0726", error.to_string());
        let escaped = |name: &str| name.replace('.', r"\.");
        let ranks = maps.iter().filter(|(_, (r, _))| *r != rank).map(|(name, (r, _))| (escaped(name), *r));
        let alphas = maps.iter().filter(|(_, (_, a))| *a != alpha).map(|(name, (_, a))| (escaped(name), *a));
        Ok(Lora {
            rank,
            alpha,
            dropout,
            rank_stabilized,
            targets: Targets::Names(maps.keys().map(|&name| name.to_owned()).collect()),
            exclude: None,
            layers: None,
            rank_pattern: Patterns::new(ranks).map_err(wrong)?,
            alpha_pattern: Patterns::new(alphas).map_err(wrong)?,
            dora,
            modules_to_save: saved,
            bias,
        })
    }
}

/// A tensor name without the components that PEFT adds to the names of the base model.
fn plain(name: &str) -> String {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    for parameter in ["weight", "bias"] {
        if let Some(module) = name.strip_suffix(&format!(".base_layer.{parameter}")) {
            return format!("{module}.{parameter}");
        }
    }
    name.strip_suffix("_magnitude_vector.weight")
        .map_or(name.to_owned(), |name| format!("{name}_magnitude_vector"))
}

/// Returns the module of a tensor that is a parameter of the base model, or `None` for an adapter tensor.
fn module_of(name: &str) -> Option<&str> {
    let (module, parameter) = name.rsplit_once('.')?;
    let is_of_adapters = module.rsplit('.').next().is_some_and(|last| last.starts_with("lora_"));
    (matches!(parameter, "weight" | "bias") && !is_of_adapters).then_some(module)
}

/// Whether PEFT 0.21 saves a module because of an entry of `modules_to_save`: the name of the module, or of an enclosing module, ends with
/// the entry.
fn saves(saved: &str, module: &str) -> bool {
    let ends = module.match_indices('.').map(|(at, _)| at).chain([module.len()]);
    ends.into_iter().any(|end| module[..end].ends_with(saved))
}
