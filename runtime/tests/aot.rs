//! Tests of ahead-of-time compilation in this process and in a child process.
//!
//! This test has its own `main`, because the child process is this same program, run as `aot __aot-compile REQUEST`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::ExitCode;

use common::{ALL_REDUCE_PARTITIONS, ALL_REDUCE_REPLICAS, found};
use shardc_runtime::aot::{self, CHILD_COMMAND, CompileRequest, Target};
use shardc_runtime::doctor::{Health, doctor};
use shardc_runtime::{CompileOptions, Environment, ErrorClass, PluginKind, RuntimeError, plugin};

fn request(target: &str, program: &str, options: CompileOptions) -> Option<CompileRequest> {
    let target = Target::parse(target).unwrap();
    let plugin = found(target.kind())?.path;
    Some(CompileRequest { target, plugin, program: program.as_bytes().to_vec(), options, executable: None })
}

fn in_child(request: &CompileRequest) -> Result<aot::CompileReport, RuntimeError> {
    aot::compile_in_child(&std::env::current_exe().unwrap(), request)
}

fn cpu_here_and_in_a_child() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut request) = request("cpu", ALL_REDUCE_REPLICAS, CompileOptions::replicas(8)) else { return };
    request.executable = Some(directory.path().join("sum.exe"));
    let mut here = aot::compile(&request).unwrap();
    let mut there = in_child(&request).unwrap();
    (here.compile_seconds, there.compile_seconds) = (0.0, 0.0);
    // The sizes of the serialized executables are not compared: they may differ in time stamps or names.
    there.executable_bytes = here.executable_bytes;
    assert_eq!(here, there);
    assert_eq!((here.devices, here.argument_bytes, here.bytes_sent()), (8, 16, 28));
    // Statistics that the CPU compiler does not report are absent, not 0.
    let json = serde_json::to_value(&here).unwrap();
    assert!(json.get("generated_code_bytes").is_none() && json.get("flops").is_some(), "{json}");
    assert!(json.get("peak_bytes").is_none_or(|n| n.as_u64() > Some(0)), "{json}");
    assert!(std::fs::metadata(directory.path().join("sum.exe")).unwrap().len() > 0);
}

fn tpu_in_a_child() {
    for (program, options) in [
        (ALL_REDUCE_REPLICAS, CompileOptions::replicas(8)),
        (ALL_REDUCE_PARTITIONS, CompileOptions::partitions(8)),
    ] {
        let Some(request) = request("tpu:v5e:2x4", program, options) else { return };
        assert_eq!(aot::device_count(&request.target, &request.plugin).unwrap(), Some(8));
        let report = in_child(&request).unwrap();
        assert_eq!((report.devices, report.bytes_sent()), (8, 28), "{report:?}");
        assert_eq!(report.collectives["all-reduce"].count, 1);
        assert!(report.executable_bytes.is_some() && report.argument_bytes >= 16, "{report:?}");
    }
}

/// Compiles for GPUs on a machine without a GPU or a driver.
fn absent_gpus() {
    for (target, program, options) in [
        ("cuda:h100:8", ALL_REDUCE_REPLICAS, CompileOptions::replicas(8)),
        ("cuda:a100-40gb:8", ALL_REDUCE_PARTITIONS, CompileOptions::partitions(8)),
        ("cuda:rtx4090:2x4", ALL_REDUCE_PARTITIONS, CompileOptions::partitions(8)),
        ("cuda:b200:4x2", ALL_REDUCE_REPLICAS, CompileOptions::replicas(8)),
    ] {
        let Some(request) = request(target, program, options) else { return };
        assert_eq!(aot::device_count(&request.target, &request.plugin).unwrap(), Some(8));
        let report = in_child(&request).unwrap();
        assert_eq!((report.devices, report.argument_bytes, report.output_bytes), (8, 16, 16), "{report:?}");
        assert_eq!((report.bytes_sent(), report.collectives["all-reduce"].count), (28, 1), "{report:?}");
        assert!(report.device_bytes > Some(20 << 30) && report.require_fit().is_ok(), "{report:?}");
    }
}

/// The GPU compiler accepts programs of any size; the check of the report rejects those that do not fit.
fn programs_exceeding_gpu_memory_are_rejected() {
    const DOUBLED: &str = r#"
        func.func public @main(%x: tensor<4294967296xf32>) -> tensor<4294967296xf32> {
          %0 = stablehlo.add %x, %x : tensor<4294967296xf32>
          return %0 : tensor<4294967296xf32>
        }"#;
    let Some(request) = request("cuda:rtx4090:1", DOUBLED, CompileOptions::replicas(1)) else { return };
    let error = in_child(&request).unwrap().require_fit().unwrap_err();
    assert_eq!(error.code(), "RT0503");
    assert_eq!(
        error.to_string(),
        "the program needs 32.0 GiB on a device, but a device of cuda:rtx4090:1 has 23.6 GiB"
    );
}

fn errors_cross_from_the_child() {
    let Some(request) = request("cpu", "nonsense", CompileOptions::replicas(1)) else { return };
    let error = in_child(&request).unwrap_err();
    assert_eq!((error.code(), error.class()), ("RT0202", ErrorClass::InvalidInput));
}

fn tpu_slices_are_checked() {
    let Some(mut request) = request("tpu:v5e:2x4", ALL_REDUCE_REPLICAS, CompileOptions::replicas(4)) else {
        return;
    };
    let error = in_child(&request).unwrap_err();
    assert!(matches!(error, RuntimeError::Devices { program: 4, available: 8 }), "{error}");
    request.target = Target::parse("tpu:v99:2x4").unwrap();
    let error = in_child(&request).unwrap_err();
    assert!(["RT0501", "RT0502"].contains(&error.code()), "{error}");
}

fn wrong_replica_groups_are_invalid_input() {
    let program = ALL_REDUCE_REPLICAS.replace(
        "dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>",
        "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>",
    );
    for target in ["cpu", "tpu:v5e:2x4", "cuda:h100:8"] {
        let Some(request) = request(target, &program, CompileOptions::replicas(8)) else { continue };
        let error = in_child(&request).unwrap_err();
        // The compiler returns an error, or in other versions of libtpu aborts, which is reported, too.
        let rejected = error.code() == "RT0202" && error.class() == ErrorClass::InvalidInput;
        assert!(rejected || error.code() == "RT0502", "{target}: {} {error}", error.code());
    }
}

fn a_compiler_that_aborts_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let Some(request) = request("cpu", ALL_REDUCE_REPLICAS, CompileOptions::replicas(8)) else { return };
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("aborts");
    std::fs::write(&program, "#!/bin/sh\nfor i in $(seq 5000); do echo line $i >&2; done\nkill -ABRT $$\n")
        .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = aot::compile_in_child(&program, &request).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("SIGABRT") && text.ends_with("line 4999\nline 5000"), "{text}");
    assert!(!text.contains("line 4900"), "{text}");
}

fn a_child_that_answers_nothing_is_an_error() {
    let Some(request) = request("cpu", ALL_REDUCE_REPLICAS, CompileOptions::replicas(8)) else { return };
    let error = aot::compile_in_child(Path::new("/bin/false"), &request).unwrap_err();
    assert!(matches!(&error, RuntimeError::ChildDied { how, .. } if how.contains("status 1")), "{error}");
    let error = aot::compile_in_child(Path::new("/nowhere/shardc"), &request).unwrap_err();
    assert_eq!(error.code(), "RT0601");
}

/// If the initializer of a shared library kills the process, it kills only the child process, and the crash is reported.
fn plugin_crash_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("plugin.so");
    std::fs::write(&plugin, "whatever").unwrap();
    let environment = Environment::default().with_plugin(PluginKind::Cpu, &plugin);
    let broken = |program: &Path| {
        let checks = doctor(&environment, Some(program));
        let check = checks.into_iter().find(|c| c.kind == PluginKind::Cpu).unwrap();
        match check.health {
            Health::Broken { reason } => reason,
            other => panic!("{other:?}"),
        }
    };
    let reason = broken(&std::env::current_exe().unwrap());
    assert!(reason.contains("it is not a shared library"), "{reason}");
    let crashes = directory.path().join("crashes");
    std::fs::write(&crashes, "#!/bin/sh\nkill -BUS $$\n").unwrap();
    std::fs::set_permissions(&crashes, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(broken(&crashes), "the process that loaded the plugin was killed by signal 7 (SIGBUS)");
    let Some(found) = found(PluginKind::Cpu) else { return };
    let environment = Environment::default().with_plugin(PluginKind::Cpu, &found.path);
    let checks = doctor(&environment, Some(&std::env::current_exe().unwrap()));
    let health = &checks.iter().find(|c| c.kind == PluginKind::Cpu).unwrap().health;
    assert!(matches!(health, Health::Loads { devices: Ok((name, 1..)), .. } if name == "cpu"), "{health:?}");
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|a| a == CHILD_COMMAND) {
        return ExitCode::from(arguments.get(2).map_or(2, |path| aot::run_child(Path::new(path))));
    }
    assert!(plugin::quiet_plugin_logs(), "this is the only thread so far");
    let tests: [(&str, fn()); 10] = [
        ("cpu_here_and_in_a_child", cpu_here_and_in_a_child),
        ("tpu_in_a_child", tpu_in_a_child),
        ("absent_gpus", absent_gpus),
        ("programs_exceeding_gpu_memory_are_rejected", programs_exceeding_gpu_memory_are_rejected),
        ("errors_cross_from_the_child", errors_cross_from_the_child),
        ("tpu_slices_are_checked", tpu_slices_are_checked),
        ("wrong_replica_groups_are_invalid_input", wrong_replica_groups_are_invalid_input),
        ("a_compiler_that_aborts_is_an_error", a_compiler_that_aborts_is_an_error),
        ("a_child_that_answers_nothing_is_an_error", a_child_that_answers_nothing_is_an_error),
        ("plugin_crash_is_reported", plugin_crash_is_reported),
    ];
    // Supports the options of Rust's test programs that tools use: a filter, and a list of the tests.
    if arguments.iter().any(|a| a == "--list") {
        tests.iter().for_each(|(name, _)| eprintln!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().skip(1).find(|a| !a.starts_with('-'));
    for (name, test) in tests {
        if filter.is_none_or(|filter| name.contains(filter.as_str())) {
            eprintln!("test {name} ...");
            test();
        }
    }
    eprintln!("test result: ok");
    ExitCode::SUCCESS
}
