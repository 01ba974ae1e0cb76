//! Replica groups of collectives, and source-target pairs of permutes.
//!
//! Groups along mesh axes are represented by a few strides, independently of the number of devices. A device id is a mixed-radix number:
//! some digits select the group, the others the member. HLO's iota device list `[groups,size]<=[dims]T(permutation)` is similar. Only
//! groups that do not have this form are lists.

mod digits;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

pub use self::digits::Digit;
use self::digits::{DigitValues, Digits};

/// Replica groups, each an ordered list of device ids, or source-target pairs of a permute; cheap to clone.
///
/// Groups are equal, with equal hashes, if they list the same ids in the same order, independently of how they were created: groups that
/// have a strided form are always stored in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ReplicaGroups(Form);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Strided(StridedGroups),
    Listed(Arc<Listed>),
}

/// Groups of equal size that contain every device of `0..n` once. The id of member `m` of group `g` is a sum: the `g`-th number that the
/// digits `groups` represent, plus the `m`-th number that the digits `members` represent. All these digits together are the digits of
/// `0..n`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StridedGroups {
    /// The digits that represent the first device of each group.
    groups: Digits,
    /// The digits that represent the offset of each member from the first device of its group.
    members: Digits,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Listed {
    ids: Vec<i64>,
    rows: Rows,
}

/// How `Listed::ids` is divided into groups: `count` groups of `width` ids each, or the index of the end of each group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Rows {
    Even { count: usize, width: usize },
    Ragged { ends: Vec<usize> },
}

impl Default for Rows {
    fn default() -> Self {
        Rows::Even { count: 0, width: 0 }
    }
}

impl StridedGroups {
    /// Creates groups of the devices `0..n`. The digits `groups` of a device id select its group, and the digits `members` its index in the
    /// group. Both lists of digits are from major to minor. `None` if the digits in both lists together are not the digits of `0..n`.
    fn new(
        groups: impl IntoIterator<Item = Digit>,
        members: impl IntoIterator<Item = Digit>,
    ) -> Option<StridedGroups> {
        let strided = StridedGroups { groups: Digits::new(groups)?, members: Digits::new(members)? };
        let mut all: SmallVec<[Digit; 6]> =
            strided.groups.0.iter().chain(&strided.members.0).copied().collect();
        all.sort_unstable();
        let mut devices = 1;
        for digit in all {
            if digit.stride != devices || digit.size < 2 {
                return None;
            }
            devices = devices.checked_mul(digit.size)?;
        }
        Some(strided)
    }

    /// The digits of a device id that differ between the members of a group, from major to minor.
    #[must_use]
    pub fn members(&self) -> &[Digit] {
        &self.members.0
    }

    /// The mixed-radix digits of a device id that select its group, from major to minor.
    #[must_use]
    pub fn groups(&self) -> &[Digit] {
        &self.groups.0
    }

    /// The number of devices in all groups together.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.groups.count() * self.members.count()
    }
}

impl Listed {
    fn row(&self, index: usize) -> &[i64] {
        let (start, end) = match &self.rows {
            Rows::Even { width, .. } => (index * width, (index + 1) * width),
            Rows::Ragged { ends } => (if index == 0 { 0 } else { ends[index - 1] }, ends[index]),
        };
        &self.ids[start..end]
    }

    fn count(&self) -> usize {
        match &self.rows {
            Rows::Even { count, .. } => *count,
            Rows::Ragged { ends } => ends.len(),
        }
    }

    /// Returns the strided form of these groups; `None` if they have no such form.
    fn strided(&self) -> Option<StridedGroups> {
        let Rows::Even { count, width } = self.rows else { return None };
        if self.ids.first() != Some(&0) {
            return None;
        }
        let groups = Digits::read(self.ids.iter().copied().step_by(width))?;
        let members = Digits::read(self.row(0).iter().copied())?;
        let strided = StridedGroups::new(groups.0, members.0)?;
        let mut rows = strided.groups.values().zip(0..count);
        let is_same = |first: i64, row: &[i64]| {
            strided.members.values().zip(row).all(|(distance, &id)| first + distance == id)
        };
        rows.all(|(first, row)| is_same(first, self.row(row))).then_some(strided)
    }
}

impl Default for ReplicaGroups {
    fn default() -> Self {
        ReplicaGroups(Form::Listed(Arc::default()))
    }
}

impl ReplicaGroups {
    fn listed(listed: Listed) -> ReplicaGroups {
        ReplicaGroups(match listed.strided() {
            Some(strided) => Form::Strided(strided),
            None => Form::Listed(Arc::new(listed)),
        })
    }

    /// Groups of `width` devices each, listed by `ids` one after the other; an incomplete last group is dropped.
    #[must_use]
    pub fn matrix(mut ids: Vec<i64>, width: usize) -> ReplicaGroups {
        let count = ids.len().checked_div(width).unwrap_or(0);
        ids.truncate(count * width);
        let width = if count == 0 { 0 } else { width };
        Self::listed(Listed { ids, rows: Rows::Even { count, width } })
    }

    /// The source-target pairs of a permute.
    #[must_use]
    pub fn pairs(pairs: impl IntoIterator<Item = (i64, i64)>) -> ReplicaGroups {
        Self::matrix(pairs.into_iter().flat_map(|(source, target)| [source, target]).collect(), 2)
    }

    /// Creates groups of all devices `0..n`. The digits `groups` of a device id select its group, and the digits `members` its index in the
    /// group. Both lists of digits are from major to minor. `None` if the digits in both lists together are not the digits of `0..n`.
    #[must_use]
    pub fn strided(
        groups: impl IntoIterator<Item = Digit>,
        members: impl IntoIterator<Item = Digit>,
    ) -> Option<ReplicaGroups> {
        Some(ReplicaGroups(Form::Strided(StridedGroups::new(groups, members)?)))
    }

    /// One group of the devices `0..devices`.
    #[must_use]
    pub fn all(devices: usize) -> ReplicaGroups {
        let digit = u32::try_from(devices).ok().map(|size| Digit { stride: 1, size });
        match digit.and_then(|digit| Self::strided([], [digit])) {
            Some(groups) => groups,
            None => Self::matrix((0..devices as i64).collect(), devices),
        }
    }

    /// Returns the strided form of the groups; `None` if they have no such form. In the strided form, every device of `0..n` is in exactly
    /// one group.
    #[must_use]
    pub fn as_strided(&self) -> Option<&StridedGroups> {
        match &self.0 {
            Form::Strided(strided) => Some(strided),
            Form::Listed(_) => None,
        }
    }

    /// The number of groups or pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Strided(strided) => strided.groups.count(),
            Form::Listed(listed) => listed.count(),
        }
    }

    /// Whether there is no group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of ids in all groups together.
    #[must_use]
    pub fn num_ids(&self) -> usize {
        match &self.0 {
            Form::Strided(strided) => strided.num_devices(),
            Form::Listed(listed) => listed.ids.len(),
        }
    }

    /// Returns the size of each group; `None` if sizes differ or there is no group.
    #[must_use]
    pub fn group_size(&self) -> Option<usize> {
        match &self.0 {
            Form::Strided(strided) => Some(strided.members.count()),
            Form::Listed(listed) => match listed.rows {
                Rows::Even { count: 1.., width } => Some(width),
                _ => None,
            },
        }
    }

    /// The groups in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        GroupIter {
            groups: self,
            firsts: self.as_strided().map(|strided| strided.groups.values()),
            next: 0,
            len: self.len(),
        }
    }

    /// Returns the group at an index; `None` if the index is out of range.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Group<'_>> {
        (index < self.len()).then(|| match &self.0 {
            Form::Strided(strided) => Group(Members::Strided(strided.groups.at(index), &strided.members)),
            Form::Listed(listed) => Group(Members::Listed(listed.row(index))),
        })
    }

    /// The first group.
    #[must_use]
    pub fn first(&self) -> Option<Group<'_>> {
        self.get(0)
    }

    /// The ids of all groups, one group after the other.
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.iter().flatten()
    }

    /// Returns the index of the group that contains a device, and the index of the device in that group. The time is linear in the number
    /// of digits for strided groups, and in the number of ids for lists.
    #[must_use]
    pub fn place_of(&self, device: i64) -> Option<(usize, usize)> {
        match &self.0 {
            Form::Strided(strided) => (0..strided.num_devices() as i64)
                .contains(&device)
                .then(|| (strided.groups.index_of(device), strided.members.index_of(device))),
            Form::Listed(_) => self.iter().enumerate().find_map(|(index, group)| {
                let place = group.iter().position(|id| id == device)?;
                Some((index, place))
            }),
        }
    }

    /// Whether a device is in a group.
    #[must_use]
    pub fn contains(&self, device: i64) -> bool {
        match &self.0 {
            Form::Strided(strided) => (0..strided.num_devices() as i64).contains(&device),
            Form::Listed(listed) => listed.ids.contains(&device),
        }
    }

    /// The groups as lists of device ids.
    #[must_use]
    pub fn to_lists(&self) -> Vec<Vec<i64>> {
        self.iter().map(|group| group.iter().collect()).collect()
    }

    /// Converts the groups to lists, which `change` edits. Returns the result of `change`.
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut Vec<Vec<i64>>) -> R) -> R {
        let mut lists = self.to_lists();
        let result = change(&mut lists);
        *self = lists.into();
        result
    }

    /// Returns the groups with each id replaced by the result of the function `id`.
    #[must_use]
    pub fn map(&self, mut id: impl FnMut(i64) -> i64) -> ReplicaGroups {
        match &self.0 {
            Form::Strided(strided) => Self::matrix(self.ids().map(id).collect(), strided.members.count()),
            Form::Listed(listed) => {
                let ids = listed.ids.iter().map(|&old| id(old)).collect();
                Self::listed(Listed { ids, rows: listed.rows.clone() })
            }
        }
    }
}

impl From<Vec<Vec<i64>>> for ReplicaGroups {
    fn from(lists: Vec<Vec<i64>>) -> Self {
        lists.into_iter().collect()
    }
}

impl<L: AsRef<[i64]>> FromIterator<L> for ReplicaGroups {
    fn from_iter<I: IntoIterator<Item = L>>(lists: I) -> Self {
        let (mut ids, mut ends) = (Vec::new(), Vec::new());
        for list in lists {
            ids.extend_from_slice(list.as_ref());
            ends.push(ids.len());
        }
        let width = ends.first().copied().unwrap_or(0);
        let is_even = ends.iter().enumerate().all(|(row, &end)| end == (row + 1) * width);
        let rows = if is_even { Rows::Even { count: ends.len(), width } } else { Rows::Ragged { ends } };
        Self::listed(Listed { ids, rows })
    }
}

impl PartialEq<Vec<Vec<i64>>> for ReplicaGroups {
    fn eq(&self, lists: &Vec<Vec<i64>>) -> bool {
        self.len() == lists.len()
            && self.iter().zip(lists).all(|(group, list)| group.iter().eq(list.iter().copied()))
    }
}

impl fmt::Debug for ReplicaGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|group| group.iter().collect::<Vec<i64>>())).finish()
    }
}

struct GroupIter<'a> {
    groups: &'a ReplicaGroups,
    firsts: Option<DigitValues<'a>>,
    next: usize,
    len: usize,
}

impl<'a> Iterator for GroupIter<'a> {
    type Item = Group<'a>;

    fn next(&mut self) -> Option<Group<'a>> {
        let index = self.next;
        self.next += 1;
        match (&self.groups.0, &mut self.firsts) {
            (Form::Strided(strided), Some(firsts)) => {
                Some(Group(Members::Strided(firsts.next()?, &strided.members)))
            }
            _ => self.groups.get(index),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for GroupIter<'_> {}

/// One replica group (its device ids in order), or one source-target pair.
#[derive(Clone, Copy)]
pub struct Group<'a>(Members<'a>);

#[derive(Clone, Copy)]
enum Members<'a> {
    Strided(i64, &'a Digits),
    Listed(&'a [i64]),
}

impl<'a> Group<'a> {
    /// The number of ids, including the `-1` entries that pad a group.
    #[must_use]
    pub fn len(self) -> usize {
        match self.0 {
            Members::Strided(_, digits) => digits.count(),
            Members::Listed(ids) => ids.len(),
        }
    }

    /// Whether the group is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the id at an index; `None` if the index is out of range.
    #[must_use]
    pub fn get(self, place: usize) -> Option<i64> {
        match self.0 {
            Members::Strided(first, digits) => (place < digits.count()).then(|| first + digits.at(place)),
            Members::Listed(ids) => ids.get(place).copied(),
        }
    }

    /// The first id of the group.
    #[must_use]
    pub fn first(self) -> Option<i64> {
        self.get(0)
    }

    /// Returns source and target if the group is a source-target pair; `None` for other sizes.
    #[must_use]
    pub fn pair(self) -> Option<(i64, i64)> {
        (self.len() == 2).then_some((self.get(0)?, self.get(1)?))
    }

    /// The ids of the group, in order.
    pub fn iter(self) -> GroupIds<'a> {
        GroupIds(match self.0 {
            Members::Strided(first, digits) => IdsOf::Strided(first, digits.values()),
            Members::Listed(ids) => IdsOf::Listed(ids.iter()),
        })
    }
}

impl<'a> IntoIterator for Group<'a> {
    type Item = i64;
    type IntoIter = GroupIds<'a>;

    fn into_iter(self) -> GroupIds<'a> {
        self.iter()
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An iterator over the ids of a [`Group`].
#[derive(Clone)]
pub struct GroupIds<'a>(IdsOf<'a>);

#[derive(Clone)]
enum IdsOf<'a> {
    Strided(i64, DigitValues<'a>),
    Listed(std::slice::Iter<'a, i64>),
}

impl Iterator for GroupIds<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        match &mut self.0 {
            IdsOf::Strided(first, distances) => Some(*first + distances.next()?),
            IdsOf::Listed(ids) => ids.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            IdsOf::Strided(_, distances) => distances.size_hint(),
            IdsOf::Listed(ids) => ids.size_hint(),
        }
    }
}

impl ExactSizeIterator for GroupIds<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(lists: &[&[i64]]) -> bool {
        let groups: ReplicaGroups = lists.iter().collect();
        assert_eq!(groups.to_lists(), lists.iter().map(|list| list.to_vec()).collect::<Vec<_>>());
        groups.as_strided().is_some()
    }

    #[test]
    fn strided_groups_are_recognized() {
        assert!(strided(&[&[0]]));
        assert!(strided(&[&[0, 1, 2, 3]]));
        assert!(strided(&[&[0, 4, 1, 5, 2, 6, 3, 7]]));
        assert!(strided(&[&[0, 2], &[1, 3]]));
        assert!(strided(&[&[0, 2], &[4, 6], &[1, 3], &[5, 7]]));
        assert!(strided(&[&[0, 3], &[1, 4], &[2, 5]]));
        assert!(!strided(&[&[0, 3], &[2, 4], &[1, 5]]));
        assert!(!strided(&[&[1, 0]]));
        assert!(!strided(&[&[0, 0]]));
        assert!(!strided(&[&[0, 2]]));
        assert!(!strided(&[&[0, 1], &[3, 2]]));
        assert!(!strided(&[&[0, 1], &[2, -1]]));
        assert!(!strided(&[&[0, 1], &[2]]));
        assert!(!strided(&[]));
        assert!(!strided(&[&[]]));
        assert!(!strided(&[&[0, 1, 0, 1], &[2, 3, 2, 3]]));
        assert!(!strided(&[&[0, i64::MAX, -2, i64::MIN]]));
    }

    #[test]
    fn groups_are_equal_by_meaning() {
        let digit = |stride, size| Digit { stride, size };
        let made = ReplicaGroups::strided([digit(6, 2), digit(1, 1)], [digit(3, 2), digit(1, 3)]);
        assert_eq!(made, Some(vec![(0..6).collect::<Vec<i64>>(), (6..12).collect()].into()));
        assert_eq!(ReplicaGroups::all(3), ReplicaGroups::from(vec![vec![0, 1, 2]]));
        assert_eq!(ReplicaGroups::all(0), ReplicaGroups::default());
        assert_eq!(ReplicaGroups::strided([digit(2, 2)], [digit(4, 2)]), None);
    }

    /// Compares strided groups to the same groups as lists of ids, for every way to divide the digits into groups and members.
    #[test]
    fn strides_and_lists_say_the_same() {
        for sizes in [[2_u32, 2, 2], [2, 3, 4], [5, 2, 1], [1, 1, 6]] {
            let minor = |at: usize| sizes[at + 1..].iter().product::<u32>();
            let digits: Vec<Digit> =
                sizes.iter().enumerate().map(|(at, &size)| Digit { stride: minor(at), size }).collect();
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                for cut in 0..=3 {
                    let order: Vec<Digit> = order.iter().map(|&at| digits[at]).collect();
                    let groups = ReplicaGroups::strided(order[..cut].to_vec(), order[cut..].to_vec());
                    let groups = groups.expect("the digits of a mixed radix");
                    let lists = groups.to_lists();
                    assert_eq!(groups, ReplicaGroups::from(lists.clone()), "{lists:?}");
                    assert!(groups.ids().eq(lists.iter().flatten().copied()));
                    assert_eq!(groups.num_ids(), lists.concat().len());
                    for (index, list) in lists.iter().enumerate() {
                        for (place, &id) in list.iter().enumerate() {
                            assert_eq!(groups.place_of(id), Some((index, place)));
                            assert_eq!(groups.get(index).and_then(|group| group.get(place)), Some(id));
                        }
                    }
                    assert!(!groups.contains(groups.num_ids() as i64));
                }
            }
        }
    }
}
