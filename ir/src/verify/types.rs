//! Verifies invariant I17 (each type is valid by itself), and the part of invariant I1 about sizes.

use cranelift_entity::EntityRef;

use super::Report;
use crate::floats::power_of_two;
use crate::limits;
use crate::{DType, DYNAMIC, Module, OpId, QuantTensor, Span, TensorType, Type, TypeId};

/// Verifies the part of invariant I1 about sizes, so that passes may compute with sizes without overflow.
pub(super) fn check_sizes(report: &mut Report<'_>, order: &[OpId]) {
    check_each(report, order, "SH0201", size_fault);
}

/// Verifies invariant I17: the constraints on types except sizes.
pub(super) fn check(report: &mut Report<'_>, order: &[OpId]) {
    check_each(report, order, "SH0217", fault);
}

/// Checks each type. An error is reported at the first function or operation that has a value of this type.
fn check_each(
    report: &mut Report<'_>,
    order: &[OpId],
    code: &'static str,
    fault: impl Fn(&Module, TypeId) -> Option<String>,
) {
    let module = report.module;
    // The table contains types and not values: a program with a million values has some hundred types.
    let mut faults: Vec<Option<String>> =
        (0..module.types.len()).map(|i| fault(module, TypeId::new(i))).collect();
    if faults.iter().all(Option::is_none) {
        return;
    }
    for func in module.funcs.values() {
        for &ty in func.params.iter().chain(&func.results) {
            if let Some(message) = take(module, &mut faults, ty) {
                report.invalid(code, func.span, message);
            }
        }
    }
    for &id in order {
        let op = &module.ops[id];
        let args = op.regions.iter().flat_map(|&r| &module.regions[r].args);
        for &value in op.results.iter().chain(args) {
            if let Some(message) = take(module, &mut faults, module.values[value].ty) {
                report.at_op(code, id, message);
            }
        }
    }
    // The remaining types have no values: they occur only in attributes.
    for message in faults.into_iter().flatten() {
        report.invalid(code, Span::NONE, message);
    }
}

/// Takes from `faults` the error in a type, or in an element type of a tuple, and returns it. An error that was taken is not reported
/// again.
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

fn size_fault(module: &Module, ty: TypeId) -> Option<String> {
    let fault = match module.types.get(ty) {
        Type::Tensor(tensor) => tensor.size_fault(),
        Type::Quantized(tensor) => limits::size_fault(&tensor.shape, 8),
        Type::Tuple(_) | Type::Token | Type::Other(_) => None,
    };
    fault.map(|fault| format!("invalid type {}: {fault}", module.types.display(ty)))
}

fn fault(module: &Module, ty: TypeId) -> Option<String> {
    match module.types.get(ty) {
        Type::Tensor(tensor) => tensor_fault(tensor),
        Type::Other(text) if text.starts_with("!stablehlo.future<") => future_fault(text),
        Type::Other(text) => text.starts_with("!stablehlo.").then(|| format!("unknown type {text}")),
        Type::Quantized(tensor) => quant_fault(tensor),
        Type::Token | Type::Tuple(_) => None,
    }
}

/// Checks that zero points fit the storage type, that scales fit the expressed type, and that there is one scale for each
/// index of the quantized dimension.
fn quant_fault(tensor: &QuantTensor) -> Option<String> {
    let element = &tensor.element;
    if let Some(storage) = element.storage
        && let Some(params) =
            element.params().iter().find(|p| !(storage.min..=storage.max).contains(&p.zero_point))
    {
        return Some(format!(
            "the zero point {} of {tensor} is outside the storage range, {} to {}",
            params.zero_point, storage.min, storage.max
        ));
    }
    let range = match element.expressed_dtype() {
        Some(DType::F16) => Some((power_of_two(-14), 65504.0)),
        Some(DType::BF16) => Some((power_of_two(-126), f64::from(f32::MAX))),
        Some(DType::F32) => Some((f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX))),
        _ => None,
    };
    let bad_scale = |scale: f64| {
        !(scale > 0.0 && scale.is_finite())
            || range.is_some_and(|(least, greatest)| scale < least || scale > greatest)
    };
    if let Some(params) = element.params().iter().find(|p| bad_scale(p.scale.value())) {
        let expressed = element.expressed.as_deref().unwrap_or("a float");
        return Some(format!("the scale {} of {tensor} must be a positive {expressed}", params.scale));
    }
    let axis = element.axis()?;
    let Some(&size) = usize::try_from(axis).ok().and_then(|axis| tensor.shape.get(axis)) else {
        return Some(format!(
            "{tensor} has quantization dimension {axis}, but it has {} dimensions",
            tensor.rank()
        ));
    };
    let count = element.params().len();
    (size != DYNAMIC && size != count as i64)
        .then(|| format!("{tensor} has {count} scales, but quantization dimension {axis} has size {size}"))
}

fn tensor_fault(tensor: &TensorType) -> Option<String> {
    let list = tensor.bounds()?;
    if list.len() != tensor.rank() {
        return Some(format!(
            "{tensor} has bounds for {} dimensions, but it has {}",
            list.len(),
            tensor.rank()
        ));
    }
    let fixed = |&(_, (&size, &bound)): &(usize, (&i64, &i64))| size != DYNAMIC && bound != DYNAMIC;
    let (d, _) = tensor.shape.iter().zip(list).enumerate().find(fixed)?;
    Some(format!("dimension {d} of {tensor} has a static size and a bound; write `?` as its bound"))
}

/// Checks that the elements of futures are tensors.
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
            return Some(format!(
                "{text} has the element {item}, but the elements of a future must be tensors"
            ));
        }
        rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or("");
    }
    None
}
