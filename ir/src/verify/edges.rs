//! Verifies invariant I18 (Shardy) for Shardy's propagation edges and data-flow edge operations.

use super::Report;
use super::scan::Scan;
use super::structure::Program;
use crate::{Attr, Module, Op, OpId, OpKind, ShardingId, Uses, ValueDef, ValueId};

const CODE: &str = "SH0218";

/// The position of an operand or a result of the operation.
#[derive(Clone, Copy, PartialEq)]
enum FlowNode {
    Operand(i64),
    Result(i64),
}

/// The propagation of an axis from one operand or result to others.
struct Edge<'a> {
    axis: &'a str,
    source: FlowNode,
    targets: Vec<FlowNode>,
}

fn node(scan: &mut Scan<'_>) -> Option<FlowNode> {
    if scan.eat("operand-").is_some() {
        Some(FlowNode::Operand(scan.int()?))
    } else {
        scan.eat("result-")?;
        Some(FlowNode::Result(scan.int()?))
    }
}

/// Parses `{"x":(1)4 = operand-0 -> [result-0]}`.
fn edge<'a>(scan: &mut Scan<'a>) -> Option<Edge<'a>> {
    scan.eat("{")?;
    scan.eat("\"")?;
    let axis = scan.until('"')?;
    if scan.eat(":").is_some() {
        scan.eat("(")?;
        scan.int()?;
        scan.eat(")")?;
        scan.int()?;
    }
    scan.eat("=")?;
    let source = node(scan)?;
    scan.eat("->")?;
    scan.eat("[")?;
    let mut targets = Vec::new();
    while scan.eat("]").is_none() {
        if !targets.is_empty() {
            scan.eat(",")?;
        }
        targets.push(node(scan)?);
    }
    scan.eat("}")?;
    Some(Edge { axis, source, targets })
}

/// Parses the steps of propagation: the number of each step, and its edges.
fn steps(text: &str) -> Option<Vec<(i64, Vec<Edge<'_>>)>> {
    let mut scan = Scan::new(text);
    scan.eat("#sdy.propagation_edges<")?;
    scan.eat("[")?;
    let mut out = Vec::new();
    while scan.eat("]").is_none() {
        if !out.is_empty() {
            scan.eat(",")?;
        }
        scan.eat("{")?;
        scan.eat("step-")?;
        let step = scan.int()?;
        scan.eat("=")?;
        scan.eat("[")?;
        let mut edges = Vec::new();
        while scan.eat("]").is_none() {
            if !edges.is_empty() {
                scan.eat(",")?;
            }
            edges.push(edge(&mut scan)?);
        }
        scan.eat("}")?;
        out.push((step, edges));
    }
    Some(out)
}

/// Describes the error in `#sdy.propagation_edges<...>` that is visible without its operation: a repeated step, or an edge with a repeated
/// value.
pub(super) fn form_fault(text: &str) -> Option<String> {
    form(&steps(text)?).err()
}

fn form(steps: &[(i64, Vec<Edge<'_>>)]) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for (step, edges) in steps {
        if *step < 0 {
            return Err(format!("has the negative step {step}"));
        }
        if !seen.insert(*step) {
            return Err(format!("has the step {step} twice"));
        }
        for edge in edges {
            if edge.targets.contains(&edge.source) {
                return Err(format!("has an edge of axis {} from a value to itself", edge.axis));
            }
            if edge.targets.iter().enumerate().any(|(i, t)| edge.targets[..i].contains(t)) {
                return Err(format!("has an edge of axis {} that names a target twice", edge.axis));
            }
        }
    }
    Ok(())
}

/// Describes the error in the propagation edges of an operation.
pub(super) fn fault(module: &Module, op: &Op, value: &Attr) -> Option<String> {
    let Attr::Raw(text) = value else { return None };
    let steps = steps(text)?;
    check(module, op, &steps).err()
}

/// Returns the sharding of the result, if it is an attribute of the operation.
fn result_sharding(kind: &OpKind) -> Option<ShardingId> {
    match kind {
        OpKind::DataFlowEdge(sharding) => *sharding,
        OpKind::ShardingConstraint(sharding) | OpKind::Reshard(sharding) => Some(*sharding),
        OpKind::MeshCollective(collective) => Some(collective.out),
        _ => None,
    }
}

fn check(module: &Module, op: &Op, steps: &[(i64, Vec<Edge<'_>>)]) -> Result<(), String> {
    form(steps)?;
    let mut mesh = None;
    let mut find = |node: &FlowNode| -> Result<(), String> {
        let (what, at, values) = match *node {
            FlowNode::Operand(at) => ("operand", at, op.operands.as_slice()),
            FlowNode::Result(at) => ("result", at, op.results.as_slice()),
        };
        let Some(&value) = usize::try_from(at).ok().and_then(|i| values.get(i)) else {
            // The propagation edges of a `func_data_flow_edge` may refer to operands or results that the operation itself does not have.
            return match op.kind {
                OpKind::FuncDataFlowEdge => Ok(()),
                _ => Err(format!("refers to {what} {at}, but the operation has {}", values.len())),
            };
        };
        let own = module.def_op(value).and_then(|def| result_sharding(&module.ops[def].kind));
        if let Some(sharding) = own.or(module.shardings.of(value)) {
            mesh = mesh.or(Some(module.shardings.get(sharding).mesh));
        }
        Ok(())
    };
    let edges = || steps.iter().flat_map(|(_, edges)| edges);
    for edge in edges() {
        find(&edge.source)?;
        edge.targets.iter().try_for_each(&mut find)?;
    }
    if module.mesh_names.is_empty() {
        // The program is partitioned, so no value has a sharding.
        return Ok(());
    }
    let Some(mesh) = mesh else {
        return Err("refers to no value with a sharding".to_owned());
    };
    let axes = &module.meshes[mesh].axes;
    match edges().find(|edge| !axes.contains_key(edge.axis)) {
        Some(edge) => Err(format!(
            "refers to the axis \"{}\", which @{} does not have",
            edge.axis,
            module.mesh_name(mesh)
        )),
        None => Ok(()),
    }
}

/// Checks the data-flow edge operations.
pub(super) fn check_flow(report: &mut Report<'_>, program: &Program) {
    let module = report.module;
    let carries =
        |op: &&OpId| matches!(module.ops[**op].kind, OpKind::DataFlowEdge(_) | OpKind::FuncDataFlowEdge);
    let mut ops = program.order.iter().filter(carries).peekable();
    if ops.peek().is_none() {
        return;
    }
    let uses = module.uses();
    for &id in ops {
        if let Err(message) = flow(module, program, &uses, id) {
            let name = module.ops[id].kind.name();
            report.at_op(CODE, id, format!("{name} {message}"));
        }
    }
}

fn flow(module: &Module, program: &Program, uses: &Uses, id: OpId) -> Result<(), String> {
    let op = &module.ops[id];
    let (&[operand], &[result]) = (op.operands.as_slice(), op.results.as_slice()) else { return Ok(()) };
    if module.tensor(result).is_some_and(|tensor| !tensor.is_static()) {
        let ty = module.types.display(module.values[result].ty);
        return Err(format!("needs a static shape, got {ty}"));
    }
    let users = uses.of(operand).len();
    if users != 1 {
        return Err(format!("must be the only user of its operand, which has {users} users"));
    }
    match (&op.kind, module.def_op(operand)) {
        (OpKind::DataFlowEdge(_), Some(def)) => {
            let kind = &module.ops[def].kind;
            // The operand may also be the result of a reshard or collective, which partitioning inserts before the data-flow edge.
            let flows = matches!(
                kind,
                OpKind::NamedComputation(_)
                    | OpKind::ManualComputation(_)
                    | OpKind::Reshard(_)
                    | OpKind::MeshCollective(_)
            );
            if kind.name().starts_with("sdy.") && !flows {
                return Err(format!(
                    "must take a value that flows into or out of an operation with regions, got a result of {}",
                    kind.name()
                ));
            }
        }
        (OpKind::FuncDataFlowEdge, def) => from_function(module, program, operand, def)?,
        _ => {}
    }
    Ok(())
}

/// Checks that the operand is an argument of a function or a result of a call.
fn from_function(
    module: &Module,
    program: &Program,
    operand: ValueId,
    def: Option<OpId>,
) -> Result<(), String> {
    let fits = match (module.values[operand].def(), def) {
        (ValueDef::Arg(region, _), _) => program.is_body[cranelift_entity::EntityRef::index(region)],
        (ValueDef::Result(..), Some(def)) => matches!(module.ops[def].kind, OpKind::Call { .. }),
        (ValueDef::Result(..), None) => false,
    };
    if fits { Ok(()) } else { Err("must take an argument of a function or a result of a call".to_owned()) }
}
