//! Products, and rows of tables, of which devices rather exchange the operands than sum the addends.
//!
//! A product over a split dimension is a sum of what each device makes of its part. The gradient of a weight is one, over
//! the batch: with data parallelism it is an all-reduce, twice the weight. Where the batch is small beside the weight,
//! less is sent if devices exchange the operands: each makes a part of the result over the whole batch, with one operand
//! gathered and the other moved by an all-to-all, and the parts are gathered, once the weight. Nobody computes more than before.
//!
//! Rows that are looked up in a split table are a sum of what each device finds, and the gradient of a table is one of what each
//! device scatters into it. There an all-to-all takes parts of all rows to each device before, and one behind takes the parts of the
//! result to where they are wanted.
//!
//! If one operand of a product is replicated along the contracted dimension and the other is split there, the result is a partial sum
//! only because of the split operand. If that operand is small, gathering it costs less than the all-reduce of the result, although
//! each device then computes the whole product:
//!
//! ```mlir
//! // x is split along its second dimension, w is whole
//! %0 = dot_general %x, %w : (tensor<256x16xf32>, tensor<16x2048xf32>) -> tensor<256x2048xf32>
//! %1 = all_reduce %0                                                     // 3.5 MiB over 8 devices
//! ```
//! becomes
//! ```mlir
//! %0 = all_gather %x : (tensor<256x16xf32>) -> tensor<256x128xf32>       // 112 KiB
//! %1 = dot_general %0, %w : (tensor<256x128xf32>, tensor<128x2048xf32>) -> tensor<256x2048xf32>
//! ```
//!
//! Planning looks at one operation at a time and leaves sums that operands agree on pending, since sums of sums are completed
//! together and loops complete them once. So this comes after those, and looks at the sums that are then completed alone.

use shardc_ir::{
    AxisRef, Build, Dense, DimSharding, Mesh, MeshId, Module, OpId, OpKind, ReductionKind, RegionId,
    Rewriter, TensorSharding, UseCounts, ValueId, Work,
};
use smallvec::SmallVec;

use super::assign::{FactorParts, Site, Tensor};
use super::available::AvailableCopies;
use super::recompute::{FreeValues, repeat};
use super::support::{Split, planning_rule};
use super::{planned_mesh, site};
use crate::analysis::regions::program_regions;
use crate::cost;
use crate::reshard::Planner;
use crate::rules::rule_of;
use crate::sharding::axes::{Parts, size_of};

/// What is sent must become less than this part of it: a sum is one collective, and combined with others.
const WORTHWHILE: f64 = 0.8;

/// All trades of products together must save this part of what the program sends. A few percent are not worth it: a gather that compilers
/// overlap with computing is done in steps, which take memory and time of their own (11 % more of the TPU compiler's cycles
/// for 4 % of the bytes, in a ResNet-50 of which the last layer alone would be traded).
const WORTHWHILE_IN_ALL: f64 = 0.06;

/// Lets devices exchange operands under `body` of a planned module where that costs less. Returns the number of sums that
/// are no more; what made them stays, unused.
pub(crate) fn trade_sums(module: &mut Module, body: RegionId) -> usize {
    let is_any =
        |region: &RegionId| module.regions[*region].ops.iter().any(|&op| completed_sum(module, op).is_some());
    let regions = program_regions(module, body);
    let Some(mesh_id) = planned_mesh(module, body).filter(|_| regions.iter().any(is_any)) else { return 0 };
    let mesh = module.meshes[mesh_id].clone();
    let readers = UseCounts::under(module, body);
    // Planning has seen to what is computed from nothing.
    let free = FreeValues::default();
    let mut planner = Planner::new(&mesh);
    let trades_products = is_worthwhile(module, &regions, (&mesh, mesh_id), (&readers, &free), &mut planner);
    let mut traded = 0;
    let mut rw = Rewriter::new(module);
    for region in regions {
        rw.enter(region);
        let mut copies = AvailableCopies::default();
        while let Some(op) = rw.next_op() {
            let trade = Trade::of(rw.module, op, (&mesh, mesh_id), (&readers, &free, &copies), &mut planner);
            let is_wanted = |trade: &Trade| trades_products || !is_product(rw.module, trade.sum.maker);
            if let Some(trade) = trade.filter(is_wanted) {
                trade.carry_out(&mut rw, op, &mut copies);
                traded += 1;
            } else if let (OpKind::Reshard(to), &[value]) =
                (&rw.module.ops[op].kind, rw.module.ops[op].operands.as_slice())
            {
                copies.insert(value, *to, rw.module.ops[op].results[0]);
            }
        }
    }
    traded
}

fn is_product(module: &Module, op: OpId) -> bool {
    module.ops[op].kind.def().work == Work::Contraction
}

/// Whether the trades of products in a program save enough of what it sends.
fn is_worthwhile(
    module: &Module,
    regions: &[RegionId],
    mesh: (&Mesh, MeshId),
    (readers, free): (&UseCounts, &FreeValues),
    planner: &mut Planner<'_>,
) -> bool {
    let copies = AvailableCopies::default();
    let (mut sent, mut saved) = (0.0, 0.0);
    for &op in regions.iter().flat_map(|&region| &module.regions[region].ops) {
        let data = &module.ops[op];
        let (OpKind::Reshard(to), &[value]) = (&data.kind, data.operands.as_slice()) else { continue };
        let (Some(from), Some(ty)) = (module.shardings.sharding_of(value), module.tensor(value)) else {
            continue;
        };
        sent += planner.cost(from, module.shardings.get(*to), ty);
        if completed_sum(module, op).is_some_and(|sum| is_product(module, sum.maker)) {
            let trade = Trade::of(module, op, mesh, (readers, free, &copies), planner);
            saved += trade.map_or(0.0, |trade| trade.saved);
        }
    }
    saved >= WORTHWHILE_IN_ALL * sent
}

/// A completed sum.
struct Sum {
    /// What makes the addends: a product, a lookup or a scatter.
    maker: OpId,
    /// What transposes them, first to last.
    transposes: SmallVec<[OpId; 2]>,
}

/// Returns the sum that `op` completes, if it is that of a product, a lookup or a scatter, perhaps transposed.
fn completed_sum(module: &Module, op: OpId) -> Option<Sum> {
    let data = &module.ops[op];
    let (OpKind::Reshard(_), &[mut value]) = (&data.kind, data.operands.as_slice()) else { return None };
    let pending = module.shardings.sharding_of(value)?;
    let wanted = module.shardings.sharding_of(*data.results.first()?)?;
    if pending.unreduced.is_empty() || !wanted.unreduced.is_empty() || pending.reduction != ReductionKind::Add
    {
        return None;
    }
    let is_summed_over = |axis: AxisRef| pending.unreduced.iter().any(|sum| sum.axis == axis.axis);
    let is_scattered = wanted.split_axes().any(is_summed_over);
    let mut transposes = SmallVec::new();
    loop {
        let def = module.def_op(value)?;
        match &module.ops[def].kind {
            OpKind::Transpose { .. } => transposes.push(def),
            // A product whose sum is scattered has been weighed by planning, where operands and result disagree.
            _ if is_scattered && is_product(module, def) => return None,
            kind if matches!(kind, OpKind::Gather(_) | OpKind::Scatter(_)) || is_product(module, def) => {
                transposes.reverse();
                return Some(Sum { maker: def, transposes });
            }
            _ => return None,
        }
        value = *module.ops[def].operands.first()?;
    }
}

/// How a sum is done without.
struct Trade {
    sum: Sum,
    /// The shardings of the operands of what makes the addends, and that of its result.
    operands: SmallVec<[TensorSharding; 4]>,
    result: TensorSharding,
    /// What is saved, as a cost.
    saved: f64,
}

impl Trade {
    /// Returns how the sum that `op` completes is done without, if that costs less.
    fn of(
        module: &Module,
        op: OpId,
        (mesh, mesh_id): (&Mesh, MeshId),
        (readers, free, copies): (&UseCounts, &FreeValues, &AvailableCopies),
        planner: &mut Planner<'_>,
    ) -> Option<Trade> {
        let sum = completed_sum(module, op)?;
        // Where somebody else reads the addends they are needed as they are.
        let made = sum.transposes.iter().chain([&sum.maker]).map(|&op| module.ops[op].results[0]);
        if !made.into_iter().all(|value| readers.get(value) == 1) {
            return None;
        }
        // What is wanted of the sum, before it is transposed.
        let mut wanted = module.shardings.sharding_of(module.ops[op].results[0])?.clone();
        for &transpose in sum.transposes.iter().rev() {
            wanted = transposed(module, transpose, &wanted, true)?;
        }
        let rule = planning_rule(module, sum.maker, rule_of(module, sum.maker)?);
        let mut site = site(module, (mesh, mesh_id), None, sum.maker, &rule, copies, free)?;
        let agreed = site.as_planned()?;
        site.tensors.last_mut()?.sharding = &wanted;
        // The source of a local slice is available, so that another slice of it sends nothing.
        for (tensor, &operand) in site.tensors.iter_mut().zip(&module.ops[sum.maker].operands) {
            if let Some(source) = source(module, operand)
                && let Some(sharding) = module.shardings.sharding_of(source)
                && is_cut_from(sharding, tensor.sharding)
            {
                tensor.sharding = sharding;
            }
        }
        let before = site.cost(&agreed, planner);
        let least = WORTHWHILE * (before - cost::START);
        let kept = site.bytes_of_operands(&agreed) + site.bytes_of_results(&agreed);
        let exchanges = without_sum(&site, &agreed)
            .into_iter()
            // Where a device had to keep more than the sum itself takes, memory decides.
            .filter(|chosen| site.bytes_of_operands(chosen) <= kept)
            .map(|chosen| {
                let cost = site.cost(&chosen, planner);
                (chosen, cost)
            })
            .filter(|&(_, cost)| before - cost >= cost::WORTH_EXCHANGING)
            .collect::<Vec<_>>();
        let gathered = gathered(&site, &agreed).map(|chosen| {
            let cost = site.cost(&chosen, planner);
            (chosen, cost)
        });
        let (chosen, cost) = exchanges
            .into_iter()
            .chain(gathered)
            .filter(|&(_, cost)| cost < least)
            .min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let mut operands: SmallVec<[TensorSharding; 4]> =
            site.tensors.iter().map(|tensor| site.sharding(tensor, &chosen)).collect();
        let result = operands.pop()?;
        Some(Trade { sum, operands, result, saved: before - cost })
    }

    /// Does what made the addends anew before `op`, which now moves its parts.
    fn carry_out(self, rw: &mut Rewriter<'_>, op: OpId, copies: &mut AvailableCopies) {
        let Trade { sum, operands, result, .. } = self;
        let mut exchanged: SmallVec<[ValueId; 4]> = SmallVec::new();
        for (value, sharding) in rw.module.ops[sum.maker].operands.clone().into_iter().zip(operands) {
            exchanged.push(resharded(rw, value, sharding, copies));
        }
        let mut sharding = result;
        let mut value = repeat(rw, sum.maker, &exchanged, sharding.clone());
        for transpose in sum.transposes {
            let Some(next) = transposed(rw.module, transpose, &sharding, false) else { return };
            value = repeat(rw, transpose, &[value], next.clone());
            sharding = next;
        }
        rw.module.ops[op].operands[0] = value;
    }
}

/// Returns `value` in this sharding, as a copy that is there or resharded.
fn resharded(
    rw: &mut Rewriter<'_>,
    value: ValueId,
    sharding: TensorSharding,
    copies: &mut AvailableCopies,
) -> ValueId {
    let is_larger = |&source: &ValueId| {
        rw.module.shardings.sharding_of(source).is_some_and(|has| is_cut_from(has, &sharding))
    };
    let value = source(rw.module, value).filter(is_larger).unwrap_or(value);
    let has = rw.module.shardings.sharding_of(value);
    if has.is_some_and(|has| has.same_placement(&sharding)) {
        return value;
    }
    // Zeros that are added to are made where they are wanted.
    let def = rw.module.def_op(value).map(|op| (op, &rw.module.ops[op]));
    if let Some((op, data)) = def
        && matches!(data.kind, OpKind::BroadcastInDim { .. } | OpKind::Constant(Dense::Splat(_)))
        && data.operands.iter().all(|&operand| rw.module.rank(operand) == 0)
    {
        let operands = data.operands.clone();
        return repeat(rw, op, &operands, sharding);
    }
    let to = rw.module.shardings.intern(sharding);
    if let Some(copy) = copies.get(value, to) {
        return copy;
    }
    let ty = rw.module.values[value].ty;
    let copy = rw.op1(OpKind::Reshard(to), &[value], ty);
    rw.module.shardings.set(copy, Some(to));
    copies.insert(value, to, copy);
    copy
}

/// Returns the sharding of the result of a transpose whose operand has this one, or the other way round.
fn transposed(module: &Module, op: OpId, sharding: &TensorSharding, back: bool) -> Option<TensorSharding> {
    let OpKind::Transpose { permutation } = &module.ops[op].kind else { return None };
    let mut out = sharding.clone();
    for (to, &from) in permutation.iter().enumerate() {
        let (to, from) = if back { (from as usize, to) } else { (to, from as usize) };
        out.dims[to] = sharding.dims[from].clone();
    }
    Some(out)
}

/// Returns the operand of the reshard that defines `value`.
fn source(module: &Module, value: ValueId) -> Option<ValueId> {
    let op = &module.ops[module.def_op(value)?];
    matches!(op.kind, OpKind::Reshard(_)).then(|| op.operands[0])
}

/// Whether the change from sharding `from` to `to` is a local slice on each device.
fn is_cut_from(from: &TensorSharding, to: &TensorSharding) -> bool {
    let is_split_further = |(from, to): (&DimSharding, &DimSharding)| to.axes.starts_with(&from.axes);
    let is_complete = from.unreduced.is_empty() && to.unreduced.is_empty();
    from.mesh == to.mesh && is_complete && from.dims.iter().zip(&to.dims).all(is_split_further)
}

/// Returns the assignment in which no contracted dimension of a product is split. `None` if no operand is replicated there already,
/// or the gathered operands take more memory than operands and result do now.
fn gathered(site: &Site<'_>, agreed: &FactorParts) -> Option<FactorParts> {
    let mut chosen = agreed.clone();
    let mut is_summed: SmallVec<[bool; 6]> = SmallVec::new();
    for (parts, &split) in chosen.iter_mut().zip(&site.splits) {
        let is_sum = split == Split::Pending(ReductionKind::Add) && !parts.is_empty();
        if is_sum {
            parts.clear();
        }
        is_summed.push(is_sum);
    }
    let has_summed = |tensor: &&Tensor<'_>| {
        let mut factors = tensor.mapping.dims.iter().flatten();
        !tensor.is_result && factors.any(|&f| is_summed[usize::from(f)])
    };
    let (mut whole, mut split) = (0, 0.0);
    for tensor in site.tensors.iter().filter(has_summed) {
        let sharding = site.sharding(tensor, &chosen);
        if tensor.free || is_cut_from(tensor.sharding, &sharding) {
            whole += 1;
        } else {
            split += site.local_bytes(tensor, &chosen);
        }
    }
    let kept = site.bytes_of_operands(agreed) + site.bytes_of_results(agreed);
    (site.is_contraction && whole > 0 && split <= kept && site.is_possible(&chosen)).then_some(chosen)
}

/// Returns the assignments in which the axes that a sum is over split a dimension of the result instead, evenly.
fn without_sum(site: &Site<'_>, agreed: &FactorParts) -> Vec<FactorParts> {
    let is_sum = |split: Split| split == Split::Pending(ReductionKind::Add);
    let mut without = agreed.clone();
    let mut sums = Parts::new();
    for (parts, &split) in without.iter_mut().zip(&site.splits) {
        if is_sum(split) {
            sums.append(parts);
        }
    }
    let Some(result) = site.tensors.last().filter(|_| !sums.is_empty()) else { return Vec::new() };
    let plain = result.mapping.dims.iter().flatten().map(|&f| usize::from(f));
    let with = |factor: usize| {
        let mut chosen = without.clone();
        chosen[factor].extend(sums.iter().copied());
        chosen
    };
    plain
        .filter(|&factor| site.splits[factor] == Split::Plain)
        .map(|factor| (factor, with(factor)))
        .filter(|(factor, chosen)| site.rule.factors[*factor].size % size_of(&chosen[*factor]) == 0)
        .map(|(_, chosen)| chosen)
        .filter(|chosen| site.is_possible(chosen))
        .collect()
}
