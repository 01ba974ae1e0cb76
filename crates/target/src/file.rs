//! Targets from TOML files.

use std::borrow::Cow;

use serde::Deserialize;

use crate::rows::{find, unknown_hint};
use crate::spec::{Network, TargetSpec};
use crate::target::{Target, TargetError};

/// A target file. Fields that are left out are those of the device `base`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    base: String,
    grid: String,
    /// Bytes.
    memory: Option<u64>,
    /// Bytes per second.
    bandwidth: Option<f64>,
    host_bandwidth: Option<f64>,
    /// Seconds.
    launch: Option<f64>,
    kernel_start: Option<f64>,
    vector_peak: Option<f64>,
    peaks: Option<FilePeaks>,
    link: Option<FileLink>,
    outer_link: Option<FileLink>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePeaks {
    f64: Option<f64>,
    f32: Option<f64>,
    f16: Option<f64>,
    f8: Option<f64>,
    i8: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLink {
    name: Option<String>,
    bandwidth: Option<f64>,
    latency: Option<f64>,
}

impl Target {
    /// Parses the text of a target file. `base` and `grid` are required.
    ///
    /// * `name` is the name in reports.
    /// * `memory` is in bytes, `bandwidth` and `host_bandwidth` in bytes per second.
    /// * `launch` and `kernel_start` are in seconds, `vector_peak` in operations per second.
    /// * The table `peaks` has `f64`, `f32`, `f16`, `f8` and `i8`, in operations per second.
    /// * The tables `link` and `outer_link` have `name`, `bandwidth` and `latency`.
    ///
    /// They have the meaning of the fields of [`TargetSpec`] and [`Link`](crate::Link).
    ///
    /// ```
    /// let target = shardc_target::Target::from_toml(
    ///     r#"
    ///     name = "rack"          # for reports
    ///     base = "h100"          # fields that are left out are those of this device
    ///     grid = "4x8"           # four hosts with eight GPUs
    ///     memory = 80000000000   # bytes that a program can use
    ///     [outer_link]           # between hosts, for one device in one direction
    ///     bandwidth = 25e9       # bytes per second
    ///     latency = 5e-6         # seconds
    ///     "#,
    /// )?;
    /// assert_eq!(target.num_devices(), 32);
    /// # Ok::<(), shardc_target::TargetError>(())
    /// ```
    ///
    /// # Errors
    /// The text is not TOML, a field is unknown, a number is not positive, or the grid does not fit the device.
    pub fn from_toml(text: &str) -> Result<Target, TargetError> {
        let fail = |reason: String| TargetError { text: "the file".to_owned(), reason };
        let file: File = toml::from_str(text).map_err(|error| fail(error.to_string().trim().to_owned()))?;
        let Some(base) = find(&file.base) else {
            return Err(fail(format!("there is no device {:?}; {}", file.base, unknown_hint(&file.base))));
        };
        let mut spec: TargetSpec = base.clone();
        spec.name = file.name.map_or(spec.name, Cow::Owned);
        spec.memory = file.memory.unwrap_or(spec.memory);
        let peaks = &mut spec.peaks;
        let mut numbers = vec![
            ("bandwidth", file.bandwidth, &mut spec.bandwidth),
            ("host_bandwidth", file.host_bandwidth, &mut spec.host_bandwidth),
            ("launch", file.launch, &mut spec.launch),
            ("kernel_start", file.kernel_start, &mut spec.kernel_start),
            ("vector_peak", file.vector_peak, &mut spec.vector_peak),
        ];
        if let Some(of) = file.peaks {
            numbers.extend([
                ("peaks.f64", of.f64, &mut peaks.f64),
                ("peaks.f32", of.f32, &mut peaks.f32),
                ("peaks.f16", of.f16, &mut peaks.f16),
                ("peaks.f8", of.f8, &mut peaks.f8),
                ("peaks.i8", of.i8, &mut peaks.i8),
            ]);
        }
        let (link, outer) = match &mut spec.network {
            Network::Torus { link, between_slices, .. } => (link, between_slices),
            Network::Hosts { link, between_hosts, .. } => (link, between_hosts),
        };
        if let Some(of) = file.link {
            link.name = of.name.map_or(link.name.clone(), Cow::Owned);
            numbers.push(("link.bandwidth", of.bandwidth, &mut link.bandwidth));
            numbers.push(("link.latency", of.latency, &mut link.latency));
        }
        if let Some(of) = file.outer_link {
            outer.name = of.name.map_or(outer.name.clone(), Cow::Owned);
            numbers.push(("outer_link.bandwidth", of.bandwidth, &mut outer.bandwidth));
            numbers.push(("outer_link.latency", of.latency, &mut outer.latency));
        }
        for (name, number, place) in numbers {
            match number {
                Some(number) if number > 0.0 && number.is_finite() => *place = number,
                Some(_) => return Err(fail(format!("{name} must be a positive number"))),
                None => {}
            }
        }
        Ok(Target::with_spec(spec, &file.grid)?.based_on(&base.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_replace_those_of_the_base() {
        let text =
            "base = \"v5e\"\ngrid = \"4x4:2\"\nmemory = 1000\n[link]\nbandwidth = 1e9\n[peaks]\nf16 = 5e12";
        let target = Target::from_toml(text).unwrap();
        let spec = target.spec();
        assert_eq!((spec.memory, spec.link().bandwidth, spec.peaks.f16), (1000, 1e9, 5e12));
        assert_eq!((target.slices(), target.num_devices()), (2, 32));
        assert_eq!(target.topology(), "v5e:4x4:2");
        let named = Target::from_toml("name = \"rack\"\nbase = \"h100\"\ngrid = \"4x8\"").unwrap();
        assert_eq!((named.to_string(), named.topology()), ("rack:4x8".to_owned(), "h100:4x8".to_owned()));
    }

    #[test]
    fn mistakes_are_reported() {
        for (text, expected) in [
            ("grid = \"8\"", "missing field `base`"),
            ("base = \"h100\"\ngrid = \"8\"\nbandwith = 1.0", "unknown field `bandwith`"),
            ("base = \"h99\"\ngrid = \"8\"", "known devices"),
            ("base = \"h100\"\ngrid = \"8\"\nbandwidth = -1.0", "bandwidth must be a positive number"),
            ("base = \"h100\"\ngrid = \"8x8x8\"", "2x8"),
        ] {
            let error = Target::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
