//! Partitioned programs.

use super::bytes::{Buffer, Bytes};
use super::modules::form;
use super::options::{COptions, read};
use super::{borrow, free, make};
use crate::diagnostics::Diagnostics;
use crate::failure::Failure;
use crate::program::{Part, Partitioned, Program};
use crate::worker;

/// The program that each device runs: local shapes, explicit collectives, and the shardings of arguments and results.
pub const SHARDC_PER_DEVICE: u32 = 0;
/// The program that each device runs, for PJRT plugins: without shardings, and with the number of devices. It has no pretty form.
pub const SHARDC_BACKEND: u32 = 1;
/// The program with its global shapes: the per-device program is the body of one `sdy.manual_computation`. Needs SHARDC_PARTITIONS.
pub const SHARDC_MANUAL_COMPUTATION: u32 = 2;

/// Partitions a program. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partition(
    module: *const Program,
    options: *const COptions,
    out: *mut *mut Partitioned,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let (module, options) = (borrow(module, "the module")?, read(options)?);
            worker::run(|| module.partition(&options))
        })
    }
}

/// The number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partitioned_num_devices(partitioned: *const Partitioned) -> usize {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(partitioned, "the program") }.map_or(0, Partitioned::num_devices)
}

/// The inputs and outputs with their shapes and shardings, and the mesh, as JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partitioned_manifest(partitioned: *const Partitioned) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(partitioned, "the program") }.map_or(Bytes::NONE, |own| Bytes::of(&own.manifest))
}

/// All warnings. The list belongs to the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partitioned_warnings(partitioned: *const Partitioned) -> *const Diagnostics {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(partitioned, "the program") }.map_or(std::ptr::null(), |own| &raw const own.warnings)
}

/// The warnings that are worth printing, as text with lines of the program; empty if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partitioned_warning_text(partitioned: *const Partitioned) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(partitioned, "the program") }.map_or(Bytes::NONE, |own| Bytes::of(&own.warning_text))
}

/// Writes a part of the result (SHARDC_PER_DEVICE, ...) in a form (SHARDC_TEXT, ...). `version` is that of a SHARDC_ARTIFACT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partitioned_write(
    partitioned: *const Partitioned,
    part: u32,
    form: u32,
    version: Bytes,
    out: *mut *mut Buffer,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let (partitioned, form) = (borrow(partitioned, "the program")?, self::form(form, version)?);
            let part = match part {
                SHARDC_PER_DEVICE => Part::PerDevice,
                SHARDC_BACKEND => Part::Backend,
                SHARDC_MANUAL_COMPUTATION => Part::ManualComputation,
                other => {
                    return Err(Failure::argument(&format!("{other} is no part of a partitioned program")));
                }
            };
            worker::run(|| partitioned.write(part, &form)).map(Buffer)
        })
    }
}

/// Frees a partitioned program with its warnings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_partitioned_free(partitioned: *mut Partitioned) {
    // SAFETY: as the header requires of callers.
    unsafe { free(partitioned) }
}
