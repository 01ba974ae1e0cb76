//! Custom calls, whose meaning is only known by their sharding rule.

use shardc_prove::{Options, Verdict, prove};

use crate::support::{boundary, module};

/// A call with operands of these sizes, and a rule or none.
fn program(sizes: [[usize; 2]; 2], target: &str, rule: &str) -> String {
    let [one, two] = sizes.map(|[rows, columns]| format!("tensor<{rows}x{columns}xf32>"));
    let rule = if rule.is_empty() { String::new() } else { format!(", sdy.sharding_rule = {rule}") };
    format!(
        "func.func @main(%x: {one}, %y: {two}) -> {one} {{
        %0 = stablehlo.custom_call @{target}(%x, %y) {{api_version = 2 : i32, backend_config = \"7\"{rule}}} : ({one}, {two}) -> {one}
        return %0 : {one} }}"
    )
}

fn verdict(original: &str, local: &str, inputs: [&'static str; 2], output: &'static str) -> Verdict {
    let (original, local) = (module(original), module(local));
    let boundary = boundary(&original, &local, [&inputs, &[output]]);
    prove(&original, &local, &boundary, &Options::default()).unwrap().verdict
}

const ALL: [[usize; 2]; 2] = [[4, 8], [4, 6]];
const ROWS: [[usize; 2]; 2] = [[2, 8], [2, 6]];
const RULE: &str =
    "#sdy.op_sharding_rule<([i, j], [i, k])->([i, j]) {i=4, j=8, k=6} need_replication={j, k}, custom>";

#[test]
fn a_call_is_split_along_free_factors_of_its_rule() {
    let original = program(ALL, "f", RULE);
    let local = program(ROWS, "f", "");
    assert_eq!(verdict(&original, &local, ["a,-", "a,-"], "a,-"), Verdict::Proven);
    // Another device's rows, another function, or other rows of one operand.
    assert_ne!(verdict(&original, &local, ["a,-", "b,-"], "a,-"), Verdict::Proven);
    assert_ne!(verdict(&original, &local, ["a,-", "a,-"], "b,-"), Verdict::Proven);
    assert_ne!(verdict(&original, &program(ROWS, "g", ""), ["a,-", "a,-"], "a,-"), Verdict::Proven);
}

#[test]
fn a_call_is_not_split_along_other_factors() {
    let columns = program([[4, 4], [4, 6]], "f", "");
    assert_ne!(verdict(&program(ALL, "f", RULE), &columns, ["-,a", "-,-"], "-,a"), Verdict::Proven);
    let reduced = RULE.replace("need_replication={j, k}", "reduction={k} need_replication={j}");
    let inner = program([[4, 8], [4, 3]], "f", "");
    assert_ne!(verdict(&program(ALL, "f", &reduced), &inner, ["-,-", "-,a"], "-,-"), Verdict::Proven);
}

#[test]
fn the_rule_is_that_of_the_original() {
    let local = program(ROWS, "f", &RULE.replace("i=4", "i=2"));
    assert_ne!(verdict(&program(ALL, "f", ""), &local, ["a,-", "a,-"], "a,-"), Verdict::Proven);
    let only_rows = RULE.replace("{j, k}", "{i, j, k}");
    assert_ne!(verdict(&program(ALL, "f", &only_rows), &local, ["a,-", "a,-"], "a,-"), Verdict::Proven);
}

#[test]
fn a_test_beyond_the_limit_names_the_option() {
    let program = module(
        "func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
        %0 = stablehlo.custom_call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
        return %0 : tensor<4x8xf32> }",
    );
    let local = module(
        "func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
        %0 = stablehlo.tanh %x : tensor<2x8xf32>
        return %0 : tensor<2x8xf32> }",
    );
    let boundary = boundary(&program, &local, [&["a,-"], &["a,-"]]);
    let options = Options { test_work: Some(10), ..Options::default() };
    let report = prove(&program, &local, &boundary, &options).unwrap();
    assert_eq!(report.verdict, Verdict::NotDecided);
    assert!(report.untested.as_ref().is_some_and(|reason| reason.contains("--work-limit")), "{report:?}");
}
