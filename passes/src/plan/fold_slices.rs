//! Folds slices into the concatenation that uses them, which becomes a *splice*.
//!
//! `concatenate(x[4:], x[:4])` rolls `x`. Along a sharded dimension, each slice and then the concatenation would be resharded to equal
//! blocks, so most elements would move twice. With a splice of `x`, each device gets its block directly from the devices that hold the
//! elements. The same holds for shifts, wrap-around padding and other concatenations of ranges of a few values.
//!
//! * A concatenation of concatenations becomes one concatenation. A slice of a concatenation that reads only one operand becomes a slice of
//!   that operand. Reflect and edge padding consist of such slices and concatenations. Rows that a broadcast repeats are computed on each
//!   device.
//! * `dynamic_slice` and `gather` at constant indices become slices first ([`known_slices`]).
//! * A slice is not folded if a separate slice is cheaper, for example if one device holds the few elements that it takes.
//!
//! ```mlir
//! %0 = stablehlo.slice %x [4:64] : (tensor<64xf32>) -> tensor<60xf32>
//! %1 = stablehlo.slice %x [0:4] : (tensor<64xf32>) -> tensor<4xf32>
//! %2 = stablehlo.concatenate %0, %1, dim = 0 : ... -> tensor<64xf32>
//! ```
//! becomes
//! ```mlir
//! %2 = splice %x, %x                 // pieces [4:64] and [0:4]
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{
    Module, OpId, OpKind, RegionId, SplicePiece, SpliceSpec, TensorSharding, UseCounts, ValueId,
};
use smallvec::SmallVec;

use super::known_slices::known_slices;
use super::line::{Line, cuts_only, is_plain};
use crate::analysis::regions::program_regions;
use crate::cost::CostModel;
use crate::sharding::sub_axes::overlaps;
use crate::windows::Span;

/// A concatenation of more operands is not folded: the exchange would need too many rounds.
const MAX_OPERANDS: usize = 64;

/// The maximum number of operations that are visited for one concatenation.
const MAX_LOOKS: u32 = 256;

/// The maximum number of operations in a chain of reshapes and broadcasts that repeats a row.
const MAX_STEPS: usize = 4;

/// Folds slices in `body` and its nested regions, after propagation. Replaced operations stay as dead code.
pub(crate) fn fold_slices(module: &mut Module, body: RegionId, model: &CostModel) {
    known_slices(module, body);
    let mut readers = None;
    for region in program_regions(module, body) {
        // Only operations of this region are folded: slices of values from outside of a loop are not recomputed inside the loop.
        let mut local = FxHashSet::default();
        for op in module.regions[region].ops.clone() {
            match module.ops[op].kind {
                OpKind::Slice(_) => {
                    past_other_operands(module, op, &local, model);
                }
                OpKind::Concatenate { dim } => {
                    let readers = readers.get_or_insert_with(|| UseCounts::under(module, body));
                    if let Some(line) = Line::of(module, module.ops[op].results[0], dim as usize, model) {
                        join(module, op, &line, &local, readers);
                    }
                }
                OpKind::Reshape | OpKind::BroadcastInDim { .. } => {}
                _ => continue,
            }
            local.insert(op);
        }
    }
}

/// Replaces the concatenation `op` along `line` by a splice, if the splice costs no more.
fn join(module: &mut Module, op: OpId, line: &Line, local: &FxHashSet<OpId>, readers: &UseCounts) {
    repeat_on_each_device(module, op, line, local, readers);
    let Some(splice) = Splice::of(module, op, line, local) else { return };
    let Splice { operands, pieces, through, .. } = splice;
    let kind = OpKind::Splice(Box::new(SpliceSpec { dim: line.dim as u32, pieces }));
    if pays_off(module, op, line, (&kind, &operands), &through, readers) {
        module.ops[op].kind = kind;
        module.ops[op].operands = operands.into_iter().collect();
    }
}

/// Whether a splice costs no more than the concatenation and the folded operations that have no other users.
fn pays_off(
    module: &Module,
    op: OpId,
    line: &Line,
    (kind, operands): (&OpKind, &[ValueId]),
    through: &[OpId],
    readers: &UseCounts,
) -> bool {
    let of = |op: OpId| {
        let data = &module.ops[op];
        line.cost(module, &data.kind, &data.operands, data.results[0])
    };
    let saved = through.iter().filter(|&&op| readers.get(module.ops[op].results[0]) == 1).map(|&op| of(op));
    let apart = saved.chain([of(op)]).sum::<Option<f64>>();
    let spliced = line.cost(module, kind, operands, module.ops[op].results[0]);
    spliced.is_some_and(|spliced| apart.is_none_or(|apart| spliced <= apart))
}

/// Replaces a slice of a concatenation by a slice of one operand, if it reads only that operand and the new slice costs no more.
fn past_other_operands(
    module: &mut Module,
    op: OpId,
    local: &FxHashSet<OpId>,
    model: &CostModel,
) -> Option<()> {
    let data = &module.ops[op];
    let (OpKind::Slice(spec), &[joined], &[result]) =
        (&data.kind, data.operands.as_slice(), data.results.as_slice())
    else {
        return None;
    };
    let join = module.def_op(joined).filter(|op| local.contains(op))?;
    let &OpKind::Concatenate { dim } = &module.ops[join].kind else { return None };
    let dim = dim as usize;
    let line = Line::of(module, joined, dim, model)?;
    let mut first = 0;
    for &operand in &module.ops[join].operands {
        let end = first + *module.shape(operand).get(dim)?;
        if first <= spec.start[dim] && spec.limit[dim] <= end {
            is_split_alike(module, operand, module.shardings.sharding_of(joined)?, dim).then_some(())?;
            let mut spec = spec.clone();
            spec.start[dim] -= first;
            spec.limit[dim] -= first;
            let kind = OpKind::Slice(spec);
            let (before, after) = (
                line.cost(module, &data.kind, &[joined], result),
                line.cost(module, &kind, &[operand], result)?,
            );
            before.is_none_or(|before| after <= before).then_some(())?;
            module.ops[op].kind = kind;
            module.ops[op].operands = [operand].into_iter().collect();
            return Some(());
        }
        first = end;
    }
    None
}

/// Replicates those operands of a concatenation that repeat a few elements and have no other users. Each device then computes the repeated
/// elements instead of receiving them.
fn repeat_on_each_device(
    module: &mut Module,
    op: OpId,
    line: &Line,
    local: &FxHashSet<OpId>,
    readers: &UseCounts,
) {
    let Some(axes) = module.shardings.sharding_of(module.ops[op].results[0]).map(|s| s.axes(line.dim)) else {
        return;
    };
    let axes = axes.to_vec();
    for operand in module.ops[op].operands.clone() {
        for value in repeated(module, operand, local, readers).unwrap_or_default() {
            let Some(mut sharding) = module.shardings.sharding_of(value).cloned() else { continue };
            for dim in &mut sharding.dims {
                dim.axes.retain(|&mut a| !axes.iter().any(|&b| overlaps(a, b)));
            }
            let id = module.shardings.intern(sharding);
            module.shardings.set(value, Some(id));
        }
    }
}

/// Returns the chain of reshapes and broadcasts that computes `value` from at most half as many elements.
fn repeated(
    module: &Module,
    value: ValueId,
    local: &FxHashSet<OpId>,
    readers: &UseCounts,
) -> Option<SmallVec<[ValueId; 4]>> {
    let elements = |v: ValueId| module.tensor(v)?.num_elements();
    let made_here = |v: ValueId| module.def_op(v).filter(|op| local.contains(op) && readers.get(v) == 1);
    let mut by_way_of = SmallVec::new();
    let mut at = value;
    for _ in 0..MAX_STEPS {
        let data = &module.ops[made_here(at)?];
        matches!(data.kind, OpKind::Reshape | OpKind::BroadcastInDim { .. }).then_some(())?;
        by_way_of.push(at);
        at = *data.operands.first()?;
        if 2 * elements(at)? <= elements(value)? {
            // A slice that the chain repeats is replicated too: it becomes an all-reduce of a few elements.
            by_way_of.extend(
                made_here(at).filter(|&op| matches!(module.ops[op].kind, OpKind::Slice(_))).map(|_| at),
            );
            return Some(by_way_of);
        }
    }
    None
}

/// A concatenation whose slice and concatenation operands are folded.
struct Splice<'a> {
    dim: usize,
    /// The sharding of the result.
    result: &'a TensorSharding,
    /// The operations that may be folded.
    local: &'a FxHashSet<OpId>,
    operands: SmallVec<[ValueId; 2]>,
    pieces: SmallVec<[SplicePiece; 2]>,
    /// The folded slices and concatenations.
    through: Vec<OpId>,
    looks: u32,
}

impl<'a> Splice<'a> {
    /// Returns the splice that replaces a concatenation, if some operands are slices or concatenations.
    fn of(module: &'a Module, op: OpId, line: &Line, local: &'a FxHashSet<OpId>) -> Option<Splice<'a>> {
        let data = &module.ops[op];
        if data.operands.len() > MAX_OPERANDS || !data.operands.iter().all(|&v| is_plain(module, v)) {
            return None;
        }
        let result = module.shardings.sharding_of(data.results[0])?;
        let mut splice = Splice {
            dim: line.dim,
            result,
            local,
            operands: SmallVec::new(),
            pieces: SmallVec::new(),
            through: Vec::new(),
            looks: MAX_LOOKS,
        };
        for &operand in &data.operands {
            splice.read(module, operand, 0..module.shape(operand)[line.dim])?;
        }
        (!splice.through.is_empty() && !splice.pieces.is_empty() && splice.pieces.len() <= MAX_OPERANDS)
            .then_some(splice)
    }

    /// Adds a range of a value. Looks through slices and concatenations whose operands are sharded like the result. Returns `None` after
    /// too many visits.
    fn read(&mut self, module: &Module, value: ValueId, range: Span) -> Option<()> {
        if range.is_empty() {
            return Some(());
        }
        self.looks = self.looks.checked_sub(1)?;
        let fits = |&v: &ValueId| is_plain(module, v) && is_split_alike(module, v, self.result, self.dim);
        let def = module.def_op(value).filter(|op| self.local.contains(op));
        let Some(op) = def.filter(|&op| module.ops[op].operands.iter().all(fits)) else {
            self.add(value, range);
            return Some(());
        };
        let data = &module.ops[op];
        let parts: SmallVec<[(ValueId, Span); 4]> = match &data.kind {
            OpKind::Slice(spec) if cuts_only(spec, module.shape(data.operands[0]), self.dim) => {
                let start = spec.start[self.dim];
                [(data.operands[0], range.start + start..range.end + start)].into_iter().collect()
            }
            OpKind::Concatenate { dim } if *dim as usize == self.dim => {
                let mut end = 0;
                let part = |&operand: &ValueId| {
                    let first = end;
                    end += module.shape(operand)[self.dim];
                    (operand, range.start.max(first) - first..range.end.min(end) - first)
                };
                data.operands.iter().map(part).collect()
            }
            _ => {
                self.add(value, range);
                return Some(());
            }
        };
        if !self.through.contains(&op) {
            self.through.push(op);
        }
        parts.into_iter().try_for_each(|(part, range)| self.read(module, part, range))
    }

    /// Adds a range of a value without looking through its producer.
    fn add(&mut self, value: ValueId, range: Span) {
        let index = self.operands.iter().position(|&v| v == value).unwrap_or_else(|| {
            self.operands.push(value);
            self.operands.len() - 1
        });
        match self.pieces.last_mut() {
            // Adjacent `x[2:4]` and `x[4:9]` are `x[2:9]`.
            Some(last) if last.operand as usize == index && last.limit == range.start => {
                last.limit = range.end
            }
            _ => {
                self.pieces.push(SplicePiece { operand: index as u32, start: range.start, limit: range.end })
            }
        }
    }
}

/// Whether `value` has the sharding of the result, except that it may be replicated along `dim`.
fn is_split_alike(module: &Module, value: ValueId, result: &TensorSharding, dim: usize) -> bool {
    module.shardings.sharding_of(value).is_some_and(|sharding| {
        let alike = |d: usize| sharding.axes(d) == result.axes(d);
        sharding.mesh == result.mesh
            && sharding.unreduced.is_empty()
            && (0..result.rank()).all(|d| alike(d) || d == dim && sharding.axes(d).is_empty())
    })
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const ROWS: &str = r#"[{"x"}, {}]"#;

    /// Folds the slices of a program with two arguments that have these shardings.
    fn folded(dims: &str, rows: i64, operations: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}},
                %y: tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) -> tensor<{rows}x8xf32> {{
              {operations}
              return %r : tensor<{rows}x8xf32>
            }}"#
        );
        around("fold-slices", r#""x"=4"#, &program)
    }

    const ROLL: &str = "%a = stablehlo.slice %x [4:64, 0:8] : (tensor<64x8xf32>) -> tensor<60x8xf32>
        %b = stablehlo.slice %x [0:4, 0:8] : (tensor<64x8xf32>) -> tensor<4x8xf32>
        %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<60x8xf32>, tensor<4x8xf32>) -> tensor<64x8xf32>";

    #[test]
    fn a_roll_is_a_splice_of_its_source() {
        let done = folded(ROWS, 64, ROLL);
        assert!(
            done.after.contains(
                r#""shardc.splice"(%arg0) <{dimension = 0 : i64, pieces = array<i64: 0, 4, 64, 0, 0, 4>}>"#
            ),
            "{}",
            done.after
        );
    }

    #[test]
    fn a_roll_along_an_unsplit_dimension_stays() {
        let done = folded(r#"[{}, {"x"}]"#, 64, ROLL);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn strided_slices_stay() {
        let done = folded(
            ROWS,
            64,
            "%a = stablehlo.slice %x [0:64:2, 0:8] : (tensor<64x8xf32>) -> tensor<32x8xf32>
            %b = stablehlo.slice %x [1:64:2, 0:8] : (tensor<64x8xf32>) -> tensor<32x8xf32>
            %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_concatenation_of_arguments_stays() {
        let done = folded(
            ROWS,
            80,
            "%r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<64x8xf32>, tensor<16x8xf32>) -> tensor<80x8xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_concatenation_of_a_concatenation_is_one_splice() {
        let done = folded(
            ROWS,
            96,
            "%a = stablehlo.concatenate %x, %y, dim = 0 : (tensor<64x8xf32>, tensor<16x8xf32>) -> tensor<80x8xf32>
            %r = stablehlo.concatenate %a, %y, dim = 0 : (tensor<80x8xf32>, tensor<16x8xf32>) -> tensor<96x8xf32>",
        );
        assert!(done.after.contains("pieces = array<i64: 0, 0, 64, 1, 0, 16, 1, 0, 16>"), "{}", done.after);
    }

    #[test]
    fn a_row_that_is_repeated_at_a_border_is_repeated_on_each_device() {
        let done = folded(
            ROWS,
            72,
            "%a = stablehlo.slice %x [0:1, 0:8] : (tensor<64x8xf32>) -> tensor<1x8xf32>
            %b = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x8x8xf32>
            %c = stablehlo.reshape %b : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
            %r = stablehlo.concatenate %c, %x, dim = 0 : (tensor<8x8xf32>, tensor<64x8xf32>) -> tensor<72x8xf32>",
        );
        assert_eq!(done.shardings("stablehlo.slice"), ["[{}, {}]"]);
        assert_eq!(done.shardings("stablehlo.reshape"), ["[{}, {}]"]);
        assert_eq!(done.shardings("stablehlo.concatenate"), [ROWS]);
    }
}
