//! Selection of the entry function by name.

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Diagnostic, Module, OpKind, Visibility};

use crate::analysis::symbols::drop_unused_funcs;

/// Makes `name` the entry function, and the only public function. Unreachable functions are removed. `name` may begin with `@`.
///
/// # Errors
/// Returns SH0362 if no function is called `name`, or if the function calls another one that is named `main`.
pub fn select_entry(module: &mut Module, name: &str) -> Result<(), Diagnostic> {
    let name = name.strip_prefix('@').unwrap_or(name);
    let Some(&entry) = module.func_names.get(name) else {
        if let Some(kept) = module.kept_symbol(name) {
            return Err(kept.unsupported("SH0362").at(kept.span));
        }
        let known: Vec<&str> = module.func_names.keys().map(|name| &**name).collect();
        return Err(Diagnostic::invalid("SH0362", format!("the program has no function '{name}'"))
            .hint(unknown_name_hint(name, "its functions", &known)));
    };
    for (func, data) in module.funcs.iter_mut() {
        data.visibility = if func == entry { Visibility::Public } else { Visibility::Private };
    }
    drop_unused_funcs(module, None);
    if module.entry().is_some_and(|entry| *module.funcs[entry].name == *name) {
        return Ok(());
    }
    let calls_main = module
        .bodies()
        .flat_map(|body| module.walk(body))
        .find(|&op| matches!(&module.ops[op].kind, OpKind::Call { callee } if **callee == *"main"));
    let error = Diagnostic::invalid(
        "SH0362",
        format!("@{name} cannot be the entry function because it calls a function named @main"),
    );
    Err(match calls_main {
        Some(op) => error.at(module.ops[op].span),
        None => error,
    }
    .hint("rename @main: only the entry function may have this name"))
}

#[cfg(test)]
mod tests {
    use shardc_stablehlo::{PrintOptions, parse, print};

    use super::*;

    const PROGRAM: &str = "
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
        func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }
        func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";

    #[test]
    fn the_named_function_is_the_entry() {
        let mut module = parse(PROGRAM).unwrap();
        select_entry(&mut module, "@step").unwrap();
        let entry = module.entry().unwrap();
        assert_eq!(&*module.funcs[entry].name, "step");
        let text = print(&module, &PrintOptions::default());
        assert!(text.contains("@twice") && !text.contains("@main"), "{text}");
    }

    #[test]
    fn a_misspelt_name_is_suggested() {
        let error = select_entry(&mut parse(PROGRAM).unwrap(), "setp").unwrap_err();
        assert_eq!(error.code, "SH0362");
        let hint = error.hint.unwrap_or_default();
        assert_eq!(hint, "did you mean step? its functions are main, step, twice");
    }
}
