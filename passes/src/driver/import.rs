//! What is said about a program besides its text: the mesh and the specs of options.

use shardc_ir::limits::INLINE_BUDGET;
use shardc_ir::{Diagnostic, MeshId, Module, OpKind, verify};

use super::calls::{choose, extract, requested};
use super::context::PassContext;
use super::passes::PassResult;
use crate::analysis::symbols::drop_unused_funcs;
use crate::annotations::remesh::replace_mesh;
use crate::annotations::spec::{MeshSpec, annotate, annotate_on};
use crate::gspmd;
use crate::transforms::inline::{
    CallSites, callees_first, inline_calls, inline_calls_tracing, inline_except,
};

/// Reads GSPMD's annotations, onto the mesh of the options if there is one.
pub(super) fn import_gspmd(module: &mut Module, context: &mut PassContext) -> PassResult {
    context.handed.is_gspmd = gspmd::is_annotated(module);
    let mesh = context.import.mesh.as_ref().map(MeshSpec::to_mesh);
    let warnings = gspmd::import_gspmd(module, mesh.as_ref())?;
    context.handed.imported.extend(warnings.iter().cloned());
    Ok(warnings)
}

/// Gives the program the mesh and the shardings of the options.
pub(super) fn annotate_by_options(module: &mut Module, context: &mut PassContext) -> PassResult {
    let import = &context.import;
    match &import.mesh {
        // Its mesh is that of the options already.
        _ if context.handed.is_gspmd => {}
        Some(mesh) if own_mesh(module).is_some() => replace_mesh(module, &mesh.to_mesh())?,
        Some(mesh) => {
            annotate(module, mesh, &import.specs)?;
            return Ok(Vec::new());
        }
        None if import.specs.is_empty() => return Ok(Vec::new()),
        None if own_mesh(module).is_none() => {
            return Err(vec![
                Diagnostic::invalid("SH0307", "specs were given without a mesh")
                    .hint("add `Compiler::mesh(\"data=4,model=2\")`"),
            ]);
        }
        None => {}
    }
    if let Some(mesh) = own_mesh(module).filter(|_| !import.specs.is_empty()) {
        annotate_on(module, mesh, &import.specs)?;
    }
    // The text of an annotation can say what does not hold for its value, or not on another mesh.
    verify(module)?;
    Ok(Vec::new())
}

/// The first mesh of a module that is more than the name of a device.
fn own_mesh(module: &Module) -> Option<MeshId> {
    module.mesh_names.values().copied().find(|&id| !module.meshes[id].is_maximal())
}

/// Puts what is called in place of calls.
pub(super) fn inline(module: &mut Module, context: &mut PassContext) -> PassResult {
    if context.in_pipeline {
        let order = callees_first(module)?;
        let budget = context.import.inline_budget.unwrap_or(INLINE_BUDGET);
        let rules = context.import.rules.clone();
        let mut keep = requested(module, &order, &rules)?;
        if let Some(chosen) = choose(module, &order, budget) {
            order.iter().filter(|&&func| chosen[func]).for_each(|&func| keep[func] = true);
        }
        if order.iter().any(|&func| keep[func]) {
            let sites = context.import.trace_calls.then(CallSites::default);
            context.handed.sites = inline_except(module, &order, &keep, sites)?;
            context.handed.kept = extract(module, &order, &keep, &rules)?;
            drop_unused_funcs(module, module.entry());
            return Ok(Vec::new());
        }
    }
    if context.import.trace_calls {
        context.handed.sites = Some(inline_calls_tracing(module)?);
    } else {
        inline_calls(module)?;
    }
    // What a function shards along an axis may be in a computation now where the axis is manual.
    if module.ops.values().any(|op| matches!(op.kind, OpKind::ManualComputation(_))) {
        verify(module)?;
    }
    Ok(Vec::new())
}
