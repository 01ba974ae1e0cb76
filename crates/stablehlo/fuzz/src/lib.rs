//! Invariants that hold for every input, however malformed.

use shardc_ir::{Diagnostic, Module};
use shardc_stablehlo::{PrintForm, PrintOptions, parse, print, render};

/// Checks that parsing returns a module or errors, and that a module that the verifier accepts is unchanged by printing and parsing, in the
/// pretty and in the generic form.
pub fn check(read: Result<Module, Vec<Diagnostic>>, source: &str) {
    let module = match read {
        Ok(module) => module,
        Err(errors) => {
            assert!(!errors.is_empty(), "rejected without an error");
            assert!(!render(&errors, "input", source, false).is_empty());
            return;
        }
    };
    let errors = shardc_ir::verify(&module).err().unwrap_or_default();
    let _ = render(&errors, "input", source, false);
    for form in [PrintForm::Pretty, PrintForm::Generic] {
        let options = PrintOptions { form, ..PrintOptions::default() };
        let printed = print(&module, &options);
        let located = print(&module, &PrintOptions { locations: true, ..options.clone() });
        if errors.is_empty() {
            assert_eq!(print(&read_back(&printed), &options), printed, "the second print differs");
            assert_eq!(print(&read_back(&located), &options), printed, "locations change the module");
        }
    }
}

fn read_back(printed: &str) -> Module {
    parse(printed)
        .unwrap_or_else(|errors| panic!("not read back:\n{}", render(&errors, "printed", printed, false)))
}
