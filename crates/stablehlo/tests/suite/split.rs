//! Files with several programs, and comments with expected errors.

use shardc_stablehlo::{Strictness, check_expected, parse_split};

const TEXT: &str = "func.func @a(%x: tensor<f32>) {\n  return\n}\n  // -----\nfunc.func @b() {\n  \
     // expected-error@+1 {{use of undeclared SSA value name}}\n  %0 = stablehlo.abs %y : tensor<f32>\n  return\n}\n// ------\n\
     // -----\nsdy.mesh @m = <[\"x\"=2]>\n// -----";

#[test]
fn programs_are_independent_and_spans_are_those_of_the_file() {
    let chunks = parse_split(TEXT);
    assert_eq!(chunks.len(), 4, "a longer line of dashes is a comment");
    let Ok(first) = &chunks[0].module else { panic!("the first program is right") };
    assert_eq!(first.funcs.len(), 1);
    let Err(errors) = &chunks[1].module else { panic!("the second program is wrong") };
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].span.start as usize, TEXT.find("%y").unwrap());
    assert!(chunks[2].module.as_ref().is_ok_and(|module| module.mesh_names.len() == 1));
    assert!(chunks[3].module.as_ref().is_ok_and(|module| module.funcs.is_empty()));
}

/// Returns the differences between expected and actual errors of a text with one program.
fn differences(text: &str, strictness: Strictness) -> Vec<String> {
    let chunks = parse_split(text);
    let found = chunks[0].module.as_ref().err().cloned().unwrap_or_default();
    let differences = check_expected(text, chunks[0].range.clone(), &found, strictness);
    differences.into_iter().map(|d| d.message).collect()
}

#[test]
fn strictness_controls_matching() {
    let program = |comment: &str| {
        format!("func.func @b() {{\n  {comment}\n  %0 = stablehlo.abs %y : tensor<f32>\n  return\n}}\n")
    };
    let none: [&str; 0] = [];
    for (comment, strictness) in [
        ("// expected-error@+1 {{their words}}", Strictness::Line),
        ("// expected-error @below {{their words}}", Strictness::Line),
        ("// expected-error-re@+1 {{their {{.*}} words}}", Strictness::Text),
        ("// expected-error@+1 {{SH0102: `%y` is not defined}}", Strictness::Line),
        ("// expected-error@+1 {{`%y` is not defined}}", Strictness::Text),
        ("// expected-error@-1 {{their words}}", Strictness::Kind),
    ] {
        assert_eq!(differences(&program(comment), strictness), none, "{comment}");
    }
    for (comment, strictness) in [
        ("// expected-error {{their words}}", Strictness::Line),
        ("// expected-warning@+1 {{their words}}", Strictness::Line),
        ("// expected-error@+1 {{SH0101}}", Strictness::Line),
        ("// expected-error@+1 {{their words}}", Strictness::Text),
    ] {
        let messages = differences(&program(comment), strictness);
        assert_eq!(messages.len(), 2, "{comment}: {messages:?}");
        assert!(messages[0].starts_with("unexpected: `%y`"), "{messages:?}");
        assert!(messages[1].ends_with("was not produced"), "{messages:?}");
    }
    assert_eq!(differences(&program("// expected-note {{a note}}"), Strictness::Line).len(), 1);
    let messages = differences(&program("// expected-error@somewhere {{x}}"), Strictness::Line);
    assert_eq!(messages[0], "cannot parse this expected diagnostic");
}
