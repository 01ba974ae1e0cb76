//! I17: types that are sound by themselves.

use cranelift_entity::EntityRef;

use super::Report;
use crate::{DYNAMIC, Module, OpId, Span, TensorType, Type, TypeId};

/// A fault is reported at the first function or operation that has a value of the type.
pub(super) fn check(report: &mut Report<'_>, order: &[OpId]) {
    let module = report.module;
    let mut faults: Vec<Option<String>> =
        (0..module.types.len()).map(|i| fault(module, TypeId::new(i))).collect();
    if faults.iter().all(Option::is_none) {
        return;
    }
    for func in module.funcs.values() {
        for &ty in func.params.iter().chain(&func.results) {
            if let Some(message) = take(module, &mut faults, ty) {
                report.invalid("SH0217", func.span, message);
            }
        }
    }
    for &id in order {
        let op = &module.ops[id];
        let args = op.regions.iter().flat_map(|&r| &module.regions[r].args);
        for &value in op.results.iter().chain(args) {
            if let Some(message) = take(module, &mut faults, module.values[value].ty) {
                report.at_op("SH0217", id, message);
            }
        }
    }
    // A type that no value has: of an attribute.
    for message in faults.into_iter().flatten() {
        report.invalid("SH0217", Span::NONE, message);
    }
}

/// The fault of a type or of an item of it, if it was not reported yet.
fn take(module: &Module, faults: &mut [Option<String>], ty: TypeId) -> Option<String> {
    let mut stack = vec![ty];
    while let Some(ty) = stack.pop() {
        if let Some(message) = faults.get_mut(ty.index()).and_then(Option::take) {
            return Some(message);
        }
        if let Type::Tuple(items) = module.types.get(ty) {
            stack.extend(items);
        }
    }
    None
}

fn fault(module: &Module, ty: TypeId) -> Option<String> {
    match module.types.get(ty) {
        Type::Tensor(tensor) => tensor_fault(tensor),
        Type::Other(text) => future_fault(text),
        Type::Quantized(_) | Type::Token | Type::Tuple(_) => None,
    }
}

fn tensor_fault(tensor: &TensorType) -> Option<String> {
    let list = tensor.bounds()?;
    if list.len() != tensor.rank() {
        return Some(format!("{tensor} has bounds of {} dimensions, it has {}", list.len(), tensor.rank()));
    }
    let fixed = |&(_, (&size, &bound)): &(usize, (&i64, &i64))| size != DYNAMIC && bound != DYNAMIC;
    let (d, _) = tensor.shape.iter().zip(list).enumerate().find(fixed)?;
    Some(format!("dimension {d} of {tensor} has a size and a bound; write `?` for the bound"))
}

/// What an asynchronous operation promises are tensors.
fn future_fault(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix("!stablehlo.future<")?.strip_suffix('>')?;
    while !rest.trim().is_empty() {
        let mut depth = 0usize;
        let end = rest.find(|c| {
            match c {
                '<' | '(' | '[' => depth += 1,
                '>' | ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        });
        let item = rest.get(..end.unwrap_or(rest.len()))?.trim();
        if !item.starts_with("tensor<") && !item.starts_with('!') {
            return Some(format!("{text} has the item {item}, a future is of tensors"));
        }
        rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or("");
    }
    None
}
