//! Tests of executions that fail, and of later executions on the same client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{ALL_REDUCE_REPLICAS, Watchdog, cpu_client, place};
use shardc_ir::DType;
use shardc_runtime::mismatch::Problem;
use shardc_runtime::{
    Buffer, Client, ClientOptions, CompileOptions, ErrorClass, HostArray, LoadedExecutable, MAX_CPU_DEVICES,
    Plugin, PluginKind, RuntimeError,
};

/// Returns a client, a program that sums over eight devices, and its arguments.
fn sum() -> Option<(Client, LoadedExecutable, Vec<Vec<Buffer>>)> {
    let client = cpu_client(8)?;
    let program = client.compile(ALL_REDUCE_REPLICAS.as_bytes(), &CompileOptions::replicas(8)).unwrap();
    let one = || vec![HostArray::filled(DType::F32, &[4], 1.0).unwrap()];
    let good = place(&client, &program, &(0..8).map(|_| one()).collect::<Vec<_>>());
    Some((client, program, good))
}

fn check(program: &LoadedExecutable, arguments: &[Vec<Buffer>]) {
    for list in program.execute(arguments).unwrap() {
        assert_eq!(list[0].to_host().unwrap().to_f64_vec(), [8.0; 4]);
    }
}

fn problems(error: &RuntimeError) -> Vec<(usize, Option<i32>, &Problem)> {
    match error {
        RuntimeError::Inputs { mismatches, .. } => {
            mismatches.iter().map(|m| (m.index, m.device, &m.problem)).collect()
        }
        other => panic!("{other}"),
    }
}

/// Invalid arguments are rejected before the launch: in the CPU plugin, a launch that is rejected on one device would block every later
/// launch.
#[test]
fn rejected_run_leaves_the_client_usable() {
    let _watchdog = Watchdog::start(60);
    let Some((client, program, good)) = sum() else { return };
    assert_eq!(program.parameters().unwrap()[0].to_string(), "tensor<4xf32>");
    let other = |dtype, shape: &[usize]| {
        let array = HostArray::zeros(dtype, shape).unwrap();
        place(&client, &program, &vec![vec![array]; 8])
    };
    let wide = other(DType::F64, &[4]);
    // These arguments have the wrong type but the correct size in bytes, which is the only property that the CPU plugin checks.
    let integers = other(DType::I32, &[4]);
    let square = other(DType::F32, &[2, 2]);
    for bad in [&wide, &integers, &square] {
        let error = program.execute(bad).unwrap_err();
        assert!(matches!(problems(&error)[..], [(0, None, Problem::Type { .. })]), "{error}");
        assert_eq!((error.code(), error.class()), ("RT0303", ErrorClass::InvalidInput));
        check(&program, &good);
    }
    let mut one_wrong = good.clone();
    one_wrong[3] = wide[3].clone();
    let error = program.execute(&one_wrong).unwrap_err();
    assert!(matches!(problems(&error)[..], [(0, Some(3), Problem::Type { .. })]), "{error}");
    check(&program, &good);
    let error = program.execute(&vec![vec![]; 8]).unwrap_err();
    assert!(matches!(problems(&error)[..], [(0, None, Problem::Missing { .. })]), "{error}");
    check(&program, &good);
    let twice: Vec<_> = good.iter().map(|list| [list.clone(), list.clone()].concat()).collect();
    let error = program.execute(&twice).unwrap_err();
    assert!(matches!(problems(&error)[..], [(1, None, Problem::Extra { .. })]), "{error}");
    check(&program, &good);
    let mut swapped = good.clone();
    swapped.swap(2, 5);
    let error = program.execute(&swapped).unwrap_err();
    assert_eq!(problems(&error).len(), 2, "{error}");
    assert!(error.to_string().contains("expected on device 2, got it on device 5"), "{error}");
    check(&program, &good);
    assert_eq!(program.execute(&good[..7]).unwrap_err().code(), "RT0301");
    check(&program, &good);
}

/// A failure of devices during the execution does not block later executions.
#[test]
fn failed_run_leaves_the_client_usable() {
    let _watchdog = Watchdog::start(60);
    let Some((client, program, good)) = sum() else { return };
    let huge = ALL_REDUCE_REPLICAS.replace("tensor<4xf32> {\n    %0", "tensor<4x1000000000000xf32> {\n    %0").replace(
        "return %0 : tensor<4xf32>\n",
        "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf32>) -> tensor<4x1000000000000xf32>\n    \
         return %1 : tensor<4x1000000000000xf32>\n",
    );
    let huge = client.compile(huge.as_bytes(), &CompileOptions::replicas(8)).unwrap();
    let error = huge.execute(&good).unwrap_err();
    assert!(error.to_string().contains("device") && error.to_string().contains("Out of memory"), "{error}");
    assert_eq!(error.class(), ErrorClass::InvalidInput);
    assert!(error.hint().unwrap().contains("does not fit"));
    check(&program, &good);
}

/// Collectives of different executions do not interfere.
#[test]
fn runs_from_several_threads_keep_their_values() {
    let _watchdog = Watchdog::start(120);
    let Some((client, program, _)) = sum() else { return };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (client, program) = (&client, &program);
            scope.spawn(move || {
                let value = f64::from(1 << thread);
                let array = HostArray::filled(DType::F32, &[4], value).unwrap();
                let arguments = place(client, program, &vec![vec![array]; 8]);
                for _ in 0..25 {
                    for list in program.execute(&arguments).unwrap() {
                        assert_eq!(list[0].to_host().unwrap().to_f64_vec(), [8.0 * value; 4]);
                    }
                }
            });
        }
    });
}

/// Too many virtual devices are rejected: the CPU plugin would treat the highest device IDs as those of other processes, and its message
/// would not explain that.
#[test]
fn device_limit_of_the_plugin_is_reported() {
    let Some(found) = crate::common::found(PluginKind::Cpu) else { return };
    let plugin = Plugin::load(&found.path).unwrap();
    let client = |n| Client::new(&plugin, ClientOptions { cpu_device_count: Some(n) });
    let error = client(MAX_CPU_DEVICES + 1).unwrap_err();
    assert_eq!(error.code(), "RT0301");
    assert!(error.to_string().contains("2049") && error.to_string().contains("2048"), "{error}");
    assert!(error.hint().unwrap().contains("at most 2048 devices"));
}
