//! Collective ordering: orders collectives in loops and branches with those outside, for XLA's CPU client.
//!
//! XLA's CPU client starts operations in program order, but an operation waits only for its operands. Collectives complete before the
//! next operation starts, but loops do not: if a loop body continues in another thread, later collectives start while it runs. Devices
//! may then execute collectives in different orders, and deadlock or receive shards of other values (observed in jaxlib 0.10.2, in half
//! of the executions of a program).
//!
//! [`order`] adds data dependences that the program lacks:
//! * each loop or branch with collectives reads a result of every collective since the previous one;
//! * each later collective reads a result of the last loop or branch with collectives.
//!
//! A dependence is a `select` whose predicate is always false, which XLA cannot prove.
//!
//! ```mlir
//! %g = "stablehlo.all_gather"(%f) ...
//! %l:2 = stablehlo.while(%i = %zero, %v = %x)          // with collectives in its body
//! ```
//! becomes
//! ```mlir
//! %g = "stablehlo.all_gather"(%f) ...
//! %bit = stablehlo.convert %nonzero : (tensor<i1>) -> tensor<ui32>      // whether the first element of %g is not zero
//! %never = stablehlo.compare GT, %bit, %one, UNSIGNED
//! %start = stablehlo.select %never, %other, %x
//! %l:2 = stablehlo.while(%i = %zero, %v = %start)
//! ```

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    BinaryOp, Build, CompareDirection, CompareType, DType, DTypeClass, Module, OpId, OpKind, RegionId,
    Rewriter, SizeList, SliceSpec, TensorBuild, TensorType, UnaryOp, ValueId,
};

/// Orders all collectives of each function.
pub(super) fn order(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        order_region(&mut rw, body);
    }
}

/// Orders all collectives of a region, including those in nested loops and branches. Returns whether there are any.
fn order_region(rw: &mut Rewriter<'_>, region: RegionId) -> bool {
    let mut turns = Turns::default();
    let mut has_any = false;
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        let is_collective = rw.module.ops[op].kind.collective().is_some();
        let mut is_turn = false;
        if !is_collective {
            for inner in rw.module.ops[op].regions.clone() {
                is_turn |= order_region(rw, inner);
            }
        }
        has_any |= is_collective || is_turn;
        if is_turn {
            turns.wait_for_collectives(rw, op);
        }
        if is_collective || is_turn {
            turns.wait_for_turn(rw, op);
        }
        turns.note(rw.module, op, is_collective, is_turn);
    }
    has_any
}

/// The state of the walk over the operations of a region, in order.
#[derive(Default)]
struct Turns {
    /// The last loop or branch with collectives, and the number of loops and branches with collectives so far.
    last: Option<OpId>,
    count: u32,
    /// For each value, the index (from 1) of the last loop or branch with collectives on which it depends; absent if there is none.
    waits: FxHashMap<ValueId, u32>,
    /// The operations since the last loop or branch with collectives, and whether each is a collective.
    since: Vec<(OpId, bool)>,
}

impl Turns {
    fn note(&mut self, module: &Module, op: OpId, is_collective: bool, is_turn: bool) {
        let mut waits = self.waits_of(module, op);
        if is_turn {
            (self.last, self.count) = (Some(op), self.count + 1);
            self.since.clear();
            waits = self.count;
        } else {
            self.since.push((op, is_collective));
        }
        if waits > 0 {
            self.waits.extend(module.ops[op].results.iter().map(|&result| (result, waits)));
        }
    }

    fn waits_of(&self, module: &Module, op: OpId) -> u32 {
        let mut most = 0;
        for_each_operand(module, op, &mut |value| {
            most = most.max(self.waits.get(&value).copied().unwrap_or(0))
        });
        most
    }

    /// Makes the current operation depend on the last loop or branch with collectives, unless it already does.
    fn wait_for_turn(&self, rw: &mut Rewriter<'_>, op: OpId) {
        let Some(last) = self.last.filter(|_| self.waits_of(rw.module, op) < self.count) else { return };
        if let Some(made) = made_by_collectives(rw.module, last) {
            wait(rw, op, &[made]);
        }
    }

    /// Makes the current loop or branch depend on each collective since the last loop or branch with collectives. Collectives on which it
    /// already depends, directly or through another collective, need no new dependence.
    fn wait_for_collectives(&self, rw: &mut Rewriter<'_>, op: OpId) {
        let mut needed = FxHashSet::default();
        for_each_operand(rw.module, op, &mut |value| {
            needed.insert(value);
        });
        let mut made = Vec::new();
        for &(earlier, is_collective) in self.since.iter().rev() {
            let results = &rw.module.ops[earlier].results;
            let mut is_needed = results.iter().any(|result| needed.contains(result));
            if is_collective && !is_needed {
                made.extend(results.iter().copied().find(|&value| can_be_read(rw.module, value)));
                is_needed = true;
            }
            if is_needed {
                for_each_operand(rw.module, earlier, &mut |value| {
                    needed.insert(value);
                });
            }
        }
        if !made.is_empty() {
            wait(rw, op, &made);
        }
    }
}

/// Visits the operands of an operation, and those of operations in its regions.
fn for_each_operand(module: &Module, op: OpId, visit: &mut impl FnMut(ValueId)) {
    module.ops[op].operands.iter().copied().for_each(&mut *visit);
    for &region in &module.ops[op].regions {
        for &inner in &module.regions[region].ops {
            for_each_operand(module, inner, visit);
        }
    }
}

/// Whether a value has an element whose bits can be read to create a data dependence.
fn can_be_read(module: &Module, value: ValueId) -> bool {
    let is_simple = |ty: &TensorType| ty.is_static() && ty.encoding.is_none() && !ty.shape.contains(&0);
    module.tensor(value).is_some_and(is_simple)
}

/// Returns a result of a loop or branch that depends on a collective in it. Other results, such as a counter, may be available before it
/// has run.
fn made_by_collectives(module: &Module, op: OpId) -> Option<ValueId> {
    let results = &module.ops[op].results;
    let mut made = None;
    // The last region of a loop is its body.
    for &region in module.ops[op].regions.iter().rev() {
        let ops = &module.regions[region].ops;
        let mut marked = FxHashSet::default();
        for &inner in ops {
            let mut is_made = has_collective(module, inner);
            for_each_operand(module, inner, &mut |value| is_made |= marked.contains(&value));
            if is_made {
                marked.extend(module.ops[inner].results.iter().copied());
            }
        }
        let returned = ops.last().map_or(&[][..], |&end| &module.ops[end].operands);
        let of_region = results.iter().zip(returned).filter(|(_, value)| marked.contains(value));
        made = made.or_else(|| of_region.map(|(&result, _)| result).find(|&v| can_be_read(module, v)));
    }
    made.or_else(|| results.iter().copied().find(|&v| can_be_read(module, v)))
}

/// Whether an operation is a collective or has one in its regions.
fn has_collective(module: &Module, op: OpId) -> bool {
    let op = &module.ops[op];
    let in_region =
        |&region: &RegionId| module.regions[region].ops.iter().any(|&op| has_collective(module, op));
    op.kind.collective().is_some() || op.regions.iter().any(in_region)
}

/// Returns for each operand of a loop whether the body uses it. A dependence through an unused operand would not delay the loop.
fn read_places(module: &Module, op: OpId) -> Vec<bool> {
    let Some(&body) = module.ops[op].regions.last() else { return Vec::new() };
    let (args, ops) = (&module.regions[body].args, &module.regions[body].ops);
    let mut read = FxHashSet::default();
    for &inner in ops.iter().rev().skip(1) {
        for_each_operand(module, inner, &mut |value| {
            read.insert(value);
        });
    }
    args.iter().map(|arg| read.contains(arg)).collect()
}

/// Makes the current operation depend on values. Its smallest operand is replaced by a `select` between the operand and a constant. The
/// predicate of the `select` is computed from the values and is always false.
fn wait(rw: &mut Rewriter<'_>, op: OpId, values: &[ValueId]) {
    let module = &*rw.module;
    // An operand other than a loop counter is preferred: XLA finds the trip count if the counter starts from a constant.
    let size = |&(_, value): &(usize, ValueId)| {
        let ty = module.tensor(value);
        let is_count = ty.is_some_and(|ty| ty.rank() == 0) && module.ops[op].operands.len() > 1;
        (is_count, ty.and_then(|ty| ty.num_bytes()))
    };
    let operands = module.ops[op].operands.iter().copied().enumerate();
    let read = match module.ops[op].kind {
        OpKind::While => read_places(module, op),
        _ => Vec::new(),
    };
    let fits = |&(i, v): &(usize, ValueId)| can_be_read(module, v) && read.get(i).copied().unwrap_or(true);
    let Some((place, operand)) = operands.filter(fits).min_by_key(size) else { return };
    rw.at_origin_of(op);
    let mut sum: Option<ValueId> = None;
    for &value in values {
        let one = zero_or_one(rw, value);
        sum = Some(sum.map_or(one, |sum| rw.binary(BinaryOp::Add, sum, one)));
    }
    let Some(sum) = sum else { return };
    let most = rw.splat(&(values.len() as u32).to_le_bytes(), &[], DType::UI32);
    let compare = OpKind::Compare(CompareDirection::GT, Some(CompareType::Unsigned));
    let never = rw.tensor(compare, &[sum, most], &[], DType::I1);
    let (shape, dtype) = (rw.module.shape(operand).to_vec(), rw.dtype(operand));
    let Some(dtype) = dtype else { return };
    // The other branch must differ from the operand: XLA folds a `select` whose branches are equal. A constant whose bytes are all 1 is
    // unlikely to equal it.
    let other = rw.splat(&vec![1; dtype.bytes()], &shape, dtype);
    let after = rw.tensor(OpKind::Select, &[never, other, operand], &shape, dtype);
    rw.module.ops[op].operands[place] = after;
}

/// Returns 1 if the first element of a value is not zero, otherwise 0.
fn zero_or_one(rw: &mut Rewriter<'_>, value: ValueId) -> ValueId {
    let (rank, dtype) = (rw.module.rank(value), rw.dtype(value).unwrap_or(DType::F32));
    let mut first = value;
    if rank > 0 {
        let ones: SizeList = std::iter::repeat_n(1, rank).collect();
        let start = std::iter::repeat_n(0, rank).collect();
        let slice = SliceSpec { start, limit: ones.clone(), stride: ones.clone() };
        first = rw.tensor(OpKind::Slice(Box::new(slice)), &[first], &ones, dtype);
        first = rw.tensor(OpKind::Reshape, &[first], &[], dtype);
    }
    if dtype.class() == DTypeClass::Complex {
        let kind = OpKind::Unary(UnaryOp::Real);
        first = rw.infer1(kind, &[first]).unwrap_or(first);
    }
    let first = rw.convert(first, DType::F32);
    let zero = rw.zeros(&[], DType::F32);
    let compare = OpKind::Compare(CompareDirection::NE, Some(CompareType::Float));
    let is_any = rw.tensor(compare, &[first, zero], &[], DType::I1);
    rw.convert(is_any, DType::UI32)
}
