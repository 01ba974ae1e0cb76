//! Tests of transfers and executions that are unfinished when their call returns.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::common::{cpu_client, place};
use shardc_ir::DType;
use shardc_runtime::{
    Buffer, Client, CompileOptions, ErrorClass, ExecuteOptions, HostArray, LoadedExecutable, RuntimeError,
    ShardLayout, ShardedArray,
};

/// A program that repeatedly doubles its first argument modulo a prime. The second argument is the number of doublings, by which a test
/// sets the duration.
const SLOW: &str = r#"
func.func public @main(%x: tensor<65536xi32> {tf.aliasing_output = 0 : i32}, %n: tensor<i32>) -> (tensor<65536xi32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.constant dense<1000003> : tensor<65536xi32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<65536xi32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %twice = stablehlo.add %v, %v : tensor<65536xi32>
    %rest = stablehlo.remainder %twice, %p : tensor<65536xi32>
    stablehlo.return %next, %rest : tensor<i32>, tensor<65536xi32>
  }
  return %0#1, %0#0 : tensor<65536xi32>, tensor<i32>
}
"#;

/// A number of doublings for which an execution takes a tenth of a second or more.
const LONG: i32 = 4000;

fn slow(client: &Client) -> LoadedExecutable {
    client.compile(SLOW.as_bytes(), &CompileOptions::replicas(client.devices().len())).unwrap()
}

/// Computes the result of [`SLOW`] for one element after `times` doublings.
fn doubled(start: i64, times: i32) -> i64 {
    (0..times).fold(start, |value, _| (value + value) % 1_000_003)
}

fn arguments(client: &Client, program: &LoadedExecutable, times: i32) -> Vec<Vec<Buffer>> {
    let x = HostArray::filled(DType::I32, &[65536], 1.0).unwrap();
    let n = HostArray::from_slice(&[times], &[]).unwrap();
    place(client, program, &vec![vec![x, n]; program.devices().len()])
}

/// Consecutive executions produce correct results if each uses the results of the previous one, and the maximum number is in flight.
#[test]
fn runs_use_results_in_flight() {
    let Some(client) = cpu_client(2) else { return };
    let program = slow(&client);
    let times = LONG / 4;
    let mut lists = arguments(&client, &program, times);
    let counts: Vec<Buffer> = lists.iter().map(|list| list[1].clone()).collect();
    let options = ExecuteOptions { donate: vec![0], ..ExecuteOptions::default() };
    let mut runs = Vec::new();
    for _ in 0..6 {
        let (results, run) = program.launch(lists, &options).unwrap();
        runs.push(run);
        assert!(runs.iter().filter(|run| !run.is_done()).count() <= ExecuteOptions::IN_FLIGHT);
        lists = results
            .into_iter()
            .zip(&counts)
            .map(|(mut list, count)| {
                list.truncate(1);
                list.push(count.clone());
                list
            })
            .collect();
    }
    // `launch` returns while the plugin still computes, and waits only when the maximum number of executions is in flight.
    assert!(!runs[5].is_done() && runs[5].times().is_none());
    assert!(!lists[0][0].is_ready().unwrap());
    for list in &lists {
        assert_eq!(list[0].to_host().unwrap().to_f64_vec(), vec![doubled(1, 6 * times) as f64; 65536]);
    }
    assert!(runs.iter().all(shardc_runtime::Execution::is_done) && lists[0][0].is_ready().unwrap());
    let times: Vec<_> = runs.iter().map(|run| run.wait().unwrap()).collect();
    // In the CPU plugin, a launch on several devices waits for the previous launch. So the wait of the host is counted in `enqueue`.
    let waited: std::time::Duration = times.iter().map(|times| times.backpressure + times.enqueue).sum();
    let device: std::time::Duration = times.iter().map(|times| times.device).sum();
    assert!(waited > device / 4, "the host waited {waited:?} of {device:?}");
}

#[test]
fn the_bound_of_runs_is_settable() {
    let Some(client) = cpu_client(1) else { return };
    let program = slow(&client);
    for bound in [1, 3] {
        let options = ExecuteOptions { in_flight: bound, ..ExecuteOptions::default() };
        let mut runs = Vec::new();
        let mut most = 0;
        for _ in 0..5 {
            let (_, run) = program.launch(arguments(&client, &program, LONG / 8), &options).unwrap();
            runs.push(run);
            most = most.max(runs.iter().filter(|run| !run.is_done()).count());
        }
        assert_eq!(most, bound);
        for run in &runs {
            run.wait().unwrap();
        }
    }
}

/// The host's array and the buffer's handle may be dropped while a transfer is in flight.
#[test]
fn sent_arrays_may_be_dropped() {
    let Some(client) = cpu_client(4) else { return };
    for round in 0..20 {
        let array = HostArray::random(round, DType::F32, &[1 << 18]).unwrap();
        let copy = array.clone();
        let shared = Arc::new(array);
        let buffers: Vec<Buffer> =
            client.devices().iter().map(|device| client.send(shared.clone(), device).unwrap()).collect();
        drop(client.send(HostArray::zeros(DType::F32, &[1 << 18]).unwrap(), &client.devices()[0]).unwrap());
        drop(shared);
        // Memory of the same size is allocated and written, which would overwrite the memory of the dropped array if it had been freed.
        let other = HostArray::filled(DType::F32, &[1 << 18], f64::from(round as u32)).unwrap();
        for buffer in &buffers {
            assert!(buffer.to_host().unwrap() == copy, "round {round}");
            assert!(buffer.is_ready().unwrap());
        }
        drop(other);
    }
    let array = HostArray::random(1, DType::I32, &[10, 3]).unwrap();
    let layout = ShardLayout::new(&[10, 3], &[2, 1], (0..4).map(|d| vec![d / 2, 0]).collect()).unwrap();
    let sent = ShardedArray::send(&client, client.devices(), layout, &array).unwrap();
    sent.wait().unwrap();
    assert!(sent.is_ready().unwrap());
    assert_eq!(sent.to_host().unwrap(), array);
    let wrong = HostArray { data: vec![0; 3], ..HostArray::zeros(DType::F32, &[2]).unwrap() };
    assert_eq!(client.send(wrong, &client.devices()[0]).unwrap_err().code(), "RT0301");
}

#[test]
fn sent_arrays_are_released() {
    let Some(client) = cpu_client(1) else { return };
    let array = Arc::new(HostArray::zeros(DType::F32, &[1 << 16]).unwrap());
    let buffer = client.send(array.clone(), &client.devices()[0]).unwrap();
    buffer.wait().unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while Arc::strong_count(&array) > 1 {
        assert!(std::time::Instant::now() < end, "the array is still kept");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A program whose temporaries exceed the memory of any machine, so that it fails during execution.
const TOO_LARGE: &str = r#"
func.func public @main(%x: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %big = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<1048576x1048576xi32>
  %0:2 = stablehlo.while(%i = %zero, %v = %big) : tensor<i32>, tensor<1048576x1048576xi32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %grown = stablehlo.add %v, %v : tensor<1048576x1048576xi32>
    stablehlo.return %next, %grown : tensor<i32>, tensor<1048576x1048576xi32>
  }
  %sum = stablehlo.reduce(%0#1 init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<1048576x1048576xi32>, tensor<i32>) -> tensor<i32>
  return %sum : tensor<i32>
}
"#;

#[test]
fn failures_in_flight_are_reported_at_use() {
    let Some(client) = cpu_client(1) else { return };
    let program = client.compile(TOO_LARGE.as_bytes(), &CompileOptions::replicas(1)).unwrap();
    let options = ExecuteOptions { in_flight: 3, ..ExecuteOptions::default() };
    // The argument of the failing program is not available yet, so the program cannot fail before its launch returns. The result of the
    // failing program is the argument of the next program.
    let slow = slow(&client);
    let (first, _) = slow.launch(arguments(&client, &slow, LONG), &options).unwrap();
    let (results, run) = program.launch(vec![vec![first[0][1].clone()]], &options).unwrap();
    let (after, run_after) = program.launch(results.clone(), &options).unwrap();
    assert!(!results[0][0].is_ready().unwrap());
    let error = run.wait().unwrap_err();
    assert!(run.is_done() && run.times().is_none());
    // Every program that reads a result of the failed program, directly or indirectly, gets the same error.
    for reported in [
        results[0][0].wait().unwrap_err(),
        results[0][0].to_host().unwrap_err(),
        results[0][0].is_ready().unwrap_err(),
        program.execute(&results).unwrap_err(),
        run_after.wait().unwrap_err(),
        after[0][0].to_host().unwrap_err(),
    ] {
        // Only the last part of the message is compared, because the first part depends on which device failed first.
        assert_eq!((reported.code(), cause(&reported)), (error.code(), cause(&error)), "{reported}\n{error}");
    }
    assert!(
        matches!(error, RuntimeError::OutOfMemory { asked: Some(bytes), .. } if bytes >= 1 << 40),
        "{error}"
    );
    assert_eq!((error.code(), error.class()), ("RT0207", ErrorClass::InvalidInput));
    // The client is still usable after the failure.
    let one = HostArray::from_slice(&[1i32], &[]).unwrap();
    assert_eq!(slow.execute(&arguments(&client, &slow, 1)).unwrap()[0][1].to_host().unwrap(), one);
}

/// Returns the last part of XLA's message, which is the cause of the error.
fn cause(error: &RuntimeError) -> String {
    let message = error.to_string();
    message.rsplit(": ").next().unwrap_or_default().to_owned()
}

#[test]
fn freed_buffers_are_errors() {
    let Some(client) = cpu_client(1) else { return };
    let program = slow(&client);
    let lists = arguments(&client, &program, LONG / 8);
    let (results, run) = program.launch(lists.clone(), &ExecuteOptions::default()).unwrap();
    // An execution in flight keeps the memory of an argument that is deleted.
    lists[0][0].delete().unwrap();
    // Reading a buffer that was deleted before its content was available is an error at once.
    results[0][1].delete().unwrap();
    for error in [
        lists[0][0].wait().unwrap_err(),
        lists[0][0].is_ready().unwrap_err(),
        lists[0][0].to_host().unwrap_err(),
        results[0][1].to_host().unwrap_err(),
        program.launch(lists, &ExecuteOptions::default()).unwrap_err(),
    ] {
        assert_eq!((error.code(), error.class()), ("RT0305", ErrorClass::InvalidInput), "{error}");
    }
    run.wait().unwrap();
    assert_eq!(results[0][0].to_host().unwrap().to_f64_vec()[7], doubled(1, LONG / 8) as f64);
}

/// Dropping a client waits until its last execution is finished.
#[test]
fn handles_may_be_dropped_during_a_run() {
    let Some(client) = cpu_client(2) else { return };
    let program = slow(&client);
    let (results, run) =
        program.launch(arguments(&client, &program, LONG / 4), &ExecuteOptions::default()).unwrap();
    drop((client, program, results));
    assert!(run.wait().unwrap().device.as_nanos() > 0);
}

#[test]
fn device_memory_stats_or_not_available() {
    let Some(client) = cpu_client(1) else { return };
    match client.devices()[0].memory_stats() {
        Ok(memory) => assert!(memory.limit.is_none_or(|limit| limit >= memory.in_use), "{memory:?}"),
        Err(error) => {
            assert_eq!((error.code(), error.class()), ("RT0206", ErrorClass::Unsupported), "{error}");
            assert_eq!(error.to_string(), "the plugin for cpu does not provide device memory statistics");
        }
    }
}

/// All bits of all element types survive a copy to a device and back.
#[test]
#[expect(clippy::print_stderr, reason = "reports the types that the plugin rejects")]
fn element_types_round_trip_through_devices_bitwise() {
    let Some(client) = cpu_client(1) else { return };
    let device = &client.devices()[0];
    let mut refused = Vec::new();
    for &dtype in DType::ALL {
        let array = match dtype.bits() {
            // Elements smaller than a byte: only the values of the type are valid bytes, so random elements are used.
            1..8 => HostArray::random(7, dtype, &[4, 64]).unwrap(),
            // Other types: the data has every byte value at every position of an element, including NaNs.
            _ => {
                let bytes = dtype.bytes() * 4 * 64;
                let data = (0..bytes).map(|i| (i * 167 + i / 256) as u8).collect();
                HostArray::new(dtype, &[4, 64], data).unwrap()
            }
        };
        let sent = [client.buffer_from_host(&array, device), client.send(array.clone(), device)];
        for buffer in sent {
            match buffer {
                Ok(buffer) => assert!(buffer.to_host().unwrap().data == array.data, "{dtype}"),
                Err(error) => {
                    assert_ne!(error.class(), ErrorClass::Internal, "{dtype}: {error}");
                    refused.push(dtype.to_string());
                }
            }
        }
    }
    refused.dedup();
    eprintln!("the plugin rejects elements of the types {refused:?}");
    let needed = [
        DType::I1,
        DType::I4,
        DType::UI4,
        DType::I8,
        DType::UI8,
        DType::I16,
        DType::UI16,
        DType::I32,
        DType::UI32,
        DType::I64,
        DType::UI64,
        DType::F8E4M3FN,
        DType::F8E5M2,
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];
    let missing: Vec<_> = needed.iter().filter(|dtype| refused.contains(&dtype.to_string())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
