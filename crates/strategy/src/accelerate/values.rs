//! Values of YAML nodes.

use saphyr::{MarkedYaml, Scalar, YamlData};

use crate::settings::Sharding;

/// Returns the text of a string, boolean or integer; `None` for other nodes.
pub(super) fn word(node: &MarkedYaml<'_>) -> Option<String> {
    match &node.data {
        YamlData::Value(Scalar::String(text)) => Some(text.to_string()),
        YamlData::Value(Scalar::Boolean(value)) => Some(value.to_string()),
        YamlData::Value(Scalar::Integer(value)) => Some(value.to_string()),
        _ => None,
    }
}

pub(super) fn truth(node: &MarkedYaml<'_>) -> Option<bool> {
    match word(node)?.to_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}

pub(super) fn count(node: &MarkedYaml<'_>) -> Option<u64> {
    word(node)?.parse().ok()
}

/// Returns whether a value means "off": null, false, a word for false, or an empty collection.
pub(super) fn is_off(node: &MarkedYaml<'_>) -> bool {
    match &node.data {
        YamlData::Value(Scalar::Null) => true,
        YamlData::Mapping(pairs) => pairs.is_empty(),
        YamlData::Sequence(items) => items.is_empty(),
        _ => word(node)
            .is_some_and(|word| matches!(word.to_lowercase().as_str(), "false" | "no" | "none" | "")),
    }
}

/// Returns the word that a value denotes, by itself or by its index (counted from one). YAML may have parsed `no` as a boolean.
pub(super) fn chosen(node: &MarkedYaml<'_>, words: &'static [&'static str]) -> Option<&'static str> {
    let text = word(node)?;
    let text = if text == "false" { "no" } else { &text };
    let named = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    let numbered = || words.get(text.parse::<usize>().ok()?.checked_sub(1)?);
    named.or_else(numbered).copied()
}

pub(super) fn sharding(word: &str) -> Option<Sharding> {
    Some(match word {
        "FULL_SHARD" => Sharding::FullShard,
        "SHARD_GRAD_OP" => Sharding::ShardGradOp,
        "NO_SHARD" => Sharding::NoShard,
        "HYBRID_SHARD" => Sharding::HybridShard,
        "HYBRID_SHARD_ZERO2" => Sharding::HybridShardZero2,
        _ => return None,
    })
}
