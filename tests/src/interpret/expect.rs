//! The expected results of a test.

use shardc_ir::{Attr, Dense, Module, Op, OpKind, ValueId};
use shardc_runtime::HostArray;
use shardc_stablehlo::parse;

/// The tolerance of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Closeness {
    /// Equal numbers.
    Equal,
    /// The maximum absolute difference.
    Within(f64),
    /// The maximum difference in units in the last place of the expected number.
    Steps(f64),
}

/// A value that a test checks.
#[derive(Clone, Debug)]
pub(super) struct Expectation {
    /// The expected value, or `None` if it is not a constant of the test. The result on one device is then the expected value.
    pub(super) expected: Option<HostArray>,
    pub(super) closeness: Closeness,
}

/// The default tolerance of `check.expect_almost_eq`.
const ALMOST: f64 = 1e-4;
/// The default number of units in the last place that `check.expect_close` allows.
const STEPS: f64 = 3.0;

/// The name of a check, without its dialect.
fn check_name(kind: &OpKind) -> Option<&str> {
    let name = match kind {
        OpKind::Opaque(spec) => &spec.name,
        OpKind::CustomCall(spec) => &spec.target,
        _ => return None,
    };
    name.strip_prefix("check.")
}

/// Whether an operation checks a value.
pub(super) fn is_check(kind: &OpKind) -> bool {
    check_name(kind).is_some()
}

/// Whether an operation is a probe, which returns its operand and shows it to the interpreter.
pub(super) fn is_probe(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Opaque(spec) if &*spec.name == "interpreter.probe")
}

/// Returns the value that an operation checks, and the expected value, or `None` if the operation is not a check.
///
/// # Errors
/// The check is unknown, or its constant cannot be read.
pub(super) fn expectation(module: &Module, op: &Op) -> Result<Option<(ValueId, Expectation)>, String> {
    let Some(name) = check_name(&op.kind) else { return Ok(None) };
    let props = match &op.kind {
        OpKind::Opaque(spec) => &spec.props,
        OpKind::CustomCall(spec) => &spec.props,
        _ => return Ok(None),
    };
    // In this check, the expected value is the first operand.
    let (actual, wanted) = if name == "eq" { (1, 0) } else { (0, 1) };
    let &actual = op.operands.get(actual).ok_or("a check without operands")?;
    let number = |key: &str| {
        [props.get(key), op.attrs.get(key)].into_iter().flatten().find_map(|attr| match attr {
            Attr::Int(n, _) => Some(*n as f64),
            Attr::Raw(text) => text.split(':').next().and_then(|n| n.trim().parse().ok()),
            _ => None,
        })
    };
    let closeness = match name {
        "eq" | "expect_eq" | "expect_eq_const" | "expect_serialized_eq" => Closeness::Equal,
        "expect_almost_eq" | "expect_almost_eq_const" => {
            Closeness::Within(number("tolerance").unwrap_or(ALMOST))
        }
        "expect_close" => Closeness::Steps(number("max_ulp_difference").unwrap_or(STEPS)),
        _ => return Err(format!("check.{name} is not known here")),
    };
    let expected = match (name.ends_with("_const"), op.operands.get(wanted)) {
        (true, _) => match props.get("value") {
            Some(Attr::Raw(text)) => Some(written(text)?),
            other => return Err(format!("the constant of check.{name} is {other:?}")),
        },
        (false, Some(&value)) => match module.def_op(value).map(|op| &module.ops[op].kind) {
            Some(OpKind::Constant(dense)) => Some(elements(module, value, dense)?),
            _ => None,
        },
        (false, None) => None,
    };
    Ok(Some((actual, Expectation { expected, closeness })))
}

/// The array in the text of an attribute, `dense<...> : tensor<...>`.
fn written(text: &str) -> Result<HostArray, String> {
    let ty = text.rsplit_once(" : ").map_or("", |(_, ty)| ty);
    let program = format!(
        "func.func @main() -> {ty} {{\n  %0 = \"stablehlo.constant\"() <{{value = {text}}}> : () -> {ty}\n  return %0 : {ty}\n}}"
    );
    let module = parse(&program)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let constant = module.ops.values().find_map(|op| match (&op.kind, op.results.first()) {
        (OpKind::Constant(dense), Some(&value)) => Some((value, dense)),
        _ => None,
    });
    let (value, dense) = constant.ok_or("no constant was read")?;
    elements(&module, value, dense)
}

/// The array of a constant.
pub(super) fn elements(module: &Module, value: ValueId, dense: &Dense) -> Result<HostArray, String> {
    let ty = module.tensor(value).ok_or("a constant that is no tensor of numbers")?;
    let shape: Vec<usize> = ty
        .shape
        .iter()
        .map(|&n| usize::try_from(n))
        .collect::<Result<_, _>>()
        .map_err(|_| format!("a constant of type {ty}"))?;
    let data = match dense {
        Dense::Elements(bytes) => bytes.to_vec(),
        Dense::Splat(bytes) => bytes.repeat(shape.iter().product()),
        Dense::Resource(_) | Dense::Raw(_) => return Err("a constant that is kept as text".to_owned()),
    };
    HostArray::new(ty.dtype, &shape, data).map_err(|e| e.to_string())
}
