//! Custom calls that represent operations with shape operands.
//!
//! JAX emits `@shape_assertion` for conditions on symbolic dimensions, and `@stablehlo.dynamic_*` for dynamic operations that StableHLO
//! lacks. It sets the attribute `indices_of_shape_operands` on calls with operands that specify the result shapes.

use shardc_ir::{
    Attr, Build, CustomCallSpec, Diagnostic, Module, Op, OpId, OpKind, Rewriter, RngAlgorithm, Shape,
    SizeList, Type, TypeId, ValueId, ValueMap, WindowSpec, clone_region, infer_types,
};
use smallvec::SmallVec;

use super::integers::Integers;
use super::types::{is_dynamic, refine};

const ASSERTION: &str = "shape_assertion";
const WRAPPER: &str = "stablehlo.shape_refinement_operand_wrapper";
const SHAPE_OPERANDS: &str = "indices_of_shape_operands";

/// Whether an operation is a custom call that shape refinement removes, or whose result types it refines.
pub(super) fn is_refined(op: &Op) -> bool {
    let OpKind::CustomCall(spec) = &op.kind else { return false };
    matches!(&*spec.target, ASSERTION | WRAPPER)
        || spec.target.starts_with("stablehlo.dynamic_")
        || op.attrs.get(SHAPE_OPERANDS).is_some()
}

/// Removes, replaces or refines the current operation if it is a custom call for shapes (see the module documentation). Returns whether the
/// operation was removed or replaced.
///
/// # Errors
/// Returns SH0352 if the operation is a shape assertion that does not hold.
pub(super) fn refine_call(
    rw: &mut Rewriter<'_>,
    op: OpId,
    integers: &Integers,
) -> Result<bool, Box<Diagnostic>> {
    let module = &*rw.module;
    let OpKind::CustomCall(spec) = module.ops[op].kind.clone() else { return Ok(false) };
    let done = match &*spec.target {
        ASSERTION => return assertion(rw, op, integers),
        WRAPPER => match module.ops[op].operands.first().copied() {
            Some(operand) => {
                rw.replace(&[operand]);
                Some(())
            }
            None => None,
        },
        "stablehlo.dynamic_reduce_window" => reduce_window(rw, op, &spec, integers),
        "stablehlo.dynamic_rng_bit_generator" => rng_bit_generator(rw, op, integers),
        "stablehlo.dynamic_top_k" => top_k(rw, op, integers),
        _ => {
            shape_operands(rw.module, op, spec, integers);
            None
        }
    };
    Ok(done.is_some())
}

/// Removes a shape assertion if it is known to hold. Returns whether the assertion was removed.
fn assertion(rw: &mut Rewriter<'_>, op: OpId, integers: &Integers) -> Result<bool, Box<Diagnostic>> {
    let data = &rw.module.ops[op];
    let Some((&condition, inputs)) = data.operands.split_first() else { return Ok(false) };
    match integers.of(rw.module, condition).as_deref() {
        Some([0]) => {
            let message = match data.attrs.get("error_message") {
                Some(Attr::Str(text)) => text.to_string(),
                _ => "a shape assertion of the program does not hold".to_owned(),
            };
            let numbers = inputs.iter().map(|&input| integers.of(rw.module, input));
            let message = numbers.enumerate().fold(message, |text, (i, number)| match number.as_deref() {
                Some([n]) => text.replace(&format!("{{{i}}}"), &n.to_string()),
                _ => text,
            });
            let message = message.trim().trim_end_matches('.').to_owned();
            Err(Box::new(Diagnostic::invalid("SH0352", message).at(data.span)))
        }
        Some(_) => {
            rw.erase();
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Replaces `@stablehlo.dynamic_reduce_window`, whose operands are inputs, initial values, window, strides, base dilations, window
/// dilations and padding, and whose called function is the reducer.
fn reduce_window(rw: &mut Rewriter<'_>, op: OpId, spec: &CustomCallSpec, integers: &Integers) -> Option<()> {
    let module = &*rw.module;
    let operands = module.ops[op].operands.clone();
    let inputs = operands.len().checked_sub(5)?;
    let list = |i: usize| integers.of(module, *operands.get(inputs + i)?);
    let padding = list(4)?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let window = WindowSpec {
        dimensions: list(0)?,
        strides: list(1)?,
        base_dilations: list(2)?,
        window_dilations: list(3)?,
        padding,
    };
    let Some(Attr::Array(called)) = spec.props.get("called_computations") else { return None };
    let [Attr::Symbol(name)] = called.as_slice() else { return None };
    let &func = module.func_names.get(name)?;
    let body = module.funcs[func].body?;
    let reducer = clone_region(rw.module, body, &mut ValueMap::new());
    replace_with(rw, op, OpKind::ReduceWindow(Box::new(window)), operands.get(..inputs)?, &[reducer])
}

/// Replaces a call that generates random bits. Its operands are the state of the generator and the shape of the bits.
fn rng_bit_generator(rw: &mut Rewriter<'_>, op: OpId, integers: &Integers) -> Option<()> {
    let algorithm = match rw.module.ops[op].attrs.get("rng_algorithm")? {
        Attr::Raw(text) => RngAlgorithm::ALL.iter().copied().find(|a| text.contains(a.as_str()))?,
        _ => return None,
    };
    let data = &rw.module.ops[op];
    let (&[state, shape], &[new_state, bits]) = (data.operands.as_slice(), data.results.as_slice()) else {
        return None;
    };
    let sizes = integers.of(rw.module, shape).filter(|sizes| sizes.iter().all(|&n| n >= 0))?;
    refine(rw.module, bits, &sizes);
    let types = [new_state, bits].map(|value| rw.module.values[value].ty);
    let made = rw.op(OpKind::RngBitGenerator { algorithm }, &[state], &types, &[]);
    take_results(rw, op, made);
    Some(())
}

/// Replaces a call of top-k. Its operands are the tensor and the number `k`.
fn top_k(rw: &mut Rewriter<'_>, op: OpId, integers: &Integers) -> Option<()> {
    let &[operand, k] = rw.module.ops[op].operands.as_slice() else { return None };
    let k = *integers.of(rw.module, k)?.first()?;
    replace_with(rw, op, OpKind::TopK { k, stable: None }, &[operand], &[])
}

/// Replaces the current operation by one whose result types are inferred.
fn replace_with(
    rw: &mut Rewriter<'_>,
    op: OpId,
    kind: OpKind,
    operands: &[ValueId],
    regions: &[shardc_ir::RegionId],
) -> Option<()> {
    let types: SmallVec<[TypeId; 2]> = infer_types(rw.module, &kind, operands, regions).ok()?;
    if types.len() != rw.module.ops[op].results.len() {
        return None;
    }
    let made = rw.op(kind, operands, &types, regions);
    take_results(rw, op, made);
    Some(())
}

/// Replaces the results of the current operation by those of `made`, with their shardings.
fn take_results(rw: &mut Rewriter<'_>, op: OpId, made: OpId) {
    let (old, new) = (rw.module.ops[op].results.clone(), rw.module.ops[made].results.clone());
    for (&old, &new) in old.iter().zip(&new) {
        let sharding = rw.module.shardings.of(old);
        rw.module.shardings.set(new, sharding);
    }
    rw.replace(&new);
}

/// Refines the result types of a call that has one shape operand for each result. If all shapes are known, the shape operands are removed,
/// with their layouts and the attribute that lists them.
fn shape_operands(module: &mut Module, op: OpId, mut spec: Box<CustomCallSpec>, integers: &Integers) {
    let Some(Attr::Raw(text)) = module.ops[op].attrs.get(SHAPE_OPERANDS) else { return };
    let places = numbers(text);
    let (operands, results) = (module.ops[op].operands.clone(), module.ops[op].results.clone());
    if places.is_empty() || places.len() != results.len() {
        return;
    }
    for (&place, &result) in places.iter().zip(&results) {
        let sizes: Option<SizeList> = operands.get(place).and_then(|&v| integers.of(module, v));
        if let Some(sizes) = sizes.filter(|sizes| sizes.iter().all(|&n| n >= 0)) {
            let shape: Shape = sizes.into_iter().collect();
            refine(module, result, &shape);
        }
    }
    let types = || operands.iter().chain(&results).map(|&value| module.values[value].ty);
    if types().any(|ty| is_dynamic(module, ty) || matches!(module.types.get(ty), Type::Other(_))) {
        return;
    }
    module.ops[op].attrs.remove(SHAPE_OPERANDS);
    if let Some(Attr::Array(layouts)) = spec.props.get("operand_layouts").cloned()
        && layouts.len() == operands.len()
    {
        let kept = layouts.into_iter().enumerate().filter(|(i, _)| !places.contains(i));
        spec.props.set("operand_layouts", Attr::Array(kept.map(|(_, layout)| layout).collect()));
    }
    let kept = operands.iter().enumerate().filter(|(i, _)| !places.contains(i));
    let kept = kept.map(|(_, &value)| value).collect();
    module.ops[op].operands = kept;
    module.ops[op].kind = OpKind::CustomCall(spec);
}

/// Returns the elements of a tensor attribute in text form, such as `dense<[1, 2]> : tensor<2xi64>`.
fn numbers(text: &str) -> Vec<usize> {
    let elements = text.split_once("dense<").and_then(|(_, rest)| rest.split_once('>'));
    let elements = elements.map_or("", |(elements, _)| elements);
    elements.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}
