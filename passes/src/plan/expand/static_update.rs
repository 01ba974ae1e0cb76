//! Expands updates at constant indices: `x.at[1:].set(y)`, `x.at[::2].add(y)`, a `dynamic_update_slice` with constant start indices.
//!
//! If the updated dimension is sharded, a device's block of the update does not match its block of the operand. The update is therefore
//! padded to the operand's size, which takes a halo exchange, and a `select` combines the padded update with the operand. Otherwise the
//! update would be all-gathered, and for a `scatter` the operand as well.
//!
//! Condition: the update is within bounds. Back ends disagree on which elements of a partly out-of-bounds update a `scatter` ignores.
//!
//! ```mlir
//! %0 = stablehlo.dynamic_update_slice %x, %y, %c1 : (tensor<8xf32>, tensor<7xf32>, tensor<i32>) -> tensor<8xf32> // at 1
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.pad %y, %zero, low = [1], high = [0], interior = [0]
//! %0 = stablehlo.select %is_updated, %1, %x
//! ```

use shardc_ir::{
    AxisList, AxisRef, BinaryOp, Build, CompareDirection, CompareType, DType, DimSharding, Module, OpId,
    OpKind, PadSpec, RegionId, ScatterSpec, SizeList, TensorType, ValueDef, ValueId,
};
use smallvec::SmallVec;

use super::Steps;
use crate::analysis::integer_fold::{IntegerFold, Progression};
use crate::analysis::reducer::exact_zero;
use crate::cost::Costs;
use crate::plan::support::single_windows;
use crate::windows::{Along, Exchange, is_windowed, transfers};

/// The positions of an update's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Places {
    /// For each dimension of the operand, the indices of the update's elements.
    along: SmallVec<[Progression; 6]>,
    /// For each dimension of the operand, whether the update windows omit it: the window size is one, or rows are scattered one by one.
    is_inserted: SmallVec<[bool; 6]>,
}

/// An update at known positions.
struct Update {
    operand: ValueId,
    update: ValueId,
    places: Places,
    /// How an element of the operand and an element of the update are combined.
    combine: Combine,
}

/// The effect of an update on the elements at its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combine {
    /// The update replaces the elements.
    Set,
    /// The elements are combined with the update by a binary operation, whose first operand is the update if `update_first` is set.
    With { op: BinaryOp, update_first: bool },
}

/// The operand of the slice that computes an update.
struct Sliced {
    source: ValueId,
    /// The padding that moves the source to the position of the update.
    padding: PadSpec,
    /// The cost of the halo exchange for this padding minus the cost of the slice, in bytes that a device sends.
    cost: f64,
}

/// How a dimension of the update is extended to the size of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grow {
    /// The sizes are equal, so the dimension is not extended.
    No,
    /// The update is padded along the dimension.
    Pad,
    /// A `dynamic_update_slice` writes the update into a tensor of zeros. The update is replicated along the dimension, and each device
    /// writes the elements of its block.
    Write,
}

impl Steps<'_, '_> {
    /// Expands an update at a known position along a sharded dimension.
    pub(super) fn static_update(&mut self) -> Option<()> {
        let module = &*self.rw.module;
        let update = Update::of(module, self.at)?;
        let result = module.ops[self.at].results[0];
        let (ty, part) = (module.tensor(result)?.clone(), module.tensor(update.update)?.clone());
        let plain = ty.is_static() && part.is_static() && ty.encoding.is_none() && part.encoding.is_none();
        let is_quantized = module.is_quantized(result) || module.is_quantized(update.update);
        if !plain || is_quantized || ty.shape.iter().any(|&n| i32::try_from(n).is_err()) {
            return None;
        }
        let sharding = |value: ValueId| {
            module.shardings.sharding_of(value).filter(|s| s.mesh == self.mesh && s.unreduced.is_empty())
        };
        sharding(update.operand)?;
        let (dims, of_update) = (sharding(result)?.dims.to_vec(), sharding(update.update)?.dims.to_vec());
        let (shape, of_update) = update.places.with_inserted(&part.shape, &of_update)?;
        if ty.shape.contains(&0) || shape.contains(&0) {
            return None;
        }
        let grow = self.ways_to_grow(&update, &ty, &shape, &dims, &of_update)?;

        let mut value = update.update;
        if shape.as_slice() != part.shape.as_slice() {
            value = self.emit(OpKind::Reshape, &[value], &shape, ty.dtype, &of_update);
        }
        let zero = self.splat(&exact_zero(ty.dtype), ty.dtype);
        if grow.contains(&Grow::Pad) {
            let (mut spec, padded) = update.places.padding(&grow, &shape, &ty.shape);
            if let Some(sliced) = self.sliced(&update, &ty, &dims, &grow) {
                (value, spec) = (sliced.source, sliced.padding);
            }
            let mut split = dims.clone();
            for (dim, _) in split.iter_mut().zip(&grow).filter(|(_, grow)| **grow == Grow::Write) {
                *dim = DimSharding::default();
            }
            value = self.emit(OpKind::Pad(Box::new(spec)), &[value, zero], &padded, ty.dtype, &split);
        }
        let writes_only = !grow.contains(&Grow::Pad) && update.combine == Combine::Set;
        if grow.contains(&Grow::Write) {
            let base = match writes_only {
                true => update.operand,
                false => {
                    let zeros = self.rw.splat(&exact_zero(ty.dtype), &ty.shape, ty.dtype);
                    self.place(zeros, &dims);
                    zeros
                }
            };
            let mut operands: SmallVec<[ValueId; 8]> = SmallVec::from_slice(&[base, value]);
            for (places, grow) in update.places.along.iter().zip(&grow) {
                let start = if *grow == Grow::Write { places.start } else { 0 };
                operands.push(self.splat(&(start as i32).to_le_bytes(), DType::I32));
            }
            if writes_only {
                self.finish(OpKind::DynamicUpdateSlice, &operands);
                return Some(());
            }
            value = self.emit(OpKind::DynamicUpdateSlice, &operands, &ty.shape, ty.dtype, &dims);
        }
        if let Combine::With { op, update_first } = update.combine {
            let both = if update_first { [value, update.operand] } else { [update.operand, value] };
            value = self.emit(OpKind::Binary(op), &both, &ty.shape, ty.dtype, &dims);
        }
        let is_met = self.mask(&update.places, &ty, &dims)?;
        self.finish(OpKind::Select, &[is_met, value, update.operand]);
        Some(())
    }

    /// Converts the current operation to the last step; it keeps its result and its source location.
    fn finish(&mut self, kind: OpKind, operands: &[ValueId]) {
        let data = &mut self.rw.module.ops[self.at];
        data.kind = kind;
        data.operands = operands.iter().copied().collect();
        data.regions.clear();
    }

    /// Returns how each dimension of the update is extended. `None` if the operation can be partitioned without expansion, or if a halo
    /// exchange costs more than an all-gather of the update.
    fn ways_to_grow(
        &self,
        update: &Update,
        ty: &TensorType,
        shape: &[i64],
        dims: &[DimSharding],
        of_update: &[DimSharding],
    ) -> Option<SmallVec<[Grow; 6]>> {
        let module = &*self.rw.module;
        let data = &module.ops[self.at];
        let mesh = &module.meshes[self.mesh];
        let is_split = |dims: &[DimSharding], d: usize| mesh.axes_size(&dims[d].axes) > 1;
        let places = &update.places;
        let mut grow: SmallVec<[Grow; 6]> = (0..ty.rank())
            .map(|d| match (is_split(dims, d), is_split(of_update, d)) {
                _ if shape[d] == ty.shape[d] => Grow::No,
                (true, false) if places.along[d].step == 1 => Grow::Write,
                _ => Grow::Pad,
            })
            .collect();
        // An operation that writes a replicated update needs no expansion, except a scatter of larger windows. Scatters of single elements
        // or rows, and `dynamic_update_slice`, are partitioned as they are.
        let singles = match (&data.kind, data.operands.as_slice()) {
            (OpKind::Scatter(spec), &[input, _, part]) => {
                single_windows(spec, module.shape(input), module.shape(part))
            }
            _ => (0..ty.rank()).collect(),
        };
        let needs_steps = (0..ty.rank()).any(|d| match grow[d] {
            Grow::No => false,
            Grow::Pad => is_split(dims, d) && is_split(of_update, d),
            Grow::Write => !places.is_inserted[d] && !singles.contains(&d),
        });
        needs_steps.then_some(())?;
        let (pad, _) = places.padding(&grow, shape, &ty.shape);
        let pad = match self.sliced(update, ty, dims, &grow) {
            Some(sliced) => Some(sliced.cost),
            None => self.exchange_cost(&OpKind::Pad(Box::new(pad)), shape, &ty.shape, dims),
        };
        if update.combine != Combine::Set || places.along.iter().any(|at| at.step != 1) {
            pad?;
            return Some(grow);
        }
        // An all-gathered update is written in place, but a `select` reads and writes the entire tensor.
        let gathered_axes: AxisList = (0..ty.rank())
            .filter(|&d| grow[d] == Grow::Pad)
            .flat_map(|d| dims[d].axes.iter().copied())
            .collect();
        let parts = mesh.axes_size(&gathered_axes) as f64;
        let along = self.along(&gathered_axes);
        let bytes = |shape: &[i64]| self.local_bytes(ty, shape, dims);
        let gathered = along.all_gather(bytes(shape) * parts, parts);
        let pays_off = pad.is_some_and(|pad| pad + 3.0 * self.costs.local_copy(bytes(&ty.shape)) <= gathered);
        if parts > 1.0 && pays_off {
            return Some(grow);
        }
        if matches!(data.kind, OpKind::DynamicUpdateSlice) {
            return None;
        }
        for grow in grow.iter_mut().filter(|grow| **grow == Grow::Pad) {
            *grow = Grow::Write;
        }
        Some(grow)
    }

    /// Returns the costs of collectives along these axes.
    fn along(&self, axes: &[AxisRef]) -> Costs {
        self.costs.along(axes.iter().map(|axis| axis.axis))
    }

    /// Returns the bytes of a tensor of this shape on each device.
    fn local_bytes(&self, ty: &TensorType, shape: &[i64], dims: &[DimSharding]) -> f64 {
        let mesh = &self.rw.module.meshes[self.mesh];
        let block = |(&n, dim): (&i64, &DimSharding)| (n as f64 / mesh.axes_size(&dim.axes) as f64).ceil();
        shape.iter().zip(dims).map(block).product::<f64>() * f64::from(ty.dtype.bits()) / 8.0
    }

    /// Returns the cost of halo exchanges along all sharded dimensions, in bytes that a device sends; `None` if they take too many rounds.
    fn exchange_cost(&self, kind: &OpKind, from: &[i64], to: &[i64], dims: &[DimSharding]) -> Option<f64> {
        let mesh = &self.rw.module.meshes[self.mesh];
        let ty = self.rw.module.tensor(self.rw.module.ops[self.at].results[0])?;
        let mut sum = 0.0;
        for (d, dim) in dims.iter().enumerate() {
            let k = mesh.axes_size(&dim.axes);
            if k == 1 || !is_windowed(kind, from, d) {
                continue;
            }
            let mut row = from.to_vec();
            row[d] = 1;
            let row_bytes = self.local_bytes(ty, &row, dims);
            for transfer in transfers(kind, &[from, &[]], &|_| false, to, Along::Result(d), k)? {
                sum +=
                    Exchange::price(&transfer.held, &transfer.window, row_bytes, self.along(&dim.axes))?.cost;
            }
        }
        Some(sum)
    }

    /// If the update is a slice, returns the operand of the slice. Condition: one halo exchange that pads this operand costs no more than
    /// two halo exchanges, which slice it and then pad the slice. The mask removes the additional elements.
    fn sliced(
        &self,
        update: &Update,
        ty: &TensorType,
        dims: &[DimSharding],
        grow: &[Grow],
    ) -> Option<Sliced> {
        let module = &*self.rw.module;
        let data = &module.ops[module.def_op(update.update)?];
        let (OpKind::Slice(slice), &[source]) = (&data.kind, data.operands.as_slice()) else { return None };
        let (whole, part) = (module.shape(source), module.shape(update.update));
        let axes = |value: ValueId, d: usize| Some(module.shardings.sharding_of(value)?.axes(d));
        let mut spec = PadSpec {
            low: SizeList::from_elem(0, part.len()),
            high: SizeList::from_elem(0, part.len()),
            interior: SizeList::from_elem(0, part.len()),
        };
        if whole.len() != ty.rank() || module.shardings.sharding_of(source)?.mesh != self.mesh {
            return None;
        }
        for d in 0..ty.rank() {
            let cuts = whole[d] != part[d];
            let fits = slice.stride[d] == 1
                && update.places.along[d].step == 1
                && axes(source, d)? == axes(update.update, d)?
                && (grow[d] == Grow::Pad || grow[d] == Grow::No && !cuts);
            fits.then_some(())?;
            if grow[d] == Grow::Pad {
                spec.low[d] = update.places.along[d].start - slice.start[d];
                spec.high[d] = ty.shape[d] - whole[d] - spec.low[d];
            }
        }
        let (apart, _) = update.places.padding(grow, part, &ty.shape);
        let apart = self.exchange_cost(&OpKind::Pad(Box::new(apart)), part, &ty.shape, dims);
        let slice = self.exchange_cost(&data.kind, whole, part, dims);
        let at_once = self.exchange_cost(&OpKind::Pad(Box::new(spec.clone())), whole, &ty.shape, dims)?;
        let is_less = apart.zip(slice).is_none_or(|(apart, slice)| at_once <= apart + slice);
        is_less.then(|| Sliced { source, padding: spec, cost: at_once - slice.unwrap_or(0.0) })
    }

    /// Returns the mask of the updated elements. Along each dimension, an index is updated if it is between the first and the last updated
    /// index, and its distance from the first is a multiple of the step.
    fn mask(&mut self, places: &Places, ty: &TensorType, dims: &[DimSharding]) -> Option<ValueId> {
        let mut mask: Option<ValueId> = None;
        for (d, at) in places.along.iter().enumerate() {
            let n = ty.shape[d];
            let last = at.last();
            let dim = &dims[d..=d];
            let index = self.emit(OpKind::Iota { dim: 0 }, &[], &[n], DType::I32, dim);
            let mut tests: SmallVec<[ValueId; 3]> = SmallVec::new();
            if at.start > 0 {
                tests.push(self.compare(index, CompareDirection::GE, at.start, n, dim));
            }
            if last < n - 1 {
                tests.push(self.compare(index, CompareDirection::LE, last, n, dim));
            }
            if at.step > 1 {
                let (start, step) = (self.counted(at.start, n, dim), self.counted(at.step, n, dim));
                let binary = |op: BinaryOp| OpKind::Binary(op);
                let from = self.emit(binary(BinaryOp::Subtract), &[index, start], &[n], DType::I32, dim);
                let rest = self.emit(binary(BinaryOp::Remainder), &[from, step], &[n], DType::I32, dim);
                tests.push(self.compare(rest, CompareDirection::EQ, 0, n, dim));
            }
            let and = OpKind::Binary(BinaryOp::And);
            let along =
                tests.into_iter().reduce(|a, b| self.emit(and.clone(), &[a, b], &[n], DType::I1, dim));
            let Some(along) = along else { continue };
            let broadcast = OpKind::BroadcastInDim { dims: [d as u32].into_iter().collect() };
            let along = self.emit(broadcast, &[along], &ty.shape, DType::I1, dims);
            mask = Some(match mask {
                None => along,
                Some(mask) => self.emit(and, &[mask, along], &ty.shape, DType::I1, dims),
            });
        }
        mask
    }

    /// Compares each of the `n` elements of `index` with a number.
    fn compare(
        &mut self,
        index: ValueId,
        direction: CompareDirection,
        with: i64,
        n: i64,
        dim: &[DimSharding],
    ) -> ValueId {
        let with = self.counted(with, n, dim);
        let kind = OpKind::Compare(direction, Some(CompareType::Signed));
        self.emit(kind, &[index, with], &[n], DType::I1, dim)
    }

    /// Returns `number`, broadcast to `n` elements.
    fn counted(&mut self, number: i64, n: i64, dim: &[DimSharding]) -> ValueId {
        let value = self.rw.splat(&(number as i32).to_le_bytes(), &[n], DType::I32);
        self.place(value, dim);
        value
    }
}

impl Update {
    /// Returns the update of an operation, if its positions are known and within bounds.
    fn of(module: &Module, op: OpId) -> Option<Update> {
        let data = &module.ops[op];
        match (&data.kind, data.operands.as_slice()) {
            (OpKind::DynamicUpdateSlice, [operand, update, starts @ ..]) => {
                let (shape, part) = (module.shape(*operand), module.shape(*update));
                let mut fold = IntegerFold::new(module);
                let mut along = SmallVec::new();
                for (&start, (&n, &len)) in starts.iter().zip(shape.iter().zip(part)) {
                    // The start is clamped so that the update fits.
                    let start = fold.number(start, None)?.clamp(0, n - len);
                    along.push(Progression { start, step: 1, len });
                }
                let places = Places { along, is_inserted: shape.iter().map(|_| false).collect() };
                Some(Update { operand: *operand, update: *update, places, combine: Combine::Set })
            }
            (OpKind::Scatter(spec), &[operand, indices, update]) => {
                let combine = Combine::of(module, *data.regions.first()?)?;
                let places = Places::of_scatter(module, spec, operand, indices, update)?;
                Some(Update { operand, update, places, combine })
            }
            _ => None,
        }
    }
}

impl Places {
    /// Returns the positions of a scatter of one window, or of single rows at equal distances. `None` if the positions are unknown, out of
    /// bounds, or not in the order of the update's dimensions.
    fn of_scatter(
        module: &Module,
        spec: &ScatterSpec,
        operand: ValueId,
        indices: ValueId,
        update: ValueId,
    ) -> Option<Places> {
        let (shape, part) = (module.shape(operand), module.shape(update));
        let is_in_order = spec.update_window_dims.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_in_order || !spec.input_batching_dims.is_empty() || !module.tensor(operand)?.is_static() {
            return None;
        }
        let has = |list: &[u32], d: usize| list.contains(&(d as u32));
        let is_inserted: SmallVec<[bool; 6]> =
            (0..shape.len()).map(|d| has(&spec.inserted_window_dims, d)).collect();
        let mut along: SmallVec<[Progression; 6]> = SmallVec::new();
        let mut windows = spec.update_window_dims.iter();
        for &inserted in &is_inserted {
            let len = if inserted { 1 } else { *part.get(*windows.next()? as usize)? };
            along.push(Progression { start: 0, step: 1, len });
        }
        let scattered: SmallVec<[usize; 2]> =
            (0..part.len()).filter(|&d| !has(&spec.update_window_dims, d)).collect();
        let mut fold = IntegerFold::new(module);
        // If index vectors have size 1, the index vector dimension may be implicit.
        let vector_dim = spec.index_vector_dim as usize;
        let component = |i: i64| (vector_dim < module.rank(indices)).then_some((vector_dim, i));
        match (scattered.as_slice(), spec.scatter_dims_to_operand_dims.as_slice()) {
            ([], dims) => {
                for (&d, i) in dims.iter().zip(0..) {
                    along.get_mut(d as usize)?.start = fold.number(indices, component(i))?;
                }
            }
            // The row dimension is at the same position in the update and in the operand.
            (&[row], &[d]) if row == d as usize && *is_inserted.get(row)? => {
                let places = fold.progression(indices, component(0), part[row])?;
                (places.step > 0).then_some(())?;
                along[row] = places;
            }
            _ => return None,
        }
        let is_within = |(at, &n): (&Progression, &i64)| at.len > 0 && at.start >= 0 && at.last() < n;
        along.iter().zip(shape).all(is_within).then_some(Places { along, is_inserted })
    }

    /// Returns the shape and the dimension shardings of the update, with the omitted dimensions of the operand inserted.
    fn with_inserted(&self, part: &[i64], dims: &[DimSharding]) -> Option<(SizeList, Vec<DimSharding>)> {
        let mut given = part.iter().zip(dims);
        let mut shape = SizeList::new();
        let mut split = Vec::new();
        for (at, &inserted) in self.along.iter().zip(&self.is_inserted) {
            // If rows are scattered one by one, the update already has the row dimension.
            if inserted && self.along.len() != part.len() {
                shape.push(at.len);
                split.push(DimSharding::default());
            } else {
                let (&n, dim) = given.next()?;
                shape.push(n);
                split.push(dim.clone());
            }
        }
        given.next().is_none().then_some((shape, split))
    }

    /// Returns the padding that moves the update to its position along the dimensions that are extended by `Pad`, and the padded shape.
    fn padding(&self, grow: &[Grow], part: &[i64], shape: &[i64]) -> (PadSpec, SizeList) {
        let none = SizeList::from_elem(0, part.len());
        let mut spec = PadSpec { low: none.clone(), high: none.clone(), interior: none };
        let mut padded = SizeList::from_slice(part);
        for d in (0..part.len()).filter(|&d| grow[d] == Grow::Pad) {
            let at = self.along[d];
            (spec.low[d], spec.high[d], spec.interior[d]) = (at.start, shape[d] - 1 - at.last(), at.step - 1);
            padded[d] = shape[d];
        }
        (spec, padded)
    }
}

impl Combine {
    /// Returns how a scatter's region combines an element of the operand with an element of the update. `None` unless the region returns
    /// the element of the update, or is a single binary operation on the two elements.
    fn of(module: &Module, region: RegionId) -> Option<Combine> {
        let returned = *module.ops[module.terminator(region)?].operands.first()?;
        let argument = |value: ValueId| match module.values[value].def() {
            ValueDef::Arg(of, i) if of == region => Some(i),
            ValueDef::Arg(..) | ValueDef::Result(..) => None,
        };
        if argument(returned) == Some(1) {
            return Some(Combine::Set);
        }
        let op = &module.ops[module.def_op(returned)?];
        let (&OpKind::Binary(binary), &[a, b]) = (&op.kind, op.operands.as_slice()) else { return None };
        match (argument(a)?, argument(b)?) {
            (0, 1) => Some(Combine::With { op: binary, update_first: false }),
            (1, 0) => Some(Combine::With { op: binary, update_first: true }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const ROWS: &str = r#"[{"x"}, {}]"#;

    /// Expands an update of `%a` with `%b`; both have the sharding `dims`.
    fn expanded(dims: &str, rows: i64, update: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<64x512xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}},
                %b: tensor<{rows}x512xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}, %i: tensor<i32>) -> tensor<64x512xf32> {{
              {update}
              return %r : tensor<64x512xf32>
            }}"#
        );
        around("expand-sharded-ops", r#""x"=4"#, &program)
    }

    /// Writes 60 rows of `%b` into `%a` from row `start` on.
    fn written(dims: &str, start: &str) -> Around {
        expanded(
            dims,
            60,
            &format!(
                "%at = {start} : tensor<i32>
                %zero = stablehlo.constant dense<0> : tensor<i32>
                %r = stablehlo.dynamic_update_slice %a, %b, %at, %zero : (tensor<64x512xf32>, tensor<60x512xf32>, tensor<i32>, tensor<i32>) -> tensor<64x512xf32>"
            ),
        )
    }

    #[test]
    fn an_update_at_a_constant_row_is_a_pad_and_a_select() {
        let done = written(ROWS, "stablehlo.constant dense<1>");
        assert!(done.after.contains("low = [1, 0], high = [3, 0]"), "{}", done.after);
        assert_eq!(done.shardings("stablehlo.pad"), [ROWS]);
        assert_eq!(done.shardings("stablehlo.select"), [ROWS]);
        assert_eq!(done.added("stablehlo.dynamic_update_slice"), -1);
    }

    #[test]
    fn the_start_of_a_dynamic_update_is_clamped() {
        let done = written(ROWS, "stablehlo.constant dense<9>");
        assert!(done.after.contains("low = [4, 0], high = [0, 0]"), "{}", done.after);
    }

    #[test]
    fn an_update_at_an_unknown_row_stays() {
        let done = written(ROWS, "stablehlo.negate %i");
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn an_update_along_an_unsplit_dimension_stays() {
        let done = written(r#"[{}, {"x"}]"#, "stablehlo.constant dense<1>");
        assert!(done.is_same(), "{}", done.after);
    }

    /// Adds 60 rows of `%b` to `%a` from row `start` on.
    fn added(start: i64) -> Around {
        expanded(
            ROWS,
            60,
            &format!(
                r#"%at = stablehlo.constant dense<[{start}]> : tensor<1xi32>
                %r = "stablehlo.scatter"(%a, %at, %b) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}}> ({{
                  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                    %s = stablehlo.add %p, %q : tensor<f32>
                    stablehlo.return %s : tensor<f32>
                }}) : (tensor<64x512xf32>, tensor<1xi32>, tensor<60x512xf32>) -> tensor<64x512xf32>"#
            ),
        )
    }

    #[test]
    fn a_scatter_of_one_window_adds_the_padded_update() {
        let done = added(2);
        assert_eq!(done.shardings("stablehlo.add"), [ROWS], "{}", done.after);
        assert!(done.after.contains("low = [2, 0], high = [2, 0]"), "{}", done.after);
        assert_eq!(done.added("stablehlo.scatter"), -2, "the operation, and its attribute");
    }

    #[test]
    fn a_scatter_that_reaches_out_of_bounds_stays() {
        let done = added(5);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn every_second_row_is_written_by_an_interior_pad() {
        let done = expanded(
            ROWS,
            32,
            r#"%n = stablehlo.iota dim = 0 : tensor<32x1xi32>
            %two = stablehlo.constant dense<2> : tensor<32x1xi32>
            %at = stablehlo.multiply %n, %two : tensor<32x1xi32>
            %r = "stablehlo.scatter"(%a, %at, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
              ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                stablehlo.return %q : tensor<f32>
            }) : (tensor<64x512xf32>, tensor<32x1xi32>, tensor<32x512xf32>) -> tensor<64x512xf32>"#,
        );
        assert!(done.after.contains("low = [0, 0], high = [1, 0], interior = [1, 0]"), "{}", done.after);
        assert_eq!(done.added("stablehlo.remainder"), 1, "the mask selects every second row");
    }
}
