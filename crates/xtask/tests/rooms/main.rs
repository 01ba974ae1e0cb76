//! Checks the dependencies of crates and rooms. Crates depend on each other in the order of `docs/ARCHITECTURE.md`. The rooms of a crate
//! are the modules directly below its root. There are no import cycles between rooms, or between the children of a module (`modules.rs`).
//!
//! A room in a cycle cannot be understood, tested or moved without the others. Code that two rooms share belongs in a third room, on which
//! both depend.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod devices;
mod foreign;
mod graph;
mod modules;
mod sources;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use graph::{circle, components};
use serde_json::Value;
use sources::{Crate, Use};

/// Layers of crates, the lowest first: a crate may use only crates of lower layers.
const FLOORS: &[&[&str]] = &[
    &["shardc-ir", "shardc-data", "shardc-target"],
    &[
        "shardc-stablehlo",
        "shardc-analysis",
        "shardc-autodiff",
        "shardc-checkpoint",
        "shardc-interpreter",
        "shardc-statedict",
    ],
    &["shardc-cost", "shardc-mlir", "shardc-prove"],
    &["shardc-mutate", "shardc-passes", "shardc-strategy"],
    &["shardc-graph", "shardc-shardy"],
    &["shardc-nn"],
    &["shardc-runtime"],
    &["shardc"],
    &["shardc-capi", "shardc-lsp", "shardc-python", "shardc-train"],
    &["shardc-cli", "shardc-filetest"],
    &["shardc-tests", "shardc-examples", "xtask"],
    &["shardc-bench"],
];

/// Known cycles of rooms, by crate. A resolved cycle must be removed from this list.
const KNOWN: &[(&str, &[&str])] = &[];

#[test]
fn rooms_have_no_import_cycles() {
    let mut faults = String::new();
    let mut known: Vec<(&str, &[&str])> = KNOWN.to_vec();
    for (package, root) in roots() {
        let name = |path: &Path| path.strip_prefix(workspace()).unwrap_or(path).display().to_string();
        let source = Crate::read(&root, &|path| std::fs::read_to_string(path).ok());
        for Use { file, line, text, .. } in &source.unclear {
            let _ = writeln!(faults, "{}:{line}: it is unclear which room `{text}` uses", name(file));
        }
        let edges = source.edges();
        for component in components(&edges) {
            if let Some(at) = known.iter().position(|&(p, rooms)| p == package && rooms == component) {
                known.remove(at);
                continue;
            }
            let rooms = component.join(", ");
            let _ = writeln!(faults, "{package}: the rooms {rooms} import each other in a cycle:");
            for (from, to) in circle(&edges, &component) {
                let Use { file, line, text, .. } = edges[&(from, to)];
                let _ = writeln!(faults, "  {from} -> {to}: {}:{line}: {text}", name(file));
            }
        }
    }
    for (package, rooms) in known {
        let _ =
            writeln!(faults, "{package}: {} no longer form a cycle: remove it from KNOWN", rooms.join(", "));
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn crates_use_only_lower_layers() {
    let floor = |package: &str| FLOORS.iter().position(|row| row.contains(&package));
    let mut faults = String::new();
    for package in packages() {
        let name = text(&package, "name");
        let Some(own) = floor(name) else {
            let _ = writeln!(faults, "{name} has no layer: add it to FLOORS and to docs/ARCHITECTURE.md");
            continue;
        };
        for dependency in array(&package, "dependencies") {
            let used = text(dependency, "name");
            // Tests of a crate may use any other crate.
            if dependency["path"].is_string() && dependency["kind"] != "dev" && floor(used) >= Some(own) {
                let _ = writeln!(faults, "{name} uses {used}, which is not in a lower layer");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// The root file of each library and program of the workspace, with the name of its package.
fn roots() -> Vec<(String, PathBuf)> {
    let mut roots = Vec::new();
    for package in packages() {
        for target in array(&package, "targets") {
            let kinds = array(target, "kind");
            if kinds.iter().any(|kind| kind == "lib" || kind == "bin") {
                roots.push((text(&package, "name").to_owned(), text(target, "src_path").into()));
            }
        }
    }
    assert!(roots.len() >= FLOORS.concat().len(), "{roots:?}");
    roots
}

/// The packages of the workspace, as `cargo metadata` describes them.
fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--offline", "--no-deps", "--format-version", "1"]).current_dir(workspace());
    let output = command.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    array(&metadata, "packages").to_vec()
}

fn workspace() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("xtask is in crates/")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().expect("a string in cargo's metadata")
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().expect("a list in cargo's metadata")
}

/// Reads a crate that consists of the given files and contents.
fn made_up(files: &[(&str, &str)]) -> Crate {
    let files: BTreeMap<PathBuf, &str> = files.iter().map(|&(path, text)| (path.into(), text)).collect();
    Crate::read(Path::new("src/lib.rs"), &|path| files.get(path).map(|&text| text.to_owned()))
}

/// Formats each edge as `from -> to (file:line)`.
fn listed(source: &Crate) -> Vec<String> {
    let at = |u: &Use| format!("{}:{}", u.file.display(), u.line);
    source.edges().iter().map(|(&(from, to), &u)| format!("{from} -> {to} ({})", at(u))).collect()
}

#[test]
fn every_form_of_import_is_parsed() {
    let source = made_up(&[
        (
            "src/lib.rs",
            "mod a; mod b; pub mod c; mod d { pub fn f() { crate::c::g() } } mod e;
             pub use b::{B, deep::{C as D}};
             pub use e::*;
             pub fn top() { a::x() }",
        ),
        (
            "src/a/mod.rs",
            "mod inner;
             #[cfg(test)] mod tests { use crate::e::Nothing; }
             #[cfg(test)] mod more;
             // use crate::e::Nothing;
             const TEXT: &str = \"crate::e::Nothing\";
             use crate::{
                 c::{self, x::Y},
                 D,
             };",
        ),
        ("src/a/inner.rs", "fn f() -> super::super::d::T { super::g() }"),
        ("src/a/more.rs", "use crate::e::Nothing;"),
        (
            "src/b.rs",
            "macro_rules! m { () => { $crate::d::f() } } fn g() { crate::m!() } #[cfg(test)] use crate::{e::X, c};",
        ),
        ("src/c.rs", "use super::Found; use std::{fmt, io}; impl From<crate::B> for X {}"),
        ("src/e.rs", "use self::f::X; mod f { use super::super::top; }"),
    ]);
    assert!(source.unclear.is_empty());
    assert_eq!(
        listed(&source),
        [
            "a -> b (src/a/mod.rs:8)",
            "a -> c (src/a/mod.rs:7)",
            "a -> d (src/a/inner.rs:1)",
            "b -> d (src/b.rs:1)",
            "c -> b (src/c.rs:1)",
            "c -> e (src/c.rs:1)",
            "d -> c (src/lib.rs:1)",
            "e -> lib.rs (src/e.rs:1)",
            "lib.rs -> a (src/lib.rs:4)",
        ]
    );
    // Only uses in the code of the root itself are edges; re-exports are not.
    assert_eq!(components(&source.edges()), [["a", "b", "c", "d", "e", "lib.rs"]]);
}

#[test]
fn a_cycle_is_reported_by_its_shortest_path() {
    let source = made_up(&[
        ("src/lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
        ("src/a.rs", "use crate::b::B;"),
        ("src/b.rs", "use crate::c::C; use crate::d::D;"),
        ("src/c.rs", "use crate::d::D;"),
        ("src/d.rs", "use crate::a::A; use crate::e::E;"),
        ("src/e.rs", ""),
    ]);
    let edges = source.edges();
    let components = components(&edges);
    assert_eq!(components, [["a", "b", "c", "d"]]);
    assert_eq!(circle(&edges, &components[0]), [("a", "b"), ("b", "d"), ("d", "a")]);
}

#[test]
fn glob_imports_between_rooms_are_rejected() {
    let source = made_up(&[("src/lib.rs", "mod a; mod b;"), ("src/a.rs", "use crate::*;"), ("src/b.rs", "")]);
    assert_eq!(source.unclear.len(), 1);
}
