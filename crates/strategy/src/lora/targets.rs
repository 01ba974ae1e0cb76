//! Selects the linear layers that get adapters.

use std::fmt;
use std::str::FromStr;

use fancy_regex::Regex;

/// Which linear layers get adapters: PEFT's `target_modules`.
#[derive(Clone, Debug, Default)]
pub enum Targets {
    /// Every linear layer except the output: `all-linear`.
    #[default]
    AllLinear,
    /// Linear layers with these names, or with names that end in these parts: `q_proj,v_proj`.
    Names(Vec<String>),
    /// Linear layers whose whole name matches a regular expression.
    Pattern(Regex),
}

/// The error for a text that is not a target specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetsError {
    /// The text is empty.
    #[error("the list of targets is empty")]
    Empty,
    /// The text is not a regular expression.
    #[error("'{0}' is not a regular expression: {1}")]
    Pattern(String, String),
}

impl Targets {
    /// Returns whether these targets include the linear layer of this name, which has dots between its parts.
    #[must_use]
    pub fn has(&self, name: &str, is_output: bool) -> bool {
        match self {
            Targets::AllLinear => !is_output,
            Targets::Names(names) => names.iter().any(|target| ends_with(name, target)),
            Targets::Pattern(pattern) => pattern.is_match(name).unwrap_or(false),
        }
    }

    /// Selects the linear layers whose whole name matches a regular expression.
    ///
    /// # Errors
    /// Returns an error if the text is not a regular expression.
    pub fn pattern(text: &str) -> Result<Targets, TargetsError> {
        // A match must cover the whole name.
        let whole = Regex::new(&format!("^(?:{text})$"));
        whole.map(Targets::Pattern).map_err(|e| TargetsError::Pattern(text.to_owned(), e.to_string()))
    }

    /// Returns the targets that match none of these names of linear layers.
    #[must_use]
    pub fn unmatched(&self, names: &[&str]) -> Vec<String> {
        let is_unmatched = |target: &&String| !names.iter().any(|name| ends_with(name, target));
        match self {
            Targets::Names(targets) => targets.iter().filter(is_unmatched).cloned().collect(),
            _ if names.iter().any(|name| self.has(name, false)) => Vec::new(),
            _ => vec![self.to_string()],
        }
    }
}

/// Returns whether a name, with or without its slice (`h.down[0:32]`), equals `target` or ends in its parts.
fn ends_with(name: &str, target: &str) -> bool {
    let whole = name.split_once('[').map_or(name, |(whole, _)| whole);
    [name, whole].iter().any(|name| is_behind(name, target))
}

fn is_behind(name: &str, target: &str) -> bool {
    name.strip_suffix(target).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Parses `all-linear`, or names separated by commas; any other text is a regular expression.
impl FromStr for Targets {
    type Err = TargetsError;

    fn from_str(text: &str) -> Result<Targets, TargetsError> {
        let is_name =
            |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        match text.trim() {
            "" => Err(TargetsError::Empty),
            "all-linear" => Ok(Targets::AllLinear),
            text if text.split(',').all(|name| is_name(name.trim())) => {
                let names = text.split(',').map(|name| name.trim().to_owned());
                Ok(Targets::Names(names.filter(|name| !name.is_empty()).collect()))
            }
            text => Targets::pattern(text),
        }
    }
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Targets::AllLinear => f.write_str("all-linear"),
            Targets::Names(names) => f.write_str(&names.join(",")),
            Targets::Pattern(pattern) => {
                let text = pattern.as_str();
                f.write_str(text.strip_prefix("^(?:").and_then(|t| t.strip_suffix(")$")).unwrap_or(text))
            }
        }
    }
}

impl PartialEq for Targets {
    fn eq(&self, other: &Targets) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.to_string() == other.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_by_name_and_by_pattern() {
        let of = |text: &str| text.parse::<Targets>().unwrap();
        assert!(of("all-linear").has("h.mlp.up", false) && !of("all-linear").has("lm_head", true));
        let names = of("q_proj, attn.out");
        assert!(names.has("layers.0.q_proj", false) && names.has("q_proj", false));
        assert!(names.has("h.attn.out", false) && !names.has("h.attn.outer", false));
        assert!(!names.has("layers.0.xq_proj", false));
        assert!(names.has("h.attn.out[0:32]", false));
        assert_eq!(names.unmatched(&["h.q_proj"]), ["attn.out"]);
        let pattern = of(r"layers\.[0-3]\.(q|v)_proj");
        assert!(pattern.has("layers.3.v_proj", true) && !pattern.has("layers.4.v_proj", false));
        assert!(!pattern.has("model.layers.3.v_proj", false), "the whole name");
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
        assert!("a|b(".parse::<Targets>().is_err() && "".parse::<Targets>().is_err());
        assert!(of("a|ab").has("ab", false));
    }
}
