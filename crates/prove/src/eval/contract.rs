//! Contractions and reductions: matmuls, convolutions and reductions are sums over slots.

use shardc_ir::{ConvSpec, DotSpec, OpId, ReductionKind, reducer};

use super::windows::Sliding;
use super::{Eval, OrStop, Stop, regions};
use crate::algebra::{Folding, join_of};
use crate::terms::{CORE, DEVICE, Digit, Digits, Kind, View, push};

impl Eval<'_, '_> {
    pub(super) fn dot_general(&mut self, op: OpId, spec: &DotSpec) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let kind = self.kind(data.results[0]);
        let sizes = [self.sizes(data.operands[0]), self.sizes(data.operands[1])];
        let mut slots: [Vec<u32>; 2] = [vec![u32::MAX; sizes[0].len()], vec![u32::MAX; sizes[1].len()]];
        let mut reduced = Vec::new();
        for (&left, &right) in spec.lhs_contract.iter().zip(&spec.rhs_contract) {
            let slot = self.terms.fresh();
            slots[0][left as usize] = slot;
            slots[1][right as usize] = slot;
            reduced.push((slot, sizes[0][left as usize]));
        }
        let mut next = 0u32;
        for (&left, &right) in spec.lhs_batch.iter().zip(&spec.rhs_batch) {
            slots[0][left as usize] = next;
            slots[1][right as usize] = next;
            next += 1;
        }
        for slot in slots.iter_mut().flatten().filter(|slot| **slot == u32::MAX) {
            *slot = next;
            next += 1;
        }
        let mut factors = Vec::new();
        for (at, slots) in slots.iter().enumerate() {
            let view = self.value(data.operands[at])?;
            let moved = view.renamed(|slot| slots.get(slot as usize).copied().unwrap_or(slot));
            factors.push(self.terms.convert(kind, &moved).or_stop()?);
        }
        let product = self.terms.join(
            if kind == Kind::Bool { ReductionKind::And } else { ReductionKind::Mul },
            kind,
            &factors,
        );
        let product = product.or_stop()?;
        let sum = if kind == Kind::Bool { ReductionKind::Or } else { ReductionKind::Add };
        self.terms.reduce(sum, kind, &product, &reduced).or_stop()
    }

    pub(super) fn reduce(&mut self, op: OpId, dims: &[u32]) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let count = data.results.len();
        let reduction = data.regions.first().and_then(|&region| reducer::reduction_of(module, region, count));
        let joins: Option<Vec<ReductionKind>> = data
            .results
            .iter()
            .map(|&result| reduction.and_then(|reduction| join_of(self.kind(result), reduction)))
            .collect();
        let Some(joins) = joins else { return self.fold(op, dims) };
        let mut results = Vec::new();
        for (at, join) in joins.into_iter().enumerate() {
            let kind = self.kind(data.results[at]);
            let view = self.value(data.operands[at])?;
            let sizes = self.sizes(data.operands[at]);
            let (mut slots, mut reduced, mut next) = (Vec::new(), Vec::new(), 0);
            for (dim, &size) in sizes.iter().enumerate() {
                if dims.contains(&(dim as u32)) {
                    let slot = self.terms.fresh();
                    slots.push(slot);
                    reduced.push((slot, size));
                } else {
                    slots.push(next);
                    next += 1;
                }
            }
            let view = view.renamed(|slot| slots.get(slot as usize).copied().unwrap_or(slot));
            let view = self.terms.reduce(join, kind, &view, &reduced).or_stop()?;
            let init = self.value(data.operands[count + at])?;
            results.push(if self.terms.is_identity(join, &init) {
                view
            } else {
                self.terms.join(join, kind, &[init, view]).or_stop()?
            });
        }
        Ok(results)
    }

    /// A reduction by a region that is not one associative and commutative operation.
    fn fold(&mut self, op: OpId, dims: &[u32]) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let Some(text) = data.regions.first().and_then(|&region| regions::text(module, region)) else {
            return Stop::rule("a reduction by a region that uses values of the enclosing region");
        };
        let args = self.operands(op)?;
        let Some((inputs, starts)) = args.split_at_checked(data.results.len()) else {
            return Stop::rule("a reduction without initial values");
        };
        let sizes = self.sizes(data.operands[0]);
        let total: u64 = dims.iter().filter_map(|&dim| sizes.get(dim as usize)).product();
        let (slot, mut stride, mut next) = (self.terms.fresh(), total, 0);
        let mut places: Vec<Digits> = Vec::new();
        for (dim, &size) in (0u32..).zip(&sizes) {
            let mut place = Digits::new();
            if dims.contains(&dim) {
                stride /= size;
                push(&mut place, Digit { slot, stride, size });
            } else {
                push(&mut place, Digit::all(next, size));
                next += 1;
            }
            places.push(place);
        }
        let place = |slot: u32| places.get(slot as usize).map(|place| &place[..]);
        let moved: Option<Vec<View>> = inputs.iter().map(|view| view.moved(place)).collect();
        let folding = Folding { text: text.into(), starts: starts.to_vec() };
        self.terms.fold(&folding, &moved.or_stop()?, slot, total).or_stop()
    }

    /// Moves zeros with which the input of a convolution is padded to the padding of the convolution.
    fn convert_padding(
        &mut self,
        spec: &ConvSpec,
        kind: Kind,
        mut view: View,
        sizes: &mut [u64],
        padding: &mut [(i64, i64)],
    ) -> View {
        let spatial: Vec<u32> = spec.input.spatial.to_vec();
        let zero = self.terms.integer(kind, 0);
        // Each pad is along one dimension; the last one is the outermost.
        for at in (0..spatial.len()).rev().chain(0..spatial.len()) {
            let (dim, is_dilated) = (spatial[at], spec.lhs_dilation.get(at).is_some_and(|&step| step != 1));
            let found = self.terms.unpadded(&view, &zero, dim).filter(|_| !is_dilated);
            if let Some((inner, [low, size, high])) = found {
                view = inner;
                sizes[dim as usize] = size;
                padding[at].0 += low as i64;
                padding[at].1 += high as i64;
            }
        }
        view
    }

    /// The operand of a convolution, and the convolution along each spatial dimension: padding becomes padding of the convolution, and windows of
    /// neighbors become the argument of these windows, which `sizes` has then.
    fn sliding(
        &mut self,
        op: OpId,
        spec: &ConvSpec,
        kind: Kind,
        sizes: &mut [Vec<u64>; 3],
    ) -> Result<(View, Vec<Sliding>), Stop> {
        let mut padding: Vec<(i64, i64)> = (0..spec.output.spatial.len())
            .map(|at| spec.padding.get(at).copied().unwrap_or((0, 0)))
            .collect();
        let input_view = self.value(self.module.ops[op].operands[0])?;
        let mut input_view = self.convert_padding(spec, kind, input_view, &mut sizes[0], &mut padding);
        let is = |list: &[i64], at: usize| list.get(at).copied().unwrap_or(1);
        let mut slides: Vec<Sliding> = Vec::new();
        for (at, &dim) in spec.output.spatial.iter().enumerate() {
            slides.push(Sliding {
                window: sizes[1][spec.kernel.spatial[at] as usize],
                stride: is(&spec.strides, at),
                base_dilation: is(&spec.lhs_dilation, at),
                window_dilation: is(&spec.rhs_dilation, at),
                padding: padding[at],
                from: sizes[0][spec.input.spatial[at] as usize],
                to: sizes[2][dim as usize],
                number: Digits::new(),
            });
        }
        let zero = self.terms.integer(kind, 0);
        // The windows of the last exchange are the outermost.
        for at in (0..slides.len()).rev().chain(0..slides.len()) {
            if let Some(inner) = self.slide(&input_view, spec.input.spatial[at], &zero, &mut slides[at]) {
                input_view = inner;
            }
        }
        for (at, slide) in slides.iter().enumerate() {
            sizes[0][spec.input.spatial[at] as usize] = slide.from;
            padding[at] = slide.padding;
        }
        let input_view = self.convert_padding(spec, kind, input_view, &mut sizes[0], &mut padding);
        for (at, slide) in slides.iter_mut().enumerate() {
            slide.from = sizes[0][spec.input.spatial[at] as usize];
            slide.padding = padding[at];
            slide.trim();
        }
        Ok((input_view, slides))
    }

    /// A convolution is a sum over input features of a convolution over the spatial dimensions alone.
    pub(super) fn convolution(&mut self, op: OpId, spec: &ConvSpec) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let kind = self.kind(data.results[0]);
        let mut sizes = [data.operands[0], data.operands[1], data.results[0]].map(|value| self.sizes(value));
        let (input_view, slides) = self.sliding(op, spec, kind, &mut sizes)?;
        let size = |which: usize, dim: u32| sizes[which][dim as usize];
        let fresh = |eval: &mut Self, size: u64| Digit::all(eval.terms.fresh(), size);
        let groups = (spec.feature_group_count.max(1) as u64, spec.batch_group_count.max(1) as u64);
        // Features: the group, the input feature in a group, the output feature in a group. Batches: the group, the batch in a group.
        let inputs = size(1, spec.kernel.input_feature);
        let outputs = size(1, spec.kernel.output_feature);
        let batch = size(2, spec.output.batch);
        let feature_group = fresh(self, groups.0);
        let batch_group = fresh(self, groups.1);
        let input = fresh(self, inputs);
        let output = fresh(self, outputs / groups.0 / groups.1);
        let row = fresh(self, batch);
        let number = |digits: &[Digit]| {
            let mut number = Digits::new();
            digits.iter().for_each(|&digit| push(&mut number, digit));
            number
        };
        let mut places: [Vec<(u32, Digits)>; 2] = [
            vec![
                (spec.input.batch, number(&[batch_group, row])),
                (spec.input.feature, number(&[feature_group, input])),
            ],
            vec![
                (spec.kernel.input_feature, number(&[input])),
                (spec.kernel.output_feature, number(&[batch_group, feature_group, output])),
            ],
        ];
        let mut text = String::from("convolution");
        let mut added = Vec::new();
        for (at, &dim) in spec.output.spatial.iter().enumerate() {
            let (left, right) = (spec.input.spatial[at], spec.kernel.spatial[at]);
            let slide = &slides[at];
            let own = [CORE + 2 * at as u32, CORE + 2 * at as u32 + 1];
            if slide.is_one_to_one() {
                let place = slide.result(dim, size(2, dim));
                places[0].push((left, place));
                continue;
            }
            places[0].push((left, number(&[Digit::all(own[0], slide.from)])));
            places[1].push((right, number(&[Digit::all(own[1], slide.window)])));
            added.push(slide.result(dim, size(2, dim)));
            let reversal = spec.reversal.get(at).copied().unwrap_or(false);
            text += &format!(" {at}:{slide} {reversal}");
        }
        let mut args = Vec::new();
        for (at, places) in places.iter().enumerate() {
            let view = if at == 0 { input_view.clone() } else { self.value(data.operands[at])? };
            let place =
                |slot: u32| places.iter().find(|(dim, _)| *dim == slot).map(|(_, number)| &number[..]);
            let moved = view.moved(|slot| if slot < DEVICE { place(slot) } else { None }).or_stop()?;
            args.push(self.terms.convert(kind, &moved).or_stop()?);
        }
        let product = if added.is_empty() {
            self.terms.join(ReductionKind::Mul, kind, &args)
        } else {
            self.terms.core(&text, kind, &args, &added)
        };
        let product = product.or_stop()?;
        let sum = self.terms.reduce(ReductionKind::Add, kind, &product, &[(input.slot, inputs)]).or_stop()?;
        // The output feature is the batch group, then the feature group, then the feature in the group.
        let place = |slot: u32| {
            let feature = spec.output.feature;
            let mut stride = 1;
            for part in [output, feature_group, batch_group] {
                if part.slot == slot {
                    return Some(number(&[Digit { slot: feature, stride, size: part.size }]));
                }
                stride *= part.size;
            }
            (slot == row.slot).then(|| number(&[Digit::all(spec.output.batch, batch)]))
        };
        let own: Vec<(u32, Digits)> = [output, feature_group, batch_group, row]
            .iter()
            .filter_map(|part| Some((part.slot, place(part.slot)?)))
            .collect();
        let find = |slot: u32| own.iter().find(|(old, _)| *old == slot).map(|(_, number)| &number[..]);
        sum.moved(find).or_stop()
    }
}
