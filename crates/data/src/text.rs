//! Character-level tokenization.

use std::collections::BTreeMap;

/// A vocabulary of the distinct characters of a text, in sorted order. Each character is a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Characters {
    characters: Vec<char>,
    tokens: BTreeMap<char, i32>,
}

impl Characters {
    /// Creates a vocabulary from the characters of a text.
    #[must_use]
    pub fn of(text: &str) -> Characters {
        let tokens: BTreeMap<char, i32> = text.chars().map(|c| (c, 0)).collect();
        let characters: Vec<char> = tokens.into_keys().collect();
        let tokens = characters.iter().enumerate().map(|(i, &c)| (c, i as i32)).collect();
        Characters { characters, tokens }
    }

    /// Returns the number of characters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.characters.len()
    }

    /// Returns whether the vocabulary is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.characters.is_empty()
    }

    /// Encodes a text as tokens; unknown characters are dropped.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<i32> {
        text.chars().filter_map(|c| self.tokens.get(&c).copied()).collect()
    }

    /// Decodes tokens to a text; invalid tokens are dropped.
    #[must_use]
    pub fn decode(&self, tokens: &[i32]) -> String {
        let character = |&token: &i32| self.characters.get(usize::try_from(token).ok()?);
        tokens.iter().filter_map(character).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        let text = "the cat sat";
        let characters = Characters::of(text);
        assert_eq!(characters.len(), 7);
        assert_eq!(characters.decode(&characters.encode(text)), text);
        assert_eq!(characters.encode("zz"), []);
        assert_eq!(characters.decode(&[-1, 99]), "");
    }
}
