//! Runs programs on the CPU plugin's virtual devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{ALL_REDUCE_PARTITIONS, ALL_REDUCE_REPLICAS, cpu_client, place};
use shardc_ir::DType;
use shardc_runtime::{
    Buffer, Client, ClientOptions, CompileOptions, ErrorClass, HostArray, OptionValue, Plugin, PluginKind,
    RuntimeError, ShardLayout, ShardedArray,
};

fn fetch(results: &[Vec<Buffer>], output: usize) -> Vec<HostArray> {
    results.iter().map(|list| list[output].to_host().unwrap()).collect()
}

const MULTIPLY_ADD: &str = r#"
func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.multiply %x, %y : tensor<2x3xf32>
  %1 = stablehlo.add %0, %y : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
"#;

#[test]
fn elementwise_on_one_device() {
    let Some(client) = cpu_client(2) else { return };
    assert_eq!((client.platform_name(), client.devices().len()), ("cpu", 2));
    let program = client.compile(MULTIPLY_ADD.as_bytes(), &CompileOptions::replicas(1)).unwrap();
    let x = HostArray::from_f64(DType::F32, &[2, 3], &[1., 2., 3., 4., 5., 6.]).unwrap();
    let y = HostArray::filled(DType::F32, &[2, 3], 2.0).unwrap();
    let arguments = place(&client, &program, &[vec![x, y]]);
    // Runs twice: the first execution must not change the arguments.
    for _ in 0..2 {
        let results = program.execute(&arguments).unwrap();
        assert_eq!(fetch(&results, 0)[0].to_f64_vec(), [2., 4., 6., 8., 10., 12.]);
        assert_eq!(fetch(&results, 1)[0].to_f64_vec(), [4., 6., 8., 10., 12., 14.]);
    }
    let memory = program.memory_stats().unwrap();
    assert_eq!((memory.argument_bytes, memory.output_bytes), (48, 48 + 16));
    assert_eq!(program.cost().unwrap().flops, 12.0);
    assert!(!program.serialize().unwrap().is_empty());
}

fn check_all_reduce(client: &Client, program: &str, options: &CompileOptions) {
    let program = client.compile(program.as_bytes(), options).unwrap();
    assert_eq!(program.devices().len(), 8);
    let arrays: Vec<_> =
        (0..8).map(|d| vec![HostArray::filled(DType::F32, &[4], f64::from(1 << d)).unwrap()]).collect();
    let results = program.execute(&place(client, &program, &arrays)).unwrap();
    for array in fetch(&results, 0) {
        assert_eq!(array.to_f64_vec(), [255.0; 4]);
    }
    let collectives = program.optimized_hlo_collectives().unwrap();
    let stat = collectives["all-reduce"];
    assert_eq!((collectives.len(), stat.count, stat.bytes_sent), (1, 1, 2 * 16 * 7 / 8));
}

#[test]
fn all_reduce_over_replicas() {
    let Some(client) = cpu_client(8) else { return };
    check_all_reduce(&client, ALL_REDUCE_REPLICAS, &CompileOptions::replicas(8));
}

#[test]
fn all_reduce_over_partitions() {
    let Some(client) = cpu_client(8) else { return };
    check_all_reduce(&client, ALL_REDUCE_PARTITIONS, &CompileOptions::partitions(8));
}

#[test]
fn programs_run_from_several_threads() {
    let Some(client) = cpu_client(8) else { return };
    let program = client.compile(ALL_REDUCE_REPLICAS.as_bytes(), &CompileOptions::replicas(8)).unwrap();
    let arrays: Vec<_> = (0..8).map(|_| vec![HostArray::filled(DType::F32, &[4], 1.0).unwrap()]).collect();
    let arguments = place(&client, &program, &arrays);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let results = program.execute(&arguments).unwrap();
                    assert_eq!(fetch(&results, 0)[7].to_f64_vec(), [8.0; 4]);
                }
            });
        }
    });
}

#[test]
fn uneven_shards_go_through_devices() {
    let Some(client) = cpu_client(4) else { return };
    let text = r#"
func.func public @main(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %0 = stablehlo.add %x, %x : tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
"#;
    let program = client.compile(text.as_bytes(), &CompileOptions::replicas(4)).unwrap();
    let array = HostArray::random(5, DType::I32, &[7, 3]).unwrap();
    let layout = ShardLayout::new(&[7, 3], &[4, 1], (0..4).map(|d| vec![d, 0]).collect()).unwrap();
    let input = ShardedArray::from_host(&client, program.devices(), layout.clone(), &array).unwrap();
    assert_eq!(input.to_host().unwrap(), array);
    let arguments = ShardedArray::argument_lists(&[input], 4).unwrap();
    let results = program.execute(&arguments).unwrap();
    let sums = ShardedArray::from_results(&results, &[layout]).unwrap();
    let expected: Vec<f64> = array.to_f64_vec().iter().map(|v| v + v).collect();
    assert_eq!(sums[0].to_host().unwrap().to_f64_vec(), expected);
    assert_eq!(sums[0].check_replicas().unwrap(), None);
    assert!(ShardedArray::from_results(&results, &[]).is_err());
}

#[test]
fn donated_arguments_stay_valid() {
    let Some(client) = cpu_client(1) else { return };
    let text = r#"
func.func public @main(%x: tensor<256xf32> {tf.aliasing_output = 0 : i32}) -> tensor<256xf32> {
  %0 = stablehlo.add %x, %x : tensor<256xf32>
  return %0 : tensor<256xf32>
}
"#;
    let program = client.compile(text.as_bytes(), &CompileOptions::replicas(1)).unwrap();
    assert_eq!(program.memory_stats().unwrap().alias_bytes, 1024);
    let x = HostArray::filled(DType::F32, &[256], 3.0).unwrap();
    let arguments = place(&client, &program, &[vec![x.clone()]]);
    for _ in 0..2 {
        let results = program.execute(&arguments).unwrap();
        assert_eq!(fetch(&results, 0)[0].to_f64_vec(), [6.0; 256]);
        assert_eq!(arguments[0][0].to_host().unwrap(), x);
    }
}

#[test]
fn more_devices_than_processors() {
    let Some(client) = cpu_client(64) else { return };
    let all = (0..64).map(|d| d.to_string()).collect::<Vec<_>>().join(", ");
    let text = ALL_REDUCE_REPLICAS
        .replace("num_replicas = 8", "num_replicas = 64")
        .replace("0, 1, 2, 3, 4, 5, 6, 7", &all)
        .replace("1x8", "1x64");
    let program = client.compile(text.as_bytes(), &CompileOptions::replicas(64)).unwrap();
    let arrays: Vec<_> = (0..64).map(|_| vec![HostArray::filled(DType::F32, &[4], 1.0).unwrap()]).collect();
    let results = program.execute(&place(&client, &program, &arrays)).unwrap();
    assert!(fetch(&results, 0).iter().all(|array| array.to_f64_vec() == [64.0; 4]));
}

#[test]
fn element_types_round_trip_through_a_device() {
    let Some(client) = cpu_client(1) else { return };
    let device = &client.devices()[0];
    let mut passed = Vec::new();
    for &dtype in DType::ALL {
        let shapes: [&[usize]; 4] = [&[], &[0, 3], &[5], &[2, 3, 5]];
        for shape in shapes {
            let array = HostArray::random(11, dtype, shape).unwrap();
            let buffer = match client.buffer_from_host(&array, device) {
                Ok(buffer) => buffer,
                Err(error) => {
                    assert_ne!(error.class(), ErrorClass::Internal, "{dtype}: {error}");
                    continue;
                }
            };
            assert_eq!((buffer.dtype(), buffer.shape()), (dtype, shape));
            let back = buffer.to_host().unwrap();
            assert!(
                HostArray::compare(&array, &back).unwrap().within(0.0),
                "{dtype}{shape:?} {array:?} {back:?}"
            );
        }
        if client.buffer_from_host(&HostArray::zeros(dtype, &[2]).unwrap(), device).is_ok() {
            passed.push(dtype);
        }
    }
    for needed in
        [DType::BF16, DType::F16, DType::I1, DType::I32, DType::I64, DType::UI8, DType::F32, DType::F64]
    {
        assert!(passed.contains(&needed), "{needed}");
    }
    assert!(passed.contains(&DType::C64) && passed.contains(&DType::F8E4M3FN) && passed.contains(&DType::I4));
}

#[test]
fn bad_programs_are_errors() {
    let Some(client) = cpu_client(2) else { return };
    for text in ["nonsense", "", "func.func @main() -> tensor<2xf32> { return }"] {
        let error = client.compile(text.as_bytes(), &CompileOptions::replicas(1)).unwrap_err();
        assert!(matches!(error, RuntimeError::Compile { .. }), "{error}");
        assert_eq!((error.code(), error.class()), ("RT0202", ErrorClass::InvalidInput), "{error}");
    }
    let error = client.compile(MULTIPLY_ADD.as_bytes(), &CompileOptions::replicas(3)).unwrap_err();
    assert_eq!(error.code(), "RT0301");
    let option = CompileOptions::replicas(1).xla_option("xla_no_such_option", OptionValue::Bool(true));
    client.compile(MULTIPLY_ADD.as_bytes(), &option).unwrap_err();
}

#[test]
fn bad_arguments_are_errors() {
    let Some(client) = cpu_client(2) else { return };
    let program = client.compile(MULTIPLY_ADD.as_bytes(), &CompileOptions::replicas(1)).unwrap();
    let good = HostArray::zeros(DType::F32, &[2, 3]).unwrap();
    let small = HostArray::zeros(DType::F32, &[2]).unwrap();
    program.execute(&[]).unwrap_err();
    let too_few = place(&client, &program, &[vec![good.clone()]]);
    assert_eq!(program.execute(&too_few).unwrap_err().class(), ErrorClass::InvalidInput);
    let too_small = place(&client, &program, &[vec![good.clone(), small]]);
    assert_eq!(program.execute(&too_small).unwrap_err().class(), ErrorClass::InvalidInput);
    let elsewhere = client.buffer_from_host(&good, &client.devices()[1]).unwrap();
    assert_eq!(
        program.execute(&[vec![elsewhere.clone(), elsewhere]]).unwrap_err().class(),
        ErrorClass::InvalidInput
    );
    let broken = HostArray { data: vec![0; 3], ..good };
    assert_eq!(client.buffer_from_host(&broken, &client.devices()[0]).unwrap_err().code(), "RT0301");
}

#[test]
fn a_client_accepts_a_subset_of_devices() {
    let Some(found) = crate::common::found(PluginKind::Cpu) else { return };
    let plugin = Plugin::load(&found.path).unwrap();
    for count in [0, usize::MAX] {
        let error = Client::new(&plugin, ClientOptions { cpu_device_count: Some(count) }).unwrap_err();
        assert_eq!(error.code(), "RT0301");
    }
}

#[test]
fn missing_custom_calls_are_reported() {
    let Some(client) = cpu_client(1) else { return };
    let text = r#"
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_sgeqrf_ffi", api_version = 4 : i32, backend_config = {}}>
    : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#;
    let error = match client.compile(text.as_bytes(), &CompileOptions::replicas(1)) {
        Err(error) => error,
        Ok(program) => {
            let x = HostArray::zeros(DType::F32, &[4]).unwrap();
            program.execute(&place(&client, &program, &[vec![x]])).unwrap_err()
        }
    };
    assert_eq!(error.class(), ErrorClass::Unsupported, "{error}");
    assert!(error.hint().unwrap().contains("LAPACK"), "{error}");
}

#[test]
fn loop_trip_counts_are_reported() {
    let Some(client) = cpu_client(8) else { return };
    let text = r#"
module attributes {mhlo.num_replicas = 8 : i32, mhlo.num_partitions = 1 : i32} {
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %moved = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %next, %moved : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
}
"#;
    let program = client.compile(text.as_bytes(), &CompileOptions::replicas(8)).unwrap();
    let stat = program.optimized_hlo_collectives().unwrap()["collective-permute"];
    assert_eq!((stat.count, stat.bytes_sent), (5, 80));
}

/// Arrays can be placed in the kinds of memory that the CPU plugin's devices have, all of which are host memory.
#[test]
fn buffers_are_in_the_requested_memory() {
    let Some(client) = cpu_client(1) else { return };
    let device = &client.devices()[0];
    let array = HostArray::from_f64(DType::F32, &[2], &[1., 2.]).unwrap();
    let there = client.buffer_from_host(&array, &device.in_memory("pinned_host").unwrap()).unwrap();
    let kind = client.buffer_from_host(&array, device).unwrap().memory_kind().unwrap();
    assert_eq!(there.memory_kind().unwrap(), "pinned_host");
    for kind in [kind.as_str(), "pinned_host"] {
        let copy = there.copied_to(device, kind).unwrap();
        assert_eq!((copy.memory_kind().unwrap().as_str(), copy.to_host().unwrap()), (kind, array.clone()));
    }
    there.delete().unwrap();
    assert_eq!(there.copied_to(device, "pinned_host").unwrap_err().code(), "RT0305");
    assert_eq!(device.in_memory("drum").unwrap_err().code(), "RT0206");
}
