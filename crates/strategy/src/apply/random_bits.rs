//! Delays the generation of random bits until their layer.
//!
//! The random bits of a dropout depend only on its key, and the keys of all layers are available before the first layer. So XLA's
//! compilers compute the bits of all layers at once and keep them live, whether or not the layer is rematerialized. Eight layers of a
//! GPT-2 with dropout needed 5.2 GiB on a TPU, and 1.7 GiB with delayed keys. A barrier ties each key to the last matmul before the
//! dropout. A matmul is chosen because operands of a barrier are materialized: a matmul result is materialized anyway, while other values
//! may be fused into their users.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_ir::{Build, Module, OpId, OpKind, RegionId, Rewriter, ValueId, ValueMap, Work, clone_op};

use super::context::Context;

/// The maximum size in bytes of a key, and of values from which keys and tensor sizes are computed.
const LITTLE: i64 = 4096;

/// Ties the keys of loops that generate random bits to values computed before them.
pub(super) fn apply(module: &mut Module, context: &mut Context<'_>) {
    let Some(dimensions) = context.dimensions(module) else { return };
    let found = Found::under(module, context.body, &|value| dimensions.has_batch(value));
    if !found.waits.is_empty() {
        insert(&mut Rewriter::new(module), context.body, &found);
        context.invalidate_dimensions();
    }
}

/// Loops that generate large random tensors from small values, each with the value to which it is tied.
#[derive(Default)]
struct Found {
    waits: FxHashMap<OpId, ValueId>,
    /// Values computed only from small values.
    known: FxHashSet<ValueId>,
}

impl Found {
    fn under(module: &Module, region: RegionId, has_batch: &dyn Fn(ValueId) -> bool) -> Found {
        let mut found = Found::default();
        found.look_at(module, region, has_batch);
        found
    }

    fn look_at(&mut self, module: &Module, region: RegionId, has_batch: &dyn Fn(ValueId) -> bool) {
        let mut last = None;
        for &op in &module.regions[region].ops {
            let data = &module.ops[op];
            let is_known =
                |v: &ValueId| self.known.contains(v) || module.def_op(*v).is_none() && !is_large(module, *v);
            if data.operands.iter().all(is_known) {
                let is_made =
                    matches!(data.kind, OpKind::While) && data.results.iter().any(|&v| is_large(module, v));
                if let Some(last) = last.filter(|_| is_made) {
                    self.waits.insert(op, last);
                }
                self.known.extend(data.results.iter().copied());
            } else if has_program_regions(&data.kind) {
                for &inner in &data.regions {
                    self.look_at(module, inner, has_batch);
                }
            }
            if data.kind.def().work == Work::Contraction && has_batch(data.results[0]) {
                last = Some(data.results[0]);
            }
        }
    }
}

fn is_large(module: &Module, value: ValueId) -> bool {
    module.stored(value).and_then(|ty| ty.num_bytes()).is_some_and(|bytes| bytes > LITTLE)
}

fn insert(rw: &mut Rewriter<'_>, region: RegionId, found: &Found) {
    let here: FxHashSet<OpId> = rw.module.regions[region].ops.iter().copied().collect();
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if let Some(&until) = found.waits.get(&op) {
            wait_for(rw, op, until, (found, &here));
        } else if has_program_regions(&rw.module.ops[op].kind) {
            for inner in rw.module.ops[op].regions.clone() {
                insert(rw, inner, found);
            }
        }
    }
}

/// Recomputes the initial values of a loop after a barrier with `until`, the value to which the loop is tied.
fn wait_for(rw: &mut Rewriter<'_>, op: OpId, until: ValueId, (found, here): (&Found, &FxHashSet<OpId>)) {
    let Some(start) = Start::of(rw.module, op, found, here).filter(|start| !start.keys.is_empty()) else {
        return;
    };
    let before: Vec<ValueId> = start.keys.iter().copied().chain([until]).collect();
    let types: Vec<_> = before.iter().map(|&v| rw.module.values[v].ty).collect();
    let barrier = rw.op(OpKind::OptimizationBarrier, &before, &types, &[]);
    let mut map = ValueMap::new();
    let behind = rw.module.ops[barrier].results.clone();
    for (&key, &behind) in start.keys.iter().zip(&behind) {
        map.insert(key, behind);
    }
    for def in start.large {
        let copy = clone_op(rw.module, def, &mut map);
        rw.insert(copy);
    }
    map.rewrite(&mut rw.module.ops[op].operands);
}

/// The initial values of a random bit generator loop.
#[derive(Default)]
struct Start {
    /// Small values that are not constants.
    keys: Vec<ValueId>,
    /// The operations that compute large initial values from `keys`, in order.
    large: Vec<OpId>,
}

impl Start {
    /// Returns the initial values of the loop `op`. `None` if a large value is produced by another loop, or outside the region (whose
    /// operations are `here`), since it would be computed twice.
    fn of(module: &Module, op: OpId, found: &Found, here: &FxHashSet<OpId>) -> Option<Start> {
        let mut start = Start::default();
        let mut seen = FxHashSet::default();
        // Visited in post-order, so that an operation follows its operands.
        let mut stack: Vec<(ValueId, bool)> =
            module.ops[op].operands.iter().rev().map(|&v| (v, false)).collect();
        while let Some((value, is_ready)) = stack.pop() {
            let def = module.def_op(value);
            if let Some(def) = def.filter(|_| is_ready) {
                start.large.push(def);
                continue;
            }
            if !seen.insert(value) {
                continue;
            }
            let kind = def.map(|def| &module.ops[def].kind);
            if is_large(module, value) {
                let def = def.filter(|def| here.contains(def) && found.known.contains(&value))?;
                if !module.ops[def].regions.is_empty() {
                    return None;
                }
                stack.push((value, true));
                stack.extend(module.ops[def].operands.iter().map(|&v| (v, false)));
            } else if !matches!(kind, Some(OpKind::Constant(_))) {
                start.keys.push(value);
            }
        }
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::around;
    use crate::roles::Role;

    /// Returns a dropout with bits of this shape; the key of the dropout is argument 2.
    fn dropout(shape: &str) -> String {
        r#"func.func @main(%w: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<SHAPExf32>, %key: tensor<ui32>)
            -> (tensor<64x64xf32>, tensor<f32>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %none = stablehlo.constant dense<0> : tensor<i32>
          %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<SHAPExf32>, tensor<64x64xf32>) -> tensor<SHAPExf32>
          %start = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<ui32>) -> tensor<SHAPExui32>
          %bits:2 = stablehlo.while(%i = %none, %b = %start) : tensor<i32>, tensor<SHAPExui32>
          cond {
            %five = stablehlo.constant dense<5> : tensor<i32>
            %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          } do {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %next = stablehlo.add %i, %one : tensor<i32>
            %more = stablehlo.xor %b, %b : tensor<SHAPExui32>
            stablehlo.return %next, %more : tensor<i32>, tensor<SHAPExui32>
          }
          %mask = stablehlo.convert %bits#1 : (tensor<SHAPExui32>) -> tensor<SHAPExf32>
          %kept = stablehlo.multiply %y, %mask : tensor<SHAPExf32>
          %sum = stablehlo.reduce(%kept init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<SHAPExf32>, tensor<f32>) -> tensor<f32>
          %g = stablehlo.dot_general %x, %mask, contracting_dims = [0, 1] x [0, 1] : (tensor<SHAPExf32>, tensor<SHAPExf32>) -> tensor<64x64xf32>
          %w1 = stablehlo.subtract %w, %g : tensor<64x64xf32>
          return %w1, %sum : tensor<64x64xf32>, tensor<f32>
        }"#
        .replace("SHAPE", shape)
    }

    const ROLES: [(usize, Role); 2] = [(1, Role::Batch), (2, Role::RngKey)];

    #[test]
    fn the_key_waits_for_the_last_matmul() {
        let around = around("delay-random-bits", &dropout("8x64x64"), ("full_shard", "fsdp=4"), &ROLES);
        assert_eq!(around.added("stablehlo.optimization_barrier %arg2, %"), 1);
    }

    #[test]
    fn few_bits_do_not_wait() {
        assert!(around("delay-random-bits", &dropout("4x2x64"), ("full_shard", "fsdp=4"), &ROLES).is_same());
    }
}
