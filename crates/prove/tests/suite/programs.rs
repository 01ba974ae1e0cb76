//! Training steps, and damages of their partitions. `tests/data` has partitions that `shardc partition` wrote.

use std::path::Path;

use serde_json::Value;
use shardc_filetest::sample::sample;
use shardc_ir::ReductionKind;
use shardc_mutate::{Damage, Found, Random, Rewrite, Subject, damage_sites};
use shardc_prove::{AxisDigit, Block, Boundary, Options, Verdict};

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

fn program(name: &str) -> Subject {
    let original = module(&read(&format!("../../tests/programs/{name}.mlir")));
    let partitioned = module(&read(&format!("tests/data/{name}.mlir")));
    let manifest = serde_json::from_str(&read(&format!("tests/data/{name}.json"))).unwrap();
    Subject { name: name.to_owned(), original, partitioned, boundary: boundary(&manifest), certificate: None }
}

#[test]
fn training_steps_are_proven() {
    for name in PROGRAMS {
        let report = program(name).check(&Options::default()).unwrap();
        assert_eq!(report.verdict, Verdict::Proven, "{name}: {:#?}", report.places);
        assert!(report.kinds.values().all(|counts| counts.not_decided == 0));
    }
}

#[test]
fn damages_are_refuted_at_their_place() {
    let mut subject = program("mlp_dp_tp_train");
    subject.certify(&Options::default()).unwrap();
    let sites = Damage::ALL.iter().flat_map(|&damage| {
        damage_sites(&subject.partitioned, damage).into_iter().map(move |op| (op, damage))
    });
    let (mut changed, mut located) = (0, 0);
    for (seed, (op, damage)) in (1..).zip(sample(sites, 1, 7)) {
        let trial = subject.damage_at(op, damage, &mut Random::new(seed), &Options::default()).unwrap();
        let Some(trial) = trial else { continue };
        assert!(!trial.is_wrong(), "{trial:?}");
        if trial.changes == Some(true) {
            assert_eq!(trial.verdict, Verdict::Refuted, "{trial:?}");
            changed += 1;
            located += usize::from(matches!(trial.found, Found::Exact | Found::Near));
        }
    }
    assert!(changed > 8, "{changed} damages change a value");
    assert_eq!(located, changed, "damages are located with the certificate");
}

#[test]
fn rewrites_are_not_refuted() {
    let subject = program("mlp_dp_tp_train");
    for (seed, rewrite) in (1..).zip(Rewrite::ALL.into_iter().cycle().take(24)) {
        let trial = subject.rewrite(rewrite, 3, &mut Random::new(seed), &Options::default()).unwrap();
        if let Some(trial) = trial {
            assert_eq!(trial.changes, Some(false), "{trial:?}");
            assert!(matches!(trial.verdict, Verdict::Proven | Verdict::Tested), "{trial:?}");
        }
    }
}
