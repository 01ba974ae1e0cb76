//! Every program of the shared corpus is lowered in partition mode and in replica mode, and its bytecode parses to the same module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use shardc_analysis::transforms::legalize_backend::BackendOptions;
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{Module, OpKind};
use shardc_mlir::{LowerOptions, SpmdMode, to_bytecode, to_generic_text, write_bytecode};
use shardc_stablehlo::{BytecodeOptions, PrintOptions, print};

/// Larger programs are skipped: they repeat the operations of small programs.
const LARGEST: u64 = 1 << 20;

fn corpus() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let dir = env::var_os("SHARDC_SHARED").map_or_else(beside, PathBuf::from).join("corpus");
    dir.is_dir().then_some(dir)
}

/// The programs of the corpus that are not too large, with their texts.
fn programs() -> Vec<(PathBuf, String)> {
    let Some(corpus) = corpus() else {
        skip(Need::Shared, "no shared/corpus beside the checkout");
        return Vec::new();
    };
    let folders = ["jax", "torch_xla"].map(|suite| fs::read_dir(corpus.join(suite)).unwrap());
    let mut files: Vec<_> = folders.into_iter().flatten().map(|f| f.unwrap().path()).collect();
    files.retain(|file| {
        fs::metadata(file).unwrap().len() < LARGEST && file.extension().is_some_and(|e| e == "mlir")
    });
    files.sort();
    assert!(!files.is_empty(), "no program in {}", corpus.display());
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
}

fn read(file: &Path, text: &str) -> Module {
    shardc_stablehlo::parse(text).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()))
}

#[test]
fn real_programs_survive_a_bytecode_round_trip() {
    for (file, text) in programs() {
        let module = read(&file, &text);
        let options = PrintOptions { locations: text.contains("loc("), ..PrintOptions::default() };
        let bytes = write_bytecode(&module, options.locations)
            .unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        let again =
            shardc_stablehlo::parse_bytecode(&bytes).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        assert!(
            print(&again, &options) == print(&module, &options),
            "{} comes back as another program",
            file.display()
        );
        let own = shardc_stablehlo::to_bytecode(&module, &BytecodeOptions::default())
            .unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        let own =
            shardc_stablehlo::parse_bytecode(&own).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        assert!(
            print(&own, &options) == print(&again, &options),
            "{}: the bytecode of shardc and that of MLIR are two programs",
            file.display()
        );
    }
}

#[test]
fn real_programs_lower() {
    for (file, text) in programs() {
        let module = read(&file, &text);
        let only_global =
            module.bodies().flat_map(|body| module.walk(body)).any(|op| match &module.ops[op].kind {
                OpKind::ManualComputation(_) => true,
                OpKind::CustomCall(call) => &*call.target == "SPMDFullToShardShape",
                _ => false,
            });
        for spmd_mode in [SpmdMode::Replica, SpmdMode::Partition] {
            let backend = BackendOptions { spmd_mode, ..BackendOptions::default() };
            let options = LowerOptions { backend, ..LowerOptions::default() };
            match to_bytecode(&module, &options) {
                Ok(bytes) => {
                    assert!(!only_global && bytes.starts_with(b"ML\xefR"), "{}", file.display());
                }
                Err(error) => {
                    assert!(only_global && error.code == "SH0501", "{}: {error}", file.display());
                }
            }
        }
        assert_eq!(to_generic_text(&module, &LowerOptions::default()).is_ok(), !only_global);
    }
}
