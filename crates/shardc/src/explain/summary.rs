//! The summary of a program: the number of values that each annotation shards, conflicts, large replicated values, and collectives.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use shardc_ir::AxisRef;
use shardc_passes::propagate::{AnnotationSource, AxisRole as At, Subject};

use super::Explainer;
use super::report::{AnnotationReport, AxisReport, ReplicatedReport, Report};
use crate::{Error, Output};

/// The minimum size in bytes of a replicated value that the summary reports.
const LARGE: u64 = 1 << 20;

impl Explainer<'_> {
    pub(super) fn summary(&self, partitioned: Result<&Output, &Error>, report: &mut Report) {
        report.axes = self.axes();
        report.replicated = self.replicated();
        let needs = self.all_collectives(partitioned, report);
        let all = self.provenance.conflicts().iter().enumerate();
        report.conflicts = self.conflicts(all, needs.as_ref().map(|needs| &needs.of_conflicts));
    }

    /// Adds arguments and results, with the propagation paths of their axes.
    pub(super) fn boundary(&self, report: &mut Report) {
        let args = self.module.regions[self.body].args.iter().map(|&v| Subject::Value(v));
        report.arguments = args.map(|subject| self.value(subject, false)).collect();
        let results = (0..self.num_results()).map(|i| Subject::Result(i as u32));
        report.results = results.map(|subject| self.value(subject, false)).collect();
    }

    /// Adds arguments and results, with the origins of their axes but without propagation paths.
    pub(super) fn origins_of_boundary(&self, report: &mut Report) {
        let args = self.module.regions[self.body].args.iter().map(|&v| Subject::Value(v));
        report.arguments = args.map(|subject| self.value_origins(subject)).collect();
        let results = (0..self.num_results()).map(|i| Subject::Result(i as u32));
        report.results = results.map(|subject| self.value_origins(subject)).collect();
    }

    /// Each axis of the mesh, with the values that it shards and its annotations.
    fn axes(&self) -> Vec<AxisReport> {
        let results = (0..self.num_results()).map(|i| Subject::Result(i as u32));
        let subjects: Vec<Subject> = self.values().into_iter().map(Subject::Value).chain(results).collect();
        let mut reports: IndexMap<String, (AxisReport, BTreeMap<AnnotationSource, usize>)> = IndexMap::new();
        for mesh in self.module.meshes.values().filter(|mesh| !mesh.is_maximal()) {
            for (name, &size) in &mesh.axes {
                let report = AxisReport { name: name.to_string(), size, ..AxisReport::default() };
                reports.entry(name.to_string()).or_insert((report, BTreeMap::new()));
            }
        }
        for subject in subjects {
            let Some(sharding) = self.sharding(subject) else { continue };
            let mesh = &self.module.meshes[sharding.mesh];
            let mut seen: Vec<u16> = Vec::new();
            for (d, dim) in sharding.dims.iter().enumerate() {
                for &axis in &dim.axes {
                    let Some((report, annotations)) = reports.get_mut(mesh.axis_name(axis)) else { continue };
                    // An axis whose sub-axes shard several dimensions of a value counts once.
                    if !seen.contains(&axis.axis) {
                        seen.push(axis.axis);
                        report.values += 1;
                    }
                    for origin in self.provenance.origins(subject, At::Dim(d as u32), axis) {
                        *annotations.entry(origin).or_default() += 1;
                    }
                }
            }
        }
        let finish = |(mut report, annotations): (AxisReport, BTreeMap<AnnotationSource, usize>)| {
            let mut list: Vec<AnnotationReport> = annotations
                .into_iter()
                .map(|(annotation, values)| AnnotationReport {
                    annotation: self.annotation(annotation),
                    place: self.annotation_place(annotation, self.annotated(annotation)),
                    values,
                })
                .collect();
            list.sort_by_key(|a| std::cmp::Reverse(a.values));
            report.annotations = list;
            report
        };
        reports.into_values().map(finish).collect()
    }

    /// Returns the argument or result that an annotation belongs to. For an annotation of an operation, it returns a placeholder, because
    /// `annotation_place` then does not use the subject.
    fn annotated(&self, annotation: AnnotationSource) -> Subject {
        match annotation {
            AnnotationSource::Argument(i) => {
                let args = &self.module.regions[self.body].args;
                args.get(i as usize).map_or(Subject::Result(0), |&v| Subject::Value(v))
            }
            AnnotationSource::Result(i) => Subject::Result(i),
            AnnotationSource::Constraint(_)
            | AnnotationSource::ManualIn(..)
            | AnnotationSource::ManualOut(..)
            | AnnotationSource::Operation(..) => Subject::Result(0),
        }
    }

    /// Replicated values of at least [`LARGE`] bytes, grouped by operation and type.
    fn replicated(&self) -> Vec<ReplicatedReport> {
        let mut groups: IndexMap<(String, String), ReplicatedReport> = IndexMap::new();
        for value in self.values() {
            let op = self.module.def_op(value);
            let whole = self.module.shardings.sharding_of(value).is_some_and(|s| {
                let mesh = &self.module.meshes[s.mesh];
                s.split_axes().all(|axis: AxisRef| mesh.axis_size(axis) == 1)
            });
            let bytes = self.module.stored(value).and_then(|t| t.num_bytes()).unwrap_or(0).unsigned_abs();
            if !whole || bytes < LARGE || self.is_free(op) {
                continue;
            }
            let subject = Subject::Value(value);
            let name = op.map_or("argument", |op| self.module.ops[op].kind.name()).to_owned();
            let group =
                groups.entry((name.clone(), self.type_of(subject))).or_insert_with(|| ReplicatedReport {
                    name: self.names.value(value),
                    op: name,
                    ty: self.type_of(subject),
                    bytes,
                    count: 0,
                    place: self.names.subject_place(subject),
                });
            group.count += 1;
        }
        let mut out: Vec<ReplicatedReport> = groups.into_values().collect();
        out.sort_by_key(|r| std::cmp::Reverse(r.bytes * r.count as u64));
        out
    }
}
