//! Checks modules within the top-level modules of crates: the child modules of a module have no import cycles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use super::graph::{circle, components};
use super::sources::{Crate, Use};
use super::{made_up, roots, workspace};

/// A known cycle.
struct Known {
    package: &'static str,
    /// The module whose children form the cycle.
    parent: &'static str,
    children: &'static [&'static str],
    /// The reason why the cycle exists; must not be empty.
    reason: &'static str,
}

/// Known cycles. A resolved cycle must be removed from this list.
const KNOWN: &[Known] = &[Known {
    package: "shardc-stablehlo",
    parent: "bytecode",
    children: &["builtin", "chlo", "dialect", "quant", "sdy", "stablehlo", "vhlo"],
    reason: "the registry names all dialects, and each dialect reads attributes of any other through it",
}];

#[test]
fn modules_have_no_import_cycles() {
    let mut faults = String::new();
    let mut known: Vec<&Known> = KNOWN.iter().collect();
    for cycle in KNOWN.iter().filter(|cycle| cycle.reason.is_empty()) {
        let _ = writeln!(faults, "{}: {} is in KNOWN without a reason", cycle.package, cycle.parent);
    }
    for (package, root) in roots() {
        let source = Crate::read(&root, &|path| std::fs::read_to_string(path).ok());
        check(&package, &source, &mut known, &mut faults);
    }
    for Known { package, parent, children, .. } in known {
        let children = children.join(", ");
        let _ = writeln!(
            faults,
            "{package}: {children} of {parent} no longer form exactly this cycle: remove it from KNOWN"
        );
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Reports the cycles of a crate, and removes known cycles from `known`.
fn check(package: &str, source: &Crate, known: &mut Vec<&Known>, faults: &mut String) {
    let name = |path: &Path| path.strip_prefix(workspace()).unwrap_or(path).display().to_string();
    for (parent, edges) in source.levels() {
        for component in components(&edges) {
            let is_known = |k: &&Known| k.package == package && k.parent == parent && k.children == component;
            if let Some(at) = known.iter().position(is_known) {
                known.remove(at);
                continue;
            }
            let children = component.join(", ");
            let _ = writeln!(faults, "{package}: in {parent}, {children} import each other in a cycle:");
            for (from, to) in circle(&edges, &component) {
                let Use { file, line, text, .. } = edges[&(from, to)];
                let _ = writeln!(faults, "  {from} -> {to}: {}:{line}: {text}", name(file));
            }
        }
    }
}

#[test]
fn a_cycle_inside_a_room_is_reported() {
    let source = made_up(&[
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a/mod.rs", "mod c; mod d; mod e; use c::C; pub struct A;"),
        ("src/a/c.rs", "use super::{A, d::D};"),
        ("src/a/d.rs", "#[cfg(test)] mod tests { use super::super::e::E; } fn f() { crate::a::e::g() }"),
        ("src/a/e/mod.rs", "mod h; use crate::b::B; use self::h::H;"),
        ("src/a/e/h.rs", "fn f(_: super::super::c::C) {}"),
        ("src/b.rs", "use crate::a::c::C;"),
    ]);
    let mut faults = String::new();
    check("made-up", &source, &mut Vec::new(), &mut faults);
    assert_eq!(
        faults,
        "made-up: in a, c, d, e import each other in a cycle:
  c -> d: src/a/c.rs:1: use super::{A, d::D};
  d -> e: src/a/d.rs:1: #[cfg(test)] mod tests { use super::super::e::E; } fn f() { crate::a::e::g() }
  e -> c: src/a/e/h.rs:1: fn f(_: super::super::c::C) {}
"
    );
    let exact = Known { package: "made-up", parent: "a", children: &["c", "d", "e"], reason: "a test" };
    let mut known = vec![&exact];
    faults.clear();
    check("made-up", &source, &mut known, &mut faults);
    assert!(known.is_empty() && faults.is_empty(), "{faults}");
}

#[test]
fn imports_of_a_parent_or_in_one_direction_are_no_cycle() {
    let source = made_up(&[
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod c; mod d; use c::C; pub struct A;"),
        ("src/a/c.rs", "use super::{A, d::D};"),
        ("src/a/d.rs", "use super::A;"),
    ]);
    let mut faults = String::new();
    check("made-up", &source, &mut Vec::new(), &mut faults);
    assert_eq!(faults, "");
}
