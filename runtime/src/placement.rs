//! The devices of this process on which a program runs.

use std::sync::Arc;

use crate::device::Device;
use crate::device_layout::DeviceLayout;
use crate::error::{Result, RuntimeError};

/// The devices of this process on which a program runs, and their positions among all devices of the program. In a job of one process, they
/// are all devices of the program.
#[derive(Clone, Debug)]
pub struct Placement {
    devices: Vec<Device>,
    places: Vec<usize>,
    count: usize,
}

impl Placement {
    /// Creates a placement: `places[i]` is the position of `devices[i]` in a program of `count` devices.
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

    /// The devices of this process on which the program runs.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns this placement, except that new arrays are placed in the devices' memory of this kind ([`Device::in_memory`]).
    ///
    /// # Errors
    ///
    /// A device has no memory of that kind.
    pub fn in_memory(&self, kind: &str) -> Result<Placement> {
        let devices = self.devices.iter().map(|device| device.in_memory(kind)).collect::<Result<_>>()?;
        Ok(Placement { devices, ..self.clone() })
    }

    /// Returns this placement, except that new arrays are stored in this layout ([`Device::with_layout`]).
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

/// Creates the placement of a program whose devices all belong to this process, in this order.
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
