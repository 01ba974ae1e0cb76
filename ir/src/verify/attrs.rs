//! Verifies invariant I16: the values of attributes that are kept as text.

use super::codes::ATTRIBUTE;
use super::scan::Scan;
use super::{Report, custom_call, interpreter};
use crate::{Attr, DType, DotSpec, OpId, OpKind};

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    let module = report.module;
    let op = &module.ops[id];
    match &op.kind {
        OpKind::CustomCall(spec) => custom_call::check(report, id, spec),
        OpKind::Opaque(_) => interpreter::check(report, id),
        OpKind::DotGeneral(spec) => {
            if let Some(text) = &spec.algorithm
                && let Some((message, hint)) = algorithm(spec, text)
            {
                report.hinted(ATTRIBUTE, id, format!("{} {message}", op.kind.name()), hint);
            }
        }
        _ => {}
    }
    if op.attrs.is_empty() {
        return;
    }
    if let Some(Attr::Raw(text)) = op.attrs.get("result_accuracy")
        && let Some(message) = accuracy(text)
    {
        report.hinted(
            ATTRIBUTE,
            id,
            format!("the result_accuracy of {} {message}", op.kind.name()),
            Some("tolerances need mode TOLERANCE; DEFAULT and HIGHEST have none"),
        );
    }
}

/// Describes the error in `#stablehlo.result_accuracy<...>`; `None` if it is valid or has an unknown form.
fn accuracy(text: &str) -> Option<String> {
    let mut scan = Scan::new(text);
    scan.eat("#stablehlo.result_accuracy<")?;
    let mut tolerance: Option<(&str, f64)> = None;
    let mut mode = "";
    loop {
        let name = scan.word()?;
        scan.eat("=")?;
        if name == "mode" {
            scan.eat("#stablehlo.result_accuracy_mode<")?;
            mode = scan.word()?;
            scan.eat(">")?;
        } else {
            let value: f64 = scan.number()?.parse().ok()?;
            if value < 0.0 {
                return Some(format!("has a negative tolerance, {name} = {value}"));
            }
            // Modes without tolerance are printed as `atol = 0, rtol = 0, ulps = 0`.
            if value > 0.0 {
                tolerance = tolerance.or(Some((name, value)));
            }
        }
        if scan.eat(",").is_none() {
            break;
        }
    }
    let (name, value) = tolerance?;
    matches!(mode, "DEFAULT" | "HIGHEST")
        .then(|| format!("has a tolerance ({name} = {value}) together with mode {mode}"))
}

/// The algorithm of a `dot_general`.
struct Algorithm<'a> {
    lhs: &'a str,
    rhs: &'a str,
    sum: &'a str,
    components: [i64; 2],
    steps: i64,
    imprecise: bool,
}

fn read_algorithm(text: &str) -> Option<Algorithm<'_>> {
    let mut scan = Scan::new(text);
    if scan.eat("#stablehlo.dot_algorithm").is_none() {
        scan.eat("algorithm")?;
    }
    scan.eat("<")?;
    let mut out = Algorithm { lhs: "", rhs: "", sum: "", components: [1, 1], steps: 1, imprecise: false };
    loop {
        let name = scan.word()?;
        scan.eat("=")?;
        match name {
            "lhs_precision_type" => out.lhs = scan.word()?,
            "rhs_precision_type" => out.rhs = scan.word()?,
            "accumulation_type" => out.sum = scan.word()?,
            "lhs_component_count" => out.components[0] = scan.int()?,
            "rhs_component_count" => out.components[1] = scan.int()?,
            "num_primitive_operations" => out.steps = scan.int()?,
            "allow_imprecise_accumulation" => out.imprecise = scan.word()? == "true",
            _ => return None,
        }
        if scan.eat(",").is_none() {
            return Some(out);
        }
    }
}

/// Whether the specification lists the algorithm as supported by known hardware (`dot_general`, `DotAlgorithm`).
fn is_known(a: &Algorithm<'_>) -> bool {
    let f8 = |text: &str| {
        DType::parse(text).is_some_and(|t| t.is_float() && t.bits() == 8 && t != DType::F8E8M0FNU)
    };
    if a.components != [1, 1] {
        return false;
    }
    if f8(a.lhs) && f8(a.rhs) {
        return a.sum == "f32" && a.steps == 1;
    }
    !a.imprecise
        && a.lhs == a.rhs
        && matches!(
            (a.lhs, a.sum, a.steps),
            ("f16" | "bf16" | "f32" | "tf32", "f32", 1)
                | ("f16", "f16", 1)
                | ("bf16", "bf16", 1)
                | ("bf16", "f32", 3 | 6 | 9)
                | ("tf32", "f32", 3)
                | ("f64", "f64", 1)
        )
}

fn algorithm(spec: &DotSpec, text: &str) -> Option<(String, Option<&'static str>)> {
    if spec.precision.iter().any(|&p| p != crate::Precision::Default) {
        return Some((
            "has an algorithm and a precision".to_owned(),
            Some("with an algorithm, both precisions must be DEFAULT"),
        ));
    }
    let a = read_algorithm(text)?;
    let counts = [
        ("lhs_component_count", a.components[0]),
        ("rhs_component_count", a.components[1]),
        ("num_primitive_operations", a.steps),
    ];
    if let Some((name, value)) = counts.into_iter().find(|&(_, value)| value < 1) {
        return Some((format!("has an algorithm with {name} = {value}, which must be positive"), None));
    }
    (!is_known(&a)).then(|| {
        (
            format!(
                "has an algorithm that no known hardware supports: {} of {} components x {} of {}, accumulated in {}{} in {} steps",
                a.lhs,
                a.components[0],
                a.rhs,
                a.components[1],
                a.sum,
                if a.imprecise { ", imprecisely," } else { "" },
                a.steps
            ),
            Some("supported: f16, bf16, f32, tf32 and fp8 accumulated in f32 in one step, bf16 in 3, 6 or 9 steps, tf32 in 3 steps; f16, bf16 and f64 accumulated in their own type"),
        )
    })
}
