//! Passes run by name in any order: each succeeds or returns an error, and none panics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use shardc_ir::{Module, SpmdMode, verify};
use shardc_passes::driver::pass_options::PassOptions;
use shardc_passes::driver::passes::{PASSES, PassContext};

/// Number of random pass sequences.
const RUNS: usize = 2000;

/// Returns the programs of the filetests in these folders: inputs of passes from all stages of the pipeline.
fn modules() -> Vec<(PathBuf, Module)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests");
    let folders =
        ["localize", "lower-reshards", "plan", "propagate", "import", "unroll-manual", "propagate-shardy"];
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("the folder is there"))
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let parsed = shardc_stablehlo::parse_split(&text).into_iter().filter_map(|chunk| chunk.module.ok());
        out.extend(parsed.filter(|module| verify(module).is_ok()).map(|module| (path.clone(), module)));
    }
    out
}

#[test]
fn passes_in_any_order_do_not_panic() {
    let modules = modules();
    assert!(modules.len() > 50, "{} programs", modules.len());
    // Xorshift, with a fixed seed: a failure is reproducible.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    for _ in 0..RUNS {
        let (path, module) = &modules[draw(modules.len())];
        let mut module = module.clone();
        let mode = if draw(2) == 0 { SpmdMode::Replica } else { SpmdMode::Partition };
        let sequence: Vec<usize> = (0..=draw(4)).map(|_| draw(PASSES.len())).collect();
        // The names are printed if a pass panics.
        let names: Vec<&str> = sequence.iter().map(|&pass| PASSES[pass].name).collect();
        eprintln!("{}: {}", path.display(), names.join(","));
        for pass in sequence {
            let mut context = PassContext::new(mode, PassOptions::default());
            if PASSES[pass].run(&mut module, &mut context).is_err() || verify(&module).is_err() {
                refused += 1;
                break;
            }
        }
    }
    assert!(refused > 0 && refused < RUNS, "{refused} of {RUNS} were refused");
}
