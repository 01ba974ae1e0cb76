//! The questions of `accelerate config` about FSDP, and the file that it writes from the answers.

use super::keys::{KEYS, Kind, Place};

/// A question about the value of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The key whose value is the answer.
    pub key: &'static str,
    /// The text of the question.
    pub text: &'static str,
    /// The value for an empty answer.
    pub default: &'static str,
    /// The key and answer of an earlier question, if it is only asked after that answer.
    only_after: Option<(&'static str, &'static str)>,
}

const fn ask(key: &'static str, text: &'static str, default: &'static str) -> Question {
    Question { key, text, default, only_after: None }
}

const QUESTIONS: [Question; 12] = [
    ask("num_machines", "How many machines are there?", "1"),
    ask("num_processes", "How many devices are there on all machines together?", "8"),
    ask("fsdp_sharding_strategy", "How is the model sharded?", "FULL_SHARD"),
    ask("fsdp_offload_params", "Are parameters and optimizer state offloaded to host memory?", "false"),
    ask("fsdp_auto_wrap_policy", "Which parameters are all-gathered together?", "TRANSFORMER_BASED_WRAP"),
    Question {
        only_after: Some(("fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP")),
        ..ask(
            "fsdp_transformer_layer_cls_to_wrap",
            "Which layer classes form units (separated by commas)?",
            "",
        )
    },
    Question {
        only_after: Some(("fsdp_auto_wrap_policy", "SIZE_BASED_WRAP")),
        ..ask("fsdp_min_num_params", "What is the minimum number of parameters of a unit?", "100000000")
    },
    ask("fsdp_backward_prefetch", "When does the backward pass all-gather the next unit?", "BACKWARD_PRE"),
    ask("fsdp_forward_prefetch", "Does the forward pass prefetch the next unit?", "false"),
    ask(
        "fsdp_activation_checkpointing",
        "Are units rematerialized in the backward pass (activation checkpointing)?",
        "false",
    ),
    ask("fsdp_state_dict_type", "How are checkpoints saved?", "SHARDED_STATE_DICT"),
    ask("mixed_precision", "In which type are matmuls computed?", "bf16"),
];

impl Question {
    /// Returns the possible answers; empty if there is no fixed list.
    #[must_use]
    pub fn choices(&self) -> &'static [&'static str] {
        match self.kind() {
            Kind::Word(words) => words,
            Kind::Bool => &["true", "false"],
            Kind::Count | Kind::Any | Kind::Keys => &[],
        }
    }

    /// Returns the value of an answer; a word may be given by its index, counted from one. `None` if the answer is invalid.
    #[must_use]
    pub fn value(&self, answer: &str) -> Option<String> {
        let answer = match answer.trim() {
            "" => self.default,
            answer => answer,
        };
        match self.kind() {
            Kind::Bool => match answer.to_lowercase().as_str() {
                "true" | "yes" | "y" => Some("true".to_owned()),
                "false" | "no" | "n" => Some("false".to_owned()),
                _ => None,
            },
            Kind::Word(words) => {
                let numbered = || words.get(answer.parse::<usize>().ok()?.checked_sub(1)?);
                let named = words.iter().find(|word| word.eq_ignore_ascii_case(answer));
                named.or_else(numbered).map(|word| (*word).to_owned())
            }
            Kind::Count => answer.parse::<u64>().ok().filter(|&n| n > 0).map(|n| n.to_string()),
            Kind::Any | Kind::Keys => {
                let is_name = |c: char| c.is_alphanumeric() || "_, ".contains(c);
                answer.chars().all(is_name).then(|| answer.to_owned())
            }
        }
    }

    fn kind(&self) -> Kind {
        KEYS.iter().find(|key| key.name == self.key).map_or(Kind::Any, |key| key.kind)
    }
}

/// Returns the next question after these answers, which are pairs of a key and its value; `None` after the last question.
#[must_use]
pub fn next_question(answers: &[(&'static str, String)]) -> Option<Question> {
    let is_answered = |question: &Question| answers.iter().any(|(key, _)| *key == question.key);
    let is_asked = |question: &Question| {
        let holds = |(key, value): (&str, &str)| answers.iter().any(|(k, v)| *k == key && v == value);
        question.only_after.is_none_or(holds)
    };
    QUESTIONS.into_iter().find(|question| is_asked(question) && !is_answered(question))
}

/// Returns the file for these answers, as `accelerate config` writes it; empty values are left out.
#[must_use]
pub fn config_text(answers: &[(&'static str, String)]) -> String {
    let mut text = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n".to_owned();
    let mut keys: Vec<(&str, &str)> = answers.iter().map(|(key, value)| (*key, value.as_str())).collect();
    keys.retain(|(_, value)| !value.is_empty());
    keys.sort_unstable();
    let place = |key: &str| KEYS.iter().find(|known| known.name == key).map(|known| known.place);
    let mut line = |indent: &str, key: &str, value: &str| {
        // YAML reads a bare `no` as a boolean.
        let value = if value == "no" { "'no'" } else { value };
        text.push_str(&format!("{indent}{key}: {value}\n"));
    };
    for (key, value) in keys.iter().filter(|(key, _)| place(key) == Some(Place::Fsdp)) {
        line("  ", key, value);
    }
    for (key, value) in keys.iter().filter(|(key, _)| place(key) == Some(Place::Top)) {
        line("", key, value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accelerate, Sharding};

    fn answered(answer: impl Fn(&Question) -> &'static str) -> Vec<(&'static str, String)> {
        let mut answers = Vec::new();
        while let Some(question) = next_question(&answers) {
            answers.push((question.key, question.value(answer(&question)).unwrap()));
        }
        answers
    }

    #[test]
    fn questions_have_keys_and_valid_defaults() {
        for question in QUESTIONS {
            assert!(KEYS.iter().any(|key| key.name == question.key), "{}", question.key);
            assert!(question.value("").is_some(), "{}", question.key);
        }
    }

    #[test]
    fn written_answers_round_trip() {
        let answers = answered(|question| match question.key {
            "num_machines" => "2",
            "num_processes" => "16",
            "fsdp_sharding_strategy" => "hybrid_shard",
            "fsdp_auto_wrap_policy" => "2",
            "fsdp_activation_checkpointing" => "y",
            "mixed_precision" => "no",
            _ => "",
        });
        let read = Accelerate::parse(&config_text(&answers)).unwrap();
        assert_eq!(read.mesh().as_deref(), Some("node=2,fsdp=8"));
        assert_eq!(read.settings.sharding, Sharding::HybridShard);
        assert!(read.model.activation_checkpointing && read.model.compute_dtype.is_none());
        assert!(read.warnings.iter().all(|warning| warning.code != "SH1212"), "{:?}", read.warnings);
        assert!(answers.contains(&("fsdp_min_num_params", "100000000".to_owned())));
        assert!(answers.iter().all(|(key, _)| *key != "fsdp_transformer_layer_cls_to_wrap"));
    }

    #[test]
    fn invalid_answers_have_no_value() {
        let question = |key: &str| QUESTIONS.into_iter().find(|question| question.key == key).unwrap();
        assert_eq!(question("num_processes").value("eight"), None);
        assert_eq!(question("num_processes").value("0"), None);
        assert_eq!(question("fsdp_sharding_strategy").value("6"), None);
        assert_eq!(question("fsdp_sharding_strategy").value("4").as_deref(), Some("HYBRID_SHARD"));
        assert_eq!(question("fsdp_offload_params").value("perhaps"), None);
        assert_eq!(question("fsdp_transformer_layer_cls_to_wrap").value("a: b"), None);
    }
}
