//! The bytes that a partitioned program sends, and the floating-point operations of its matrix products.

use std::collections::BTreeMap;

use shardc_analysis::analysis::call_graph::{callee_of, callees_first};
use shardc_analysis::analysis::trip_count::trips;
use shardc_ir::{FuncId, Group, Module, OpId, OpKind, RegionId, SecondaryMap, ValueId};

/// The collectives of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveSummary {
    /// The operation name without the dialect: `all_gather`.
    pub kind: String,
    /// The number of operations. An operation in a loop, or in a function with several calls, counts once.
    pub count: usize,
    /// The number of these operations that are in loops.
    pub in_loops: usize,
    /// The bytes that one device sends with ring algorithms if each operation runs once.
    pub bytes_sent: u64,
    /// The number of executions of these operations in one execution of the program. An operation in a loop counts once per iteration, with
    /// a small default if the trip count is unknown; an operation in a function counts once per call.
    pub runs: u64,
    /// The bytes that one device sends with ring algorithms in one execution of the program.
    pub bytes_in_run: u64,
}

/// A collective operation of a partitioned program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The operation.
    pub op: OpId,
    /// The function that contains it.
    pub func: FuncId,
    /// Whether it is in a `while` loop of the function.
    pub in_loop: bool,
    /// The number of its executions in one execution of the program, as in [`CollectiveSummary::runs`].
    pub runs: u64,
    /// The bytes that one device sends with a ring algorithm in one execution of the operation.
    pub bytes: u64,
}

impl Collective {
    /// The bytes that one device sends in one execution of the program.
    #[must_use]
    pub fn bytes_in_run(&self) -> u64 {
        self.bytes.saturating_mul(self.runs)
    }
}

/// Returns the collectives of a partitioned program, in program order.
#[must_use]
pub fn collectives(module: &Module) -> Vec<Collective> {
    let mut out = Vec::new();
    visit_all(module, &mut |op, Around { func, runs, in_loop }| {
        if let Some(bytes) = bytes_sent(module, op) {
            out.push(Collective { op, func, in_loop, runs, bytes });
        }
    });
    out
}

/// Returns the collectives of a partitioned program, by kind.
#[must_use]
pub fn summarize(module: &Module) -> Vec<CollectiveSummary> {
    let mut kinds: BTreeMap<&str, CollectiveSummary> = BTreeMap::new();
    for collective in collectives(module) {
        let name = module.ops[collective.op].collective_name();
        let entry = kinds.entry(name).or_default();
        entry.kind = name.to_owned();
        entry.count += 1;
        entry.in_loops += usize::from(collective.in_loop);
        entry.bytes_sent += collective.bytes;
        entry.runs = entry.runs.saturating_add(collective.runs);
        entry.bytes_in_run = entry.bytes_in_run.saturating_add(collective.bytes_in_run());
    }
    kinds.into_values().collect()
}

/// Returns the number of executions of each function in one execution of the program, given the trip counts of loops; 1 for a function
/// without callers.
#[must_use]
pub fn runs(module: &Module) -> SecondaryMap<FuncId, u64> {
    let mut out: SecondaryMap<FuncId, u64> = SecondaryMap::new();
    // Callers are visited before callees.
    for func in callees_first(module).into_iter().rev() {
        out[func] = out[func].max(1);
        if let Some(body) = module.funcs[func].body {
            add_calls(module, body, out[func], &mut out);
        }
    }
    out
}

fn add_calls(module: &Module, region: RegionId, runs: u64, out: &mut SecondaryMap<FuncId, u64>) {
    for &op in &module.regions[region].ops {
        if let Some(callee) = callee_of(module, op) {
            out[callee] = out[callee].saturating_add(runs);
        }
        let inside = runs_inside(module, op, runs);
        for &inner in &module.ops[op].regions {
            add_calls(module, inner, inside, out);
        }
    }
}

/// Returns the number of executions of the regions of an operation that is executed `runs` times.
fn runs_inside(module: &Module, op: OpId, runs: u64) -> u64 {
    match module.ops[op].kind {
        OpKind::While => runs.saturating_mul(trips(module, op)),
        _ => runs,
    }
}

/// Returns the bytes that one device sends in a ring algorithm for one execution of a collective; `None` for other operations.
#[must_use]
pub fn bytes_sent(module: &Module, op: OpId) -> Option<u64> {
    let data = &module.ops[op];
    let spec = data.collective_spec()?;
    let bytes = |values: &[ValueId]| {
        values.iter().filter_map(|&v| module.stored(v)?.num_bytes()).fold(0.0, |sum, n| sum + n as f64)
    };
    let (operand, result) = (bytes(&data.operands), bytes(&data.results));
    let k = spec.groups.first().map_or(1, Group::len).max(1) as f64;
    let share = (k - 1.0) / k;
    let sent = match &data.kind {
        OpKind::AllGather { .. } => result * share,
        OpKind::ReduceScatter { .. } | OpKind::AllToAll { .. } => operand * share,
        OpKind::AllReduce(_) => 2.0 * operand * share,
        // For a ragged all-to-all, all rows are counted, which is an upper bound if no slices overlap. The number of rows that a device
        // keeps is known only at run time.
        OpKind::CustomCall(_) => {
            data.operands.first().map_or(0.0, |&rows| bytes(&[rows])) * f64::from(k > 1.0)
        }
        _ => operand,
    };
    Some(sent as u64)
}

/// The context in which an operation is executed.
#[derive(Clone, Copy)]
struct Around {
    func: FuncId,
    /// The number of executions of the operation.
    runs: u64,
    in_loop: bool,
}

/// Calls `each` with every operation of the program, in program order.
fn visit_all(module: &Module, each: &mut dyn FnMut(OpId, Around)) {
    let runs = runs(module);
    for (func, data) in module.funcs.iter() {
        if let Some(body) = data.body {
            visit(module, body, Around { func, runs: runs[func], in_loop: false }, each);
        }
    }
}

fn visit(module: &Module, region: RegionId, around: Around, each: &mut dyn FnMut(OpId, Around)) {
    for &op in &module.regions[region].ops {
        each(op, around);
        let data = &module.ops[op];
        let in_loop = around.in_loop || matches!(data.kind, OpKind::While);
        let inside = Around { runs: runs_inside(module, op, around.runs), in_loop, ..around };
        for &inner in &data.regions {
            visit(module, inner, inside, each);
        }
    }
}

/// Returns the floating-point operations of the matrix products and convolutions that one device does in one execution of the program.
#[must_use]
pub fn product_operations(module: &Module) -> f64 {
    let mut sum = 0.0;
    visit_all(module, &mut |op, around| sum += operations_of(module, op) * around.runs as f64);
    sum
}

/// The floating-point operations of a matrix product or a convolution: two for each product of elements.
fn operations_of(module: &Module, op: OpId) -> f64 {
    let data = &module.ops[op];
    let (&[lhs, rhs, ..], Some(&result)) = (data.operands.as_slice(), data.results.first()) else {
        return 0.0;
    };
    let sizes = |value: ValueId, dims: &mut dyn Iterator<Item = usize>| -> f64 {
        let shape = module.shape(value);
        dims.filter_map(|d| shape.get(d)).map(|&n| n as f64).product()
    };
    let all = |value: ValueId| sizes(value, &mut (0..module.rank(value)));
    match &data.kind {
        OpKind::DotGeneral(spec) => {
            2.0 * all(result) * sizes(lhs, &mut spec.lhs_contract.iter().map(|&d| d as usize))
        }
        OpKind::Convolution(spec) => {
            let outputs = sizes(rhs, &mut std::iter::once(spec.kernel.output_feature as usize));
            2.0 * all(result) * all(rhs) / outputs.max(1.0)
        }
        _ => 0.0,
    }
}
