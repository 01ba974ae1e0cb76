//! What the user guide says of wrong files is what they get: each program in its section "When a file is wrong" is
//! followed by the errors that it is refused with. `BLESS=1 cargo test -p shardc-stablehlo --test guide` writes them anew.

use std::fs;
use std::path::PathBuf;

use shardc_stablehlo::{parse, render};

/// The text before and in the next fenced block that starts with `fence`, and what follows it.
fn block<'a>(text: &'a str, fence: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, rest) = text.split_once(fence)?;
    let (block, after) = rest.split_once("```")?;
    Some((before, block, after))
}

#[test]
fn wrong_files_get_what_the_guide_shows() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/GUIDE.md");
    let guide = fs::read_to_string(&path).expect("the guide is in the checkout");
    let at = guide.find("## When a file is wrong").expect("the section");
    let (start, mut rest) = guide.split_at(at);
    let mut truth = start.to_owned();
    let mut examples = 0;
    while let Some((before, program, after)) = block(rest, "```mlir\n") {
        let (between, _, after) = block(after, "```text\n").expect("what the program gets");
        let read = parse(program).and_then(|module| shardc_ir::verify(&module));
        let shown = render(&read.expect_err("a wrong program"), "step.mlir", program, false);
        truth.push_str(&format!("{before}```mlir\n{program}```{between}```text\n{shown}```"));
        rest = after;
        examples += 1;
    }
    truth.push_str(rest);
    assert!(examples >= 3, "{examples} examples");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &truth).expect("the guide can be written");
    }
    assert!(guide == truth || std::env::var_os("BLESS").is_some(), "the guide should say\n{truth}");
}
