//! Sharding rules of operations in text form.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;

use shardc_analysis::rules::registry::{CallRule, CustomCall, RuleError, RuleRegistry};
use shardc_analysis::rules::{SHARDING_RULE_ATTR, parse_rule, rule_of};
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{Attr, Module};

fn parse(text: &str) -> Module {
    shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Returns, for each function, its name and the rules of its operations, including those in nested regions if `nested`.
fn rules(module: &Module, nested: bool) -> Vec<(String, Vec<String>)> {
    let rules_of = |body| {
        let ops = if nested { module.walk(body) } else { module.regions[body].ops.to_vec() };
        ops.into_iter().filter_map(|op| rule_of(module, op)).map(|rule| rule.to_string()).collect()
    };
    module.funcs.values().filter_map(|f| Some((f.name.to_string(), rules_of(f.body?)))).collect()
}

#[test]
fn rules_match_the_expected_text() {
    let text = include_str!("../data/rules.mlir");
    let module = parse(text);
    for (name, found) in rules(&module, false) {
        let start = text.find(&format!("@{name}(")).expect("the function is in the text");
        let end = text[start..].find("\n}").map_or(text.len(), |end| start + end);
        let expected: Vec<&str> =
            text[start..end].lines().filter_map(|l| l.trim().strip_prefix("// rule: ")).collect();
        assert_eq!(found, expected, "@{name}");
        for rule in expected {
            assert_eq!(parse_rule(rule).map(|r| r.to_string()).as_deref(), Ok(rule));
        }
    }
}

/// Returns the path of the shared data folder, if the folder exists.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SHARDC_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    path.is_dir().then_some(path)
}

#[test]
fn rules_match_shardy() {
    let file = "conformance/shardy/transforms/propagation/test/op_sharding_rule_registry.mlir";
    let Some(text) = shared().and_then(|shared| std::fs::read_to_string(shared.join(file)).ok()) else {
        return skip(Need::Shared, &format!("no {file} in the shared folder"));
    };
    let mut wrong = Vec::new();
    let (mut checked, mut unread) = (0, 0);
    for part in text.split("\n// CHECK-LABEL:").skip(1) {
        let code: String = part.lines().skip(1).map(|l| format!("{l}\n")).collect();
        let expected: Vec<&str> = code
            .lines()
            .filter(|l| l.trim().starts_with("// CHECK") && !l.contains("CHECK-NOT"))
            .filter_map(|l| l.split_once("op_sharding_rule<"))
            .filter_map(|(_, rest)| rest.rsplit_once('>'))
            .map(|(rule, _)| rule)
            // Shardy's tests truncate a few rules on purpose; these are skipped.
            .filter(|rule| parse_rule(rule).is_ok())
            .collect();
        if expected.is_empty() {
            continue;
        }
        let module = match shardc_stablehlo::parse(&code) {
            Ok(module) => module,
            // The parser rejects operations that shardc's IR does not have; such programs are skipped.
            Err(errors) if errors.iter().all(|e| e.code == "SH0106") => {
                unread += 1;
                continue;
            }
            Err(errors) => panic!("{errors:#?}"),
        };
        let found: Vec<String> = rules(&module, true).into_iter().flat_map(|(_, rules)| rules).collect();
        // The expected rules are those of some operations of the function, in order.
        let mut rest = found.iter();
        for rule in expected {
            checked += 1;
            if !rest.any(|r| r == rule) {
                wrong.push(format!("expected {rule}\n   found {found:?}"));
                break;
            }
        }
    }
    assert!(checked > 100 && unread < 6, "{checked} rules were checked, {unread} functions were not read");
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}

const CALL: &str = r#"
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @mine(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"#;

/// Returns the rule of the call in `text` after the rules in `registry` were applied.
fn resolved(text: &str, registry: &RuleRegistry) -> Option<Attr> {
    let mut module = parse(text);
    registry.resolve(&mut module).expect("the rules fit");
    module.ops.values().find_map(|op| op.attrs.get(SHARDING_RULE_ATTR)).cloned()
}

#[test]
fn registered_rules_apply_to_calls() {
    let mut registry = RuleRegistry::new();
    registry.register("mine", |call| call.letters("bi->bj"));
    registry.register("other", |call| call.pointwise());
    let rule = "#sdy.op_sharding_rule<([i, k])->([i, j]) {i=8, j=4, k=4} need_replication={j, k}, custom>";
    assert_eq!(resolved(CALL, &registry), Some(Attr::Raw(rule.into())));
    // A rule in the program takes precedence.
    let own = "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>";
    let text = CALL.replace("@mine(%a)", &format!("@mine(%a) {{sdy.sharding_rule = {own}}}"));
    assert_eq!(resolved(&text, &registry), Some(Attr::Raw(own.into())));
    // The registry states explicitly that the rule is unknown.
    registry.register("mine", |_| Ok(CallRule::Unknown));
    assert_eq!(resolved(CALL, &registry), None);
}

/// Returns the error for a call for which the registry has a rule that does not fit.
fn fault(
    signature: &str,
    rule: impl Fn(&CustomCall<'_>) -> Result<CallRule, RuleError> + Send + Sync + 'static,
) -> String {
    let (operands, result) = signature.split_once("->").unwrap();
    let types: Vec<&str> = operands.split(';').map(str::trim).filter(|ty| !ty.is_empty()).collect();
    let args: Vec<String> = types.iter().enumerate().map(|(i, ty)| format!("%a{i}: {ty}")).collect();
    let names: Vec<String> = (0..types.len()).map(|i| format!("%a{i}")).collect();
    let text = format!(
        "func.func @main({}) -> {result} {{\n  %0 = stablehlo.custom_call @mine({}) : ({}) -> {result}\n  return %0 : {result}\n}}",
        args.join(", "),
        names.join(", "),
        types.join(", ")
    );
    let mut registry = RuleRegistry::new();
    registry.register("mine", rule);
    let mut module = parse(&text);
    match registry.resolve(&mut module) {
        Ok(()) => "fits".to_owned(),
        Err(errors) => {
            assert_eq!(errors.len(), 1, "{errors:?}");
            let error = &errors[0];
            assert_eq!((error.code, error.class), ("SH0807", shardc_ir::Class::InvalidInput));
            let at = &text[error.span.start as usize..error.span.end as usize];
            assert!(at.starts_with("stablehlo.custom_call"), "{at}");
            let whose = "the rule registered for stablehlo.custom_call @mine ";
            error.message.strip_prefix(whose).expect(&error.message).to_owned()
        }
    }
}

#[test]
fn letters_that_do_not_fit_a_call_are_reported() {
    let call = "tensor<8x4xf32>; tensor<4x2xf32> -> tensor<8x2xf32>";
    let of = |letters: &'static str| fault(call, move |call| call.letters(letters));
    assert_eq!(of("ik,kj->ij"), "fits");
    assert_eq!(of(" i k , k j -> i j "), "fits");
    assert_eq!(
        of("ik,kj"),
        "does not fit: `ik,kj` has no `->` between the letters of the operands and those of the results"
    );
    assert_eq!(of("ik,k2->ij"), "does not fit: `ik,k2->ij` has `2`, which is not a letter, in operand 1");
    assert_eq!(of("ik,kj->...j"), "does not fit: `ik,kj->...j` has `.`, which is not a letter, in result 0");
    assert_eq!(of("ik->ij"), "does not fit: `ik->ij` has letters for 1 operand, but the call has 2");
    assert_eq!(
        of("ik,kj->ij,i"),
        "does not fit: `ik,kj->ij,i` has letters for 2 results, but the call has 1"
    );
    assert_eq!(
        of("ik,k->ij"),
        "does not fit: `ik,k->ij` has 1 letter, `k`, for the 2 dimensions of operand 1, which is tensor<4x2xf32>"
    );
    assert_eq!(
        of("ik,kk->ij"),
        "does not fit: `ik,kk->ij` has the letter `k` twice in operand 1, `kk`: a diagonal cannot be sharded"
    );
    assert_eq!(
        of("ik,ij->ij"),
        "does not fit: `ik,ij->ij` gives the letter `i` two sizes: 8 along dimension 0 of result 0, which is \
         tensor<8x2xf32>, and 4 along dimension 0 of operand 1, which is tensor<4x2xf32>"
    );
}

#[test]
fn letters_of_calls_with_scalars_or_without_operands() {
    assert_eq!(fault("-> tensor<8xf32>", |call| call.letters("->i")), "fits");
    assert_eq!(fault("tensor<f32> -> tensor<8xf32>", |call| call.letters("->i")), "fits");
    assert_eq!(
        fault("tensor<8x!quant.uniform<i8:f32, 0.1>> -> tensor<8xf32>", |call| call.letters("i->i")),
        "fits"
    );
}

#[test]
fn non_pointwise_calls_are_rejected() {
    let pointwise = |call: &CustomCall<'_>| call.pointwise();
    assert_eq!(fault("tensor<8x4xf32>; tensor<f32> -> tensor<8x4xbf16>", pointwise), "fits");
    assert_eq!(
        fault("tensor<8x4xf32>; tensor<4xf32> -> tensor<8x4xf32>", pointwise),
        "does not fit: the rule is element-wise, but operand 1 is tensor<4xf32> and result 0 is tensor<8x4xf32>"
    );
}

#[test]
fn errors_of_the_front_end_are_reported() {
    let rule = |_: &CustomCall<'_>| Err(RuleError::Other("heads must be even".to_owned()));
    assert_eq!(fault("tensor<8xf32> -> tensor<8xf32>", rule), "does not fit: heads must be even");
}

#[test]
fn all_calls_with_wrong_rules_are_reported() {
    let text = r#"
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @mine(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.custom_call @other(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.custom_call @mine(%1) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
"#;
    let mut registry = RuleRegistry::new();
    registry.register("mine", |call| call.letters("b->b"));
    registry.register("other", |call| call.letters("bi->ib"));
    let errors = registry.resolve(&mut parse(text)).expect_err("none fits");
    let targets: Vec<bool> = errors.iter().map(|e| e.message.contains("@mine")).collect();
    assert_eq!(targets, [true, false, true]);
}

#[test]
fn malformed_rule_text_is_an_error() {
    let module = parse(CALL);
    let call = module.walk(module.bodies().next().unwrap())[0];
    for text in ["", "([i])->([i])", "([i, j])->([i, j]) {i=8, j=4}"] {
        let text = format!("#sdy.op_sharding_rule<{text}");
        let fault = shardc_ir::sharding_rule_fault(&module, call, &text).expect(&text);
        assert!(fault.starts_with("must have the form"), "{text}: {fault}");
    }
}

#[test]
fn a_misfit_registered_rule_is_an_error() {
    let without_last = |call: &CustomCall<'_>| {
        let CallRule::Known(mut rule) = call.pointwise()? else { return Ok(CallRule::Unknown) };
        rule.factors.pop();
        Ok(CallRule::Known(rule))
    };
    assert_eq!(
        fault("tensor<8x4xf32> -> tensor<8x4xf32>", without_last),
        "has the factor j in operand 0, but no size for it"
    );
    let of_other_size = |call: &CustomCall<'_>| {
        let CallRule::Known(mut rule) = call.pointwise()? else { return Ok(CallRule::Unknown) };
        rule.factors[1].size = 16;
        Ok(CallRule::Known(rule))
    };
    assert_eq!(
        fault("tensor<8x4xf32> -> tensor<8x4xf32>", of_other_size),
        "has the factors j=16 for dimension 1 of operand 0, which has 4 elements: tensor<8x4xf32>"
    );
}
