//! Determines whether an operation can be differentiated, by differentiating a program that contains it.

use std::fmt;

use shardc_ir::{BinaryOp, BroadcastOp, DTypeClass, Module, OpKind, TypeId, UnaryOp, ValueId};

use super::probes::{Probe, stands_for};
use crate::autodiff::{self, Derivative, Request};

/// The outcome of differentiating an operation with respect to all its differentiable operands (floats and complex numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Differentiated {
    /// Forward and reverse mode both work.
    Yes,
    /// Only forward mode works; the error code of reverse mode.
    Forward(&'static str),
    /// Only some operands are supported; the error code for the others.
    Partly(&'static str),
    /// The derivative is zero everywhere, as for step functions and predicates.
    Zero,
    /// No operand has float or complex elements, or no result has.
    None,
    /// Differentiation fails, with this error code.
    Refused(&'static str),
}

impl fmt::Display for Differentiated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Differentiated::Yes => f.write_str("yes"),
            Differentiated::Forward(code) => write!(f, "forward only ({code})"),
            Differentiated::Partly(code) => write!(f, "for some operands ({code} for others)"),
            Differentiated::Zero => f.write_str("zero"),
            Differentiated::None => f.write_str("none"),
            Differentiated::Refused(code) => write!(f, "unsupported ({code})"),
        }
    }
}

/// How the operation of a probe, and each operation with the same coverage, is differentiated. The probe's own operation is first.
pub(super) fn derivatives(probe: &Probe) -> Vec<(&'static str, Differentiated)> {
    let mut out = vec![(probe.op, of_program(probe.program))];
    for name in stands_for(probe.op).into_iter().filter(|&name| name != probe.op) {
        out.push((name, of_elementwise(name).unwrap_or(out[0].1)));
    }
    out
}

/// Returns how an elementwise operation is differentiated, for the first element types that the verifier accepts, or `None` if the
/// operation is not elementwise.
fn of_elementwise(name: &str) -> Option<Differentiated> {
    const TYPES: [(&str, &str); 5] =
        [("f32", "f32"), ("complex<f32>", "f32"), ("f32", "complex<f32>"), ("f32", "i1"), ("i32", "i32")];
    let arity = match () {
        () if UnaryOp::parse(name).is_some() => 1,
        () if BinaryOp::parse(name).is_some() || BroadcastOp::parse(name).is_some() => 2,
        () => return None,
    };
    TYPES.iter().find_map(|(operand, result)| {
        let (operand, result) = (format!("tensor<4x{operand}>"), format!("tensor<4x{result}>"));
        let list = |of: &dyn Fn(usize) -> String| (0..arity).map(of).collect::<Vec<_>>().join(", ");
        let (params, args) = (list(&|i| format!("%a{i}: {operand}")), list(&|i| format!("%a{i}")));
        let operands = list(&|_| operand.clone());
        let text = |name: &str| {
            format!(
                "func.func @main({params}) -> {result} {{
               %0 = \"{name}\"({args}) : ({operands}) -> {result}
               return %0 : {result}
             }}"
            )
        };
        // The verifier checks the element types on the corresponding operation without implicit broadcast.
        let alike = BroadcastOp::parse(name).map_or(name, |op| op.op().name());
        shardc_ir::verify(&shardc_stablehlo::parse(&text(alike)).ok()?).ok()?;
        Some(of_program(&text(name)))
    })
}

fn of_program(program: &str) -> Differentiated {
    let Ok(module) = shardc_stablehlo::parse(program) else { return Differentiated::None };
    let Some(entry) = module.entry() else { return Differentiated::None };
    let places = |types: &[TypeId]| -> Vec<usize> {
        (0..types.len()).filter(|&i| can_change(&module, types[i])).collect()
    };
    let func = &module.funcs[entry];
    let (wrt, of) = (places(&func.params), places(&func.results));
    if wrt.is_empty() || of.is_empty() {
        return Differentiated::None;
    }
    let differentiate = |how: Derivative, wrt: &[usize]| {
        let mut made = module.clone();
        match autodiff::differentiate(&mut made, &Request::new(how, wrt, &of)) {
            Ok(()) => Ok(made),
            Err(error) => Err(code(&error)),
        }
    };
    match (differentiate(Derivative::Jvp, &wrt), differentiate(Derivative::Vjp, &wrt)) {
        (Ok(forward), Ok(_)) if is_constant(&forward) => Differentiated::Zero,
        (Ok(_), Ok(_)) => Differentiated::Yes,
        (Ok(_), Err(code)) => Differentiated::Forward(code),
        (Err(code), _) if wrt.iter().any(|&i| differentiate(Derivative::Vjp, &[i]).is_ok()) => {
            Differentiated::Partly(code)
        }
        (Err(code), _) => Differentiated::Refused(code),
    }
}

fn can_change(module: &Module, ty: TypeId) -> bool {
    let class = module.types.as_tensor(ty).map(|ty| ty.dtype.class());
    matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
}

/// Whether the entry function returns only constants.
fn is_constant(module: &Module) -> bool {
    let body = module.entry().and_then(|entry| module.funcs[entry].body);
    let Some(end) = body.and_then(|body| module.terminator(body)) else { return false };
    let is_made =
        |&v: &ValueId| module.def_op(v).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)));
    module.ops[end].operands.iter().all(is_made)
}

fn code(error: &crate::Error) -> &'static str {
    error.diagnostics().first().map_or("SH1001", |first| first.code)
}
