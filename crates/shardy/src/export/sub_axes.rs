//! `sdy-remove-sub-axes-in-input-output-shardings`: removes sub-axes from open dimensions of the entry's arguments and results.

use shardc_ir::{FuncId, Module, ShardingId};
use shardc_passes::internal::whole_axes;

use crate::shardings;

/// In the shardings of the entry's arguments and results, removes the first sub-axis, and the axes after it, from each open dimension.
pub(super) fn keep_whole_axes(module: &mut Module) {
    for func in shardings::entries(module) {
        keep_in(module, func);
    }
}

fn keep_in(module: &mut Module, func: FuncId) {
    let cut = |module: &mut Module, id: ShardingId| {
        let mut sharding = module.shardings.get(id).clone();
        sharding.dims.iter_mut().for_each(whole_axes);
        module.shardings.intern(sharding)
    };
    for arg in module.funcs[func].body.map_or(Vec::new(), |body| module.regions[body].args.clone()) {
        if let Some(id) = module.shardings.of(arg) {
            let id = cut(module, id);
            module.shardings.set(arg, Some(id));
        }
    }
    for i in 0..module.funcs[func].res_shardings.len() {
        if let Some(id) = module.funcs[func].res_shardings[i].expand() {
            module.funcs[func].res_shardings[i] = cut(module, id).into();
        }
    }
}
