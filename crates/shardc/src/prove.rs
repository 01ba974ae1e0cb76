//! Proofs that a partitioned program, or the result of another rewrite, computes what the original computes.
//!
//! [`prove`] needs the manifest of a partition. [`annotated_manifest`] makes one for programs that another compiler partitioned, and for
//! rewrites that keep global values. [`with_zeros`] prepares rewrites that add arguments. [`check_gradient`] checks gradients.
//! [`counter_example`] makes a small pair of programs that still shows the error of a partition.
//!
//! ```
//! use shardc::prove::{self, Verdict};
//! use shardc::Compiler;
//!
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4]>
//!   func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}) -> tensor<32xf32> {
//!     %zero = stablehlo.constant dense<0.0> : tensor<f32>
//!     %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
//!         : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
//!     return %0 : tensor<32xf32>
//!   }
//! "#;
//! let original = Compiler::read(source)?;
//! let output = Compiler::new().partition(source)?;
//! let report = prove::prove(&original, &output.module, &output.manifest(), &prove::Options::default())?;
//! assert_eq!(report.verdict, Verdict::Proven);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod annotated;
mod counter;
#[cfg(feature = "runtime")]
mod differences;
mod gradient;
mod zeros;

pub use self::annotated::annotated_manifest;
pub use self::counter::{CounterExample, counter_example};
pub use self::gradient::{GradientReport, check_gradient};
pub use self::zeros::with_zeros;
use std::borrow::Cow;

use shardc_ir::{Diagnostic, Module, Op, OpKind, ReductionKind};
use shardc_passes::gspmd::import_gspmd;
use shardc_prove::Error as ProveError;
pub use shardc_prove::{
    Argument, Certificate, Claim, Counts, Difference, Evidence, Mark, Options, Place, Report, Step, Verdict,
};
use shardc_prove::{AxisDigit, Block, Boundary};

use crate::Error;
use crate::manifest::{Manifest, MeshInfo, TensorInfo};

/// Decides whether `partitioned` computes on the devices of the manifest what `original` computes on one device.
///
/// # Errors
/// The manifest does not describe the programs (SH0714), or the check is interrupted.
pub fn prove(
    original: &Module,
    partitioned: &Module,
    manifest: &Manifest,
    options: &Options,
) -> Result<Report, Error> {
    let original = with_manual_computations(original);
    let report =
        boundary(manifest).and_then(|blocks| shardc_prove::prove(&original, partitioned, &blocks, options));
    report.map_err(misfit)
}

/// As [`prove`], and describes the values of the partition in a certificate. If another tool changes the partition afterwards, and
/// [`Options::certificate`] has it, the places of the report are the changed operations.
///
/// # Errors
/// As for [`prove`].
pub fn certify(
    original: &Module,
    partitioned: &Module,
    manifest: &Manifest,
    options: &Options,
) -> Result<(Report, Certificate), Error> {
    let original = with_manual_computations(original);
    let found =
        boundary(manifest).and_then(|blocks| shardc_prove::certify(&original, partitioned, &blocks, options));
    found.map_err(misfit)
}

fn misfit(error: ProveError) -> Error {
    refused(error, "pass the manifest that `shardc partition --manifest` wrote with this partition")
}

/// The program with its device-local parts in the form of Shardy, in which they can be run: GSPMD marks only their ends. If they cannot be
/// separated, the program is unchanged, and parts that do not depend on them can still be proven.
fn with_manual_computations(module: &Module) -> Cow<'_, Module> {
    let is_end =
        |op: &Op| matches!(&op.kind, OpKind::CustomCall(call) if &*call.target == "SPMDFullToShardShape");
    if !module.ops.values().any(is_end) {
        return Cow::Borrowed(module);
    }
    let mut imported = module.clone();
    match import_gspmd(&mut imported, None) {
        Ok(_) => Cow::Owned(imported),
        Err(_) => Cow::Borrowed(module),
    }
}

fn refused(error: ProveError, hint: &str) -> Error {
    match error {
        ProveError::Interrupted(reason) => reason.to_diagnostic().into(),
        error => Diagnostic::invalid("SH0714", error.to_string()).hint(hint).into(),
    }
}

/// The blocks of inputs and outputs that a manifest describes.
///
/// # Errors
/// A tensor has axes that its mesh does not have, or a mesh of its own.
pub fn boundary(manifest: &Manifest) -> Result<Boundary, ProveError> {
    let blocks = |list: &[TensorInfo]| {
        list.iter().map(|tensor| block(tensor, manifest)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Boundary {
        are_partitions: manifest.spmd_mode == "partition",
        device_ids: manifest.mesh.device_ids.clone(),
        inputs: blocks(&manifest.inputs)?,
        outputs: blocks(&manifest.outputs)?,
    })
}

fn block(tensor: &TensorInfo, manifest: &Manifest) -> Result<Block, ProveError> {
    let mesh = &manifest.mesh;
    let used = tensor.mesh.as_ref().and_then(|name| manifest.meshes.get(name)).unwrap_or(mesh);
    let is_sharded = !tensor.spec.iter().all(Vec::is_empty) || !tensor.unreduced.is_empty();
    if used != mesh && is_sharded {
        return Err(ProveError::Boundary("a tensor is sharded on a mesh of its own".to_owned()));
    }
    let axes = |list: &Vec<String>| list.iter().map(|text| axis(mesh, text)).collect::<Result<Vec<_>, _>>();
    let sizes = |shape: &[i64]| shape.iter().map(|&size| size.max(0) as u64).collect();
    let reduction = match &tensor.reduction {
        None => ReductionKind::Add,
        Some(word) => ReductionKind::from_word(word)
            .ok_or_else(|| ProveError::Boundary(format!("unknown reduction {word} in the manifest")))?,
    };
    Ok(Block {
        global: sizes(&tensor.global_shape),
        local: sizes(&tensor.local_shape),
        axes: tensor.spec.iter().map(axes).collect::<Result<_, _>>()?,
        unreduced: axes(&tensor.unreduced)?,
        reduction,
    })
}

/// Reads an axis, `data`, or a sub-axis: `data:(2)4` is the axis of size 4 after the first 2 of the axis.
fn axis(mesh: &MeshInfo, text: &str) -> Result<AxisDigit, ProveError> {
    let sub_axis = text.rsplit_once(":(").and_then(|(name, rest)| {
        let (before, size) = rest.split_once(')')?;
        Some((name, before.parse::<u64>().ok()?, size.parse::<u64>().ok()?))
    });
    let name = sub_axis.map_or(text, |(name, ..)| name);
    let mut stride = 1u64;
    for axis in mesh.axes.iter().rev() {
        let size = axis.size.max(1) as u64;
        if axis.name == name {
            return Ok(match sub_axis {
                Some((_, before, part)) => {
                    AxisDigit { stride: stride * (size / (before * part).max(1)), size: part }
                }
                None => AxisDigit { stride, size },
            });
        }
        stride = stride.saturating_mul(size);
    }
    Err(ProveError::Boundary(format!("the mesh has no axis {text}")))
}
