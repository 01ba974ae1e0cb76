//! Corruption of programs as text.
//!
//! *Gentle* changes are likely to produce a valid program: a size changed at all of its occurrences, another operation of the same kind,
//! another axis in a sharding. *Rough* changes rarely produce a valid program. The parser gets both kinds of changes; later passes get only
//! gentle changes.

use std::ops::Range;

use super::rng::Rng;

/// Edge-case numbers.
pub(crate) const EDGES: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "3",
    "5",
    "7",
    "64",
    "127",
    "255",
    "256",
    "65535",
    "65536",
    "1048576",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "72057594037927935",
    "72057594037927936",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "99999999999999",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
];

const TYPES: &[&str] = &[
    "f32",
    "f64",
    "bf16",
    "f16",
    "i1",
    "i8",
    "i32",
    "i64",
    "ui8",
    "ui32",
    "i4",
    "ui4",
    "i2",
    "f8E4M3FN",
    "f8E5M2",
    "f4E2M1FN",
    "complex<f32>",
    "complex<f64>",
    "tf32",
    "i16",
    "ui64",
    "index",
    "none",
    "!quant.uniform<i8:f32, 5.000000e-01>",
    "!stablehlo.token",
];

/// Groups of interchangeable operations.
const ALIKE: &[&[&str]] = &[
    &[
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "power",
        "remainder",
        "and",
        "or",
        "xor",
        "atan2",
        "shift_left",
    ],
    &[
        "negate",
        "abs",
        "exponential",
        "tanh",
        "log",
        "sqrt",
        "rsqrt",
        "sine",
        "floor",
        "sign",
        "not",
        "cbrt",
        "optimization_barrier",
        "popcnt",
        "is_finite",
        "convert",
    ],
    &[
        "all_gather",
        "all_to_all",
        "reduce_scatter",
        "all_reduce",
        "collective_broadcast",
        "collective_permute",
    ],
    &["reshape", "convert", "bitcast_convert", "broadcast_in_dim", "transpose", "reverse", "slice"],
    &["dynamic_slice", "dynamic_update_slice", "gather", "scatter", "dynamic_gather", "pad", "concatenate"],
    &["while", "case", "if", "reduce", "reduce_window", "sort", "map", "select_and_scatter"],
];

type Mutator = fn(&str, &mut Rng) -> Option<String>;

const GENTLE: &[Mutator] = &[
    size_everywhere,
    size_everywhere,
    type_everywhere,
    axis,
    axis,
    sharding,
    sharding,
    annotate,
    operation,
    operation,
    operand,
    operand,
    one_number_near,
    one_number_near,
    line_again,
    mesh_size,
];

const ROUGH: &[Mutator] = &[
    bytes,
    token_gone,
    token_twice,
    token_elsewhere,
    token_elsewhere,
    one_number,
    one_number,
    one_type,
    line_gone,
    line_moved,
    cut,
    nested,
    inner_gone,
    inner_exchanged,
];

/// Applies one gentle change; returns the unchanged text if none applies.
pub(crate) fn gentle(text: &str, rng: &mut Rng) -> String {
    one_of(GENTLE, text, rng)
}

/// Applies one rough change; returns the unchanged text if none applies.
pub(crate) fn rough(text: &str, rng: &mut Rng) -> String {
    one_of(ROUGH, text, rng)
}

fn one_of(mutators: &[Mutator], text: &str, rng: &mut Rng) -> String {
    (0..4).find_map(|_| rng.of(mutators)(text, rng)).unwrap_or_else(|| text.to_owned())
}

/// The start of one program followed by the end of another.
pub(crate) fn spliced(a: &str, b: &str, rng: &mut Rng) -> String {
    let (head, tail): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let (upto, from) = (rng.below(head.len() + 1), rng.below(tail.len() + 1));
    let mut out = String::new();
    for line in head[..upto].iter().chain(&tail[from..]) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// Ranges of numbers: separate words, and sizes in types.
pub(crate) fn numbers(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = bytes[at..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| at + n);
        let before = |n: usize| at.checked_sub(n).map_or(b' ', |i| bytes[i]);
        let is_size = before(1) == b'x' && (before(2).is_ascii_digit() || before(2) == b'?');
        let is_word =
            !before(1).is_ascii_alphanumeric() && !matches!(before(1), b'_' | b'%' | b'@' | b'#' | b'.');
        if is_size || is_word {
            out.push(at..end);
        }
        at = end;
    }
    out
}

/// Splits a text into words, numbers, strings, whitespace and single characters.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let same = |c: char| match first {
            'a'..='z' | 'A'..='Z' | '_' | '%' | '@' | '#' | '!' => {
                c.is_alphanumeric() || matches!(c, '_' | '.' | '$')
            }
            '0'..='9' => c.is_ascii_digit(),
            ' ' | '\n' => c == first,
            _ => false,
        };
        let mut rest = text[at..].char_indices().skip(1);
        let end = rest.find(|&(_, c)| !same(c)).map_or(text.len(), |(n, _)| at + n);
        out.push(at..end);
        at = end;
    }
    out
}

/// The tokens of a text, without whitespace.
fn solid(text: &str) -> Vec<Range<usize>> {
    tokens(text).into_iter().filter(|t| !text[t.clone()].trim().is_empty()).collect()
}

fn some(places: &[Range<usize>], rng: &mut Rng) -> Option<Range<usize>> {
    (!places.is_empty()).then(|| places[rng.below(places.len())].clone())
}

fn all_of(text: &str, word: &str) -> Vec<Range<usize>> {
    text.match_indices(word).map(|(at, found)| at..at + found.len()).collect()
}

fn everywhere(text: &str, places: &[Range<usize>], with: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for place in places {
        out.push_str(&text[at..place.start]);
        out.push_str(with);
        at = place.end;
    }
    out + &text[at..]
}

// Gentle changes.

fn size_everywhere(text: &str, rng: &mut Rng) -> Option<String> {
    let places = numbers(text);
    let old = &text[some(&places, rng)?];
    let new = near(old, rng);
    let same: Vec<_> = places.into_iter().filter(|p| text[p.clone()] == *old).collect();
    Some(everywhere(text, &same, &new))
}

/// Draws a number that is usually near the old number.
fn near(old: &str, rng: &mut Rng) -> String {
    let Ok(n) = old.parse::<i128>() else { return rng.of(EDGES).to_owned() };
    match rng.below(8) {
        0 => (n + 1).to_string(),
        1 => (n - 1).max(0).to_string(),
        2 => (n * 2).to_string(),
        3 => (n / 2).to_string(),
        4 => rng.of(&[1, 2, 3, 4, 5, 6, 7, 8, 12, 16]).to_string(),
        5 => "1".to_owned(),
        6 => "0".to_owned(),
        _ if rng.one_in(3) => rng.of(EDGES).to_owned(),
        _ => (n * 3 + 1).to_string(),
    }
}

/// The ranges at which a type is the element type of tensors.
fn places_of_type(text: &str, ty: &str) -> Vec<Range<usize>> {
    let follows = |p: &Range<usize>| text[p.end..].starts_with(['>', ',', ' ', ')', '\n']);
    let leads = |p: &Range<usize>| text[..p.start].ends_with(['x', '<', ' ', '(']);
    all_of(text, ty).into_iter().filter(|p| follows(p) && leads(p)).collect()
}

fn type_everywhere(text: &str, rng: &mut Rng) -> Option<String> {
    let present: Vec<&str> =
        TYPES.iter().copied().filter(|ty| !places_of_type(text, ty).is_empty()).collect();
    let old = *present.get(rng.below(present.len()))?;
    Some(everywhere(text, &places_of_type(text, old), rng.of(TYPES)))
}

/// The axes of the meshes in a text.
pub(crate) fn axes(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| line.contains("sdy.mesh")) {
        for (at, _) in line.match_indices("\"=") {
            if let Some(from) = line[..at].rfind('"') {
                names.push(&line[from + 1..at]);
            }
        }
    }
    names
}

fn axis(text: &str, rng: &mut Rng) -> Option<String> {
    let names = axes(text);
    let old = *names.get(rng.below(names.len()))?;
    let places = all_of(text, &format!("\"{old}\""));
    let place = some(&places, rng)?;
    let new = names[rng.below(names.len())];
    let with = match rng.below(8) {
        0 => format!("\"{new}\":(1)2"),
        1 => format!("\"{new}\":(2)2"),
        2 => format!("\"{new}\", \"{old}\""),
        3 => "?".to_owned(),
        4 => String::new(),
        _ => format!("\"{new}\""),
    };
    Some(replaced(text, place, &with))
}

fn sharding(text: &str, rng: &mut Rng) -> Option<String> {
    let names = axes(text);
    let name = *names.get(rng.below(names.len()))?;
    match rng.below(4) {
        // Replaces the axes of one dimension.
        0 | 1 => {
            let places: Vec<_> = ["{}", "{?}"].into_iter().flat_map(|word| all_of(text, word)).collect();
            let place = some(&places, rng)?;
            let with = rng.of(&["{\"A\"}", "{\"A\", ?}", "{\"A\"}p1", "{?}", "{}", "{\"A\":(1)2}", "{?}p0"]);
            Some(replaced(text, place, &with.replace('A', name)))
        }
        2 => {
            let place = some(&all_of(text, "]>"), rng)?;
            let with = rng.of(&[
                "], replicated={\"A\"}>",
                "], unreduced={\"A\"}>",
                "], replicated={\"A\":(1)2}>",
                "], unreduced={\"A\":(1)2}>",
            ]);
            Some(replaced(text, place, &with.replace('A', name)))
        }
        _ => {
            // Replaces an entire sharding by another sharding.
            let all = all_of(text, "<@mesh, [");
            let (from, to) = (some(&all, rng)?, some(&all, rng)?);
            let end = |p: &Range<usize>| {
                Some(p.start + text[p.start..].find(">}").or(text[p.start..].find('>'))? + 1)
            };
            let with = text[from.start..end(&from)?].to_owned();
            Some(replaced(text, to.start..end(&to)?, &with))
        }
    }
}

/// Shards the arguments of a program without annotations, on a random mesh.
pub(crate) fn annotate(text: &str, rng: &mut Rng) -> Option<String> {
    if text.contains("sdy.") || text.contains("mhlo.sharding") || text.contains("module ") {
        return None;
    }
    let mesh = rng.of(&[
        "[\"x\"=8]",
        "[\"x\"=2, \"y\"=4]",
        "[\"x\"=4, \"y\"=2]",
        "[\"x\"=2, \"y\"=2, \"z\"=2]",
        "[\"x\"=3]",
        "[\"x\"=2, \"y\"=3]",
        "[\"x\"=1, \"y\"=5]",
    ]);
    let mesh = format!("sdy.mesh @mesh = <{mesh}>\n");
    let annotated = annotate_on(text, &axes(&mesh), rng)?;
    Some(mesh + &annotated)
}

/// Shards arguments of the first function along `names`, axes of a mesh `@mesh`.
pub(crate) fn annotate_on(text: &str, names: &[&str], rng: &mut Rng) -> Option<String> {
    let header = text.find("func.func")?;
    let body = header + text[header..].find("{\n").or(text[header..].find(") {"))?;
    let mut out = text[..header].to_owned();
    let mut rest = &text[header..body];
    while let Some(at) = rest.find(": tensor<") {
        let end = at + rest[at..].find('>')? + 1;
        let ty = &rest[at + 9..end - 1];
        out.push_str(&rest[..end]);
        rest = &rest[end..];
        let is_plain = !ty.contains('<') && rest.starts_with([',', ')']);
        if is_plain && !rng.one_in(3) {
            let mut left: Vec<&str> = names.to_vec();
            rng.shuffle(&mut left);
            let dims: Vec<String> = (0..ty.matches('x').count() - usize::from(ty.contains("complex")))
                .map(|_| match (rng.below(3), left.pop()) {
                    (0, Some(axis)) => {
                        left.push(axis);
                        rng.of(&["{}", "{?}"]).to_owned()
                    }
                    (1, Some(axis)) => format!("{{\"{axis}\", ?}}"),
                    (_, Some(axis)) => format!("{{\"{axis}\"}}"),
                    (_, None) => "{}".to_owned(),
                })
                .collect();
            out.push_str(&format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", dims.join(", ")));
        }
    }
    Some(out + rest + &text[body..])
}

fn mesh_size(text: &str, rng: &mut Rng) -> Option<String> {
    let at = text.find("sdy.mesh")?;
    let end = at + text[at..].find('\n')?;
    let places: Vec<_> = numbers(text).into_iter().filter(|p| (at..end).contains(&p.start)).collect();
    let place = some(&places, rng)?;
    let with = near(&text[place.clone()], rng);
    Some(replaced(text, place, &with))
}

fn operation(text: &str, rng: &mut Rng) -> Option<String> {
    let alike = rng.of(ALIKE);
    let mut places = Vec::new();
    for op in alike {
        let name = format!("stablehlo.{op}");
        let whole = |p: &Range<usize>| !text[p.end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        places.extend(all_of(text, &name).into_iter().filter(whole));
    }
    let place = some(&places, rng)?;
    Some(replaced(text, place, &format!("stablehlo.{}", rng.of(alike))))
}

fn values(text: &str) -> Vec<Range<usize>> {
    tokens(text).into_iter().filter(|t| text[t.clone()].starts_with('%') && t.len() > 1).collect()
}

/// Replaces an operand by another value.
fn operand(text: &str, rng: &mut Rng) -> Option<String> {
    let all = values(text);
    let is_read = |p: &&Range<usize>| !text[p.end..].trim_start().starts_with(['=', ':']);
    let read: Vec<_> = all.iter().filter(is_read).cloned().collect();
    let (to, from) = (some(&read, rng)?, some(&all, rng)?);
    Some(replaced(text, to, &text[from]))
}

fn one_number_near(text: &str, rng: &mut Rng) -> Option<String> {
    let place = some(&numbers(text), rng)?;
    let with = near(&text[place.clone()], rng);
    Some(replaced(text, place, &with))
}

/// Duplicates an operation with other result names.
fn line_again(text: &str, rng: &mut Rng) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = rng.below(lines.len());
    let line = *lines.get(at)?;
    let rest = line.trim_start().strip_prefix('%')?;
    let name = format!("%{}", &rest[..rest.find([' ', ':', ','])?]);
    if line.ends_with('{') || !rest.contains('=') {
        return None;
    }
    let again = line.replacen(&name, &format!("{name}_{}", rng.below(1000)), 1);
    let mut out = lines;
    out.insert(at + 1, &again);
    Some(out.join("\n") + "\n")
}

// Rough changes.

fn bytes(text: &str, rng: &mut Rng) -> Option<String> {
    let mut all = text.as_bytes().to_vec();
    (!all.is_empty()).then_some(())?;
    for _ in 0..=rng.below(3) {
        let at = rng.below(all.len());
        all[at] = match rng.below(3) {
            0 => rng.word() as u8,
            1 => all[at] ^ (1 << rng.below(8)),
            _ => b' ' + rng.below(95) as u8,
        };
    }
    Some(String::from_utf8_lossy(&all).into_owned())
}

fn token_gone(text: &str, rng: &mut Rng) -> Option<String> {
    Some(replaced(text, some(&solid(text), rng)?, ""))
}

fn token_twice(text: &str, rng: &mut Rng) -> Option<String> {
    let place = some(&solid(text), rng)?;
    let twice = format!("{0}{1}{0}", &text[place.clone()], rng.of(&["", " ", ", "]));
    Some(replaced(text, place, &twice))
}

fn token_elsewhere(text: &str, rng: &mut Rng) -> Option<String> {
    let all = solid(text);
    let (to, from) = (some(&all, rng)?, some(&all, rng)?);
    Some(replaced(text, to, &text[from]))
}

fn one_number(text: &str, rng: &mut Rng) -> Option<String> {
    Some(replaced(text, some(&numbers(text), rng)?, rng.of(EDGES)))
}

fn one_type(text: &str, rng: &mut Rng) -> Option<String> {
    let places: Vec<_> = TYPES.iter().flat_map(|ty| places_of_type(text, ty)).collect();
    Some(replaced(text, some(&places, rng)?, rng.of(TYPES)))
}

fn line_gone(text: &str, rng: &mut Rng) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    (!lines.is_empty()).then(|| lines.remove(rng.below(lines.len())))?;
    Some(lines.join("\n") + "\n")
}

fn line_moved(text: &str, rng: &mut Rng) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    (!lines.is_empty()).then_some(())?;
    let line = lines.remove(rng.below(lines.len()));
    lines.insert(rng.below(lines.len() + 1), line);
    Some(lines.join("\n") + "\n")
}

fn cut(text: &str, rng: &mut Rng) -> Option<String> {
    let mut at = rng.below(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    Some(text[..at].to_owned())
}

/// Nests a piece of text within itself many times.
fn nested(text: &str, rng: &mut Rng) -> Option<String> {
    let place = some(&solid(text), rng)?;
    let inner = &text[place.clone()];
    let (open, close) = rng.of(&[
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("<", ">"),
        ("tensor<", ">"),
        ("tuple<", ">"),
        ("complex<", ">"),
        ("{a = ", "}"),
        ("loc(fused[", "])"),
        ("({\n", "})"),
    ]);
    let depth = rng.of(&[2, 50, 300, 5000]);
    let with = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
    Some(replaced(text, place, &with))
}

/// The range between a random pair of matching brackets.
fn inner(text: &str, rng: &mut Rng) -> Option<Range<usize>> {
    let (open, close) = rng.of(&[('{', '}'), ('[', ']'), ('<', '>'), ('(', ')')]);
    let starts: Vec<_> = text.match_indices(open).map(|(at, _)| at..at + 1).collect();
    let start = some(&starts, rng)?.end;
    let mut depth = 0;
    for (at, c) in text[start..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            if depth == 0 {
                return Some(start..start + at);
            }
            depth -= 1;
        }
    }
    None
}

fn inner_gone(text: &str, rng: &mut Rng) -> Option<String> {
    Some(replaced(text, inner(text, rng)?, ""))
}

fn inner_exchanged(text: &str, rng: &mut Rng) -> Option<String> {
    let (to, from) = (inner(text, rng)?, inner(text, rng)?);
    Some(replaced(text, to, &text[from]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\nfunc.func @main(%arg0: tensor<8x16xf32> \
        {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> tensor<8x16xf32> {\n  \
        %0 = stablehlo.add %arg0, %arg0 : tensor<8x16xf32>\n  return %0 : tensor<8x16xf32>\n}\n";

    #[test]
    fn sizes_are_numbers_and_names_are_not() {
        let found: Vec<&str> = numbers("%1 = a.b2 dense<0> : tensor<8x16xf32>, [3, -4] @f5 x6")
            .into_iter()
            .map(|p| &"%1 = a.b2 dense<0> : tensor<8x16xf32>, [3, -4] @f5 x6"[p])
            .collect();
        assert_eq!(found, ["0", "8", "16", "3", "4"]);
    }

    #[test]
    fn arguments_are_annotated() {
        let plain = "func.func @main(%a: tensor<8x16xf32>, %b: tensor<f32>) -> tensor<8xf32> {\n}\n";
        let drawn = (0..20).filter_map(|n| annotate(plain, &mut Rng::new("", 0, n)));
        assert!(
            drawn
                .filter(|text| text.contains("tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"))
                .count()
                > 5
        );
        assert_eq!(annotate(PROGRAM, &mut Rng::new("", 0, 0)), None);
    }

    #[test]
    fn every_mutator_changes_something() {
        let plain = "func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {\n  return %a : tensor<8x16xf32>\n}\n";
        for (n, mutate) in GENTLE.iter().chain(ROUGH).enumerate() {
            let changes = |case| {
                [PROGRAM, plain]
                    .iter()
                    .any(|text| mutate(text, &mut Rng::new("", 0, case)).is_some_and(|new| new != *text))
            };
            assert!((0..50).any(changes), "mutator {n}");
        }
    }

    #[test]
    fn mutations_of_empty_text_do_not_panic() {
        for mutate in GENTLE.iter().chain(ROUGH) {
            for case in 0..50 {
                // An earlier change may have removed almost everything.
                for text in ["", "\n", "%", "sdy.mesh"] {
                    mutate(text, &mut Rng::new("", 0, case));
                }
            }
        }
    }

    #[test]
    fn axes_are_those_of_the_meshes() {
        assert_eq!(axes(PROGRAM), ["x", "y"]);
    }
}
