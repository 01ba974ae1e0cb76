//! Propagation on programs in text form, and on real programs compared with Shardy.
//!
//! In `data/propagate.mlir` a `// sharding:` comment gives the sharding of each result of the operation below it, and `// args:` and `//
//! results:` those of the function below them. `SHARDC_BLESS=1` writes the inferred shardings.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;

use shardc_analysis::propagate::{AnnotationSource, AxisRole, Cause, PropagateOptions, Subject, propagate};
use shardc_analysis::transforms::inline::inline_calls;
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{AxisRef, Mesh, MeshId, Module, OpKind, ShardingId, SubAxis, TensorSharding, verify};

fn parse(text: &str) -> Module {
    shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn propagated(text: &str, options: &PropagateOptions) -> Module {
    let mut module = parse(text);
    inline_calls(&mut module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    propagate(&mut module, options).unwrap_or_else(|errors| panic!("{errors:#?}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    module
}

fn show(module: &Module, id: Option<ShardingId>) -> String {
    id.map_or("none".to_owned(), |id| {
        let sharding = module.shardings.get(id);
        sharding.display(&module.meshes[sharding.mesh])
    })
}

/// Returns the program with each `// sharding:`, `// args:` and `// results:` comment rewritten to contain the propagated shardings.
fn annotated(text: &str) -> String {
    let module = propagated(text, &PropagateOptions::default());
    let (func, body) =
        module.entry().and_then(|f| Some((f, module.funcs[f].body?))).expect("an entry function");
    let args: Vec<String> =
        module.regions[body].args.iter().map(|&v| show(&module, module.shardings.of(v))).collect();
    let results: Vec<String> =
        module.funcs[func].res_shardings.iter().map(|s| show(&module, s.expand())).collect();
    let ops = module.walk(body);
    let mut out = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let trimmed = line.trim();
        if trimmed.starts_with("// args:") {
            out += &format!("{indent}// args: {}\n", args.join("; "));
        } else if trimmed.starts_with("// results:") {
            out += &format!("{indent}// results: {}\n", results.join("; "));
        } else if trimmed.starts_with("// sharding:") {
            let end = at + text[at..].find('\n').unwrap_or(text.len() - at);
            let below = |&&op: &&shardc_ir::OpId| (at..end).contains(&(module.ops[op].span.start as usize));
            let found: Vec<String> = ops.iter().find(below).map_or_else(Vec::new, |&op| {
                module.ops[op].results.iter().map(|&v| show(&module, module.shardings.of(v))).collect()
            });
            out += &format!("{indent}// sharding: {}\n", found.join("; "));
        } else {
            out += line;
        }
    }
    out
}

#[test]
fn shardings_match_the_expected_text() {
    let text = include_str!("../data/propagate.mlir");
    let found: Vec<String> = text.split("// -----\n").map(annotated).collect();
    let found = found.join("// -----\n");
    if std::env::var_os("SHARDC_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/propagate.mlir");
        std::fs::write(path, &found).expect("the data can be written");
        return;
    }
    for (i, (found, expected)) in found.lines().zip(text.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", i + 1);
    }
}

/// Returns the path of the shared data folder, if the folder exists.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SHARDC_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    path.is_dir().then_some(path)
}

/// Returns the shardings of arguments, results and constraints, one per line; unsharded tensors are omitted.
fn summary(module: &Module) -> Vec<String> {
    let mut out = Vec::new();
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else {
        return out;
    };
    let mut add = |kind: &str, i: usize, id: Option<ShardingId>| {
        if id.is_some_and(|id| !module.shardings.get(id).is_unsplit()) {
            out.push(format!("{kind} {i} {}", show(module, id)));
        }
    };
    for (i, &arg) in module.regions[body].args.iter().enumerate() {
        add("arg", i, module.shardings.of(arg));
    }
    for (i, id) in module.funcs[func].res_shardings.iter().enumerate() {
        add("res", i, id.expand());
    }
    let constraints = module.walk(body).into_iter().filter_map(|op| match module.ops[op].kind {
        OpKind::ShardingConstraint(id) => Some(id),
        _ => None,
    });
    for (i, id) in constraints.enumerate() {
        add("con", i, Some(id));
    }
    out
}

#[test]
fn real_programs_are_sharded_as_in_shardy() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/shardy");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the data is there").map(|f| f.expect("a file").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "txt"));
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let name = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        let program = shared().map(|shared| shared.join(format!("corpus/jax/{name}.mlir")));
        let Some(text) = program.and_then(|path| std::fs::read_to_string(path).ok()) else {
            skip(Need::Shared, &format!("no corpus/jax/{name}.mlir in the shared folder"));
            continue;
        };
        let expected = std::fs::read_to_string(&file).expect("the data can be read");
        let found = summary(&propagated(&text, &PropagateOptions::default()));
        let expected: Vec<&str> = expected.lines().collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn each_axis_comes_from_an_annotation() {
    let text = r#"
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %w: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.tanh %x : tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
"#;
    let mut module = parse(text);
    let report =
        propagate(&mut module, &PropagateOptions { provenance: true, ..PropagateOptions::default() })
            .expect("it propagates");
    let name = |subject: Subject| match subject {
        Subject::Result(_) => "result".to_owned(),
        Subject::Value(v) => {
            module.def_op(v).map_or("arg".to_owned(), |op| module.ops[op].kind.name().to_owned())
        }
    };
    let provenance = report.provenance.expect("it was asked for");
    let steps: Vec<String> = provenance
        .arrivals()
        .iter()
        .map(|arrival| {
            let mesh = module.meshes.values().next().expect("a mesh");
            let from = match arrival.cause {
                Cause::Annotation(_) => "its annotation".to_owned(),
                Cause::Carried { from, .. }
                | Cause::Returned { from }
                | Cause::Donated { from }
                | Cause::Group { from } => name(from),
            };
            let axis = mesh.axis_text(arrival.axis);
            format!("{} {:?} {axis} from {from}", name(arrival.subject), arrival.place)
        })
        .collect();
    assert_eq!(
        steps,
        [
            "arg Dim(0) a from its annotation",
            "stablehlo.tanh Dim(0) a from arg",
            "stablehlo.dot_general Dim(0) a from stablehlo.tanh",
            "result Dim(0) a from stablehlo.dot_general",
        ]
    );
    let chains = provenance.chains(Subject::Result(0), AxisRole::Dim(0), AxisRef::whole(0));
    assert_eq!(chains.len(), 1);
    assert_eq!(chains[0].links.len(), 4);
    assert_eq!(chains[0].origin(), Some(AnnotationSource::Argument(0)));
}

#[test]
fn wrong_shardings_are_errors() {
    let mut module =
        parse("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n");
    let mesh = module.add_mesh("mesh", shardc_ir::Mesh::new([("a", 2)]));
    let arg = module.regions[module.funcs.values().next().and_then(|f| f.body).expect("a body")].args[0];
    let id = module.shardings.intern(shardc_ir::TensorSharding::open(mesh, 2));
    module.shardings.set(arg, Some(id));
    let errors = propagate(&mut module, &PropagateOptions::default()).expect_err("the rank is wrong");
    assert_eq!(errors[0].to_string(), "error[SH0802]: a tensor of rank 1 has a sharding of rank 2");
    let errors =
        propagate(&mut Module::new(), &PropagateOptions::default()).expect_err("there is no function");
    assert_eq!(errors[0].code, "SH0801");
}

#[test]
fn group_members_must_be_compatible() {
    let mut module = parse(
        "func.func @main(%x: tensor<8xf32>, %y: tensor<4xf32>) {\n  \"sdy.sharding_group\"(%x) <{group_id = 1 : i64}> : (tensor<8xf32>) -> ()\n  \"sdy.sharding_group\"(%y) <{group_id = 1 : i64}> : (tensor<4xf32>) -> ()\n  return\n}\n",
    );
    module.add_mesh("mesh", shardc_ir::Mesh::new([("a", 2)]));
    let errors = propagate(&mut module, &PropagateOptions::default()).expect_err("the shapes differ");
    assert_eq!(errors[0].to_string(), "error[SH0804]: values of sharding group 1 have different shapes");
}

/// Small random numbers from a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }

    /// Returns a random sharding with axes and sub-axes, open and closed dimensions, priorities and replicated axes.
    fn sharding(&mut self, mesh_id: MeshId, mesh: &Mesh, rank: usize) -> TensorSharding {
        let mut out = TensorSharding::replicated(mesh_id, rank);
        for (i, &n) in mesh.axes.values().enumerate() {
            let whole = AxisRef::whole(i);
            let part = |pre: u32, size: u32| AxisRef { sub: Some(SubAxis { pre, size }), ..whole };
            let parts = if n > 2 && n % 2 == 0 && self.below(2) == 0 {
                vec![part(1, 2), part(2, n as u32 / 2)]
            } else {
                vec![whole]
            };
            let mut last = None;
            for part in parts {
                let place = self.below(rank + 2);
                if place < rank && last != Some(place) {
                    out.dims[place].axes.push(part);
                    last = Some(place);
                } else if place == rank {
                    out.replicated.push(part);
                }
            }
        }
        for dim in &mut out.dims {
            dim.open = self.below(2) == 0;
            if self.below(4) == 0 && (dim.open || !dim.axes.is_empty()) {
                dim.priority = Some(self.below(3) as u32);
            }
        }
        out
    }
}

/// For any annotations, propagation terminates, every value gets a valid sharding, and the annotated axes of arguments stay.
#[test]
fn random_annotations_give_valid_shardings() {
    let programs = include_str!("../data/propagate.mlir").split("// -----\n");
    let programs = programs.filter(|p| !p.contains("manual_computation")).map(parse);
    for (i, mut program) in programs.enumerate() {
        inline_calls(&mut program).unwrap_or_else(|errors| panic!("{errors:#?}"));
        for seed in 0..50 {
            let mut module = program.clone();
            let mut random = Random((i as u64 * 50 + seed) * 2 + 0x9e37_79b9);
            let shapes: [&[(&str, i64)]; 3] =
                [&[("x", 2), ("y", 4)], &[("x", 6), ("y", 1), ("z", 3)], &[("x", 8), ("y", 2), ("z", 5)]];
            let mesh = Mesh::new(shapes[random.below(3)].iter().copied());
            let mesh_id = module.add_mesh("random", mesh.clone());
            let (func, body) =
                module.entry().and_then(|f| Some((f, module.funcs[f].body?))).expect("an entry function");
            module.shardings.clear_values();
            module.funcs[func].res_shardings.clear();
            let mut values = module.regions[body].args.clone();
            let args = values.len();
            for op in module.walk(body) {
                values.extend(&module.ops[op].results);
            }
            for (i, &value) in values.iter().enumerate() {
                if module.tensor(value).is_some() && (i < args || random.below(4) == 0) {
                    let sharding = random.sharding(mesh_id, &mesh, module.rank(value));
                    let id = module.shardings.intern(sharding);
                    module.shardings.set(value, Some(id));
                    if let Some(op) = module.def_op(value)
                        && matches!(module.ops[op].kind, OpKind::ShardingConstraint(_))
                    {
                        module.ops[op].kind = OpKind::ShardingConstraint(id);
                    }
                }
            }
            let given: Vec<_> =
                values[..args].iter().map(|&v| module.shardings.sharding_of(v).cloned()).collect();
            propagate(&mut module, &PropagateOptions::default())
                .unwrap_or_else(|errors| panic!("{errors:#?}"));
            verify(&module).unwrap_or_else(|errors| panic!("program {i}, seed {seed}: {errors:#?}"));
            for op in module.walk(body) {
                for &value in &module.ops[op].results {
                    assert!(module.shardings.of(value).is_some(), "program {i}, seed {seed}");
                }
            }
            for (&arg, given) in values[..args].iter().zip(given) {
                let Some(given) = given else { continue };
                let found = module.shardings.sharding_of(arg).expect("each argument has a sharding");
                for (given, found) in given.dims.iter().zip(&found.dims) {
                    let split = |axes: &[AxisRef]| mesh.axes_size(axes);
                    assert!(
                        given.open || split(&given.axes) == split(&found.axes),
                        "program {i}, seed {seed}"
                    );
                }
            }
        }
    }
}
