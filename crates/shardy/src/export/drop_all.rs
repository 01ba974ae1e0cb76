//! `sdy-drop-sharding-and-mesh`: removes the shardings of values, and the definitions of meshes.

use shardc_ir::Module;

use crate::pass::SHARDING_ATTR;

/// Removes the sharding of every value and function result, and all mesh definitions. Operations such as `sdy.reshard` keep their
/// shardings, with the mesh inlined.
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
