//! Runs programs whose parameters and results have memory layouts that are not row-major.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::common::{cpu_client, place};
use shardc_ir::DType;
use shardc_runtime::{
    Client, CompileOptions, DeviceLayout, ExecuteOptions, HostArray, LoadedExecutable, ShardLayout,
    ShardedArray,
};

/// All orders of three dimensions, each from the contiguous dimension to that with the largest stride.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn layout(order: &[usize]) -> DeviceLayout {
    DeviceLayout::untiled(order).unwrap()
}

/// Returns a program that doubles an array; `argument` and `result` are the layouts of its parameter and its result.
fn doubling(
    client: &Client,
    ty: &str,
    argument: &str,
    result: &str,
    options: &CompileOptions,
) -> LoadedExecutable {
    let code = format!(
        "func.func public @main(%x: {ty} {{mhlo.layout_mode = \"{argument}\"}}) -> ({ty} {{mhlo.layout_mode = \"{result}\"}}) {{\n  \
           %0 = stablehlo.add %x, %x : {ty}\n  return %0 : {ty}\n}}"
    );
    client.compile(code.as_bytes(), options).unwrap()
}

fn counted(dtype: DType, shape: &[usize]) -> HostArray {
    let values: Vec<f64> = (0..shape.iter().product()).map(|n: usize| n as f64).collect();
    HostArray::from_f64(dtype, shape, &values).unwrap()
}

#[test]
fn every_order_of_arguments_and_results() {
    let Some(client) = cpu_client(2) else { return };
    let x = counted(DType::F32, &[2, 3, 4]);
    let doubled: Vec<f64> = x.to_f64_vec().iter().map(|v| 2.0 * v).collect();
    for options in [CompileOptions::replicas(2), CompileOptions::partitions(2)] {
        for argument in ORDERS {
            // Each argument layout is combined with one result layout, so that both cover all orders of dimensions.
            let result = [argument[2], argument[0], argument[1]];
            let (from, to) = (layout(&argument).to_string(), layout(&result).to_string());
            let program = doubling(&client, "tensor<2x3x4xf32>", &from, &to, &options);
            let arguments = place(&client, &program, &[vec![x.clone()], vec![x.clone()]]);
            for list in program.execute(&arguments).unwrap() {
                assert_eq!(list[0].to_host().unwrap().to_f64_vec(), doubled, "{from} -> {to}");
                let stored = list[0].device_layout().map_or("{2,1,0}".to_owned(), |l| l.to_string());
                assert_eq!(stored, to);
            }
        }
    }
}

#[test]
fn default_and_auto() {
    let Some(client) = cpu_client(1) else { return };
    let x = counted(DType::F32, &[3, 5]);
    let doubled: Vec<f64> = x.to_f64_vec().iter().map(|v| 2.0 * v).collect();
    for (from, to) in [("default", "auto"), ("auto", "default"), ("auto", "auto"), ("{0,1}", "auto")] {
        let program = doubling(&client, "tensor<3x5xf32>", from, to, &CompileOptions::replicas(1));
        let arguments = place(&client, &program, &[vec![x.clone()]]);
        let results = program.execute(&arguments).unwrap();
        assert_eq!(results[0][0].to_host().unwrap().to_f64_vec(), doubled, "{from} -> {to}");
    }
}

#[test]
fn elements_of_every_width() {
    let Some(client) = cpu_client(1) else { return };
    for dtype in [DType::I4, DType::I8, DType::BF16, DType::F32, DType::F64, DType::C128] {
        let x = HostArray::random(3, dtype, &[4, 6]).unwrap();
        // XLA's CPU compiler aborts the process if it transposes elements smaller than a byte.
        let result = if dtype == DType::I4 { "{0,1}" } else { "{1,0}" };
        let code = format!(
            "func.func public @main(%x: tensor<4x6x{dtype}> {{mhlo.layout_mode = \"{{0,1}}\"}}) -> (tensor<4x6x{dtype}> {{mhlo.layout_mode = \"{result}\"}}) {{\n  \
             return %x : tensor<4x6x{dtype}>\n}}"
        );
        let program = client.compile(code.as_bytes(), &CompileOptions::replicas(1)).unwrap();
        let arguments = place(&client, &program, &[vec![x.clone()]]);
        if dtype == DType::I4 {
            // The plugin cannot store elements of this type in another order. The execution must return an error, and not wrong values.
            assert_eq!(program.execute(&arguments).unwrap_err().code(), "RT0306");
            continue;
        }
        let results = program.execute(&arguments).unwrap();
        assert_eq!(results[0][0].to_host().unwrap(), x, "{dtype}");
    }
}

/// A result in one layout is passed to a program that expects another layout.
#[test]
fn results_are_arguments_of_other_programs() {
    let Some(client) = cpu_client(2) else { return };
    let options = CompileOptions::replicas(2);
    let first = doubling(&client, "tensor<2x3x4xf32>", "default", "{0,1,2}", &options);
    let second = doubling(&client, "tensor<2x3x4xf32>", "{1,0,2}", "default", &options);
    let plain = doubling(&client, "tensor<2x3x4xf32>", "default", "default", &options);
    let x = counted(DType::F32, &[2, 3, 4]);
    let expected: Vec<f64> = x.to_f64_vec().iter().map(|v| 4.0 * v).collect();
    for other in [&second, &plain] {
        let between = first.execute(&place(&client, &first, &[vec![x.clone()], vec![x.clone()]])).unwrap();
        let donating = ExecuteOptions { donate: vec![0], ..ExecuteOptions::default() };
        for list in other.execute_with(between, &donating).unwrap() {
            assert_eq!(list[0].to_host().unwrap().to_f64_vec(), expected);
        }
    }
}

#[test]
fn donated_state_keeps_its_layout() {
    let Some(client) = cpu_client(1) else { return };
    let code = br#"
      func.func public @main(%x: tensor<3x5xf32> {mhlo.layout_mode = "{0,1}", tf.aliasing_output = 0 : i32})
          -> (tensor<3x5xf32> {mhlo.layout_mode = "{0,1}"}) {
        %0 = stablehlo.add %x, %x : tensor<3x5xf32>
        return %0 : tensor<3x5xf32>
      }"#;
    let program = client.compile(code, &CompileOptions::replicas(1)).unwrap();
    let x = counted(DType::F32, &[3, 5]);
    let mut state = place(&client, &program, &[vec![x.clone()]]);
    let donating = ExecuteOptions { donate: vec![0], ..ExecuteOptions::default() };
    for _ in 0..3 {
        state = program.execute_with(state, &donating).unwrap();
    }
    let expected: Vec<f64> = x.to_f64_vec().iter().map(|v| 8.0 * v).collect();
    assert_eq!(state[0][0].to_host().unwrap().to_f64_vec(), expected);
}

#[test]
fn arrays_use_the_requested_device_layout() {
    let Some(client) = cpu_client(2) else { return };
    let x = counted(DType::F32, &[4, 3]);
    let columns = Arc::new(layout(&[0, 1]));
    let devices: Vec<_> = client.devices().iter().map(|d| d.with_layout(columns.clone())).collect();
    let split = ShardLayout::new(&[4, 3], &[2, 1], vec![vec![0, 0], vec![1, 0]]).unwrap();
    let array = ShardedArray::from_host(&client, &devices[..], split.clone(), &x).unwrap();
    assert!(array.buffers().iter().all(|buffer| buffer.device_layout() == Some(&columns)));
    assert_eq!(array.to_host().unwrap(), x);
    let sent = ShardedArray::send(&client, &devices[..], split, &x).unwrap();
    assert_eq!(sent.to_host().unwrap(), x);
    let whole = ShardLayout::replicated(&[4, 3], 2).unwrap();
    assert_eq!(sent.reshard(&client, client.devices(), whole).unwrap().to_host().unwrap(), x);
}
