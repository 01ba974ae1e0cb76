//! The rows of a sweep: the plan of each case.

use serde::Serialize;
use shardc::{Interface, InterfaceTensor};

use crate::ui::table::{Table, bytes};

/// The plan of a case.
#[derive(Clone, Serialize)]
pub(super) struct Row {
    pub(super) target: String,
    pub(super) devices: usize,
    pub(super) mesh: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strategy: Option<String>,
    /// Whether the upper end of the memory estimate is within the device's memory.
    pub(super) fits: bool,
    /// Bytes: the upper end of the memory estimate, and the memory of the device.
    pub(super) memory: u64,
    pub(super) limit: u64,
    /// Seconds of one execution.
    pub(super) seconds: f64,
    /// Seconds of one execution, times the number of devices.
    pub(super) device_seconds: f64,
    pub(super) hfu: f64,
    /// The largest fraction of padding in an argument, because its sharded dimensions are not divisible.
    pub(super) padding: f64,
    /// The price of one execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price: Option<f64>,
    /// Device seconds for one token or sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) per_sample: Option<f64>,
}

/// For each target, the fastest row that fits, or else the one that needs the least memory.
pub(super) fn best_of_each(rows: Vec<Row>) -> Vec<Row> {
    let mut best: Vec<Row> = Vec::new();
    for row in rows {
        let is_better = |other: &Row| match (row.fits, other.fits) {
            (true, true) => row.seconds < other.seconds,
            (false, false) => row.memory < other.memory,
            (fits, _) => fits,
        };
        match best.iter_mut().find(|other| other.target == row.target) {
            Some(other) => {
                if is_better(other) {
                    *other = row;
                }
            }
            None => best.push(row),
        }
    }
    best
}

/// The table of a sweep.
pub(super) fn table(rows: &[Row]) -> Table {
    let (has_price, has_samples) =
        (rows.iter().any(|row| row.price.is_some()), rows.iter().any(|row| row.per_sample.is_some()));
    let has_strategy = rows.iter().any(|row| row.strategy.is_some());
    let has_padding = rows.iter().any(|row| row.padding > 0.0);
    let mut headings = vec!["target", ">devices", "mesh"];
    headings.extend(has_strategy.then_some("strategy"));
    headings.extend([">memory", "fits", ">time", ">x devices", ">HFU"]);
    headings.extend(has_price.then_some(">price"));
    headings.extend(has_samples.then_some(">per sample"));
    headings.extend(has_padding.then_some(">padding"));
    let mut table = Table::new(&headings);
    for row in rows {
        let mut cells = vec![row.target.clone(), row.devices.to_string(), row.mesh.clone()];
        if has_strategy {
            cells.push(row.strategy.clone().unwrap_or_default());
        }
        cells.extend([
            bytes(row.memory),
            if row.fits { "yes" } else { "no" }.to_owned(),
            shardc::plan::seconds_text(row.seconds),
            shardc::plan::seconds_text(row.device_seconds),
            format!("{:.1} %", 100.0 * row.hfu),
        ]);
        if has_price {
            cells.push(row.price.map_or_else(String::new, |price| format!("{price:.2e}")));
        }
        if has_samples {
            cells.push(row.per_sample.map_or_else(String::new, shardc::plan::seconds_text));
        }
        if has_padding {
            cells.push(if row.padding > 0.0 {
                format!("{:.1} %", 100.0 * row.padding)
            } else {
                String::new()
            });
        }
        table.row(cells);
    }
    table
}

/// The largest fraction of padding in an argument of a partition.
pub(super) fn padding(interface: &Interface) -> f64 {
    let of_dim = |local: i64, shards: i64, global: i64| 1.0 - global as f64 / (local * shards).max(1) as f64;
    let of_tensor = |tensor: &InterfaceTensor| {
        let mesh = interface.mesh_of(tensor);
        let dims = tensor.sharding.dims.iter().zip(&tensor.local_shape).zip(&tensor.global.shape);
        let paddings = dims.map(|((dim, &local), &global)| {
            of_dim(local, dim.axes.iter().map(|&axis| mesh.axis_size(axis)).product(), global)
        });
        paddings.fold(0.0, f64::max)
    };
    interface.inputs.iter().map(of_tensor).fold(0.0, f64::max)
}
