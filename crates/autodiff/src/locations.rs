//! Locations of derivative operations, derived from the locations of the original operations.

use shardc_ir::{EntityRef, Loc, LocId, Module, OpId};

/// Prefixes the location of each operation from index `first` on with `word` ("transpose of").
///
/// The prefix is part of the name, for tools that show only names: `transpose of jit(f)/dot_general`.
pub(crate) fn say(module: &mut Module, first: usize, word: &str) {
    for i in first..module.ops.len() {
        let op = OpId::new(i);
        if let Some(loc) = module.ops[op].loc.expand() {
            module.ops[op].loc = Some(prefixed(module, loc, word)).into();
        }
    }
}

fn prefixed(module: &mut Module, loc: LocId, word: &str) -> LocId {
    let named = match module.locs.get(loc) {
        Loc::Unknown => return loc,
        Loc::Name { name, child } => Loc::Name { name: format!("{word} {name}").into(), child: *child },
        _ => Loc::Name { name: word.into(), child: Some(loc) },
    };
    module.locs.intern(named)
}
