//! Expands reshapes that merge or split a dimension whose size is not divisible by its axes.
//!
//! A device's block of rows of the operand then contains other elements than its block of the result. The dimension of `n` rows of `m`
//! elements is padded to `k` equal blocks of complete rows, and reshaped. A second `pad`, whose high padding may be negative, produces the
//! equal blocks of the result. The second `pad` moves block boundaries by a halo exchange.
//!
//! Condition: the same axes shard operand and result along the major dimension of one group of dimensions, and at least one of the two
//! unevenly.
//!
//! ```mlir
//! %0 = stablehlo.reshape %a : (tensor<10x4xf32>) -> tensor<40xf32>       // [{"x"}, {}] to [{"x"}], "x"=4
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.pad %a, %zero, low = [0, 0], high = [2, 0], ...         // 4 blocks of 3 rows
//! %2 = stablehlo.reshape %1 : (tensor<12x4xf32>) -> tensor<48xf32>
//! %0 = stablehlo.pad %2, %zero, low = [0], high = [-8], ...              // 4 blocks of 10 elements
//! ```

use shardc_ir::{DType, DimSharding, OpKind, PadSpec, SizeList, SliceSpec, ValueId};

use super::Steps;
use crate::cost::Costs;
use crate::windows::{Along, Exchange, transfers};

/// Consecutive dimensions of the operand that become consecutive dimensions of the result, as half-open ranges.
struct ReshapeGroup {
    from: (usize, usize),
    to: (usize, usize),
}

impl ReshapeGroup {
    /// Returns the group's first dimension with more than one element in the operand, and the first such dimension in the result. `None` if
    /// the operand or the result has no such dimension.
    fn major(&self, input: &[i64], output: &[i64]) -> Option<(usize, usize)> {
        let first = |(start, end): (usize, usize), shape: &[i64]| (start..end).find(|&d| shape[d] > 1);
        Some((first(self.from, input)?, first(self.to, output)?))
    }
}

/// Returns the smallest groups of dimensions with equal numbers of elements in operand and result, by a two-pointer walk that extends the
/// range with the smaller product. Trailing dimensions of size one are in no group.
fn groups(input: &[i64], output: &[i64]) -> Vec<ReshapeGroup> {
    let (mut from, mut to) = (0, 0);
    let mut out = Vec::new();
    while from < input.len() && to < output.len() {
        let start = (from, to);
        let (mut a, mut b) = (input[from], output[to]);
        (from, to) = (from + 1, to + 1);
        while a != b {
            if a < b && from < input.len() {
                a *= input[from];
                from += 1;
            } else if a > b && to < output.len() {
                b *= output[to];
                to += 1;
            } else {
                return Vec::new();
            }
        }
        out.push(ReshapeGroup { from: (start.0, from), to: (start.1, to) });
    }
    out
}

impl Steps<'_, '_> {
    /// Expands a reshape whose operand and result are sharded by the same axes along the major dimension of one group, at least one of the
    /// two unevenly.
    pub(super) fn reshape(&mut self) -> Option<()> {
        let (operand, result) =
            (*self.rw.module.ops[self.at].operands.first()?, self.rw.module.ops[self.at].results[0]);
        let (input, output) =
            (self.rw.module.tensor(operand)?.clone(), self.rw.module.tensor(result)?.clone());
        let (from, to) = (self.dims(operand)?, self.dims(result)?);
        if input.shape.contains(&0) || !input.is_static() || !output.is_static() {
            return None;
        }
        let mesh = &self.rw.module.meshes[self.mesh];
        let fits = |group: &ReshapeGroup| {
            let (d, p) = group.major(&input.shape, &output.shape)?;
            let alone = |(start, end): (usize, usize), major: usize, dims: &[DimSharding]| {
                (start..end).all(|d| d == major || dims[d].axes.is_empty())
            };
            let k = mesh.axes_size(&from[d].axes);
            // If operand and result are evenly sharded, each device reshapes its block, as the sharding rule specifies.
            let uneven = input.shape[d] % k != 0 || output.shape[p] % k != 0;
            let changes = input.shape[d] != output.shape[p];
            (from[d].axes == to[p].axes
                && uneven
                && changes
                && alone(group.from, d, &from)
                && alone(group.to, p, &to))
            .then_some((d, p, k))
        };
        let groups = groups(&input.shape, &output.shape);
        let (group, (d, p, k)) = groups.iter().find_map(|g| Some((g, fits(g)?)))?;
        // `rows` returns the size of a dimension of `n` elements after it is padded to `k` equal blocks.
        let rows = |n: i64| (n + k - 1) / k * k;
        let (row_in, row_out) = (
            input.shape[d + 1..group.from.1].iter().product::<i64>(),
            output.shape[p + 1..group.to.1].iter().product::<i64>(),
        );
        let (held, wanted) = (rows(input.shape[d]) * row_in, rows(output.shape[p]) * row_out);
        // Example: `[10, 4]` to `[40]` over 4 devices. Blocks of 3 rows have 12 elements each, 48 in all; blocks of the result have 10.
        // Only block boundaries differ between operand and result. `flat` returns the shape in which one dimension of `n` elements replaces
        // the group.
        let flat = |n: i64| -> Vec<i64> {
            let (before, behind) = (&output.shape[..group.to.0], &output.shape[group.to.1..]);
            before.iter().copied().chain([n]).chain(behind.iter().copied()).collect()
        };
        let mut flat_dims: Vec<DimSharding> = to[..group.to.0].to_vec();
        flat_dims.push(to[p].clone());
        flat_dims.extend(to[group.to.1..].iter().cloned());
        let at = group.to.0;
        let pad = |n: i64, dim: usize, rank: usize| {
            let none = SizeList::from_elem(0, rank);
            let mut high = none.clone();
            high[dim] = n;
            OpKind::Pad(Box::new(PadSpec { low: none.clone(), high, interior: none }))
        };
        // This `pad` adds or removes only padding: operand and result have the same elements, starting at the first.
        let moves = pad(wanted - held, at, flat(held).len());
        if wanted != held && !can_move(&moves, [&flat(held), &flat(wanted)], at, k, self.costs) {
            return None;
        }

        let fill = self.nothing(input.dtype);
        let mut shape = input.shape.to_vec();
        let mut value = operand;
        if rows(shape[d]) != shape[d] {
            let kind = pad(rows(shape[d]) - shape[d], d, shape.len());
            shape[d] = rows(shape[d]);
            value = self.emit(kind, &[value, fill], &shape, input.dtype, &from);
        }
        value = self.emit(OpKind::Reshape, &[value], &flat(held), input.dtype, &flat_dims);
        if wanted != held {
            value = self.emit(moves, &[value, fill], &flat(wanted), input.dtype, &flat_dims);
        }
        // The original operation becomes the last step and keeps its source location. If the result is evenly sharded, the last step is a
        // reshape.
        if rows(output.shape[p]) == output.shape[p] {
            self.rw.module.ops[self.at].operands[0] = value;
            return Some(());
        }
        let mut shape = output.shape.to_vec();
        shape[p] = rows(shape[p]);
        value = self.emit(OpKind::Reshape, &[value], &shape, input.dtype, &to);
        let spec = SliceSpec {
            start: SizeList::from_elem(0, shape.len()),
            limit: SizeList::from_slice(&output.shape),
            stride: SizeList::from_elem(1, shape.len()),
        };
        let op = &mut self.rw.module.ops[self.at];
        op.kind = OpKind::Slice(Box::new(spec));
        op.operands[0] = value;
        Some(())
    }

    fn dims(&self, value: ValueId) -> Option<Vec<DimSharding>> {
        Some(self.rw.module.shardings.sharding_of(value)?.dims.to_vec())
    }

    /// Returns a fill value for elements that are never used.
    fn nothing(&mut self, dtype: DType) -> ValueId {
        self.splat(&vec![0; dtype.bytes()], dtype)
    }
}

/// Whether a halo exchange between neighbors can implement `kind`, a pad along dimension `dim` in `k` blocks.
fn can_move(kind: &OpKind, [from, to]: [&[i64]; 2], dim: usize, k: i64, costs: Costs) -> bool {
    let Some(transfers) = transfers(kind, &[from, &[]], &|_| false, to, Along::Result(dim), k) else {
        return false;
    };
    transfers.iter().all(|t| Exchange::price(&t.held, &t.window, 1.0, costs).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Around, around};

    #[test]
    fn reshape_groups_have_equal_numbers_of_elements() {
        let spans = |a: &[i64], b: &[i64]| -> Vec<((usize, usize), (usize, usize))> {
            groups(a, b).into_iter().map(|g| (g.from, g.to)).collect()
        };
        assert_eq!(spans(&[10, 4, 3], &[40, 3]), [((0, 2), (0, 1)), ((2, 3), (1, 2))]);
        assert_eq!(spans(&[6, 4], &[4, 6]), [((0, 2), (0, 2))]);
        assert_eq!(spans(&[5], &[5]), [((0, 1), (0, 1))]);
        assert!(spans(&[3], &[4]).is_empty());
    }

    /// Expands a reshape of `%a` to `%r`, whose types and shardings are these.
    fn expanded((from, from_dims): (&str, &str), (to, to_dims): (&str, &str)) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<{from}xf32> {{sdy.sharding = #sdy.sharding<@mesh, {from_dims}>}})
                -> (tensor<{to}xf32> {{sdy.sharding = #sdy.sharding<@mesh, {to_dims}>}}) {{
              %c = sdy.sharding_constraint %a <@mesh, {from_dims}> : tensor<{from}xf32>
              %r = stablehlo.reshape %c : (tensor<{from}xf32>) -> tensor<{to}xf32>
              %d = sdy.sharding_constraint %r <@mesh, {to_dims}> : tensor<{to}xf32>
              return %d : tensor<{to}xf32>
            }}"#
        );
        around("expand-sharded-ops", r#""x"=4"#, &program)
    }

    const ROWS: &str = r#"[{"x"}, {}]"#;
    const FLAT: &str = r#"[{"x"}]"#;

    #[test]
    fn rows_that_the_axes_do_not_divide_are_padded_before_they_are_merged() {
        let done = expanded(("10x4", ROWS), ("40", FLAT));
        assert_eq!(done.shardings("stablehlo.pad"), [ROWS, FLAT]);
        assert!(done.after.contains("high = [2, 0]") && done.after.contains("high = [-8]"), "{}", done.after);
    }

    #[test]
    fn rows_that_the_axes_do_not_divide_are_sliced_after_they_are_split() {
        let done = expanded(("40", FLAT), ("10x4", ROWS));
        assert_eq!(done.shardings("stablehlo.pad"), [FLAT]);
        assert_eq!(done.shardings("stablehlo.slice"), [ROWS]);
        assert!(done.after.contains("[0:10, 0:4]"), "{}", done.after);
    }

    #[test]
    fn a_reshape_of_equal_blocks_stays() {
        assert!(expanded(("8x5", ROWS), ("40", FLAT)).is_same());
    }

    #[test]
    fn a_reshape_that_moves_axes_to_another_dimension_stays() {
        assert!(expanded(("10x4", r#"[{}, {"x"}]"#), ("40", FLAT)).is_same());
    }
}
