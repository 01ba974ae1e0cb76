//! Decides which operations of a file become the module, and which are kept as text, by the same rules as the text parser.

use shardc_ir::KeptKind;

use super::ir::{Ir, OpRef};

/// The maximum number of modules that enclose the program.
const MAX_MODULES: usize = 48;

/// A module that encloses the program.
#[derive(Debug)]
pub(super) struct Outer {
    /// The operation of the module; `None` for an implicit module.
    pub(super) op: Option<OpRef>,
    /// The operations of the module before the nested module that leads to the program.
    pub(super) above: Vec<OpRef>,
    /// The operations of the module after the nested module that leads to the program.
    pub(super) below: Vec<OpRef>,
}

/// How the operations of a file are used: which are modules, which become items of the program, and which are kept as text.
#[derive(Debug)]
pub(super) struct Plan {
    /// The modules that enclose the program, outermost first.
    pub(super) outer: Vec<Outer>,
    /// The module; `None` for an implicit module.
    pub(super) module: Option<OpRef>,
    /// The items of the module: each operation, and the reason if it is kept as text.
    pub(super) items: Vec<(OpRef, Option<KeptKind>)>,
}

/// Decides which operations of a file become the module, and which are kept as text.
pub(super) fn plan(ir: &Ir<'_>) -> Plan {
    let mut plan = Plan { outer: Vec::new(), module: None, items: Vec::new() };
    let mut items: Vec<OpRef> = ir.top.clone();
    if let [only] = items[..]
        && name(ir, only) == "builtin.module"
    {
        plan.module = Some(only);
        items = inside(ir, only);
    }
    loop {
        plan.items = items.iter().map(|&at| (at, kept(ir, at))).collect();
        let has_functions =
            plan.items.iter().any(|&(at, kept)| kept.is_none() && name(ir, at) == "func.func");
        let inner = items.iter().position(|&at| name(ir, at) == "builtin.module" && holds_functions(ir, at));
        let Some(inner) = inner.filter(|_| !has_functions && plan.outer.len() < MAX_MODULES) else {
            return plan;
        };
        let below = items.split_off(inner + 1);
        let module = items.pop();
        plan.outer.push(Outer { op: plan.module, above: items, below });
        plan.module = module;
        items = module.map(|module| inside(ir, module)).unwrap_or_default();
    }
}

fn name<'a>(ir: &'a Ir<'_>, at: OpRef) -> &'a str {
    ir.ops.get(at.0 as usize).map_or("", |op| &op.name)
}

/// Returns the operations directly in the regions of an operation.
fn inside(ir: &Ir<'_>, at: OpRef) -> Vec<OpRef> {
    let regions = ir.ops.get(at.0 as usize).map_or(&[][..], |op| &op.regions);
    let regions = regions.iter().filter_map(|region| ir.regions.get(region.0 as usize));
    regions.flat_map(|region| &region.blocks).flat_map(|block| block.ops.iter().copied()).collect()
}

/// Returns an operation and all operations nested in it.
pub(super) fn walk(ir: &Ir<'_>, at: OpRef) -> Vec<OpRef> {
    let mut all = vec![at];
    let mut next = 0;
    while let Some(&at) = all.get(next) {
        all.extend(inside(ir, at));
        next += 1;
    }
    all
}

fn holds_functions(ir: &Ir<'_>, at: OpRef) -> bool {
    walk(ir, at).into_iter().any(|at| name(ir, at) == "func.func")
}

/// Returns the reason why an operation of a module is kept as text, if it is.
fn kept(ir: &Ir<'_>, at: OpRef) -> Option<KeptKind> {
    match name(ir, at) {
        "sdy.mesh" => None,
        "func.func" => has_branches(ir, at).then_some(KeptKind::Branches),
        "builtin.module" => Some(KeptKind::Module),
        _ => Some(KeptKind::Other),
    }
}

/// Whether a region of the operation has several blocks.
fn has_branches(ir: &Ir<'_>, at: OpRef) -> bool {
    walk(ir, at).into_iter().filter_map(|at| ir.ops.get(at.0 as usize)).any(|op| {
        let mut regions = op.regions.iter().filter_map(|region| ir.regions.get(region.0 as usize));
        !op.successors.is_empty() || regions.any(|region| region.blocks.len() > 1)
    })
}
