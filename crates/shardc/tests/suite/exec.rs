//! Tests of executions: the checks before an execution, and state that remains on the devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(feature = "runtime")]

use shardc::exec::{Limits, Program, random_inputs, verify_within};
use shardc::ir::DType;
use shardc::runtime::mismatch::Problem;
use shardc::runtime::{
    Client, ClientOptions, Environment, HostArray, MemoryLimit, Plugin, PluginKind, RuntimeError,
    ShardLayout, ShardedArray, plugin,
};
use shardc::{Compiler, Error, Output};

const STEP: &[u8] = br#"
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(
      %w: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>, tf.aliasing_output = 0 : i32} loc("w"),
      %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"))
      -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %w1 = stablehlo.add %w, %x : tensor<8x4xf32>
    return %w1, %sum : tensor<8x4xf32>, tensor<f32>
  }
"#;

fn client(devices: usize) -> Option<Client> {
    let found = plugin::find(PluginKind::Cpu, &Environment::from_process()).ok()?;
    let plugin = Plugin::load(&found.path).unwrap();
    Some(Client::new(&plugin, ClientOptions { cpu_device_count: Some(devices) }).unwrap())
}

fn step() -> Option<(Client, Output, Program)> {
    let client = client(8)?;
    let output = Compiler::new().partition(STEP).unwrap();
    let program = Program::partitioned(&client, &output).unwrap();
    Some((client, output, program))
}

fn runtime(error: Error) -> RuntimeError {
    match error {
        Error::Runtime(error) => error,
        other => panic!("{other}"),
    }
}

fn filled(dtype: DType, shape: &[usize], value: f64) -> HostArray {
    HostArray::filled(dtype, shape, value).unwrap()
}

/// Without the check, an i32 array for an f32 parameter would be accepted and give wrong results.
#[test]
fn inputs_are_checked_before_transfers() {
    let Some((client, output, program)) = step() else { return };
    let good = [filled(DType::F32, &[8, 4], 1.0), filled(DType::F32, &[8, 4], 0.5)];
    let single = Program::single(&client, &Compiler::read(STEP).unwrap()).unwrap();
    for program in [&program, &single] {
        let check = || {
            let outputs = program.run(&client, &good).unwrap();
            assert_eq!(outputs[0].to_f64_vec(), [1.5; 32]);
            assert_eq!(outputs[1].to_f64_vec(), [16.0]);
        };
        check();
        let integers = [filled(DType::I32, &[8, 4], 1.0), filled(DType::F32, &[4, 8], 0.5)];
        let error = program.run(&client, &integers).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error[RT0303]: 2 inputs do not match the program, which has 2 parameters:\n  \
             input 0 (w): expected tensor<8x4xf32>, got tensor<8x4xi32>\n  \
             input 1 (x): expected tensor<8x4xf32>, got tensor<4x8xf32>; \
             pass the inputs in the program's order, with its element types and shapes: nothing is converted"
        );
        check();
        let damaged = HostArray { data: vec![0; 3], ..good[0].clone() };
        for bad in
            [vec![], good[..1].to_vec(), [&good[..], &good[..1]].concat(), vec![damaged, good[1].clone()]]
        {
            assert_eq!(runtime(program.run(&client, &bad).unwrap_err()).code(), "RT0303");
            check();
        }
    }
    assert_eq!(random_inputs(&output.interface, 0).unwrap().len(), 2);
}

#[test]
fn state_stays_on_the_devices() {
    let Some((client, _, program)) = step() else { return };
    let inputs = [filled(DType::F32, &[8, 4], 0.0), filled(DType::F32, &[8, 4], 0.25)];
    let arrays = program.put(&client, &inputs).unwrap();
    let (state, batch) = arrays.split_at(1);
    let mut kept = state.to_vec();
    for _ in 0..4 {
        kept = program.step(&[&kept[..1], batch].concat()).unwrap();
    }
    assert_eq!(kept[0].to_host().unwrap().to_f64_vec(), [1.0; 32]);
    assert_eq!(kept[1].to_host().unwrap().to_f64_vec(), [8.0]);
    assert_eq!(kept[1].check_replicas().unwrap(), None);
    // `step_donating` does not overwrite an array that has a clone.
    let mut donated = state.to_vec();
    for _ in 0..4 {
        donated.truncate(1);
        donated.extend_from_slice(batch);
        donated = program.step_donating(donated).unwrap();
    }
    assert_eq!(donated[0].to_host().unwrap(), kept[0].to_host().unwrap());
    assert_eq!(state[0].to_host().unwrap().to_f64_vec(), [0.0; 32]);
    assert_eq!(batch[0].to_host().unwrap().to_f64_vec(), [0.25; 32]);
    // An array that is passed as both inputs has two owners.
    let both = program.put(&client, &[inputs[1].clone(), inputs[1].clone()]).unwrap();
    let whole = ShardedArray::from_buffers(both[0].layout().clone(), both[0].buffers().to_vec()).unwrap();
    drop(both);
    let twice = program.step_donating(vec![whole.clone(), batch[0].clone()]).unwrap();
    assert_eq!(twice[0].to_host().unwrap().to_f64_vec(), [0.5; 32]);
    assert_eq!(whole.to_host().unwrap().to_f64_vec(), [0.25; 32]);
}

#[test]
fn arrays_with_another_sharding_are_reported() {
    let Some((client, _, program)) = step() else { return };
    let array = filled(DType::F32, &[8, 4], 1.0);
    let devices = program.executable().devices();
    let spread =
        |layout, array: &HostArray| ShardedArray::from_host(&client, devices, layout, array).unwrap();
    let whole = spread(ShardLayout::replicated(&[8, 4], 8).unwrap(), &array);
    let integers = spread(ShardLayout::replicated(&[8, 4], 8).unwrap(), &filled(DType::I32, &[8, 4], 1.0));
    let error = runtime(program.step(&[whole, integers]).unwrap_err());
    assert_eq!(
        error.to_string(),
        "2 inputs do not match the program, which has 2 parameters:\n  \
         input 0 (w): expected split [4, 2] over 8 devices, got replicated on 8 devices\n  \
         input 1 (x): expected tensor<8x4xf32>, got tensor<8x4xi32>"
    );
    let good = program.put(&client, &[array.clone(), array]).unwrap();
    let mut reversed = good[0].layout().clone();
    let blocks = (0..8).rev().map(|d| good[0].layout().block(d).unwrap().to_vec()).collect();
    reversed = ShardLayout::new(reversed.global_shape(), reversed.shards(), blocks).unwrap();
    let turned = ShardedArray::from_buffers(reversed, good[0].buffers().to_vec()).unwrap();
    let error = runtime(program.step(&[turned, good[1].clone()]).unwrap_err());
    assert!(error.to_string().ends_with("in a different device order"), "{error}");
    // The blocks of the first two devices are swapped.
    let mut buffers = good[0].buffers().to_vec();
    buffers.swap(0, 1);
    let swapped = ShardedArray::from_buffers(good[0].layout().clone(), buffers).unwrap();
    match runtime(program.step(&[swapped, good[1].clone()]).unwrap_err()) {
        RuntimeError::Inputs { mismatches, .. } => {
            assert!(mismatches.iter().all(|m| matches!(m.problem, Problem::Device { .. })), "{mismatches:?}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(program.step(&good).unwrap()[0].to_host().unwrap().to_f64_vec(), [2.0; 32]);
}

#[test]
fn memory_limit_errors_report_bytes() {
    let Some((client, output, program)) = step() else { return };
    let limits = |bytes| Limits { memory: MemoryLimit::Bytes(bytes), ..Limits::default() };
    let original = Compiler::read(STEP).unwrap();
    let error = runtime(verify_within(&client, &original, &output, 0, limits(500)).unwrap_err());
    assert_eq!(error.code(), "RT0304");
    assert!(error.to_string().contains("the limit is 500 B:\n  256 B for inputs on the host"), "{error}");
    // The limit is enough for arguments and results, but not for the temporaries.
    let inputs = random_inputs(&output.interface, 0).unwrap();
    let program = program.with_limits(limits(100));
    let error = runtime(program.run(&client, &inputs).unwrap_err());
    assert!(error.to_string().contains("for inputs on 8 devices"), "{error}");
    assert!(verify_within(&client, &original, &output, 0, limits(1 << 20)).unwrap().iter().all(|c| c.ok()));
}

/// The check precedes the allocation of the inputs, which would need petabytes.
#[test]
fn petabyte_inputs_are_rejected() {
    let Some(client) = client(8) else { return };
    let source = String::from_utf8_lossy(STEP).replace("8x4x", "8000000x40000000x");
    let output = Compiler::new().partition(source.as_bytes()).unwrap();
    let original = Compiler::read(source.as_bytes()).unwrap();
    let error = runtime(shardc::exec::verify(&client, &original, &output, 0).unwrap_err());
    assert_eq!(error.code(), "RT0304");
    assert!(error.to_string().contains("TiB for inputs on the host"), "{error}");
    assert!(error.hint().unwrap().contains("shardc compile --target"));
}
