//! The fields of a serialized HLO module that shardc reads; field numbers are from `xla/service/hlo.proto` and `xla/xla_data.proto`.

use std::collections::HashMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ModuleWithConfig {
    #[prost(message, optional, tag = "1")]
    pub(super) module: Option<Module>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Module {
    #[prost(message, repeated, tag = "3")]
    pub(super) computations: Vec<Computation>,
    #[prost(int64, tag = "6")]
    pub(super) entry_computation_id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Computation {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) instructions: Vec<Instruction>,
    #[prost(int64, tag = "5")]
    pub(super) id: i64,
    #[prost(int64, tag = "6")]
    pub(super) root_id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Instruction {
    #[prost(string, tag = "2")]
    pub(super) opcode: String,
    #[prost(message, optional, tag = "3")]
    pub(super) shape: Option<Shape>,
    #[prost(message, optional, tag = "8")]
    pub(super) literal: Option<Literal>,
    #[prost(int64, tag = "9")]
    pub(super) parameter_number: i64,
    #[prost(int64, tag = "13")]
    pub(super) tuple_index: i64,
    #[prost(string, tag = "28")]
    pub(super) custom_call_target: String,
    #[prost(int64, tag = "35")]
    pub(super) id: i64,
    #[prost(int64, repeated, tag = "36")]
    pub(super) operand_ids: Vec<i64>,
    #[prost(int64, repeated, tag = "38")]
    pub(super) called_computation_ids: Vec<i64>,
    #[prost(bytes = "vec", tag = "43")]
    pub(super) backend_config: Vec<u8>,
    #[prost(string, tag = "63")]
    pub(super) comparison_direction: String,
    #[prost(message, repeated, tag = "49")]
    pub(super) replica_groups: Vec<ReplicaGroup>,
    #[prost(message, optional, tag = "68")]
    pub(super) frontend_attributes: Option<FrontendAttributes>,
    #[prost(message, optional, tag = "87")]
    pub(super) collective_device_list: Option<CollectiveDeviceList>,
    #[prost(message, optional, tag = "92")]
    pub(super) iota_collective_device_list: Option<IotaReplicaGroupList>,
    #[prost(message, optional, tag = "93")]
    pub(super) mesh_axes_replica_group_list: Option<MeshAxesReplicaGroupList>,
}

/// The attributes that front ends and compilers add to an instruction, by name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FrontendAttributes {
    #[prost(map = "string, string", tag = "1")]
    pub(super) map: HashMap<String, String>,
}

/// The elements of a constant; only the integer types that loop counters have.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Literal {
    #[prost(int32, repeated, tag = "4")]
    pub(super) s32s: Vec<i32>,
    #[prost(int64, repeated, tag = "5")]
    pub(super) s64s: Vec<i64>,
    #[prost(uint32, repeated, tag = "6")]
    pub(super) u32s: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub(super) u64s: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(int32, tag = "2")]
    pub(super) element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(super) dimensions: Vec<i64>,
    #[prost(message, repeated, tag = "4")]
    pub(super) tuple_shapes: Vec<Shape>,
}

impl Shape {
    pub(super) fn bytes(&self) -> f64 {
        let own = self.dimensions.iter().fold(1.0, |all, &n| all * n as f64)
            * element_bits(self.element_type)
            / 8.0;
        own + self.tuple_shapes.iter().map(Shape::bytes).sum::<f64>()
    }
}

/// Returns the number of bits of an element with this `xla.PrimitiveType`; 0 for tuples, tokens and opaque types.
fn element_bits(primitive_type: i32) -> f64 {
    f64::from(match primitive_type {
        30 | 31 => 1,
        26 | 27 => 2,
        21 | 22 | 32 => 4,
        35 | 36 => 6,
        1 | 2 | 6 | 19 | 20 | 23 | 24 | 25 | 28 | 29 | 33 => 8,
        3 | 7 | 10 | 16 => 16,
        4 | 8 | 11 => 32,
        5 | 9 | 12 | 15 => 64,
        18 => 128,
        _ => 0,
    })
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReplicaGroup {
    #[prost(int64, repeated, tag = "1")]
    pub(super) replica_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CollectiveDeviceList {
    #[prost(message, repeated, tag = "1")]
    pub(super) replica_groups: Vec<ReplicaGroup>,
    #[prost(message, optional, tag = "2")]
    pub(super) iota: Option<IotaReplicaGroupList>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IotaReplicaGroupList {
    #[prost(int64, tag = "2")]
    pub(super) num_devices_per_group: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MeshAxesReplicaGroupList {
    #[prost(message, optional, tag = "1")]
    pub(super) mesh: Option<Mesh>,
    #[prost(message, repeated, tag = "2")]
    pub(super) axes: Vec<AxisRef>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Mesh {
    #[prost(message, repeated, tag = "1")]
    pub(super) axes: Vec<MeshAxis>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MeshAxis {
    #[prost(int64, tag = "2")]
    pub(super) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AxisRef {
    #[prost(int64, tag = "1")]
    pub(super) mesh_axis_index: i64,
    #[prost(message, optional, tag = "2")]
    pub(super) sub_axis: Option<SubAxis>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SubAxis {
    #[prost(int64, tag = "2")]
    pub(super) size: i64,
}
