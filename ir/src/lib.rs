//! # shardc-ir: the intermediate representation
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! A [`Module`] is a StableHLO program: functions whose bodies are [`Region`]s of operations in SSA form, with device [`Mesh`]es and
//! [`TensorSharding`]s. All entities are in arenas and are identified by typed 32-bit handles ([`ValueId`], [`OpId`], [`RegionId`], ...):
//! no `Rc`, no pointers between operations.
//!
//! * An operation ([`OpKind`], operands, results) does not know its position. Regions list their operations ([`Region::ops`]), so passes
//!   reorder and insert by editing a list of handles.
//! * Types, shardings and source locations are interned, so that a comparison of two of them compares two integers.
//! * Shardings are not attributes of operations. They are in one dense side table, [`Module::shardings`], keyed by value.
//! * Attributes that a pass reads are typed payloads of [`OpKind`]; all others are kept verbatim in [`AttrDict`]s and printed unchanged.
//!
//! ## Invariants
//!
//! [`verify()`] checks the numbered invariants listed in its module documentation. Every pass takes and returns a verified module, in which
//! handle access cannot fail.
//!
//! This crate does no input or output, reads no environment variables and has no global state.

mod attr;
mod builder;
pub mod codes;
mod constant;
mod diagnostic;
pub mod discardable;
mod dtype;
mod entities;
pub mod floats;
mod groups;
mod infer;
mod interrupt;
mod kept;
pub mod limits;
mod loc;
mod mesh;
mod module;
mod op;
mod purity;
mod quant;
mod ragged;
pub mod reducer;
mod reduction;
pub mod rewrite;
mod shape;
mod sharding;
mod spmd;
pub mod suggest;
mod tensor;
mod tensor_build;
#[cfg(test)]
mod testing;
pub mod trip_count;
mod types;
pub mod verify;

pub use attr::{Attr, AttrDict};
pub use builder::{Build, Builder};
pub use constant::Dense;
pub use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, packed_option::PackedOption};
pub use diagnostic::{Class, Diagnostic, Interruption, Quote, Severity, Span};
pub use dtype::{DType, DTypeClass};
pub use entities::{FuncId, LocId, MeshId, OpId, RegionId, ShardingId, TypeId, ValueId};
pub use groups::{Digit, Group, GroupIds, ReplicaGroups, StridedGroups};
pub use infer::{InferError, check_result_types, infer_types};
pub use interrupt::{CancelToken, Interrupt};
pub use kept::{Enclosing, Kept, KeptKind};
pub use limits::MAX_DEVICES;
pub use loc::{Loc, LocTable};
pub use mesh::{AxisList, AxisRef, Mesh, SubAxis};
pub use module::{Func, MeshPlace, Module, Op, OpList, Region, Uses, Value, ValueDef, Visibility};
pub use op::*;
pub use quant::{FloatBits, Quant, QuantKind, QuantParams, QuantStorage, QuantTensor};
pub use ragged::RAGGED_ALL_TO_ALL;
pub use reduction::ReductionKind;
pub use rewrite::{
    Checkpoint, InsertionPoint, Insertions, Rewriter, UseCounts, ValueMap, clone_op, clone_region,
    transplant_func,
};
pub use shape::{DYNAMIC, Shape};
pub use sharding::{AxisMove, DimSharding, ShardingTable, TensorSharding};
pub use spmd::SpmdMode;
pub use tensor::{Encoding, TensorType};
pub use tensor_build::TensorBuild;
pub use types::{Type, TypeTable};
pub use verify::{collective_fault, sharding_rule_batch_dims, sharding_rule_fault, verify};
