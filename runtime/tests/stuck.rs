//! Tests of a device that waits forever for another device: the time limit, and the state of the process afterwards.
//!
//! This test has its own `main`, because environment variables must be set while the process has one thread, and the process must exit
//! although threads of devices wait forever.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::time::{Duration, Instant};

use common::{Watchdog, cpu_client, place};
use shardc_ir::DType;
use shardc_runtime::{CompileOptions, ExecuteOptions, HostArray, RuntimeError, plugin};

/// A program with an all-reduce that only devices with `%n` = 1 execute, so that they wait forever for the others.
const SOME_COME: &str = r#"
module @sum attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %0 = "stablehlo.case"(%n) ({
      stablehlo.return %x : tensor<4xf32>
    }, {
      %1 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"#;

/// A program with an infinite loop on one device, so that the plugin does not return from the call. The loop computes powers of three until
/// one is zero, which never happens.
const ENDLESS: &str = r#"
func.func public @main(%x: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.while(%i = %x) : tensor<i32>
  cond {
    %c = stablehlo.compare NE, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.multiply %i, %three : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  return %0 : tensor<i32>
}
"#;

fn limit(seconds: f64) -> ExecuteOptions {
    ExecuteOptions { time_limit: Some(Duration::from_secs_f64(seconds)), ..ExecuteOptions::default() }
}

fn waiting_devices_are_named() {
    let Some(client) = cpu_client(4) else { return };
    let program = client.compile(SOME_COME.as_bytes(), &CompileOptions::replicas(4)).unwrap();
    let arguments = |come: [f64; 4]| {
        let of = |n| {
            vec![
                HostArray::filled(DType::F32, &[4], 1.0).unwrap(),
                HostArray::filled(DType::I32, &[], n).unwrap(),
            ]
        };
        place(&client, &program, &come.map(of))
    };
    let run = |come| program.execute_with(arguments(come), &limit(2.0));
    assert_eq!(run([1.0; 4]).unwrap()[3][0].to_host().unwrap().to_f64_vec(), [4.0; 4]);
    let kept = arguments([1.0; 4]);
    let started = Instant::now();
    let error = run([0.0, 1.0, 0.0, 0.0]).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(error.code(), "RT0204");
    assert!(
        matches!(&error, RuntimeError::TimeLimit { done, waiting, .. } if done == &[0, 2, 3] && waiting == &[1]),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "the program did not finish within 2 s: devices 0, 2, 3 are done, device 1 is running or waiting for others"
    );
    // A later execution does not wait for the hanging device, but fails at once with the reason.
    let started = Instant::now();
    let error = program.execute(&kept).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(error.code(), "RT0205");
    assert!(error.to_string().contains("device 1 is running or waiting"), "{error}");
    // Dropping buffers or the client does not wait; a new client works.
    drop((kept, program, client));
    let Some(client) = cpu_client(4) else { return };
    let program = client.compile(SOME_COME.as_bytes(), &CompileOptions::replicas(4)).unwrap();
    let list = vec![
        HostArray::filled(DType::F32, &[4], 2.0).unwrap(),
        HostArray::filled(DType::I32, &[], 1.0).unwrap(),
    ];
    let results = program.execute(&place(&client, &program, &vec![list; 4])).unwrap();
    assert_eq!(results[0][0].to_host().unwrap().to_f64_vec(), [8.0; 4]);
}

fn infinite_loop_ends_with_the_time_limit() {
    let Some(client) = cpu_client(1) else { return };
    let program = client.compile(ENDLESS.as_bytes(), &CompileOptions::replicas(1)).unwrap();
    let arguments = place(&client, &program, &[vec![HostArray::filled(DType::I32, &[], 1.0).unwrap()]]);
    let error = program.execute_with(arguments, &limit(0.5)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program did not finish within 0.5 s: no device is done, device 0 is running or waiting for others"
    );
}

fn main() {
    assert!(plugin::quiet_plugin_logs(), "this is the only thread so far");
    let _watchdog = Watchdog::start(100);
    waiting_devices_are_named();
    infinite_loop_ends_with_the_time_limit();
    eprintln!("test result: ok");
}
