//! Names of linear layers.

/// Last parts of weight names that only denote the weight and are not part of the layer's name.
const WEIGHTS: [&str; 3] = ["kernel", "weight", "w"];

/// Returns the name of a weight's layer: `params['layers'][0]['wq']['kernel']` belongs to `params.layers.0.wq`.
pub(super) fn module(weight: &str) -> String {
    let is_between = |c: char| matches!(c, '[' | ']' | '\'' | '"' | '.' | '/');
    let mut parts: Vec<&str> = weight.split(is_between).filter(|part| !part.is_empty()).collect();
    if let [_, .., last] = parts.as_slice()
        && WEIGHTS.contains(last)
    {
        parts.pop();
    }
    parts.join(".")
}

/// Returns whether names differ only in numbers, and are not just argument numbers.
pub(super) fn is_numbered_alike(a: &str, b: &str) -> bool {
    let letters = |name: &str| -> String { name.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let (a, b) = (letters(a), letters(b));
    a == b && a != "arg"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_weights() {
        assert_eq!(module("params['layers'][0]['wq']"), "params.layers.0.wq");
        assert_eq!(module("params['h']['attn']['kernel']"), "params.h.attn");
        assert_eq!(module("h.0.attn.c_attn.weight"), "h.0.attn.c_attn");
        assert_eq!(module("w"), "w");
        assert_eq!(module("arg3"), "arg3");
    }

    #[test]
    fn similar_layer_names() {
        assert!(is_numbered_alike("layers.0.wq", "layers.11.wq"));
        assert!(!is_numbered_alike("layers.0.wq", "layers.0.wk"));
        assert!(!is_numbered_alike("arg0", "arg1"), "no names at all");
    }
}
