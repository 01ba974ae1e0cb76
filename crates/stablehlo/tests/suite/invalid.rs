//! Errors in types, shapes and attributes: the programs of `data/invalid`, a file for each subject.
//!
//! A file holds programs separated by lines `// -----`. The errors of a line are listed above it as `// error: CODE message`, in the
//! order of detection. A program without such comments is valid. `SHARDC_BLESS=1` rewrites the files with the actual errors.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use shardc_ir::{Diagnostic, verify};
use shardc_stablehlo::{parse, render};

const SPLIT: &str = "// -----\n";
const MARK: &str = "// error: ";

fn errors(program: &str) -> Vec<Diagnostic> {
    match parse(program).and_then(|module| verify(&module)) {
        Ok(()) => Vec::new(),
        Err(errors) => errors,
    }
}

/// Returns the program with each error above its line; errors without a line are at the top.
fn annotated(program: &str) -> String {
    let bare: String =
        program.lines().filter(|l| !l.trim_start().starts_with(MARK)).fold(String::new(), |mut s, l| {
            s.push_str(l);
            s.push('\n');
            s
        });
    let found = errors(&bare);
    let line = |d: &Diagnostic| {
        let at = if d.span.is_some() { d.span.start as usize } else { 0 };
        bare.get(..at).map_or(0, |text| text.matches('\n').count())
    };
    let mut out = String::new();
    for (i, text) in bare.lines().enumerate() {
        let indent = &text[..text.len() - text.trim_start().len()];
        for error in found.iter().filter(|d| line(d) == i) {
            let _ = writeln!(out, "{indent}{MARK}{} {}", error.code, error.message);
        }
        out.push_str(text);
        out.push('\n');
    }
    out
}

#[test]
fn programs_have_the_listed_errors() {
    let bless = std::env::var_os("SHARDC_BLESS").is_some();
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/invalid");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&dir).expect("the folder").map(|e| e.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() > 8, "{} files", files.len());
    for path in files {
        let text = fs::read_to_string(&path).expect("text");
        let have: Vec<String> = text.split(SPLIT).map(annotated).collect();
        let have = have.join(SPLIT);
        if bless {
            fs::write(&path, &have).expect("can be written");
            continue;
        }
        let differ = text.lines().zip(have.lines()).position(|(a, b)| a != b);
        let at = differ.unwrap_or(text.lines().count().min(have.lines().count()));
        let show = |t: &str| t.lines().nth(at).unwrap_or("<end>").to_owned();
        assert!(
            text == have,
            "{}:{}\n  says {}\n  gets {}",
            path.display(),
            at + 1,
            show(&text),
            show(&have)
        );
        // Each subject has valid and invalid programs.
        let wrong = text.split(SPLIT).filter(|program| program.contains(MARK)).count();
        assert!(wrong > 0 && wrong < text.split(SPLIT).count(), "{}", path.display());
    }
}

/// The displayed text of errors.
#[test]
fn errors_are_rendered_with_place_and_hint() {
    let program = "func.func @main(%a: tensor<4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {\n  \
        %0 = \"stablehlo.add\"(%a, %b) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n  \
        %1 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0], precision = [HIGH, HIGH, HIGH] : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>\n  \
        %2 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>\n  \
        return %0 : tensor<4x4xf32>\n}\n";
    insta::assert_snapshot!("verifier", render(&errors(program), "step.mlir", program, false));
}
