//! The short form of settings: the words that `accelerate launch` and the Trainer's `--fsdp` take.

use shardc_ir::{Diagnostic, Span};
use shardc_passes::annotations::names::edit_distance;

use crate::settings::{Settings, Sharding};

const WORDS: [&str; 9] = [
    "full_shard",
    "shard_grad_op",
    "no_shard",
    "hybrid_shard",
    "hybrid_shard_zero2",
    "zero1",
    "ddp",
    "auto_wrap",
    "offload",
];

impl Settings {
    /// Reads `full_shard auto_wrap offload`: words with blanks or commas between, in capitals or not.
    ///
    /// `auto_wrap` is taken and changes nothing: each parameter is gathered by itself, where it is used.
    ///
    /// # Errors
    /// A word is not known, or there are two strategies (SH1201); all at once.
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
            let sharding = match word.as_str() {
                "" | "auto_wrap" => continue,
                "offload" => {
                    settings.offload_params = true;
                    continue;
                }
                "full_shard" => Sharding::FullShard,
                "shard_grad_op" => Sharding::ShardGradOp,
                "no_shard" | "ddp" => Sharding::NoShard,
                "hybrid_shard" => Sharding::HybridShard,
                "hybrid_shard_zero2" => Sharding::HybridShardZero2,
                "zero1" => Sharding::Zero1,
                _ => {
                    let nearest = WORDS.into_iter().min_by_key(|known| edit_distance(known, &word));
                    let meant = nearest.filter(|known| edit_distance(known, &word) <= 3);
                    let meant = meant.map(|known| format!("did you mean {known}? ")).unwrap_or_default();
                    let hint = format!("{meant}the words are {}", WORDS.join(", "));
                    errors.push(refused(format!("'{piece}' is no word for a strategy"), hint));
                    continue;
                }
            };
            match chosen {
                Some(before) => {
                    let message = format!("'{piece}' is a second strategy, after '{before}'");
                    errors.push(refused(message, "name one".to_owned()));
                }
                None => (chosen, settings.sharding) = (Some(piece), sharding),
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
        let errors = Settings::from_words("ful_shard no_shard zero1").unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("did you mean full_shard"), "{texts:?}");
        assert!(texts[1].contains("second strategy"), "{texts:?}");
    }
}
