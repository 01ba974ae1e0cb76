//! The report of `shardc run`.

use std::time::Duration;

use serde_json::{Value, json};
use shardc::Interface;
use shardc::runtime::{Client, HostArray};

use super::names;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

/// One execution of the program.
pub(super) struct Step {
    pub(super) time: Duration,
    /// Scalar results, by name.
    pub(super) scalars: Vec<(String, f64)>,
}

impl Step {
    /// The step as JSON. Numbers that are not finite become null.
    pub(super) fn json(&self) -> Value {
        let scalars: serde_json::Map<String, Value> =
            self.scalars.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({ "seconds": self.time.as_secs_f64(), "scalars": scalars })
    }
}

/// The indices and names of scalar results, which are reported for each step.
pub(super) fn shown(interface: &Interface) -> Vec<(usize, String)> {
    let all = names::results(interface).into_iter().enumerate();
    let is_scalar = |i: usize| {
        let output = &interface.outputs[i];
        output.global.shape.is_empty() && !output.is_token
    };
    all.filter(|(i, _)| is_scalar(*i)).collect()
}

/// The type and statistics of an output.
pub(super) struct Row {
    name: Option<String>,
    ty: String,
    smallest: f64,
    largest: f64,
    mean: f64,
}

impl Row {
    pub(super) fn new(array: &HostArray, ty: String, name: Option<String>) -> Row {
        let values = array.to_f64_vec();
        let fold = |f: fn(f64, f64) -> f64, start: f64| values.iter().copied().fold(start, f);
        Row {
            name,
            ty,
            smallest: fold(f64::min, f64::INFINITY),
            largest: fold(f64::max, f64::NEG_INFINITY),
            mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
        }
    }

    /// The row as JSON. Numbers that are not finite become null.
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.ty,
            "smallest": self.smallest,
            "largest": self.largest,
            "mean": self.mean,
        })
    }
}

/// The memory of the device with the highest peak.
pub(super) struct DeviceMemory {
    peak: u64,
    limit: Option<u64>,
}

impl DeviceMemory {
    /// Queries the devices. Returns `None` if the plugin, such as the CPU plugin, does not report memory.
    pub(super) fn of(client: &Client) -> Option<DeviceMemory> {
        let stats = client.devices().iter().filter_map(|device| device.memory_stats().ok());
        // A pool that grows on demand reports the limit 0.
        let limit = |limit: Option<u64>| limit.filter(|&bytes| bytes > 0);
        let used =
            stats.filter_map(|stats| Some(DeviceMemory { peak: stats.peak?, limit: limit(stats.limit) }));
        used.max_by_key(|memory| memory.peak)
    }

    pub(super) fn json(&self) -> Value {
        json!({ "peak_bytes": self.peak, "limit_bytes": self.limit })
    }

    fn text(&self) -> String {
        let limit = self.limit.map(|limit| format!(" of {}", bytes(limit))).unwrap_or_default();
        format!("peak memory of a device: {}{limit}, including compilation\n", bytes(self.peak))
    }
}

pub(super) fn text(steps: Option<&[Step]>, rows: &[Row], memory: Option<&DeviceMemory>, ui: &Ui) -> String {
    let steps = steps.map(|steps| format!("{}\n", ui.table(&steps_table(steps)))).unwrap_or_default();
    let memory = memory.map(|memory| format!("\n{}", memory.text())).unwrap_or_default();
    format!("{steps}{}{memory}", ui.table(&outputs_table(rows)))
}

fn number(n: f64) -> String {
    format!("{n:.6}")
}

fn steps_table(steps: &[Step]) -> Table {
    let names: Vec<String> = steps
        .first()
        .map_or_else(Vec::new, |step| step.scalars.iter().map(|(name, _)| format!(">{name}")).collect());
    let columns: Vec<&str> =
        [">step", ">milliseconds"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut table = Table::new(&columns);
    for (i, step) in steps.iter().enumerate() {
        let time = format!("{:.3}", step.time.as_secs_f64() * 1e3);
        let values = step.scalars.iter().map(|(_, value)| number(*value));
        table.row([(i + 1).to_string(), time].into_iter().chain(values).collect());
    }
    table
}

fn outputs_table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["output", "type", ">smallest", ">largest", ">mean"]);
    for (i, row) in rows.iter().enumerate() {
        let name = row.name.as_deref().map(|n| format!(" ({n})")).unwrap_or_default();
        let (name, ty) = (format!("out{i}{name}"), row.ty.clone());
        table.row(vec![name, ty, number(row.smallest), number(row.largest), number(row.mean)]);
    }
    table
}
