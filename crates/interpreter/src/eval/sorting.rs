//! Sorting by a comparison region.
//!
//! The rows along the sorted dimension are sorted together by a merge sort from the bottom up. In each step, one comparison of every pair
//! of runs that is being merged is evaluated at once. A stable order is kept.

use shardc_ir::{CompareDirection, CompareType, OpId, OpKind, RegionId};

use super::frame::Frame;
use super::{Device, Stop, Values};
use crate::array::{Array, Data, Dims};
use crate::error::Fault;
use crate::kernels::moves::transpose;
use crate::numbers::{Domain, Number};
use crate::value::Value;

/// Two adjacent runs that are being merged.
struct Merge {
    left: usize,
    left_end: usize,
    right: usize,
    right_end: usize,
    out: usize,
}

impl<D: Domain> Device<'_, '_, D> {
    /// Sorts all operands together along a dimension.
    pub(super) fn sort(
        &self,
        op: OpId,
        operands: Vec<Array<D>>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let data = &self.module.ops[op];
        let (OpKind::Sort { dim, .. }, Some(&region), Some(first)) =
            (&data.kind, data.regions.first(), operands.first())
        else {
            return Err(Fault::Invalid("a sort without operands".to_owned()).into());
        };
        let rank = first.rank();
        let dim = dim.unwrap_or(-1);
        let dim = usize::try_from(if dim < 0 { dim + rank as i64 } else { dim }).unwrap_or(rank);
        if dim >= rank {
            return Err(Fault::Invalid("a dimension that does not exist".to_owned()).into());
        }
        let order: Vec<usize> = (0..rank).filter(|&d| d != dim).chain([dim]).collect();
        let rows = operands.iter().map(|a| transpose(a, &order)).collect::<Result<Vec<_>, Fault>>()?;
        let width = first.dims()[dim];
        self.charge((first.len() as u64).saturating_mul(u64::from(width.max(1).ilog2()) + 1))?;
        let positions = match self.simple(region, &rows, width) {
            Some(positions) => positions,
            None => self.merged(region, &rows, width, frame)?,
        };
        let back: Vec<usize> = (0..dim).chain([rank - 1]).chain(dim..rank - 1).collect();
        let sorted = |a: &Array<D>| -> Result<Value<D>, Fault> {
            let data = a.data().taken(&positions);
            Ok(Value::Array(transpose(&Array::new(Dims::from_slice(a.dims()), a.dtype(), data)?, &back)?))
        };
        Ok(rows.iter().map(sorted).collect::<Result<_, Fault>>()?)
    }

    /// The sorted positions, if the region is one comparison of the first operand's elements.
    fn simple(&self, region: RegionId, rows: &[Array<D>], width: usize) -> Option<Vec<usize>> {
        let data = &self.module.regions[region];
        let &[op, _] = &*data.ops else { return None };
        let compare = &self.module.ops[op];
        let OpKind::Compare(direction, how) = compare.kind else { return None };
        let key = (0..rows.len()).find(|&i| {
            data.args.get(2 * i..2 * i + 2).is_some_and(|pair| pair == compare.operands.as_slice())
        })?;
        let total = how == Some(CompareType::TotalOrder);
        let descending = match direction {
            CompareDirection::LT => false,
            CompareDirection::GT => true,
            _ => return None,
        };
        if self.module.is_quantized(*data.args.first()?) {
            return None;
        }
        match rows.get(key)?.data() {
            Data::F32(v) => by_keys(v, width, descending, total),
            Data::F64(v) => by_keys(v, width, descending, total),
            Data::I8(v) => by_keys(v, width, descending, total),
            Data::I16(v) => by_keys(v, width, descending, total),
            Data::I32(v) => by_keys(v, width, descending, total),
            Data::I64(v) => by_keys(v, width, descending, total),
            Data::U8(v) => by_keys(v, width, descending, total),
            Data::U16(v) => by_keys(v, width, descending, total),
            Data::U32(v) => by_keys(v, width, descending, total),
            Data::U64(v) => by_keys(v, width, descending, total),
            Data::Bool(v) => by_keys(v, width, descending, total),
            Data::C64(_) | Data::C128(_) => None,
        }
    }

    /// The sorted positions of the elements of all rows.
    fn merged(
        &self,
        region: RegionId,
        rows: &[Array<D>],
        width: usize,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<usize>, Stop> {
        let len = rows.first().map_or(0, Array::len);
        let mut positions: Vec<usize> = (0..len).collect();
        let mut run = 1;
        while run < width {
            let mut next = positions.clone();
            let mut merges = Vec::new();
            for row in (0..len).step_by(width) {
                for start in (row..row + width).step_by(2 * run) {
                    let middle = (start + run).min(row + width);
                    let end = (start + 2 * run).min(row + width);
                    if middle < end {
                        merges.push(Merge {
                            left: start,
                            left_end: middle,
                            right: middle,
                            right_end: end,
                            out: start,
                        });
                    }
                }
            }
            while !merges.is_empty() {
                let lanes = merges.len();
                let taken = |a: &Array<D>, place: &dyn Fn(&Merge) -> usize| {
                    let places: Vec<usize> = merges.iter().map(|merge| positions[place(merge)]).collect();
                    Array::new(Dims::from_slice(&[lanes]), a.dtype(), a.data().taken(&places))
                };
                // The element of the right run comes first only if it is less.
                let args = rows.iter().flat_map(|a| [taken(a, &|m| m.right), taken(a, &|m| m.left)]);
                let args = args.collect::<Result<Vec<_>, Fault>>()?;
                let less = self.lifted(region, args, lanes, frame)?;
                let less = less.first().and_then(Array::to_integers).unwrap_or_default();
                for (merge, less) in merges.iter_mut().zip(less) {
                    let from = if less != 0 { &mut merge.right } else { &mut merge.left };
                    next[merge.out] = positions[*from];
                    *from += 1;
                    merge.out += 1;
                }
                merges.retain_mut(|merge| {
                    let rest = if merge.left == merge.left_end {
                        merge.right..merge.right_end
                    } else if merge.right == merge.right_end {
                        merge.left..merge.left_end
                    } else {
                        return true;
                    };
                    for at in rest {
                        next[merge.out] = positions[at];
                        merge.out += 1;
                    }
                    false
                });
            }
            positions = next;
            run *= 2;
        }
        Ok(positions)
    }
}

/// The positions of the elements of all rows in a stable order; `None` if elements have no order.
fn by_keys<T: Number>(values: &[T], width: usize, descending: bool, total: bool) -> Option<Vec<usize>> {
    if !total && values.iter().any(|&x| x.order(x).is_none()) {
        return None;
    }
    let mut positions: Vec<usize> = (0..values.len()).collect();
    for row in positions.chunks_mut(width.max(1)) {
        row.sort_by(|&i, &j| {
            let (a, b) = if descending { (values[j], values[i]) } else { (values[i], values[j]) };
            if total { a.total_order(b) } else { a.order(b).unwrap_or(std::cmp::Ordering::Equal) }
        });
    }
    Some(positions)
}
