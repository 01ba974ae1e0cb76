//! Where operations of derivatives come from: from the lines of the operations that they are derivatives of.

use shardc_ir::{EntityRef, Loc, LocId, Module, OpId};

/// Says in the location of each operation from number `first` on that it is the `word` ("transpose of") of what stands there.
///
/// A name stays readable for tools that show names of operations alone: `transpose of jit(f)/dot_general`.
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
