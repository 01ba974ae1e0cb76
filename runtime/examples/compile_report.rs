//! Compiles StableHLO files and prints the compiler's report of each as one line of JSON.
//!
//! ```text
//! cargo run -p shardc-runtime --example compile_report -- TARGET MODE DEVICES FILE...
//! cargo run -p shardc-runtime --example compile_report -- tpu:v5e:2x4 replica 8 model.mlir
//! ```
//!
//! `TARGET` is `cpu`, `cuda` or a TPU slice; the slice need not exist. `MODE` is `replica`, `partition`, or `shardy` (XLA partitions the
//! program by its annotations). Each file is compiled in its own process, because the TPU compiler aborts on some invalid programs.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::ExitCode;

use shardc_runtime::aot::{self, CHILD_COMMAND, CompileRequest, Target};
use shardc_runtime::{CompileOptions, Environment, Result, RuntimeError, plugin};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == CHILD_COMMAND) {
        return ExitCode::from(arguments.get(1).map_or(2, |path| aot::run_child(Path::new(path))));
    }
    let [target, mode, devices, files @ ..] = arguments.as_slice() else {
        eprintln!("usage: compile_report TARGET MODE DEVICES FILE...");
        return ExitCode::from(2);
    };
    let mut failed = false;
    for file in files {
        match report(target, mode, devices, file) {
            Ok(line) => println!("{line}"),
            Err(error) => {
                failed = true;
                eprintln!("{file}: {} {}: {error}", error.code(), error.class());
                if let Some(hint) = error.hint() {
                    eprintln!("hint: {hint}");
                }
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

fn report(target: &str, mode: &str, devices: &str, file: &str) -> Result<String> {
    let target = Target::parse(target)?;
    let count = devices
        .parse()
        .map_err(|_| RuntimeError::Argument(format!("`{devices}` is not a number of devices")))?;
    let options = match mode {
        "replica" => CompileOptions::replicas(count),
        "partition" => CompileOptions::partitions(count),
        "shardy" => CompileOptions { shardy: true, ..CompileOptions::partitions(count) },
        _ => {
            return Err(RuntimeError::Argument(format!(
                "unknown mode `{mode}`: must be replica, partition or shardy"
            )));
        }
    };
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source: std::io::Error| RuntimeError::Io { path, source: source.into() }
    };
    let request = CompileRequest {
        plugin: plugin::find(target.kind(), &Environment::from_process())?.path,
        target,
        program: std::fs::read(file).map_err(io(Path::new(file)))?,
        options,
        executable: None,
    };
    let this = std::env::current_exe().map_err(io(Path::new("this program")))?;
    let report = aot::compile_in_child(&this, &request)?;
    Ok(serde_json::json!({ "file": file, "sent": report.bytes_sent(), "report": report }).to_string())
}
