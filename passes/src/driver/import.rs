//! Import passes: GSPMD annotations, the mesh and partition specs of the options, and inlining.

use shardc_ir::limits::INLINE_BUDGET;
use shardc_ir::{Diagnostic, MeshId, Module, OpKind, verify};

use super::calls::{choose, extract, requested};
use super::context::{PassContext, PassResult};
use crate::analysis::symbols::drop_unused_funcs;
use crate::annotations::remesh::replace_mesh;
use crate::annotations::spec::{MeshSpec, annotate, annotate_on};
use crate::gspmd;
use crate::transforms::inline::{
    CallSites, callees_first, inline_calls, inline_calls_tracing, inline_except,
};

/// Converts GSPMD annotations to axis-based shardings, on the mesh of the options if there is one.
pub(super) fn import_gspmd(module: &mut Module, context: &mut PassContext) -> PassResult {
    context.pass_data.is_gspmd = gspmd::is_annotated(module);
    let mesh = context.import.mesh.as_ref().map(MeshSpec::to_mesh);
    let warnings = gspmd::import_gspmd(module, mesh.as_ref())?;
    context.pass_data.imported.extend(warnings.iter().cloned());
    Ok(warnings)
}

/// Applies the mesh and the partition specs of the options to the program.
pub(super) fn annotate_by_options(module: &mut Module, context: &mut PassContext) -> PassResult {
    let import = &context.import;
    match &import.mesh {
        // For a program with GSPMD annotations, `import_gspmd` has already used the mesh of the options.
        _ if context.pass_data.is_gspmd => {}
        Some(mesh) if own_mesh(module).is_some() => replace_mesh(module, &mesh.to_mesh())?,
        Some(mesh) => {
            annotate(module, mesh, &import.specs)?;
            return Ok(Vec::new());
        }
        None if import.specs.is_empty() => return Ok(Vec::new()),
        None if own_mesh(module).is_none() => {
            return Err(vec![
                Diagnostic::invalid(
                    "SH0307",
                    "partition specs need a mesh, but the program and the options specify none",
                )
                .hint("add `Compiler::mesh(\"data=4,model=2\")`"),
            ]);
        }
        None => {}
    }
    if let Some(mesh) = own_mesh(module).filter(|_| !import.specs.is_empty()) {
        annotate_on(module, mesh, &import.specs)?;
    }
    // The module is verified again, since a partition spec may not fit its value, or an annotation of the program may not fit on the new
    // mesh.
    verify(module)?;
    Ok(Vec::new())
}

/// Returns the first mesh of a module that is not maximal (a single device).
fn own_mesh(module: &Module) -> Option<MeshId> {
    module.mesh_names.values().copied().find(|&id| !module.meshes[id].is_maximal())
}

/// Inlines calls, except those of functions that are partitioned separately.
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
            context.pass_data.sites = inline_except(module, &order, &keep, sites)?;
            context.pass_data.kept = extract(module, &order, &keep, &rules)?;
            drop_unused_funcs(module, module.entry());
            return Ok(Vec::new());
        }
    }
    if context.import.trace_calls {
        context.pass_data.sites = Some(inline_calls_tracing(module)?);
    } else {
        inline_calls(module)?;
    }
    // Manual computations are checked only now, since an inlined body may use an axis that is manual in the enclosing manual computation.
    if module.ops.values().any(|op| matches!(op.kind, OpKind::ManualComputation(_))) {
        verify(module)?;
    }
    Ok(Vec::new())
}
