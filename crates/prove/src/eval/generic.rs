//! Operations without a rule of their own: a function of all elements of their operands, except along batch dimensions.

use shardc_ir::{OpId, OpKind, ValueId, WindowSpec, reducer};

use super::windows::Sliding;
use super::{Eval, OrStop, Stop, regions};
use crate::algebra::join_of;
use crate::terms::{CORE, DEVICE, Digit, Digits, View, push};

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
        OpKind::Cholesky { .. } => dim + 2 < rank,
        // The right-hand sides are independent.
        OpKind::TriangularSolve(spec) => {
            let sides = if spec.left_side { 1 } else { 2 };
            dim + 2 < rank || (operand == 1 && dim + sides == rank)
        }
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
        OpKind::CustomCall(_) => {
            let result = eval.rules.batch_dim(kind, operand, rank, dim)?;
            let has = |&value: &ValueId| (result as usize) < eval.module.rank(value);
            return data.results.iter().all(has).then_some(result);
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
        let results: Vec<Vec<u64>> = data.results.iter().map(|&value| self.sizes(value)).collect();
        self.generic_on(op, &data.kind, &args, &sizes, &results)
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
        if let [view, init] = args.as_slice()
            && let Some(found) = self.disjoint(op, &spec, view, init, &sizes[0])
        {
            return Ok(vec![found]);
        }
        self.overlapping(op, spec, args, sizes)
    }

    /// A reduction over windows that overlap, of which each device may have other ones.
    fn overlapping(
        &mut self,
        op: OpId,
        mut spec: WindowSpec,
        mut args: Vec<View>,
        mut sizes: Vec<Vec<u64>>,
    ) -> Result<Vec<View>, Stop> {
        let to = self.sizes(self.module.ops[op].results[0]);
        let one = |list: &[i64], at: usize| list.get(at).copied().unwrap_or(1);
        let mut slides: Vec<Sliding> = Vec::new();
        for (at, &to) in to.iter().enumerate() {
            slides.push(Sliding {
                window: one(&spec.dimensions, at).max(1) as u64,
                stride: one(&spec.strides, at),
                base_dilation: one(&spec.base_dilations, at),
                window_dilation: one(&spec.window_dilations, at),
                padding: spec.padding[at],
                from: sizes[0][at],
                to,
                number: Digits::new(),
            });
        }
        let [view, init] = args.as_mut_slice() else { return self.generic(op) };
        for at in (0..slides.len()).rev().chain(0..slides.len()) {
            if let Some(inner) = self.slide(view, at as u32, init, &mut slides[at]) {
                *view = inner;
            }
            let slide = &mut slides[at];
            if slide.base_dilation == 1
                && let Some((inner, [low, size, high])) = self.terms.unpadded(view, init, at as u32)
            {
                *view = inner;
                slide.from = size;
                slide.padding.0 += low as i64;
                slide.padding.1 += high as i64;
            }
        }
        for (at, slide) in slides.iter_mut().enumerate() {
            slide.trim();
            sizes[0][at] = slide.from;
            spec.padding[at] = slide.padding;
        }
        let all: Vec<u64> = slides.iter().map(|slide| slide.to).collect();
        let found = self.generic_on(op, &OpKind::ReduceWindow(Box::new(spec)), &args, &sizes, &[all])?;
        let places: Vec<Digits> =
            (0u32..).zip(&slides).zip(to).map(|((dim, slide), to)| slide.result(dim, to)).collect();
        let moved = |view: View| view.moved(|slot| places.get(slot as usize).map(|place| &place[..]));
        found.into_iter().map(|view| moved(view).or_stop()).collect()
    }

    /// A reduction over windows that do not overlap is a reduction over the position in a window.
    fn disjoint(
        &mut self,
        op: OpId,
        spec: &WindowSpec,
        view: &View,
        init: &View,
        sizes: &[u64],
    ) -> Option<View> {
        let module = self.module;
        let data = &module.ops[op];
        let kind = self.kind(data.results[0]);
        let join = join_of(kind, reducer::reduction_of(module, *data.regions.first()?, 1)?)?;
        let (mut places, mut reduced) = (Vec::new(), Vec::new());
        for (dim, &size) in (0u32..).zip(sizes) {
            let at = dim as usize;
            let is = |list: &[i64], value: i64| list.get(at).copied().unwrap_or(1) == value;
            let window = *spec.dimensions.get(at)?;
            let count = u64::try_from(window).ok()?;
            let is_plain = is(&spec.strides, window)
                && is(&spec.base_dilations, 1)
                && is(&spec.window_dilations, 1)
                && spec.padding.get(at).is_none_or(|&padding| padding == (0, 0));
            if !is_plain || !size.is_multiple_of(count) {
                return None;
            }
            let slot = self.terms.fresh();
            reduced.push((slot, count));
            let mut place = Digits::new();
            push(&mut place, Digit::all(dim, size / count));
            push(&mut place, Digit::all(slot, count));
            places.push(place);
        }
        let moved = view.moved(|slot| places.get(slot as usize).map(|place| &place[..]))?;
        let found = self.terms.reduce(join, kind, &moved, &reduced)?;
        if self.terms.is_identity(join, init) {
            return Some(found);
        }
        self.terms.join(join, kind, &[init.clone(), found])
    }

    /// An operation of this kind on operands and with results of these sizes.
    fn generic_on(
        &mut self,
        op: OpId,
        kind: &OpKind,
        args: &[View],
        sizes: &[Vec<u64>],
        to: &[Vec<u64>],
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
            let to = &to[at];
            let is_core = |dim: &(u32, &u64)| !batch.contains(&dim.0);
            let core = || (0u32..).zip(to).filter(is_core);
            let added: Vec<Digits> = core()
                .map(|(dim, &size)| {
                    let mut number = Digits::new();
                    push(&mut number, Digit::all(dim, size));
                    number
                })
                .collect();
            let own: Vec<u64> = core().map(|(_, &size)| size).collect();
            let text = format!("{text} -> {at} {own:?} {}", self.element(result));
            let kind = self.kind(result);
            results.push(self.terms.core(&text, kind, &moved, &added).or_stop()?);
        }
        Ok(results)
    }

    fn element(&self, value: ValueId) -> &'static str {
        self.module.stored(value).map_or("token", |ty| ty.dtype.as_str())
    }
}
