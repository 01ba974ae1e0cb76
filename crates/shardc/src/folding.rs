//! Folds names that differ only in numbers: `layers[0].w` and `layers[1].w` become `layers[0..1].w`.

use indexmap::IndexMap;

/// The longest number, in digits, that is folded.
const DIGITS: usize = 9;

/// Names, folded into one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folded {
    /// The text: a name, in which `a..b` stands for all numbers from `a` to `b`.
    pub(crate) text: String,
    /// The number of names.
    pub(crate) count: usize,
}

/// A range of numbers, both ends included.
type Range = (u64, u64);

/// Folds names; the results are in the order of the first name of each pattern.
pub(crate) fn fold<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<Folded> {
    let mut patterns: IndexMap<Vec<&str>, Vec<Vec<Range>>> = IndexMap::new();
    for name in names {
        let (texts, numbers) = split(name);
        patterns.entry(texts).or_default().push(numbers.into_iter().map(|n| (n, n)).collect());
    }
    let mut out = Vec::new();
    for (texts, mut rows) in patterns {
        for at in 0..texts.len() - 1 {
            rows = merged(rows, at);
        }
        out.extend(rows.iter().map(|row| Folded { text: joined(&texts, row), count: size(row) }));
    }
    out
}

/// The names that a folded text stands for; `None` if their number is not `count`.
pub(crate) fn unfold(text: &str, count: usize) -> Option<Vec<String>> {
    if count == 1 {
        return Some(vec![text.to_owned()]);
    }
    let (texts, numbers) = split(text);
    let (mut kept, mut ranges): (Vec<String>, Vec<Range>) = (vec![texts[0].to_owned()], Vec::new());
    for (&number, &text) in numbers.iter().zip(&texts[1..]) {
        match (ranges.last_mut(), kept.last().map(String::as_str)) {
            // The second number of a range.
            (Some(range), Some("..")) if range.0 == range.1 && number > range.0 => {
                range.1 = number;
                kept.pop();
                kept.push(text.to_owned());
            }
            _ => {
                ranges.push((number, number));
                kept.push(text.to_owned());
            }
        }
    }
    let all = ranges.iter().try_fold(1usize, |n, &(low, high)| {
        n.checked_mul(usize::try_from(high - low + 1).ok()?).filter(|&n| n <= count)
    });
    if all != Some(count) {
        return None;
    }
    let texts: Vec<&str> = kept.iter().map(String::as_str).collect();
    let mut rows: Vec<Vec<Range>> = vec![Vec::new()];
    for (low, high) in ranges {
        let extend = |row: Vec<Range>| {
            (low..=high).map(move |n| row.iter().copied().chain([(n, n)]).collect::<Vec<Range>>())
        };
        rows = rows.into_iter().flat_map(extend).collect();
    }
    Some(rows.iter().map(|row| joined(&texts, row)).collect())
}

/// A name with `*` instead of its numbers, as annotations select several tensors.
pub(crate) fn with_wildcards(name: &str) -> String {
    split(name).0.join("*")
}

/// A text without its numbers and the names of values (`%5`), to compare texts about different layers. Numbers in double quotes (mesh axes)
/// and numbers of dimensions and operands are kept.
pub(crate) fn without_numbers(text: &str) -> String {
    let text = without_values(text);
    let mut out = String::with_capacity(text.len());
    for (i, piece) in text.split('"').enumerate() {
        if i > 0 {
            out.push('"');
        }
        if i % 2 == 1 {
            out.push_str(piece);
            continue;
        }
        let (texts, numbers) = split(piece);
        out.push_str(texts[0]);
        for (number, next) in numbers.iter().zip(&texts[1..]) {
            match out.ends_with("dimension ") || out.ends_with("operand ") {
                true => out.push_str(&number.to_string()),
                false => out.push('#'),
            }
            out.push_str(next);
        }
    }
    out
}

fn without_values(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push('%');
        out.push_str(piece.trim_start_matches(|c: char| c.is_alphanumeric() || "_.$#-".contains(c)));
    }
    out
}

/// Splits a name at its numbers: the texts around them, one more than numbers. A number with leading zeros or many digits is text.
fn split(name: &str) -> (Vec<&str>, Vec<u64>) {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    let (mut start, mut at) = (0, 0);
    while let Some(begin) = name[at..].find(|c: char| c.is_ascii_digit()).map(|i| at + i) {
        let rest = &name[begin..];
        let end = begin + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = &name[begin..end];
        if digits.len() <= DIGITS
            && (digits == "0" || !digits.starts_with('0'))
            && let Ok(number) = digits.parse()
        {
            texts.push(&name[start..begin]);
            numbers.push(number);
            start = end;
        }
        at = end;
    }
    texts.push(&name[start..]);
    (texts, numbers)
}

/// Merges rows that are equal except for adjacent ranges at one position.
fn merged(rows: Vec<Vec<Range>>, at: usize) -> Vec<Vec<Range>> {
    let mut groups: IndexMap<Vec<Range>, Vec<Range>> = IndexMap::new();
    for mut row in rows {
        let range = std::mem::take(&mut row[at]);
        groups.entry(row).or_default().push(range);
    }
    let mut out = Vec::new();
    for (row, mut ranges) in groups {
        ranges.sort_unstable();
        let mut joined: Vec<Range> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if last.1 + 1 == range.0 => last.1 = range.1,
                _ => joined.push(range),
            }
        }
        out.extend(joined.into_iter().map(|range| {
            let mut row = row.clone();
            row[at] = range;
            row
        }));
    }
    out
}

fn joined(texts: &[&str], row: &[Range]) -> String {
    let mut out = texts.first().map_or_else(String::new, |text| (*text).to_owned());
    for (&(low, high), text) in row.iter().zip(texts.iter().skip(1)) {
        out.push_str(&low.to_string());
        if high > low {
            out.push_str("..");
            out.push_str(&high.to_string());
        }
        out.push_str(text);
    }
    out
}

fn size(row: &[Range]) -> usize {
    row.iter().map(|&(low, high)| (high - low + 1) as usize).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(names: &[&str]) -> Vec<(String, usize)> {
        fold(names.iter().copied()).into_iter().map(|f| (f.text, f.count)).collect()
    }

    #[test]
    fn consecutive_numbers_fold() {
        let names = ["p[0]['w1']", "p[1]['w1']", "p[2]['w1']", "x", "p[4]['w1']", "p[0]['b']", "p[1]['b']"];
        let expected = [("p[0..2]['w1']", 3), ("p[4]['w1']", 1), ("x", 1), ("p[0..1]['b']", 2)];
        assert_eq!(folded(&names), expected.map(|(text, count)| (text.to_owned(), count)));
    }

    #[test]
    fn several_positions_fold_and_unfold() {
        let names: Vec<String> = (0..3).flat_map(|i| (0..2).map(move |j| format!("s[{i}].w{j}"))).collect();
        let folded = fold(names.iter().map(String::as_str));
        assert_eq!(folded, [Folded { text: "s[0..2].w0..1".to_owned(), count: 6 }]);
        assert_eq!(unfold(&folded[0].text, 6).as_ref(), Some(&names));
        assert_eq!(unfold("s[0..2]", 2), None);
        assert_eq!(unfold("a..b", 1), Some(vec!["a..b".to_owned()]));
        assert_eq!(unfold("s[0..18446744073709551615]", 3), None);
    }

    #[test]
    fn names_that_do_not_fold_stay() {
        assert_eq!(folded(&["w007", "w008", "x", "x"]).len(), 4);
        assert_eq!(
            without_numbers("%arg7 dimension 2 has \"a1\" at line 30"),
            "% dimension 2 has \"a1\" at line #"
        );
    }

    #[test]
    fn numbers_become_wildcards() {
        assert_eq!(with_wildcards("params['layers'][12]['w2']"), "params['layers'][*]['w*']");
    }
}
