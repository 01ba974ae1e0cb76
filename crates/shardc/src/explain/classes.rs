//! The classes of arguments and of the operands of collectives: weight, activation, gradient, optimizer state, batch.
//!
//! The roles of a training step's arguments are inferred from its data flow (`shardc_strategy::roles_of_any`). Without that crate, or if
//! the inference fails, a floating-point array is a weight, and any other argument belongs to the batch.
//!
//! A value that only moves the elements of arguments of one class has that class. Other values are computed:
//!
//! * values that the loss depends on are activations, and so are all values of a program without a loss;
//! * other values that the next parameters or optimizer state depend on are gradients, or belong to the optimizer if they are computed
//!   from its state. Activations that are recomputed for the backward pass also count as gradients, since the loss does not depend on them;
//! * all others are activations.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Diagnostic, FuncId, Module, OpId, OpKind, RegionId, SecondaryMap, ValueId};

use super::flow::depended_on;

/// The class of an argument, or of the operand of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperandClass {
    /// A parameter, trained or not, or other state of the model.
    Weight,
    /// A value of the forward pass.
    Activation,
    /// A value of the backward pass: a gradient with respect to a parameter or an activation.
    Gradient,
    /// State of the optimizer, or a value that is computed from it.
    Optimizer,
    /// Data, a scalar, or a random key.
    Batch,
}

impl OperandClass {
    /// All classes.
    pub const ALL: [OperandClass; 5] = [
        OperandClass::Weight,
        OperandClass::Activation,
        OperandClass::Gradient,
        OperandClass::Optimizer,
        OperandClass::Batch,
    ];

    /// The name: `weight`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OperandClass::Weight => "weight",
            OperandClass::Activation => "activation",
            OperandClass::Gradient => "gradient",
            OperandClass::Optimizer => "optimizer",
            OperandClass::Batch => "batch",
        }
    }
}

impl fmt::Display for OperandClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for OperandClass {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        OperandClass::ALL.into_iter().find(|class| class.as_str() == text).ok_or_else(|| {
            let hint = unknown_name_hint(text, "the classes", &OperandClass::ALL.map(OperandClass::as_str));
            Diagnostic::invalid("SH0822", format!("'{text}' is not a class of operands")).hint(hint)
        })
    }
}

/// Facts about an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentRole {
    pub(crate) class: OperandClass,
    /// For optimizer state and gradient accumulators, the argument that is the corresponding parameter.
    pub(crate) of: Option<usize>,
    /// The result that is the next value of the argument or, in a function that returns gradients, its gradient.
    pub(crate) next: Option<usize>,
    /// The batch dimension, for the batch of a training step.
    pub(crate) batch_dim: Option<usize>,
}

/// The roles of a program's arguments, and the result that is its loss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramRoles {
    pub(crate) arguments: Vec<ArgumentRole>,
    pub(crate) loss: Option<usize>,
}

impl ProgramRoles {
    /// The roles of the entry function's arguments of a program before partitioning.
    pub(crate) fn of(module: &Module) -> ProgramRoles {
        inferred(module).unwrap_or_else(|| ProgramRoles { arguments: by_type(module), loss: None })
    }

    pub(crate) fn class(&self, argument: usize) -> OperandClass {
        self.arguments.get(argument).map_or(OperandClass::Batch, |role| role.class)
    }
}

#[cfg(feature = "strategy")]
fn inferred(module: &Module) -> Option<ProgramRoles> {
    use shardc_strategy::Role;
    let roles = shardc_strategy::roles_of_any(module).ok()?;
    let by_type = by_type(module);
    let arguments = roles.arguments.iter().zip(by_type).map(|(argument, by_type)| ArgumentRole {
        class: match argument.role {
            Role::Parameter | Role::FrozenParameter | Role::ModelState => OperandClass::Weight,
            Role::GradientAccumulator => OperandClass::Gradient,
            Role::OptimizerState => OperandClass::Optimizer,
            // Without a loss, the batch class of dimensions is uncertain: only a leading dimension is accepted.
            Role::Batch if roles.loss.is_none() && argument.batch_dim != Some(0) => by_type.class,
            Role::Batch | Role::Step | Role::Scalar | Role::RngKey => OperandClass::Batch,
        },
        of: argument.of,
        next: argument.next.or(argument.gradient),
        batch_dim: argument.batch_dim.filter(|_| argument.role == Role::Batch && roles.loss.is_some()),
    });
    Some(ProgramRoles { arguments: arguments.collect(), loss: roles.loss })
}

#[cfg(not(feature = "strategy"))]
fn inferred(_: &Module) -> Option<ProgramRoles> {
    None
}

fn by_type(module: &Module) -> Vec<ArgumentRole> {
    let params = module.entry().map_or(&[][..], |func| &module.funcs[func].params);
    let class = |ty| {
        let tensor = module.types.stored(ty);
        match tensor.is_some_and(|ty| ty.dtype.is_float() && !ty.shape.is_empty()) {
            true => OperandClass::Weight,
            false => OperandClass::Batch,
        }
    };
    params
        .iter()
        .map(|&ty| ArgumentRole { class: class(ty), of: None, next: None, batch_dim: None })
        .collect()
}

/// How a value is made from arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Source {
    /// From no argument.
    #[default]
    Nothing,
    /// By moving elements of arguments of a class.
    Moved(OperandClass),
    /// By computation.
    Computed {
        /// Whether it is computed from optimizer state.
        optimizer: bool,
    },
}

impl Source {
    fn joined(self, other: Source) -> Source {
        match (self, other) {
            (Source::Nothing, source) | (source, Source::Nothing) => source,
            (a, b) if a == b => a,
            (a, b) => Source::Computed { optimizer: a.uses_optimizer() || b.uses_optimizer() },
        }
    }

    fn uses_optimizer(self) -> bool {
        matches!(self, Source::Moved(OperandClass::Optimizer) | Source::Computed { optimizer: true })
    }

    /// The source of a value that is computed from a value of this source.
    fn computed(self) -> Source {
        match self {
            Source::Nothing => Source::Nothing,
            source => Source::Computed { optimizer: source.uses_optimizer() },
        }
    }
}

/// The classes of the values of a partitioned program's entry function.
pub(crate) struct Classes<'a> {
    module: &'a Module,
    func: Option<FuncId>,
    sources: SecondaryMap<ValueId, Source>,
    /// Whether there is a loss.
    trains: bool,
    /// The values that the loss depends on.
    forward: SecondaryMap<ValueId, bool>,
    /// The values that the next parameters and optimizer state depend on.
    state: SecondaryMap<ValueId, bool>,
}

impl<'a> Classes<'a> {
    /// Classifies the values of a partitioned program, whose arguments and results are in the order of the original program.
    pub(crate) fn of(module: &'a Module, roles: &ProgramRoles) -> Classes<'a> {
        let func = module.entry();
        let mut classes = Classes {
            module,
            func,
            sources: SecondaryMap::new(),
            trains: roles.loss.is_some(),
            forward: SecondaryMap::new(),
            state: SecondaryMap::new(),
        };
        let Some(body) = func.and_then(|func| module.funcs[func].body) else { return classes };
        for (i, &arg) in module.regions[body].args.iter().enumerate() {
            classes.sources[arg] = Source::Moved(roles.class(i));
        }
        classes.region(body);
        let returned = module.terminator(body).map_or(&[][..], |ret| module.ops[ret].operands.as_slice());
        let result = |i: usize| returned.get(i).copied();
        classes.forward = depended_on(module, roles.loss.and_then(result));
        let next = roles.arguments.iter().filter_map(|role| result(role.next?));
        classes.state = depended_on(module, next);
        classes
    }

    /// The class of a collective: that of most bytes of its operands. `None` for a collective of a called function, whose callers may
    /// disagree.
    pub(crate) fn of_collective(&self, op: OpId, func: FuncId) -> Option<OperandClass> {
        if Some(func) != self.func {
            return None;
        }
        let mut bytes = [0u64; OperandClass::ALL.len()];
        for &value in &self.module.ops[op].operands {
            let size = self.module.stored(value).and_then(|ty| ty.num_bytes()).unwrap_or(0).unsigned_abs();
            let at = OperandClass::ALL.iter().position(|&class| class == self.of_value(value)).unwrap_or(0);
            bytes[at] = bytes[at].saturating_add(size.max(1));
        }
        let largest = bytes.iter().enumerate().max_by_key(|&(at, &size)| (size, std::cmp::Reverse(at)));
        largest.map(|(at, _)| OperandClass::ALL[at])
    }

    fn of_value(&self, value: ValueId) -> OperandClass {
        match self.sources[value] {
            Source::Moved(class) => class,
            _ if !self.trains || self.forward[value] || !self.state[value] => OperandClass::Activation,
            Source::Computed { optimizer: true } => OperandClass::Optimizer,
            Source::Computed { .. } | Source::Nothing => OperandClass::Gradient,
        }
    }

    fn region(&mut self, region: RegionId) {
        let module = self.module;
        for &op in &module.regions[region].ops {
            self.op(op);
        }
    }

    fn op(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        match &data.kind {
            OpKind::While => self.loop_op(op),
            OpKind::Case | OpKind::If => self.branches(op),
            OpKind::OptimizationBarrier => {
                for (&operand, &result) in data.operands.iter().zip(&data.results) {
                    self.sources[result] = self.sources[operand];
                }
            }
            kind => {
                let source = match moved_operands(kind) {
                    Some(moved) => {
                        let end = moved.end.min(data.operands.len());
                        self.joined(data.operands.get(moved.start..end).unwrap_or(&[]))
                    }
                    None => self.joined(&data.operands).computed(),
                };
                data.results.iter().for_each(|&result| self.sources[result] = source);
            }
        }
    }

    fn joined(&self, values: &[ValueId]) -> Source {
        values.iter().fold(Source::Nothing, |source, &value| source.joined(self.sources[value]))
    }

    /// A loop-carried value that the loop does not change has the class of its initial value.
    fn loop_op(&mut self, op: OpId) {
        let module = self.module;
        let data = &module.ops[op];
        let Some(&body) = data.regions.last() else { return };
        let yielded = module.terminator(body).map_or(&[][..], |ret| module.ops[ret].operands.as_slice());
        for &region in &data.regions {
            for (i, &arg) in module.regions[region].args.iter().enumerate() {
                let initial = data.operands.get(i).map_or(Source::Nothing, |&v| self.sources[v]);
                let unchanged = module.regions[body].args.get(i) == yielded.get(i);
                self.sources[arg] = match (unchanged, initial.computed()) {
                    (true, _) => initial,
                    (false, Source::Nothing) => Source::Computed { optimizer: false },
                    (false, computed) => computed,
                };
            }
        }
        data.regions.iter().for_each(|&region| self.region(region));
        for (i, &result) in data.results.iter().enumerate() {
            let sources = [data.operands.get(i), yielded.get(i)].into_iter().flatten();
            self.sources[result] =
                sources.fold(Source::Nothing, |source, &value| source.joined(self.sources[value]));
        }
    }

    fn branches(&mut self, op: OpId) {
        let module = self.module;
        let data = &module.ops[op];
        data.regions.iter().for_each(|&region| self.region(region));
        for (i, &result) in data.results.iter().enumerate() {
            let returns = data.regions.iter().filter_map(|&region| module.terminator(region));
            let values = returns.filter_map(|ret| module.ops[ret].operands.get(i));
            self.sources[result] =
                values.fold(Source::Nothing, |source, &value| source.joined(self.sources[value]));
        }
    }
}

/// The operands whose elements an operation only moves, if it computes nothing with them.
fn moved_operands(kind: &OpKind) -> Option<std::ops::Range<usize>> {
    match kind {
        OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::Convert
        | OpKind::BitcastConvert
        | OpKind::BroadcastInDim { .. }
        | OpKind::Slice(_)
        | OpKind::DynamicSlice { .. }
        | OpKind::AllGather { .. }
        | OpKind::AllToAll { .. }
        | OpKind::CollectivePermute(_)
        | OpKind::Pad(_) => Some(0..1),
        OpKind::DynamicUpdateSlice => Some(0..2),
        OpKind::Select => Some(1..3),
        OpKind::Concatenate { .. } => Some(0..usize::MAX),
        _ => None,
    }
}

#[cfg(all(test, feature = "strategy"))]
mod tests {
    use super::*;
    use crate::Compiler;
    use crate::explain::Question;

    /// A step of gradient descent that minimizes |x w|^2 / 2, with the batch sharded along "data" and the weight along "fsdp".
    const STEP: &str = "
        sdy.mesh @mesh = <[\"data\"=2, \"fsdp\"=2]>
        func.func @main(
            %w: tensor<64x16xf32> {tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@mesh, [{\"fsdp\"}, {}]>},
            %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\", \"fsdp\"}, {}]>})
            -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"fsdp\"}, {}]>}, tensor<f32>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %rate = stablehlo.constant dense<0.1> : tensor<64x16xf32>
          %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
              : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
          %square = stablehlo.multiply %y, %y : tensor<8x16xf32>
          %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1]
              : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
          %gradient = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
              : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
          %change = stablehlo.multiply %rate, %gradient : tensor<64x16xf32>
          %next = stablehlo.subtract %w, %change : tensor<64x16xf32>
          return %next, %loss : tensor<64x16xf32>, tensor<f32>
        }";

    #[test]
    fn operands_of_a_training_step_have_classes() {
        let report = Compiler::new().explain(STEP.as_bytes(), "step.mlir", &Question::Collectives).unwrap();
        let class = |kind: &str, axis: &str| {
            let is =
                |c: &&crate::explain::CollectiveReport| c.kind == kind && c.axes.contains(&axis.to_owned());
            report.collectives.iter().find(is).and_then(|collective| collective.class)
        };
        assert_eq!(class("all_gather", "fsdp"), Some(OperandClass::Weight));
        assert_eq!(class("reduce_scatter", "fsdp"), Some(OperandClass::Gradient));
    }
}
