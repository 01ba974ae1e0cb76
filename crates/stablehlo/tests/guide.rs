//! What the user guide says of wrong files is what they get: each program in its section "When a file is wrong" is
//! followed by the errors that it is refused with.

use std::fs;
use std::path::PathBuf;

use shardc_stablehlo::{parse, render};

/// The text of the fenced block that starts after `fence`, and what follows it.
fn block<'a>(text: &'a str, fence: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(fence)?;
    rest.split_once("```")
}

#[test]
fn wrong_files_get_what_the_guide_shows() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/GUIDE.md");
    let guide = fs::read_to_string(&path).expect("the guide is in the checkout");
    let (_, mut rest) = guide.split_once("## When a file is wrong").expect("the section");
    let mut examples = 0;
    while let Some((program, after)) = block(rest, "```mlir\n") {
        let (shown, after) = block(after, "```text\n").expect("what the program gets");
        rest = after;
        let read = parse(program).and_then(|module| shardc_ir::verify(&module));
        let errors = read.expect_err("a wrong program");
        assert_eq!(render(&errors, "step.mlir", program, false), shown);
        examples += 1;
    }
    assert!(examples >= 3, "{examples} examples");
}
