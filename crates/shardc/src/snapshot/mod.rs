//! A short, stable text about a partitioned program: shardings, collectives, memory, warnings. It is committed beside a model, and compared
//! in continuous integration.
//!
//! ```
//! use shardc::Compiler;
//! use shardc::snapshot::{Snapshot, SnapshotDiff};
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4]>
//!   func.func @main(
//!       %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
//!       %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
//!     %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//!         : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
//!     return %0 : tensor<32x16xf32>
//!   }
//! "#;
//! let program = Compiler::read(source)?;
//! let before = Snapshot::of(&Compiler::new().partition_module(program.clone())?, &program);
//! assert_eq!(Snapshot::parse(&before.to_text())?, before);
//!
//! // The weight is sharded too, so every device gathers it.
//! let output = Compiler::new().spec("arg1", "data,-")?.partition_module(program.clone())?;
//! let diff = SnapshotDiff::between(&before, &Snapshot::of(&output, &program));
//! assert_eq!(diff.arguments[0].name, "arg1");
//! assert_eq!((diff.sent.before, diff.sent.after), (0, 3072));
//! # Ok(())
//! # }
//! ```

mod causes;
mod codes;
mod diff;
mod diff_text;
mod parse;
mod text;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use shardc_ir::Module;
use shardc_passes::annotations::spec::MeshSpec;
use shardc_passes::cost::traffic;
use shardc_target::Target;

pub use diff::{
    Change, CollectiveChange, MemoryChange, SnapshotDiff, TensorChange, TimeChange, WarningChange,
};

use crate::explain::axes_of_collective;
use crate::explain::classes::{OperandClass, ProgramRoles};
use crate::folding::fold;
use crate::spec_text::{dims_text, spec_text};
use crate::{Interface, InterfaceTensor, Output};

/// The version of the format.
pub const VERSION: u32 = 1;

/// The part of the time that is the whole execution.
pub(crate) const EXECUTION: &str = "execution";

/// The properties of a partitioned program that a comparison is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The version of the format: [`VERSION`].
    pub version: u32,
    /// The mesh: `data=4,model=2`.
    pub mesh: String,
    /// The devices that the program is planned for: `v5e:2x4`; empty if no target is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The arguments. Those with the same type and sharding whose names differ only in numbers share a row.
    pub arguments: Vec<TensorRow>,
    /// The results, as the arguments.
    pub results: Vec<TensorRow>,
    /// The collectives, by kind and mesh axes.
    pub collectives: Vec<CollectiveRow>,
    /// The estimated memory of a device: arguments by class, results that are not in place, temporaries, peak, host memory.
    pub memory: Vec<MemoryRow>,
    /// The predicted time of one execution, if the snapshot is for a target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time: Vec<TimeRow>,
    /// All warnings, by code.
    pub warnings: Vec<WarningRow>,
}

/// Arguments or results with the same type and sharding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorRow {
    /// The name, or a pattern in which `0..79` stands for 80 numbers.
    pub name: String,
    /// The number of tensors.
    pub count: usize,
    /// The type of the unsharded tensor: `4096x4096xbf16`.
    #[serde(rename = "type")]
    pub ty: String,
    /// The sharding: the axes of each dimension, as in `--spec`; then properties such as `;unreduced=data`.
    pub sharding: String,
}

/// Collectives of one kind along the same mesh axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveRow {
    /// The kind: `all_gather`.
    pub kind: String,
    /// The mesh axes along which devices communicate.
    pub axes: Vec<String>,
    /// The number of operations.
    pub count: usize,
    /// The number of executions in one execution of the program.
    pub runs: u64,
    /// The bytes that one device sends in one execution of the program.
    pub bytes: u64,
}

/// A part of the memory of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// The part: `weight`, `temporaries`, `peak`.
    pub part: String,
    /// Bytes.
    pub bytes: u64,
}

/// A part of the predicted time of one execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRow {
    /// The part: `execution`, `compute`, `communication`, `exposed`.
    pub part: String,
    /// Nanoseconds.
    pub nanoseconds: u64,
}

/// The warnings with one code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningRow {
    /// The code: `SH0310`.
    pub code: String,
    /// The number of warnings.
    pub count: usize,
    /// The bytes that the warnings concern.
    pub bytes: u64,
}

impl Snapshot {
    /// The snapshot of a partitioned program. `program` is the program before partitioning, from which the classes of arguments are inferred.
    #[must_use]
    pub fn of(output: &Output, program: &Module) -> Snapshot {
        let Interface { inputs, outputs, .. } = &output.interface;
        Snapshot {
            version: VERSION,
            mesh: MeshSpec::from(&output.interface.mesh).to_string(),
            arguments: tensors(inputs, "arg", &output.interface),
            results: tensors(outputs, "res", &output.interface),
            collectives: collectives(output),
            memory: memory(output, &ProgramRoles::of(program)),
            warnings: warnings(output),
            ..Snapshot::default()
        }
    }

    /// The snapshot with the name of the devices that the program is planned for.
    #[must_use]
    pub fn with_target(self, target: &str) -> Snapshot {
        Snapshot { target: target.to_owned(), ..self }
    }

    /// The snapshot with the predicted time of one execution on a target, whose devices are those of the mesh.
    #[must_use]
    pub fn with_time(mut self, output: &Output, target: &Target) -> Snapshot {
        let Some(func) = output.module.entry() else { return self };
        let total = output.time(func, target).total;
        let parts = [
            (EXECUTION, total.seconds),
            ("compute", total.compute),
            ("communication", total.communication),
            ("exposed", total.exposed),
        ];
        let row = |(part, seconds): (&str, f64)| TimeRow {
            part: part.to_owned(),
            nanoseconds: (seconds * 1e9).round() as u64,
        };
        self.time = parts.into_iter().map(row).collect();
        self
    }

    /// The nanoseconds of a part of the time; 0 if the snapshot does not contain the part.
    #[must_use]
    pub fn time_of(&self, part: &str) -> u64 {
        self.time.iter().find(|row| row.part == part).map_or(0, |row| row.nanoseconds)
    }

    /// The bytes that one device sends in one execution of the program.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.collectives.iter().map(|row| row.bytes).fold(0, u64::saturating_add)
    }

    /// The bytes of a part of the memory; 0 if the snapshot does not contain the part.
    #[must_use]
    pub fn memory_of(&self, part: &str) -> u64 {
        self.memory.iter().find(|row| row.part == part).map_or(0, |row| row.bytes)
    }

    /// The snapshot as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: the structs consist of strings and numbers.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The name of an argument or result, by which versions of a program are compared.
fn name_of(tensor: &InterfaceTensor, prefix: &str, i: usize) -> String {
    tensor.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{prefix}{i}"))
}

fn tensors(list: &[InterfaceTensor], prefix: &str, interface: &Interface) -> Vec<TensorRow> {
    let mut groups: IndexMap<(String, String), Vec<String>> = IndexMap::new();
    for (i, tensor) in list.iter().enumerate() {
        let key = (type_text(tensor), sharding_text(tensor, interface));
        groups.entry(key).or_default().push(name_of(tensor, prefix, i));
    }
    let rows = groups.into_iter().flat_map(|((ty, sharding), names)| {
        let row = move |name: crate::folding::Folded| TensorRow {
            name: name.text,
            count: name.count,
            ty: ty.clone(),
            sharding: sharding.clone(),
        };
        fold(names.iter().map(String::as_str)).into_iter().map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

fn type_text(tensor: &InterfaceTensor) -> String {
    if tensor.is_token {
        return "token".to_owned();
    }
    let dims = tensor.global.shape.iter().map(|n| format!("{n}x"));
    format!("{}{}", dims.collect::<String>(), tensor.global.dtype.as_str())
}

fn sharding_text(tensor: &InterfaceTensor, interface: &Interface) -> String {
    let mesh = interface.mesh_of(tensor);
    let mut text = spec_text(&tensor.sharding, mesh);
    if text.is_empty() {
        text.push_str("()");
    }
    if !tensor.sharding.unreduced.is_empty() {
        text.push_str(&format!(";unreduced={}", dims_text([tensor.sharding.unreduced.as_slice()], mesh)));
    }
    let named = [("mesh", &tensor.mesh), ("memory", &tensor.memory_kind)];
    for (key, value) in named.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        text.push_str(&format!(";{key}={value}"));
    }
    text
}

fn collectives(output: &Output) -> Vec<CollectiveRow> {
    let mut rows: BTreeMap<(String, Vec<String>), CollectiveRow> = BTreeMap::new();
    for found in traffic::collectives(&output.module) {
        let kind = output.module.ops[found.op].collective_name().to_owned();
        let axes = axes_of_collective(output, found.op);
        let row = rows.entry((kind.clone(), axes.clone())).or_insert_with(|| CollectiveRow {
            kind,
            axes,
            ..CollectiveRow::default()
        });
        row.count += 1;
        row.runs = row.runs.saturating_add(found.runs);
        row.bytes = row.bytes.saturating_add(found.bytes_in_run());
    }
    rows.into_values().collect()
}

/// The parts of the memory estimate. Arguments in host memory are only part of `host`.
fn memory(output: &Output, roles: &ProgramRoles) -> Vec<MemoryRow> {
    let mut classes: BTreeMap<OperandClass, u64> = BTreeMap::new();
    let params = output.module.entry().map_or(&[][..], |func| &output.module.funcs[func].params);
    for (i, (&ty, tensor)) in params.iter().zip(&output.interface.inputs).enumerate() {
        let in_host = tensor.memory_kind.as_ref().is_some_and(|kind| kind.ends_with("_host"));
        let bytes = output.module.types.stored(ty).map_or(0, |ty| output.machine.bytes_of_argument(ty));
        if !in_host {
            *classes.entry(roles.class(i)).or_default() += bytes;
        }
    }
    let estimate = output.memory();
    let parts = classes.into_iter().map(|(class, bytes)| (class.as_str(), bytes)).chain([
        ("results", estimate.outputs.saturating_sub(estimate.aliases)),
        ("temporaries", estimate.temporaries),
        ("peak", estimate.peak),
        ("host", estimate.host),
    ]);
    let rows = parts.filter(|&(part, bytes)| bytes > 0 || part == "peak");
    rows.map(|(part, bytes)| MemoryRow { part: part.to_owned(), bytes }).collect()
}

fn warnings(output: &Output) -> Vec<WarningRow> {
    let mut rows: BTreeMap<&str, WarningRow> = BTreeMap::new();
    for warning in &output.warnings {
        let row = rows.entry(warning.code).or_default();
        warning.code.clone_into(&mut row.code);
        row.count += 1;
        row.bytes = row.bytes.saturating_add(warning.bytes.unwrap_or(0));
    }
    rows.into_values().collect()
}
