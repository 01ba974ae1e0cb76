//! Targets: a number of devices in a grid.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

use crate::rows::{find, unknown_hint};
use crate::spec::{Network, TargetSpec};

/// The text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a target: {reason}")]
pub struct TargetError {
    /// The text.
    pub text: String,
    /// The reason, with what is expected.
    pub reason: String,
}

/// There is no usual grid of a number of devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no usual grid of {devices} {device} devices: {reason}")]
pub struct DevicesError {
    /// The number of devices.
    pub devices: u32,
    /// The name of the kind of device.
    pub device: String,
    /// The reason, with the nearest numbers that have a grid.
    pub reason: String,
}

/// Devices of one kind in a grid.
///
/// The text form is `KIND:GRID`: `v5p:4x4x4` is a TPU slice, `v5e:16x16:2` are two slices, `h100:8` is a host with eight GPUs, `h100:4x8` are four such
/// hosts, and `cpu:8` are eight virtual devices of a CPU. The prefixes `tpu:` and `cuda:` are allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    spec: Cow<'static, TargetSpec>,
    grid: SmallVec<[u32; 3]>,
    slices: u32,
    /// The device of the table that a target file replaces fields of.
    base: Option<&'static str>,
}

impl Target {
    /// The target with this device, grid and number of slices.
    ///
    /// # Errors
    /// The grid does not fit the network of the device, or has more than 2^31 devices.
    pub fn new(
        spec: impl Into<Cow<'static, TargetSpec>>,
        grid: &[u32],
        slices: u32,
    ) -> Result<Target, TargetError> {
        let target = Target { spec: spec.into(), grid: grid.into(), slices, base: None };
        let fail = |reason: &str| Err(TargetError { text: target.to_string(), reason: reason.to_owned() });
        let per_chip = match &target.spec.network {
            Network::Torus { rank, .. } if grid.len() != *rank => {
                return fail(&format!("a slice of {} has {rank} dimensions", target.spec.name));
            }
            Network::Hosts { .. } if grid.len() > 2 || slices != 1 => {
                return fail("expected a number of devices, or hosts and devices of a host, as in 8 or 2x8");
            }
            Network::Torus { per_chip, .. } => *per_chip,
            Network::Hosts { .. } => 1,
        };
        let mut all = grid.iter().chain([&slices, &per_chip]);
        let devices = all.try_fold(1u32, |product, &n| product.checked_mul(n)).unwrap_or(0);
        if devices == 0 || i32::try_from(devices).is_err() {
            return fail("the number of devices must be positive and less than 2^31");
        }
        if let Network::Torus { largest, .. } = &target.spec.network
            && grid.iter().product::<u32>() > largest.iter().product()
        {
            let largest = Target { grid: SmallVec::from_slice(largest), slices: 1, ..target.clone() };
            return fail(&format!("the largest slice is {largest}; use several slices, as in {largest}:2"));
        }
        Ok(target)
    }

    /// Parses the text form with a device of the caller's instead of one of the table.
    ///
    /// # Errors
    /// The text after the first colon is not a grid.
    pub fn with_spec(spec: TargetSpec, grid: &str) -> Result<Target, TargetError> {
        let (grid, slices) = parse_grid(grid).map_err(|reason| TargetError {
            text: format!("{}:{grid}", spec.name),
            reason: reason.to_owned(),
        })?;
        Target::new(Cow::Owned(spec), &grid, slices)
    }

    /// Sets the device of the table that this target was derived from.
    #[cfg(feature = "files")]
    pub(crate) fn based_on(self, base: &'static str) -> Target {
        Target { base: Some(base), ..self }
    }

    /// The name of the devices for compilers: that of the table, also if the target is from a file with other numbers.
    #[must_use]
    pub fn topology(&self) -> String {
        let name = self.to_string();
        match self.base {
            Some(base) => format!("{base}{}", name.strip_prefix(&*self.spec.name).unwrap_or_default()),
            None => name,
        }
    }

    /// The kind of device.
    #[must_use]
    pub fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    /// The size of each dimension of a slice, or hosts and devices of a host.
    #[must_use]
    pub fn grid(&self) -> &[u32] {
        &self.grid
    }

    /// The number of slices.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// The number of devices.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        let per_chip = match &self.spec.network {
            Network::Torus { per_chip, .. } => *per_chip as usize,
            Network::Hosts { .. } => 1,
        };
        self.grid.iter().map(|&n| n as usize).product::<usize>() * self.slices as usize * per_chip
    }

    /// The usual target with this device and number of devices: a slice whose dimensions are as equal as possible, or whole hosts.
    ///
    /// # Errors
    /// There is none: the number of chips is not a power of two or more than a slice has, or hosts are not whole.
    pub fn with_devices(spec: &'static TargetSpec, devices: u32) -> Result<Target, DevicesError> {
        let fail = |reason: String| DevicesError { devices, device: spec.name.to_string(), reason };
        let grid: SmallVec<[u32; 3]> = match &spec.network {
            Network::Torus { rank, per_chip, .. } => {
                let chips = devices.is_multiple_of(*per_chip).then_some(devices / per_chip);
                let grid = chips.and_then(|chips| most_equal(chips, *rank));
                grid.ok_or_else(|| {
                    let above = devices.div_ceil(*per_chip).checked_next_power_of_two();
                    let nearest = above.map_or([0, 0], |above| [above / 2 * per_chip, above * per_chip]);
                    let nearest = nearest.into_iter().filter(|&devices| devices > 0);
                    let nearest = nearest.filter(|&devices| Target::with_devices(spec, devices).is_ok());
                    let nearest: Vec<String> = nearest.map(|devices| devices.to_string()).collect();
                    fail(format!("use {}, or name the grid", nearest.join(" or ")))
                })?
            }
            Network::Hosts { per_host, .. } if devices <= *per_host => SmallVec::from_slice(&[devices]),
            Network::Hosts { per_host, .. } if devices.is_multiple_of(*per_host) => {
                SmallVec::from_slice(&[devices / per_host, *per_host])
            }
            Network::Hosts { per_host, .. } => {
                let below = devices - devices % per_host;
                return Err(fail(format!(
                    "a host has {per_host}; use {below} or {}, or name the hosts",
                    below.saturating_add(*per_host)
                )));
            }
        };
        Target::new(Cow::Borrowed(spec), &grid, 1).map_err(|error| fail(error.reason))
    }
}

/// Divides a power of two into `rank` dimensions that are powers of two and as equal as possible, in ascending order, with sizes of 1 last.
fn most_equal(chips: u32, rank: usize) -> Option<SmallVec<[u32; 3]>> {
    if !chips.is_power_of_two() {
        return None;
    }
    let bits = chips.trailing_zeros();
    let of = |i: u32| (bits + i) / rank as u32;
    let mut grid: SmallVec<[u32; 3]> = (0..rank as u32).map(|i| 1 << of(i)).collect();
    // Dimensions of size 1 are last in the names of slices: 2x2x1.
    let ones = grid.iter().take_while(|&&size| size == 1).count();
    grid.rotate_left(ones);
    Some(grid)
}

/// Parses `4x4` or `4x4:2`.
fn parse_grid(text: &str) -> Result<(SmallVec<[u32; 3]>, u32), &'static str> {
    let (grid, slices) = text.split_once(':').unwrap_or((text, "1"));
    let number = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0);
    let grid: Option<SmallVec<[u32; 3]>> = grid.split('x').map(number).collect();
    let grid = grid.ok_or("a grid is sizes with x between them, as in 4x4x4, 2x8 or 8")?;
    Ok((grid, number(slices).ok_or("the number of slices is a positive number, as in v5e:16x16:2")?))
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Target, TargetError> {
        let fail = |reason: String| TargetError { text: text.to_owned(), reason };
        let plain = text.strip_prefix("tpu:").or_else(|| text.strip_prefix("cuda:")).unwrap_or(text);
        let Some((kind, grid)) = plain.split_once(':') else {
            return Err(fail("expected KIND:GRID, as in v5p:4x4x4 or h100:2x8".to_owned()));
        };
        let Some(spec) = find(kind) else {
            return Err(fail(format!("there is no device {kind:?}; {}", unknown_hint(kind))));
        };
        let (grid, slices) = parse_grid(grid).map_err(|reason| fail(reason.to_owned()))?;
        Target::new(Cow::Borrowed(spec), &grid, slices).map_err(|error| fail(error.reason))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.spec.name)?;
        for (i, size) in self.grid.iter().enumerate() {
            write!(f, "{}{size}", if i > 0 { "x" } else { "" })?;
        }
        if self.slices > 1 { write!(f, ":{}", self.slices) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_printed_as_they_are_read() {
        for (text, devices) in
            [("v5p:4x4x4", 64), ("v5e:16x16:2", 512), ("h100:8", 8), ("h100:4x8", 32), ("tpu7x:2x2x2", 16)]
        {
            let target: Target = text.parse().unwrap();
            assert_eq!((target.to_string().as_str(), target.num_devices()), (text, devices));
        }
        let prefixed: Target = "tpu:v5e:2x4".parse().unwrap();
        assert_eq!(prefixed.to_string(), "v5e:2x4");
    }

    #[test]
    fn errors_say_what_is_expected() {
        for (text, expected) in [
            ("v5p", "KIND:GRID"),
            ("v9:2x2", "known devices are cpu, v4, v5e"),
            ("v5p:4x4", "3 dimensions"),
            ("v5e:4x", "sizes with x"),
            ("v5e:4x4:0", "number of slices"),
            ("v5e:65536x65536", "2^31"),
            ("v5e:16x32", "use several slices, as in v5e:16x16:2"),
            ("h100:2x2x2", "2x8"),
        ] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn slices_have_equal_dimensions() {
        let of = |name, devices| Target::with_devices(find(name).unwrap(), devices).map(|t| t.to_string());
        let reason = |name, devices| of(name, devices).unwrap_err().reason;
        assert_eq!(of("v5e", 32).unwrap(), "v5e:4x8");
        assert_eq!(of("v5p", 64).unwrap(), "v5p:4x4x4");
        assert_eq!(of("h100", 64).unwrap(), "h100:8x8");
        assert_eq!(of("h100", 4).unwrap(), "h100:4");
        assert_eq!(of("tpu7x", 8).unwrap(), "tpu7x:2x2x1");
        assert_eq!(of("v6e", 256).unwrap(), "v6e:16x16");
        assert_eq!(
            of("v5e", 12).unwrap_err().to_string(),
            "there is no usual grid of 12 v5e devices: use 8 or 16, or name the grid"
        );
        assert_eq!(
            reason("v5e", 512),
            "the largest slice is v5e:16x16; use several slices, as in v5e:16x16:2"
        );
        assert_eq!(reason("v5e", 300), "use 256, or name the grid");
        assert_eq!(reason("tpu7x", 3), "use 2 or 4, or name the grid");
        assert_eq!(reason("h100", 12), "a host has 8; use 8 or 16, or name the hosts");
    }
}
