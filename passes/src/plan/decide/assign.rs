//! Per-operation partition assignment: chooses the mesh axes that shard each factor of an operation's sharding rule.
//!
//! The search is greedy and starts from the shardings that propagation chose:
//!
//! * If all operands and results agree on the axes of every factor, these axes are the assignment.
//! * Otherwise each tensor proposes the axes of its own sharding, and the other tensors add axes that do not conflict.
//! * The cheapest proposal wins. The cost is the bytes that reshards and halo exchanges send, plus the larger of arithmetic and memory
//!   traffic per device (see [`cost`]).
//! * A dimension whose halo exchange costs too much is all-gathered.
//! * Axes that are left unused may shard another factor. Other axes may move to another factor by all-to-alls before and after the
//!   operation, if that saves more than [`Costs::worth_exchanging`].
//!
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b ... // %a: [{"x"}, {}], %b: [{}, {"x"}], result: [{"x"}, {}]
//! ```
//! "x" cannot shard both `i` and `j`. The proposals of `%a` and of the result agree on `i`, so `%b` is all-gathered:
//! ```mlir
//! %1 = reshard %b                       // all_gather to [{}, {}]
//! %0 = stablehlo.dot_general %a, %1 ...  // [{"x"}, {}]
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{AxisList, DimSharding, Mesh, MeshId, OpKind, ReductionKind, TensorSharding, TensorType};
use smallvec::SmallVec;

use crate::cost::Costs;
use crate::plan::support::Split;
use crate::reshard::{Planner, path_bytes};
use crate::rules::sharding_rule::{FactorIndex, ShardingRule, TensorMapping};
use crate::sharding::axes::{Part, Parts, parts, size_of, to_axes};
use crate::windows::{Along, Exchange, ExchangePrice, transfers};

/// For each factor of the sharding rule, the axes and sub-axes that shard it, major to minor.
pub(crate) type FactorParts = SmallVec<[Parts; 6]>;

/// One operand or result of the operation.
#[derive(Clone)]
pub(crate) struct Tensor<'a> {
    pub(crate) mapping: &'a TensorMapping,
    pub(crate) sharding: &'a TensorSharding,
    /// Other shardings in which this operand is already available, through an earlier reshard or operation.
    pub(crate) also: SmallVec<[&'a TensorSharding; 2]>,
    pub(crate) ty: &'a TensorType,
    pub(crate) is_result: bool,
    /// Whether the tensor is an operand that is available in any sharding without communication. Such an operand proposes no assignment.
    pub(crate) free: bool,
    /// The fraction of the resharding cost that is charged: 1 / trip count if the reshard is hoisted out of the enclosing loop.
    pub(crate) share: f64,
    /// Whether the tensor is an operand that is unreduced over the axes of [`Site::carried`].
    pub(crate) brings: bool,
}

/// The input of the assignment: an operation's rule, and its tensors with the shardings that propagation chose.
#[derive(Clone)]
pub(crate) struct Site<'a> {
    pub(crate) mesh: &'a Mesh,
    pub(crate) mesh_id: MeshId,
    pub(crate) costs: Costs,
    pub(crate) kind: &'a OpKind,
    pub(crate) rule: &'a ShardingRule,
    pub(crate) splits: SmallVec<[Split; 6]>,
    pub(crate) tensors: SmallVec<[Tensor<'a>; 4]>,
    /// Whether the amount of arithmetic is the product of the sizes of all factors (dot, convolution).
    pub(crate) is_contraction: bool,
    /// The axes over which operands, and therefore results, are unreduced; empty for most operations. They shard no factor: devices along
    /// them have partial sums of the same elements.
    pub(crate) carried: Parts,
    /// The kind of reduction that the unreduced values still need.
    pub(crate) carried_by: ReductionKind,
}

impl Site<'_> {
    /// Returns the cheapest assignment that was found; the cost unit is bytes that a device sends. The number of assignments is
    /// exponential, so at most eight are tried for each tensor, and a variant with all-to-alls for each of these eight.
    pub(crate) fn assign(&self, planner: &mut Planner<'_>) -> FactorParts {
        // In a well annotated program, the tensors of most operations agree, and no cost model is needed.
        if let Some(agreed) = self.agreed() {
            return agreed;
        }
        let mut best: Option<(f64, FactorParts)> = None;
        let projected: Vec<FactorParts> = self.tensors.iter().map(|t| self.project(t).0).collect();
        let offers = [true, false].map(|results_first| self.offers(&projected, results_first));
        // Equal proposals are tried once: even a concatenation of a thousand values has only a few distinct proposals.
        let mut proposed: FxHashSet<&FactorParts> = FxHashSet::default();
        let mut seen: FxHashSet<FactorParts> = FxHashSet::default();
        let mut tried: Vec<FactorParts> = Vec::new();
        for (tensor, seed) in self.tensors.iter().zip(&projected) {
            if tensor.free || !proposed.insert(seed) {
                continue;
            }
            for offers in &offers {
                let candidate = self.candidate(seed, offers);
                if !seen.insert(candidate.clone()) {
                    continue;
                }
                let gathered = self.without_windows(&candidate).or_else(|| self.without_sums(&candidate));
                // An all-gather of a dimension frees axes that may shard another dimension, so each proposal is tried with and without the
                // all-gather. For the operand of a gather, moving the freed axes takes all-to-alls, which must save a minimum amount
                // (`exchanged`).
                let is_table = matches!(self.kind, OpKind::Gather(_));
                let moved = [Some(&candidate), gathered.as_ref().filter(|_| !is_table)]
                    .map(|c| c.and_then(|c| self.with_unused_axes(c)));
                let candidates = [Some(candidate), gathered].into_iter().chain(moved);
                for candidate in candidates.flatten() {
                    let cost = self.cost(&candidate, planner);
                    tried.push(candidate.clone());
                    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, candidate));
                    }
                }
            }
        }
        let Some((least, parts)) = best else { return self.nothing() };
        self.exchanged(&tried, (least, &parts), planner).unwrap_or(parts)
    }

    /// Returns the best assignment with all-to-alls before and after the operation, if it saves enough over `best` to justify more
    /// collectives. Returns `None` for unreduced results: their all-reduces may be combined with others, and
    /// [`trade_sums`](crate::plan::trade_sums) may replace the remaining ones.
    fn exchanged(
        &self,
        tried: &[FactorParts],
        (least, best): (f64, &FactorParts),
        planner: &mut Planner<'_>,
    ) -> Option<FactorParts> {
        // No assignment can save more than the cost of `best`.
        if least < self.costs.worth_exchanging() || !self.unreduced_axes(best).is_empty() {
            return None;
        }
        let mut costs: Vec<(f64, FactorParts)> = Vec::new();
        for parts in tried.iter().filter_map(|parts| self.with_lost_axes_on_others(parts)) {
            costs.push((self.cost(&parts, planner), parts));
        }
        let (cost, parts) = costs.into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (cost + self.costs.worth_exchanging() < least).then_some(parts)
    }

    /// Returns operand shardings from which each device can compute its shard of the result (the last tensor) without halo exchanges or
    /// unreduced sums. `None` if there are none.
    pub(crate) fn operands_of_parts(&self) -> Option<SmallVec<[TensorSharding; 4]>> {
        let (result, operands) = self.tensors.split_last()?;
        let (chosen, exact) = self.project(result);
        let mut clean = chosen.clone();
        self.sanitize(&mut clean);
        let is_plain = chosen.iter().zip(&self.splits).all(|(p, &s)| p.is_empty() || s == Split::Plain);
        let made = self.sharding(result, &chosen);
        (exact && clean == chosen && is_plain && made.same_placement(result.sharding))
            .then(|| operands.iter().map(|t| self.sharding(t, &chosen)).collect())
    }

    /// Returns the assignment that the current shardings of operands and results imply; `None` if they contradict each other.
    pub(crate) fn as_planned(&self) -> Option<FactorParts> {
        let mut chosen = self.nothing();
        for tensor in &self.tensors {
            let (factors, exact) = self.project(tensor);
            if !exact {
                return None;
            }
            for &f in tensor.mapping.dims.iter().flatten() {
                chosen[usize::from(f)].clone_from(&factors[usize::from(f)]);
            }
        }
        self.tensors.iter().all(|t| self.sharding(t, &chosen).same_placement(t.sharding)).then_some(chosen)
    }

    /// Whether an assignment shards only factors that may be sharded, and no axis shards two factors.
    pub(crate) fn is_possible(&self, chosen: &FactorParts) -> bool {
        let mut clean = chosen.clone();
        self.sanitize(&mut clean);
        clean == *chosen
    }

    /// Returns the bytes of all operands on each device.
    pub(crate) fn bytes_of_operands(&self, chosen: &FactorParts) -> f64 {
        self.tensors.iter().filter(|t| !t.is_result).map(|t| self.local_bytes(t, chosen)).sum()
    }

    /// Returns the bytes of all results on each device.
    pub(crate) fn bytes_of_results(&self, chosen: &FactorParts) -> f64 {
        self.tensors.iter().filter(|t| t.is_result).map(|t| self.local_bytes(t, chosen)).sum()
    }

    fn nothing(&self) -> FactorParts {
        self.rule.factors.iter().map(|_| Parts::new()).collect()
    }

    /// Returns the assignment on which all tensors agree. `None` if a tensor would have to be resharded, or if the agreed assignment may
    /// not be the best.
    fn agreed(&self) -> Option<FactorParts> {
        let mut known: SmallVec<[Option<Parts>; 6]> = self.rule.factors.iter().map(|_| None).collect();
        for tensor in self.tensors.iter().filter(|t| !t.free) {
            let (factors, exact) = self.project(tensor);
            if !exact {
                return None;
            }
            for &f in tensor.mapping.dims.iter().flatten() {
                let parts = &factors[usize::from(f)];
                match &known[usize::from(f)] {
                    None => known[usize::from(f)] = Some(parts.clone()),
                    Some(other) if other == parts => {}
                    Some(_) => return None,
                }
            }
        }
        let agreed: FactorParts = known.into_iter().map(Option::unwrap_or_default).collect();
        let mut clean = agreed.clone();
        self.sanitize(&mut clean);
        let is_best = self.windows_are_cheap(&agreed) && self.without_sums(&agreed).is_none();
        // An agreed assignment may be illegal: the operation may need a factor unsharded, or one axis may shard two factors.
        (clean == agreed && is_best).then_some(agreed)
    }

    /// Returns the assignment without the factors that need a halo exchange; `None` if there are no such factors.
    fn without_windows(&self, chosen: &FactorParts) -> Option<FactorParts> {
        self.without(chosen, Split::is_windowed)
    }

    /// Returns the assignment without the dimensions along which a `dynamic_slice` or `gather` needs an all-reduce; `None` if there are no
    /// such dimensions. If the operation reads many slices or most elements, all-gathering the operand is cheaper.
    fn without_sums(&self, chosen: &FactorParts) -> Option<FactorParts> {
        let is_read = matches!(self.kind, OpKind::DynamicSlice { .. } | OpKind::Gather(_));
        is_read.then(|| self.without(chosen, |split| split.reduction().is_some()))?
    }

    /// Returns the assignment without the factors whose [`Split`] satisfies the predicate; `None` if there are no such factors.
    fn without(&self, chosen: &FactorParts, is_such: impl Fn(Split) -> bool) -> Option<FactorParts> {
        let mut gathered = chosen.clone();
        for (parts, &split) in gathered.iter_mut().zip(&self.splits) {
            if is_such(split) {
                parts.clear();
            }
        }
        (gathered != *chosen).then_some(gathered)
    }

    /// Returns the assignment in which unused axes shard other factors. If an operation needs a dimension unsharded, an all-to-all to
    /// another dimension costs less than an all-gather.
    fn with_unused_axes(&self, chosen: &FactorParts) -> Option<FactorParts> {
        let mut moved = chosen.clone();
        // Even blocks are tried first, for all tensors: uneven blocks are padded, and cannot be sharded further.
        for even in [true, false] {
            for tensor in self.tensors.iter().filter(|t| !t.free) {
                for dim in &tensor.sharding.dims {
                    let unused =
                        |part: &Part| !moved.iter().flatten().chain(&self.carried).any(|p| p.overlaps(*part));
                    let lost: Parts = parts(self.mesh, &dim.axes).into_iter().filter(unused).collect();
                    // All axes move to one factor if they fit there; otherwise each is moved separately.
                    if let Some(factor) = self.room_for(tensor, &moved, size_of(&lost), even) {
                        moved[factor].extend(lost);
                        continue;
                    }
                    for part in lost {
                        if let Some(factor) = self.room_for(tensor, &moved, i64::from(part.size), even) {
                            moved[factor].push(part);
                        }
                    }
                }
            }
        }
        self.sanitize(&mut moved);
        (moved != *chosen).then_some(moved)
    }

    /// Returns a variant of the assignment: axes that a conflicting tensor would lose move to another factor of that tensor, instead of
    /// being all-gathered. For example, each device may look up a slice of each row: all-to-alls before and after the gather send less than
    /// an all-gather of all rows.
    fn with_lost_axes_on_others(&self, chosen: &FactorParts) -> Option<FactorParts> {
        let mut moved = chosen.clone();
        let mut done = Parts::new();
        for tensor in self.tensors.iter().filter(|t| !t.free) {
            let factors = || tensor.mapping.dims.iter().flatten().map(|&f| usize::from(f));
            let held = tensor.sharding.dims.iter().flat_map(|dim| parts(self.mesh, &dim.axes));
            for part in held {
                let is_split_by = |f: usize| moved[f].iter().any(|p| p.overlaps(part));
                if factors().any(is_split_by) || done.iter().any(|d| d.overlaps(part)) {
                    continue;
                }
                let mut freed = moved.clone();
                for parts in &mut freed {
                    parts.retain(|p| !p.overlaps(part));
                }
                let factor = self.room_for(tensor, &freed, i64::from(part.size), true);
                // If the axis were minor to another axis, blocks would be in an order that an all-to-all alone cannot undo.
                let is_first = |f: &usize| freed[*f].iter().all(|p| done.contains(p));
                if let Some(factor) = factor.filter(is_first) {
                    freed[factor].push(part);
                    moved = freed;
                    done.push(part);
                }
            }
        }
        self.sanitize(&mut moved);
        (moved != *chosen).then_some(moved)
    }

    /// Returns the factor of `tensor` to shard further, over `k` times as many devices: the factor whose blocks are then largest. A factor
    /// that is already sharded is only sharded further if the axes divide it evenly, so that new blocks are within old blocks.
    fn room_for(&self, tensor: &Tensor<'_>, chosen: &FactorParts, k: i64, even: bool) -> Option<usize> {
        let factors = tensor.mapping.dims.iter().flatten().map(|&f| usize::from(f));
        let plain = factors.filter(|&f| self.splits[f] == Split::Plain);
        let rated = plain.filter_map(|f| {
            let (n, k) = (self.rule.factors[f].size, size_of(&chosen[f]) * k);
            let fits = if even { n % k == 0 } else { n >= k && chosen[f].is_empty() };
            fits.then_some((f, n / k))
        });
        // Ties go to the first factor; `max_by_key` would return the last.
        rated.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(factor, _)| factor)
    }

    /// Whether the halo exchanges cost at most four launches more than all-gathering the operands, which would also take more memory.
    fn windows_are_cheap(&self, chosen: &FactorParts) -> bool {
        let Some(gathered) = self.without_windows(chosen) else { return true };
        let gather: f64 = self
            .tensors
            .iter()
            .filter(|t| !t.is_result)
            .map(|t| (self.local_bytes(t, chosen), self.local_bytes(t, &gathered)))
            .filter(|(part, whole)| part < whole)
            .map(|(part, whole)| self.costs.all_gather(whole, whole / part.max(1.0)))
            .sum();
        self.window_cost(chosen) <= gather + 4.0 * self.costs.start()
    }

    /// Returns the cost of halo exchanges, in bytes that a device sends; infinite if an exchange would take too many rounds.
    fn window_cost(&self, chosen: &FactorParts) -> f64 {
        self.sum_of_exchanges(chosen, |price| price.cost)
    }

    /// Returns the sum of `of` over all halo exchanges; infinite if an exchange would take too many rounds.
    fn sum_of_exchanges(&self, chosen: &FactorParts, of: impl Fn(ExchangePrice) -> f64) -> f64 {
        let operands: SmallVec<[&Tensor<'_>; 4]> = self.tensors.iter().filter(|t| !t.is_result).collect();
        let shapes: SmallVec<[&[i64]; 4]> = operands.iter().map(|t| t.ty.shape.as_slice()).collect();
        let Some(result) = self.tensors.iter().find(|t| t.is_result) else { return 0.0 };
        // An empty tensor has no windows, and needs no all-gather.
        if result.ty.shape.contains(&0) {
            return 0.0;
        }
        let mut sum = 0.0;
        for (f, (parts, split)) in chosen.iter().zip(&self.splits).enumerate() {
            if !split.is_windowed() || parts.is_empty() {
                continue;
            }
            let k = size_of(parts);
            let costs = self.costs.along(parts.iter().map(|part| part.axis));
            let factor = f as FactorIndex;
            let is_whole = |i: usize| operands.get(i).is_some_and(|t| t.mapping.find(factor).is_none());
            let along = self.along(factor, result);
            let Some(transfers) =
                along.and_then(|a| transfers(self.kind, &shapes, &is_whole, &result.ty.shape, a, k))
            else {
                return f64::INFINITY;
            };
            for transfer in transfers {
                let Some(tensor) = transfer.operands.first().map(|&i| operands[i]) else { continue };
                // If other dimensions are sharded too, each row has fewer bytes to send.
                let mut row = self.sharding(tensor, chosen).local_shape(self.mesh, &tensor.ty.shape);
                row[transfer.dim] = 1;
                let elements: f64 = row.iter().map(|&n| n as f64).product();
                let row_bytes = elements * f64::from(tensor.ty.dtype.bits()) / 8.0
                    * self.left_by_slice(tensor, transfer.dim, chosen);
                match Exchange::price(&transfer.held, &transfer.window, row_bytes, costs) {
                    Some(price) => sum += of(price),
                    None => return f64::INFINITY,
                }
            }
        }
        sum
    }

    /// Returns the fraction of a device's block that remains after slicing along all dimensions, except `dim`, that need no halo exchange.
    /// These slices are local, and come before the exchange.
    fn left_by_slice(&self, operand: &Tensor<'_>, dim: usize, chosen: &FactorParts) -> f64 {
        let (OpKind::Slice(_), Some(result)) = (self.kind, self.tensors.iter().find(|t| t.is_result)) else {
            return 1.0;
        };
        let held = self.sharding(operand, chosen).local_shape(self.mesh, &operand.ty.shape);
        let (from, to) = (self.sharding(operand, chosen), self.sharding(result, chosen));
        let is_cut = |&d: &usize| d != dim && (from.axes(d).is_empty() || to.axes(d).is_empty());
        let left = |d: usize| (result.ty.shape[d] as f64 / held[d].max(1) as f64).min(1.0);
        (0..held.len()).filter(is_cut).map(left).product()
    }

    /// Returns the dimension along which a factor needs a halo exchange: a dimension of the result, or a spatial dimension of a
    /// convolution's kernel.
    fn along(&self, factor: FactorIndex, result: &Tensor<'_>) -> Option<Along> {
        if let Some((dim, _)) = result.mapping.find(factor) {
            return Some(Along::Result(dim));
        }
        let OpKind::Convolution(spec) = self.kind else { return None };
        let (dim, _) = self.rule.operands.get(1)?.find(factor)?;
        spec.kernel.spatial.iter().position(|&d| d as usize == dim).map(Along::Kernel)
    }

    /// Returns the bytes of a tensor on each device.
    pub(crate) fn local_bytes(&self, tensor: &Tensor<'_>, chosen: &FactorParts) -> f64 {
        let sharding = self.sharding(tensor, chosen);
        let local: f64 =
            sharding.local_shape(self.mesh, &tensor.ty.shape).iter().map(|&n| n as f64).product();
        local * f64::from(tensor.ty.dtype.bits()) / 8.0
    }

    /// Returns the axes and sub-axes that a tensor's sharding assigns to each factor, and whether they represent the sharding completely.
    /// Within a dimension, axes are assigned to factors major first; each factor must be fully sharded before the next.
    fn project(&self, tensor: &Tensor<'_>) -> (FactorParts, bool) {
        let mut out = self.nothing();
        let mut exact = true;
        for (dim, factors) in tensor.sharding.dims.iter().zip(&tensor.mapping.dims) {
            let mut rest: Parts = parts(self.mesh, &dim.axes);
            rest.reverse();
            for (i, &f) in factors.iter().enumerate() {
                let size = self.rule.factors[usize::from(f)].size;
                let last = i + 1 == factors.len();
                // If a dimension has only one factor, the factor takes all axes, even axes that do not divide it. Its blocks are then
                // uneven and padded.
                if factors.len() == 1 {
                    rest.reverse();
                    out[usize::from(f)] = std::mem::take(&mut rest);
                    break;
                }
                let mut left = size;
                while left > 1 {
                    let Some(part) = rest.pop() else { break };
                    let n = i64::from(part.size);
                    if left % n == 0 {
                        out[usize::from(f)].push(part);
                        left /= n;
                    } else if n % left == 0 && !last {
                        // Example: 12 elements with factors 3 and 4, over an axis of size 6. The first factor takes the major sub-axis of
                        // size 3, and the sub-axis of size 2 goes to the second factor.
                        let (major, minor) = part.split(left as u32);
                        out[usize::from(f)].push(major);
                        rest.push(minor);
                        left = 1;
                    } else {
                        // Neither size divides the other, as for 6 and 4: blocks would end within elements of the factor.
                        rest.clear();
                        exact = false;
                    }
                }
                // Factors that are minor to a partly sharded factor stay unsharded (see `sanitize`).
                if left > 1 {
                    break;
                }
            }
            exact &= rest.is_empty();
        }
        (out, exact)
    }

    /// Returns the assignments that the tensors propose, in the order in which they are added to a candidate. Results or operands come
    /// first, as requested. Larger tensors, which cost more to reshard, come before smaller ones.
    fn offers<'p>(&self, projected: &'p [FactorParts], results_first: bool) -> Vec<&'p FactorParts> {
        let keyed = self.tensors.iter().zip(projected).filter(|(t, _)| !t.free).map(|(t, parts)| {
            ((t.is_result != results_first, std::cmp::Reverse(t.ty.num_bytes().unwrap_or(0))), parts)
        });
        let mut keyed: SmallVec<[_; 4]> = keyed.collect();
        keyed.sort_by_key(|&(key, _)| key);
        let mut offers: Vec<&FactorParts> = keyed.into_iter().map(|(_, parts)| parts).collect();
        offers.dedup();
        offers
    }

    /// Returns the assignment `seed` that one tensor proposes, with the axes of other tensors' proposals (`offers`) that do not conflict
    /// with it.
    fn candidate(&self, seed: &FactorParts, offers: &[&FactorParts]) -> FactorParts {
        let mut chosen = seed.clone();
        self.sanitize(&mut chosen);
        // Proposals that had no effect on the current choice.
        let mut in_vain: FxHashSet<&FactorParts> = FxHashSet::default();
        for &offered in offers {
            if in_vain.contains(offered) {
                continue;
            }
            let mut more = chosen.clone();
            for (f, parts) in offered.iter().enumerate() {
                let have = more[f].len();
                // Only more minor axes can be added, since other axes would reorder the blocks of the seed.
                if parts.len() <= have || parts[..have] != more[f][..] {
                    continue;
                }
                for &part in &parts[have..] {
                    if more.iter().flatten().any(|p| p.overlaps(part)) {
                        break;
                    }
                    more[f].push(part);
                }
            }
            if more != chosen {
                self.sanitize(&mut more);
            }
            if more == chosen {
                in_vain.insert(offered);
            } else {
                in_vain.clear();
                chosen = more;
            }
        }
        chosen
    }

    /// Removes axes from factors that cannot be sharded, axes that shard two factors, and axes that would make blocks non-contiguous in a
    /// dimension with several factors.
    fn sanitize(&self, chosen: &mut FactorParts) {
        let mut used: Parts = self.carried.clone();
        for (parts, split) in chosen.iter_mut().zip(&self.splits) {
            if *split == Split::No {
                parts.clear();
            }
            // If two factors use the same axis, the first one keeps it. The other loses it and all more minor axes: without the major axis,
            // each device would hold a different block.
            let fresh = parts.iter().take_while(|p| !used.iter().any(|u| u.overlaps(**p))).count();
            parts.truncate(fresh);
            used.extend(parts.iter().copied());
        }
        loop {
            let mut changed = false;
            // A minor factor may be sharded only if all factors that are major to it in the dimension are fully sharded. Otherwise each
            // device's shard would be strided. A factor may be in several dimensions, so this iterates to a fixed point; lists only get
            // shorter.
            for dim in self.tensors.iter().flat_map(|t| &t.mapping.dims).filter(|d| d.len() > 1) {
                let mut whole_above = true;
                for &f in dim {
                    let size = self.rule.factors[usize::from(f)].size;
                    let parts = &mut chosen[usize::from(f)];
                    let keep = if whole_above { dividing_prefix(parts, size) } else { 0 };
                    changed |= keep < parts.len();
                    parts.truncate(keep);
                    whole_above &= size_of(parts) == size;
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// Returns the cost of the operation under an assignment, in bytes that a device sends. The cost is the sum of reshards of operands and
    /// results, halo exchanges, and the larger of arithmetic and memory traffic.
    pub(crate) fn cost(&self, chosen: &FactorParts, planner: &mut Planner<'_>) -> f64 {
        let mut cost = 0.0;
        let mut bytes = 0.0;
        for tensor in &self.tensors {
            let sharding = self.sharding(tensor, chosen);
            bytes += self.local_bytes(tensor, chosen);
            if !tensor.free {
                cost += if tensor.is_result {
                    let is_completed = !sharding.unreduced.is_empty() && tensor.sharding.unreduced.is_empty();
                    let share = if is_completed { tensor.share } else { 1.0 };
                    share * planner.cost(&sharding, tensor.sharding, tensor.ty)
                } else if tensor.also.iter().any(|ready| ready.same_placement(&sharding)) {
                    0.0
                } else {
                    tensor.share * planner.cost(tensor.sharding, &sharding, tensor.ty)
                };
            }
        }
        let flops = if self.is_contraction {
            2.0 * self
                .rule
                .factors
                .iter()
                .zip(chosen)
                .map(|(f, parts)| f.size as f64 / size_of(parts) as f64)
                .product::<f64>()
        } else {
            0.0
        };
        cost + self.window_cost(chosen) + self.costs.compute(flops, bytes)
    }

    /// Returns the bytes that a device sends under an assignment, without other costs.
    pub(crate) fn sent(&self, chosen: &FactorParts, planner: &mut Planner<'_>) -> f64 {
        let mut sent = self.sum_of_exchanges(chosen, |price| price.sent);
        for tensor in self.tensors.iter().filter(|t| !t.free) {
            let sharding = self.sharding(tensor, chosen);
            let is_ready = tensor.also.iter().any(|ready| ready.same_placement(&sharding));
            sent += match tensor.is_result {
                true => path_bytes(self.mesh, planner, &sharding, tensor.sharding, tensor.ty) as f64,
                false if is_ready => 0.0,
                false => {
                    tensor.share
                        * path_bytes(self.mesh, planner, tensor.sharding, &sharding, tensor.ty) as f64
                }
            };
        }
        sent
    }

    /// Returns the sharding of a tensor under an assignment; the result of a reduction over a sharded factor is unreduced.
    pub(crate) fn sharding(&self, tensor: &Tensor<'_>, chosen: &FactorParts) -> TensorSharding {
        let dims = tensor.mapping.dims.iter().map(|factors| {
            let parts: Parts = factors.iter().flat_map(|&f| chosen[usize::from(f)].iter().copied()).collect();
            DimSharding::closed(&to_axes(self.mesh, &parts))
        });
        let mut sharding = TensorSharding::from_dims(self.mesh_id, dims);
        if tensor.is_result {
            sharding.unreduced = self.unreduced_axes(chosen);
            sharding.reduction = self.reduction(chosen);
        } else if tensor.brings {
            sharding.unreduced = to_axes(self.mesh, &self.carried);
            sharding.reduction = self.carried_by;
        }
        sharding.tidied()
    }

    /// Returns the kind of reduction that the unreduced results still need.
    fn reduction(&self, chosen: &FactorParts) -> ReductionKind {
        let kinds = chosen.iter().zip(&self.splits).filter(|(parts, _)| !parts.is_empty());
        let mut kinds = kinds.filter_map(|(_, split)| split.reduction());
        kinds.next().unwrap_or(self.carried_by)
    }

    /// Returns the axes over which the results are unreduced, in the order of the mesh.
    fn unreduced_axes(&self, chosen: &FactorParts) -> AxisList {
        let mut parts: SmallVec<[Part; 4]> = chosen
            .iter()
            .zip(&self.splits)
            .filter(|(_, split)| split.reduction().is_some())
            .flat_map(|(parts, _)| parts.iter().copied())
            .chain(self.carried.iter().copied())
            .collect();
        parts.sort_unstable();
        to_axes(self.mesh, &parts)
    }
}

/// Returns the length of the longest prefix of the parts that divides a factor of this size into equal blocks.
fn dividing_prefix(parts: &[Part], size: i64) -> usize {
    let mut product = 1;
    parts
        .iter()
        .take_while(|p| {
            product *= i64::from(p.size);
            size % product == 0
        })
        .count()
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a program with these arguments that returns `%r`, with this type and sharding.
    fn planned(arguments: &str, (ty, dims): (&str, &str), operation: &str) -> Around {
        let program = format!(
            r#"func.func @main({arguments}) -> ({ty} {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) {{
              {operation}
              return %r : {ty}
            }}"#
        );
        around("plan", r#""x"=8"#, &program)
    }

    #[test]
    fn an_axis_that_operands_split_different_factors_by_is_gathered_in_the_cheaper_one() {
        let done = planned(
            r#"%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
            %b: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}"#,
            ("tensor<64x8xf32>", r#"[{"x"}, {}]"#),
            "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>",
        );
        assert!(done.after.contains("%0 = sdy.reshard %arg1 <@mesh, [{}, {}]>"), "{}", done.after);
        assert_eq!(done.shardings("stablehlo.dot_general"), [r#"[{"x"}, {}]"#]);
        assert_eq!(done.added("sdy.reshard"), 1);
    }

    /// Plans a sort along dimension 0, which is sharded, of a matrix with this many columns.
    fn sorted(columns: i64) -> Around {
        let ty = format!("tensor<64x{columns}xf32>");
        planned(
            &format!(r#"%a: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}"#),
            (&ty, r#"[{"x"}, {}]"#),
            &format!(
                r#"%r = "stablehlo.sort"(%a) <{{dimension = 0 : i64}}> ({{
                  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
                    stablehlo.return %c : tensor<i1>
                }}) : ({ty}) -> {ty}"#
            ),
        )
    }

    #[test]
    fn unused_axes_move_to_another_dimension_by_all_to_alls() {
        let done = sorted(4096);
        assert_eq!(done.shardings("stablehlo.sort"), [r#"[{}, {"x"}]"#]);
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{}, {"x"}]"#, r#"[{"x"}, {}]"#]);
        assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    }

    #[test]
    fn a_dimension_that_must_be_unsplit_is_gathered_if_no_other_one_has_room() {
        let done = sorted(1);
        assert_eq!(done.shardings("stablehlo.sort"), ["[{}, {}]"]);
        assert_eq!(done.warnings, ["SH0310"]);
    }

    /// Plans a sum over windows of this size along dimension 0, which is sharded into blocks of 8 rows.
    fn summed(size: i64) -> Around {
        let (ty, pad) = ("tensor<64x4096xf32>", (size - 1) / 2);
        planned(
            &format!(r#"%a: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}"#),
            (ty, r#"[{"x"}, {}]"#),
            &format!(
                r#"%zero = stablehlo.constant dense<0.0> : tensor<f32>
                %r = "stablehlo.reduce_window"(%a, %zero) <{{padding = dense<[[{pad}, {pad}], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: {size}, 1>}}> ({{
                  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                    %s = stablehlo.add %p, %q : tensor<f32>
                    stablehlo.return %s : tensor<f32>
                }}) : ({ty}, tensor<f32>) -> {ty}"#
            ),
        )
    }

    #[test]
    fn a_small_window_is_a_halo_exchange() {
        assert!(summed(3).is_same());
    }

    #[test]
    fn a_window_over_most_blocks_is_no_halo_exchange() {
        let done = summed(101);
        assert_eq!(done.shardings("stablehlo.reduce_window"), [r#"[{}, {"x"}]"#], "{}", done.after);
    }
}
