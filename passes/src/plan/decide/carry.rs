//! Delays all-reduces past linear operations, which then operate on partial sums.
//!
//! An operation that is [linear](crate::analysis::linear) in an unreduced value may run on each device's partial sum; its result is then
//! unreduced as well. Any other operation needs the reduced value.
//!
//! * Cost decides between partial sums and the reduced value. A `reduce` shrinks the value, so the all-reduce is cheaper after it. A
//!   broadcast enlarges the value, so the all-reduce is cheaper before it.
//! * If the result is annotated as unreduced, no reduction is needed.
//! * An operation such as an addition needs all operands to be unreduced. A reduced operand is made unreduced without communication: one
//!   device keeps the value, and the other devices replace it by the identity of the reduction.
//! * A narrowing conversion runs on partial sums only if its result is annotated as unreduced, since rounded partial sums lose accuracy.
//!
//! ```mlir
//! %1 = all_reduce %0               // %0: unreduced={"x"}
//! %2 = stablehlo.negate %1
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.negate %0         // unreduced={"x"}
//! %2 = all_reduce %1
//! ```

use shardc_ir::{Module, OpId, OpKind, ReductionKind, TensorSharding, ValueId};
use smallvec::SmallVec;

use super::assign::{FactorParts, Site};
use crate::analysis::linear::{Passes, passes};
use crate::plan::support::Split;
use crate::reshard::Planner;
use crate::sharding::axes::{Parts, parts};

/// One way to compute an operation on partial sums.
#[derive(Clone, Debug, PartialEq)]
struct Carry {
    /// The axes over which the operands are unreduced, sorted.
    over: Parts,
    by: ReductionKind,
    /// The indices of the unreduced operands.
    brought_by: SmallVec<[usize; 2]>,
}

/// Returns the best assignment for an operation, with the axes over which operands and results are unreduced (`Site::carried`).
pub(super) fn assign<'a>(
    module: &Module,
    op: OpId,
    site: Site<'a>,
    planner: &mut Planner<'_>,
) -> (Site<'a>, FactorParts) {
    let carries = carries(module, op, &site);
    let plain = site.assign(planner);
    if carries.is_empty() {
        return (site, plain);
    }
    let mut least = site.cost(&plain, planner);
    let mut best = (site.clone(), plain);
    for carry in carries {
        let other = carrying(&site, &carry);
        let chosen = other.assign(planner);
        let cost = other.cost(&chosen, planner);
        // At equal cost, the unreduced result is preferred: it can still be reduced later, and its user may accept partial sums.
        if cost <= least {
            least = cost;
            best = (other, chosen);
        }
    }
    best
}

/// Whether some operand or result of an operation is unreduced.
pub(super) fn takes_part(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let is_unreduced =
        |&v: &ValueId| module.shardings.sharding_of(v).is_some_and(|s| !s.unreduced.is_empty());
    data.operands.iter().chain(&data.results).any(is_unreduced)
}

fn carrying<'a>(site: &Site<'a>, carry: &Carry) -> Site<'a> {
    let mut out = site.clone();
    out.carried.clone_from(&carry.over);
    out.carried_by = carry.by;
    for &i in &carry.brought_by {
        out.tensors[i].brings = true;
    }
    for split in &mut out.splits {
        if split.reduction().is_some_and(|by| by != carry.by) {
            *split = Split::No;
        }
    }
    out
}

/// Returns the ways to compute an operation on partial sums, if some operand or result is unreduced.
fn carries(module: &Module, op: OpId, site: &Site<'_>) -> Vec<Carry> {
    let data = &module.ops[op];
    let is_unreduced = |s: &TensorSharding| !s.unreduced.is_empty();
    if !takes_part(module, op) {
        return Vec::new();
    }
    // Quantized elements with a zero point cannot be added.
    if data.operands.iter().chain(&data.results).any(|&v| module.is_quantized(v)) {
        return Vec::new();
    }
    let over = |s: &TensorSharding| {
        let mut parts = parts(site.mesh, &s.unreduced);
        parts.sort_unstable();
        parts
    };
    let num_operands = data.operands.len();
    let mut out: Vec<Carry> = Vec::new();
    for tensor in site.tensors.iter().filter(|t| is_unreduced(t.sharding)) {
        let (wanted, by) = (over(tensor.sharding), tensor.sharding.reduction);
        let takes = passes(module, op, by);
        if takes == Passes::NONE || rounds_off(module, op, site, tensor.sharding) {
            continue;
        }
        let has_part = |s: &TensorSharding| {
            s.reduction == by && over(s).iter().any(|p| wanted.iter().any(|w| w.overlaps(*p)))
        };
        let brings = |i: &usize| {
            let tensor = &site.tensors[*i];
            has_part(tensor.sharding) || tensor.also.iter().any(|also| has_part(also))
        };
        let bringing: SmallVec<[usize; 2]> =
            (0..num_operands).filter(|&i| takes.takes(i)).filter(brings).collect();
        let sets: Vec<SmallVec<[usize; 2]>> = match takes {
            // No operand is unreduced: the operation computes the reduced result, and a reshard makes it unreduced.
            _ if bringing.is_empty() => Vec::new(),
            Passes::Either => bringing.iter().map(|&i| SmallVec::from_slice(&[i])).collect(),
            Passes::Alike { .. } => vec![(0..num_operands).filter(|&i| takes.takes(i)).collect()],
        };
        for brought_by in sets {
            let carry = Carry { over: wanted.clone(), by, brought_by };
            if !out.contains(&carry) {
                out.push(carry);
            }
        }
    }
    out
}

/// Whether an operation converts its results to a narrower type, although they are not annotated as unreduced. The sum of rounded partial
/// sums is less accurate than the rounded sum.
fn rounds_off(module: &Module, op: OpId, site: &Site<'_>, from: &TensorSharding) -> bool {
    let data = &module.ops[op];
    let narrows = match &data.kind {
        OpKind::ReducePrecision { .. } => true,
        OpKind::Convert => {
            let bits = |v| module.tensor(v).map_or(0, |t| t.dtype.bits());
            bits(data.results[0]) < bits(data.operands[0])
        }
        _ => false,
    };
    let is_asked = |s: &TensorSharding| from.unreduced.iter().all(|axis| s.unreduced.contains(axis));
    narrows && !site.tensors.iter().filter(|t| t.is_result).all(|t| is_asked(t.sharding))
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const REDUCED: &str = "[{}, {}]";
    const UNREDUCED: &str = r#"[{}, {}], unreduced={"x"}"#;

    /// Plans a program with the partial sums `%p`, which returns `%r`.
    fn planned(ty: &str, rest: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<8x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %b: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}, %y: tensor<8x8xf32>) -> {ty} {{
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %m = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
              %p = sdy.sharding_constraint %m <@mesh, [{{}}, {{}}], unreduced={{"x"}}> : tensor<8x8xf32>
              {rest}
              return %r : {ty}
            }}"#
        );
        around("plan", r#""x"=4"#, &program)
    }

    #[test]
    fn a_linear_operation_runs_on_partial_sums() {
        let done = planned("tensor<8x8xf32>", "%r = stablehlo.negate %p : tensor<8x8xf32>");
        assert_eq!(done.shardings("stablehlo.negate"), [UNREDUCED]);
        assert_eq!(done.shardings("sdy.reshard"), [UNREDUCED, REDUCED]);
    }

    #[test]
    fn a_nonlinear_operation_runs_on_the_reduced_value() {
        let done = planned("tensor<8x8xf32>", "%r = stablehlo.exponential %p : tensor<8x8xf32>");
        assert_eq!(done.shardings("stablehlo.exponential"), [REDUCED]);
    }

    #[test]
    fn a_reduction_comes_before_the_all_reduce() {
        let done = planned(
            "tensor<8xf32>",
            "%r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>",
        );
        assert_eq!(done.shardings("stablehlo.reduce"), [r#"[{}], unreduced={"x"}"#]);
    }

    #[test]
    fn a_broadcast_comes_after_the_all_reduce() {
        let done = planned(
            "tensor<64x8x8xf32>",
            "%r = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<64x8x8xf32>",
        );
        assert_eq!(done.shardings("stablehlo.broadcast_in_dim"), ["[{}, {}, {}]"]);
    }

    #[test]
    fn the_other_operand_of_an_addition_is_kept_by_one_device() {
        let done = planned(
            "tensor<8x8xf32>",
            r#"%s = stablehlo.add %p, %y : tensor<8x8xf32>
            %r = sdy.sharding_constraint %s <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.add"), [UNREDUCED]);
        assert!(
            done.after.contains(r#"sdy.reshard %arg2 <@mesh, [{}, {}], unreduced={"x"}>"#),
            "{}",
            done.after
        );
    }

    #[test]
    fn partial_sums_are_rounded_only_if_the_result_is_annotated_as_unreduced() {
        let convert = "%n = stablehlo.convert %p : (tensor<8x8xf32>) -> tensor<8x8xbf16>";
        let constraint = |dims: &str| {
            let rest =
                format!("{convert}\n%r = sdy.sharding_constraint %n <@mesh, {dims}> : tensor<8x8xbf16>");
            planned("tensor<8x8xbf16>", &rest).shardings("stablehlo.convert")
        };
        assert_eq!(constraint(REDUCED), [REDUCED]);
        assert_eq!(constraint(UNREDUCED), [UNREDUCED]);
    }
}
