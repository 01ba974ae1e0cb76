//! Verifies invariant I18 for `sdy.sharding_rule`: the rule fits the operands and results of its operation.

use std::fmt::Write as _;

use smallvec::SmallVec;

use super::scan::Scan;
use crate::{Module, Op, OpKind, TensorType, Type, ValueId};

/// For each dimension of one tensor, the indices of its factors.
type Mapping = Vec<SmallVec<[usize; 2]>>;

/// A sharding rule as parsed from its text.
#[derive(Default)]
struct Rule {
    operands: Vec<Mapping>,
    results: Vec<Mapping>,
    sizes: Vec<i64>,
    /// The kinds of special factors (see [`KINDS`]) that the rule lists, each with its factors.
    special: Vec<(&'static str, Vec<usize>)>,
}

const KINDS: [&str; 4] = ["reduction", "need_replication", "permutation", "blocked_propagation"];

/// Describes the error in a sharding rule, as part of a sentence; `None` if the rule fits the operation.
pub(super) fn fault(module: &Module, op: &Op, text: &str) -> Option<String> {
    match read(text) {
        Some(rule) => check(module, op, &rule).err(),
        None => Some("must have the form `([i, k], [k, j])->([i, j]) {i=8, j=4, k=2}`".to_owned()),
    }
}

/// Parses the name of a factor and returns its index: names are `i` to `z`, then `z_1`, `z_2`, ...
fn symbol(scan: &mut Scan<'_>) -> Option<usize> {
    let letter = scan.rest().bytes().next().filter(|b| (b'i'..=b'z').contains(b))?;
    scan.skip(1);
    if letter == b'z' && scan.eat_here("_").is_some() {
        // Factor indices are counted from `i`: `z` is factor 17, and `z_1` is factor 18.
        return scan.digits()?.parse::<usize>().ok()?.checked_add(usize::from(b'z' - b'i'));
    }
    Some(usize::from(letter - b'i'))
}

fn name(factor: usize) -> String {
    match u8::try_from(factor).ok().filter(|&f| f <= b'z' - b'i') {
        Some(letter) => char::from(b'i' + letter).to_string(),
        None => {
            let mut out = String::from("z_");
            let _ = write!(out, "{}", factor - usize::from(b'z' - b'i'));
            out
        }
    }
}

fn mappings(scan: &mut Scan<'_>) -> Option<Vec<Mapping>> {
    let mut out = Vec::new();
    scan.eat("(")?;
    while scan.eat(")").is_none() {
        if !out.is_empty() {
            scan.eat(",")?;
        }
        scan.eat("[")?;
        let mut mapping = Mapping::new();
        while scan.eat("]").is_none() {
            if !mapping.is_empty() {
                scan.eat(",")?;
            }
            let mut factors = SmallVec::new();
            while scan.rest().bytes().next().is_some_and(|b| b.is_ascii_lowercase()) {
                factors.push(symbol(scan)?);
            }
            mapping.push(factors);
        }
        out.push(mapping);
    }
    Some(out)
}

fn read(text: &str) -> Option<Rule> {
    let mut scan = Scan::new(text);
    scan.eat("#sdy.op_sharding_rule<")?;
    let mut rule = Rule { operands: mappings(&mut scan)?, ..Rule::default() };
    scan.eat("->")?;
    rule.results = mappings(&mut scan)?;
    if scan.eat("{").is_some() {
        while scan.eat("}").is_none() {
            if !rule.sizes.is_empty() {
                scan.eat(",")?;
            }
            symbol(&mut scan)?;
            scan.eat("=")?;
            rule.sizes.push(scan.int()?);
        }
    }
    for kind in KINDS {
        if scan.eat(kind).is_none() {
            continue;
        }
        scan.eat("=")?;
        scan.eat("{")?;
        let mut factors = Vec::new();
        while scan.eat("}").is_none() {
            if !factors.is_empty() {
                scan.eat(",")?;
            }
            factors.push(symbol(&mut scan)?);
        }
        rule.special.push((kind, factors));
    }
    if scan.eat(",").is_some() {
        scan.eat("custom")?;
    }
    scan.eat(">")?;
    scan.rest().is_empty().then_some(rule)
}

/// For each dimension of each operand, the dimension of all results that has the same factor, if the operation computes along no part of it:
/// the factor is of no special kind and is alone in its dimensions. `None` if the text is not a rule.
pub(super) fn batch_dims(text: &str) -> Option<Vec<Vec<Option<u32>>>> {
    let rule = read(text)?;
    let is_special = |factor: usize| rule.special.iter().any(|(_, factors)| factors.contains(&factor));
    let result_dim = |factor: usize| {
        let mut dims = rule.results.iter().map(|dims| dims.iter().position(|own| own.as_slice() == [factor]));
        let first = dims.next()??;
        dims.all(|dim| dim == Some(first)).then_some(first as u32)
    };
    let of_dim = |factors: &SmallVec<[usize; 2]>| match factors.as_slice() {
        &[factor] if !is_special(factor) => result_dim(factor),
        _ => None,
    };
    Some(rule.operands.iter().map(|dims| dims.iter().map(of_dim).collect()).collect())
}

fn check(module: &Module, op: &Op, rule: &Rule) -> Result<(), String> {
    let count = rule.sizes.len();
    let mut in_operands = vec![false; count];
    let mut in_results = vec![false; count];
    tensors(module, "operand", &op.operands, &rule.operands, &rule.sizes, &mut in_operands)?;
    tensors(module, "result", &op.results, &rule.results, &rule.sizes, &mut in_results)?;
    // Sizes are checked only for custom calls: their semantics are unknown, so the rule alone determines the local size of the result. For
    // other operations, passes write rules in which a dimension may have other sizes than its factors.
    if matches!(op.kind, OpKind::CustomCall(_)) {
        sizes_fit(module, "operand", &op.operands, &rule.operands, rule)?;
        sizes_fit(module, "result", &op.results, &rule.results, rule)?;
    }
    if let Some(factor) = (0..count).find(|&f| !in_operands[f] && !in_results[f]) {
        return Err(format!("has the factor {}, but no operand or result uses it", name(factor)));
    }
    let mut taken = vec![false; count];
    for (kind, factors) in &rule.special {
        if let Some(&factor) = factors.iter().find(|&&f| f >= count) {
            return Err(format!("has the {kind} factor {}, but no size for it", name(factor)));
        }
        if let Some(pair) = factors.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!(
                "must list its {kind} factors in ascending order, got {} before {}",
                name(pair[0]),
                name(pair[1])
            ));
        }
        if *kind == "blocked_propagation" {
            continue;
        }
        for &factor in factors {
            if std::mem::replace(&mut taken[factor], true) {
                return Err(format!("lists the factor {} as {kind} and as another kind", name(factor)));
            }
            if *kind == "reduction" && in_results[factor] {
                return Err(format!("has the reduction factor {} in a result", name(factor)));
            }
        }
    }
    Ok(())
}

/// Checks that the factors of all operands or all results fit their dimensions.
fn tensors(
    module: &Module,
    what: &str,
    values: &[ValueId],
    mappings: &[Mapping],
    sizes: &[i64],
    seen: &mut [bool],
) -> Result<(), String> {
    if values.len() != mappings.len() {
        return Err(format!(
            "has factors for {} {what}s, but the operation has {}",
            mappings.len(),
            values.len()
        ));
    }
    for (i, (&value, mapping)) in values.iter().zip(mappings).enumerate() {
        let ty = module.values[value].ty;
        let rank = match (module.types.get(ty), module.types.stored(ty)) {
            (_, Some(tensor)) if TensorType::is_static(tensor) => tensor.rank(),
            (Type::Other(text), None) if !text.contains(['*', '?']) => mapping.len(),
            _ => {
                let ty = module.types.display(ty);
                return Err(format!("needs static shapes, but {what} {i} is {ty}"));
            }
        };
        if mapping.len() != rank {
            return Err(format!(
                "has factors for {} dimensions of {what} {i}, which has rank {rank}",
                mapping.len()
            ));
        }
        let mut here = vec![false; sizes.len()];
        for (d, factors) in mapping.iter().enumerate() {
            if factors.is_empty() {
                return Err(format!("has no factor for dimension {d} of {what} {i}"));
            }
            for &factor in factors {
                let Some(&size) = sizes.get(factor) else {
                    return Err(format!("has the factor {} in {what} {i}, but no size for it", name(factor)));
                };
                if size == 1 && factors.len() > 1 {
                    return Err(format!(
                        "has the factor {} of size 1 together with other factors in dimension {d} of {what} {i}",
                        name(factor)
                    ));
                }
                if std::mem::replace(&mut here[factor], true) {
                    return Err(format!("has the factor {} twice in {what} {i}", name(factor)));
                }
                seen[factor] = true;
            }
        }
    }
    Ok(())
}

/// Checks that each dimension has as many elements as the product of its factors. Exceptions: a product of 1, a dimension with a factor
/// that is never sharded, and a dimension of an operand whose factors represent blocks of elements and are in no result. In JAX's
/// `scaled_matmul`, a dimension of 64 elements with 2 block scales has a factor of size 2.
fn sizes_fit(
    module: &Module,
    what: &str,
    values: &[ValueId],
    mappings: &[Mapping],
    rule: &Rule,
) -> Result<(), String> {
    let is_special = |factor: &usize| {
        rule.special.iter().any(|(kind, factors)| *kind != "reduction" && factors.contains(factor))
    };
    let is_in_result = |factor: &usize| rule.results.iter().flatten().any(|factors| factors.contains(factor));
    for (i, (&value, mapping)) in values.iter().zip(mappings).enumerate() {
        let ty = module.values[value].ty;
        let Some(tensor) = module.types.stored(ty) else { continue };
        for (d, (factors, &size)) in mapping.iter().zip(&tensor.shape).enumerate() {
            let elements = factors.iter().try_fold(1i64, |n, &f| n.checked_mul(rule.sizes[f]));
            let is_of_blocks =
                elements.is_some_and(|n| n > 0 && size % n == 0) && !factors.iter().any(is_in_result);
            if elements == Some(size) || elements == Some(1) || is_of_blocks || factors.iter().any(is_special)
            {
                continue;
            }
            let names: Vec<String> =
                factors.iter().map(|&f| format!("{}={}", name(f), rule.sizes[f])).collect();
            let ty = module.types.display(ty);
            return Err(format!(
                "has the factors {} for dimension {d} of {what} {i}, which has {size} elements: {ty}",
                names.join(" * ")
            ));
        }
    }
    Ok(())
}
