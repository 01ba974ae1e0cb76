//! Writes the training steps of the graph builder as StableHLO: `steps DIR MESH...` writes `DIR/NAME.MESH.mlir` for each step and mesh.

use std::{env, fs, path::PathBuf, process::ExitCode};

use shardc_tests::steps::STEPS;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let Some(folder) = words.next().map(PathBuf::from) else {
        eprintln!("usage: steps DIR MESH...");
        return ExitCode::FAILURE;
    };
    for mesh in words {
        for step in STEPS {
            let file = folder.join(step.file(&mesh));
            if let Err(error) = fs::write(&file, step.text(&mesh)) {
                eprintln!("{}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
