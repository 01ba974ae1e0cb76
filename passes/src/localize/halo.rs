//! Halo exchange: windows of sharded dimensions, assembled from the blocks of several devices.
//!
//! [`crate::windows`] computes which operations need windows, and what each device sends. This module replaces each operand with the
//! device's window of it, using collective-permutes of slabs. The operation on windows has no padding, offsets or base dilation along
//! that dimension.
//!
//! The operation never reads padding of a block: each position of the window is an element or, out of bounds, the fill value.

use shardc_ir::{AxisRef, Diagnostic, OpId, OpKind, SizeList, ValueId};

use super::Localizer;
use super::exchange::Line;
use crate::windows::{Along, Fill, Transfer, is_windowed, scattered_from, transfers};

impl Localizer<'_> {
    /// Replaces operands of `op` by windows if it needs elements of other blocks. Returns true if `op` needs no further rewrite.
    pub(crate) fn halo(&mut self, op: OpId) -> bool {
        let kind = self.rw.module.ops[op].kind.clone();
        let &[result, ..] = self.rw.module.ops[op].results.as_slice() else { return false };
        let originals = self.rw.module.ops[op].operands.clone();
        let shapes: Vec<SizeList> = originals
            .iter()
            .map(|&v| self.global(v).map(|t| SizeList::from_slice(&t.shape)).unwrap_or_default())
            .collect();
        let shapes: Vec<&[i64]> = shapes.iter().map(SizeList::as_slice).collect();
        let Some(made) = self.global(result).map(|t| SizeList::from_slice(&t.shape)) else { return false };
        let lines = self.lines(&kind, &originals, result, &shapes);
        if lines.is_empty() {
            return false;
        }
        if made.contains(&0) {
            // All results have the shape `made`, so they are empty and can be replaced by constants.
            let results = self.rw.module.ops[op].results.clone();
            let are_made = results.into_iter().all(|result| self.empty(result));
            if are_made {
                self.rw.erase();
            }
            return are_made;
        }
        let mut moved = Vec::with_capacity(lines.len());
        for (along, axes) in &lines {
            let k = self.mesh.axes_size(axes);
            let is_whole = |i: usize| match along {
                Along::Result(dim) => originals.get(i).is_some_and(|&v| !self.is_split(v, *dim)),
                Along::Kernel(_) => false,
            };
            let Some(transfers) = transfers(&kind, &shapes, &is_whole, &made, *along, k) else {
                self.too_far();
                return true;
            };
            moved.extend(transfers.into_iter().map(|transfer| (transfer, axes.as_slice())));
        }
        if self.move_windows(op, moved).is_none() {
            return true;
        }
        self.on_windows(op, &lines);
        let window = self.rw.module.ops[op].operands[0];
        if !originals.contains(&window) && self.does_nothing(op) {
            self.replace(window);
            return true;
        }
        if matches!(kind, OpKind::SelectAndScatter(_)) {
            self.keep_own(op, &shapes, &lines);
            return true;
        }
        false
    }

    /// Replaces operands by their windows. Elements that a stride skips are removed from blocks before any exchange, and base dilation is
    /// applied after all exchanges, so that no exchange sends unused elements or fill values. Returns `None` on failure.
    fn move_windows(&mut self, op: OpId, mut moved: Vec<(Transfer, &[AxisRef])>) -> Option<()> {
        let operand = |this: &Self, i: usize| this.rw.module.ops[op].operands.get(i).copied();
        let fill = |this: &Self, fill: Fill| match fill {
            Fill::Nothing | Fill::Zero => None,
            Fill::Operand(i) => operand(this, i),
        };
        for (transfer, axes) in &moved {
            let Some(thin) = &transfer.thin else { continue };
            for &i in &transfer.operands {
                let block = operand(self, i)?;
                let thinned = self.thin(block, thin, &Line { dim: transfer.dim, axes });
                self.rw.module.ops[op].operands[i] = thinned;
            }
        }
        for (transfer, axes) in &mut moved {
            let sources: Vec<ValueId> = transfer.operands.iter().filter_map(|&i| operand(self, i)).collect();
            let fill = fill(self, transfer.fill);
            let window = self.window(transfer, &sources, fill, &Line { dim: transfer.dim, axes })?;
            let first = transfer.operands.first().copied()?;
            self.rw.module.ops[op].operands[first] = window;
            if transfer.operands.len() > 1 {
                self.rw.module.ops[op].operands.truncate(1);
            }
        }
        for (transfer, axes) in &moved {
            let (Some(spread), Some(&first)) = (&transfer.spread, transfer.operands.first()) else {
                continue;
            };
            let (window, fill) = (operand(self, first)?, fill(self, transfer.fill));
            let spread = self.spread(window, spread, fill, &Line { dim: transfer.dim, axes });
            self.rw.module.ops[op].operands[first] = spread;
        }
        Some(())
    }

    /// Localizes a splice, which is a concatenation of slices: by windows if the concatenated dimension is sharded, otherwise as slices and
    /// a `concatenate`.
    pub(super) fn splice(&mut self, op: OpId) {
        let OpKind::Splice(spec) = self.rw.module.ops[op].kind.clone() else { return };
        if self.halo(op) {
            return;
        }
        let operands = self.rw.module.ops[op].operands.clone();
        let dim = spec.dim as usize;
        // If the dimension is sharded, `halo` has replaced all operands by one window. Otherwise, each piece is sliced out of its operand.
        if !self.is_split(self.rw.module.ops[op].results[0], dim) {
            let mut parts = Vec::with_capacity(spec.pieces.len());
            for piece in &spec.pieces {
                let source = operands[piece.operand as usize];
                parts.push(self.slice(source, dim, piece.start, piece.limit, 1));
            }
            self.rw.module.ops[op].operands = parts.into();
        }
        self.rw.module.ops[op].kind = OpKind::Concatenate { dim: spec.dim };
    }

    /// Returns the dimensions along which `op` needs windows, and the axes that shard them.
    fn lines(
        &self,
        kind: &OpKind,
        operands: &[ValueId],
        result: ValueId,
        shapes: &[&[i64]],
    ) -> Vec<(Along, Vec<AxisRef>)> {
        let axes = |value: ValueId, dim: usize| {
            let axes = self.sharding(value).filter(|s| dim < s.rank()).map(|s| s.axes(dim).to_vec());
            axes.filter(|axes| !axes.is_empty())
        };
        let mut lines: Vec<(Along, Vec<AxisRef>)> = (0..self.rw.module.rank(result))
            .filter(|&d| shapes.first().is_some_and(|s| is_windowed(kind, s, d)))
            .filter_map(|d| Some((Along::Result(d), axes(result, d)?)))
            .collect();
        let (OpKind::Convolution(spec), &[_, kernel, ..]) = (kind, operands) else { return lines };
        for (i, &dim) in spec.kernel.spatial.iter().enumerate() {
            // If a kernel dimension is sharded unevenly, its padding is masked instead of exchanging windows.
            if !self.is_padded(kernel, dim as usize) {
                lines.extend(axes(kernel, dim as usize).map(|axes| (Along::Kernel(i), axes)));
            }
        }
        lines
    }

    /// Localizes a `select_and_scatter` on windows, and slices the device's block out of its result.
    fn keep_own(&mut self, op: OpId, shapes: &[&[i64]], lines: &[(Along, Vec<AxisRef>)]) {
        let kind = self.rw.module.ops[op].kind.clone();
        let (old, fresh) = self.detach_result(op, 0);
        self.rw.module.values[fresh].ty = self.rw.module.values[self.rw.module.ops[op].operands[0]].ty;
        self.rw.keep();
        let own = self.rw.module.shape(old).to_vec();
        let mut value = fresh;
        for (along, axes) in lines {
            let &Along::Result(dim) = along else { continue };
            let k = self.mesh.axes_size(axes);
            let Some(from) = shapes.first().and_then(|s| scattered_from(&kind, s, dim, k)) else { continue };
            let at = self.per_device(&from, axes);
            value = self.cut(value, at, own[dim], dim);
        }
        self.attach(old, value);
    }

    fn empty(&mut self, result: ValueId) -> bool {
        let Some(ty) = self.rw.module.tensor(result).cloned() else { return false };
        let value = self.splat(&vec![0; ty.dtype.bytes()], &ty.shape, ty.dtype);
        self.attach(result, value);
        true
    }

    /// Removes offsets, padding and base dilation from the attributes of the operation: the windows contain them.
    fn on_windows(&mut self, op: OpId, lines: &[(Along, Vec<AxisRef>)]) {
        let result = self.rw.module.ops[op].results.first().copied();
        let made = result.map(|r| self.rw.module.shape(r).to_vec()).unwrap_or_default();
        let split: Vec<bool> = (0..made.len()).map(|d| result.is_some_and(|r| self.is_split(r, d))).collect();
        let windowed: Vec<usize> = lines
            .iter()
            .filter_map(|(along, _)| match along {
                Along::Result(dim) => Some(*dim),
                Along::Kernel(_) => None,
            })
            .collect();
        match &mut self.rw.module.ops[op].kind {
            OpKind::Slice(spec) => {
                for &d in &windowed {
                    (spec.start[d], spec.stride[d]) = (0, 1);
                }
                for d in (0..made.len()).filter(|&d| split[d]) {
                    spec.limit[d] = made[d];
                }
            }
            OpKind::Pad(spec) => {
                for &d in &windowed {
                    (spec.low[d], spec.high[d], spec.interior[d]) = (0, 0, 0);
                }
            }
            OpKind::ReduceWindow(spec) => {
                for &d in &windowed {
                    if let Some(padding) = spec.padding.get_mut(d) {
                        *padding = (0, 0);
                    }
                    if let Some(dilation) = spec.base_dilations.get_mut(d) {
                        *dilation = 1;
                    }
                }
            }
            OpKind::Convolution(spec) => {
                for i in 0..spec.output.spatial.len() {
                    let by_kernel = lines.iter().any(|(along, _)| *along == Along::Kernel(i));
                    if !by_kernel && !windowed.contains(&(spec.output.spatial[i] as usize)) {
                        continue;
                    }
                    if let Some(padding) = spec.padding.get_mut(i) {
                        *padding = (0, 0);
                    }
                    if let Some(dilation) = spec.lhs_dilation.get_mut(i) {
                        *dilation = 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether an operation, after its operands were replaced by windows, would only return its first operand.
    pub(super) fn does_nothing(&self, op: OpId) -> bool {
        let operand = self.rw.module.shape(self.rw.module.ops[op].operands[0]);
        match &self.rw.module.ops[op].kind {
            OpKind::Slice(spec) => {
                spec.start.iter().all(|&n| n == 0)
                    && spec.stride.iter().all(|&n| n == 1)
                    && spec.limit.as_slice() == operand
            }
            OpKind::Pad(spec) => {
                [&spec.low, &spec.high, &spec.interior].iter().all(|list| list.iter().all(|&n| n == 0))
            }
            OpKind::Concatenate { .. } | OpKind::Splice(_) => true,
            _ => false,
        }
    }

    /// Reports SH0412: windows need the blocks of too many devices.
    pub(super) fn too_far(&mut self) {
        let data = &self.rw.module.ops[self.at];
        let message =
            format!("on each device, {} would need blocks of too many other devices", data.kind.name());
        let error = Diagnostic::unsupported("SH0412", message).at(data.span);
        self.fail(error.hint("constrain the operand to be replicated along the dimension"));
    }
}
