//! Plans which rows of a batch a process reads, and which block each of its devices gets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shardc::Error;
use shardc_ir::Diagnostic;
use shardc_runtime::{ArrayType, HostArray, LOUD_PADDING, ShardLayout};

use super::source::{Rows, Source};

/// An input of a step, with the step's layout.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) ty: ArrayType,
    pub(super) layout: ShardLayout,
}

/// The rows that a process reads of each batch.
#[derive(Debug)]
pub(super) struct Plan {
    inputs: Vec<Input>,
    /// The positions of the process's devices in the layouts.
    places: Vec<usize>,
    /// The number of rows of a batch.
    rows: usize,
    /// The ranges of rows that the devices hold: disjoint, ascending.
    ranges: Vec<Range<usize>>,
}

impl Plan {
    /// Plans for the devices at the positions `places` of the layouts. `size` is the batch size of the source, if the source fixes it.
    pub(super) fn new(inputs: Vec<Input>, places: Vec<usize>, size: Option<usize>) -> Result<Plan, Error> {
        let Some(first) = inputs.first() else {
            return Err(Diagnostic::invalid("SH1120", "the source has no inputs").into());
        };
        let rows = first.ty.shape.first().copied().unwrap_or(0);
        let mut held = Vec::new();
        for Input { name, ty, layout } in &inputs {
            if ty.shape.first().is_none_or(|&n| n != rows) {
                let text = format!("the input {name:?} is {ty}, but {:?} has {rows} rows", first.name);
                return Err(Diagnostic::invalid("SH1120", text).into());
            }
            if layout.num_addends() > 1 {
                let text = format!("the input {name:?} is unreduced: a loader cannot feed partial sums");
                return Err(Diagnostic::unsupported("SH1120", text).into());
            }
            let parts = layout.shards()[0];
            if rows % parts != 0 {
                let fits = match rows / parts * parts {
                    0 => format!("use {parts} rows"),
                    less => format!("use {less} or {} rows", less + parts),
                };
                let text = format!(
                    "a batch of {rows} rows is not divisible by {parts} shards of the input {name:?}"
                );
                return Err(Diagnostic::invalid("SH1121", text).hint(fits).into());
            }
            for &place in &places {
                if let (Some(offsets), Some(extent)) = (layout.offsets(place), layout.extent(place)) {
                    held.push(offsets[0]..offsets[0] + extent[0]);
                }
            }
        }
        if let Some(size) = size.filter(|&size| size != rows) {
            let text = format!("the source has batches of {size} rows, but the step takes {rows}");
            return Err(Diagnostic::invalid("SH1121", text).hint("use the same batch size for both").into());
        }
        Ok(Plan { inputs, places, rows, ranges: apart(held) })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Reads the blocks of a batch: for each input, one block per device. Devices with the same block share it.
    pub(super) fn blocks(
        &self,
        source: &mut dyn Source,
        batch: u64,
    ) -> Result<Vec<Vec<Arc<HostArray>>>, Error> {
        let real = source.rows_of(batch, self.rows);
        let mut parts = Vec::with_capacity(self.ranges.len());
        for range in &self.ranges {
            let read = range.start.min(real)..range.end.min(real);
            parts.push((range.clone(), self.part(source, batch, read, range.len())?));
        }
        let blocks = self.inputs.iter().enumerate().map(|(i, input)| {
            let mut made: BTreeMap<Vec<usize>, Arc<HostArray>> = BTreeMap::new();
            self.places.iter().map(|&place| self.block(i, input, place, &parts, &mut made)).collect()
        });
        blocks.collect()
    }

    /// Reads rows of a batch and pads them with zeros to `want` rows.
    fn part(
        &self,
        source: &mut dyn Source,
        batch: u64,
        rows: Range<usize>,
        want: usize,
    ) -> Result<Rows, Error> {
        let count = rows.len();
        let mut arrays = match count {
            0 => self
                .inputs
                .iter()
                .map(|input| HostArray::zeros(input.ty.dtype, &with_rows(&input.ty, 0)))
                .collect::<Result<_, _>>()?,
            _ => source.rows(batch, rows.clone()).map_err(|error| {
                let text = format!("the source failed to read rows {rows:?} of batch {batch}: {error}");
                Error::from(Diagnostic::invalid("SH1122", text))
            })?,
        };
        if arrays.len() != self.inputs.len() {
            let text = format!("batch {batch} has {} arrays for {} inputs", arrays.len(), self.inputs.len());
            return Err(Diagnostic::invalid("SH1120", text).into());
        }
        for (array, Input { name, ty, .. }) in arrays.iter_mut().zip(&self.inputs) {
            let shape = with_rows(ty, count);
            if array.shape != shape || array.dtype != ty.dtype || array.check().is_err() {
                let wanted = ArrayType { dtype: ty.dtype, shape };
                let text = format!(
                    "the rows {rows:?} of {name:?} in batch {batch} are {}, expected {wanted}",
                    array.ty()
                );
                return Err(Diagnostic::invalid("SH1120", text).into());
            }
            if count < want {
                *array = array.slice_block(&vec![0; array.shape.len()], &with_rows(ty, want), 0.0)?;
            }
        }
        Ok(arrays)
    }

    fn block(
        &self,
        number: usize,
        input: &Input,
        place: usize,
        parts: &[(Range<usize>, Rows)],
        made: &mut BTreeMap<Vec<usize>, Arc<HostArray>>,
    ) -> Result<Arc<HostArray>, Error> {
        let missing = || {
            let text = format!("device {place} of the layout {} has no block", input.layout);
            Error::from(Diagnostic::internal("SH1120", text))
        };
        let mut offsets = input.layout.offsets(place).ok_or_else(missing)?;
        if let Some(known) = made.get(&offsets) {
            return Ok(Arc::clone(known));
        }
        let holds = |(range, _): &&(Range<usize>, Rows)| range.contains(&offsets[0]) || range.is_empty();
        let (range, rows) = parts.iter().find(holds).ok_or_else(missing)?;
        let key = offsets.clone();
        offsets[0] -= range.start;
        let block = rows[number].slice_block(&offsets, input.layout.local_shape(), LOUD_PADDING)?;
        let block = Arc::new(block);
        made.insert(key, Arc::clone(&block));
        Ok(block)
    }
}

fn with_rows(ty: &ArrayType, rows: usize) -> Vec<usize> {
    [&[rows], &ty.shape[1..]].concat()
}

/// Merges ranges that overlap or are adjacent; the result is ascending.
fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}
