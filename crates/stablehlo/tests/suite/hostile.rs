//! Damaged and hostile texts: the parser always reports errors within a time limit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use shardc_stablehlo::{PrintForm, PrintOptions, parse, parse_split, print, render};

/// Returns the programs under `tests/data`.
fn programs() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = fs::read_dir(dir)
        .expect("tests/data is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "mlir"))
        .collect();
    files.sort();
    let named = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable file");
        (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text)
    };
    files.into_iter().map(named).collect()
}

/// Parses a text. Accepted text prints as text that parses again; errors can be displayed.
fn survives(name: &str, text: &str) {
    match parse(text) {
        Ok(module) => {
            let _ = shardc_ir::verify(&module);
            for form in [PrintForm::Pretty, PrintForm::Generic] {
                let printed = print(&module, &PrintOptions { form, ..PrintOptions::default() });
                if let Err(errors) = parse(&printed) {
                    let errors = render(&errors, "printed", &printed, false);
                    panic!("{name}: the printed form of a damaged program does not parse:\n{errors}\n{text}");
                }
            }
        }
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= 20);
            let shown = render(&errors, name, text, false);
            assert!(shown.contains("error["), "{shown}");
        }
    }
}

/// A small deterministic random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Splits a text into words, numbers, whitespace, strings and single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| match first {
            'a'..='z' | 'A'..='Z' | '_' => c.is_alphanumeric() || matches!(c, '_' | '.' | '$'),
            '0'..='9' => c.is_ascii_digit(),
            ' ' | '\n' => c == first,
            _ => false,
        };
        let length = rest.char_indices().skip(1).find(|&(_, c)| !same(c)).map_or(rest.len(), |(at, _)| at);
        let (token, after) = rest.split_at(length);
        out.push(token);
        rest = after;
    }
    out
}

#[test]
fn truncated_and_mangled_text_never_panics() {
    for (name, source) in programs() {
        let step = (source.len() / 60).max(1);
        for at in (0..source.len()).step_by(step) {
            if let Some(head) = source.get(..at) {
                survives(&name, head);
            }
            for junk in ["%", "\"", "{", "]", "<", "-", "é", "99999999999999999999", "#", "^bb1:", "\\", "//"]
            {
                if let (Some(head), Some(tail)) = (source.get(..at), source.get(at + 1..)) {
                    let _ = parse(&format!("{head}{junk}{tail}"));
                }
            }
        }
    }
}

#[test]
fn programs_with_misplaced_tokens_never_panic() {
    let mut numbers = Numbers(20_261_120);
    for (name, source) in programs() {
        let good = tokens(&source);
        let rounds = (400_000 / source.len().max(1)).clamp(4, 80);
        for _ in 0..rounds {
            let mut tokens = good.clone();
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(tokens.len());
                let other = tokens[numbers.below(tokens.len())];
                match numbers.below(4) {
                    0 => drop(tokens.remove(at)),
                    1 => tokens.insert(at, other),
                    2 => tokens[at] = other,
                    _ => tokens.insert(at, tokens[at]),
                }
            }
            survives(&name, &tokens.concat());
        }
    }
}

/// Texts that are too slow for quadratic parsers or too deep for recursive ones.
#[test]
fn hostile_text_is_handled_quickly() {
    const N: usize = 100_000;
    let many = |item: &dyn Fn(usize) -> String| (0..N).map(item).collect::<String>();
    let body = |inner: &str| format!("func.func @f(%a: tensor<4xf32>) {{\n{inner}\nreturn\n}}\n");
    let mut texts: Vec<(&str, String)> = Vec::new();
    for unit in ["(", "[", "<", "{", "\"", "#", "!", "%", "@", "^", "-", "->", "//", "\\", "0x", "loc("] {
        texts.push((unit, unit.repeat(2 * N)));
        texts.push((unit, body(&unit.repeat(N))));
        texts
            .push((unit, body(&format!("%0 = stablehlo.abs %a {{a = {}}} : tensor<4xf32>", unit.repeat(N)))));
        texts.push((unit, format!("func.func @f() attributes {{a = {}", unit.repeat(N))));
    }
    for unit in [
        "module {\n",
        "func.func @f() {\n",
        "#a = [\n",
        "!t = tensor<\n",
        "\"a\"() ({\n",
        "{-#\n",
        "\"sdy.mesh\"() <{a = [\n",
    ] {
        texts.push((unit, unit.repeat(N / 4)));
    }
    texts.push((
        "aliases of aliases",
        many(&|i| format!("#a{} = [#a{i}, #a{i}]\n", i + 1)) + "module attributes {a.b = #a9} {}",
    ));
    texts.push(("doubling aliases", {
        let chain: String = (0..40).map(|i| format!("#a{} = [#a{i}, #a{i}]\n", i + 1)).collect();
        format!("#a0 = 1 : i64\n{chain}module attributes {{a.b = #a40}} {{}}")
    }));
    texts.push(("locations backwards", many(&|i| format!("#loc{i} = loc(\"a\"(#loc{}))\n", i + 1))));
    texts.push((
        "locations of themselves",
        "#loc = loc(callsite(#loc at #loc))\nmodule {} loc(#loc)".to_owned(),
    ));
    texts.push((
        "a large dictionary",
        format!("module attributes {{{}}} {{}}", many(&|i| format!("a.b{i}, ")) + "z.z"),
    ));
    texts.push((
        "a large operation dictionary",
        body(&format!("%0 = stablehlo.abs %a {{{}z}} : tensor<4xf32>", many(&|i| format!("a{i}, ")))),
    ));
    texts.push((
        "a large fused location",
        format!("module {{}} loc(fused[{}unknown])", many(&|i| format!("\"a{i}\", "))),
    ));
    texts.push(("meshes that are nowhere", body(&(0..5000).map(|i| format!(
        "%{i} = \"stablehlo.all_reduce\"(%a) <{{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m{i}, axes = []>}}> ({{\n\
         ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n stablehlo.return %x : tensor<f32>\n}}) : (tensor<4xf32>) -> tensor<4xf32>\n")).collect::<String>())));
    texts.push((
        "many unknown names",
        body(&many(&|i| format!("%x{i} = stablehlo.abs %y{i} : tensor<4xf32>\n"))),
    ));
    texts.push(("separators", "// -----\n".repeat(N)));
    for (name, text) in texts {
        let start = Instant::now();
        for chunk in parse_split(&text).into_iter().take(3) {
            if let Err(errors) = chunk.module {
                let shown = render(&errors, "hostile", &text, false);
                assert!(shown.len() < 200_000, "{name}: the errors are {} bytes long", shown.len());
            }
        }
        // Generous, for slow machines without optimization; quadratic algorithms take minutes.
        assert!(start.elapsed() < Duration::from_secs(20), "{name} takes {:?}", start.elapsed());
    }
}
