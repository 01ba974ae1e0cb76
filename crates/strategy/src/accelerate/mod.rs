//! Parses Accelerate's YAML, as written by `accelerate config` and read by `accelerate launch`, into settings.
//!
//! No key is ignored silently. Unknown keys are reported as warnings, and so are keys without an effect, grouped by reason. An invalid
//! value is an error at its line. All errors of a file are reported at once.

mod keys;
mod parallelism;
mod questions;
mod settle;
mod torchtitan;
mod trainer;
mod values;

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use shardc_ir::suggest::edit_distance;
use shardc_ir::{Class, DType, Diagnostic, Severity, Span};

use crate::settings::{Prefetch, Settings, Sharding};
use keys::{Effect, KEYS, Key, Kind, PREFETCH, Place, STRATEGIES, WRAP};
use parallelism::Sizes;
pub use questions::{Question, config_text, next_question};
use values::{chosen, count, is_off, sharding, truth, word};

/// The contents of a configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accelerate {
    /// The strategy of the step.
    pub settings: Settings,
    /// The number of devices (`num_processes`), if given.
    pub devices: Option<u64>,
    /// The number of nodes (`num_machines`), if given.
    pub nodes: Option<u64>,
    /// Settings that the model must implement.
    pub model: ModelSettings,
    /// Unknown keys and keys without effect, with the reasons.
    pub warnings: Vec<Diagnostic>,
    /// The mesh that `parallelism_config` or `[parallelism]` describes, if any, such as `fsdp=4,tp=2`.
    parallel: Option<String>,
}

/// Settings that the model has to implement, as opposed to settings about partitioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// The compute type of layers; parameters keep their type.
    pub compute_dtype: Option<DType>,
    /// Whether each layer is rematerialized in the backward pass.
    pub activation_checkpointing: bool,
}

impl Accelerate {
    /// Parses a configuration file: Accelerate's YAML or JSON, `fsdp_config` of Hugging Face's Trainer, the Trainer's arguments as
    /// JSON, or torchtitan's TOML.
    ///
    /// # Errors
    /// Returns SH1210 if the text is not valid YAML or TOML, and SH1211 for each invalid value. All errors are reported at once, followed
    /// by the warnings.
    pub fn parse(text: &str) -> Result<Accelerate, Vec<Diagnostic>> {
        if torchtitan::is_it(text) {
            return torchtitan::parse(text);
        }
        let documents = MarkedYaml::load_from_str(text).map_err(|error| {
            let at = byte(text, error.marker().index());
            vec![
                Diagnostic::invalid("SH1210", format!("the text is not YAML: {}", error.info()))
                    .at(Span::new(at, at + 1)),
            ]
        })?;
        let mut reader = Reader {
            text,
            out: Accelerate::default(),
            errors: Vec::new(),
            idle: Vec::new(),
            is_fsdp: true,
            is_deepspeed: false,
            is_trainer: false,
            version: None,
            sharding: None,
            reshard: None,
            wrap: None,
            min_parameters: None,
            fsdp: None,
            sizes: None,
            zero: Zero::default(),
        };
        match documents.first() {
            Some(document) => reader.root(document),
            None => return Ok(reader.out),
        }
        if let Some(another) = documents.get(1) {
            reader.idle("further documents after ---", reader.span(another), ANOTHER_DOCUMENT);
        }
        reader.settle();
        if reader.errors.is_empty() {
            return Ok(reader.out);
        }
        // The warnings may explain the errors.
        Err(reader.errors.into_iter().chain(reader.out.warnings).collect())
    }

    /// Returns the warnings that `--strict` turns into errors: about unknown keys, and about ignored settings that would change
    /// computation, communication or memory.
    #[must_use]
    pub fn ignored(&self) -> Vec<Diagnostic> {
        let is_ignored = |warning: &&Diagnostic| matches!(warning.code, "SH1212" | "SH1214");
        let as_error = |warning: &Diagnostic| Diagnostic { severity: Severity::Error, ..warning.clone() };
        self.warnings.iter().filter(is_ignored).map(as_error).collect()
    }

    /// Returns the mesh of the file's devices: `fsdp=8`, `node=2,fsdp=4` for a hybrid strategy on two machines, or the sizes of parallel
    /// dimensions. A hybrid strategy on one machine has `node=1`: it shards over all devices, as in PyTorch.
    #[must_use]
    pub fn mesh(&self) -> Option<String> {
        if let Some(mesh) = &self.parallel {
            return Some(mesh.clone());
        }
        let (devices, nodes) = (self.devices?, self.nodes.unwrap_or(1).max(1));
        let is_hybrid = matches!(self.settings.sharding, Sharding::HybridShard | Sharding::HybridShardZero2);
        Some(match is_hybrid && devices % nodes == 0 {
            true => format!("node={nodes},fsdp={}", devices / nodes),
            false => format!("fsdp={devices}"),
        })
    }
}

/// Keys that have no effect for the same reason.
struct Idle {
    code: &'static str,
    reason: &'static str,
    keys: Vec<(&'static str, Span)>,
}

struct Reader<'t> {
    text: &'t str,
    out: Accelerate,
    errors: Vec<Diagnostic>,
    /// The keys without an effect, grouped by reason.
    idle: Vec<Idle>,
    is_fsdp: bool,
    is_deepspeed: bool,
    /// Whether the file is from Hugging Face's Trainer.
    is_trainer: bool,
    /// The value of `fsdp_version`, if given.
    version: Option<u64>,
    /// The value of `fsdp_sharding_strategy`, if given, and its position.
    sharding: Option<(Sharding, Span)>,
    /// The value of `fsdp_reshard_after_forward` as written, if given, and its position.
    reshard: Option<(String, Span)>,
    wrap: Option<&'static str>,
    min_parameters: Option<(u64, Span)>,
    /// The position of `fsdp_config`.
    fsdp: Option<Span>,
    /// The sizes in `parallelism_config`, if given, and the position of the section.
    sizes: Option<(Sizes, Span)>,
    zero: Zero,
}

/// DeepSpeed's settings.
#[derive(Default)]
struct Zero {
    stage: Option<(u64, Span)>,
    /// The positions of the keys that offload parameters and optimizer state, if they are offloaded.
    parameters: Option<Span>,
    optimizer: Option<Span>,
}

/// The reason why FSDP keys have no effect in this file.
const NOT_FSDP: &str = "distributed_type is not FSDP, so each device has a replica of the model; set it to FSDP to shard the model";
const NOT_BY_SIZE: &str =
    "a minimum unit size has an effect only with fsdp_auto_wrap_policy: SIZE_BASED_WRAP";
const NOT_IN_EIGHT_BITS: &str = "8-bit matmuls need scales, which shardc does not add: the types of the step are unchanged; bf16 and \
                                 fp16 are supported";
const ANOTHER_DOCUMENT: &str = "only the first document of the file is read";

impl Reader<'_> {
    fn keys(&mut self, node: &MarkedYaml<'_>, place: Place) {
        let YamlData::Mapping(pairs) = &node.data else {
            // A key without a value, such as `fsdp_config:`, is allowed.
            if !matches!(node.data, YamlData::Value(Scalar::Null)) {
                self.wrong(node, "expected a mapping of keys to values".to_owned());
            }
            return;
        };
        for (key, value) in pairs {
            let Some(name) = word(key) else {
                self.wrong(key, "a key must be a string".to_owned());
                continue;
            };
            let name = if self.is_trainer && place == Place::Fsdp { trainer::key(&name) } else { name };
            match KEYS.iter().find(|known| known.place == place && known.name == name) {
                Some(known) => self.value(known, key, value),
                None => self.unknown(&name, key, place),
            }
        }
    }

    fn unknown(&mut self, name: &str, key: &MarkedYaml<'_>, place: Place) {
        let here = KEYS.iter().filter(|known| known.place == place);
        let nearest = here.min_by_key(|known| edit_distance(known.name, name));
        let elsewhere = KEYS.iter().find(|known| known.name == name);
        let hint = match (elsewhere, nearest) {
            (Some(known), _) => format!("the key belongs {}", where_is(known.place)),
            (None, Some(known)) => format!("the nearest key is {}", known.name),
            (None, None) => String::new(),
        };
        let message = format!("unknown key '{name}' {}", where_is(place));
        let warning = Diagnostic::warning(Class::InvalidInput, "SH1212", message);
        self.out.warnings.push(warning.at(self.span(key)).hint(hint));
    }

    fn value(&mut self, key: &Key, at: &MarkedYaml<'_>, value: &MarkedYaml<'_>) {
        let is_right = match key.kind {
            Kind::Bool => truth(value).is_some(),
            Kind::Count => count(value).is_some(),
            Kind::Word(words) => chosen(value, words).is_some(),
            Kind::Any => true,
            Kind::Keys => {
                let has_keys = matches!(&value.data, YamlData::Mapping(pairs) if !pairs.is_empty());
                let span = self.span(at);
                let place = match key.name {
                    "parallelism_config" => {
                        self.sizes = has_keys.then(|| (Sizes::default(), span));
                        Place::Parallelism
                    }
                    "deepspeed_config" => Place::DeepSpeed,
                    "fsdp_config" => {
                        self.fsdp = has_keys.then_some(span);
                        Place::Fsdp
                    }
                    _ => Place::Xla,
                };
                return self.keys(value, place);
            }
        };
        if !is_right {
            let wanted = match key.kind {
                Kind::Bool => "true or false".to_owned(),
                Kind::Count => "a non-negative integer".to_owned(),
                Kind::Word(words) => format!("one of {}", words.join(", ")),
                Kind::Any | Kind::Keys => String::new(),
            };
            return self.wrong(value, format!("{} must be {wanted}", key.name));
        }
        match key.effect {
            Effect::Done => self.apply(key, at, value),
            Effect::Nothing(reason) if !is_off(value) => self.idle(key.name, self.span(at), reason),
            Effect::Ignored(reason) if !is_off(value) && word(value).as_deref() != Some("1") => {
                self.ignored(key.name, self.span(at), reason);
            }
            Effect::Nothing(_) | Effect::Ignored(_) | Effect::Elsewhere => {}
        }
    }

    /// Records a key that has no effect.
    fn idle(&mut self, name: &'static str, at: Span, reason: &'static str) {
        self.without_effect("SH1213", name, at, reason);
    }

    /// Records a key that is not supported although the setting would change computation, communication or memory.
    fn ignored(&mut self, name: &'static str, at: Span, reason: &'static str) {
        self.without_effect("SH1214", name, at, reason);
    }

    fn without_effect(&mut self, code: &'static str, name: &'static str, at: Span, reason: &'static str) {
        match self.idle.iter_mut().find(|idle| idle.reason == reason) {
            Some(idle) => idle.keys.push((name, at)),
            None => self.idle.push(Idle { code, reason, keys: vec![(name, at)] }),
        }
    }

    fn apply(&mut self, key: &Key, at: &MarkedYaml<'_>, value: &MarkedYaml<'_>) {
        let span = self.span(at);
        let strategy = |value| chosen(value, STRATEGIES).and_then(sharding);
        let settings = &mut self.out.settings;
        match key.name {
            "distributed_type" => {
                // PyTorch/XLA enables its FSDP wrapper in `fsdp_config`, so the distributed types XLA and TPU may also use FSDP.
                self.is_fsdp =
                    word(value).is_some_and(|w| ["FSDP", "XLA", "TPU"].contains(&w.to_uppercase().as_str()));
                self.is_deepspeed = word(value).is_some_and(|w| w.eq_ignore_ascii_case("DEEPSPEED"));
            }
            "num_processes" => self.out.devices = count(value),
            "num_machines" => self.out.nodes = count(value),
            "fsdp_offload_params" => settings.offload_params = truth(value).unwrap_or(false),
            "fsdp_version" => self.version = count(value),
            "fsdp_sharding_strategy" => self.sharding = strategy(value).map(|sharding| (sharding, span)),
            // The meaning of the key depends on `fsdp_version`, which may follow in the file.
            "fsdp_reshard_after_forward" => self.reshard = word(value).map(|word| (word, self.span(value))),
            "zero_stage" => self.zero.stage = count(value).map(|stage| (stage, span)),
            "offload_param_device" if !is_off(value) => self.zero.parameters = Some(span),
            "offload_optimizer_device" if !is_off(value) => self.zero.optimizer = Some(span),
            name if key.place == Place::Parallelism => {
                let (sizes, _) = self.sizes.get_or_insert((Sizes::default(), span));
                let size = match name {
                    "parallelism_config_dp_replicate_size" => &mut sizes.replicate,
                    "parallelism_config_dp_shard_size" => &mut sizes.shard,
                    "parallelism_config_ep_size" => &mut sizes.expert,
                    "parallelism_config_cp_size" => &mut sizes.context,
                    "parallelism_config_sp_size" => &mut sizes.sequence,
                    _ => &mut sizes.tensor,
                };
                *size = count(value).unwrap_or(1);
            }
            "mixed_precision" | "compute_dtype" => {
                let dtype = word(value).and_then(|word| match word.to_lowercase().as_str() {
                    "bf16" | "bfloat16" => Some(DType::BF16),
                    "fp16" | "float16" => Some(DType::F16),
                    _ => None,
                });
                (settings.compute_dtype, self.out.model.compute_dtype) = (dtype, dtype);
                if word(value).is_some_and(|word| word.eq_ignore_ascii_case("fp8")) {
                    self.ignored("mixed_precision: fp8", span, NOT_IN_EIGHT_BITS);
                }
            }
            "fp32_reduce_scatter" => settings.fp32_reduce_scatter = truth(value).unwrap_or(false),
            "fsdp_auto_wrap_policy" => self.wrap = chosen(value, WRAP),
            "fsdp_min_num_params" | "min_num_param" => {
                self.min_parameters = count(value).map(|n| (n, span));
            }
            "fsdp_backward_prefetch" | "fsdp_backward_prefetch_policy" => {
                let is_early = chosen(value, PREFETCH) == Some("BACKWARD_PRE");
                settings.backward_prefetch = if is_early { Prefetch::Pre } else { Prefetch::Post };
            }
            "disable_reshard_on_root" => settings.reshard_root = truth(value) == Some(false),
            "reduce_scatter_bucket_size_mb" => settings.bucket_bytes = count(value).map(|mb| mb << 20),
            "fsdp_activation_checkpointing" | "xla_fsdp_grad_ckpt" => {
                settings.activation_checkpointing |= truth(value).unwrap_or(false);
                self.out.model.activation_checkpointing = settings.activation_checkpointing;
            }
            "reshard_after_forward" => settings.reshard_after_forward = truth(value),
            "shard_param_on_dim_0" => settings.shard_param_on_dim_0 = truth(value).unwrap_or(false),
            _ => {}
        }
    }

    fn wrong(&mut self, at: &MarkedYaml<'_>, message: String) {
        let error = Diagnostic::invalid("SH1211", message).at(self.span(at));
        self.errors.push(error);
    }

    fn span(&self, node: &MarkedYaml<'_>) -> Span {
        let [start, end] = [node.span.start, node.span.end].map(|mark| byte(self.text, mark.index()));
        Span::new(start, end.max(start + 1))
    }
}

/// Returns the byte offset of the character with index `character`; the length of the text if there is none.
fn byte(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

fn where_is(place: Place) -> &'static str {
    match place {
        Place::Top => "at the top level",
        Place::Fsdp => "under fsdp_config",
        Place::Xla => "under xla_fsdp_settings",
        Place::Parallelism => "under parallelism_config",
        Place::DeepSpeed => "under deepspeed_config",
    }
}

#[cfg(test)]
mod tests;
