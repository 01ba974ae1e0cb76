//! Training steps, and damages of their partitions. `tests/data` has partitions that `shardc partition` wrote.

use std::path::Path;

use serde_json::Value;
use shardc_filetest::sample::sample;
use shardc_ir::{Module, ReductionKind};
use shardc_prove::{AxisDigit, Block, Boundary, Evidence, Options, Verdict, prove};

use crate::damage;
use crate::support::module;

const PROGRAMS: [&str; 2] = ["mlp_dp_tp_train", "llama_tiny_sp_train"];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The boundary of a manifest whose tensors are sharded along entire axes.
fn boundary(manifest: &Value) -> Boundary {
    let number = |value: &Value| value.as_u64().unwrap();
    let mut stride = 1;
    let mut axes = Vec::new();
    for axis in manifest["mesh"]["axes"].as_array().unwrap().iter().rev() {
        axes.push((axis["name"].as_str().unwrap(), AxisDigit { stride, size: number(&axis["size"]) }));
        stride *= number(&axis["size"]);
    }
    let axis = |name: &Value| axes.iter().find(|(own, _)| Some(*own) == name.as_str()).unwrap().1;
    let list = |value: &Value| value.as_array().unwrap().iter().map(number).collect();
    let block = |tensor: &Value| Block {
        global: list(&tensor["global_shape"]),
        local: list(&tensor["local_shape"]),
        axes: tensor["spec"]
            .as_array()
            .unwrap()
            .iter()
            .map(|dim| dim.as_array().unwrap().iter().map(axis).collect())
            .collect(),
        unreduced: Vec::new(),
        reduction: ReductionKind::Add,
    };
    Boundary {
        are_partitions: manifest["spmd_mode"] == "partition",
        device_ids: (0..stride as i64).collect(),
        inputs: manifest["inputs"].as_array().unwrap().iter().map(block).collect(),
        outputs: manifest["outputs"].as_array().unwrap().iter().map(block).collect(),
    }
}

fn program(name: &str) -> (Module, Module, Boundary) {
    let original = module(&read(&format!("../../tests/programs/{name}.mlir")));
    let partitioned = module(&read(&format!("tests/data/{name}.mlir")));
    let manifest = serde_json::from_str(&read(&format!("tests/data/{name}.json"))).unwrap();
    (original, partitioned, boundary(&manifest))
}

#[test]
fn training_steps_are_proven() {
    for name in PROGRAMS {
        let (original, partitioned, boundary) = program(name);
        let report = prove(&original, &partitioned, &boundary, &Options::default()).unwrap();
        assert_eq!(report.verdict, Verdict::Proven, "{name}: {:#?}", report.places);
        assert!(report.kinds.values().all(|counts| counts.not_decided == 0));
    }
}

#[test]
fn no_damaged_step_is_proven() {
    let (original, partitioned, boundary) = program("mlp_dp_tp_train");
    let quick = Options { test_work: None, ..Options::default() };
    let full = Options { always_test: true, ..Options::default() };
    let mut changed = 0;
    for (op, kind) in sample(damage::all(&partitioned).into_iter(), 1, 7) {
        let mut damaged = partitioned.clone();
        if !damage::apply(&mut damaged, op, kind) || shardc_ir::verify(&damaged).is_err() {
            continue;
        }
        let proof = prove(&original, &damaged, &boundary, &quick).unwrap();
        let test = prove(&original, &damaged, &boundary, &full).unwrap();
        let is_wrong = test.evidence == Some(Evidence::Test);
        changed += usize::from(is_wrong);
        let name = partitioned.ops[op].kind.name();
        assert!(!is_wrong || proof.verdict != Verdict::Proven, "{kind:?} of {name} is proven");
        assert!(
            is_wrong || test.untested.is_some() || proof.verdict != Verdict::Refuted,
            "{kind:?} of {name}"
        );
    }
    assert!(changed > 3, "{changed} damages change a value");
}
