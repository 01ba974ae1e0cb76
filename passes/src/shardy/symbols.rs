//! Names of functions that passes make.

use shardc_ir::Module;

/// Gives names that no function, mesh or other symbol of the module has.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Names that were made so far. One count for all of them, as in MLIR's symbol tables.
    made: u64,
}

impl Names {
    /// `name` itself if it is free, else with a number behind it.
    pub(super) fn free(&mut self, module: &Module, name: &str) -> Box<str> {
        let mut candidate: Box<str> = name.into();
        while taken(module, &candidate) {
            candidate = format!("{name}_{}", self.made).into();
            self.made += 1;
        }
        candidate
    }
}

fn taken(module: &Module, name: &str) -> bool {
    module.func_names.contains_key(name)
        || module.mesh_names.contains_key(name)
        || module.kept_symbol(name).is_some()
}
