//! Verifies invariant I16 for `custom_call`: layouts, aliases and configuration fit the call.

use super::Report;
use super::codes::ATTRIBUTE;
use super::scan::Scan;
use crate::{Attr, AttrDict, CustomCallSpec, Module, OpId, Type, TypeId};

pub(super) fn check(report: &mut Report<'_>, id: OpId, spec: &CustomCallSpec) {
    if spec.props.is_empty() {
        return;
    }
    let module = report.module;
    let found = layouts(module, id, &spec.props)
        .and_then(|()| aliases(module, id, &spec.props))
        .and_then(|()| config(&spec.props));
    if let Err((message, hint)) = found {
        report.hinted(ATTRIBUTE, id, format!("custom_call of @{} {message}", spec.target), hint);
    }
}

type Fault = (String, Option<&'static str>);

fn fault(message: String) -> Result<(), Fault> {
    Err((message, None))
}

fn layouts(module: &Module, id: OpId, props: &AttrDict) -> Result<(), Fault> {
    let (operands, results) = match (props.get("operand_layouts"), props.get("result_layouts")) {
        (None, None) => return Ok(()),
        (Some(Attr::Array(operands)), Some(Attr::Array(results))) => (operands, results),
        (Some(_), Some(_)) => return Ok(()),
        (one, _) => {
            let (has, lacks) = if one.is_some() { ("operands", "results") } else { ("results", "operands") };
            return Err((
                format!("has layouts of its {has} but none of its {lacks}"),
                Some("give both operand_layouts and result_layouts, or none"),
            ));
        }
    };
    let op = &module.ops[id];
    let types =
        |values: &[crate::ValueId]| -> Vec<TypeId> { values.iter().map(|&v| module.values[v].ty).collect() };
    let mut made = types(&op.results);
    // If the only result is a tuple, the call lists one layout for each element of the tuple.
    if let [one] = made[..]
        && let Type::Tuple(items) = module.types.get(one)
    {
        made.clone_from(items);
    }
    for (what, types, layouts) in [("operand", types(&op.operands), operands), ("result", made, results)] {
        if types.len() != layouts.len() {
            return fault(format!("has {} {what}s, but {} {what} layouts", types.len(), layouts.len()));
        }
        for (i, (&ty, layout)) in types.iter().zip(layouts).enumerate() {
            let Attr::Raw(text) = layout else { continue };
            let Some(order) = Scan::new(text).dense_list() else { continue };
            let rank = match module.types.get(ty) {
                Type::Tensor(tensor) => tensor.rank(),
                Type::Quantized(tensor) => tensor.rank(),
                Type::Token => 0,
                Type::Tuple(_) => return fault(format!("has a layout for {what} {i}, which is a tuple")),
                Type::Other(_) => continue,
            };
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..rank as i64) {
                let order = order.as_slice();
                let ty = module.types.display(ty);
                return Err((
                    format!("has the layout {order:?} for {what} {i} of type {ty}"),
                    Some(
                        "a layout lists each dimension once, minor to major; the layout of a token is empty",
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// One entry of `output_operand_aliases`.
struct Alias {
    output: smallvec::SmallVec<[i64; 6]>,
    operand: i64,
    within: smallvec::SmallVec<[i64; 6]>,
}

fn read_alias(text: &str) -> Option<Alias> {
    let mut scan = Scan::new(text);
    scan.eat("#stablehlo.output_operand_alias<")?;
    let mut out = Alias { output: Default::default(), operand: 0, within: Default::default() };
    loop {
        let name = scan.word()?;
        scan.eat("=")?;
        match name {
            "output_tuple_indices" => out.output = scan.ints()?,
            "operand_index" => out.operand = scan.int()?,
            "operand_tuple_indices" => out.within = scan.ints()?,
            _ => return None,
        }
        if scan.eat(",").is_none() {
            return Some(out);
        }
    }
}

/// Returns the type of the element at index path `path` of nested tuples. If an index of the path is out of range, that index is the error.
fn item(module: &Module, mut ty: TypeId, path: &[i64]) -> Result<TypeId, i64> {
    for &at in path {
        let Type::Tuple(items) = module.types.get(ty) else { return Err(at) };
        ty = usize::try_from(at).ok().and_then(|i| items.get(i)).copied().ok_or(at)?;
    }
    Ok(ty)
}

fn aliases(module: &Module, id: OpId, props: &AttrDict) -> Result<(), Fault> {
    let Some(Attr::Array(list)) = props.get("output_operand_aliases") else { return Ok(()) };
    let op = &module.ops[id];
    for (i, entry) in list.iter().enumerate() {
        let Attr::Raw(text) = entry else { continue };
        let Some(alias) = read_alias(text) else { continue };
        let Some(&operand) = usize::try_from(alias.operand).ok().and_then(|i| op.operands.get(i)) else {
            return fault(format!(
                "aliases operand {} in output_operand_aliases, but has {} operands",
                alias.operand,
                op.operands.len()
            ));
        };
        let bad = |what: &str, at: i64| (format!("has no element {at} in {what} {i}"), None);
        let operand = item(module, module.values[operand].ty, &alias.within)
            .map_err(|at| bad("the operand of alias", at))?;
        // If the call has several results, the first index of an alias selects the result, as if the results were one tuple.
        let results: Vec<TypeId> = op.results.iter().map(|&v| module.values[v].ty).collect();
        let (first, path) = match (&results[..], alias.output.split_first()) {
            (&[], _) => return fault("aliases a result, but has no results".to_owned()),
            (&[one], _) => (Some(one), &alias.output[..]),
            (many, Some((&at, path))) => (usize::try_from(at).ok().and_then(|i| many.get(i)).copied(), path),
            (_, None) => return fault(format!("has alias {i} without a result index")),
        };
        let first = first.ok_or_else(|| bad("the results of alias", alias.output[0]))?;
        let output = item(module, first, path).map_err(|at| bad("the result of alias", at))?;
        if operand != output {
            return fault(format!(
                "aliases an operand of type {} with a result of type {}: the types must be equal",
                module.types.display(operand),
                module.types.display(output)
            ));
        }
    }
    Ok(())
}

/// The API version whose configuration is a dictionary.
const TYPED_FFI: i64 = 4;

fn config(props: &AttrDict) -> Result<(), Fault> {
    let Some(config) = props.get("backend_config") else { return Ok(()) };
    let version = match props.get("api_version") {
        None => 1,
        Some(Attr::Int(version, _)) => *version,
        Some(_) => return Ok(()),
    };
    let (want, fits) = if version == TYPED_FFI {
        ("a dictionary", matches!(config, Attr::Dict(_)))
    } else {
        let text =
            matches!(config, Attr::Str(_)) || matches!(config, Attr::Raw(text) if text.starts_with('"'));
        ("a string", text)
    };
    if fits {
        return Ok(());
    }
    Err((
        format!("has a backend_config that is not {want}, as api_version {version} requires"),
        Some("api_version 4 (typed FFI) needs a dictionary, other versions a string"),
    ))
}
