//! Evaluates a program to views. The original and the partitioned program are evaluated in the same way: the original runs on one device.
//!
//! A value of the partitioned program is a function of the position in its local dimensions and of the device. A collective moves digits
//! between the device and dimensions, or reduces over digits of the device.

mod assume;
mod collectives;
mod contract;
mod control;
mod elements;
mod exchange;
mod generic;
mod indexing;
mod induction;
mod manual;
mod movement;
mod norm;
mod regions;
mod rules;
mod windows;

use shardc_ir::{Dense, EntityRef, Interrupt, Interruption, Module, OpId, OpKind, RegionId, Type, ValueId};

pub(crate) use rules::Rules;

use crate::terms::{DEVICE, Digit, Digits, Kind, Terms, View};

/// The number of devices and how they are numbered.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    pub(crate) count: u64,
    /// Whether devices are partitions; otherwise replicas.
    pub(crate) are_partitions: bool,
    /// The device at each position of the mesh; empty if it is the position.
    pub(crate) ids: Vec<i64>,
}

/// The state of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The operation was not evaluated.
    Unused,
    /// The results are related to terms.
    Known,
    /// The results are unknown; the text is the reason.
    Unknown(String),
}

/// A reason for which the results of an operation are unknown.
#[derive(Debug)]
pub(crate) enum Stop {
    /// No rule for this operation with these operands.
    NoRule(String),
    /// The evaluation must end.
    Interrupted(Interruption),
    /// The evaluation has too many steps.
    TooLong,
}

impl Stop {
    pub(crate) fn rule<T>(text: impl Into<String>) -> Result<T, Stop> {
        Err(Stop::NoRule(text.into()))
    }
}

impl From<Interruption> for Stop {
    fn from(reason: Interruption) -> Stop {
        Stop::Interrupted(reason)
    }
}

/// Digits of operands that cannot be split at common boundaries.
const NO_SPLIT: &str = "blocks of operands have no common boundaries";

pub(crate) trait OrStop<T> {
    fn or_stop(self) -> Result<T, Stop>;
}

impl<T> OrStop<T> for Option<T> {
    fn or_stop(self) -> Result<T, Stop> {
        self.ok_or_else(|| Stop::NoRule(NO_SPLIT.to_owned()))
    }
}

/// An evaluation of a program.
pub(crate) struct Eval<'m, 't> {
    pub(crate) module: &'m Module,
    pub(crate) terms: &'t mut Terms,
    pub(crate) devices: Devices,
    /// The sharding rules of custom calls.
    rules: &'m Rules,
    /// The view of each value; the latest if it is in a loop or in a function that is called several times.
    pub(crate) values: Vec<Option<View>>,
    pub(crate) status: Vec<Status>,
    /// The values of the devices, for values that digits do not describe.
    cases: Vec<Option<exchange::Cases>>,
    /// For the partitioned program: the number of terms of the original.
    pub(crate) known_terms: usize,
    /// Whether each operation computed only terms of the original, in all its evaluations.
    pub(crate) matched: Vec<bool>,
    /// The number of loops that are evaluated by induction and contain the current operation.
    loops: u32,
    steps: u64,
    interrupt: Interrupt,
    depth: usize,
}

/// The most operations that are evaluated, counting each repetition of a loop.
const MOST_STEPS: u64 = 1 << 23;
/// The most terms: a loop that does not end creates new ones.
const MOST_TERMS: usize = 1 << 21;
/// The deepest nesting of calls and regions.
const DEEPEST: usize = 64;

impl<'m, 't> Eval<'m, 't> {
    pub(crate) fn new(
        module: &'m Module,
        terms: &'t mut Terms,
        devices: Devices,
        rules: &'m Rules,
        interrupt: Interrupt,
    ) -> Eval<'m, 't> {
        let known_terms = terms.len();
        Eval {
            module,
            terms,
            devices,
            rules,
            values: vec![None; module.values.len()],
            status: vec![Status::Unused; module.ops.len()],
            cases: vec![None; module.values.len()],
            known_terms,
            matched: vec![true; module.ops.len()],
            loops: 0,
            steps: 0,
            interrupt,
            depth: 0,
        }
    }

    /// Evaluates a region with these arguments, and returns the results.
    pub(crate) fn region(&mut self, region: RegionId, args: Vec<View>) -> Result<Vec<View>, Stop> {
        let module = self.module;
        if self.depth >= DEEPEST {
            return Err(Stop::TooLong);
        }
        self.depth += 1;
        for (&param, view) in module.regions[region].args.iter().zip(args) {
            self.define(param, view);
        }
        let mut results = Vec::new();
        for &op in &module.regions[region].ops {
            if matches!(module.ops[op].kind, OpKind::Return) {
                results = self.operands(op)?;
                break;
            }
            self.step(op)?;
        }
        self.depth -= 1;
        Ok(results)
    }

    fn step(&mut self, op: OpId) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.terms.len() > MOST_TERMS {
            return Err(Stop::TooLong);
        }
        if self.steps.is_multiple_of(256) {
            self.interrupt.check()?;
        }
        let module = self.module;
        let results = &module.ops[op].results;
        let depth = self.depth;
        let views = match self.operation(op) {
            Ok(views) if views.len() == results.len() => {
                if self.status[op.index()] == Status::Unused {
                    self.status[op.index()] = Status::Known;
                }
                views
            }
            Ok(_) => self.unknown(op, "the number of results differs".to_owned()),
            Err(Stop::NoRule(reason)) => self.unknown(op, reason),
            Err(stop) => return Err(stop),
        };
        self.depth = depth;
        for &result in results {
            self.cases[result.index()] = None;
        }
        let mut views = views;
        if let [view] = views.as_mut_slice()
            && let Some(found) = self.exchange(op, view)
        {
            *view = found;
        }
        let known = self.known_terms;
        if views.iter().any(|view| !self.terms.is_known(view, known, false)) {
            self.matched[op.index()] = false;
        }
        for (&result, view) in results.iter().zip(views) {
            self.values[result.index()] = Some(view);
        }
        Ok(())
    }

    fn define(&mut self, value: ValueId, view: View) {
        self.cases[value.index()] = None;
        self.values[value.index()] = Some(view);
    }

    fn unknown(&mut self, op: OpId, reason: String) -> Vec<View> {
        self.status[op.index()] = Status::Unknown(reason);
        let module = self.module;
        module.ops[op].results.iter().map(|&value| self.unknown_value(value)).collect()
    }

    /// A value about which nothing is known: it may differ between all devices.
    fn unknown_value(&mut self, value: ValueId) -> View {
        let kind = self.kind(value);
        let mut index = self.whole(value);
        let mut device = Digits::new();
        crate::terms::push(&mut device, Digit::all(DEVICE, self.devices.count));
        index.push(device);
        self.terms.unknown(kind, index)
    }

    /// The positions in all dimensions of a value.
    pub(crate) fn whole(&self, value: ValueId) -> Vec<Digits> {
        let mut index = Vec::new();
        for (dim, &size) in self.module.shape(value).iter().enumerate() {
            let mut number = Digits::new();
            crate::terms::push(&mut number, Digit::all(dim as u32, size.max(1) as u64));
            index.push(number);
        }
        index
    }

    pub(crate) fn kind(&self, value: ValueId) -> Kind {
        self.module.stored(value).map_or(Kind::Bool, |ty| Kind::of(ty.dtype))
    }

    pub(crate) fn value(&self, value: ValueId) -> Result<View, Stop> {
        match &self.values[value.index()] {
            Some(view) => Ok(view.clone()),
            None => Stop::rule("an operand is not defined"),
        }
    }

    pub(crate) fn operands(&self, op: OpId) -> Result<Vec<View>, Stop> {
        self.module.ops[op].operands.iter().map(|&value| self.value(value)).collect()
    }

    /// The sizes of the dimensions of a value.
    pub(crate) fn sizes(&self, value: ValueId) -> Vec<u64> {
        self.module.shape(value).iter().map(|&size| size.max(0) as u64).collect()
    }

    /// Whether values of an operation are tensors of known size that are not quantized.
    fn check_types(&self, op: OpId) -> Result<(), Stop> {
        let data = &self.module.ops[op];
        for &value in data.operands.iter().chain(&data.results) {
            match self.module.types.get(self.module.values[value].ty) {
                Type::Tensor(ty) if ty.is_static() && ty.shape.iter().all(|&size| size > 0) => {}
                Type::Tensor(ty) if ty.is_static() => return Stop::rule("a tensor without elements"),
                Type::Tensor(_) => return Stop::rule("a tensor of dynamic size"),
                Type::Token => {}
                Type::Tuple(_) => return Stop::rule("a tuple"),
                Type::Quantized(_) => return Stop::rule("a quantized tensor"),
                Type::Other(_) => return Stop::rule("a value of an unknown type"),
            }
        }
        Ok(())
    }

    fn operation(&mut self, op: OpId) -> Result<Vec<View>, Stop> {
        self.check_types(op)?;
        let module = self.module;
        let data = &module.ops[op];
        let one = |view: View| vec![view];
        match &data.kind {
            OpKind::OptimizationBarrier | OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => {
                self.operands(op)
            }
            OpKind::PropagationBarrier { .. } => self.operands(op),
            OpKind::ShardingGroup { .. } => Ok(Vec::new()),
            OpKind::CustomCall(spec) if is_identity(&spec.target) => self.operands(op),
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(..)
            | OpKind::Select
            | OpKind::Clamp
            | OpKind::Convert
            | OpKind::ReducePrecision { .. }
            | OpKind::Broadcasting(_)
            | OpKind::ConstantLike(_) => self.elementwise(op).map(one),
            OpKind::Constant(dense) => self.constant(op, dense).map(one),
            OpKind::Iota { dim } => self.iota(op, *dim).map(one),
            OpKind::PartitionId => self.device_number(op, true).map(one),
            OpKind::ReplicaId => self.device_number(op, false).map(one),
            OpKind::BroadcastInDim { dims } => {
                let view = self.value(data.operands[0])?;
                Ok(one(view.renamed(|slot| dims.get(slot as usize).copied().unwrap_or(slot))))
            }
            OpKind::Transpose { permutation } => {
                let view = self.value(data.operands[0])?;
                let place = |slot: u32| permutation.iter().position(|&dim| dim == slot);
                Ok(one(view.renamed(|slot| place(slot).map_or(slot, |at| at as u32))))
            }
            OpKind::Reshape => self.reshape(op).map(one),
            OpKind::Slice(spec) => self.slice(op, spec).map(one),
            OpKind::Pad(spec) => self.pad(op, spec).map(one),
            OpKind::Concatenate { dim } => self.concatenate(op, *dim).map(one),
            OpKind::DynamicSlice { sizes } => self.dynamic_slice(op, sizes).map(one),
            OpKind::DynamicUpdateSlice => self.dynamic_update_slice(op).map(one),
            OpKind::DotGeneral(spec) => self.dot_general(op, spec).map(one),
            OpKind::Reduce { dims } => self.reduce(op, dims),
            OpKind::ReduceWindow(spec) => self.reduce_window(op, spec),
            OpKind::Gather(spec) => self.gather(op, spec).map(one),
            OpKind::Scatter(spec) => self.scatter(op, spec),
            OpKind::Convolution(spec) => self.convolution(op, spec).map(one),
            OpKind::BatchNorm(kind, spec) => self.batch_norm(op, *kind, *spec),
            OpKind::AllReduce(_)
            | OpKind::AllGather { .. }
            | OpKind::ReduceScatter { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectivePermute(_) => self.collective(op),
            OpKind::Call { callee } => self.call(op, callee),
            OpKind::Composite(spec) => self.call(op, &spec.decomposition),
            OpKind::While => self.while_loop(op),
            OpKind::If => self.if_else(op),
            OpKind::Case => self.case(op),
            OpKind::ManualComputation(spec) => self.manual(op, spec),
            OpKind::NamedComputation(_) => {
                let args = self.operands(op)?;
                self.region(data.regions[0], args)
            }
            _ => self.generic(op),
        }
    }

    fn constant(&mut self, op: OpId, dense: &Dense) -> Result<View, Stop> {
        let value = self.module.ops[op].results[0];
        let Some(ty) = self.module.tensor(value) else { return Stop::rule("a constant of an unknown type") };
        let (dtype, kind) = (ty.dtype, Kind::of(ty.dtype));
        match dense {
            Dense::Splat(bytes) => Ok(elements::literal(self.terms, dtype, bytes)),
            Dense::Elements(bytes) => {
                if let Some(view) = self.affine_constant(value, bytes) {
                    return Ok(view);
                }
                let index = self.whole(value);
                Ok(self.terms.leaf(crate::terms::Op::Constant(bytes.clone()), kind, index))
            }
            Dense::Resource(_) | Dense::Raw(_) => {
                // Equal texts are equal elements.
                let text = format!("{dtype} {dense:?}");
                let index = self.whole(value);
                Ok(self.terms.leaf(crate::terms::Op::Constant(text.into_bytes().into()), kind, index))
            }
        }
    }
}

/// Whether a custom call returns its operand; its attributes are only for the compiler.
pub(crate) fn is_identity(target: &str) -> bool {
    matches!(
        target,
        "Sharding" | "annotate_device_placement" | "MoveToHost" | "MoveToDevice" | "LayoutConstraint"
    )
}
