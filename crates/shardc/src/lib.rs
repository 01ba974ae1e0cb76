//! # shardc: an SPMD sharding compiler
//!
//! Input: a program written for a single device, and a few sharding annotations. Output: the per-device program with explicit
//! collectives, and a [`Manifest`] that describes its inputs, outputs and devices.
//!
//! ```
//! use shardc::Compiler;
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4, "model"=2]>
//!   func.func @main(
//!       %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
//!       %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<32x16xf32> {
//!     %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//!         : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
//!     return %0 : tensor<32x16xf32>
//!   }
//! "#;
//! let output = Compiler::new().partition(source)?;
//! assert_eq!(output.num_devices(), 8);
//! let manifest = output.manifest();
//! assert_eq!(manifest.inputs[0].local_shape, [8, 64]);
//! assert_eq!(manifest.outputs[0].spec, [vec!["data"], vec!["model"]]);
//! assert!(output.text().contains("(tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>"));
//! assert!(output.backend_text()?.contains("mhlo.num_replicas = 8 : i32"));
//! # Ok(())
//! # }
//! ```
//!
//! Errors and warnings are [`Diagnostic`]s; [`Error::render`] prints each under its source line.
//!
//! Training is the crate `shardc-train`: layers, models, optimizers, data sets, steps on devices, and weights of published models.
//!
//! This crate and `shardc-train` are the public API; their changes are listed in the changelog. The crates that this crate depends on
//! (`shardc-ir`, `shardc-passes`, ...) are internal and may change in any release.
//!
//! # Features
//!
//! Without features, the crate is the compiler: it parses, propagates, partitions, explains and prints. Features only add modules
//! and methods. All are on by default, except for the object stores and `mlir`.
//!
//! | feature | adds | turns on |
//! |---|---|---|
//! | `rule-files` | `rules::RuleFile::parse`: sharding rules from TOML files | |
//! | `autodiff` | `autodiff`: gradients; `coverage`: which operations are supported | |
//! | `graph` | `graph`: programs built in Rust | `autodiff` |
//! | `strategy` | `strategy`: FSDP and ZeRO for imported programs; `auto`; `lora` | `graph` |
//! | `statedict` | `statedict`: safetensors and PyTorch files | |
//! | `runtime` | `runtime` and `exec`: run programs through PJRT, and compare partitioned programs with their originals | |
//! | `checkpoint` | `checkpoint`: sharded checkpoints | `runtime` |
//! | `s3`, `gcs`, `azure` | checkpoints in object stores | `checkpoint` |
//! | `mlir` | `Output::mlir_bytecode`: programs lowered and verified by MLIR; needs LLVM 22 | |

mod absent;
#[cfg(feature = "strategy")]
pub mod auto;
#[cfg(feature = "autodiff")]
pub mod autodiff;
mod backend;
#[cfg(feature = "checkpoint")]
pub mod checkpoint;
mod choices;
mod compiler;
#[cfg(feature = "autodiff")]
pub mod coverage;
mod device_order;
mod error;
#[cfg(feature = "runtime")]
pub mod exec;
pub mod explain;
mod folding;
mod lint_report;
mod located;
#[cfg(feature = "strategy")]
pub mod lora;
mod manifest;
pub mod page;
mod parallel;
pub mod passes;
pub mod plan;
pub mod prove;
#[cfg(feature = "graph")]
mod report;
pub mod rules;
mod seconds_text;
pub mod snapshot;
mod spec_text;
#[cfg(feature = "strategy")]
pub mod strategy;
#[cfg(feature = "runtime")]
mod widen;

pub use compiler::{Compiler, Output, Propagated, Stage};
pub use error::Error;
pub use located::{Cause, Level, LocatedDiagnostic, LocatedNote, Place};
pub use manifest::{Axis, Manifest, MeshInfo, TensorInfo};
pub use passes::{Flow, Observer, PassRun};
pub use shardc_ir::{CancelToken, Diagnostic, Interruption, Module, Severity, SpmdMode};
pub use shardc_passes::annotations::dims::{DimSize, DimSizeError};
pub use shardc_passes::annotations::spec::{Annotation, MeshSpec, SpecError};
pub use shardc_passes::collectives::clean::{CleanOptions, CleanReport};
pub use shardc_passes::cost::memory::{InMemory, Machine, MemoryEstimate};
pub use shardc_passes::driver::entry::select_entry;
pub use shardc_passes::driver::specialize::specialize;
pub use shardc_passes::driver::strategy::Strategy;
pub use shardc_passes::propagate::DebugOptions;
pub use shardc_passes::report::warnings::{Selection, WarningGroup, select, warning_threshold};
pub use shardc_passes::rules::RuleSet;
pub use shardc_passes::rules::registry::{CallRule, CustomCall, RuleError};
pub use shardc_passes::sharding::interface::{Interface, InterfaceTensor};
pub use shardc_passes::transforms::group_form::GroupForm;
pub use shardc_passes::transforms::legalize_backend::Backend;
pub use shardc_stablehlo::{RenderOptions, is_bytecode, render, render_with};

/// Accelerators as data: rates, memory and links of devices, and targets such as `v5p:4x4x4` or `h100:4x8`.
pub mod target {
    #[doc(inline)]
    pub use shardc_target::{
        CompilerModel, DeviceKind, DeviceOrder, GpuDescription, Group, Link, Network, Number, Peaks,
        PlanningRates, SPECS, Target, TargetError, TargetSpec, Traffic, best_order, find, names,
        unknown_hint, usual,
    };
}

/// The parts of the IR that front ends read or build: modules, functions, types, meshes, shardings, and source spans of diagnostics.
pub mod ir {
    #[doc(inline)]
    pub use shardc_ir::{
        Attr, AxisList, AxisRef, Class, DType, DTypeClass, DYNAMIC, Diagnostic, DimSharding, Encoding, Func,
        FuncId, Mesh, MeshId, Module, OpId, Quote, ReductionKind, Severity, Shape, ShardingId, Span,
        SpmdMode, SubAxis, TensorSharding, TensorType, Type, TypeId, Value, ValueDef, ValueId, Visibility,
        verify,
    };
}

/// Reading and writing programs: StableHLO as text, as MLIR bytecode and as portable artifacts. [`Compiler::read`] detects the format and verifies the
/// program.
pub mod stablehlo {
    #[doc(inline)]
    pub use shardc_stablehlo::{
        PrintForm, PrintOptions, Shardings, SourceIndex, SymbolDefinition, SymbolKind, SymbolUse,
        ValueDefinition, ValueUse, Version, is_bytecode, list_booleans, parse, parse_bytecode, parse_indexed,
        print, split,
    };
}

/// Lint rules that warn about expensive annotations; see [`Compiler::lint`].
pub mod lint {
    pub use crate::lint_report::{to_json, to_text};
    #[doc(inline)]
    pub use shardc_passes::lint::{Finding, LINTS, Level, Lint, LintOptions, LintReport, find};
}

/// Programs built in Rust, for [`Compiler::partition_module`].
#[cfg(feature = "graph")]
pub mod graph {
    #[doc(inline)]
    pub use shardc_graph::{
        Attr, AttrDict, Axes, AxisName, AxisNames, AxisRules, BinaryOp, CompareDirection, Conv, DType,
        DeviceBlock, DimSpec, DotDims, Element, ErrorKind, FftKind, GatherSpec, Graph, GraphError,
        GraphErrors, IntoShape, Keep, Key, Mesh, OpKind, Operand, OperandNote, OutOfBounds, Padding,
        PartitionSpec, Placement, RegionBody, ScanOptions, ScatterSpec, ShardingSpec, SliceRange, Tensor,
        Transposition, Tree, TriangularSpec, UnaryOp, placement, placement_of, spec, visualize_sharding,
    };

    pub use crate::report::Report;
}

/// State dicts: safetensors with a Hugging Face index, `torch.save` files, and files of FSDP ranks, which are consolidated.
///
/// ```no_run
/// use shardc::statedict::{fsdp, open, safetensors};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A slice of a tensor in a Hugging Face folder; only its bytes are read.
/// let model = open("Llama-3.2-1B".as_ref())?;
/// let rows = model.get("model.embed_tokens.weight")?.read_slice(&[0..16, 0..2048])?;
///
/// // Consolidates the per-rank files of PyTorch/XLA FSDP into one safetensors file.
/// let files = fsdp::find_files("ckpt/final", "_rank-*-of-*.pth")?;
/// let full = fsdp::consolidate_files(&files)?;
/// safetensors::write(&full, &mut std::fs::File::create("final.safetensors")?, &mut |_| {})?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "statedict")]
pub mod statedict {
    #[doc(inline)]
    pub use shardc_statedict::{
        ErrorKind, StateDict, StateDictError, Tensor, dcp, fsdp, is_state_dict, open, open_torch,
        safetensors, torch,
    };
}

/// Plugins, devices, arrays, and ahead-of-time compilation for absent devices. [`exec`] runs programs on the devices of a plugin.
#[cfg(feature = "runtime")]
pub mod runtime {
    #[doc(inline)]
    pub use shardc_runtime::{
        ArrayType, BlockRequest, Buffer, Client, ClientOptions, CompileCache, CompileOptions, Cost,
        CudaAllocator, CudaOptions, Device, DeviceLayout, DeviceMemory, Difference, Environment, ErrorClass,
        ExecuteOptions, Execution, ExecutionTimes, HostArray, HostElement, LoadedExecutable, MAX_CPU_DEVICES,
        MemoryLimit, MemoryNeed, MemoryStats, OptionValue, PjrtCode, Placement, Plugin, PluginKind,
        PluginOptions, ProcessOptions, Processes, ReplicaDisagreement, RuntimeError, Secret, ShardLayout,
        ShardedArray,
    };
    #[doc(inline)]
    pub use shardc_runtime::{aot, doctor, mismatch, plugin, processes};
}
