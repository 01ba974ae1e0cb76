//! Which devices of a program this process has.

use std::sync::Arc;

use crate::device::Device;
use crate::device_layout::DeviceLayout;
use crate::error::{Result, RuntimeError};

/// The devices of a program that this process has, and their places among all of them. In a job of one process these are all.
#[derive(Clone, Debug)]
pub struct Placement {
    devices: Vec<Device>,
    places: Vec<usize>,
    count: usize,
}

impl Placement {
    /// Devices with their places in a program of `count`.
    ///
    /// # Errors
    ///
    /// There are not as many places as devices, or a place twice or beyond the last.
    pub fn new(devices: Vec<Device>, places: Vec<usize>, count: usize) -> Result<Placement> {
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if places.len() != devices.len()
            || sorted.len() != places.len()
            || sorted.last().is_some_and(|&last| last >= count)
        {
            return Err(RuntimeError::Layout(format!(
                "{} devices at the places {places:?} of {count}",
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

    /// The same places, with what is put there in the devices' memory of a kind ([`Device::in_memory`]).
    ///
    /// # Errors
    ///
    /// A device has no memory of that kind.
    pub fn in_memory(&self, kind: &str) -> Result<Placement> {
        let devices = self.devices.iter().map(|device| device.in_memory(kind)).collect::<Result<_>>()?;
        Ok(Placement { devices, ..self.clone() })
    }

    /// The same places, with what is put there stored in a layout ([`Device::with_layout`]).
    #[must_use]
    pub fn with_layout(&self, layout: &Arc<DeviceLayout>) -> Placement {
        let devices = self.devices.iter().map(|device| device.with_layout(layout.clone())).collect();
        Placement { devices, ..self.clone() }
    }

    /// The place of each of [`Placement::devices`] among all devices of the program.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// How many devices the program runs on in all processes.
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
