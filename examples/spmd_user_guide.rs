//! What the PyTorch/XLA SPMD user guide shows, with shardc: a mesh of 4 x 2 devices, tensors of rank 1 to 3
//! marked with partition specifications, and which device then holds which block.
//!
//! ```text
//! cargo run -p shardc-examples --bin spmd_user_guide
//! ```
//!
//! Rows and columns of a picture carry the elements that a block holds, its cells the devices that hold it.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardc_graph::{DType, Graph, GraphError, Mesh, PartitionSpec, placement, spec};
use shardc_ir::Module;

/// A tensor of the guide.
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
            note: "both dimensions are split, every device holds another block",
        },
        Marked {
            name: "t2",
            shape: &[2, 8, 4],
            spec: spec![None, "data", "model"],
            note: "the first dimension is not split",
        },
        Marked {
            name: "t3",
            shape: &[8],
            spec: spec!["data"],
            note: "no dimension is split along \"model\": its devices hold copies",
        },
        Marked {
            name: "t4",
            shape: &[8],
            spec: spec![("data", "model")],
            note: "one dimension is split along both axes, \"data\" first",
        },
    ]
}

/// The guide's program: tensors come in split as marked, and go into a few operations.
fn program(mesh: &Mesh) -> Result<Module, GraphError> {
    let mut g = Graph::new("spmd_user_guide", mesh.clone());
    let mut results = Vec::new();
    for tensor in tensors() {
        let x = g.parameter(tensor.name, tensor.shape, DType::F32)?;
        g.mark_sharding(x, tensor.spec)?;
        results.push((tensor.name, g.mul(x, 2.0)?));
    }
    // A tensor in the middle of a program is marked like a parameter.
    let (_, t1) = results[0];
    let (_, t3) = results[2];
    let rows = g.broadcast_in_dim(t3, [8, 4], &[0])?;
    g.mark_sharding(rows, spec!["data", None])?;
    let sum = g.add(t1, rows)?;
    results.push(("sum", sum));
    g.finish(&results)
}

fn main() -> Result<(), GraphError> {
    let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
    for tensor in tensors() {
        let held = placement(&mesh, tensor.shape, &tensor.spec)?;
        println!("{} of shape {:?} marked {}: {}", tensor.name, tensor.shape, tensor.spec, tensor.note);
        println!("{}", held.picture());
    }
    let module = program(&mesh)?;
    let inputs: usize = module.entry().map_or(0, |main| module.funcs[main].params.len());
    println!("The program takes {inputs} tensors and is valid for {} devices.", mesh.num_devices());
    Ok(())
}
