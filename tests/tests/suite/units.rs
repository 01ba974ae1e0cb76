//! FSDP units: the groups of parameters of a step that are all-gathered together.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc::strategy::{RoleOverrides, Roles, Settings, Units, Wrap, apply_units, roles, units};
use shardc::{Compiler, Module};

fn read(name: &str) -> (Module, Roles) {
    let path = format!("{}/filetests/strategy/{name}", env!("CARGO_MANIFEST_DIR"));
    let module = Compiler::parse(&std::fs::read(path).unwrap()).unwrap();
    let roles = roles(&module, &RoleOverrides::default()).unwrap();
    (module, roles)
}

#[test]
fn a_function_chooses_units() {
    let (mut module, roles) = read("units.mlir");
    let chosen = Units::by(&module, &roles, &|part| part.is_layer && part.name.ends_with(".1"));
    assert_eq!(chosen.names, ["params.h.1"]);
    assert_eq!(chosen.of[..5], [None, None, Some(0), Some(0), None]);
    apply_units(&mut module, &roles, &Settings::default(), "fsdp=4", &chosen).unwrap();
    let text = Compiler::new().partition_module(module).unwrap().text();
    assert_eq!(text.matches("optimization_barrier").count(), 1, "{text}");
}

#[test]
fn unnamed_layers_are_found_by_repeated_shapes() {
    let (module, mut roles) = read("units.mlir");
    for (i, argument) in roles.arguments.iter_mut().enumerate() {
        argument.name = format!("arg{i}");
    }
    let found = units(&module, &roles, Wrap::Layers).unwrap();
    // The four matrices of equal shape form two layers of two matrices each.
    let found = found.unwrap();
    assert_eq!(found.names, ["layer.0", "layer.1"]);
    assert_eq!(found.of[..5], [Some(0), Some(0), Some(1), Some(1), None]);
}

#[test]
fn a_stack_of_layers_is_a_unit() {
    let (module, mut roles) = read("stacked_layers.mlir");
    roles.arguments[0].name = "params['layers']['w']".to_owned();
    let found = units(&module, &roles, Wrap::Layers).unwrap().unwrap();
    assert_eq!(found.names, ["params"], "all that is in it is stacked");
    assert_eq!(found.of, [Some(0), None]);
    assert_eq!(units(&module, &roles, Wrap::Size(1 << 30)).unwrap(), None);
}
