//! Selects collectives, and folds those of repeated layers into groups.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::classes::OperandClass;
use super::report::CollectiveReport;
use crate::folding::without_numbers;

/// Which collectives a report contains. An empty list selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveFilter {
    /// Kinds: `all_reduce`.
    pub kinds: Vec<String>,
    /// Mesh axes; a collective along several axes is selected by any of them.
    pub axes: Vec<String>,
    /// Classes of operands.
    pub classes: Vec<OperandClass>,
    /// The minimum number of bytes that a device sends for a group of equal collectives in one execution of the program.
    pub min_bytes: u64,
}

impl CollectiveFilter {
    /// Whether the filter selects all collectives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == CollectiveFilter::default()
    }

    fn selects(&self, collective: &CollectiveReport) -> bool {
        let CollectiveFilter { kinds, axes, classes, .. } = self;
        (kinds.is_empty() || kinds.contains(&collective.kind))
            && (axes.is_empty() || collective.axes.iter().any(|axis| axes.contains(axis)))
            && (classes.is_empty() || collective.class.is_some_and(|class| classes.contains(&class)))
    }

    /// Removes the collectives that the filter does not select.
    pub(super) fn apply(&self, collectives: &mut Vec<CollectiveReport>) {
        collectives.retain(|collective| self.selects(collective));
        if self.min_bytes > 0 {
            let large = groups(collectives).into_iter().filter(|group| group.bytes >= self.min_bytes);
            let mut kept: Vec<usize> =
                large.flat_map(|group| group.members.into_iter().map(|c| c.number)).collect();
            kept.sort_unstable();
            collectives.retain(|collective| kept.binary_search(&collective.number).is_ok());
        }
    }
}

/// Collectives that differ only in the layer to which they belong.
pub(super) struct CollectiveGroup<'r> {
    /// The collectives, in program order.
    pub(super) members: Vec<&'r CollectiveReport>,
    /// The number of executions in one execution of the program.
    pub(super) runs: u64,
    /// The bytes that one device sends in one execution of the program.
    pub(super) bytes: u64,
}

/// The groups of equal collectives, the group with the most bytes first.
pub(super) fn groups(collectives: &[CollectiveReport]) -> Vec<CollectiveGroup<'_>> {
    let mut groups: IndexMap<_, CollectiveGroup<'_>> = IndexMap::new();
    for collective in collectives {
        let serves: Vec<(&str, Vec<String>)> = collective
            .serves
            .iter()
            .map(|one| (one.op.as_str(), one.because.iter().map(|text| comparable(text)).collect()))
            .collect();
        let function = collective.function.as_ref().map(|function| without_numbers(&function.name));
        let CollectiveReport { kind, axes, ty, class, in_loop, runs, .. } = collective;
        let group = groups
            .entry((kind, axes, ty, class, in_loop, runs, function, serves))
            .or_insert_with(|| CollectiveGroup { members: Vec::new(), runs: 0, bytes: 0 });
        group.members.push(collective);
        group.runs = group.runs.saturating_add(collective.runs);
        group.bytes = group.bytes.saturating_add(collective.bytes_in_run());
    }
    let mut out: Vec<CollectiveGroup<'_>> = groups.into_values().collect();
    out.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    out
}

/// Sets [`CollectiveReport::group`].
pub(super) fn number_groups(collectives: &mut [CollectiveReport]) {
    let numbers = groups(collectives).into_iter().flat_map(|group| {
        let first = group.members.first().map_or(0, |first| first.number);
        group.members.into_iter().map(move |member| (member.number, first))
    });
    let first: HashMap<usize, usize> = numbers.collect();
    for collective in collectives {
        collective.group = first.get(&collective.number).copied().unwrap_or(collective.number);
    }
}

/// A reason without the numbers of layers, and without the rule by which one of two axes won: that of the first layer often differs.
fn comparable(reason: &str) -> String {
    let begins = [" already shards dimension ", "it is sharded along "];
    let decided = begins.iter().filter_map(|begin| Some(reason.find(begin)? + begin.len())).min();
    let end = decided.and_then(|at| Some(at + reason.get(at..)?.find(',')?)).unwrap_or(reason.len());
    without_numbers(&reason[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::ServedReport;

    fn collective(number: usize, because: &str, bytes: u64) -> CollectiveReport {
        let serves = ServedReport {
            op: "stablehlo.dot_general".to_owned(),
            because: vec![because.to_owned()],
            ..ServedReport::default()
        };
        CollectiveReport {
            number,
            kind: "all_gather".to_owned(),
            axes: vec!["data".to_owned()],
            bytes,
            runs: 2,
            class: Some(OperandClass::Weight),
            serves: vec![serves],
            ..CollectiveReport::default()
        }
    }

    #[test]
    fn layers_fold_and_filters_count_groups() {
        let mut all = vec![
            collective(0, "%arg1 dimension 0 has \"data\"", 10),
            collective(1, "%arg7 dimension 0 has \"data\"", 10),
            collective(2, "%arg7 dimension 1 has \"data\"", 30),
        ];
        let found: Vec<(usize, u64, u64)> =
            groups(&all).iter().map(|g| (g.members[0].number, g.runs, g.bytes)).collect();
        assert_eq!(found, [(2, 2, 60), (0, 4, 40)]);
        number_groups(&mut all);
        assert_eq!(all.iter().map(|one| one.group).collect::<Vec<_>>(), [0, 0, 2]);
        CollectiveFilter { min_bytes: 40, ..CollectiveFilter::default() }.apply(&mut all);
        assert_eq!(all.len(), 3, "the two layers send 40 bytes together");
        let filter = CollectiveFilter { classes: vec![OperandClass::Batch], ..CollectiveFilter::default() };
        filter.apply(&mut all);
        assert!(all.is_empty());
    }
}
