//! Replaces the all-reduce of a `dot_general`, `gather` or `scatter` by collectives on its operands, if the replacement costs less.
//!
//! Planning decides one operation at a time, and leaves sums unreduced. Later rewrites can then add several partial sums before a single
//! all-reduce, or move an all-reduce after a loop. This pass runs after those rewrites, on the sums that still have their own all-reduce.
//! The pass has two rewrites.
//!
//! *Exchange.* The axes that the all-reduce spans shard a dimension of the result instead. A matmul then all-gathers one operand, reshards
//! the other by an all-to-all, and all-gathers the result. For a weight gradient, the exchange sends the bytes of the weight once, while
//! the all-reduce sends them twice. Each device computes as much as before. A `gather` from a sharded table, or the `scatter` of its
//! gradient, uses one all-to-all before and another after it.
//!
//! *Gather.* One operand of a matmul is replicated along the contracting dimension. The other operand is sharded along it, and is
//! all-gathered. Each device then computes the full matmul.
//!
//! Conditions:
//!
//! * The only user of the result, or of its transpose, is the reshard that reduces an additive sum. For a matmul, the reshard is not a
//!   reduce-scatter: planning has already considered that case.
//! * The new cost is less than 80 % of the difference between the old cost and the cost of one launch.
//! * An exchange saves at least 256 launches, 4 MiB on TPU v5e (`Costs::worth_exchanging`), and its operands need no more memory than
//!   operands and result do now.
//! * In an exchange, the axes divide the dimension of the result evenly.
//! * In the rewrite *Gather*, the all-gathered operands need no more memory than operands and result do now.
//! * All rewrites of matmuls together save at least 6 % of the cost of all reshards of the program.
//!
//! ```mlir
//! // x is sharded along its second dimension, w is replicated
//! %0 = dot_general %x, %w : (tensor<256x16xf32>, tensor<16x2048xf32>) -> tensor<256x2048xf32>
//! %1 = all_reduce %0                                                     // 3.5 MiB over 8 devices
//! ```
//! becomes
//! ```mlir
//! %0 = all_gather %x : (tensor<256x16xf32>) -> tensor<256x128xf32>       // 112 KiB
//! %1 = dot_general %0, %w : (tensor<256x128xf32>, tensor<128x2048xf32>) -> tensor<256x2048xf32>
//! ```

use shardc_ir::{
    AxisRef, Build, Dense, DimSharding, Mesh, MeshId, Module, OpId, OpKind, ReductionKind, RegionId,
    Rewriter, TensorSharding, UseCounts, ValueId, Work,
};
use smallvec::SmallVec;

use super::decide::assign::{FactorParts, Site, Tensor};
use super::decide::available::AvailableCopies;
use super::decide::site::site;
use super::free_values::{FreeValues, repeat};
use super::prepare::device_order::planned_mesh;
use super::support::{Split, planning_rule};
use crate::analysis::regions::program_regions;
use crate::cost::CostModel;
use crate::reshard::Planner;
use crate::rules::rule_of;
use crate::sharding::axes::{Parts, size_of};

/// The new cost must be below this fraction of the old cost minus the cost of one launch. The launch is subtracted because an all-reduce is
/// one collective and can be combined with others.
const WORTHWHILE: f64 = 0.8;

/// All rewrites of matmuls together must save this fraction of the cost of all reshards. Saving a few percent is not worthwhile:
/// an all-gather that a compiler overlaps with computation runs in steps, which cost memory and time. In a ResNet-50 in which only the
/// last layer would be rewritten, the TPU compiler estimates 11 % more cycles, for a saving of 4 % of the bytes.
const WORTHWHILE_IN_ALL: f64 = 0.06;

/// Rewrites the sums in `body` and its nested regions, after planning, if the rewrite costs less. Returns the number of replaced sums;
/// their producers remain as dead code.
pub(crate) fn trade_sums(module: &mut Module, body: RegionId, model: &CostModel) -> usize {
    let is_any =
        |region: &RegionId| module.regions[*region].ops.iter().any(|&op| completed_sum(module, op).is_some());
    let regions = program_regions(module, body);
    let Some(mesh_id) = planned_mesh(module, body).filter(|_| regions.iter().any(is_any)) else { return 0 };
    let mesh = module.meshes[mesh_id].clone();
    let readers = UseCounts::under(module, body);
    // No value counts as free here: planning has already recomputed free values where recomputation saves a reshard.
    let free = FreeValues::default();
    let mut planner = Planner::new(&mesh, model);
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

/// Whether the rewrites of matmuls save at least [`WORTHWHILE_IN_ALL`] of the cost of all reshards.
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

/// An unreduced sum that a reshard reduces.
struct Sum {
    /// The producer of the partial sums: a `dot_general`, `gather` or `scatter`.
    maker: OpId,
    /// The transposes of the producer's result, first to last.
    transposes: SmallVec<[OpId; 2]>,
}

/// Returns the sum that the reshard `op` reduces, if it is the possibly transposed result of a `dot_general`, `gather` or `scatter`.
fn completed_sum(module: &Module, op: OpId) -> Option<Sum> {
    let data = &module.ops[op];
    let (OpKind::Reshard(_), &[mut value]) = (&data.kind, data.operands.as_slice()) else { return None };
    let partial = module.shardings.sharding_of(value)?;
    let wanted = module.shardings.sharding_of(*data.results.first()?)?;
    if partial.unreduced.is_empty() || !wanted.unreduced.is_empty() || partial.reduction != ReductionKind::Add
    {
        return None;
    }
    let is_summed_over = |axis: AxisRef| partial.unreduced.iter().any(|sum| sum.axis == axis.axis);
    let is_scattered = wanted.split_axes().any(is_summed_over);
    let mut transposes = SmallVec::new();
    loop {
        let def = module.def_op(value)?;
        match &module.ops[def].kind {
            OpKind::Transpose { .. } => transposes.push(def),
            // If operands and result of a matmul disagree on a factor, planning has already compared the reduce-scatter with other
            // assignments.
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

/// A rewrite that computes a sum without an all-reduce.
struct Trade {
    sum: Sum,
    /// The new shardings of the producer's operands, and of its result.
    operands: SmallVec<[TensorSharding; 4]>,
    result: TensorSharding,
    /// The cost that the rewrite saves.
    saved: f64,
}

impl Trade {
    /// Returns the rewrite of the sum that the reshard `op` reduces, if it costs less.
    fn of(
        module: &Module,
        op: OpId,
        (mesh, mesh_id): (&Mesh, MeshId),
        (readers, free, copies): (&UseCounts, &FreeValues, &AvailableCopies),
        planner: &mut Planner<'_>,
    ) -> Option<Trade> {
        let sum = completed_sum(module, op)?;
        // Any other users of these values would still need the partial sums.
        let made = sum.transposes.iter().chain([&sum.maker]).map(|&op| module.ops[op].results[0]);
        if !made.into_iter().all(|value| readers.get(value) == 1) {
            return None;
        }
        // The requested sharding of the sum, before the transposes.
        let mut wanted = module.shardings.sharding_of(module.ops[op].results[0])?.clone();
        for &transpose in sum.transposes.iter().rev() {
            wanted = transposed(module, transpose, &wanted, true)?;
        }
        let rule = planning_rule(module, sum.maker, rule_of(module, sum.maker)?);
        let mut site = site(module, (mesh, mesh_id, planner.costs()), None, sum.maker, &rule, copies, free)?;
        let agreed = site.as_planned()?;
        site.tensors.last_mut()?.sharding = &wanted;
        // If an operand is a local slice of another value, that value is available too, and another slice of it sends nothing.
        for (tensor, &operand) in site.tensors.iter_mut().zip(&module.ops[sum.maker].operands) {
            if let Some(source) = source(module, operand)
                && let Some(sharding) = module.shardings.sharding_of(source)
                && is_cut_from(sharding, tensor.sharding)
            {
                tensor.sharding = sharding;
            }
        }
        let worth_exchanging = planner.costs().worth_exchanging();
        let before = site.cost(&agreed, planner);
        let least = WORTHWHILE * (before - planner.costs().start());
        let kept = site.bytes_of_operands(&agreed) + site.bytes_of_results(&agreed);
        let exchanges = without_sum(&site, &agreed)
            .into_iter()
            // Exchanged operands must need no more memory than the operands and the result do now.
            .filter(|chosen| site.bytes_of_operands(chosen) <= kept)
            .map(|chosen| {
                let cost = site.cost(&chosen, planner);
                (chosen, cost)
            })
            .filter(|&(_, cost)| before - cost >= worth_exchanging)
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

    /// Clones the producer and the transposes before `op`, with the new shardings; `op` then reshards the new result.
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

/// Returns `value` in this sharding: an available copy, or a new reshard.
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
    // Splat constants and broadcasts of scalars are cloned with the wanted sharding.
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

/// Returns the sharding of the result of a transpose whose operand has this sharding. With `back`, returns the sharding of the operand of a
/// transpose whose result has this sharding.
fn transposed(module: &Module, op: OpId, sharding: &TensorSharding, back: bool) -> Option<TensorSharding> {
    let OpKind::Transpose { permutation } = &module.ops[op].kind else { return None };
    let mut out = sharding.clone();
    for (to, &from) in permutation.iter().enumerate() {
        let (to, from) = if back { (from as usize, to) } else { (to, from as usize) };
        out.dims[to] = sharding.dims[from].clone();
    }
    Some(out)
}

/// Returns the operand of the reshard that produces `value`.
fn source(module: &Module, value: ValueId) -> Option<ValueId> {
    let op = &module.ops[module.def_op(value)?];
    matches!(op.kind, OpKind::Reshard(_)).then(|| op.operands[0])
}

/// Whether the conversion from sharding `from` to `to` is a local slice on each device.
fn is_cut_from(from: &TensorSharding, to: &TensorSharding) -> bool {
    let is_split_further = |(from, to): (&DimSharding, &DimSharding)| to.axes.starts_with(&from.axes);
    let is_complete = from.unreduced.is_empty() && to.unreduced.is_empty();
    from.mesh == to.mesh && is_complete && from.dims.iter().zip(&to.dims).all(is_split_further)
}

/// Returns the assignment in which no contracting dimension of a matmul is sharded. `None` if no operand is already replicated along it,
/// or if the all-gathered operands need more memory than operands and result do now.
fn gathered(site: &Site<'_>, agreed: &FactorParts) -> Option<FactorParts> {
    let mut chosen = agreed.clone();
    let mut is_summed: SmallVec<[bool; 6]> = SmallVec::new();
    for (parts, &split) in chosen.iter_mut().zip(&site.splits) {
        let is_sum = split == Split::Unreduced(ReductionKind::Add) && !parts.is_empty();
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

/// Returns the assignments in which the axes of the sum evenly shard a dimension of the result instead.
fn without_sum(site: &Site<'_>, agreed: &FactorParts) -> Vec<FactorParts> {
    let is_sum = |split: Split| split == Split::Unreduced(ReductionKind::Add);
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

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Runs the pass on a weight gradient, summed over a batch that is sharded.
    fn gradient(batch: i64, columns: i64) -> Around {
        let (x, dy) = (format!("tensor<{batch}x4096xf32>"), format!("tensor<{batch}x{columns}xf32>"));
        let result = format!("tensor<4096x{columns}xf32>");
        let program = format!(
            r#"func.func @main(%x: {x} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %dy: {dy} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> ({result} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}) {{
              %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : ({x}, {dy}) -> {result}
              return %0 : {result}
            }}"#
        );
        around("trade-sums", r#""x"=8"#, &program)
    }

    #[test]
    fn the_operands_of_a_large_gradient_of_a_small_batch_are_exchanged() {
        let done = gradient(16, 2048);
        assert_eq!(done.shardings("stablehlo.dot_general"), [r#"[{"x"}, {}]"#]);
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{}, {"x"}]"#, "[{}, {}]", "[{}, {}]"]);
    }

    #[test]
    fn the_sum_over_a_large_batch_stays() {
        assert!(gradient(40960, 2048).is_same());
    }

    #[test]
    fn a_sum_of_less_than_four_mebibytes_stays() {
        assert!(gradient(16, 128).is_same());
    }

    /// Runs the pass on a matmul of a sharded operand with a weight that has this sharding.
    fn product(weight: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<256x128xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %w: tensor<128x2048xf32> {{sdy.sharding = #sdy.sharding<@mesh, {weight}>}}) -> (tensor<256x2048xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}) {{
              %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x128xf32>, tensor<128x2048xf32>) -> tensor<256x2048xf32>
              return %0 : tensor<256x2048xf32>
            }}"#
        );
        around("trade-sums", r#""x"=8"#, &program)
    }

    #[test]
    fn an_operand_is_gathered_if_the_other_one_is_replicated() {
        let done = product("[{}, {}]");
        assert!(done.after.contains("sdy.reshard %arg0 <@mesh, [{}, {}]>"), "{}", done.after);
        assert_eq!(done.shardings("stablehlo.dot_general"), ["[{}, {}]"]);
    }

    #[test]
    fn the_sum_of_a_matmul_of_two_split_operands_stays() {
        assert!(product(r#"[{"x"}, {}]"#).is_same());
    }
}
