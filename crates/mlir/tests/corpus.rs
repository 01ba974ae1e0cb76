//! Every real program of the shared corpus lowers, in both modes.

use std::{env, fs, path::PathBuf};

use shardc_ir::OpKind;
use shardc_mlir::{LowerOptions, SpmdMode, to_bytecode, to_generic_text};

/// Larger programs repeat the operations of small ones.
const LARGEST: u64 = 1 << 20;

fn corpus() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let dir = env::var_os("SHARDC_SHARED").map_or_else(beside, PathBuf::from).join("corpus");
    dir.is_dir().then_some(dir)
}

#[test]
fn real_programs_lower() {
    let Some(corpus) = corpus() else {
        eprintln!("SKIPPED: no shared/corpus beside the checkout");
        return;
    };
    let mut lowered = 0;
    for suite in ["jax", "torch_xla"] {
        let mut files: Vec<_> =
            fs::read_dir(corpus.join(suite)).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        for file in files {
            let small = fs::metadata(&file).unwrap().len() < LARGEST;
            if !small || file.extension().is_none_or(|e| e != "mlir") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let module =
                shardc_stablehlo::parse(&text).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
            let only_global =
                module.bodies().flat_map(|body| module.walk(body)).any(|op| match &module.ops[op].kind {
                    OpKind::ManualComputation(_) => true,
                    OpKind::CustomCall(call) => &*call.target == "SPMDFullToShardShape",
                    _ => false,
                });
            for spmd_mode in [SpmdMode::Replica, SpmdMode::Partition] {
                let options = LowerOptions { spmd_mode, ..LowerOptions::default() };
                match to_bytecode(&module, &options) {
                    Ok(bytes) => {
                        assert!(!only_global && bytes.starts_with(b"ML\xefR"), "{}", file.display());
                        lowered += 1;
                    }
                    Err(error) => {
                        assert!(only_global && error.code == "SH0501", "{}: {error}", file.display());
                    }
                }
            }
            assert_eq!(to_generic_text(&module, &LowerOptions::default()).is_ok(), !only_global);
        }
    }
    assert!(lowered > 0, "no program in {}", corpus.display());
}
