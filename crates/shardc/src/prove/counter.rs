//! Counter-examples with a manifest.

use shardc_ir::{Module, TypeId};
use shardc_prove::{AxisDigit, Block, Boundary, Difference, Options};

use super::{boundary, misfit, with_manual_computations};
use crate::Error;
use crate::manifest::{Axis, Manifest, MeshInfo, TensorInfo};

/// A small pair of programs in which the partition computes something else.
#[derive(Clone, Debug)]
pub struct CounterExample {
    /// The program on global values.
    pub original: Module,
    /// The partitioned program.
    pub partitioned: Module,
    /// The blocks of their inputs and of their output.
    pub manifest: Manifest,
    /// Whether the output is one of the entire partition. Otherwise it is a value inside: if it were the block of the original's value, outputs
    /// of the partition would be proven.
    pub is_output: bool,
    /// One element that differs; `None` if the devices wait for each other without end.
    pub difference: Option<Difference>,
}

/// Makes the smallest pair of programs that it can find in which the partition computes something else. [`prove`](super::prove()) refutes the
/// pair. `None` if no difference is found.
///
/// # Errors
/// As for [`prove`](super::prove()).
pub fn counter_example(
    original: &Module,
    partitioned: &Module,
    manifest: &Manifest,
    options: &Options,
) -> Result<Option<CounterExample>, Error> {
    let original = with_manual_computations(original);
    let found = boundary(manifest)
        .and_then(|blocks| shardc_prove::counter_example(&original, partitioned, &blocks, options))
        .map_err(misfit)?;
    Ok(found.map(|found| {
        let manifest = described(&found.boundary, &manifest.mesh, &found.original, &found.partitioned);
        CounterExample {
            original: found.original,
            partitioned: found.partitioned,
            manifest,
            is_output: found.is_output,
            difference: found.difference,
        }
    }))
}

/// The manifest of a boundary. The axes are those of the mesh if they describe all blocks; otherwise the mesh has one axis.
fn described(boundary: &Boundary, mesh: &MeshInfo, original: &Module, partitioned: &Module) -> Manifest {
    let digits = || {
        let blocks = boundary.inputs.iter().chain(&boundary.outputs);
        blocks.flat_map(|block| block.axes.iter().flatten().chain(&block.unreduced))
    };
    let mut mesh = mesh.clone();
    if !digits().all(|digit| names(&mesh, digit).is_some()) {
        mesh.axes = vec![Axis { name: "devices".to_owned(), size: boundary.device_ids.len() as i64 }];
    }
    mesh.device_ids.clone_from(&boundary.device_ids);
    let all = |digits: &[AxisDigit]| -> Vec<String> {
        digits.iter().filter_map(|digit| names(&mesh, digit)).flatten().collect()
    };
    let tensor = |block: &Block, ty: TypeId, module: &Module| TensorInfo {
        name: None,
        dtype: module.types.as_tensor(ty).map_or("token", |ty| ty.dtype.as_str()).to_owned(),
        global_shape: block.global.iter().map(|&size| size as i64).collect(),
        local_shape: block.local.iter().map(|&size| size as i64).collect(),
        spec: block.axes.iter().map(|axes| all(axes)).collect(),
        unreduced: all(&block.unreduced),
        reduction: Some(block.reduction.word())
            .filter(|word| !word.is_empty() && !block.unreduced.is_empty())
            .map(str::to_owned),
        mesh: None,
        donated_to: None,
    };
    let types = |module: &Module| -> [Vec<TypeId>; 2] {
        let func = module.entry().map(|entry| &module.funcs[entry]);
        func.map(|func| [func.params.clone(), func.results.clone()]).unwrap_or_default()
    };
    let [params, results] = types(partitioned);
    let tensors = |blocks: &[Block], types: Vec<TypeId>| {
        blocks.iter().zip(types).map(|(block, ty)| tensor(block, ty, partitioned)).collect()
    };
    let (inputs, outputs) = (tensors(&boundary.inputs, params), tensors(&boundary.outputs, results));
    debug_assert_eq!(types(original)[0].len(), boundary.inputs.len());
    Manifest {
        version: 1,
        spmd_mode: if boundary.are_partitions { "partition" } else { "replica" }.to_owned(),
        num_devices: boundary.device_ids.len(),
        mesh,
        meshes: std::collections::BTreeMap::new(),
        inputs,
        outputs,
    }
}

/// The axes and sub-axes of a digit, major to minor; `None` if their boundaries differ.
fn names(mesh: &MeshInfo, digit: &AxisDigit) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let (mut end, mut size) = (mesh.axes.iter().map(|axis| axis.size.max(1) as u64).product::<u64>(), 1);
    for axis in &mesh.axes {
        let stride = end / (axis.size.max(1) as u64);
        let (low, high) = (stride.max(digit.stride), end.min(digit.stride * digit.size));
        if low < high {
            if !low.is_multiple_of(stride) || !end.is_multiple_of(high) || !high.is_multiple_of(low) {
                return None;
            }
            let (before, own) = (end / high, high / low);
            let is_entire = (low, high) == (stride, end);
            found.push(if is_entire { axis.name.clone() } else { format!("{}:({before}){own}", axis.name) });
            size *= own;
        }
        end = stride;
    }
    (size == digit.size).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::axis;

    #[test]
    fn names_describe_digits() {
        let axes = [("a", 4), ("b", 6)].map(|(name, size)| Axis { name: name.to_owned(), size });
        let mesh = MeshInfo { axes: axes.to_vec(), device_ids: (0..24).collect() };
        let named = |stride, size| names(&mesh, &AxisDigit { stride, size });
        assert_eq!(named(6, 4), Some(vec!["a".to_owned()]));
        assert_eq!(named(1, 24), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(named(2, 6), Some(vec!["a:(2)2".to_owned(), "b:(1)3".to_owned()]));
        assert_eq!(named(4, 2), None, "the boundary is inside an axis");
        for (stride, size) in [(2, 3), (1, 2), (12, 2), (6, 2)] {
            let [name] = named(stride, size).unwrap().try_into().unwrap();
            assert_eq!(axis(&mesh, &name), Ok(AxisDigit { stride, size }));
        }
    }
}
