//! Pairs with fewer positions along [linked dimensions](super::linked).

use shardc_ir::{Module, OpKind, TypeId, ValueId};

use super::Pair;
use super::linked::{Classes, SIDES};
use super::relations::values;

/// The sizes of blocks that are tried: a single position hides the difference of some programs.
const TRIED: [i64; 3] = [1, 2, 4];

/// The pair with smaller dimensions, the smallest first. A difference in one of them is a difference in the pair.
pub(crate) fn smaller(pair: &Pair) -> Vec<Pair> {
    let classes = Classes::new(pair);
    let free = classes.free();
    let mut found = Vec::new();
    for size in TRIED {
        // The new size of a class is a divisor of the old one, so that blocks stay equal.
        let fits = |&(class, old): &(usize, i64)| (old > size).then_some((class, (old, size)));
        let changes: Vec<(usize, (i64, i64))> = free.iter().filter_map(fits).collect();
        if !changes.is_empty() {
            found.push(changed(pair, &classes, &changes));
        }
    }
    found
}

/// The pair in which the sizes of each of these classes are divided by the first number and multiplied with the second.
fn changed(pair: &Pair, classes: &Classes<'_>, changes: &[(usize, (i64, i64))]) -> Pair {
    let mut new = pair.clone();
    for side in SIDES {
        let module = if side == 0 { &mut new.original } else { &mut new.partitioned };
        let size = |value: ValueId, dim: usize, size: i64| {
            let class = classes.class(side, value, dim);
            let change = changes.iter().find(|(own, _)| *own == class);
            change.map_or(size, |(_, (old, new))| size / old * new)
        };
        resize(module, &size);
    }
    let shapes = |module: &Module, types: &[TypeId]| -> Vec<Vec<u64>> {
        let shape = |&ty: &TypeId| module.types.shape_of(ty);
        types.iter().map(|ty| shape(ty).into_iter().flatten().map(|&size| size as u64).collect()).collect()
    };
    let (Some(global), Some(local)) = (new.original.entry(), new.partitioned.entry()) else { return new };
    let (global, local) = (&new.original.funcs[global], &new.partitioned.funcs[local]);
    let globals =
        shapes(&new.original, &global.params).into_iter().chain(shapes(&new.original, &global.results));
    let locals =
        shapes(&new.partitioned, &local.params).into_iter().chain(shapes(&new.partitioned, &local.results));
    let blocks = new.boundary.inputs.iter_mut().chain(&mut new.boundary.outputs);
    for ((block, global), local) in blocks.zip(globals).zip(locals) {
        (block.global, block.local) = (global, local);
    }
    new
}

/// Changes the types of the values of the entry function, and attributes that have sizes.
fn resize(module: &mut Module, size: &dyn Fn(ValueId, usize, i64) -> i64) {
    let Some(entry) = module.entry() else { return };
    let Some(body) = module.funcs[entry].body else { return };
    let ops = module.regions[body].ops.clone();
    for op in ops {
        let Some(&result) = module.ops[op].results.first() else { continue };
        let shape = module.shape(result).to_vec();
        let new = shape.iter().enumerate().map(|(dim, &old)| size(result, dim, old));
        match &mut module.ops[op].kind {
            OpKind::DynamicSlice { sizes } => *sizes = new.collect(),
            OpKind::Slice(spec) => {
                for (dim, (old, new)) in shape.iter().zip(new).enumerate() {
                    spec.limit[dim] += if *old == new { 0 } else { new - old };
                }
            }
            _ => {}
        }
    }
    for value in values(module, body).collect::<Vec<_>>() {
        let Some(ty) = module.tensor(value).cloned() else { continue };
        let shape: Vec<i64> = ty.shape.iter().enumerate().map(|(dim, &old)| size(value, dim, old)).collect();
        if ty.shape[..] != shape[..] {
            module.values[value].ty = module.types.tensor(&shape, ty.dtype);
        }
    }
    let types = |module: &Module, list: &[ValueId]| -> Vec<TypeId> {
        list.iter().map(|value| module.values[*value].ty).collect()
    };
    let params = types(module, &module.regions[body].args.clone());
    let end = module.terminator(body).map(|end| module.ops[end].operands.to_vec());
    let results = types(module, &end.unwrap_or_default());
    (module.funcs[entry].params, module.funcs[entry].results) = (params, results);
}
