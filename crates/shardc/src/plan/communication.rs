//! The links of mesh axes, and the collectives by kind and axes.

use indexmap::IndexMap;
use shardc_ir::{AxisRef, OpKind};
use shardc_passes::cost::time::TimeEstimate;
use shardc_passes::cost::traffic::bytes_sent;
use shardc_target::{Group, Target};

use super::report::{MeshAxisReport, TrafficReport};
use crate::Output;
use crate::explain::axes_of;

/// The links along each axis of the mesh.
pub(super) fn mesh(output: &Output, target: &Target) -> Vec<MeshAxisReport> {
    let mesh = &output.interface.mesh;
    let axes = mesh.axes.iter().enumerate().map(|(i, (name, &size))| {
        let group = along(output, target, &[AxisRef::whole(i)]);
        let bandwidth = if size > 1 { group.bandwidth() } else { 0.0 };
        MeshAxisReport { name: name.to_string(), size, link: group.link().to_owned(), bandwidth }
    });
    axes.collect()
}

/// The group of the devices that differ from the first device only along `axes`.
fn along(output: &Output, target: &Target, axes: &[AxisRef]) -> Group {
    let mesh = &output.interface.mesh;
    let groups = mesh.replica_groups(axes);
    let members = groups.first().into_iter().flat_map(|group| group.iter());
    Group::of(target, members.filter_map(|id| u64::try_from(id).ok()))
}

/// The collectives, grouped by kind and axes; the group that takes the most time is first.
pub(super) fn report(output: &Output, time: &TimeEstimate, target: &Target) -> Vec<TrafficReport> {
    let (module, mesh) = (&output.module, &output.interface.mesh);
    let mut rows: IndexMap<(String, Vec<String>), TrafficReport> = IndexMap::new();
    for span in time.spans.iter().filter(|span| span.is_collective) {
        let data = &module.ops[span.op];
        let Some(spec) = data.collective_spec() else { continue };
        let is_permute = matches!(data.kind, OpKind::CollectivePermute(_));
        let axes = axes_of(mesh, &spec.groups, is_permute);
        let kind = data.collective_name().to_owned();
        let row = rows.entry((kind.clone(), axes.clone())).or_insert_with(|| {
            let indices = axes.iter().filter_map(|name| mesh.axes.get_index_of(name.as_str()));
            let all: Vec<AxisRef> = indices.map(AxisRef::whole).collect();
            let link = along(output, target, &all).link().to_owned();
            TrafficReport { kind, axes, link, ..TrafficReport::default() }
        });
        row.count += 1;
        row.runs = row.runs.saturating_add(span.runs);
        let sent = bytes_sent(module, span.op).unwrap_or(0);
        row.bytes = row.bytes.saturating_add(sent.saturating_mul(span.runs));
        row.seconds += span.seconds;
        row.exposed += span.exposed;
    }
    let mut rows: Vec<TrafficReport> = rows.into_values().collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}
