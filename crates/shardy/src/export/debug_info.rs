//! `sdy-remove-propagation-debug-info`: removes the debug attributes of propagation.

use shardc_ir::{AttrDict, Module};

use super::sink_edges::DEBUG;

/// Removes every debug attribute that propagation wrote.
pub(super) fn remove(module: &mut Module) {
    let clean = |attrs: &mut AttrDict| {
        for name in DEBUG.iter().flat_map(|(_, names)| names) {
            attrs.remove(name);
        }
    };
    for op in module.bodies().flat_map(|body| module.walk(body)).collect::<Vec<_>>() {
        clean(&mut module.ops[op].attrs);
    }
    for func in module.funcs.values_mut() {
        func.arg_attrs.iter_mut().chain(&mut func.res_attrs).for_each(clean);
    }
}
