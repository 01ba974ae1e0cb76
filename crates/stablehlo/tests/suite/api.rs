//! API functions other than reading and printing an entire module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_ir::{Diagnostic, OpId, OpKind, Span};
use shardc_stablehlo::{PrintForm, PrintOptions, Shardings, parse, print, print_op, properties, render};

const TEXT: &str = r#"sdy.mesh @m = <["x"=2]>
func.func @f(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %i: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %2 = stablehlo.divide %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  %3 = stablehlo.custom_call @g(%1) {api_version = 4 : i32, backend_config = "b", z = 1 : i64} : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
"#;

fn find(module: &shardc_ir::Module, name: &str) -> OpId {
    module.ops.iter().find(|(_, op)| op.kind.name() == name).expect("the operation is there").0
}

#[test]
fn one_operation_is_printed_as_in_its_function() {
    let module = parse(TEXT).expect("a program");
    assert_eq!(
        print_op(&module, find(&module, "stablehlo.divide")),
        "%3 = stablehlo.divide %arg2, %arg3 : tensor<f32>"
    );
    assert_eq!(
        print_op(&module, find(&module, "stablehlo.reduce")).lines().next(),
        Some(
            "%1 = stablehlo.reduce(%0 init: %arg1) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"
        )
    );
}

#[test]
fn properties_are_mlir_text() {
    let module = parse(TEXT).expect("a program");
    let shown = |name| -> Vec<String> {
        properties(&module, find(&module, name))
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect()
    };
    assert_eq!(shown("stablehlo.reduce"), ["dimensions = array<i64: 0>"]);
    assert_eq!(
        shown("stablehlo.custom_call"),
        ["api_version = 4 : i32", "backend_config = \"b\"", "call_target_name = \"g\""]
    );
    assert!(shown("stablehlo.abs").is_empty());
}

#[test]
fn shardings_can_be_left_out() {
    let module = parse(TEXT).expect("a program");
    let count = |shardings| {
        let options = PrintOptions { form: PrintForm::Pretty, locations: false, shardings };
        print(&module, &options).matches("sdy.sharding").count()
    };
    assert_eq!(count(Shardings::All), 4);
    assert_eq!(count(Shardings::Signature), 2);
    assert_eq!(count(Shardings::None), 0);
}

#[test]
fn spans_name_the_operation() {
    let module = parse(TEXT).expect("a program");
    for op in module.ops.values().filter(|op| !matches!(op.kind, OpKind::Return)) {
        assert_eq!(&TEXT[op.span.start as usize..op.span.end as usize], op.kind.name());
    }
}

#[test]
fn diagnostics_without_a_span_are_rendered() {
    let mut warning =
        Diagnostic::unsupported("SH0999", "something is not done yet").hint("do it").note(Span::NONE, "n");
    warning.user_loc = Some("train.py:3:7".to_owned());
    let shown =
        render(&[warning, Diagnostic::internal("SH0998", "a promise is broken")], "f.mlir", "", false);
    insta::assert_snapshot!("without_a_place", shown);
}

#[test]
fn color_is_optional() {
    let errors = parse("func.func @f() { %0 = }").expect_err("an error");
    assert!(render(&errors, "f", "func.func @f() { %0 = }", true).contains('\u{1b}'));
    assert!(!render(&errors, "f", "func.func @f() { %0 = }", false).contains('\u{1b}'));
}
