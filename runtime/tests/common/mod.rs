//! Helpers shared by the integration tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
// Each test binary uses only a part of this module.
#![allow(dead_code)]

use std::io::Write;

use shardc_filetest::skip::{Need, skip};
use shardc_runtime::plugin::FoundPlugin;
use shardc_runtime::{
    Buffer, Client, ClientOptions, Environment, HostArray, LoadedExecutable, Plugin, PluginKind, plugin,
};

/// Finds the plugin of a kind. If there is none, prints why the test is skipped and returns `None`.
pub(crate) fn found(kind: PluginKind) -> Option<FoundPlugin> {
    match plugin::find(kind, &Environment::from_process()) {
        Ok(found) => Some(found),
        Err(error) => {
            let need = match kind {
                PluginKind::Cpu => Need::CpuPlugin,
                PluginKind::Tpu => Need::TpuPlugin,
                PluginKind::Cuda => Need::CudaPlugin,
            };
            skip(need, &format!("{error}; {}", error.hint().unwrap_or_default()));
            None
        }
    }
}

/// Creates a client with this many virtual devices. If there is no CPU plugin, prints why the test is skipped and returns `None`.
pub(crate) fn cpu_client(devices: usize) -> Option<Client> {
    let found = found(PluginKind::Cpu)?;
    let plugin = Plugin::load(&found.path).unwrap();
    Some(Client::new(&plugin, ClientOptions { cpu_device_count: Some(devices) }).unwrap())
}

/// Copies arrays to the devices of a program: `arrays[device][i]` is argument `i` of the device.
pub(crate) fn place(
    client: &Client,
    program: &LoadedExecutable,
    arrays: &[Vec<HostArray>],
) -> Vec<Vec<Buffer>> {
    program
        .devices()
        .iter()
        .zip(arrays)
        .map(|(device, list)| list.iter().map(|a| client.buffer_from_host(a, device).unwrap()).collect())
        .collect()
}

/// Aborts the process if a test takes too long, so that a hang is a failure.
pub(crate) struct Watchdog(
    #[expect(dead_code, reason = "dropped with the guard")] std::sync::mpsc::Sender<()>,
);

impl Watchdog {
    pub(crate) fn start(seconds: u64) -> Watchdog {
        let (alive, ended) = std::sync::mpsc::channel();
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        std::thread::spawn(move || {
            let timeout = std::time::Duration::from_secs(seconds);
            if ended.recv_timeout(timeout) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = std::io::stderr().write_all(format!("{test} hangs\n").as_bytes());
                std::process::exit(101);
            }
        });
        Watchdog(alive)
    }
}

/// A program that sums a vector of four elements over eight devices, in replica mode.
pub(crate) const ALL_REDUCE_REPLICAS: &str = r#"
module @sum attributes {mhlo.num_replicas = 8 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"#;

/// The program of [`ALL_REDUCE_REPLICAS`] in partition mode: every operation is manual, with global device ids and a channel.
pub(crate) const ALL_REDUCE_PARTITIONS: &str = r#"
module @sum attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 8 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {mhlo.sharding = "{manual}"}) -> (tensor<4xf32> {mhlo.sharding = "{manual}"}) {
    %0 = "stablehlo.all_reduce"(%arg0) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>,
      use_global_device_ids
    }> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"#;
