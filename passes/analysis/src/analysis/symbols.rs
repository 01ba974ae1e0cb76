//! Uses of a module's symbols, and new symbol names.
//!
//! New names are those that MLIR's symbol tables would generate, so that printed modules can be compared with MLIR's.

use std::collections::HashSet;

use shardc_ir::{Attr, AttrDict, FuncId, Module, OpKind, RegionId};

/// Generates names that are unused in a module.
///
/// All names share one counter, as in MLIR: `f_0`, then `g_1`.
#[derive(Debug, Default)]
pub struct FreshNames {
    next: u32,
}

impl FreshNames {
    /// Returns `wanted` if that name is unused, else `wanted_N`.
    pub fn make(&mut self, module: &Module, wanted: &str) -> String {
        if !is_taken(module, wanted) {
            return wanted.to_owned();
        }
        loop {
            let name = format!("{wanted}_{}", self.next);
            self.next += 1;
            if !is_taken(module, &name) {
                return name;
            }
        }
    }
}

fn is_taken(module: &Module, name: &str) -> bool {
    module.func_names.contains_key(name)
        || module.mesh_names.contains_key(name)
        || module.kept_symbol(name).is_some()
}

/// Removes functions that are unreachable from public functions, `entry` and operations kept as text.
pub fn drop_unused_funcs(module: &mut Module, entry: Option<FuncId>) {
    let mut used: HashSet<FuncId> = HashSet::new();
    let mut named = SymbolUses::default();
    for kept in &module.kept {
        named.text(&kept.text);
    }
    let mut open: Vec<FuncId> = module.funcs.keys().collect();
    open.retain(|&id| module.funcs[id].visibility.is_public() || Some(id) == entry);
    loop {
        // `drain` empties the set, so that each function adds its names once. The order is irrelevant, since the result is a set.
        open.extend(named.0.drain().filter_map(|name| module.func_names.get(&*name).copied()));
        let Some(func) = open.pop() else { break };
        if used.insert(func) {
            named.dict(&module.funcs[func].attrs);
            if let Some(body) = module.funcs[func].body {
                named.body(module, body);
            }
        }
    }
    if used.len() < module.funcs.len() {
        module.retain_funcs(|id, _| used.contains(&id));
    }
}

/// The symbol names that parts of the module refer to.
#[derive(Debug, Default)]
struct SymbolUses(HashSet<String>);

impl SymbolUses {
    fn body(&mut self, module: &Module, body: RegionId) {
        for op in module.walk(body) {
            let op = &module.ops[op];
            self.dict(&op.attrs);
            match &op.kind {
                OpKind::Call { callee } => {
                    self.0.insert(callee.to_string());
                }
                OpKind::CustomCall(spec) => self.dict(&spec.props),
                OpKind::Composite(spec) => {
                    self.0.insert(spec.decomposition.to_string());
                    spec.attributes.iter().for_each(|attrs| self.dict(attrs));
                }
                OpKind::Opaque(spec) => self.dict(&spec.props),
                _ => {}
            }
        }
    }

    fn dict(&mut self, attrs: &AttrDict) {
        for (_, attr) in attrs.iter() {
            self.attr(attr);
        }
    }

    fn attr(&mut self, attr: &Attr) {
        match attr {
            Attr::Symbol(name) => {
                self.0.insert(name.to_string());
            }
            Attr::Raw(text) => self.text(text),
            Attr::Array(items) => items.iter().for_each(|item| self.attr(item)),
            Attr::Dict(dict) => self.dict(dict),
            Attr::Unit | Attr::Bool(_) | Attr::Int(..) | Attr::Str(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-');
        // Kept text is not parsed, so any text that may be a symbol counts as a use. At worst, an unused function is kept.
        for part in text.split('@').skip(1) {
            let part = part.strip_prefix('"').unwrap_or(part);
            let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
            self.0.insert(part[..end].to_owned());
        }
    }
}
