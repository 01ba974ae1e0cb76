//! `sdy-drop-sharding-and-mesh`: values have no shardings any more, and no mesh is defined.

use shardc_ir::Module;

use crate::pass::SHARDING_ATTR;

/// Forgets the sharding of every value and every result of a function, and all meshes. Operations that are about
/// shardings keep theirs and write the mesh out.
pub(super) fn drop_all(module: &mut Module) {
    module.shardings.clear_values();
    for func in module.funcs.values_mut() {
        func.res_shardings.clear();
    }
    for op in module.bodies().flat_map(|body| module.walk(body)).collect::<Vec<_>>() {
        module.ops[op].attrs.remove(SHARDING_ATTR);
    }
    module.mesh_names.clear();
}
