//! Operations without a rule of their own: a function of all elements of their operands, except along batch dimensions.

use shardc_ir::{OpId, OpKind, ValueId, WindowSpec};

use super::{Eval, OrStop, Stop, regions};
use crate::terms::{CORE, DEVICE, Digit, Digits, Op, View, push};

/// The most dimensions of an operand.
const MOST_DIMS: u32 = 16;

/// The dimension of the result of a batch dimension of operand `operand`; `None` if the operation computes along it.
fn batch_dim(eval: &Eval<'_, '_>, op: OpId, kind: &OpKind, operand: usize, dim: u32) -> Option<u32> {
    let data = &eval.module.ops[op];
    let rank = eval.module.rank(data.operands[operand]) as u32;
    let is_batch = match kind {
        OpKind::Sort { dim: along, .. } => {
            let along = along.unwrap_or(-1);
            let along = if along < 0 { along + i64::from(rank) } else { along };
            i64::from(dim) != along
        }
        OpKind::Fft { length, .. } => dim + (length.len() as u32) < rank,
        OpKind::Cholesky { .. } | OpKind::TriangularSolve(_) => dim + 2 < rank,
        OpKind::TopK { .. } => dim + 1 < rank,
        OpKind::Reverse { dims } => !dims.contains(&dim),
        OpKind::Map { .. } => true,
        OpKind::BitcastConvert => dim < rank.min(eval.module.rank(data.results[0]) as u32),
        OpKind::Pad(spec) => {
            let at = dim as usize;
            operand == 0 && spec.low[at] == 0 && spec.high[at] == 0 && spec.interior[at] == 0
        }
        OpKind::ReduceWindow(spec) | OpKind::SelectAndScatter(spec) => {
            let at = dim as usize;
            let one = |list: &[i64]| list.get(at).copied().unwrap_or(1) == 1;
            let is_padded = spec.padding.get(at).is_some_and(|&padding| padding != (0, 0));
            rank > 0
                && one(&spec.dimensions)
                && one(&spec.strides)
                && one(&spec.base_dilations)
                && one(&spec.window_dilations)
                && !is_padded
        }
        OpKind::Reduce { dims } => {
            if rank == 0 || dims.contains(&dim) {
                return None;
            }
            let before = dims.iter().filter(|&&reduced| reduced < dim).count() as u32;
            return Some(dim - before);
        }
        _ => false,
    };
    is_batch.then_some(dim)
}

impl Eval<'_, '_> {
    pub(super) fn generic(&mut self, op: OpId) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let sizes: Vec<Vec<u64>> = data.operands.iter().map(|&value| self.sizes(value)).collect();
        let args = self.operands(op)?;
        self.generic_on(op, &data.kind, &args, &sizes)
    }

    /// A reduction over windows: padding with the initial value becomes padding of the operation.
    pub(super) fn reduce_window(&mut self, op: OpId, spec: &WindowSpec) -> Result<Vec<View>, Stop> {
        let data = &self.module.ops[op];
        let mut sizes = vec![self.sizes(data.operands[0]), Vec::new()];
        let mut args = self.operands(op)?;
        let [view, init] = args.as_mut_slice() else { return self.generic(op) };
        let mut spec = spec.clone();
        let rank = sizes[0].len();
        spec.padding.resize(rank, (0, 0));
        for dim in (0..rank).rev().chain(0..rank) {
            let is_dilated = spec.base_dilations.get(dim).is_some_and(|&step| step != 1);
            let found = self.terms.unpadded(view, init, dim as u32).filter(|_| !is_dilated);
            if let Some((inner, [low, size, high])) = found {
                *view = inner;
                sizes[0][dim] = size;
                spec.padding[dim].0 += low as i64;
                spec.padding[dim].1 += high as i64;
            }
        }
        self.generic_on(op, &OpKind::ReduceWindow(Box::new(spec)), &args, &sizes)
    }

    /// An operation of this kind on these operands.
    fn generic_on(
        &mut self,
        op: OpId,
        kind: &OpKind,
        args: &[View],
        sizes: &[Vec<u64>],
    ) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        if data.results.is_empty() {
            return Ok(Vec::new());
        }
        let Some(mut text) = regions::attributes(kind) else {
            return Stop::rule("no rule for this operation");
        };
        if matches!(kind, OpKind::Opaque(_)) {
            return Stop::rule("an operation of another dialect");
        }
        for &region in &data.regions {
            match regions::text(module, region) {
                Some(region) => text += &format!("{{{region}}}"),
                None => return Stop::rule("a region that uses values of the enclosing region"),
            }
        }
        let mut moved = Vec::new();
        let mut batch: Vec<u32> = Vec::new();
        for (at, (view, &value)) in args.iter().zip(&data.operands).enumerate() {
            text += &format!(" {}", self.element(value));
            let mut places: Vec<Digits> = Vec::new();
            for (dim, &size) in (0u32..).zip(&sizes[at]) {
                let result = batch_dim(self, op, kind, at, dim);
                let slot = match result {
                    Some(result) => {
                        batch.push(result);
                        result
                    }
                    None => {
                        text += &format!(" {at}.{dim}:{size}");
                        CORE + at as u32 * MOST_DIMS + dim
                    }
                };
                let mut number = Digits::new();
                push(&mut number, Digit::all(slot, size));
                places.push(number);
            }
            if places.len() > MOST_DIMS as usize || at > 60 {
                return Stop::rule("too many dimensions or operands");
            }
            let place =
                |slot: u32| if slot < DEVICE { places.get(slot as usize).map(|n| &n[..]) } else { None };
            moved.push(view.moved(place).or_stop()?);
        }
        let mut results = Vec::new();
        for (at, &result) in data.results.iter().enumerate() {
            let added = self.added(result, &batch);
            let text = format!("{text} -> {at} {}", self.core_type(result, &batch));
            let kind = self.kind(result);
            results.push(self.terms.build(Op::Core(text.into()), kind, &moved, &[], &added).or_stop()?);
        }
        Ok(results)
    }

    fn added(&self, value: ValueId, batch: &[u32]) -> Vec<Digits> {
        let whole = self.whole(value).into_iter().zip(0u32..);
        whole.filter(|(_, dim)| !batch.contains(dim)).map(|(number, _)| number).collect()
    }

    fn element(&self, value: ValueId) -> &'static str {
        self.module.stored(value).map_or("token", |ty| ty.dtype.as_str())
    }

    fn core_type(&self, value: ValueId, batch: &[u32]) -> String {
        let sizes = self.sizes(value).into_iter().zip(0u32..);
        let core: Vec<u64> = sizes.filter(|(_, dim)| !batch.contains(dim)).map(|(size, _)| size).collect();
        format!("{core:?} {}", self.element(value))
    }
}
