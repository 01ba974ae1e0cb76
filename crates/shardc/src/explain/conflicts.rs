//! Conflicts between shardings, as text.

use std::collections::HashMap;

use indexmap::IndexMap;
use shardc_passes::propagate::{AxisRole as At, Conflict, Reason, Subject, Winner};

use super::Explainer;
use super::report::{ConflictReport, SourcePlace};

impl Explainer<'_> {
    /// Conflicts as text. Equal conflicts are grouped, and the groups are ordered by the bytes that are sent because of them; `sent` has those
    /// of each conflict by index.
    pub(super) fn conflicts<'c>(
        &self,
        list: impl Iterator<Item = (usize, &'c Conflict)>,
        sent: Option<&HashMap<usize, u64>>,
    ) -> Vec<ConflictReport> {
        let mut groups: IndexMap<_, ConflictReport> = IndexMap::new();
        for (i, conflict) in list {
            let op = conflict.op.map_or("return", |op| self.module.ops[op].kind.name());
            let key = (
                op,
                conflict.axis,
                conflict.reason,
                (conflict.has.1, self.type_of(conflict.has.0)),
                (conflict.lacks.1, self.type_of(conflict.lacks.0)),
            );
            let group = groups.entry(key).or_insert_with(|| self.conflict(op, conflict));
            group.count += 1;
            if let Some(sent) = sent {
                *group.sent.get_or_insert(0) += sent.get(&i).copied().unwrap_or(0);
            }
        }
        let mut out: Vec<ConflictReport> = groups.into_values().collect();
        out.sort_by_key(|c| std::cmp::Reverse(c.sent));
        out
    }

    fn conflict(&self, op: &str, conflict: &Conflict) -> ConflictReport {
        let side =
            |(subject, dim): (Subject, u32)| format!("{} dimension {dim}", self.names.subject(subject));
        let mesh = self.sharding(conflict.has.0).map(|s| &self.module.meshes[s.mesh]);
        let axis = mesh.map_or_else(String::new, |mesh| mesh.axis_text(conflict.axis));
        let origin = self.origin(conflict.has.0, At::Dim(conflict.has.1), conflict.axis);
        let against = match conflict.reason {
            Reason::Taken { dim, .. } => Some((dim, conflict.axis)),
            Reason::OtherAxis { axis, .. } => Some((conflict.lacks.1, axis)),
            _ => None,
        };
        let place = match conflict.op {
            Some(op) => self.names.op_place(op),
            None => {
                let ret = self.module.terminator(self.body);
                ret.map_or_else(SourcePlace::default, |ret| self.names.op_place(ret))
            }
        };
        ConflictReport {
            op: op.to_owned(),
            place,
            has: side(conflict.has),
            lacks: side(conflict.lacks),
            reason: self.reason(conflict, &axis),
            sent: None,
            count: 0,
            origin: origin.unwrap_or_default(),
            against: against.and_then(|(dim, axis)| self.origin(conflict.lacks.0, At::Dim(dim), axis)),
            axis,
        }
    }

    /// The annotations from which an axis was propagated.
    pub(super) fn origin(&self, subject: Subject, at: At, axis: shardc_ir::AxisRef) -> Option<String> {
        let origins = self.provenance.origins(subject, at, axis);
        let texts: Vec<String> = origins.into_iter().map(|a| self.annotation(a)).collect();
        (!texts.is_empty()).then(|| texts.join(" and "))
    }

    fn reason(&self, conflict: &Conflict, axis: &str) -> String {
        match conflict.reason {
            Reason::Taken { dim, winner } => {
                format!("\"{axis}\" already shards dimension {dim}, {}", winner_text(winner))
            }
            Reason::OtherAxis { axis: other, winner } => {
                let mesh = self.sharding(conflict.lacks.0).map(|s| &self.module.meshes[s.mesh]);
                let other = mesh.map_or_else(String::new, |mesh| mesh.axis_text(other));
                format!("it is sharded along \"{other}\", {}", winner_text(winner))
            }
            Reason::Closed => "its annotation closes the dimension".to_owned(),
            Reason::Replicated => format!("its annotation makes it replicated along \"{axis}\""),
            Reason::Pending => format!("it is unreduced along \"{axis}\""),
            Reason::DoesNotDivide => {
                format!(
                    "its {} elements are not divisible by \"{axis}\" and the axes that already shard it",
                    conflict.size
                )
            }
            Reason::Blocked => {
                "the sharding rule of the operation blocks propagation along that dimension".to_owned()
            }
            Reason::Barrier => "the propagation barrier blocks that direction".to_owned(),
            Reason::OtherMesh => "it is on a different mesh".to_owned(),
            Reason::NoAgreement => "operands and results of the operation require different axes".to_owned(),
        }
    }
}

fn winner_text(winner: Winner) -> String {
    match winner {
        Winner::Annotated => "as annotated".to_owned(),
        Winner::UserPriority(a, b) => format!("which has higher priority (p{a} over p{b})"),
        Winner::OpPriority => {
            "which was propagated in an earlier round (elementwise before matmuls)".to_owned()
        }
        Winner::LargerTensor => "which comes from a larger or earlier tensor of the operation".to_owned(),
        Winner::First => "which was propagated first".to_owned(),
    }
}

/// A conflict in one line.
pub(super) fn conflict_text(conflict: &ConflictReport) -> String {
    let from =
        if conflict.origin.is_empty() { String::new() } else { format!(" (from {})", conflict.origin) };
    let against = conflict.against.as_ref().map(|a| format!(" (from {a})")).unwrap_or_default();
    format!(
        "{} has \"{}\"{from}, but {} does not: {}{against}",
        conflict.has, conflict.axis, conflict.lacks, conflict.reason
    )
}
