//! The short form of settings: the words that `accelerate launch` and the Trainer's `--fsdp` accept.

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{DType, Diagnostic, Span};

use crate::settings::{Prefetch, Settings, Sharding};
use crate::units::Wrap;

/// The change that a word makes to the settings, unless the word is a strategy.
type Says = fn(&mut Settings);

const STRATEGIES: [(&str, Sharding); 7] = [
    ("full_shard", Sharding::FullShard),
    ("shard_grad_op", Sharding::ShardGradOp),
    ("no_shard", Sharding::NoShard),
    ("hybrid_shard", Sharding::HybridShard),
    ("hybrid_shard_zero2", Sharding::HybridShardZero2),
    ("zero1", Sharding::Zero1),
    ("ddp", Sharding::NoShard),
];

const OTHERS: [(&str, Says); 11] = [
    ("auto_wrap", |settings| settings.wrap = Some(Wrap::Layers)),
    ("always_wrap", |settings| settings.wrap = Some(Wrap::Always)),
    ("no_wrap", |settings| settings.wrap = Some(Wrap::Nothing)),
    ("min_num_params", |settings| settings.wrap = Some(Wrap::Size(Wrap::MIN_PARAMETERS))),
    ("backward_prefetch", |settings| settings.backward_prefetch = Prefetch::Pre),
    ("offload", |settings| settings.offload_params = true),
    ("bf16", |settings| settings.compute_dtype = Some(DType::BF16)),
    ("fp16", |settings| settings.compute_dtype = Some(DType::F16)),
    ("fp32_reduce_scatter", |settings| settings.fp32_reduce_scatter = true),
    ("sequence_parallel", |settings| settings.sequence_parallel = true),
    ("activation_checkpointing", |settings| settings.activation_checkpointing = true),
];

impl Settings {
    /// Parses `full_shard auto_wrap offload`: words separated by spaces or commas, case-insensitive. `min_num_params=1e6` sets the
    /// minimum number of parameters of a unit.
    ///
    /// # Errors
    /// Returns SH1201 for each unknown word, or if there are two strategies. All errors are reported at once.
    pub fn from_words(text: &str) -> Result<Settings, Vec<Diagnostic>> {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        let mut chosen: Option<&str> = None;
        let mut start = 0;
        for piece in text.split([' ', ',']) {
            let (at, word) = (start, piece.to_lowercase());
            start += piece.len() + 1;
            let refused = |message: String, hint: String| {
                let span = Span::new(at, at + piece.len().max(1));
                Diagnostic::invalid("SH1201", message).quoting("fsdp", text, span).hint(hint)
            };
            if word.is_empty() {
                continue;
            }
            if let Some(&(_, sharding)) = STRATEGIES.iter().find(|(known, _)| *known == word) {
                match chosen {
                    Some(before) => {
                        let message =
                            format!("'{piece}' conflicts with '{before}': only one strategy can be set");
                        errors.push(refused(message, "choose one".to_owned()));
                    }
                    None => (chosen, settings.sharding) = (Some(piece), sharding),
                }
            } else if let Some((_, says)) = OTHERS.iter().find(|(known, _)| *known == word) {
                says(&mut settings);
            } else if let Some(least) = word.strip_prefix("min_num_params=") {
                match least.parse::<f64>() {
                    Ok(least) if least >= 0.0 => settings.wrap = Some(Wrap::Size(least as u64)),
                    _ => errors.push(refused(
                        format!("min_num_params must be a number, got '{least}'"),
                        "for example 1e8".to_owned(),
                    )),
                }
            } else {
                let words = || STRATEGIES.iter().map(|(w, _)| *w).chain(OTHERS.iter().map(|(w, _)| *w));
                let all: Vec<&str> = words().collect();
                let hint = unknown_name_hint(&word, "the words", &all);
                errors.push(refused(format!("unknown setting '{piece}'"), hint));
            }
        }
        if errors.is_empty() { Ok(settings) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let settings = Settings::from_words("full_shard auto_wrap offload").unwrap();
        assert_eq!((settings.sharding, settings.offload_params), (Sharding::FullShard, true));
        assert_eq!(Settings::from_words("HYBRID_SHARD,auto_wrap").unwrap().sharding, Sharding::HybridShard);
        assert_eq!(Settings::from_words("").unwrap(), Settings::default());
        let settings = Settings::from_words("full_shard min_num_params=2e6 backward_prefetch bf16").unwrap();
        assert_eq!(settings.wrap, Some(Wrap::Size(2_000_000)));
        assert_eq!(settings.backward_prefetch, Prefetch::Pre);
        assert_eq!(settings.compute_dtype, Some(DType::BF16));
        assert!(Settings::from_words("min_num_params=many").is_err());
        let errors = Settings::from_words("ful_shard no_shard zero1").unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("did you mean full_shard"), "{texts:?}");
        assert!(texts[1].contains("only one strategy"), "{texts:?}");
    }
}
