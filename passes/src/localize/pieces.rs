//! Emits direct exchanges: slices slabs out of old blocks, sends them, and assembles the new blocks.

use shardc_ir::{
    AxisRef, CompareDirection, CompareType, DType, Diagnostic, Mesh, OpKind, PadSpec, ReplicaGroups,
    SizeList, SliceSpec, TensorSharding, TensorType, ValueId,
};

use super::Localizer;
use super::exchange::At;
use crate::reshard::{Exchange, Round};
use crate::windows::PerDevice;

impl Localizer<'_> {
    /// Returns the device's block under `to` of a value of global shape `shape`. `block` is its block under `from`.
    pub(super) fn exchange_pieces(
        &mut self,
        mesh: &Mesh,
        [from, to]: [&TensorSharding; 2],
        shape: &[i64],
        block: ValueId,
    ) -> ValueId {
        let Some(dtype) = self.rw.module.tensor(block).map(|t| t.dtype) else { return block };
        let element_bytes = f64::from(dtype.bits()) / 8.0;
        let Some(exchange) = Exchange::between((mesh, self.costs), [from, to], shape, element_bytes) else {
            let message = format!("a value of shape {shape:?} cannot be resharded by a direct exchange");
            self.fail(Diagnostic::internal("SH0493", message).at(self.rw.module.ops[self.at].span));
            return block;
        };
        if exchange.is_one_slab() && exchange.rounds[0].takes().iter().all(|&takes| takes) {
            return self.piece(mesh, &exchange.axes, &exchange.rounds[0], block);
        }
        let zero = self.splat(&vec![0; dtype.bytes()], &[], dtype);
        let mut result = self.broadcast_scalar(zero, &exchange.block, dtype);
        for round in &exchange.rounds {
            let slab = self.piece(mesh, &exchange.axes, round, block);
            result = self.put(&exchange, round, result, slab);
        }
        result
    }

    /// Returns the slab that each device receives in a round.
    fn piece(&mut self, mesh: &Mesh, axes: &[AxisRef], round: &Round, block: ValueId) -> ValueId {
        let mut slab = block;
        let mut starts = Vec::with_capacity(round.sizes.len());
        let mut is_known = true;
        for from in &round.from {
            let at = self.per_device(from, axes);
            is_known &= matches!(at, At::Same(_));
            starts.push(at);
        }
        let shape = self.rw.module.shape(block).to_vec();
        if is_known {
            for (dim, at) in starts.into_iter().enumerate() {
                slab = self.cut(slab, at, round.sizes[dim], dim);
            }
        } else if shape != round.sizes.as_slice() {
            let mut operands = vec![block];
            for at in starts {
                operands.push(self.start(at));
            }
            let dtype = self.rw.module.tensor(block).map_or(DType::F32, |t| t.dtype);
            let ty = self.tensor_type(&round.sizes, dtype);
            slab = self.emit(OpKind::DynamicSlice { sizes: round.sizes.clone() }, &operands, ty);
        }
        if round.pairs.is_empty() {
            return slab;
        }
        // Devices exchange only with devices of the same coordinates along other axes.
        let mut pairs = Vec::new();
        for group in mesh.replica_groups(axes).iter() {
            let group: Vec<i64> = group.iter().collect();
            pairs.extend(round.pairs.iter().map(|&(sender, receiver)| (group[sender], group[receiver])));
        }
        let spec = self.on_channel(ReplicaGroups::pairs(pairs));
        self.collective(OpKind::CollectivePermute(spec), slab, &round.sizes)
    }

    /// Writes a slab to its position in `result`, without the elements beyond the block. A device that receives no slab keeps its result.
    fn put(&mut self, exchange: &Exchange, round: &Round, result: ValueId, slab: ValueId) -> ValueId {
        let axes = &exchange.axes;
        let takes = round.takes();
        // For each dimension: the start of the written region in the block, and the start of the slab within that region.
        let (mut starts, mut inner) = (Vec::with_capacity(round.to.len()), Vec::new());
        for (d, to) in round.to.iter().enumerate() {
            let last = exchange.block[d] - round.sizes[d];
            let inside: PerDevice = to.iter().map(|to| to.map(|to| to.clamp(0, last))).collect();
            let within =
                to.iter().zip(&inside).map(|(to, at)| Some((*to)? - (*at)? + round.low[d])).collect();
            let at = self.per_device(&inside, axes);
            starts.push(self.start(at));
            if round.sticks_out() {
                let at = self.per_device(&within, axes);
                inner.push(self.start(at));
            }
        }
        let mut slab = slab;
        let Some(ty) = self.rw.module.tensor(slab).cloned() else { return result };
        let slab_ty = self.rw.module.values[slab].ty;
        if round.sticks_out() || takes.contains(&false) {
            let mut operands = vec![result];
            operands.extend(&starts);
            let sizes = round.sizes.clone();
            let kept = self.emit(OpKind::DynamicSlice { sizes }, &operands, slab_ty);
            if round.sticks_out() {
                slab = self.trimmed(round, kept, slab, &inner, &ty);
            }
            if takes.contains(&false) {
                let takes = takes.iter().map(|&takes| Some(i64::from(takes))).collect();
                let at = self.per_device(&takes, axes);
                let (takes, zero) = (self.start(at), self.i32_scalar(0));
                let pred = self.tensor_type(&[], DType::I1);
                let compare = OpKind::Compare(CompareDirection::NE, Some(CompareType::Signed));
                let takes = self.emit(compare, &[takes, zero], pred);
                slab = self.emit(OpKind::Select, &[takes, slab, kept], slab_ty);
            }
        }
        let mut operands = vec![result, slab];
        operands.extend(starts);
        let ty = self.rw.module.values[result].ty;
        self.emit(OpKind::DynamicUpdateSlice, &operands, ty)
    }

    /// Returns `kept` overwritten by a slab from index `inner` on. `kept` is padded by margins for the elements of the slab that lie
    /// outside of it; the margins are then sliced off.
    fn trimmed(
        &mut self,
        round: &Round,
        kept: ValueId,
        slab: ValueId,
        inner: &[ValueId],
        ty: &TensorType,
    ) -> ValueId {
        let rank = ty.rank();
        let zero = self.splat(&vec![0; ty.dtype.bytes()], &[], ty.dtype);
        let (low, high) = (round.low.clone(), round.high.clone());
        let wide: SizeList = low.iter().zip(&high).zip(&round.sizes).map(|((l, h), n)| l + h + n).collect();
        let wide_ty = self.tensor_type(&wide, ty.dtype);
        let spec = PadSpec { low: low.clone(), high, interior: SizeList::from_elem(0, rank) };
        let around = self.emit(OpKind::Pad(Box::new(spec)), &[kept, zero], wide_ty);
        let mut operands = vec![around, slab];
        operands.extend(inner);
        let written = self.emit(OpKind::DynamicUpdateSlice, &operands, wide_ty);
        let limit = low.iter().zip(&round.sizes).map(|(low, n)| low + n).collect();
        let spec = SliceSpec { start: low, limit, stride: SizeList::from_elem(1, rank) };
        let slab_ty = self.rw.module.values[slab].ty;
        self.emit(OpKind::Slice(Box::new(spec)), &[written], slab_ty)
    }

    fn start(&mut self, at: At) -> ValueId {
        match at {
            At::Same(start) => self.i32_scalar(start),
            At::Own(start) => start,
        }
    }
}
