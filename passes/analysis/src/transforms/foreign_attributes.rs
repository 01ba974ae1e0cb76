//! Foreign attribute removal: removes discardable attributes of dialects that PJRT plugins do not register.
//!
//! A plugin rejects a program with an attribute such as `#ttcore.argument_type<input>`, because its parser does not know the dialect. In
//! MLIR, a program without its discardable attributes is equivalent, so they are removed before a program is passed to a plugin. Programs
//! that are written to files keep them.
//!
//! ```mlir
//! func.func @main(%arg0: tensor<8xf32> {ttcore.argument_type = #ttcore.argument_type<input>})
//! ```
//! becomes
//! ```mlir
//! func.func @main(%arg0: tensor<8xf32>)
//! ```

use shardc_ir::{Attr, AttrDict, Module};

/// Prefixes of attribute names, and dialects of attribute values, that XLA's plugins know.
const KNOWN: [&str; 12] =
    ["arith", "builtin", "chlo", "func", "jax", "mhlo", "sdy", "shape", "stablehlo", "tensor", "tf", "xla"];

/// Drops attributes of unknown dialects from the module, its functions and their operations.
pub(super) fn drop_all(module: &mut Module) {
    drop_foreign(&mut module.attrs);
    for func in module.funcs.values_mut() {
        drop_foreign(&mut func.attrs);
        func.arg_attrs.iter_mut().chain(&mut func.res_attrs).for_each(drop_foreign);
    }
    for op in module.ops.values_mut() {
        drop_foreign(&mut op.attrs);
    }
}

fn drop_foreign(attrs: &mut AttrDict) {
    let is_foreign = |name: &str, value: &Attr| {
        name.split_once('.').is_some_and(|(dialect, _)| !is_known(dialect)) || has_foreign_value(value)
    };
    if attrs.iter().any(|(name, value)| is_foreign(name, value)) {
        *attrs = attrs
            .iter()
            .filter(|(name, value)| !is_foreign(name, value))
            .map(|(name, value)| (name.into(), value.clone()))
            .collect();
    }
}

/// Whether a dialect is in [`KNOWN`]. XLA writes some names with a leading underscore.
fn is_known(dialect: &str) -> bool {
    let dialect = dialect.trim_start_matches('_');
    KNOWN.contains(&dialect) || dialect.starts_with("xla_") || dialect == "shardc"
}

/// Whether the value of an attribute, or a part of it, is an attribute or a type of an unknown dialect.
fn has_foreign_value(value: &Attr) -> bool {
    match value {
        Attr::Raw(text) => dialects(text).any(|dialect| !is_known(dialect)),
        Attr::Int(_, ty) => dialects(ty).any(|dialect| !is_known(dialect)),
        Attr::Array(items) => items.iter().any(has_foreign_value),
        Attr::Dict(dict) => dict.iter().any(|(_, value)| has_foreign_value(value)),
        Attr::Unit | Attr::Bool(_) | Attr::Str(_) | Attr::Symbol(_) => false,
    }
}

/// Returns the names of the dialects of attributes (`#dialect.name`, `#dialect<...>`) and types (`!dialect.name`) in a text, outside of
/// string literals.
fn dialects(text: &str) -> impl Iterator<Item = &str> {
    let outside_of_strings = text.split('"').step_by(2);
    outside_of_strings.flat_map(|part| {
        part.match_indices(['#', '!']).filter_map(move |(at, _)| {
            let rest = part.get(at + 1..)?;
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_name = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            (is_name && rest[end..].starts_with(['.', '<'])).then(|| &rest[..end])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_unregistered_dialects_are_dropped() {
        let text = "module attributes {tt.system = \"n150\", jax.uses_shape_polymorphism = true} {
            func.func @main(%arg0: tensor<8xf32> {ttcore.argument_type = #ttcore.argument_type<input>, tf.aliasing_output = 0 : i32})
                -> (tensor<8xf32> {jax.result_info = \"y\", iree.abi = \"#x.y\"}) attributes {tt.kind = \"forward\"} {
              %0 = stablehlo.add %arg0, %arg0 {ttir.place = [#ttir.grid<8x8>], note = \"#ttir.grid\"} : tensor<8xf32>
              return %0 : tensor<8xf32>
            }
          }";
        let mut module = shardc_stablehlo::parse(text).unwrap();
        drop_all(&mut module);
        let names = |attrs: &AttrDict| attrs.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&module.attrs), ["jax.uses_shape_polymorphism"]);
        let func = &module.funcs[module.entry().unwrap()];
        assert_eq!(names(&func.attrs), Vec::<String>::new());
        assert_eq!(names(&func.arg_attrs[0]), ["tf.aliasing_output"]);
        assert_eq!(names(&func.res_attrs[0]), ["jax.result_info"]);
        let of_ops: Vec<String> = module.ops.values().flat_map(|op| names(&op.attrs)).collect();
        assert_eq!(of_ops, ["note"]);
    }
}
