//! The collectives of an optimized HLO program, with the bytes that one device sends, and the compiler's estimate of compute cycles.
//!
//! The bytes are those that one device sends in one execution of the program, with ring algorithms over the `k` devices of a group. An
//! all-gather sends `(k-1)/k` of its result, a reduce-scatter `(k-1)/k` of its operand, an all-reduce `2(k-1)/k`, an all-to-all `(k-1)/k`,
//! a collective-permute its whole operand. A collective in a loop counts once per iteration if the trip count is known, and once otherwise.

mod cycles;
mod proto;
mod scattered;
mod trips;

use std::collections::{BTreeMap, HashMap};

use prost::Message;
use serde::{Deserialize, Serialize};

use crate::error::{Result, RuntimeError};
use proto::{Computation, Instruction, Module, ModuleWithConfig, ReplicaGroup, Shape};
use scattered::is_scattered;
use trips::Program;

/// Statistics of one kind of collective: how often it executes, and the bytes sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveStat {
    /// The number of times that collectives of this kind execute in one execution of the program.
    pub count: u64,
    /// Bytes that one device sends in one execution of the program, over a ring.
    pub bytes_sent: u64,
}

/// Statistics of collectives by kind. The keys are the names of HLO operations: `all-gather`, `all-reduce`, `reduce-scatter`, `all-to-all`,
/// `ragged-all-to-all`, `collective-permute`, `collective-broadcast`.
pub type Collectives = BTreeMap<String, CollectiveStat>;

const KINDS: &[&str] = &[
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
];

/// Facts about one execution of a program, for one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The collectives by kind.
    pub collectives: Collectives,
    /// The compiler's estimate of the cycles of computation; `None` if it has none. Collectives have no estimate.
    pub cycles: Option<u64>,
}

/// Returns the facts about a program from `PJRT_Executable_OptimizedProgram`. `program` is a serialized `HloModuleProto`.
///
/// `format` is the plugin's name of the format, `hlo` or `hlo_with_config`. `devices` is the number of devices of the program, which is the
/// group size of collectives without groups.
///
/// # Errors
///
/// The format is different, or `program` is not a valid proto.
pub fn summary(format: &str, program: &[u8], devices: usize) -> Result<Summary> {
    let protocol = |what: String| RuntimeError::Protocol { call: "PJRT_Executable_OptimizedProgram", what };
    let bad = |error: prost::DecodeError| protocol(format!("an HLO module that cannot be read: {error}"));
    let module = match format {
        "hlo" => Module::decode(program).map_err(bad)?,
        "hlo_with_config" => ModuleWithConfig::decode(program).map_err(bad)?.module.unwrap_or_default(),
        other => return Err(protocol(format!("a program in the format `{other}`"))),
    };
    let times = executions(&module);
    Ok(Summary { collectives: count(&module, &times, devices), cycles: cycles::of(&module, &times) })
}

fn count(module: &Module, times: &HashMap<i64, u64>, devices: usize) -> Collectives {
    let by_id: HashMap<i64, &Computation> = module.computations.iter().map(|c| (c.id, c)).collect();
    let callee = |id: i64| by_id.get(&id).copied();
    let mut out = Collectives::new();
    for computation in &module.computations {
        let Some(&times) = times.get(&computation.id) else { continue };
        let starts_chains = computation.instructions.iter().any(starts_chain);
        for instruction in &computation.instructions {
            if is_in_chain(instruction) && !starts_chains {
                continue;
            }
            let (opcode, started) = match instruction.opcode.strip_suffix("-start") {
                Some(kind) => (kind, true),
                None => (instruction.opcode.as_str(), false),
            };
            let Some(&kind) = KINDS.iter().find(|&&kind| kind == opcode) else { continue };
            // The TPU compiler writes a reduce-scatter either as an all-reduce in a fused computation whose name contains
            // `all-reduce-scatter`, or as an all-reduce and a slice.
            let is_scattered = kind == "all-reduce"
                && (computation.name.contains("all-reduce-scatter")
                    || is_scattered(instruction, computation, group_size(instruction, devices), &callee));
            let (kind, sent) = sent_bytes(kind, started, instruction, is_scattered, devices);
            let stat = out.entry(kind.to_owned()).or_default();
            stat.count = stat.count.saturating_add(times);
            // The product is computed in floating point, because sizes and trip counts of a damaged module may overflow an integer; the
            // cast saturates.
            stat.bytes_sent = stat.bytes_sent.saturating_add((sent * times as f64) as u64);
        }
    }
    out
}

/// Returns whether this instruction starts asynchronous collectives. Copies of a collective ([`is_in_chain`]) are counted only in the
/// computation that has such an instruction.
fn starts_chain(instruction: &Instruction) -> bool {
    instruction.opcode == "custom-call" && instruction.custom_call_target == "AsyncCollectiveStart"
}

/// Returns whether the instruction is one of several copies of a collective that is overlapped with compute. The TPU compiler writes a copy
/// in the computation that starts the collective, in each computation that overlaps with it, and in the computation that awaits it. All
/// copies have the same `chain_id`.
fn is_in_chain(instruction: &Instruction) -> bool {
    instruction.frontend_attributes.as_ref().is_some_and(|attributes| attributes.map.contains_key("chain_id"))
}

/// Returns the kind under which a collective is reported, and the bytes that one device sends in one execution of it.
fn sent_bytes<'k>(
    kind: &'k str,
    started: bool,
    instruction: &Instruction,
    is_scattered: bool,
    devices: usize,
) -> (&'k str, f64) {
    let k = group_size(instruction, devices).max(1) as f64;
    let mut shape = instruction.shape.as_ref();
    // The shape of an asynchronous all-gather or permute is a tuple (operand, result, ...), so the second element is used. The shape of an
    // asynchronous all-reduce is the shape of its result.
    if started && kind != "all-reduce" {
        shape = shape.and_then(|s| s.tuple_shapes.get(1)).or(shape);
    }
    let mut result = shape.map_or(0.0, Shape::bytes);
    let mut kind = kind;
    if is_scattered {
        kind = "reduce-scatter";
        result /= k;
    }
    let sent = match kind {
        "all-reduce" => 2.0 * result * (k - 1.0) / k,
        "reduce-scatter" => result * (k - 1.0),
        "collective-permute" => result,
        _ => result * (k - 1.0) / k,
    };
    (kind, sent)
}

/// Returns the number of devices in a replica group of a collective; `devices` if it has no groups.
fn group_size(instruction: &Instruction, devices: usize) -> usize {
    let first = |groups: &[ReplicaGroup]| groups.first().map(|g| g.replica_ids.len()).filter(|&n| n > 0);
    if let Some(n) = first(&instruction.replica_groups) {
        return n;
    }
    if let Some(list) = &instruction.collective_device_list {
        if let Some(n) = first(&list.replica_groups) {
            return n;
        }
        if let Some(iota) = &list.iota {
            return usize::try_from(iota.num_devices_per_group).unwrap_or(devices);
        }
    }
    if let Some(iota) = &instruction.iota_collective_device_list {
        return usize::try_from(iota.num_devices_per_group).unwrap_or(devices);
    }
    if let Some(list) = &instruction.mesh_axes_replica_group_list {
        let mesh = list.mesh.as_ref().map_or(&[][..], |mesh| &mesh.axes);
        let size = list.axes.iter().map(|axis| match &axis.sub_axis {
            Some(sub) => sub.size,
            None => {
                usize::try_from(axis.mesh_axis_index).ok().and_then(|i| mesh.get(i)).map_or(1, |a| a.size)
            }
        });
        let product = size.fold(1usize, |all, n| all.saturating_mul(usize::try_from(n).unwrap_or(1)));
        return product;
    }
    devices
}

/// Returns, by ID of the computation, how often it executes in one execution of the program. Computations that never execute are absent.
fn executions(module: &Module) -> HashMap<i64, u64> {
    let program = Program::of(&module.computations);
    let mut times: HashMap<i64, u64> = HashMap::new();
    // Callees precede their callers in a module, so the reverse order visits every caller first.
    times.insert(module.entry_computation_id, 1);
    for computation in module.computations.iter().rev() {
        let Some(&runs) = times.get(&computation.id) else { continue };
        for instruction in &computation.instructions {
            // The start, update and done instructions of an asynchronous call refer to the same computation; only the start is counted.
            if matches!(instruction.opcode.as_str(), "async-update" | "async-done") {
                continue;
            }
            for (position, callee) in instruction.called_computation_ids.iter().enumerate() {
                if !program.has(*callee) {
                    continue;
                }
                // The first called computation of a `while` loop is its body, the second its condition.
                let is_body = instruction.opcode == "while" && position == 0;
                let trips =
                    if is_body { trips::of(instruction, computation, &program).unwrap_or(1) } else { 1 };
                let entry = times.entry(*callee).or_default();
                *entry = entry.saturating_add(runs.saturating_mul(trips));
            }
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::proto::{
        AxisRef, CollectiveDeviceList, FrontendAttributes, IotaReplicaGroupList, Mesh,
        MeshAxesReplicaGroupList, MeshAxis, SubAxis,
    };
    use super::*;

    const F32: i32 = 11;

    fn array(dimensions: &[i64]) -> Shape {
        Shape { element_type: F32, dimensions: dimensions.to_vec(), tuple_shapes: Vec::new() }
    }

    fn tuple(shapes: &[Shape]) -> Shape {
        Shape { element_type: 13, dimensions: Vec::new(), tuple_shapes: shapes.to_vec() }
    }

    fn op(opcode: &str, shape: Shape) -> Instruction {
        Instruction { opcode: opcode.to_owned(), shape: Some(shape), ..Instruction::default() }
    }

    fn computation(id: i64, name: &str, instructions: Vec<Instruction>) -> Computation {
        Computation { id, name: name.to_owned(), instructions, root_id: 0 }
    }

    fn read(computations: Vec<Computation>) -> Vec<(String, u64, u64)> {
        let entry_computation_id = computations.last().map_or(0, |c| c.id);
        let module = Module { computations, entry_computation_id };
        let summary = summary("hlo", &module.encode_to_vec(), 8).unwrap();
        summary.collectives.into_iter().map(|(kind, stat)| (kind, stat.count, stat.bytes_sent)).collect()
    }

    fn one(instruction: Instruction) -> (String, u64, u64) {
        read(vec![computation(1, "main", vec![instruction])]).remove(0)
    }

    fn stat(kind: &str, count: u64, bytes: u64) -> (String, u64, u64) {
        (kind.to_owned(), count, bytes)
    }

    #[test]
    fn bytes_of_a_ring() {
        assert_eq!(one(op("all-gather", array(&[8, 4]))), stat("all-gather", 1, 128 * 7 / 8));
        assert_eq!(one(op("reduce-scatter", array(&[4]))), stat("reduce-scatter", 1, 16 * 7));
        assert_eq!(
            one(op("all-to-all", tuple(&[array(&[8]), array(&[8])]))),
            stat("all-to-all", 1, 64 * 7 / 8)
        );
        assert_eq!(one(op("collective-permute", array(&[4]))), stat("collective-permute", 1, 16));
    }

    #[test]
    fn asynchronous_collectives_count_their_result() {
        let both = tuple(&[array(&[4]), array(&[32])]);
        assert_eq!(one(op("all-gather-start", both)), stat("all-gather", 1, 128 * 7 / 8));
        let with_context = tuple(&[array(&[4]), array(&[4]), array(&[]), array(&[])]);
        assert_eq!(one(op("collective-permute-start", with_context)), stat("collective-permute", 1, 16));
        assert_eq!(one(op("all-reduce-start", array(&[8]))), stat("all-reduce", 1, 2 * 32 * 7 / 8));
        let wrapped =
            |opcode: &str| Instruction { called_computation_ids: vec![1], ..op(opcode, array(&[4])) };
        let inner = computation(1, "wrapped", vec![op("reduce-scatter", array(&[4]))]);
        let outer =
            computation(2, "main", ["async-start", "async-update", "async-done"].map(wrapped).to_vec());
        assert_eq!(read(vec![inner, outer]), [stat("reduce-scatter", 1, 112)]);
    }

    #[test]
    fn groups_in_every_form() {
        let iota = IotaReplicaGroupList { num_devices_per_group: 4 };
        let sent = |instruction: Instruction| one(instruction).2;
        let gather = || op("all-gather", array(&[64]));
        let group = ReplicaGroup { replica_ids: vec![0, 1] };
        assert_eq!(sent(Instruction { replica_groups: vec![group.clone(); 4], ..gather() }), 128);
        let list = CollectiveDeviceList { replica_groups: vec![group; 4], iota: None };
        assert_eq!(sent(Instruction { collective_device_list: Some(list), ..gather() }), 128);
        let list = CollectiveDeviceList { replica_groups: vec![], iota: Some(iota.clone()) };
        assert_eq!(sent(Instruction { collective_device_list: Some(list), ..gather() }), 192);
        assert_eq!(sent(Instruction { iota_collective_device_list: Some(iota), ..gather() }), 192);
        let mesh = Mesh { axes: vec![MeshAxis { size: 2 }, MeshAxis { size: 4 }] };
        let whole = AxisRef { mesh_axis_index: 0, sub_axis: None };
        let part = AxisRef { mesh_axis_index: 1, sub_axis: Some(SubAxis { size: 2 }) };
        let list = MeshAxesReplicaGroupList { mesh: Some(mesh), axes: vec![whole, part] };
        assert_eq!(sent(Instruction { mesh_axes_replica_group_list: Some(list), ..gather() }), 192);
    }

    #[test]
    fn loops_multiply_and_dead_computations_do_not_count() {
        let loop_of = |body: i64, config: &str| Instruction {
            called_computation_ids: vec![body, 9],
            backend_config: config.as_bytes().to_vec(),
            ..op("while", array(&[]))
        };
        let known = r#"{"known_trip_count":{"n":"3"}}"#;
        let module = vec![
            computation(9, "condition", vec![]),
            computation(8, "dead", vec![op("all-gather", array(&[8]))]),
            computation(1, "inner", vec![op("collective-permute", array(&[4]))]),
            computation(2, "outer", vec![loop_of(1, known), op("collective-permute", array(&[4]))]),
            computation(3, "main", vec![loop_of(2, known), loop_of(1, "not json")]),
        ];
        assert_eq!(read(module), [stat("collective-permute", 9 + 3 + 1, 16 * 13)]);
    }

    #[test]
    fn sliced_all_reduce_counts_as_reduce_scatter() {
        let sum = |shape| Instruction { id: 1, ..op("all-reduce", shape) };
        let reads = |opcode: &str, from: i64, id: i64, n: i64| Instruction {
            id,
            operand_ids: vec![from],
            ..op(opcode, array(&[n]))
        };
        let main = |mut rest: Vec<Instruction>| {
            rest.insert(0, sum(array(&[32])));
            Computation { root_id: 9, ..computation(5, "main", rest) }
        };
        let scattered = [stat("reduce-scatter", 1, 16 * 7)];
        let whole = [stat("all-reduce", 1, 2 * 128 * 7 / 8)];
        assert_eq!(read(vec![main(vec![reads("dynamic-slice", 1, 9, 4)])]), scattered);
        assert_eq!(read(vec![main(vec![reads("dynamic-slice", 1, 9, 8)])]), whole, "another part");
        assert_eq!(
            read(vec![main(vec![reads("dynamic-slice", 1, 2, 4), reads("negate", 1, 9, 32)])]),
            whole,
            "read in full as well"
        );
        let parameter = Instruction { id: 11, ..op("parameter", array(&[32])) };
        let inner = computation(4, "fused", vec![parameter, reads("dynamic-slice", 11, 12, 4)]);
        let fusion = Instruction { called_computation_ids: vec![4], ..reads("fusion", 1, 9, 4) };
        assert_eq!(read(vec![inner, main(vec![fusion])]), scattered);
    }

    #[test]
    fn chained_collectives_count_once() {
        let map = [("chain_id".to_owned(), "0".to_owned())].into_iter().collect();
        let gather = || Instruction {
            frontend_attributes: Some(FrontendAttributes { map: HashMap::clone(&map) }),
            ..op("all-gather", array(&[32]))
        };
        let call = |target: &str| Instruction {
            custom_call_target: target.to_owned(),
            ..op("custom-call", array(&[]))
        };
        let fusion = |id| Instruction { called_computation_ids: vec![id], ..op("fusion", array(&[32])) };
        let module = vec![
            computation(1, "start", vec![gather(), call("AsyncCollectiveStart")]),
            computation(2, "overlapped", vec![gather()]),
            computation(3, "done", vec![gather(), call("AsyncCollectiveDone")]),
            computation(4, "main", vec![fusion(1), fusion(2), fusion(2), fusion(3)]),
        ];
        assert_eq!(read(module), [stat("all-gather", 1, 128 * 7 / 8)]);
    }

    #[test]
    fn tpu_fusions_around_an_all_reduce_scatter() {
        let fusion = Instruction { called_computation_ids: vec![1], ..op("fusion", array(&[4])) };
        let inside = computation(1, "all-reduce-scatter.3", vec![op("all-reduce", array(&[32]))]);
        assert_eq!(
            read(vec![inside, computation(2, "main", vec![fusion])]),
            [stat("reduce-scatter", 1, 16 * 7)]
        );
    }

    #[test]
    fn invalid_modules_are_errors() {
        assert!(summary("hlo", &[0xff; 16], 8).is_err());
        assert!(summary("mlir", b"module {}", 8).is_err());
        assert_eq!(summary("hlo_with_config", &[], 8).unwrap(), Summary::default());
    }
}
