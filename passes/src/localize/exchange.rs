//! Emits exchanges: slices slabs out of blocks, sends them by collective-permutes, and concatenates them into windows.
//!
//! Positions that differ between devices are known at compile time. If they are an arithmetic progression, they are computed from the
//! device's index; otherwise they are looked up in a table.

use std::mem::take;

use shardc_ir::{
    AxisRef, BinaryOp, CompareDirection, CompareType, DType, OpKind, PadSpec, ReplicaGroups, SizeList,
    SliceSpec, ValueId,
};

use super::Localizer;
use crate::windows::{Exchange, PerDevice, Piece, Span, Spread, Thin, Transfer};

/// An index along a dimension.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// A constant index, equal on all devices.
    Same(i64),
    /// An index that differs between devices: an `i32` scalar.
    Own(ValueId),
}

/// A sharded dimension and the axes that shard it.
pub(super) struct Line<'a> {
    pub(super) dim: usize,
    pub(super) axes: &'a [AxisRef],
}

impl Localizer<'_> {
    /// Returns the window of each device along one dimension, assembled from blocks without their unused elements. Moves `held` and
    /// `window` out of `transfer`.
    pub(super) fn window(
        &mut self,
        transfer: &mut Transfer,
        sources: &[ValueId],
        fill: Option<ValueId>,
        line: &Line<'_>,
    ) -> Option<ValueId> {
        // `held` and `window` have an entry per device. They are moved out so that they can be dropped before the tables of senders and
        // receivers are created.
        let (held, window) = (take(&mut transfer.held), take(&mut transfer.window));
        let costs = self.costs.along(line.axes.iter().map(|axis| axis.axis));
        let row_bytes = self.row_bytes(sources, line.dim);
        let Some(exchange) = Exchange::new(&held, window, row_bytes, costs) else {
            self.too_far();
            return None;
        };
        drop(held);
        let fill = self.fill_of(*sources.first()?, fill)?;
        Some(self.exchange(&exchange, sources, fill, line))
    }

    /// Returns the fill value of a window; the default is zero.
    fn fill_of(&mut self, source: ValueId, fill: Option<ValueId>) -> Option<ValueId> {
        let dtype = self.rw.module.tensor(source)?.dtype;
        // The default is zero; dead code elimination removes the constant if it is not used.
        Some(fill.unwrap_or_else(|| self.splat(&vec![0; dtype.bytes()], &[], dtype)))
    }

    /// Returns the bytes per index of dimension `dim` in a device's block. Planning uses the same number, so that both choose the same
    /// exchange.
    fn row_bytes(&self, sources: &[ValueId], dim: usize) -> f64 {
        let Some(ty) = sources.first().and_then(|&v| self.rw.module.tensor(v)) else { return 0.0 };
        let others = ty.shape.iter().enumerate().filter(|&(d, _)| d != dim).map(|(_, &n)| n as f64);
        others.product::<f64>() * f64::from(ty.dtype.bits()) / 8.0
    }

    fn exchange(
        &mut self,
        exchange: &Exchange,
        sources: &[ValueId],
        fill: ValueId,
        line: &Line<'_>,
    ) -> ValueId {
        let mut slabs = Vec::with_capacity(exchange.pieces.len());
        for piece in &exchange.pieces {
            slabs.push(self.slab(piece, sources, fill, line));
        }
        let template = self.shape_along(sources[0], line.dim, exchange.size);
        let dtype = self.rw.module.tensor(sources[0]).map_or(DType::F32, |t| t.dtype);
        if exchange.is_joined {
            return self.join(exchange, &slabs, &template, dtype, fill, line);
        }
        let fills = exchange.fills_before || exchange.fills_after;
        let mut window: Option<ValueId> = None;
        for (piece, slab) in exchange.pieces.iter().zip(slabs) {
            let moved = self.move_slab(slab, &piece.to(), exchange.size, fill, line);
            let Some(others) = window.or_else(|| {
                // The first slab needs no select if no position of the window is out of bounds, or if all of the slab is used: `move_slab`
                // has then already surrounded it by the fill value.
                let is_filled = !fills || piece.is_taken_whole();
                (!is_filled).then(|| self.broadcast_scalar(fill, &template, dtype))
            }) else {
                window = Some(moved);
                continue;
            };
            // Each piece needs a select over the window, since its position differs between devices.
            let mask = self.within(&piece.takes(), &template, line);
            let ty = self.tensor_type(&template, dtype);
            window = Some(self.emit(OpKind::Select, &[mask, moved, others], ty));
        }
        window.unwrap_or(sources[0])
    }

    /// Assembles windows from slabs that are adjacent in each window, by one concatenation and one mask for positions out of bounds.
    #[allow(clippy::too_many_arguments)]
    fn join(
        &mut self,
        exchange: &Exchange,
        slabs: &[ValueId],
        shape: &[i64],
        dtype: DType,
        fill: ValueId,
        line: &Line<'_>,
    ) -> ValueId {
        let mut parts = Vec::with_capacity(slabs.len() + 1);
        let mut end = 0;
        let gap = |this: &mut Self, size: i64| {
            let mut shape = shape.to_vec();
            shape[line.dim] = size;
            this.broadcast_scalar(fill, &shape, dtype)
        };
        for (piece, &slab) in exchange.pieces.iter().zip(slabs) {
            let to = piece.place().unwrap_or(0);
            if to > end {
                let value = gap(self, to - end);
                parts.push(value);
            }
            parts.push(slab);
            end = to + piece.width;
        }
        if exchange.size > end {
            let value = gap(self, exchange.size - end);
            parts.push(value);
        }
        let ty = self.tensor_type(shape, dtype);
        let window = match parts.as_slice() {
            [only] => *only,
            _ => self.emit(OpKind::Concatenate { dim: line.dim as u32 }, &parts, ty),
        };
        if slabs.is_empty() || !(exchange.fills_before || exchange.fills_after) {
            return window;
        }
        let bound = |index: i64| -> PerDevice {
            exchange.origins.iter().map(|&origin| Some(index - origin)).collect()
        };
        let below = exchange.fills_before.then(|| bound(exchange.extent.start));
        let above = exchange.fills_after.then(|| bound(exchange.extent.end));
        let Some(mask) = self.between(below, above, shape, line) else { return window };
        let fill = self.broadcast_scalar(fill, shape, dtype);
        self.emit(OpKind::Select, &[mask, window, fill], ty)
    }

    /// Returns the slab that each device receives in one round: the devices send by one collective-permute at most.
    fn slab(&mut self, piece: &Piece, sources: &[ValueId], fill: ValueId, line: &Line<'_>) -> ValueId {
        let mut slab: Option<ValueId> = None;
        for (i, cut) in piece.cuts.iter().enumerate() {
            let at = self.per_device(&piece.from(i), line.axes);
            let own = self.cut(sources[cut.source], at, cut.width, line.dim);
            let own = self.pad(own, fill, line.dim, [0, piece.width - cut.width, 0]);
            slab = Some(match slab {
                None => own,
                Some(others) => self.of_tensor(piece, i, own, others, line),
            });
        }
        let slab = slab.unwrap_or(sources[0]);
        let shape = self.rw.module.shape(slab).to_vec();
        // Back ends reject collectives on empty tensors.
        if !piece.is_sent || shape.contains(&0) {
            return slab;
        }
        // The source-target pairs are indices along a line of devices, which differ only in their coordinates along `line.axes`. The pairs
        // are repeated for each such line.
        let lines = self.mesh.replica_groups(line.axes);
        let mut pairs = Vec::with_capacity(2 * lines.len() * piece.num_pairs());
        for group in lines.iter() {
            let line: Vec<i64> = group.iter().collect();
            pairs.extend(piece.pairs().flat_map(|(sender, receiver)| [line[sender], line[receiver]]));
        }
        let spec = self.on_channel(ReplicaGroups::matrix(pairs, 2));
        self.collective(OpKind::CollectivePermute(spec), slab, &shape)
    }

    /// Selects `own`, the slab of tensor `i`, on the devices that send it, and `others` elsewhere.
    fn of_tensor(
        &mut self,
        piece: &Piece,
        i: usize,
        own: ValueId,
        others: ValueId,
        line: &Line<'_>,
    ) -> ValueId {
        let chosen = match self.per_device(&piece.sends(i), line.axes) {
            At::Same(chosen) => return if chosen == 1 { own } else { others },
            At::Own(chosen) => chosen,
        };
        let one = self.i32_scalar(1);
        let ty = self.tensor_type(&[], DType::I1);
        let compare = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let is_chosen = self.emit(compare, &[chosen, one], ty);
        let ty = self.rw.module.values[own].ty;
        self.emit(OpKind::Select, &[is_chosen, own, others], ty)
    }

    /// Places a slab at each device's position `to` in a window of `size` elements. The other elements are unspecified.
    pub(super) fn move_slab(
        &mut self,
        slab: ValueId,
        to: &PerDevice,
        size: i64,
        fill: ValueId,
        line: &Line<'_>,
    ) -> ValueId {
        let width = self.rw.module.shape(slab)[line.dim];
        let known = || to.iter().flatten().copied();
        let (least, most) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
        let at = self.per_device(to, line.axes);
        if let At::Same(to) = at {
            return self.pad(slab, fill, line.dim, [to, size - to - width, 0]);
        }
        // A pad has the same width on all devices, which must be enough for the first and the last position. The window is then a slice
        // at the device's own start. Example: a slab of 2 at -1 or 3 of a window of 4 is padded by 3 on both sides, and sliced at 4 or 0.
        // No start is out of bounds, so `dynamic_slice` does not clamp it.
        let low = most.max(0);
        let high = (size - least - width).max(0);
        let wide = self.pad(slab, fill, line.dim, [low, high, 0]);
        let start: PerDevice = to.iter().map(|to| to.map(|to| low - to)).collect();
        let start = self.per_device(&start, line.axes);
        self.cut(wide, start, size, line.dim)
    }

    /// Returns every `thin.stride`th element of a block: only these elements are used.
    pub(super) fn thin(&mut self, value: ValueId, thin: &Thin, line: &Line<'_>) -> ValueId {
        let block = self.rw.module.shape(value)[line.dim];
        let reach = if thin.size == 0 { 0 } else { (thin.size - 1) * thin.stride + 1 };
        let most = thin.first.iter().flatten().max().copied().unwrap_or(0);
        let at = self.per_device(&thin.first, line.axes);
        let mut value = value;
        // The block is padded: otherwise `dynamic_slice` would clamp the start on the device with the last position, and the strided slice
        // would begin at the wrong element.
        if most + reach > block {
            let Some(dtype) = self.rw.module.tensor(value).map(|t| t.dtype) else { return value };
            let zero = self.splat(&vec![0; dtype.bytes()], &[], dtype);
            value = self.pad(value, zero, line.dim, [0, most + reach - block, 0]);
        }
        if let At::Same(first) = at {
            return self.slice(value, line.dim, first, first + reach, thin.stride);
        }
        let value = self.cut(value, at, reach, line.dim);
        self.slice(value, line.dim, 0, reach, thin.stride)
    }

    /// Returns a window with the fill value between its elements (base dilation).
    pub(super) fn spread(
        &mut self,
        window: ValueId,
        spread: &Spread,
        fill: Option<ValueId>,
        line: &Line<'_>,
    ) -> ValueId {
        let Some(fill) = self.fill_of(window, fill) else { return window };
        let size = self.rw.module.shape(window)[line.dim];
        let reach = (size - 1) * spread.step + 1;
        let between = spread.step - 1;
        let at = self.per_device(&spread.first, line.axes);
        if let At::Same(first) = at {
            return self.pad(window, fill, line.dim, [first, spread.size - first - reach, between]);
        }
        let most = spread.first.iter().flatten().max().copied().unwrap_or(0);
        let wide = self.pad(window, fill, line.dim, [most, spread.size - reach, between]);
        let start: PerDevice = spread.first.iter().map(|first| first.map(|first| most - first)).collect();
        let start = self.per_device(&start, line.axes);
        self.cut(wide, start, spread.size, line.dim)
    }

    /// Returns a mask of shape `shape` that is true at the positions of the window that are in the device's entry of `spans`.
    pub(super) fn within(&mut self, spans: &[Span], shape: &[i64], line: &Line<'_>) -> ValueId {
        let size = shape[line.dim];
        // An empty span has `start > 0` or `end < size`, so the emitted bounds exclude all positions.
        let below = spans.iter().any(|s| s.start > 0).then(|| spans.iter().map(|s| Some(s.start)).collect());
        let above = spans.iter().any(|s| s.end < size).then(|| spans.iter().map(|s| Some(s.end)).collect());
        match self.between(below, above, shape, line) {
            Some(mask) => mask,
            None => self.splat(&[1], shape, DType::I1),
        }
    }

    /// Returns a mask that is true at positions `below <= i < above` along the line; `None` if there are no bounds.
    fn between(
        &mut self,
        below: Option<PerDevice>,
        above: Option<PerDevice>,
        shape: &[i64],
        line: &Line<'_>,
    ) -> Option<ValueId> {
        let size = shape[line.dim];
        let (index_ty, pred_ty) =
            (self.tensor_type(&[size], DType::I32), self.tensor_type(&[size], DType::I1));
        let mut mask: Option<ValueId> = None;
        for (bounds, direction) in [(below, CompareDirection::GE), (above, CompareDirection::LT)] {
            let Some(bounds) = bounds else { continue };
            let index = self.emit(OpKind::Iota { dim: 0 }, &[], index_ty);
            let bound = match self.per_device(&bounds, line.axes) {
                At::Same(bound) => self.i32_splat(bound, &[size]),
                At::Own(bound) => self.broadcast_scalar(bound, &[size], DType::I32),
            };
            let compare = OpKind::Compare(direction, Some(CompareType::Signed));
            let here = self.emit(compare, &[index, bound], pred_ty);
            mask = Some(match mask {
                None => here,
                Some(mask) => self.emit(OpKind::Binary(BinaryOp::And), &[mask, here], pred_ty),
            });
        }
        let dims = [line.dim as u32].into_iter().collect();
        let ty = self.tensor_type(shape, DType::I1);
        mask.map(|mask| self.emit(OpKind::BroadcastInDim { dims }, &[mask], ty))
    }

    /// Returns the device's entry of `values`, as a constant or as a scalar that is computed from the device's index over `axes`.
    pub(super) fn per_device(&mut self, values: &PerDevice, axes: &[AxisRef]) -> At {
        // A `None` entry is unused and may be any number: `[-, 3, -, 7]` is `1 + 2 * index`. The first two known entries determine the
        // progression, so that the check takes linear time. If it fails, the entries become a table.
        let mut known = values.iter().enumerate().filter_map(|(i, v)| Some((i as i64, (*v)?)));
        let Some((i, first)) = known.next() else { return At::Same(0) };
        let Some((j, second)) = known.next() else { return At::Same(first) };
        if (second - first) % (j - i) == 0 {
            let step = (second - first) / (j - i);
            let start = first - i * step;
            if known.all(|(i, v)| v == start + i * step) {
                return if step == 0 {
                    At::Same(first)
                } else {
                    At::Own(self.progression(axes, start, step))
                };
            }
        }
        let table: Vec<i32> = values.iter().map(|v| v.unwrap_or(0) as i32).collect();
        At::Own(self.entry(axes, &table))
    }

    /// Slices `width` elements of `value` along `dim`, starting at `at`.
    pub(super) fn cut(&mut self, value: ValueId, at: At, width: i64, dim: usize) -> ValueId {
        let start = match at {
            At::Same(at) => return self.slice(value, dim, at, at + width, 1),
            At::Own(start) => start,
        };
        let shape = self.shape_along(value, dim, width);
        let mut operands = vec![value];
        for d in 0..shape.len() {
            operands.push(if d == dim { start } else { self.i32_scalar(0) });
        }
        let dtype = self.rw.module.tensor(value).map_or(DType::F32, |t| t.dtype);
        let ty = self.tensor_type(&shape, dtype);
        let sizes = SizeList::from_slice(&shape);
        self.emit(OpKind::DynamicSlice { sizes }, &operands, ty)
    }

    pub(super) fn slice(
        &mut self,
        value: ValueId,
        dim: usize,
        start: i64,
        limit: i64,
        stride: i64,
    ) -> ValueId {
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        if start == 0 && limit == ty.shape[dim] && stride == 1 {
            return value;
        }
        let rank = ty.rank();
        let mut spec = SliceSpec {
            start: SizeList::from_elem(0, rank),
            limit: SizeList::from_slice(&ty.shape),
            stride: SizeList::from_elem(1, rank),
        };
        (spec.start[dim], spec.limit[dim], spec.stride[dim]) = (start, limit, stride);
        let shape =
            self.shape_along(value, dim, if limit > start { (limit - start - 1) / stride + 1 } else { 0 });
        let ty = self.tensor_type(&shape, ty.dtype);
        self.emit(OpKind::Slice(Box::new(spec)), &[value], ty)
    }

    /// Pads `value` along `dim`; `padding` is low, high and interior.
    fn pad(&mut self, value: ValueId, fill: ValueId, dim: usize, padding: [i64; 3]) -> ValueId {
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        if padding == [0, 0, 0] {
            return value;
        }
        let none = SizeList::from_elem(0, ty.rank());
        let mut spec = PadSpec { low: none.clone(), high: none.clone(), interior: none };
        let [low, high, interior] = padding;
        (spec.low[dim], spec.high[dim], spec.interior[dim]) = (low, high, interior);
        let size = ty.shape[dim];
        let shape = self.shape_along(value, dim, low + high + size + (size - 1).max(0) * interior);
        let ty = self.tensor_type(&shape, ty.dtype);
        self.emit(OpKind::Pad(Box::new(spec)), &[value, fill], ty)
    }

    fn shape_along(&self, value: ValueId, dim: usize, size: i64) -> Vec<i64> {
        let mut shape = self.rw.module.shape(value).to_vec();
        shape[dim] = size;
        shape
    }
}
