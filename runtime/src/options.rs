//! Compile options, and their encoding as XLA's `CompileOptionsProto`.
//!
//! The protobuf messages have only the fields that shardc sets; field numbers are from `xla/pjrt/proto/compile_options.proto` and
//! `xla/xla_data.proto`.

use std::collections::{BTreeMap, HashMap};

use prost::Message;

/// How a program is compiled: the number of devices, and whether they are replicas or partitions.
///
/// A program with cross-replica collectives and `replica_id` needs [`CompileOptions::replicas`]; a program with manual shardings on
/// every op, channel handles and `partition_id` needs [`CompileOptions::partitions`].
#[derive(Clone, Debug, PartialEq)]
pub struct CompileOptions {
    /// The number of replicas.
    pub num_replicas: usize,
    /// The number of partitions of each replica.
    pub num_partitions: usize,
    /// The device IDs, replica-major (`replica * num_partitions + partition`); the first devices of the client if `None`.
    pub device_ids: Option<Vec<i32>>,
    /// Lets XLA partition the program from its `sdy` annotations. Used only for comparison with XLA.
    pub shardy: bool,
    /// XLA's options by name, as in `XLA_FLAGS` without the dashes: `xla_allow_excess_precision`.
    pub xla_options: BTreeMap<String, OptionValue>,
}

/// The value of an XLA option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text, also for enumerations.
    Text(String),
}

impl CompileOptions {
    /// Creates the options for a program in replica mode on `devices` devices.
    #[must_use]
    pub fn replicas(devices: usize) -> CompileOptions {
        CompileOptions {
            num_replicas: devices,
            num_partitions: 1,
            device_ids: None,
            shardy: false,
            xla_options: BTreeMap::new(),
        }
    }

    /// Creates the options for a program in partition mode on `devices` devices.
    #[must_use]
    pub fn partitions(devices: usize) -> CompileOptions {
        CompileOptions { num_replicas: 1, num_partitions: devices, ..CompileOptions::replicas(1) }
    }

    /// Sets an XLA option.
    #[must_use]
    pub fn xla_option(mut self, name: &str, value: OptionValue) -> CompileOptions {
        self.xla_options.insert(name.to_owned(), value);
        self
    }

    /// The number of devices of the program.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.num_replicas.saturating_mul(self.num_partitions)
    }

    /// Encodes the options for PJRT; `ids` has one device ID for each replica and partition, in replica-major order.
    pub(crate) fn encode(&self, ids: &[i32]) -> Vec<u8> {
        let computation_devices = (0..self.num_partitions)
            .map(|partition| ComputationDevice {
                replica_device_ids: (0..self.num_replicas)
                    .filter_map(|replica| ids.get(replica * self.num_partitions + partition))
                    .map(|&id| i64::from(id))
                    .collect(),
            })
            .collect();
        let build = ExecutableBuildOptionsProto {
            device_ordinal: -1,
            num_replicas: self.num_replicas as i64,
            num_partitions: self.num_partitions as i64,
            use_spmd_partitioning: self.num_partitions > 1 || self.shardy,
            device_assignment: Some(DeviceAssignmentProto {
                replica_count: self.num_replicas as i32,
                computation_count: self.num_partitions as i32,
                computation_devices,
            }),
            use_shardy_partitioner: self.shardy,
        };
        let overrides = self.xla_options.iter().map(|(name, value)| {
            let value = match value.clone() {
                OptionValue::Bool(v) => override_value::Value::Bool(v),
                OptionValue::Int(v) => override_value::Value::Int(v),
                OptionValue::Float(v) => override_value::Value::Double(v),
                OptionValue::Text(v) => override_value::Value::String(v),
            };
            (name.clone(), OptionOverrideProto { value: Some(value) })
        });
        CompileOptionsProto {
            executable_build_options: Some(build),
            env_option_overrides: overrides.collect::<HashMap<_, _>>(),
        }
        .encode_to_vec()
    }
}

#[derive(Clone, PartialEq, Message)]
struct CompileOptionsProto {
    #[prost(message, optional, tag = "3")]
    executable_build_options: Option<ExecutableBuildOptionsProto>,
    #[prost(map = "string, message", tag = "7")]
    env_option_overrides: HashMap<String, OptionOverrideProto>,
}

#[derive(Clone, PartialEq, Message)]
struct ExecutableBuildOptionsProto {
    #[prost(int64, tag = "1")]
    device_ordinal: i64,
    #[prost(int64, tag = "4")]
    num_replicas: i64,
    #[prost(int64, tag = "5")]
    num_partitions: i64,
    #[prost(bool, tag = "6")]
    use_spmd_partitioning: bool,
    #[prost(message, optional, tag = "9")]
    device_assignment: Option<DeviceAssignmentProto>,
    #[prost(bool, tag = "19")]
    use_shardy_partitioner: bool,
}

#[derive(Clone, PartialEq, Message)]
struct DeviceAssignmentProto {
    #[prost(int32, tag = "1")]
    replica_count: i32,
    #[prost(int32, tag = "2")]
    computation_count: i32,
    #[prost(message, repeated, tag = "3")]
    computation_devices: Vec<ComputationDevice>,
}

#[derive(Clone, PartialEq, Message)]
struct ComputationDevice {
    #[prost(int64, repeated, tag = "1")]
    replica_device_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct OptionOverrideProto {
    #[prost(oneof = "override_value::Value", tags = "1, 2, 3, 4")]
    value: Option<override_value::Value>,
}

/// The variants of the protobuf `oneof` in [`OptionOverrideProto`].
mod override_value {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Value {
        #[prost(string, tag = "1")]
        String(String),
        #[prost(bool, tag = "2")]
        Bool(bool),
        #[prost(int64, tag = "3")]
        Int(i64),
        #[prost(double, tag = "4")]
        Double(f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignment_is_replica_major() {
        let options = CompileOptions { num_replicas: 2, num_partitions: 3, ..CompileOptions::replicas(1) };
        let decoded = CompileOptionsProto::decode(options.encode(&[0, 1, 2, 3, 4, 5]).as_slice()).unwrap();
        let assignment = decoded.executable_build_options.unwrap().device_assignment.unwrap();
        let ids: Vec<_> = assignment.computation_devices.into_iter().map(|c| c.replica_device_ids).collect();
        assert_eq!(ids, [[0, 3], [1, 4], [2, 5]]);
    }
}
