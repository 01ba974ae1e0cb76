//! Users of concatenations: finds the operations that use a concatenated value, and computes each from the concatenated ranges. A *join* is
//! a concatenation that is removed in this way. A join ends at the operations whose results need not be computed range by range.

use rustc_hash::FxHashMap;
use shardc_ir::{BinaryOp, Build, Module, OpId, OpKind, RegionId, Rewriter, TypeId, ValueId, Work};
use smallvec::SmallVec;

use super::is_worthwhile;
use super::ranges::{
    ComputedRanges, OperandDims, Price, Range, Ranges, Search, dims_of, part_of, rule_of_ranges,
};
use crate::cost::CostModel;
use crate::plan::line::Line;

/// The concatenations of a region to remove: their users use the concatenated ranges instead.
#[derive(Default)]
pub(super) struct Joins {
    all: Vec<Join>,
    /// Values that are computed range by range from a concatenated value, each with its producer and, for each operand of it, the dimension
    /// of the ranges.
    carried: FxHashMap<ValueId, (OpId, OperandDims)>,
    /// The operations at which a join ends, each with the index of the join.
    ends: FxHashMap<OpId, (usize, End)>,
}

/// A join: a concatenation along a sharded dimension.
struct Join {
    op: OpId,
    dim: usize,
    /// The concatenated ranges: each range begins where the previous one ends.
    ranges: Vec<(i64, i64)>,
}

/// How an operation ends a join.
enum End {
    /// The operation is computed for each range of its operands, and the results are concatenated along a dimension.
    Joins(OperandDims, usize),
    /// The operation is computed for each range of its operands, and the results are summed.
    Sums(OperandDims),
    /// The operation is a barrier that only waits for the operand with this index, whose ranges are along this dimension.
    Waits(usize, usize),
}

/// How a user uses a concatenated value.
enum Read {
    /// The result of the user has the same ranges, along this dimension.
    Carries(ValueId, usize),
    /// The user ends the join.
    Ends,
    /// The user needs the concatenated value.
    Needs,
}

/// A join whose users are still being collected.
struct Candidate {
    join: Join,
    /// The cost of the concatenation.
    before: f64,
    price: Price,
    carried: Vec<(ValueId, Option<(OpId, OperandDims)>)>,
    ends: Vec<(OpId, End)>,
    /// The number of uses of the concatenated value, and of values computed range by range from it, that are recorded so far.
    reads: u32,
    /// Whether a user needs the concatenated value.
    is_needed: bool,
}

impl Joins {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Finds the concatenations of a region to remove.
    pub(super) fn of(search: &mut Search<'_>, region: RegionId) -> Joins {
        let module = search.module;
        let mut candidates: Vec<Candidate> = Vec::new();
        // For each value that is computed range by range: the index of its candidate, and the dimension of the ranges.
        let mut carried: FxHashMap<ValueId, (usize, usize)> = FxHashMap::default();
        for &op in &module.regions[region].ops {
            let operands = &module.ops[op].operands;
            let mut read = operands.iter().enumerate().filter_map(|(i, v)| Some((i, *carried.get(v)?)));
            match (read.next(), read.next()) {
                (None, _) => {
                    if let Some(candidate) = Candidate::of(module, op, search.model) {
                        carried.insert(module.ops[op].results[0], (candidates.len(), candidate.join.dim));
                        candidates.push(candidate);
                    }
                }
                (Some((i, (index, dim))), None) => match candidates[index].read(search, op, i, dim) {
                    Read::Carries(value, dim) => {
                        carried.insert(value, (index, dim));
                    }
                    Read::Ends => {}
                    Read::Needs => candidates[index].is_needed = true,
                },
                (Some((_, (first, _))), Some((_, (second, _)))) => {
                    candidates[first].is_needed = true;
                    candidates[second].is_needed = true;
                }
            }
        }
        let mut joins = Joins::default();
        for candidate in candidates {
            if !candidate.pays_off(search) {
                continue;
            }
            let Candidate { join, price, carried, ends, .. } = candidate;
            search.pay(price);
            joins.ends.extend(ends.into_iter().map(|(op, end)| (op, (joins.all.len(), end))));
            joins.carried.extend(carried.into_iter().filter_map(|(value, made)| Some((value, made?))));
            joins.all.push(join);
        }
        joins
    }

    /// Computes replacements for the results of `op` from the concatenated ranges, before `op`. `None` if `op` does not end a join.
    pub(super) fn make(
        &self,
        ranges: &Ranges<'_>,
        rw: &mut Rewriter<'_>,
        made: &mut ComputedRanges,
        op: OpId,
    ) -> Option<SmallVec<[ValueId; 2]>> {
        let (index, end) = self.ends.get(&op)?;
        let join = &self.all[*index];
        // The ranges of the concatenated value are the operands of the concatenation.
        let (joined, operands) = (rw.module.ops[join.op].results[0], rw.module.ops[join.op].operands.clone());
        for (&(start, limit), &operand) in join.ranges.iter().zip(&operands) {
            made.insert(Range { value: joined, dim: join.dim, start, limit }, operand);
        }
        match end {
            &End::Waits(index, dim) => {
                let &range = join.ranges.last()?;
                let value = rw.module.ops[op].operands[index];
                let part = self.part(ranges, rw, made, (value, dim), range);
                let mut operands = rw.module.ops[op].operands.clone();
                operands[index] = part;
                let types: SmallVec<[TypeId; 2]> = operands.iter().map(|&v| rw.module.values[v].ty).collect();
                let copy = rw.op(OpKind::OptimizationBarrier, &operands, &types, &[]);
                let results = rw.module.ops[copy].results.clone();
                for (&old, &new) in rw.module.ops[op].results.clone().iter().zip(&results) {
                    rw.module.shardings.set(new, rw.module.shardings.of(old));
                }
                Some(results.into_iter().collect())
            }
            End::Joins(dims, dim) => {
                let mut parts: SmallVec<[ValueId; 4]> = SmallVec::new();
                for &range in &join.ranges {
                    let operands = self.operands(ranges, rw, made, (op, dims), range);
                    parts.push(part_of(rw, op, &operands, *dim, range.1 - range.0));
                }
                let joined = like(rw, op, OpKind::Concatenate { dim: *dim as u32 }, &parts);
                Some([joined].into_iter().collect())
            }
            End::Sums(dims) => {
                let mut sum = None;
                for &range in &join.ranges {
                    let operands = self.operands(ranges, rw, made, (op, dims), range);
                    let kind = rw.module.ops[op].kind.clone();
                    let addend = like(rw, op, kind, &operands);
                    sum = Some(match sum {
                        Some(sum) => like(rw, op, OpKind::Binary(BinaryOp::Add), &[sum, addend]),
                        None => addend,
                    });
                }
                Some([sum?].into_iter().collect())
            }
        }
    }

    /// Returns the operands of an operation for one range. Concatenated operands are restricted to the range.
    fn operands(
        &self,
        ranges: &Ranges<'_>,
        rw: &mut Rewriter<'_>,
        made: &mut ComputedRanges,
        (op, dims): (OpId, &OperandDims),
        range: (i64, i64),
    ) -> SmallVec<[ValueId; 3]> {
        let operands = rw.module.ops[op].operands.clone();
        let mut part = |(value, dim): (ValueId, &Option<usize>)| match *dim {
            Some(dim) => self.part(ranges, rw, made, (value, dim), range),
            None => value,
        };
        operands.into_iter().zip(dims).map(&mut part).collect()
    }

    /// Returns a range along a dimension of a concatenated value, or of a value computed from one.
    fn part(
        &self,
        ranges: &Ranges<'_>,
        rw: &mut Rewriter<'_>,
        made: &mut ComputedRanges,
        (value, dim): (ValueId, usize),
        (start, limit): (i64, i64),
    ) -> ValueId {
        let range = Range { value, dim, start, limit };
        if let Some(&made) = made.get(&range) {
            return made;
        }
        let Some((op, dims)) = self.carried.get(&value) else { return ranges.make(rw, made, range, false) };
        let operands = self.operands(ranges, rw, made, (*op, dims), (start, limit));
        let part = part_of(rw, *op, &operands, dim, limit - start);
        made.insert(range, part);
        part
    }
}

/// Inserts an operation whose result has the type and sharding of the result of `op`.
fn like(rw: &mut Rewriter<'_>, op: OpId, kind: OpKind, operands: &[ValueId]) -> ValueId {
    let result = rw.module.ops[op].results[0];
    let value = rw.op1(kind, operands, rw.module.values[result].ty);
    rw.module.shardings.set(value, rw.module.shardings.of(result));
    value
}

impl Candidate {
    /// Returns the candidate for a concatenation, if result and operands are evenly sharded by the same axes along its dimension.
    fn of(module: &Module, op: OpId, model: &CostModel) -> Option<Candidate> {
        let data = &module.ops[op];
        let (&OpKind::Concatenate { dim }, &[result]) = (&data.kind, data.results.as_slice()) else {
            return None;
        };
        let dim = dim as usize;
        let line = Line::of(module, result, dim, model)?;
        data.operands.iter().all(|&part| line.splits_evenly(module, result, part)).then_some(())?;
        let before = line.cost(module, &data.kind, &data.operands, result).unwrap_or(f64::INFINITY);
        (before > 0.0).then_some(())?;
        let mut end = 0;
        let ranges = data.operands.iter().map(|&part| {
            let start = end;
            end += module.shape(part)[dim];
            (start, end)
        });
        Some(Candidate {
            join: Join { op, dim, ranges: ranges.collect() },
            before,
            price: Price::default(),
            carried: vec![(result, None)],
            ends: Vec::new(),
            reads: 0,
            is_needed: false,
        })
    }

    /// Records a user whose operand `index` is concatenated along `dim`.
    fn read(&mut self, search: &Search<'_>, op: OpId, index: usize, dim: usize) -> Read {
        self.reads += 1;
        self.read_by_ranges(search, op, index, dim).unwrap_or(Read::Needs)
    }

    /// Returns how an operation that can be computed range by range uses the value; `None` for any other operation.
    fn read_by_ranges(&mut self, search: &Search<'_>, op: OpId, index: usize, dim: usize) -> Option<Read> {
        let module = search.module;
        if matches!(module.ops[op].kind, OpKind::OptimizationBarrier) {
            let is_unused = search.ranges.readers.get(*module.ops[op].results.get(index)?) == 0;
            is_unused.then(|| self.ends.push((op, End::Waits(index, dim))))?;
            return Some(Read::Ends);
        }
        let rule = rule_of_ranges(module, op)?;
        let data = &module.ops[op];
        let result = *data.results.first()?;
        let &[factor] = rule.operands.get(index)?.dims.get(dim)?.as_slice() else { return None };
        let dims = dims_of(&rule, factor)?;
        let to = match rule.results.first()?.find(factor) {
            Some((to, _)) => (rule.results[0].dims[to].len() == 1).then_some(Some(to))?,
            None => None,
        };
        for (i, (&value, dim)) in data.operands.iter().zip(&dims).enumerate() {
            if let Some(dim) = dim.filter(|_| i != index) {
                for &(start, limit) in &self.join.ranges {
                    search.add(&mut self.price, Range { value, dim, start, limit }, false)?;
                }
            }
        }
        let is_product = data.kind.def().work == Work::Contraction;
        let end = match to {
            None => is_product.then_some(End::Sums(dims))?,
            Some(to) if is_product || matches!(data.kind, OpKind::Reduce { .. }) => {
                self.price.cost += self.cost_of_join(search, result, to)?;
                End::Joins(dims, to)
            }
            Some(to) => {
                self.carried.push((result, Some((op, dims))));
                return Some(Read::Carries(result, to));
            }
        };
        self.ends.push((op, end));
        Some(Read::Ends)
    }

    /// Returns the cost of concatenating the ranges along a dimension of a value.
    fn cost_of_join(&self, search: &Search<'_>, value: ValueId, dim: usize) -> Option<f64> {
        let line = Line::of(search.module, value, dim, search.model)?;
        let shape = search.module.shape(value);
        let mut parts: Vec<SmallVec<[i64; 4]>> = Vec::new();
        for &(start, limit) in &self.join.ranges {
            ((limit - start) % line.k == 0).then_some(())?;
            let mut part: SmallVec<[i64; 4]> = shape.iter().copied().collect();
            part[dim] = limit - start;
            parts.push(part);
        }
        let parts: SmallVec<[&[i64]; 4]> = parts.iter().map(SmallVec::as_slice).collect();
        line.exchange(&OpKind::Concatenate { dim: dim as u32 }, &parts, &|_| false, shape)
    }

    /// Whether all uses were recorded, and the rewrite saves enough.
    fn pays_off(&self, search: &Search<'_>) -> bool {
        let reads: u32 = self.carried.iter().map(|&(value, _)| search.ranges.readers.get(value)).sum();
        !self.is_needed
            && reads == self.reads
            && !self.ends.is_empty()
            && is_worthwhile(self.before, self.price.cost, search.model.of_links())
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Unfuses the users of a concatenation along a sharded dimension.
    fn unfused(results: &str, users: &str) -> Around {
        let program = format!(
            r#"func.func @main(%q: tensor<4096x256xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %k: tensor<4096x512xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %w: tensor<256x768xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}, %x: tensor<4096x64xf32>) -> {results} {{
              %c = stablehlo.concatenate %q, %k, dim = 1 : (tensor<4096x256xf32>, tensor<4096x512xf32>) -> tensor<4096x768xf32>
              {users}
            }}"#
        );
        around("unfuse-products", r#""x"=4"#, &program)
    }

    const SUM: &str = "stablehlo.dot_general %e, %w, contracting_dims = [1] x [1] : (tensor<4096x768xf32>, tensor<256x768xf32>) -> tensor<4096x256xf32>";
    const ROWS: &str = "stablehlo.dot_general %x, %c, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x768xf32>) -> tensor<64x768xf32>";

    #[test]
    fn a_matmul_over_a_concatenation_is_a_sum_of_matmuls() {
        let done = unfused(
            "tensor<4096x256xf32>",
            &format!(
                "%r = {}
                return %r : tensor<4096x256xf32>",
                SUM.replace("%e", "%c")
            ),
        );
        assert!(
            done.after.contains("dot_general %arg0, %1,") && done.after.contains("dot_general %arg1, %3,"),
            "{}",
            done.after
        );
        assert_eq!((done.added("stablehlo.slice"), done.added("stablehlo.add")), (2, 1));
    }

    #[test]
    fn an_elementwise_operation_between_is_repeated_on_each_operand() {
        let done = unfused(
            "tensor<4096x256xf32>",
            &format!(
                "%e = stablehlo.exponential %c : tensor<4096x768xf32>
                %r = {SUM}
                return %r : tensor<4096x256xf32>"
            ),
        );
        assert!(
            done.after.contains("exponential %arg0") && done.after.contains("exponential %arg1"),
            "{}",
            done.after
        );
    }

    #[test]
    fn a_smaller_matmul_result_is_concatenated_instead() {
        let done = unfused("tensor<64x768xf32>", &format!("%r = {ROWS}\nreturn %r : tensor<64x768xf32>"));
        assert!(done.after.contains("stablehlo.concatenate %1, %2, dim = 1"), "{}", done.after);
        assert_eq!(done.added("stablehlo.dot_general"), 1);
    }

    #[test]
    fn a_concatenation_that_is_also_returned_stays() {
        let done = unfused(
            "(tensor<64x768xf32>, tensor<4096x768xf32>)",
            &format!("%r = {ROWS}\nreturn %r, %c : tensor<64x768xf32>, tensor<4096x768xf32>"),
        );
        assert!(done.is_same(), "{}", done.after);
    }
}
