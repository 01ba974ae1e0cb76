//! Values that are selected by the end of a module's name: PEFT's `rank_pattern` and `alpha_pattern`.

use fancy_regex::Regex;

use super::TargetsError;

/// Regular expressions for the end of a module's name, each with a value. The first expression that matches wins.
///
/// An expression matches if it covers the whole name, or everything after one of its dots (PEFT 0.21, `get_pattern_key`).
#[derive(Clone, Debug)]
pub struct Patterns<T>(Vec<(String, Regex, T)>);

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Patterns(Vec::new())
    }
}

impl<T: PartialEq> PartialEq for Patterns<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T> Patterns<T> {
    /// Compiles regular expressions, in the order in which they are tried.
    ///
    /// # Errors
    /// Returns an error if a text is not a regular expression.
    pub fn new(entries: impl IntoIterator<Item = (String, T)>) -> Result<Self, TargetsError> {
        let compile = |(text, value): (String, T)| {
            let regex = Regex::new(&format!(r"^(?:.*\.)?(?:{text})$"))
                .map_err(|error| TargetsError::Pattern(text.clone(), error.to_string()))?;
            Ok((text, regex, value))
        };
        Ok(Patterns(entries.into_iter().map(compile).collect::<Result<_, _>>()?))
    }

    /// Returns the value of the first expression that matches a module's name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(_, regex, _)| regex.is_match(name).unwrap_or(false)).map(|(_, _, value)| value)
    }

    /// Returns the expressions as written, and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(text, _, value)| (text.as_str(), value))
    }

    /// Returns whether there is no expression.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_on_the_end_of_a_name_wins() {
        let of = |entries: &[(&str, i64)]| {
            Patterns::new(entries.iter().map(|&(text, rank)| (text.to_owned(), rank))).unwrap()
        };
        let patterns =
            of(&[("q_proj", 1), (r"layers\.[01]\..*_proj", 2), ("^model.layers.9.x", 3), ("proj", 4)]);
        assert_eq!(patterns.get("model.layers.0.self_attn.q_proj"), Some(&1));
        assert_eq!(patterns.get("model.layers.1.self_attn.v_proj"), Some(&2));
        assert_eq!(
            patterns.get("model.layers.2.self_attn.v_proj"),
            None,
            "'proj' is no whole part of the name"
        );
        assert_eq!(patterns.get("model.layers.9.x"), Some(&3));
        assert_eq!(patterns.get("a.model.layers.9.x"), None);
        assert!(Patterns::new([("a(".to_owned(), 1)]).is_err());
    }
}
