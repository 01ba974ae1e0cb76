//! The manifest: the inputs and outputs of a partitioned program, for the program that runs it.
//!
//! The mesh and the spec determine the block of an array on each device. The device with id `device_ids[p]` is at position `p`, row-major
//! over the axes. Along a dimension of size `n` whose axes have `k` devices, each device holds one block of size `ceil(n / k)`. The index
//! of the block is the device's coordinate over those axes (major to minor). Elements beyond `n` are padding with any value.
//!
//! A tensor that is `unreduced` along some axes consists of partial sums: the block is the sum of the values that the devices along these
//! axes hold. To feed an unreduced parameter, give the block to the first of these devices and zeros to the others. To fetch an unreduced
//! result, add the values of these devices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shardc_ir::Mesh;
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};

/// The inputs, outputs and devices of a partitioned program, in version 1 of the format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format: 1.
    pub version: u32,
    /// `replica` or `partition`.
    pub spmd_mode: String,
    /// Number of devices.
    pub num_devices: usize,
    /// The main mesh of the program: its axes, and the device at each position.
    pub mesh: MeshInfo,
    /// Meshes over the same devices in other orders, by name, if a tensor uses one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub meshes: BTreeMap<String, MeshInfo>,
    /// Parameters in order.
    pub inputs: Vec<TensorInfo>,
    /// Results in order.
    pub outputs: Vec<TensorInfo>,
}

/// A mesh of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeshInfo {
    /// Axes, major to minor.
    pub axes: Vec<Axis>,
    /// Device id at each position.
    pub device_ids: Vec<i64>,
}

/// An axis of a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The name.
    pub name: String,
    /// Number of devices along the axis.
    pub size: i64,
}

/// A parameter or result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// Name, if the program gives one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Element type, as MLIR names it; `token` for a token (`!stablehlo.token`), which orders effects, holds no data and
    /// has no dimensions.
    pub dtype: String,
    /// The global shape.
    pub global_shape: Vec<i64>,
    /// The shape of the block on one device.
    pub local_shape: Vec<i64>,
    /// For each dimension, the axes that shard it, major to minor; a sub-axis is `x:(pre)size`.
    pub spec: Vec<Vec<String>>,
    /// The axes along which devices hold partial sums of one block, if any; a sub-axis is `x:(pre)size`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unreduced: Vec<String>,
    /// The reduction that combines values along `unreduced`, if it is not a sum: `max`, `min`, `mul`, `and`, `or` or `xor`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reduction: Option<String>,
    /// The mesh in [`Manifest::meshes`] that `spec` refers to, if it is not the main mesh.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mesh: Option<String>,
    /// For a donated parameter, the result that may reuse its memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub donated_to: Option<usize>,
}

fn mesh_info(mesh: &Mesh) -> MeshInfo {
    MeshInfo {
        axes: mesh.axes.iter().map(|(n, &s)| Axis { name: n.to_string(), size: s }).collect(),
        device_ids: (0..mesh.num_devices()).map(|p| mesh.device_at(p)).collect(),
    }
}

impl From<&Interface> for Manifest {
    fn from(interface: &Interface) -> Self {
        let tensor = |t: &InterfaceTensor| TensorInfo {
            name: t.name.clone(),
            dtype: if t.is_token { "token" } else { t.global.dtype.as_str() }.to_owned(),
            global_shape: t.global.shape.to_vec(),
            local_shape: t.local_shape.to_vec(),
            spec: t
                .sharding
                .dims
                .iter()
                .map(|d| d.axes.iter().map(|&a| interface.mesh_of(t).axis_text(a)).collect())
                .collect(),
            unreduced: t.sharding.unreduced.iter().map(|&a| interface.mesh_of(t).axis_text(a)).collect(),
            reduction: Some(t.sharding.reduction.word()).filter(|word| !word.is_empty()).map(str::to_owned),
            mesh: t.mesh.as_deref().map(str::to_owned),
            donated_to: t.donated_to,
        };
        let mesh = &interface.mesh;
        Manifest {
            version: 1,
            spmd_mode: interface.mode.as_str().to_owned(),
            num_devices: mesh.num_devices(),
            mesh: mesh_info(mesh),
            meshes: interface.meshes.iter().map(|(name, m)| (name.to_string(), mesh_info(m))).collect(),
            inputs: interface.inputs.iter().map(tensor).collect(),
            outputs: interface.outputs.iter().map(tensor).collect(),
        }
    }
}

impl Manifest {
    /// The manifest as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: the structs consist of strings and numbers.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
