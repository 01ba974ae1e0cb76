//! Compiled programs: running them, and what the compiler says of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::{Buffer, Device};
use crate::error::{Result, RuntimeError};
use crate::ffi::{RawExecutable, RawLoadedExecutable};
use crate::hlo::{self, Collectives};

/// What the compiler says of a program's memory: bytes on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Machine code.
    pub generated_code_bytes: u64,
    /// Arguments.
    pub argument_bytes: u64,
    /// Results, those that share memory with arguments included.
    pub output_bytes: u64,
    /// The part of the results that shares memory with arguments.
    pub alias_bytes: u64,
    /// Everything between arguments and results.
    pub temp_bytes: u64,
    /// The most that is alive at once; 0 where the compiler does not say.
    pub peak_bytes: u64,
}

/// The compiler's estimate of a program's work on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point operations; loop bodies count once.
    pub flops: f64,
    /// Bytes read and written; loop bodies count once.
    pub bytes_accessed: f64,
    /// Every number that the compiler gives, under its own names.
    pub properties: BTreeMap<String, f64>,
}

/// A program that is compiled and ready on its devices. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct LoadedExecutable {
    raw: Arc<RawLoadedExecutable>,
    info: Arc<RawExecutable>,
    devices: Vec<Device>,
    num_outputs: usize,
}

impl std::fmt::Debug for LoadedExecutable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedExecutable")
            .field("devices", &self.devices)
            .field("num_outputs", &self.num_outputs)
            .finish()
    }
}

impl LoadedExecutable {
    pub(crate) fn new(raw: RawLoadedExecutable) -> Result<LoadedExecutable> {
        let info = raw.executable()?;
        let num_outputs = info.num_outputs()?;
        let devices = raw.devices()?.into_iter().map(|raw| Device { raw }).collect();
        Ok(LoadedExecutable { raw: Arc::new(raw), info: Arc::new(info), devices, num_outputs })
    }

    /// The devices it runs on, in the order of [`LoadedExecutable::execute`]'s lists.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// How many results the program has.
    #[must_use]
    pub fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    /// Runs the program on all its devices at once and waits until all are done.
    ///
    /// `arguments[d][i]` is argument `i` of the `d`-th of [`LoadedExecutable::devices`], on that device; the answer
    /// is laid out in the same way. Arguments stay valid, whatever the program says about donation.
    ///
    /// # Errors
    ///
    /// Lists of the wrong length, arguments of the wrong size or on the wrong device, or a failure while running. The
    /// CPU plugin compares sizes in bytes, not shapes and element types: those are the caller's to get right.
    pub fn execute(&self, arguments: &[Vec<Buffer>]) -> Result<Vec<Vec<Buffer>>> {
        if arguments.len() != self.devices.len() {
            return Err(RuntimeError::Argument(format!(
                "the program runs on {} devices and got arguments for {}",
                self.devices.len(),
                arguments.len()
            )));
        }
        let lists: Vec<Vec<_>> =
            arguments.iter().map(|list| list.iter().map(Buffer::raw).collect()).collect();
        self.raw
            .execute(&lists, self.num_outputs)?
            .into_iter()
            .map(|list| list.into_iter().map(Buffer::new).collect())
            .collect()
    }

    /// What the compiler says of the program's memory.
    ///
    /// # Errors
    ///
    /// The plugin does not say.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        memory_stats(&self.info)
    }

    /// The compiler's estimate of the program's work.
    ///
    /// # Errors
    ///
    /// The plugin does not say.
    pub fn cost(&self) -> Result<Cost> {
        cost(&self.info)
    }

    /// The collectives of the optimised program.
    ///
    /// # Errors
    ///
    /// The plugin does not give the program, or gives it in a form that shardc cannot read.
    pub fn optimized_hlo_collectives(&self) -> Result<Collectives> {
        collectives(&self.info, self.devices.len())
    }

    /// The executable as bytes that the same plugin can load again.
    ///
    /// # Errors
    ///
    /// The plugin cannot write this executable.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        self.info.serialize()
    }

    pub(crate) fn info(&self) -> &RawExecutable {
        &self.info
    }
}

/// Sizes come as signed numbers, of which -1 may mean "not known".
fn unsigned(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

pub(crate) fn memory_stats(executable: &RawExecutable) -> Result<MemoryStats> {
    let stats = executable.memory_stats()?;
    let code = if stats.generated_code > 0 {
        stats.generated_code
    } else {
        // The CPU plugin leaves it out of the statistics; a plugin that does not say at all has none.
        executable.code_size().unwrap_or(0)
    };
    Ok(MemoryStats {
        generated_code_bytes: unsigned(code),
        argument_bytes: unsigned(stats.argument),
        output_bytes: unsigned(stats.output),
        alias_bytes: unsigned(stats.alias),
        temp_bytes: unsigned(stats.temp),
        peak_bytes: unsigned(stats.peak),
    })
}

pub(crate) fn cost(executable: &RawExecutable) -> Result<Cost> {
    let properties: BTreeMap<String, f64> = executable.cost_analysis()?.into_iter().collect();
    let get = |name: &str| properties.get(name).copied().unwrap_or(0.0);
    Ok(Cost { flops: get("flops"), bytes_accessed: get("bytes accessed"), properties })
}

pub(crate) fn collectives(executable: &RawExecutable, devices: usize) -> Result<Collectives> {
    let (format, program) = executable.optimized_program()?;
    hlo::collectives(&format, &program, devices)
}
