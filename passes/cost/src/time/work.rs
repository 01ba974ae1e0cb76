//! The work of a kernel: floating-point operations, element-wise operations, and bytes of memory traffic.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::call_graph::callee_of;
use shardc_analysis::analysis::trip_count::trips;
use shardc_ir::{DType, EntityRef, FuncId, Module, OpId, OpKind, Precision, RegionId, ValueId, Work};
use shardc_target::{DeviceKind, Number, TargetSpec};

use crate::memory::{Fusion, Machine};

/// The limit on fused operations that belong to one kernel.
const LARGEST_KERNEL: usize = 256;

/// Instructions per element of an operation that takes many, such as a polynomial approximation ([`Work::Heavy`]).
const MANY_INSTRUCTIONS: f64 = 16.0;

/// The granularity of the matrix unit of a TPU: 8 rows and 128 columns.
const ROWS: f64 = 8.0;
const COLUMNS: f64 = 128.0;

/// The work of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    /// Floating-point operations of matmuls and convolutions.
    pub(super) flops: f64,
    /// Seconds of the matrix units.
    matrix_seconds: f64,
    /// Element-wise operations.
    elementwise: f64,
    /// Bytes read and written.
    bytes: f64,
    /// The values that the kernel reads from memory.
    pub(super) reads: Vec<ValueId>,
    /// Those of `reads` that it reads as a whole, and the values that it writes.
    pub(super) whole: FxHashSet<ValueId>,
    pub(super) writes: FxHashSet<ValueId>,
    /// The number of operations.
    pub(super) operations: usize,
    /// The matmul or convolution with the most floating-point operations, and their number.
    pub(super) product: Option<(f64, OpId)>,
}

/// The properties that determine the kernels of a region.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module,
    pub(super) region: RegionId,
    /// The region in which each value is defined by an operation, by index.
    pub(super) home: &'a [Option<RegionId>],
    pub(super) fusion: &'a Fusion,
    pub(super) spec: &'a TargetSpec,
    pub(super) machine: Machine,
}

impl Kernel {
    /// Collects the operations that are fused into the kernel of `op`. `counted` contains the matmuls of other kernels.
    pub(super) fn new(op: OpId, scope: Scope<'_>, counted: &mut FxHashSet<OpId>) -> Kernel {
        let Scope { module, region, home, fusion, spec, machine } = scope;
        let mut kernel =
            Kernel { writes: module.ops[op].results.iter().copied().collect(), ..Kernel::default() };
        let (mut todo, mut seen) = (vec![op], FxHashSet::default());
        seen.insert(op);
        while let Some(op) = todo.pop() {
            let data = &module.ops[op];
            if !matches!(data.kind, OpKind::DotGeneral(_) | OpKind::Convolution(_)) || counted.insert(op) {
                kernel.add(module, op, spec, machine);
            }
            for (at, &value) in data.operands.iter().enumerate() {
                let def = module.def_op(value).filter(|_| home[value.index()] == Some(region));
                match def.filter(|&def| fusion.is_fused(def) && seen.len() < LARGEST_KERNEL) {
                    Some(def) if seen.insert(def) => todo.push(def),
                    Some(_) => {}
                    None => {
                        // A part of an operand is read once for each part; whole operands are read once by the kernel.
                        let part = part_read(module, op, at, machine);
                        if part.is_some() || kernel.whole.insert(value) {
                            kernel.bytes += part.unwrap_or_else(|| bytes(module, value, machine));
                        }
                        kernel.reads.push(value);
                    }
                }
            }
        }
        kernel.bytes += written(module, op, machine);
        kernel
    }

    /// Adds the work of another kernel, which runs in the same loop. Shared values are read once.
    pub(super) fn merge(&mut self, other: Kernel, module: &Module, machine: Machine) {
        let known =
            other.whole.iter().filter(|value| self.whole.contains(value) || self.writes.contains(value));
        let shared: f64 = known.map(|&value| bytes(module, value, machine)).sum();
        self.flops += other.flops;
        self.matrix_seconds += other.matrix_seconds;
        self.elementwise += other.elementwise;
        self.bytes += (other.bytes - shared).max(0.0);
        self.reads.extend(other.reads);
        self.whole.extend(other.whole);
        self.writes.extend(other.writes);
        self.operations += other.operations;
        if let Some((flops, op)) = other.product {
            self.add_product(flops, op);
        }
    }

    /// Keeps the larger product.
    fn add_product(&mut self, flops: f64, op: OpId) {
        if self.product.is_none_or(|(most, _)| flops > most) {
            self.product = Some((flops, op));
        }
    }

    /// Removes the traffic of values in on-chip memory.
    pub(super) fn keep_on_chip(&mut self, values: &FxHashSet<ValueId>, module: &Module, machine: Machine) {
        let touched = self.whole.union(&self.writes).filter(|value| values.contains(value));
        let kept: f64 = touched.map(|&value| bytes(module, value, machine)).sum();
        self.bytes = (self.bytes - kept).max(0.0);
    }

    fn add(&mut self, module: &Module, op: OpId, spec: &TargetSpec, machine: Machine) {
        let (flops, padded) = product_flops(module, op);
        self.operations += 1;
        if flops > 0.0 {
            self.add_product(flops, op);
            let counted = if spec.compiler.is_tiled { padded } else { flops };
            self.flops += flops;
            self.matrix_seconds += counted / peak_of(module, op, spec);
        } else {
            self.elementwise += instructions(module, op, machine);
        }
    }

    /// Returns the seconds of the kernel without its start, and whether memory bandwidth limits it.
    pub(super) fn seconds(&self, spec: &TargetSpec) -> (f64, bool) {
        // The matrix unit waits for operands that are computed in the same kernel.
        let arithmetic = self.matrix_seconds + self.elementwise / spec.vector_peak;
        let memory = self.bytes / spec.bandwidth;
        (arithmetic.max(memory), memory > arithmetic)
    }

    /// Returns the seconds to start the kernel.
    pub(super) fn start(&self, spec: &TargetSpec) -> f64 {
        if self.flops > 0.0 { spec.launch } else { spec.kernel_start }
    }
}

/// Whether an operation does nothing at run time: it renames values, or its regions or callee do the work.
pub(super) fn is_free(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Return
            | OpKind::Reshape
            | OpKind::Constant(_)
            | OpKind::Tuple
            | OpKind::GetTupleElement { .. }
            | OpKind::OptimizationBarrier
            | OpKind::AfterAll
            | OpKind::PartitionId
            | OpKind::ReplicaId
            | OpKind::While
            | OpKind::Case
            | OpKind::If
            | OpKind::Call { .. }
    )
}

/// Returns the bytes of a value in memory, padding included.
fn bytes(module: &Module, value: ValueId, machine: Machine) -> f64 {
    module.stored(value).map_or(0.0, |ty| machine.bytes_of_argument(ty) as f64)
}

fn elements(module: &Module, value: ValueId) -> f64 {
    module.stored(value).and_then(|ty| ty.num_elements()).map_or(0.0, |n| n as f64)
}

/// Returns the elements of a value in the registers of the vector unit, padding included.
fn padded_elements(module: &Module, value: ValueId, machine: Machine) -> f64 {
    module
        .stored(value)
        .map_or(0.0, |ty| machine.bytes_of_argument(ty) as f64 / ty.dtype.bytes().max(1) as f64)
}

/// Returns the bytes that an operation reads of an operand of which it reads only a part; `None` if it reads the whole operand.
fn part_read(module: &Module, op: OpId, operand: usize, machine: Machine) -> Option<f64> {
    let data = &module.ops[op];
    let result = || data.results.first().map_or(0.0, |&v| bytes(module, v, machine));
    match &data.kind {
        OpKind::Slice(_) | OpKind::DynamicSlice { .. } | OpKind::Gather(_) if operand == 0 => Some(result()),
        // The operand is updated in place.
        OpKind::DynamicUpdateSlice if operand == 0 => Some(0.0),
        OpKind::Scatter(_) if operand == 0 && data.operands.len() == 3 => {
            Some(bytes(module, data.operands[2], machine))
        }
        _ => None,
    }
}

/// Returns the bytes that an operation writes.
fn written(module: &Module, op: OpId, machine: Machine) -> f64 {
    let data = &module.ops[op];
    match &data.kind {
        OpKind::DynamicUpdateSlice => data.operands.get(1).map_or(0.0, |&v| bytes(module, v, machine)),
        OpKind::Scatter(_) if data.operands.len() == 3 => bytes(module, data.operands[2], machine),
        _ => data.results.iter().map(|&v| bytes(module, v, machine)).sum(),
    }
}

/// Returns the number of element-wise instructions of an operation.
fn instructions(module: &Module, op: OpId, machine: Machine) -> f64 {
    let data = &module.ops[op];
    let of =
        |values: &[ValueId]| values.iter().map(|&v| padded_elements(module, v, machine)).fold(0.0, f64::max);
    let of_results = of(&data.results);
    match &data.kind {
        OpKind::Reduce { .. } | OpKind::ReduceWindow(_) => of(&data.operands).max(of_results),
        OpKind::Sort { .. } => {
            // A bitonic network has log2(n)^2 rounds.
            let rounds = f64::from((of_results as u64).max(2).ilog2());
            of_results * rounds * rounds
        }
        OpKind::Fft { length, .. } => {
            let n: u64 = length.iter().map(|&n| n.unsigned_abs()).fold(1, u64::saturating_mul);
            5.0 * of_results * f64::from(n.max(2).ilog2())
        }
        kind if kind.def().work == Work::Heavy => MANY_INSTRUCTIONS * of_results,
        _ => of_results,
    }
}

/// Returns the operations per second of a matmul or convolution, by its number format and its precision. TPUs multiply 32-bit numbers in bf16: in
/// three passes for `HIGH`, and in six for `HIGHEST`. GPUs use TF32 by default, and the 32-bit units of the element-wise operations for `HIGHEST`.
fn peak_of(module: &Module, op: OpId, spec: &TargetSpec) -> f64 {
    let precision = match &module.ops[op].kind {
        OpKind::DotGeneral(dot) => &dot.precision[..],
        OpKind::Convolution(convolution) => &convolution.precision[..],
        _ => &[],
    };
    let number = number_of(module, op).unwrap_or(Number::F32);
    let peak = spec.peaks.of(number);
    let has = |wanted: Precision| number == Number::F32 && precision.contains(&wanted);
    match spec.kind {
        DeviceKind::Tpu if has(Precision::Highest) => peak / 6.0,
        DeviceKind::Tpu if has(Precision::High) => peak / 3.0,
        DeviceKind::Gpu if has(Precision::Highest) => peak.min(spec.vector_peak),
        DeviceKind::Tpu | DeviceKind::Gpu | DeviceKind::Cpu => peak,
    }
}

/// Returns the number format of a matmul or convolution, the wider one of its operands; `None` for formats without a rate.
fn number_of(module: &Module, op: OpId) -> Option<Number> {
    let operands = module.ops[op].operands.iter().take(2);
    let number = |&v: &ValueId| {
        Some(match module.stored(v)?.dtype {
            DType::F64 | DType::C128 => Number::F64,
            DType::I8 | DType::UI8 | DType::I4 | DType::UI4 | DType::I2 | DType::UI2 | DType::I1 => {
                Number::I8
            }
            ty if ty.bits() == 8 => Number::F8,
            ty if ty.bits() == 16 => Number::F16,
            _ => Number::F32,
        })
    };
    let rank = |number: &Number| match number {
        Number::I8 => 0,
        Number::F8 => 1,
        Number::F16 => 2,
        Number::F32 => 3,
        Number::F64 => 4,
    };
    operands.filter_map(number).max_by_key(rank)
}

/// Returns the floating-point operations of a matmul or convolution, exact and with the padding of a TPU's matrix unit; zeros for other
/// operations.
fn product_flops(module: &Module, op: OpId) -> (f64, f64) {
    let data = &module.ops[op];
    let (Some(&lhs), Some(&rhs), Some(&result)) =
        (data.operands.first(), data.operands.get(1), data.results.first())
    else {
        return (0.0, 0.0);
    };
    let up = |n: f64, to: f64| (n / to).ceil() * to;
    let size = |value: ValueId, dims: &[u32]| -> f64 {
        dims.iter().filter_map(|&d| module.shape(value).get(d as usize)).map(|&n| n as f64).product()
    };
    let is_complex = module.stored(lhs).is_some_and(|ty| matches!(ty.dtype, DType::C64 | DType::C128));
    // A complex product is four real products.
    let real = if is_complex { 4.0 } else { 1.0 };
    match &data.kind {
        OpKind::DotGeneral(spec) if !spec.lhs_contract.is_empty() => {
            let (batch, depth) = (size(lhs, &spec.lhs_batch), size(lhs, &spec.lhs_contract));
            let rows = elements(module, lhs) / (batch * depth).max(1.0);
            let columns = elements(module, rhs) / (batch * depth).max(1.0);
            let padded = batch * up(rows, ROWS) * up(columns, COLUMNS) * up(depth, COLUMNS);
            // The smaller of the two free dimensions may be the rows.
            let turned = batch * up(columns, ROWS) * up(rows, COLUMNS) * up(depth, COLUMNS);
            (real * 2.0 * batch * rows * columns * depth, real * 2.0 * padded.min(turned))
        }
        OpKind::Convolution(spec) => {
            let outputs = size(rhs, &[spec.kernel.output_feature]);
            let features = size(rhs, &[spec.kernel.input_feature]);
            let window = elements(module, rhs) / (outputs * features).max(1.0);
            let positions = elements(module, result) / outputs.max(1.0);
            let exact = 2.0 * positions * outputs * features * window;
            let padded = 2.0 * up(positions, ROWS) * up(outputs, COLUMNS) * window * features.max(ROWS);
            (real * exact, real * padded)
        }
        _ => (0.0, 0.0),
    }
}

/// Returns the seconds of all matmuls and convolutions in one execution of a function on one device at peak rates, callees and loops included.
#[must_use]
pub fn ideal_seconds(module: &Module, func: FuncId, spec: &TargetSpec) -> f64 {
    let mut ideal = Ideal { module, spec, of_region: FxHashMap::default() };
    // Recursive calls are invalid programs; the depth is limited so that they end.
    module.funcs[func].body.map_or(0.0, |body| ideal.seconds(body, 64))
}

/// The times of the products of regions at the peak rates.
struct Ideal<'m> {
    module: &'m Module,
    spec: &'m TargetSpec,
    of_region: FxHashMap<RegionId, f64>,
}

impl Ideal<'_> {
    fn seconds(&mut self, region: RegionId, depth: usize) -> f64 {
        if let Some(&known) = self.of_region.get(&region) {
            return known;
        }
        let module = self.module;
        let mut sum = 0.0;
        for &op in &module.regions[region].ops {
            let data = &module.ops[op];
            let flops = product_flops(module, op).0;
            sum += if flops > 0.0 { flops / peak_of(module, op, self.spec) } else { 0.0 };
            if let Some(body) = callee_of(module, op).and_then(|callee| module.funcs[callee].body)
                && depth > 0
            {
                sum += self.seconds(body, depth - 1);
            }
            let inside = data.regions.iter().map(|&inner| self.seconds(inner, depth));
            sum += match data.kind {
                OpKind::While => trips(module, op) as f64 * inside.sum::<f64>(),
                OpKind::Case | OpKind::If => inside.fold(0.0, f64::max),
                _ => inside.sum(),
            };
        }
        self.of_region.insert(region, sum);
        sum
    }
}
