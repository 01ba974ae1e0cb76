//! Suggestions for misspelt names: the "did you mean" of error messages.

/// The hint for messages that can refer to arguments only by number, because the program has no names for them.
pub const EXPORT_NAMES: &str = "the arguments of the program have no names; JAX writes them with \
                                `jax.jit(f).lower(...).as_text(debug_info=True)`";

/// The maximum length of a name with a suggestion, in characters: computing the edit distance takes quadratic time.
const MAX_NAME: usize = 64;

/// The edit distance between `a` and `b`: insertions, deletions, substitutions and transpositions of adjacent characters (optimal string
/// alignment).
#[must_use]
pub fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let change = last[j] + usize::from(x != y);
            let mut least = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// Returns the known name that was probably meant: the nearest name, if it differs only in case, or by one edit in names of three to seven
/// characters, or by at most two edits in longer names.
#[must_use]
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = name.chars().count();
    let allowed = match length {
        0..=2 => 0,
        3..=7 => 1,
        _ => 2,
    };
    if length > MAX_NAME {
        return None;
    }
    let lower = name.to_lowercase();
    known
        .into_iter()
        .filter(|known| *known != name && known.chars().count().abs_diff(length) <= allowed)
        .map(|known| (edit_distance(&known.to_lowercase(), &lower), known))
        .filter(|&(distance, _)| distance <= allowed)
        .min()
        .map(|(_, known)| known)
}

/// Returns the hint of an error about an unknown name: `did you mean model? the axes are data, model`. `what` is the plural noun for the
/// known names, with its article.
#[must_use]
pub fn unknown_name_hint(name: &str, what: &str, known: &[&str]) -> String {
    let list = match known {
        [] => format!("there are no {}", what.strip_prefix("the ").unwrap_or(what)),
        known => format!("{what} are {}", known.join(", ")),
    };
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? {list}"),
        None => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let cases = [
            ("", "abc", 3),
            ("model", "model", 0),
            ("modle", "model", 1),
            ("data", "date", 1),
            ("ca", "abc", 3),
        ];
        for (a, b, distance) in cases {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (distance, distance), "{a} {b}");
        }
    }

    #[test]
    fn short_names_are_not_guessed() {
        let near = |name: &str| nearest(name, ["model", "data", "x", "stablehlo.subtract"]);
        assert_eq!(near("modle"), Some("model"));
        assert_eq!(near("modl"), Some("model"));
        assert_eq!(near("date"), Some("data"));
        assert_eq!(near("y"), None);
        assert_eq!(near("X"), Some("x"));
        assert_eq!(near("data"), None, "a known name is not misspelt");
        assert_eq!(near("stablehlo.substract"), Some("stablehlo.subtract"));
        assert_eq!(near("Model"), Some("model"));
    }

    #[test]
    fn hints_list_the_known_names() {
        assert_eq!(
            unknown_name_hint("modle", "the axes", &["data", "model"]),
            "did you mean model? the axes are data, model"
        );
        assert_eq!(unknown_name_hint("q", "the axes", &["data"]), "the axes are data");
        assert_eq!(unknown_name_hint("q", "the axes", &[]), "there are no axes");
    }
}
