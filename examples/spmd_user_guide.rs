//! Reproduces the examples of the PyTorch/XLA SPMD user guide with shardc: a mesh of 4 x 2 devices, tensors of rank 1 to 3 with partition
//! specs, and the shard that each device holds.
//!
//! ```text
//! cargo run -p shardc-examples --bin spmd_user_guide
//! ```
//!
//! In each picture, rows and columns are labeled with the elements of a shard, and a cell lists the devices that hold it. The program
//! that uses the tensors is then partitioned and run on 8 virtual devices of XLA's CPU plugin (installed by `shardc plugin install cpu`).
//! Its results are compared with those of one device.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use anyhow::Result;
use shardc::Compiler;
use shardc::exec::{Program, random_inputs, verify};
use shardc::graph::{DType, Graph, GraphErrors, Mesh, PartitionSpec, placement, spec};
use shardc::ir::Module;
use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};

/// A tensor of the guide, with its partition spec.
struct Marked {
    name: &'static str,
    shape: &'static [i64],
    spec: PartitionSpec,
    note: &'static str,
}

fn tensors() -> Vec<Marked> {
    vec![
        Marked {
            name: "t1",
            shape: &[8, 4],
            spec: spec!["data", "model"],
            note: "both dimensions are sharded: each device has a different block",
        },
        Marked {
            name: "t2",
            shape: &[2, 8, 4],
            spec: spec![None, "data", "model"],
            note: "the first dimension is not sharded",
        },
        Marked {
            name: "t3",
            shape: &[8],
            spec: spec!["data"],
            note: "no dimension is sharded along \"model\": its devices have replicas",
        },
        Marked {
            name: "t4",
            shape: &[8],
            spec: spec![("data", "model")],
            note: "one dimension is sharded along both axes, \"data\" first",
        },
    ]
}

/// The guide's program: a few operations on parameters that are sharded as annotated.
fn program(mesh: &Mesh) -> Result<Module, GraphErrors> {
    let g = Graph::new("spmd_user_guide", mesh);
    let marked = |t: &Marked| g.parameter(t.name, t.shape, DType::F32).mark_sharding(t.spec.clone());
    let tensors = tensors();
    let mut results: Vec<_> = tensors.iter().map(|t| (t.name, marked(t) * 2.0)).collect();
    // An intermediate tensor can be annotated like a parameter.
    let ((_, t1), (_, t3)) = (results[0], results[2]);
    let rows = t3.broadcast_in_dim([8, 4], &[0]).mark_sharding(spec!["data", None]);
    results.push(("sum", t1 + rows));
    g.finish(&results)
}

fn main() -> Result<()> {
    plugin::quiet_plugin_logs();
    let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
    for tensor in tensors() {
        let held = placement(&mesh, tensor.shape, &tensor.spec)?;
        println!("{} of shape {:?} marked {}: {}", tensor.name, tensor.shape, tensor.spec, tensor.note);
        println!("{}", held.picture());
    }
    let module = program(&mesh)?;
    println!("Arguments and results of each device:");
    let output = Compiler::new().partition_module(module.clone())?;
    let manifest = output.manifest();
    for (role, tensors) in [("in", &manifest.inputs), ("out", &manifest.outputs)] {
        for t in tensors {
            let name = t.name.as_deref().unwrap_or("?");
            println!(
                "  {role:3} {name:4} {:?} of {:?}, sharded along {:?}",
                t.local_shape, t.global_shape, t.spec
            );
        }
    }
    match plugin::find(PluginKind::Cpu, &Environment::from_process()) {
        Err(error) => println!("\nNot run: {error}. `shardc plugin install cpu` fetches the plugin."),
        Ok(found) => {
            let devices = Some(output.num_devices());
            let client =
                Client::new(&Plugin::load(&found.path)?, ClientOptions { cpu_device_count: devices })?;
            let inputs = random_inputs(&output.interface, 0)?;
            let results = Program::partitioned(&client, &output)?.run(&client, &inputs)?;
            let sum = results.last().map(|array| array.to_f64_vec()).unwrap_or_default();
            println!(
                "\nRun on {} devices: the first row of `sum` is {:.3?}",
                client.devices().len(),
                &sum[..4]
            );
            let equal = verify(&client, &module, &output, 0)?.iter().all(|check| check.ok());
            println!("Equal to the result of one device: {equal}");
        }
    }
    Ok(())
}
