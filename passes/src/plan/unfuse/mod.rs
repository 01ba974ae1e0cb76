//! Unfuses horizontally fused matmuls (such as QKV projections): a slice of a matmul becomes a matmul with a slice of the weight.
//!
//! `q, k, v = split(x @ w)` is one matmul with three slices as users. With tensor parallelism, the columns of the result are sharded into
//! equal blocks, and so are the columns of each slice. A device's block of a slice is then not within its block of the result, and would be
//! received from other devices for each row of the batch. A weight has fewer rows than a batch, so slicing the weight sends less.
//!
//! Concatenations are handled similarly: the gradient of `x` is a sum of matmuls with slices of the weight, and the gradient of the weight
//! concatenates matmuls. A convolution counts as a matmul along its features, so the ranges of a concatenated skip connection are convolved
//! separately.
//!
//! Conditions:
//!
//! * The slice or concatenation is along a sharded dimension, in the same region as the matmul.
//! * All users of a sliced value are slices.
//! * The new cost is less than 80 % of the old cost, and the saving is at least the cost of one launch.
//!
//! ```mlir
//! %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]        // [{"data"}, {"model"}]
//! %q = stablehlo.slice %0 [0:1024, 0:64]
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.slice %w [0:256, 0:64]
//! %q = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0]
//! ```
//!
//! [`ranges`] computes a range of a value from ranges of its operands, and [`joins`] finds the users of concatenations. Both modules use
//! the sharding rules of operations. The replaced operations stay as dead code. Each element is computed from the same elements as before,
//! but a sum of matmuls has an additional rounding for each range.

mod joins;
mod ranges;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, OpKind, RegionId, Rewriter, UseCounts, ValueId};

use self::joins::Joins;
use self::ranges::{ComputedRanges, Range, Ranges, Search};
use super::free_values::FreeValues;
use super::line::Line;
use crate::analysis::regions::program_regions;
use crate::cost::{CostModel, Costs};

/// The new cost must be below this fraction of the old cost, since the matmuls become smaller and more numerous.
const WORTHWHILE: f64 = 0.8;

/// Unfuses matmuls in `body` and its nested regions, after propagation, if the cost decreases enough (see [`is_worthwhile`]).
pub(crate) fn unfuse_products(module: &mut Module, body: RegionId, model: &CostModel) {
    let mut known = None;
    for region in program_regions(module, body) {
        let is_fused =
            |op: &OpId| matches!(module.ops[*op].kind, OpKind::Slice(_) | OpKind::Concatenate { .. });
        if !module.regions[region].ops.iter().any(is_fused) {
            continue;
        }
        let (readers, free) =
            known.get_or_insert_with(|| (UseCounts::under(module, body), FreeValues::under(module, body)));
        let found = Found::of(module, region, readers, free, model);
        if !found.is_empty() {
            found.carry_out(module, region, readers);
        }
    }
}

/// Whether reducing the cost from `before` to `after` saves enough.
fn is_worthwhile(before: f64, after: f64, costs: Costs) -> bool {
    after < WORTHWHILE * before && before - after >= costs.start()
}

/// The rewrites of a region.
struct Found {
    /// The operations of the region.
    local: FxHashSet<OpId>,
    /// The slices that become separate matmuls, and their ranges.
    slices: FxHashMap<OpId, Range>,
    joins: Joins,
}

impl Found {
    fn of(
        module: &Module,
        region: RegionId,
        readers: &UseCounts,
        free: &FreeValues,
        model: &CostModel,
    ) -> Found {
        let local: FxHashSet<OpId> = module.regions[region].ops.iter().copied().collect();
        let mut search = Search::new(Ranges { readers, local: &local }, module, free, model);
        let mut slices = FxHashMap::default();
        for (value, fused) in sliced(module, region, model) {
            if fused.ops.len() == readers.get(value) as usize && search.pays_off(value, &fused) {
                slices.extend(fused.ops);
            }
        }
        let joins = Joins::of(&mut search, region);
        Found { local, slices, joins }
    }

    fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.joins.is_empty()
    }

    fn carry_out(&self, module: &mut Module, region: RegionId, readers: &UseCounts) {
        let ranges = Ranges { readers, local: &self.local };
        let mut made = ComputedRanges::default();
        let mut rw = Rewriter::new(module);
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            let new = if let Some(&range) = self.slices.get(&op) {
                // The operand of the slice may have been replaced since the analysis.
                let value = rw.module.ops[op].operands[0];
                let made = ranges.make(&mut rw, &mut made, Range { value, ..range }, true);
                Some([made].into_iter().collect())
            } else {
                self.joins.make(&ranges, &mut rw, &mut made, op)
            };
            if let Some(new) = new {
                rw.replace(&new);
            }
        }
    }
}

/// The slices of one value.
struct Sliced {
    line: Line,
    /// Each slice with its range.
    ops: Vec<(OpId, Range)>,
    /// The total cost of these slices.
    cost: f64,
}

/// Returns the values that a region slices along a sharded dimension, if the same axes evenly shard the slices.
fn sliced(module: &Module, region: RegionId, model: &CostModel) -> IndexMap<ValueId, Sliced, FxBuildHasher> {
    let mut found: IndexMap<ValueId, Sliced, FxBuildHasher> = IndexMap::default();
    for &op in &module.regions[region].ops {
        let data = &module.ops[op];
        let (OpKind::Slice(spec), &[value], &[result]) =
            (&data.kind, data.operands.as_slice(), data.results.as_slice())
        else {
            continue;
        };
        let Some(dim) = spec.cut_dim(module.shape(value)) else { continue };
        let Some(line) = Line::of(module, value, dim, model) else { continue };
        if !line.splits_evenly(module, value, result) {
            continue;
        }
        let (start, limit) = (spec.start[dim], spec.limit[dim]);
        let cost = line.cost(module, &data.kind, &[value], result).unwrap_or(f64::INFINITY);
        let sliced = found.entry(value).or_insert_with(|| Sliced { line, ops: Vec::new(), cost: 0.0 });
        if sliced.line.dim == dim {
            sliced.ops.push((op, Range { value, dim, start, limit }));
            sliced.cost += cost;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::is_worthwhile;
    use crate::cost::Costs;
    use crate::plan::testing::{Around, around};

    #[test]
    fn a_rewrite_saves_a_fifth_and_the_start_of_a_collective() {
        let costs = Costs::default();
        let start = costs.start();
        assert!(is_worthwhile(10.0 * start, 7.9 * start, costs));
        assert!(!is_worthwhile(10.0 * start, 8.0 * start, costs));
        assert!(!is_worthwhile(1.1 * start, 0.2 * start, costs));
    }

    /// Unfuses a matmul of `rows` rows whose 768 columns are sharded, with these users.
    fn unfused(rows: i64, results: &str, users: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<{rows}x256xf32>, %w: tensor<256x768xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}) -> {results} {{
              %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<{rows}x256xf32>, tensor<256x768xf32>) -> tensor<{rows}x768xf32>
              %q = stablehlo.slice %p [0:{rows}, 0:256] : (tensor<{rows}x768xf32>) -> tensor<{rows}x256xf32>
              {users}
            }}"#
        );
        around("unfuse-products", r#""x"=4"#, &program)
    }

    /// Unfuses a matmul of `rows` rows, of which two slices take all columns.
    fn sliced(rows: i64) -> Around {
        unfused(
            rows,
            &format!("(tensor<{rows}x256xf32>, tensor<{rows}x512xf32>)"),
            &format!(
                "%k = stablehlo.slice %p [0:{rows}, 256:768] : (tensor<{rows}x768xf32>) -> tensor<{rows}x512xf32>
                return %q, %k : tensor<{rows}x256xf32>, tensor<{rows}x512xf32>"
            ),
        )
    }

    #[test]
    fn slices_of_a_matmul_are_matmuls_with_slices_of_the_weight() {
        let done = sliced(4096);
        assert_eq!(done.added("stablehlo.dot_general"), 2, "the matmul that is sliced stays, dead");
        assert!(done.after.contains("stablehlo.slice %arg1 [0:256, 0:256]"), "{}", done.after);
        assert!(done.after.contains("stablehlo.slice %arg1 [0:256, 256:768]"), "{}", done.after);
    }

    #[test]
    fn slices_of_fewer_rows_than_the_weight_has_stay() {
        assert!(sliced(64).is_same());
    }

    #[test]
    fn slices_of_a_matmul_that_is_also_used_as_a_whole_stay() {
        let done = unfused(
            4096,
            "(tensor<4096x256xf32>, tensor<4096x768xf32>)",
            "return %q, %p : tensor<4096x256xf32>, tensor<4096x768xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }
}
