//! Reshards a value before it is converted to a wider type or broadcast: sinks the conversion or broadcast below the reshard.
//!
//! Conditions:
//!
//! * At most `MAX_OPS` operations are between the smaller value and the reshard.
//! * Each of these operations computes every element from one element, so that the result is bit-identical.
//! * The new reshard and the recomputed operations together cost less than the old reshard.
//!
//! ```mlir
//! %0 = stablehlo.convert %w : (tensor<64x64xbf16>) -> tensor<64x64xf32>
//! %1 = sdy.reshard %0 <@mesh, [{}, {}]>                                  // all_gather of f32
//! ```
//! becomes
//! ```mlir
//! %0 = sdy.reshard %w <@mesh, [{}, {}]>                                  // all_gather of bf16
//! %1 = stablehlo.convert %0 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
//! ```

use shardc_ir::{DimSharding, Module, OpId, OpKind, TensorSharding, TensorType, ValueId};
use smallvec::SmallVec;

use crate::reshard::Planner;

/// The maximum number of recomputed operations.
const MAX_OPS: usize = 4;

/// A replacement for a reshard: a reshard of `source`, followed by the recomputed operations of `again`.
#[derive(Debug)]
pub(super) struct EarlierReshard {
    pub(super) source: ValueId,
    /// The new sharding of `source`.
    pub(super) to: TensorSharding,
    /// The operations to recompute, first to last, each with the sharding of its result.
    pub(super) again: SmallVec<[(OpId, TensorSharding); MAX_OPS]>,
}

/// Returns the cheapest way to compute `value` in the sharding `to`, if it is cheaper than a reshard.
pub(super) fn earlier_reshard(
    module: &Module,
    planner: &mut Planner<'_>,
    value: ValueId,
    to: &TensorSharding,
) -> Option<EarlierReshard> {
    let mut least = cost_of(module, planner, value, to)?;
    // A local slice has no communication to save.
    if least < planner.costs().start() {
        return None;
    }
    let (mut at, mut wanted) = (value, to.clone());
    let mut again = SmallVec::<[(OpId, TensorSharding); MAX_OPS]>::new();
    let (mut compute, mut best) = (0.0, None);
    while again.len() < MAX_OPS {
        let Some(op) = module.def_op(at) else { break };
        let Some((source, before)) = operand_sharding(module, op, &wanted) else { break };
        // The operations are recomputed on the resharded value; the original values stay for their other users.
        compute += planner.costs().compute(0.0, local_bytes(module, planner, at, &wanted)?);
        again.push((op, wanted));
        let moved = cost_of(module, planner, source, &before)?;
        if moved + compute < least {
            least = moved + compute;
            best = Some((source, before.clone(), again.len()));
        }
        (at, wanted) = (source, before);
    }
    let (source, to, length) = best?;
    again.truncate(length);
    again.reverse();
    Some(EarlierReshard { source, to, again })
}

/// Returns the cost of resharding a value; `None` for unreduced values, since conversions do not commute with addition.
fn cost_of(module: &Module, planner: &mut Planner<'_>, value: ValueId, to: &TensorSharding) -> Option<f64> {
    let (from, ty) = (module.shardings.sharding_of(value)?, module.tensor(value)?);
    (from.unreduced.is_empty() && to.unreduced.is_empty()).then(|| planner.cost(from, to, ty))
}

/// Returns the bytes of `value` on each device in `sharding`.
fn local_bytes(
    module: &Module,
    planner: &Planner<'_>,
    value: ValueId,
    sharding: &TensorSharding,
) -> Option<f64> {
    let TensorType { shape, dtype, .. } = module.tensor(value)?;
    let local = sharding.local_shape(planner.mesh(), shape);
    Some(local.iter().map(|&n| n as f64).product::<f64>() * f64::from(dtype.bits()) / 8.0)
}

/// Returns the operand of an operation that computes each element from one element. Also returns an operand sharding from which each device
/// can compute its shard of the result in the sharding `result`.
fn operand_sharding(module: &Module, op: OpId, result: &TensorSharding) -> Option<(ValueId, TensorSharding)> {
    let data = &module.ops[op];
    let (&[operand], &[made]) = (data.operands.as_slice(), data.results.as_slice()) else { return None };
    let (from, to) = (module.tensor(operand)?, module.tensor(made)?);
    let dims: SmallVec<[DimSharding; 4]> = match &data.kind {
        OpKind::Convert => result.dims.iter().cloned().collect(),
        OpKind::Transpose { permutation } => {
            let mut dims: SmallVec<[DimSharding; 4]> = result.dims.iter().cloned().collect();
            for (dim, &source) in result.dims.iter().zip(permutation) {
                dims.get_mut(source as usize)?.clone_from(dim);
            }
            dims
        }
        OpKind::BroadcastInDim { dims } => {
            let of = |(d, &at): (usize, &u32)| match from.shape[d] == to.shape[at as usize] {
                true => result.dims.get(at as usize).cloned(),
                // A dimension of size one that is broadcast to a larger size is replicated.
                false => Some(DimSharding::closed(&[])),
            };
            dims.iter().enumerate().map(of).collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some((operand, TensorSharding::from_dims(result.mesh, dims)))
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a program that all-gathers the result `%r` of an operation on `%w`.
    fn planned(from: (&str, &str), to: (&str, &str), operation: &str) -> Around {
        let program = format!(
            r#"func.func @main(%w: tensor<{}> {{sdy.sharding = #sdy.sharding<@mesh, {}>}})
                -> (tensor<{}> {{sdy.sharding = #sdy.sharding<@mesh, {}>}}) {{
              %r = {operation} : (tensor<{}>) -> tensor<{}>
              return %r : tensor<{}>
            }}"#,
            from.0, from.1, to.0, to.1, from.0, to.0, to.0
        );
        around("plan", r#""x"=8"#, &program)
    }

    const ROWS: &str = r#"[{"x"}, {}]"#;

    #[test]
    fn a_weight_is_gathered_before_it_is_widened() {
        let done = planned(("512x512xbf16", ROWS), ("512x512xf32", "[{}, {}]"), "stablehlo.convert %w");
        assert!(
            done.after.contains("%1 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<512x512xbf16>"),
            "{}",
            done.after
        );
        assert_eq!(done.shardings("stablehlo.convert"), [ROWS, "[{}, {}]"], "the first one is dead");
    }

    #[test]
    fn a_vector_is_gathered_before_it_is_broadcast() {
        let done = planned(
            ("4096xf32", r#"[{"x"}]"#),
            ("64x4096xf32", "[{}, {}]"),
            "stablehlo.broadcast_in_dim %w, dims = [1]",
        );
        assert!(
            done.after.contains("%1 = sdy.reshard %arg0 <@mesh, [{}]> : tensor<4096xf32>"),
            "{}",
            done.after
        );
    }

    #[test]
    fn a_weight_is_gathered_after_it_is_narrowed() {
        let done = planned(("512x512xf32", ROWS), ("512x512xbf16", "[{}, {}]"), "stablehlo.convert %w");
        assert!(
            done.after.contains("%1 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<512x512xbf16>"),
            "{}",
            done.after
        );
        assert_eq!(done.added("stablehlo.convert"), 0);
    }
}
