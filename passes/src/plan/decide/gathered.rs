//! Warns about values that are replicated on every device although no annotation requests an all-gather (SH0909). The cause is that the
//! shardings of the operands and results of an operation contradict each other.

use rustc_hash::FxHashSet;
use shardc_ir::{
    Class, Diagnostic, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ValueDef, ValueId,
};

use super::{Gather, Plan};
use crate::analysis::regions::program_ops;
use crate::analysis::trip_count::run_counts;
use crate::report::byte_size::bytes_text;
use crate::report::warnings::counted;
use crate::rules::is_identity_call;

/// The annotations of a program, recorded before planning turns constraints into reshards.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    /// The operation that contains each region.
    parents: SecondaryMap<RegionId, PackedOption<OpId>>,
    /// Whether an operation is a sharding constraint of the input program.
    constraints: SecondaryMap<OpId, bool>,
    /// Whether an operation is an explicit reshard of the input program.
    reshards: SecondaryMap<OpId, bool>,
}

impl Requests {
    pub(crate) fn new(module: &Module, body: RegionId) -> Requests {
        let mut requested = Requests {
            parents: SecondaryMap::new(),
            constraints: SecondaryMap::new(),
            reshards: SecondaryMap::new(),
        };
        for op in program_ops(module, body) {
            let data = &module.ops[op];
            for &region in &data.regions {
                requested.parents[region] = op.into();
            }
            match data.kind {
                OpKind::ShardingConstraint(_) => requested.constraints[op] = true,
                OpKind::Reshard(_) => requested.reshards[op] = true,
                _ => {}
            }
        }
        requested
    }

    /// Whether an operation is a sharding constraint of the input program.
    pub(crate) fn is_constraint(&self, op: OpId) -> bool {
        self.constraints[op]
    }

    /// Whether a value is an argument of the function, or computed from one by operations that select or rearrange elements or convert
    /// them. Such a value may be a weight, which fully sharded data parallelism (FSDP) all-gathers before use.
    pub(crate) fn is_from_argument(&self, module: &Module, body: RegionId, mut value: ValueId) -> bool {
        // A bound on the search: a value with a longer chain gets the warning even if it comes from an argument.
        const MAX_STEPS: usize = 64;
        for _ in 0..MAX_STEPS {
            let (op, i) = match module.values[value].def() {
                ValueDef::Arg(region, i) => match self.parents[region].expand() {
                    None => return region == body,
                    Some(op) if matches!(module.ops[op].kind, OpKind::While) => (op, i as usize),
                    Some(_) => return false,
                },
                ValueDef::Result(op, i) => match module.ops[op].kind {
                    OpKind::OptimizationBarrier => (op, i as usize),
                    OpKind::Convert
                    | OpKind::BitcastConvert
                    | OpKind::ReducePrecision { .. }
                    | OpKind::Transpose { .. }
                    | OpKind::Reshape
                    | OpKind::Reverse { .. }
                    | OpKind::Slice(_)
                    | OpKind::DynamicSlice { .. }
                    | OpKind::ShardingConstraint(_)
                    | OpKind::Reshard(_) => (op, 0),
                    OpKind::BroadcastInDim { .. } if is_as_large(module, op) => (op, 0),
                    // A custom call that is the identity, for example one that copies an offloaded weight from host memory to the device.
                    OpKind::CustomCall(ref call) if is_identity_call(&call.target) => (op, 0),
                    _ => return false,
                },
            };
            match module.ops[op].operands.get(i) {
                Some(&operand) => value = operand,
                None => return false,
            }
        }
        false
    }
}

/// Returns warnings about the values that a planned program replicates for operations that could be partitioned. Exceptions:
///
/// * weights, which fully sharded training all-gathers by design;
/// * values with a constraint or an explicit reshard;
/// * partial results between the steps of an expanded operation;
/// * results of the function;
/// * values that planning has already warned about.
pub(crate) fn gathered(module: &Module, body: RegionId, requested: &Requests, plan: &Plan) -> Vec<Gather> {
    let is_meant =
        |op: OpId| requested.constraints[op] || requested.reshards[op] || plan.between_steps.contains(&op);
    // Few programs replicate values without a request, so the use lists of the module are built only if there is such a value.
    let whole: Vec<OpId> = program_ops(module, body)
        .into_iter()
        .filter(|&op| !is_meant(op) && is_replicating(module, op))
        .filter(|&op| !requested.is_from_argument(module, body, module.ops[op].operands[0]))
        .collect();
    if whole.is_empty() {
        return Vec::new();
    }
    let (uses, runs) = (module.uses(), run_counts(module, body));
    let known: FxHashSet<OpId> = plan.gathers.iter().map(|gather| gather.op).collect();
    let mut gathers = Vec::new();
    for op in whole {
        let readers = uses.of(module.ops[op].results[0]);
        // If all users are terminators, the value is dead or only returned.
        if readers.iter().all(|&(op, _)| matches!(module.ops[op].kind, OpKind::Return)) {
            continue;
        }
        let Some(&(reader, _)) = readers.first() else { continue };
        if known.contains(&reader) {
            continue;
        }
        let warning = warning_of(module, op, reader);
        gathers.extend(warning.map(|warning| Gather { op: reader, warning: counted(warning, runs[op]) }));
    }
    gathers
}

/// Whether a reshard replicates a sharded value that is not empty.
fn is_replicating(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let (OpKind::Reshard(to), [operand], [_]) = (&data.kind, &*data.operands, &*data.results) else {
        return false;
    };
    let (Some(from), Some(bytes)) = (module.shardings.sharding_of(*operand), bytes_of(module, *operand))
    else {
        return false;
    };
    !from.is_unsplit() && module.shardings.get(*to).is_unsplit() && bytes > 0
}

/// Whether the result of an operation has as many elements as its first operand.
fn is_as_large(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let elements = |v: Option<&ValueId>| v.map(|&v| module.shape(v).iter().product::<i64>());
    elements(data.operands.first()) == elements(data.results.first())
}

fn bytes_of(module: &Module, value: ValueId) -> Option<u64> {
    u64::try_from(module.stored(value)?.num_bytes()?).ok()
}

/// Returns the warning (SH0909) about a reshard that replicates a value for the operation `reader`.
fn warning_of(module: &Module, reshard: OpId, reader: OpId) -> Option<Diagnostic> {
    let operand = *module.ops[reshard].operands.first()?;
    let (from, ty) = (module.shardings.sharding_of(operand)?, module.stored(operand)?);
    let bytes = bytes_of(module, operand)?;
    let maker = module.def_op(operand).map(|op| format!("the result of {}", module.ops[op].kind.title()));
    let what = maker.unwrap_or_else(|| "an argument".to_owned());
    let data = &module.ops[reader];
    let message = format!(
        "{what}, {ty}, is sharded {} and all-gathered on every device for {}: {}",
        from.display(&module.meshes[from.mesh]),
        data.kind.title(),
        bytes_text(bytes)
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "SH0909", message)
        .at(data.span)
        .bytes(bytes)
        .hint("the operation's other operands or its result are sharded differently: annotate them the same way, or constrain the value before the operation");
    warning.user_loc = module.user_loc(reader);
    Some(warning)
}

#[cfg(test)]
mod tests {
    use super::{Requests, gathered};
    use crate::plan::decide::Plan;
    use crate::plan::testing::{Around, around};

    /// Returns the codes of the warnings about a planned program; `before` is the program before planning.
    fn warning_codes(before: &Around, after: &Around) -> Vec<&'static str> {
        let body = |done: &Around| done.module.funcs[done.module.entry().unwrap()].body.unwrap();
        let asked = Requests::new(&before.module, body(before));
        let plan = Plan { gathers: Vec::new(), between_steps: Default::default(), notes: Vec::new() };
        gathered(&after.module, body(after), &asked, &plan).iter().map(|gather| gather.warning.code).collect()
    }

    /// Plans a matmul whose second operand `%w` has a sharding that contradicts the sharding of the first one.
    fn matmul(operand: &str) -> Vec<&'static str> {
        let program = format!(
            r#"func.func @main(%a: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}, %b: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}})
                -> (tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
              {operand}
              %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
              return %0 : tensor<64x64xf32>
            }}"#
        );
        warning_codes(
            &around("propagate-unreduced", r#""x"=4"#, &program),
            &around("plan", r#""x"=4"#, &program),
        )
    }

    #[test]
    fn an_activation_that_no_annotation_gathers_is_warned_about() {
        assert_eq!(matmul("%w = stablehlo.exponential %b : tensor<64x64xf32>"), ["SH0909"]);
    }

    #[test]
    fn a_weight_may_be_gathered() {
        assert!(
            matmul("%w = stablehlo.transpose %b, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>")
                .is_empty()
        );
    }

    #[test]
    fn a_constraint_may_gather() {
        let operand = "%e = stablehlo.exponential %b : tensor<64x64xf32>
            %s = sdy.sharding_constraint %e <@mesh, [{}, {\"x\"}]> : tensor<64x64xf32>
            %w = sdy.sharding_constraint %s <@mesh, [{}, {}]> : tensor<64x64xf32>";
        assert!(matmul(operand).is_empty());
    }
}
