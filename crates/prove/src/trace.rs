//! Which values of the partitioned program consist of elements of values of the original.
//!
//! Both programs run in exact arithmetic, where different real numbers are equal only by chance. The elements of a block, a shift or a
//! permutation of a value of the original are elements of the original, and so are the sums of partial results over the devices. A wrong
//! operation computes elements that the original does not have, and so does everything after it. Positions are not compared. Integers and
//! truth values have few elements, and are not compared at all.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashSet};
use shardc_interpreter::{Data, Exact, Field, Number, Value};
use shardc_ir::{EntityRef, Module, OpId, OpKind, Type, ValueId};

use crate::boundary::{AxisDigit, Boundary};
use crate::exact::Test;

/// A relation between the elements of a value and those of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// They are elements of the original.
    Known,
    /// Their combinations over some axes of the mesh are elements of the original.
    Partial,
    /// Some are not elements of the original.
    Other,
}

/// The most elements of all values of a program together.
const MOST: u64 = 1 << 25;
/// The number of elements of the original that are stored; of more elements, a sample.
const STORED: u64 = 1 << 21;

/// The elements of each value of the partitioned program, where they are known; `None` if the programs are too large.
pub(crate) fn elements(test: &Test<'_>, partitioned: &Module) -> Option<Vec<Option<Elements>>> {
    let (original, all) = observed(test.original(), 1)?;
    let (local, values) = observed(partitioned, test.positions().len() as u64)?;
    let results = test.run_original(&original).ok()?;
    let devices = test.run(&local).ok()?;
    let all_arrays = || test.inputs().iter().chain(results.iter().filter_map(Value::as_array));
    let count: u64 = all_arrays().map(|array| array.len() as u64).sum();
    let step = (count / STORED).max(1);
    let mut known = FxHashSet::default();
    // Neutral elements of masks and padding.
    known.extend([Field::default(), Field::one()].map(key));
    for array in all_arrays() {
        known.extend(reals(array.data()).into_iter().map(key).filter(|key| key.is_multiple_of(step)));
    }
    let is_known = |element: &Field| {
        let key = key(*element);
        !key.is_multiple_of(step) || known.contains(&key)
    };
    let subsets = subsets(test.boundary());
    let mut found = vec![None; partitioned.values.len()];
    let first = devices.first()?.len().checked_sub(values.len())?;
    debug_assert_eq!(results.len(), all.len() + test.boundary().outputs.len());
    for (at, value) in values.into_iter().enumerate() {
        let rows: Vec<Vec<Field>> = devices
            .iter()
            .filter_map(|results| results.get(first + at)?.as_array())
            .map(|array| reals(array.data()))
            .collect();
        if rows.len() != devices.len() || rows.iter().all(Vec::is_empty) {
            continue;
        }
        let are_known = rows.iter().flatten().all(is_known);
        let is_partial = |digits: &Vec<AxisDigit>| {
            [Field::plus as fn(Field, Field) -> Field, Field::larger, Field::smaller].into_iter().any(
                |join| {
                    combined(&rows, test.positions(), digits, join).iter().all(|row| row.iter().all(is_known))
                },
            )
        };
        found[value.index()] = Some(if are_known {
            Elements::Known
        } else if subsets.iter().any(is_partial) {
            Elements::Partial
        } else {
            Elements::Other
        });
    }
    Some(found)
}

/// A program that also returns the values of its entry function; `None` if they have too many elements on all devices.
fn observed(module: &Module, devices: u64) -> Option<(Module, Vec<ValueId>)> {
    let entry = module.entry()?;
    let body = module.funcs[entry].body?;
    let (&last, ops) = module.regions[body].ops.split_last()?;
    let mut values = Vec::new();
    let mut elements = 0u64;
    for &value in ops.iter().flat_map(|&op: &OpId| &module.ops[op].results) {
        let Type::Tensor(ty) = module.types.get(module.values[value].ty) else { continue };
        if ty.dtype.is_float() && ty.is_static() {
            elements += ty.shape.iter().map(|&size| size.max(0) as u64).product::<u64>();
            values.push(value);
        }
    }
    if elements.saturating_mul(devices) > MOST || !matches!(module.ops[last].kind, OpKind::Return) {
        return None;
    }
    let mut observed = module.clone();
    for &value in &values {
        observed.ops[last].operands.push(value);
        observed.funcs[entry].results.push(module.values[value].ty);
    }
    Some((observed, values))
}

fn key(element: Field) -> u64 {
    FxBuildHasher.hash_one(element)
}

/// The real elements of an array; integers have none.
fn reals(data: &Data<Exact>) -> Vec<Field> {
    match data {
        Data::F32(list) | Data::F64(list) => list.clone(),
        _ => Vec::new(),
    }
}

/// The digits of positions in the mesh that blocks have, split at common boundaries, and their combinations.
pub(crate) fn subsets(boundary: &Boundary) -> Vec<Vec<AxisDigit>> {
    let blocks = boundary.inputs.iter().chain(&boundary.outputs);
    let digits = blocks.flat_map(|block| block.axes.iter().flatten());
    let mut cuts: Vec<u64> = digits.flat_map(|digit| [digit.stride, digit.stride * digit.size]).collect();
    let devices = boundary.device_ids.len() as u64;
    cuts.push(devices);
    cuts.sort_unstable();
    // Digits are disjoint only if each boundary divides the next one.
    let mut chain = vec![1];
    for cut in cuts {
        let last = chain.last().copied().unwrap_or(1);
        if cut > last && cut.is_multiple_of(last) && devices.is_multiple_of(cut) {
            chain.push(cut);
        }
    }
    let digits: Vec<AxisDigit> =
        chain.windows(2).map(|pair| AxisDigit { stride: pair[0], size: pair[1] / pair[0] }).collect();
    let sets = 1u32..1 << digits.len().min(4);
    let set = |bits: u32| (0..).zip(&digits).filter(move |(at, _)| bits >> at & 1 == 1);
    sets.map(|bits| set(bits).map(|(_, digit)| *digit).collect()).collect()
}

/// Combines the elements of the devices that differ only in these digits of their positions.
fn combined(
    rows: &[Vec<Field>],
    positions: &[u64],
    digits: &[AxisDigit],
    join: fn(Field, Field) -> Field,
) -> Vec<Vec<Field>> {
    let mut groups: Vec<(u64, Vec<Field>)> = Vec::new();
    for (row, &position) in rows.iter().zip(positions) {
        let own = digits
            .iter()
            .fold(position, |rest, digit| rest - position / digit.stride % digit.size * digit.stride);
        match groups.iter_mut().find(|(group, _)| *group == own) {
            Some((_, sum)) => sum.iter_mut().zip(row).for_each(|(sum, &element)| *sum = join(*sum, element)),
            None => groups.push((own, row.clone())),
        }
    }
    groups.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use shardc_ir::ReductionKind;

    use super::*;
    use crate::boundary::Block;

    #[test]
    fn digits_of_different_meshes_are_disjoint() {
        // Twelve devices as 4 x 3 and as 6 x 2.
        let block = |stride, size| Block {
            global: vec![12],
            local: vec![12 / size],
            axes: vec![vec![AxisDigit { stride, size }]],
            unreduced: Vec::new(),
            reduction: ReductionKind::Add,
        };
        let inputs = vec![block(3, 4), block(1, 3), block(2, 6), block(1, 2)];
        let boundary =
            Boundary { are_partitions: false, device_ids: (0..12).collect(), inputs, outputs: Vec::new() };
        let rows: Vec<Vec<Field>> = (0..12).map(|_| vec![Field::one()]).collect();
        let positions: Vec<u64> = (0..12).collect();
        for digits in subsets(&boundary) {
            let size: u64 = digits.iter().map(|digit| digit.size).product();
            let groups = combined(&rows, &positions, &digits, Field::plus);
            assert_eq!(groups.len() as u64 * size, 12, "{digits:?}");
        }
    }
}
