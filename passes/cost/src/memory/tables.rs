//! Tuple index tables. If all temporaries of a program fit in fast memory (VMEM), only these tables remain in main memory (HBM).
//!
//! The TPU compiler's memory space assignment then prefetches arguments to fast memory and evicts results from it, by asynchronous copies.
//! Such a copy has a tuple type, and so does the result of a multi-output fusion. For each tuple, main memory holds a table of the
//! addresses of its elements, aligned to 16 KiB. Tables do not share memory. The following numbers of tables are from the compiler's buffer
//! assignments of the training steps of docs/QUALITY.md:
//!
//! * 1 for an argument, which is prefetched; 8 for an argument of more than 1 MiB, which is prefetched in four slices;
//! * 3/4 for a result that is aliased to an argument: most of these are evicted. Any other result is written directly to main memory;
//! * in addition, 3/4 for a computed result: several results, such as a parameter and its optimizer state, share a fusion; none for a
//!   constant;
//! * 3/2 for an all-gather or a collective-permute, which is split into a start and a done operation; 1/2 for an all-gather of results,
//!   which has little to overlap with;
//! * 1/4 for a matmul, since some are multi-output fusions, and for an all-reduce, which combines many tensors;
//! * 2 for a loop: the loop-carried values are a tuple before and after it.
//!
//! A scalar takes as much main memory as a table. Many scalars are live at once in the computation of a global gradient norm, which
//! combines the norms of all gradients. A loop keeps its loop-carried scalars, except for its counter, in main memory: a random bit
//! generator loop has four.

use rustc_hash::FxHashSet;
use shardc_analysis::analysis::elementwise::is_elementwise;
use shardc_ir::{AttrDict, FuncId, Module, OpId, OpKind, RegionId, TypeId, ValueId};

use super::interval::{HeapInterval, Width};
use super::is_on_host;
use super::kinds::{is_from_nothing, is_product};
use super::machine::Machine;

/// The bytes of a table, with alignment.
const TABLE: u64 = 16 << 10;

/// Arguments of more than this many bytes are prefetched in slices.
const SLICED: i64 = 1 << 20;

/// Returns the bytes of all tables of a function. `aliased` is the number of results that are aliased to arguments.
pub(super) fn bytes(module: &Module, func: FuncId, body: RegionId, aliased: usize) -> u64 {
    // Arguments and results in host memory are not prefetched to fast memory.
    let data = &module.funcs[func];
    let on_device = |attrs: &[AttrDict], i: usize| attrs.get(i).is_none_or(|attrs| !is_on_host(attrs));
    let returned = module.terminator(body).map_or(&[][..], |end| &module.ops[end].operands);
    let is_computed =
        |value: &ValueId| module.def_op(*value).is_none_or(|def| !is_from_nothing(&module.ops[def].kind));
    let results = returned
        .iter()
        .enumerate()
        .filter(|(i, value)| on_device(&data.res_attrs, *i) && is_computed(value))
        .count();
    let is_sliced = |ty: &TypeId| {
        module.types.stored(*ty).and_then(|ty| ty.num_bytes()).is_some_and(|bytes| bytes > SLICED)
    };
    let arguments: Vec<&TypeId> = data
        .params
        .iter()
        .enumerate()
        .filter(|&(i, _)| on_device(&data.arg_attrs, i))
        .map(|(_, ty)| ty)
        .collect();
    let sliced = arguments.iter().filter(|&&ty| is_sliced(ty)).count();
    let gathered = gathers_of_results(module, returned);
    // Counts are in quarters of a table. A large argument has seven more tables than a small one.
    let mut quarters = 4 * (arguments.len() + 7 * sliced) + 3 * aliased.min(results) + 3 * results;
    for op in module.walk(body) {
        quarters += match &module.ops[op].kind {
            OpKind::While => 8 + 4 * carried_numbers(module, op).saturating_sub(1),
            OpKind::AllGather { .. } if gathered.contains(&op) => 2,
            OpKind::AllGather { .. } | OpKind::CollectivePermute { .. } => 6,
            OpKind::AllReduce { .. } => 1 + 4 * waiting_numbers(module, op),
            kind if is_product(kind) => 1,
            _ => 0,
        };
    }
    TABLE / 4 * quarters as u64
}

/// Returns the interval of a heap of tables. Not each prefetch and eviction that the compiler could insert pays, so that a fifth of the
/// tables is uncertain. If the temporaries may need more than the fast memory, the rest is in main memory.
pub(super) fn interval(tables: u64, heap: &HeapInterval, machine: Machine) -> HeapInterval {
    let (few, rest) = (tables / 5, heap.high.saturating_sub(machine.fast_memory()));
    HeapInterval {
        low: tables - few,
        expected: tables,
        high: tables.saturating_add(few).saturating_add(rest),
        width: Width { allocation: 2 * few, fast_memory: rest, ..Width::default() },
    }
}

/// Returns the number of scalars that a loop carries.
fn carried_numbers(module: &Module, op: OpId) -> usize {
    module.ops[op].operands.iter().filter(|&&value| module.rank(value) == 0).count()
}

/// Returns the all-gathers of results, or of updates of results.
fn gathers_of_results(module: &Module, returned: &[ValueId]) -> FxHashSet<OpId> {
    let mut todo: Vec<ValueId> = returned.to_vec();
    let mut seen: FxHashSet<OpId> = FxHashSet::default();
    let mut gathers = FxHashSet::default();
    while let Some(value) = todo.pop() {
        let Some(op) = module.def_op(value).filter(|&op| seen.insert(op)) else { continue };
        match module.ops[op].kind {
            OpKind::AllGather { .. } => {
                gathers.insert(op);
            }
            OpKind::Reshape | OpKind::Transpose { .. } | OpKind::Slice(_) => {
                todo.extend(module.ops[op].operands.first());
            }
            _ if is_elementwise(module, op) => todo.extend(&module.ops[op].operands),
            _ => {}
        }
    }
    gathers
}

/// Returns the number of scalar reductions that are live together before an all-reduce of a scalar that is computed from them.
fn waiting_numbers(module: &Module, all_reduce: OpId) -> usize {
    let is_number = |value: &ValueId| module.rank(*value) == 0;
    let mut seen: FxHashSet<OpId> = FxHashSet::default();
    let mut waiting = 0;
    for &summed in module.ops[all_reduce].operands.iter().filter(|&value| is_number(value)) {
        let mut todo = vec![summed];
        let mut numbers = 0;
        while let Some(value) = todo.pop() {
            let Some(op) = module.def_op(value).filter(|&op| seen.insert(op)) else { continue };
            if matches!(module.ops[op].kind, OpKind::Reduce { .. }) {
                numbers += 1;
            } else if is_elementwise(module, op) {
                todo.extend(module.ops[op].operands.iter().copied().filter(is_number));
            }
        }
        // A single scalar needs no table.
        waiting += if numbers > 1 { numbers } else { 0 };
    }
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tables of a function with this body, in quarters. `aliased` is the number of results that are aliased to arguments.
    fn quarters(types: &str, body: &str, aliased: usize) -> u64 {
        let module = shardc_stablehlo::parse(&format!("func.func @main{types} {{ {body} }}")).unwrap();
        let main = module.entry().unwrap();
        bytes(&module, main, module.funcs[main].body.unwrap(), aliased) / (TABLE / 4)
    }

    #[test]
    fn arguments_results_and_matmuls_have_tables() {
        let of = |aliased| {
            quarters(
                "(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)",
                "%zero = stablehlo.constant dense<0.0> : tensor<f32>
                %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
                %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
                %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
                return %1, %zeros : tensor<8x8xf32>, tensor<8x8xf32>",
                aliased,
            )
        };
        assert_eq!(of(0), 8 + 3 + 2, "two arguments, the computed result, and two matmuls");
        assert_eq!(of(1), of(0) + 3);
        assert_eq!(of(2), of(1), "zeros are not evicted");
    }

    #[test]
    fn large_arguments_are_prefetched_in_slices() {
        let of = |n: u64| {
            let ty = format!("tensor<{n}xf32>");
            quarters(&format!("(%x: {ty}) -> {ty}"), &format!("return %x : {ty}"), 0)
        };
        assert_eq!(of(262_144), 4 + 3);
        assert_eq!(of(262_145), 8 * 4 + 3);
    }

    #[test]
    fn gathers_of_results_have_few_tables() {
        let of = |body: &str| quarters("(%x: tensor<8xf32>, %y: tensor<16xf32>) -> tensor<16xf32>", body, 0);
        let gather = "%0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>";
        let alone = of("return %y : tensor<16xf32>");
        assert_eq!(of(&format!("{gather} return %0 : tensor<16xf32>")), alone + 2);
        let updated = "%1 = stablehlo.add %y, %0 : tensor<16xf32> return %1 : tensor<16xf32>";
        assert_eq!(of(&format!("{gather} {updated}")), alone + 2, "an update that is gathered");
        let part = "%1 = stablehlo.reshape %0 : (tensor<16xf32>) -> tensor<4x4xf32>
            %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
            %3 = stablehlo.slice %2 [0:4, 0:4] : (tensor<4x4xf32>) -> tensor<4x4xf32>
            %4 = stablehlo.reshape %3 : (tensor<4x4xf32>) -> tensor<16xf32> return %4 : tensor<16xf32>";
        assert_eq!(of(&format!("{gather} {part}")), alone + 2, "a part of an all-gather");
        let read = "%1 = stablehlo.reverse %0, dims = [0] : tensor<16xf32> return %1 : tensor<16xf32>";
        assert_eq!(
            of(&format!("{gather} {read}")),
            alone + 6,
            "an all-gather with another use is not one of a result"
        );
    }

    #[test]
    fn waiting_scalars_take_the_memory_of_tables() {
        let of = |summed: &str, reduced: &str| {
            quarters(
                "(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<f32>",
                &format!(
                    "%zero = stablehlo.constant dense<0.0> : tensor<f32>
                    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
                    %1 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
                    %2 = stablehlo.add %0, %1 : tensor<f32>
                    %3 = \"stablehlo.all_reduce\"(%{summed}) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({{
                    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
                      %s = stablehlo.add %l, %r : tensor<f32>
                      stablehlo.return %s : tensor<f32>
                    }}) : (tensor<{reduced}>) -> tensor<{reduced}>
                    return %2 : tensor<f32>"
                ),
                0,
            )
        };
        let tensor = of("x", "8xf32");
        assert_eq!(of("0", "f32"), tensor, "a single scalar does not wait");
        assert_eq!(of("2", "f32"), tensor + 8);
    }

    #[test]
    fn collectives_and_loops_have_tables() {
        let of = |body: &str| quarters("(%x: tensor<8xf32>) -> tensor<8xf32>", body, 0);
        let alone = of("return %x : tensor<8xf32>");
        let permuted = of(
            "%0 = \"stablehlo.collective_permute\"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
            return %0 : tensor<8xf32>",
        );
        assert_eq!(permuted, alone + 6);
        let looped = of("%0 = stablehlo.while(%y = %x) : tensor<8xf32>
            cond {
              %true = stablehlo.constant dense<true> : tensor<i1>
              stablehlo.return %true : tensor<i1>
            } do {
              stablehlo.return %y : tensor<8xf32>
            }
            return %0 : tensor<8xf32>");
        assert_eq!(looped, alone + 8);
        // The loop carries the counter and two keys; each key has a table.
        let keys = of("%c = stablehlo.constant dense<0> : tensor<i32>
            %k = stablehlo.constant dense<0> : tensor<ui32>
            %0:4 = stablehlo.while(%i = %c, %a = %k, %b = %k, %y = %x) : tensor<i32>, tensor<ui32>, tensor<ui32>, tensor<8xf32>
            cond {
              %true = stablehlo.constant dense<true> : tensor<i1>
              stablehlo.return %true : tensor<i1>
            } do {
              stablehlo.return %i, %b, %a, %y : tensor<i32>, tensor<ui32>, tensor<ui32>, tensor<8xf32>
            }
            return %0#3 : tensor<8xf32>");
        assert_eq!(keys, looped + 8);
    }
}
