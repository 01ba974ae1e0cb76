//! The operations that contain the regions of a program, and those that call its functions.

use shardc_ir::{FuncId, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap};

/// The operations that contain the regions of a program and that call its functions.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// The operation of each region.
    pub(super) owners: SecondaryMap<RegionId, PackedOption<OpId>>,
    /// The calls of each function.
    pub(super) calls: SecondaryMap<FuncId, Vec<OpId>>,
}

impl Links {
    pub(super) fn new(module: &Module) -> Links {
        let mut links = Links::default();
        for op in module.bodies().flat_map(|body| module.walk(body)) {
            let data = &module.ops[op];
            data.regions.iter().for_each(|&region| links.owners[region] = op.into());
            if let OpKind::Call { callee } = &data.kind
                && let Some(&func) = module.func_names.get(callee)
            {
                links.calls[func].push(op);
            }
        }
        links
    }
}
