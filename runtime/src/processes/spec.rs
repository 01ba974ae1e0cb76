//! The text that describes a cross-process collective, and its parser.
//!
//! All processes run the same partitioned program. Its cross-process collectives are custom calls with the target
//! [`TARGET`](crate::processes::COLLECTIVE_TARGET) and one string attribute, [`ATTRIBUTE`]:
//!
//! ```text
//! all_reduce channel=3 per=4 by=add types=f32,bf16 groups=0,4;1,5;2,6;3,7
//! all_gather channel=4 per=4 dim=0 types=f32 groups=0,1,2,3,4,5,6,7
//! reduce_scatter channel=5 per=4 by=add dim=1 types=f32 groups=0,4;1,5;2,6;3,7
//! all_to_all channel=6 per=4 split=0 concat=1 types=f32 groups=0,4;1,5;2,6;3,7
//! collective_permute channel=7 per=4 types=f32 groups=0,4;4,0
//! ```
//!
//! `per` is the number of devices of each process. Groups list devices of all processes; for a permute, they are source-target pairs. The
//! last operand of the call is the index of the calling device.

use std::collections::{BTreeMap, BTreeSet};

use shardc_ir::{DType, ReductionKind};

/// The name of the string attribute of the custom call.
pub(crate) const ATTRIBUTE: &str = "collective";

/// The maximum total number of devices in a list of groups.
const MAX_DEVICES: usize = 1 << 20;

/// The kind of a collective, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Every device of a group gets the reduction of all operands.
    AllReduce { by: ReductionKind },
    /// Every device of a group gets the concatenation of all operands along `dim`.
    AllGather { dim: usize },
    /// Each device of a group gets its block along `dim` of the reduction of all operands.
    ReduceScatter { by: ReductionKind, dim: usize },
    /// Each operand in a group is divided into blocks along `split`. Each device gets its block of every operand, concatenated along
    /// `concat`.
    AllToAll { split: usize, concat: usize },
    /// The target of each source-target pair gets the operand of the source; other devices get zeros.
    Permute,
}

/// The description of a cross-process collective.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spec {
    pub(super) action: Action,
    /// The channel ID of the collective in the program.
    pub(super) channel: u64,
    /// The number of devices of each process.
    pub(super) per: usize,
    /// The element type of each operand.
    pub(super) types: Vec<DType>,
    pub(super) groups: Vec<Vec<usize>>,
}

impl Spec {
    /// Parses the text of a description. The error is a message.
    pub(super) fn parse(text: &str) -> Result<Spec, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let fields: BTreeMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
        let field = |name: &str| fields.get(name).copied().ok_or_else(|| format!("`{text}` has no {name}"));
        let number = |name: &str| {
            field(name)?.parse::<usize>().map_err(|_| format!("`{text}`: {name} is not a number"))
        };
        let by = || reduction(field("by")?).ok_or_else(|| format!("`{text}`: an unknown reduction"));
        let action = match name {
            "all_reduce" => Action::AllReduce { by: by()? },
            "all_gather" => Action::AllGather { dim: number("dim")? },
            "reduce_scatter" => Action::ReduceScatter { by: by()?, dim: number("dim")? },
            "all_to_all" => Action::AllToAll { split: number("split")?, concat: number("concat")? },
            "collective_permute" => Action::Permute,
            _ => return Err(format!("`{text}` is not a collective")),
        };
        let types = field("types")?.split(',').map(dtype).collect::<Option<Vec<DType>>>();
        let groups: Result<Vec<Vec<usize>>, _> = field("groups")?
            .split(';')
            .filter(|group| !group.is_empty())
            .map(|group| group.split(',').map(str::parse).collect())
            .collect();
        let spec = Spec {
            action,
            channel: number("channel")? as u64,
            per: number("per")?,
            types: types.ok_or_else(|| format!("`{text}`: an unknown element type"))?,
            groups: groups.map_err(|_| format!("`{text}`: a device is not a number"))?,
        };
        spec.check().map_err(|why| format!("`{text}`: {why}"))?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.per == 0 {
            return Err("a process has no devices");
        }
        if self.groups.iter().flatten().any(|&device| device >= MAX_DEVICES) {
            return Err("a device number is too large");
        }
        if self.groups.iter().any(Vec::is_empty) {
            return Err("a group is empty");
        }
        if self.action == Action::Permute {
            if self.groups.iter().any(|pair| pair.len() != 2) {
                return Err("a pair does not have two devices");
            }
            let targets: BTreeSet<usize> = self.groups.iter().map(|pair| pair[1]).collect();
            if targets.len() != self.groups.len() {
                return Err("two devices send to the same device");
            }
            return Ok(());
        }
        let all: BTreeSet<usize> = self.groups.iter().flatten().copied().collect();
        if all.len() != self.groups.iter().map(Vec::len).sum::<usize>() {
            return Err("a device is in two groups");
        }
        Ok(())
    }

    /// Returns the index of the process to which a device belongs.
    pub(super) fn process_of(&self, device: usize) -> usize {
        device / self.per
    }

    /// Returns the index of the group of a device; `None` if it is in no group. A permute counts as one group of all devices of all
    /// processes.
    pub(super) fn group_of(&self, device: usize) -> Option<usize> {
        match self.action {
            Action::Permute => Some(0),
            _ => self.groups.iter().position(|group| group.contains(&device)),
        }
    }

    /// Returns the indices of the devices that a process has in a group, in the order of the group.
    pub(super) fn members(&self, group: usize, process: usize) -> Vec<usize> {
        match self.action {
            Action::Permute => (process * self.per..(process + 1) * self.per).collect(),
            _ => self.groups.get(group).map_or_else(Vec::new, |group| {
                group.iter().copied().filter(|&device| self.process_of(device) == process).collect()
            }),
        }
    }

    /// Returns the indices of the other processes to which a process sends data when a group executes the collective.
    pub(super) fn targets(&self, group: usize, process: usize) -> BTreeSet<usize> {
        self.partners(group, process, |pair| (pair[0], pair[1]))
    }

    /// Returns the indices of the other processes from which a process receives data when a group executes the collective.
    pub(super) fn sources(&self, group: usize, process: usize) -> BTreeSet<usize> {
        self.partners(group, process, |pair| (pair[1], pair[0]))
    }

    fn partners(
        &self,
        group: usize,
        process: usize,
        ends: impl Fn(&[usize]) -> (usize, usize),
    ) -> BTreeSet<usize> {
        let mut partners: BTreeSet<usize> = match self.action {
            Action::Permute => self
                .groups
                .iter()
                .map(|pair| ends(pair))
                .filter(|&(here, _)| self.process_of(here) == process)
                .map(|(_, there)| self.process_of(there))
                .collect(),
            _ => {
                self.groups.get(group).into_iter().flatten().map(|&device| self.process_of(device)).collect()
            }
        };
        partners.remove(&process);
        partners
    }
}

fn reduction(name: &str) -> Option<ReductionKind> {
    use ReductionKind as K;
    [K::Add, K::Mul, K::Max, K::Min, K::And, K::Or, K::Xor].into_iter().find(|kind| word(*kind) == name)
}

/// Returns the name of a reduction in the text of a description.
fn word(kind: ReductionKind) -> &'static str {
    match kind {
        ReductionKind::Add => "add",
        ReductionKind::Mul => "mul",
        ReductionKind::Max => "max",
        ReductionKind::Min => "min",
        ReductionKind::And => "and",
        ReductionKind::Or => "or",
        ReductionKind::Xor => "xor",
    }
}

fn dtype(name: &str) -> Option<DType> {
    DType::parse(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        let spec =
            Spec::parse("reduce_scatter channel=5 per=2 by=max dim=1 types=f32,bf16 groups=0,2;1,3").unwrap();
        assert_eq!(spec.action, Action::ReduceScatter { by: ReductionKind::Max, dim: 1 });
        assert_eq!(spec.types, [DType::F32, DType::BF16]);
        assert_eq!((spec.group_of(3), spec.group_of(7)), (Some(1), None));
        assert_eq!(spec.members(1, 0), [1]);
        assert_eq!(spec.targets(1, 0), BTreeSet::from([1]));
    }

    #[test]
    fn permute_sources_and_targets() {
        let spec = Spec::parse("collective_permute channel=1 per=2 types=f32 groups=0,2;1,0;3,4").unwrap();
        assert_eq!(spec.targets(0, 0), BTreeSet::from([1]));
        assert!(spec.sources(0, 0).is_empty());
        assert_eq!(spec.sources(0, 2), BTreeSet::from([1]));
        assert_eq!(spec.members(0, 1), [2, 3]);
    }

    #[test]
    fn invalid_specs_are_rejected() {
        for text in [
            "",
            "sum channel=1 per=1 types=f32 groups=0",
            "all_gather channel=1 per=1 types=f32 groups=0",
            "all_gather channel=1 per=0 dim=0 types=f32 groups=0",
            "all_gather channel=1 per=1 dim=0 types=f33 groups=0",
            "all_gather channel=1 per=1 dim=0 types=f32 groups=0,1;1",
            "all_reduce channel=1 per=1 by=average types=f32 groups=0,1",
            "collective_permute channel=1 per=1 types=f32 groups=0,1,2",
            "collective_permute channel=1 per=1 types=f32 groups=0,1;2,1",
            "all_gather channel=1 per=1 dim=0 types=f32 groups=0,99999999",
        ] {
            assert!(Spec::parse(text).is_err(), "{text}");
        }
    }
}
