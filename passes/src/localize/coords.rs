//! Computes the mesh coordinates of a device from its partition or replica id.

use std::collections::HashMap;

use shardc_ir::{AxisRef, BinaryOp, DType, Dense, OpKind, SpmdMode, ValueId};

use super::Localizer;

/// The coordinates that a region has computed so far, as `i32` scalars.
#[derive(Default)]
pub(crate) struct Coords {
    position: Option<ValueId>,
    constants: HashMap<i64, ValueId>,
    linear: HashMap<Vec<AxisRef>, ValueId>,
    entries: HashMap<(Vec<AxisRef>, Vec<i32>), ValueId>,
}

impl Localizer<'_> {
    fn scalar(&mut self, op: BinaryOp, a: ValueId, b: i64) -> ValueId {
        let b = self.i32_scalar(b);
        let ty = self.tensor_type(&[], DType::I32);
        self.emit(OpKind::Binary(op), &[a, b], ty)
    }

    /// Returns an `i32` scalar constant; equal constants of a region are shared.
    pub(crate) fn i32_scalar(&mut self, value: i64) -> ValueId {
        if let Some(&known) = self.coords.constants.get(&value) {
            return known;
        }
        let constant = self.i32_splat(value, &[]);
        self.coords.constants.insert(value, constant);
        constant
    }

    /// Returns the device's position in mesh order.
    fn position(&mut self) -> ValueId {
        if let Some(position) = self.coords.position {
            return position;
        }
        let kind = match self.mode {
            SpmdMode::Replica => OpKind::ReplicaId,
            SpmdMode::Partition => OpKind::PartitionId,
        };
        let ui32 = self.tensor_type(&[], DType::UI32);
        let i32 = self.tensor_type(&[], DType::I32);
        let id = self.emit(kind, &[], ui32);
        let mut position = self.emit(OpKind::Convert, &[id], i32);
        let ids = self.mesh.device_ids.clone();
        if let Some(ids) = ids.filter(|ids| ids.iter().enumerate().any(|(i, &id)| i as i64 != id)) {
            // The mesh lists the device ID of each position. A device knows its ID, so the inverse table is looked up.
            let mut table = vec![0i32; ids.len()];
            for (position, &id) in ids.iter().enumerate() {
                if let Some(entry) = usize::try_from(id).ok().and_then(|id| table.get_mut(id)) {
                    *entry = position as i32;
                }
            }
            position = self.lookup(&table, position);
        }
        self.coords.position = Some(position);
        position
    }

    /// Emits a lookup of entry `index` of a table.
    fn lookup(&mut self, table: &[i32], index: ValueId) -> ValueId {
        let bytes = table.iter().flat_map(|p| p.to_le_bytes()).collect();
        let ty = self.tensor_type(&[table.len() as i64], DType::I32);
        let table = self.emit(OpKind::Constant(Dense::compact(4, bytes)), &[], ty);
        let one = self.tensor_type(&[1], DType::I32);
        let sizes = [1].into_iter().collect();
        let entry = self.emit(OpKind::DynamicSlice { sizes }, &[table, index], one);
        let scalar = self.tensor_type(&[], DType::I32);
        self.emit(OpKind::Reshape, &[entry], scalar)
    }

    /// Emits a lookup of `table` at the device's linear index over `axes`.
    pub(crate) fn entry(&mut self, axes: &[AxisRef], table: &[i32]) -> ValueId {
        let key = (axes.to_vec(), table.to_vec());
        if let Some(&known) = self.coords.entries.get(&key) {
            return known;
        }
        let index = self.linear_coordinate(axes);
        let entry = self.lookup(table, index);
        self.coords.entries.insert(key, entry);
        entry
    }

    /// Returns `start + index * step` for the device's linear index over `axes`.
    pub(crate) fn progression(&mut self, axes: &[AxisRef], start: i64, step: i64) -> ValueId {
        let index = self.linear_coordinate(axes);
        let moved = if step == 1 { index } else { self.scalar(BinaryOp::Multiply, index, step) };
        if start == 0 { moved } else { self.scalar(BinaryOp::Add, moved, start) }
    }

    /// Returns the device's linear index over `axes`, major to minor.
    pub(crate) fn linear_coordinate(&mut self, axes: &[AxisRef]) -> ValueId {
        if let Some(&known) = self.coords.linear.get(axes) {
            return known;
        }
        let mesh = &self.mesh;
        let devices = mesh.num_devices() as i64;
        // Axes that are adjacent in the device order are merged into one digit of the device's position, with a stride and a size.
        let mut digits: Vec<(i64, i64)> = Vec::new();
        for &axis in axes {
            let (stride, size) = (mesh.stride(axis), mesh.axis_size(axis));
            match digits.last_mut() {
                Some((above, count)) if *above == stride * size => (*above, *count) = (stride, *count * size),
                _ => digits.push((stride, size)),
            }
        }
        let position = self.position();
        let mut total: Option<ValueId> = None;
        for (stride, size) in digits {
            let mut c = position;
            if stride > 1 {
                c = self.scalar(BinaryOp::Divide, c, stride);
            }
            // The most major digit needs no remainder. Over all axes in order, the index is the position itself.
            if stride * size != devices {
                c = self.scalar(BinaryOp::Remainder, c, size);
            }
            total = Some(match total {
                None => c,
                Some(t) => {
                    let t = self.scalar(BinaryOp::Multiply, t, size);
                    let ty = self.tensor_type(&[], DType::I32);
                    self.emit(OpKind::Binary(BinaryOp::Add), &[t, c], ty)
                }
            });
        }
        let value = match total {
            Some(value) => value,
            None => self.i32_scalar(0),
        };
        self.coords.linear.insert(axes.to_vec(), value);
        value
    }

    /// Returns the start of the device's block: its linear index over `axes` times the block size.
    pub(crate) fn offset(&mut self, axes: &[AxisRef], block: i64) -> ValueId {
        let index = self.linear_coordinate(axes);
        self.scalar(BinaryOp::Multiply, index, block)
    }

    /// Returns, as `i32`, the global index along `dim` of each element of a tensor of shape `local` that is sharded as `value`.
    pub(crate) fn global_index(&mut self, value: ValueId, dim: usize, local: &[i64]) -> ValueId {
        let ty = self.tensor_type(local, DType::I32);
        let iota = self.emit(OpKind::Iota { dim: dim as u32 }, &[], ty);
        let axes = self.sharding(value).map(|s| s.axes(dim).to_vec()).unwrap_or_default();
        if axes.is_empty() {
            return iota;
        }
        let offset = self.offset(&axes, local[dim]);
        let offset = self.broadcast_scalar(offset, local, DType::I32);
        self.emit(OpKind::Binary(BinaryOp::Add), &[iota, offset], ty)
    }

    pub(crate) fn broadcast_scalar(&mut self, scalar: ValueId, shape: &[i64], dtype: DType) -> ValueId {
        if shape.is_empty() {
            return scalar;
        }
        let ty = self.tensor_type(shape, dtype);
        self.emit(OpKind::BroadcastInDim { dims: Default::default() }, &[scalar], ty)
    }
}
