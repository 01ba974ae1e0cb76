//! `sdy-remove-size-one-axes`: removes axes of size one from shardings.

use shardc_ir::Module;
use shardc_passes::driver::passes::PassResult;
use shardc_passes::propagate;

/// Removes axes of size one from shardings, if a named mesh has such axes. The meshes keep these axes.
pub(super) fn run(module: &mut Module) -> PassResult {
    let has_some = |id| module.meshes[id].axes.values().any(|&size| size == 1);
    if module.mesh_names.values().any(|&id| has_some(id)) {
        for func in module.funcs.keys().collect::<Vec<_>>() {
            propagate::drop_size_one_axes(module, func);
        }
    }
    Ok(Vec::new())
}
