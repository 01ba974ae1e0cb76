//! Counts the trained parameters of a model.

use std::fmt;

/// The number of parameters of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Trained parameters.
    pub trained: u64,
    /// All parameters; for 4-bit weights the number of dequantized elements.
    pub all: u64,
}

/// Formats the counts like PEFT: `trainable params: 8,388,608 || all params: 6,746,804,224 || trainable%: 0.1243`.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = 100.0 * self.trained as f64 / self.all.max(1) as f64;
        let (trained, all) = (grouped(self.trained), grouped(self.all));
        write!(f, "trainable params: {trained} || all params: {all} || trainable%: {share:.4}")
    }
}

/// Formats a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}
