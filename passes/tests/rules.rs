//! Sharding rules of operations that are written as text.

use std::path::PathBuf;

use shardc_ir::{Attr, Module};
use shardc_passes::rules::registry::RuleRegistry;
use shardc_passes::rules::{SHARDING_RULE_ATTR, parse_rule, rule_of};

fn parse(text: &str) -> Module {
    shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Rules of each function's operations, those of nested regions only if asked for.
fn rules(module: &Module, nested: bool) -> Vec<(String, Vec<String>)> {
    let rules_of = |body| {
        let ops = if nested { module.walk(body) } else { module.regions[body].ops.clone() };
        ops.into_iter().filter_map(|op| rule_of(module, op)).map(|rule| rule.to_string()).collect()
    };
    module.funcs.values().filter_map(|f| Some((f.name.to_string(), rules_of(f.body?)))).collect()
}

#[test]
fn rules_are_as_written() {
    let text = include_str!("data/rules.mlir");
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

/// The folder of data that is shared between checkouts, if there is one.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SHARDC_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from);
    path.is_dir().then_some(path)
}

#[test]
fn rules_are_those_of_shardy() {
    let file = "conformance/shardy/transforms/propagation/test/op_sharding_rule_registry.mlir";
    let Some(text) = shared().and_then(|shared| std::fs::read_to_string(shared.join(file)).ok()) else {
        eprintln!("skipped: no {file} in the shared folder");
        return;
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
            // A few lines are cut short on purpose.
            .filter(|rule| parse_rule(rule).is_ok())
            .collect();
        if expected.is_empty() {
            continue;
        }
        let module = match shardc_stablehlo::parse(&code) {
            Ok(module) => module,
            // Operations that shardc's own representation does not have.
            Err(errors) if errors.iter().all(|e| e.code == "SH0106") => {
                unread += 1;
                continue;
            }
            Err(errors) => panic!("{errors:#?}"),
        };
        let found: Vec<String> = rules(&module, true).into_iter().flat_map(|(_, rules)| rules).collect();
        // Only some operations of a function are checked, in order.
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

/// The rule that a call has after a registry has looked at it.
fn resolved(text: &str, registry: &RuleRegistry) -> Option<Attr> {
    let mut module = parse(text);
    registry.resolve(&mut module).expect("the rules fit");
    module.ops.values().find_map(|op| op.attrs.get(SHARDING_RULE_ATTR)).cloned()
}

#[test]
fn a_front_end_can_say_the_rule_of_its_calls() {
    let mut registry = RuleRegistry::new();
    registry.register("mine", |call| call.letters("bi->bj"));
    registry.register("other", |call| call.pointwise());
    let rule = "#sdy.op_sharding_rule<([i, k])->([i, j]) {i=8, j=4, k=4} need_replication={j, k}, custom>";
    assert_eq!(resolved(CALL, &registry), Some(Attr::Raw(rule.into())));
    // What the program says itself stays.
    let own = "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>";
    let text = CALL.replace("@mine(%a)", &format!("@mine(%a) {{sdy.sharding_rule = {own}}}"));
    assert_eq!(resolved(&text, &registry), Some(Attr::Raw(own.into())));
    // Letters that do not fit the shapes say nothing.
    registry.register("mine", |call| call.letters("b->b"));
    assert_eq!(resolved(CALL, &registry), None);
}

#[test]
fn a_registered_rule_that_does_not_fit_is_an_error() {
    let mut registry = RuleRegistry::new();
    registry.register("mine", |call| {
        let mut rule = call.pointwise()?;
        rule.factors.pop();
        Some(rule)
    });
    let errors = registry.resolve(&mut parse(CALL)).expect_err("a factor has no size");
    assert_eq!(
        errors[0].message,
        "the rule that is registered for @mine has the factor j of operand 0, which has no size"
    );
}
