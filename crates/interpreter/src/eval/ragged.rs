//! `ragged_all_to_all`: each device sends slices of rows to the devices of its group.

use shardc_ir::OpId;

use super::collectives::moved_ids;
use super::{Device, Stop, Values, arrays, one};
use crate::array::{Array, Dims, View};
use crate::error::Fault;
use crate::kernels::moves::{slice, write};
use crate::numbers::Domain;

impl<D: Domain> Device<'_, '_, D> {
    /// Writes the rows that the devices of the group send to this device to their places in the initial result. The slices of a device are
    /// in the order of the receivers, and each receiver has the same number of slices.
    pub(super) fn ragged_exchange(&self, op: OpId, operands: Values<D>) -> Result<Values<D>, Stop> {
        let invalid = || Fault::Invalid("a ragged exchange without groups or with other operands".to_owned());
        let spec = self.module.ops[op].ragged_all_to_all().ok_or_else(invalid)?;
        let operands = arrays(operands)?;
        let mut result = operands.get(1).cloned().ok_or_else(invalid)?;
        let group = self.group(&spec, moved_ids(&spec))?.ok_or_else(invalid)?;
        let gathered = self.gather(op, &group, operands)?;
        for sender in &gathered.operands {
            let [rows, _, input_offsets, sizes, output_offsets, _] = sender.as_slice() else {
                return Err(invalid().into());
            };
            self.charge(rows.len() as u64)?;
            let list = |a: &Array<D>| a.to_integers().ok_or_else(invalid);
            let (from, sizes, to) = (list(input_offsets)?, list(sizes)?, list(output_offsets)?);
            let per_receiver = sizes.len() / group.members.len().max(1);
            let own = group.place * per_receiver..(group.place + 1) * per_receiver;
            for ((&from, &size), &to) in from.iter().zip(&sizes).zip(&to).take(own.end).skip(own.start) {
                if size > 0 {
                    copy_rows(&mut result, to, rows, from, size)?;
                }
            }
        }
        one(result)
    }
}

/// Copies rows of an array to rows of another.
fn copy_rows<D: Domain>(
    to: &mut Array<D>,
    at: i64,
    rows: &Array<D>,
    from: i64,
    size: i64,
) -> Result<(), Fault> {
    let (mut start, mut limit): (Vec<i64>, Vec<i64>) = rows.dims().iter().map(|&n| (0, n as i64)).unzip();
    let (Some(first), Some(last)) = (start.first_mut(), limit.first_mut()) else {
        return Fault::invalid("a ragged exchange of scalars");
    };
    (*first, *last) = (from, from.saturating_add(size));
    let part = slice(rows, &start, &limit, &vec![1; rows.rank()])?;
    let mut view = View::whole(to.dims());
    let room = to.dims().first().copied().unwrap_or(0) as i64;
    if at < 0 || at.saturating_add(size) > room || to.dims().get(1..) != part.dims().get(1..) {
        return Fault::invalid(format!("{size} rows at row {at} of {room}"));
    }
    view.offset = view.strides.first().map_or(0, |&stride| stride * at as isize);
    view.dims = Dims::from_slice(part.dims());
    write(to, &view, &part)
}
