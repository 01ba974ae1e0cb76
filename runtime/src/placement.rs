//! This process's devices of a program.

use std::sync::Arc;

use crate::device::Device;
use crate::device_layout::DeviceLayout;
use crate::error::{Result, RuntimeError};

/// This process's devices of a program, and their positions among all devices of the program. In a job of one process, these are all
/// devices.
#[derive(Clone, Debug)]
pub struct Placement {
    devices: Vec<Device>,
    places: Vec<usize>,
    count: usize,
}

impl Placement {
    /// Creates a placement from devices and their positions in a program of `count` devices.
    ///
    /// # Errors
    ///
    /// The numbers of positions and devices differ, or a position is repeated or out of range.
    pub fn new(devices: Vec<Device>, places: Vec<usize>, count: usize) -> Result<Placement> {
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if places.len() != devices.len()
            || sorted.len() != places.len()
            || sorted.last().is_some_and(|&last| last >= count)
        {
            return Err(RuntimeError::Layout(format!(
                "{} devices do not match the positions {places:?} in a program of {count} devices",
                devices.len()
            )));
        }
        Ok(Placement { devices, places, count })
    }

    /// This process's devices.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns these positions, with new arrays in the devices' memory of this kind ([`Device::in_memory`]).
    ///
    /// # Errors
    ///
    /// A device has no memory of that kind.
    pub fn in_memory(&self, kind: &str) -> Result<Placement> {
        let devices = self.devices.iter().map(|device| device.in_memory(kind)).collect::<Result<_>>()?;
        Ok(Placement { devices, ..self.clone() })
    }

    /// Returns these positions, with new arrays stored in this layout ([`Device::with_layout`]).
    #[must_use]
    pub fn with_layout(&self, layout: &Arc<DeviceLayout>) -> Placement {
        let devices = self.devices.iter().map(|device| device.with_layout(layout.clone())).collect();
        Placement { devices, ..self.clone() }
    }

    /// The position of each of [`Placement::devices`] among all devices of the program.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The number of devices of the program in all processes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// All devices of a program, in order.
impl From<&[Device]> for Placement {
    fn from(devices: &[Device]) -> Placement {
        Placement { devices: devices.to_vec(), places: (0..devices.len()).collect(), count: devices.len() }
    }
}

impl From<&Placement> for Placement {
    fn from(placement: &Placement) -> Placement {
        placement.clone()
    }
}
