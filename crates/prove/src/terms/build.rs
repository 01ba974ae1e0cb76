//! Builds nodes in canonical form.
//!
//! 1. The digits of all arguments are split at common boundaries. Each part is a variable.
//! 2. Variables that are adjacent in every index in which they occur become one variable. A dimension that a partitioned program splits
//!    between the device and a local dimension is therefore one variable again.
//! 3. Arguments of commutative operations are sorted, and variables are numbered in the order in which arguments use them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{
    Arg, CORE, Digit, Digits, FRESH, Kind, MINOR, Node, Op, TermId, Terms, Var, VarRole, Vars, View, chain,
    push,
};

/// The role of a slot while a node is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Batch,
    Reduced,
    Core(u32),
    Minor,
}

/// The most orders of equal arguments that are compared.
const MOST_ORDERS: usize = 24;

/// A variable: digits that are adjacent in all indices, from major to minor.
struct Group {
    digits: Digits,
    role: Role,
}

type Index = SmallVec<[SmallVec<[usize; 3]>; 3]>;

fn role_of(slot: u32, reduced: &[u32]) -> Role {
    if reduced.contains(&slot) {
        Role::Reduced
    } else if (CORE..FRESH).contains(&slot) {
        Role::Core(slot - CORE)
    } else if slot == MINOR {
        Role::Minor
    } else {
        Role::Batch
    }
}

/// Splits the digits of all views at common boundaries. Returns the parts, and the index of each view as positions in the list of parts.
fn split(args: &[View]) -> Option<(Vec<Digit>, Vec<Index>)> {
    let mut bounds: Vec<(u32, Vec<u64>)> = Vec::new();
    for digit in args.iter().flat_map(View::digits) {
        let ends = [digit.stride, digit.end()];
        match bounds.iter_mut().find(|(slot, _)| *slot == digit.slot) {
            Some((_, list)) => list.extend(ends),
            None => bounds.push((digit.slot, ends.to_vec())),
        }
    }
    let mut chains: FxHashMap<u32, Vec<u64>> = FxHashMap::default();
    for (slot, list) in bounds {
        chains.insert(slot, chain(list)?);
    }
    let mut parts: Vec<Digit> = Vec::new();
    let mut numbers: FxHashMap<Digit, usize> = FxHashMap::default();
    let mut indices = Vec::with_capacity(args.len());
    for view in args {
        let mut index = Index::new();
        for number in &view.index {
            let mut list = SmallVec::new();
            for digit in number {
                let chain = chains.get(&digit.slot)?;
                for pair in chain.windows(2).rev() {
                    let &[low, high] = pair else { continue };
                    if low >= digit.stride && high <= digit.end() {
                        let part = digit.part(low, high);
                        let at = *numbers.entry(part).or_insert_with(|| {
                            parts.push(part);
                            parts.len() - 1
                        });
                        list.push(at);
                    }
                }
            }
            index.push(list);
        }
        indices.push(index);
    }
    Some((parts, indices))
}

/// The part that follows each part in every index, if it is always the same.
fn followers(parts: &[Digit], indices: &[Index], reduced: &[u32]) -> Vec<Option<usize>> {
    const NONE: usize = usize::MAX;
    let mut next: Vec<Option<usize>> = vec![None; parts.len()];
    let mut previous: Vec<Option<usize>> = vec![None; parts.len()];
    let note = |table: &mut [Option<usize>], at: usize, neighbor: usize| {
        let entry = &mut table[at];
        *entry = match *entry {
            None => Some(neighbor),
            Some(known) if known == neighbor => Some(known),
            Some(_) => Some(NONE),
        };
    };
    for list in indices.iter().flatten() {
        for (i, &part) in list.iter().enumerate() {
            note(&mut next, part, list.get(i + 1).copied().unwrap_or(NONE));
            note(&mut previous, part, if i == 0 { NONE } else { list[i - 1] });
        }
    }
    let joins = |a: usize, b: usize| {
        match (role_of(parts[a].slot, reduced), role_of(parts[b].slot, reduced)) {
            (Role::Core(left), Role::Core(right)) => left == right && parts[a].joins(parts[b]),
            (Role::Minor, Role::Minor) => parts[a].joins(parts[b]),
            // A unit may be split between devices.
            (Role::Batch, Role::Minor) => true,
            (left, right) => left == right,
        }
    };
    let follower = |a: usize| {
        let b = next[a].filter(|&b| b != NONE && b != a)?;
        (previous[b] == Some(a) && joins(a, b)).then_some(b)
    };
    (0..parts.len()).map(follower).collect()
}

/// Merges adjacent parts to variables. Returns the variables, and the index of each view as positions in the list of variables.
fn merge(parts: &[Digit], indices: &[Index], reduced: &[u32]) -> (Vec<Group>, Vec<Index>) {
    let next = followers(parts, indices, reduced);
    let mut is_first = vec![true; parts.len()];
    next.iter().flatten().for_each(|&part| is_first[part] = false);
    let mut group_of: Vec<Option<usize>> = vec![None; parts.len()];
    let mut groups: Vec<Group> = Vec::new();
    for first in (0..parts.len()).filter(|&part| is_first[part]) {
        group_of[first] = Some(groups.len());
        let mut digits = Digits::new();
        let mut at = Some(first);
        while let Some(part) = at {
            push(&mut digits, parts[part]);
            at = next[part];
        }
        let is_minor = digits.iter().any(|digit| digit.slot == MINOR);
        let role = if is_minor { Role::Minor } else { role_of(parts[first].slot, reduced) };
        groups.push(Group { digits, role });
    }
    // Later parts of a variable are dropped from the indices; they always follow the first one.
    let merged = indices.iter().map(|index| {
        index.iter().map(|list| list.iter().filter_map(|&part| group_of[part]).collect()).collect()
    });
    let merged = merged.collect();
    (groups, merged)
}

/// Every order of the arguments that differs only in the order of arguments with equal terms; at most [`MOST_ORDERS`].
fn orders(args: &[View]) -> Vec<Vec<usize>> {
    let mut sorted: Vec<usize> = (0..args.len()).collect();
    sorted.sort_by_key(|&at| args[at].term);
    let mut orders = vec![Vec::new()];
    let mut rest = sorted.as_slice();
    while let Some(&first) = rest.first() {
        let equal = rest.iter().take_while(|&&at| args[at].term == args[first].term).count();
        let (tied, behind) = rest.split_at(equal);
        rest = behind;
        let all = permutations(tied);
        if all.len() * orders.len() > MOST_ORDERS {
            orders.iter_mut().for_each(|order| order.extend(tied));
        } else {
            orders =
                orders.iter().flat_map(|order| all.iter().map(|tail| [&order[..], tail].concat())).collect();
        }
    }
    orders
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.len() > 4 {
        return vec![items.to_vec()];
    }
    let mut all = vec![Vec::new()];
    for (count, &item) in items.iter().enumerate() {
        all = all
            .iter()
            .flat_map(|list: &Vec<usize>| {
                (0..=count).map(move |at| {
                    let mut list = list.clone();
                    list.insert(at, item);
                    list
                })
            })
            .collect();
    }
    all
}

/// The arguments in an order, and the variables in the order in which these use them.
fn numbered(
    args: &[View],
    indices: &[Index],
    order: &[usize],
    count: usize,
) -> (SmallVec<[Arg; 2]>, Vec<usize>) {
    let mut number: Vec<Option<u16>> = vec![None; count];
    let mut used = Vec::new();
    let mut list = SmallVec::new();
    for &at in order {
        let mut index = SmallVec::new();
        for vars in &indices[at] {
            let vars: Vars = vars
                .iter()
                .map(|&var| {
                    *number[var].get_or_insert_with(|| {
                        used.push(var);
                        (used.len() - 1) as u16
                    })
                })
                .collect();
            index.push(vars);
        }
        list.push(Arg { term: args[at].term, index });
    }
    (list, used)
}

/// In a slice whose units have one position: a dimension that always follows the position is the position in a unit.
fn add_unit(groups: &mut [Group], indices: &[Index]) {
    if groups.iter().any(|group| group.role == Role::Minor) {
        return;
    }
    let is_core = |at: usize| {
        matches!(groups[at].role, Role::Core(_)) && groups[at].digits.iter().any(|digit| digit.stride == 1)
    };
    let lists = || indices.iter().flatten();
    let follower = lists().find_map(|list| {
        let at = list.iter().position(|&group| is_core(group))?;
        list.get(at + 1).copied()
    });
    let Some(unit) = follower.filter(|&unit| groups[unit].role == Role::Batch) else { return };
    let cores = lists().flatten().filter(|&&group| is_core(group)).count();
    if cores == 1 && lists().flatten().filter(|&&group| group == unit).count() == 1 {
        groups[unit].role = Role::Minor;
    }
}

/// The numbers of the groups that are digits of the position in a unit, from major to minor.
fn units(groups: &[Group], used: &[usize]) -> Vec<usize> {
    let stride = |at: usize| {
        groups[at].digits.iter().filter(|digit| digit.slot == MINOR).map(|digit| digit.stride).max()
    };
    let mut list: Vec<usize> = used.iter().copied().filter(|&at| groups[at].role == Role::Minor).collect();
    list.sort_by_key(|&at| std::cmp::Reverse(stride(at)));
    list
}

impl Terms {
    /// Builds a node and returns it as a function of the slots of its arguments. `extra` are the dimensions that the operation adds, with
    /// their index in the result. `None` if digits of arguments cannot be split at common boundaries.
    pub(crate) fn build(
        &mut self,
        op: Op,
        kind: Kind,
        args: &[View],
        reduced: &[u32],
        extra: &[Digits],
    ) -> Option<View> {
        self.build_units(op, kind, args, reduced, extra, MINOR)
    }

    /// Builds a node whose first added dimension has units: the position in a unit is the slot [`MINOR`] of the arguments, and consists of
    /// the minor digits of `slot` in the result.
    pub(crate) fn build_units(
        &mut self,
        op: Op,
        kind: Kind,
        args: &[View],
        reduced: &[u32],
        extra: &[Digits],
        slot: u32,
    ) -> Option<View> {
        let (parts, indices) = split(args)?;
        let (mut groups, indices) = merge(&parts, &indices, reduced);
        if matches!(op, Op::Slice(_)) {
            add_unit(&mut groups, &indices);
        }
        let is_commutative = matches!(op, Op::Join(_));
        let orders = if is_commutative { orders(args) } else { vec![(0..args.len()).collect()] };
        let all = orders.iter().map(|order| numbered(args, &indices, order, groups.len()));
        let (args, used) = all.min_by(|a, b| a.0.cmp(&b.0))?;
        let minor = units(&groups, &used);
        let mut index: SmallVec<[Digits; 3]> = SmallVec::new();
        let (mut vars, mut dims) = (SmallVec::new(), SmallVec::new());
        for &at in &used {
            let group = &groups[at];
            let size = super::count(&group.digits);
            let role = match group.role {
                Role::Batch => VarRole::Batch,
                Role::Reduced => VarRole::Reduced,
                Role::Core(slot) => VarRole::Core { slot, stride: group.digits.last()?.stride },
                Role::Minor => {
                    let later = minor.iter().skip_while(|&&other| other != at).skip(1);
                    VarRole::Minor { stride: later.map(|&at| super::count(&groups[at].digits)).product() }
                }
            };
            if role == VarRole::Batch {
                dims.push(size);
                index.push(group.digits.clone());
            }
            vars.push(Var { size, role });
        }
        let mut extra: SmallVec<[Digits; 3]> = extra.iter().cloned().collect();
        if let Some(number) = extra.first_mut() {
            for &digit in minor.iter().flat_map(|&at| &groups[at].digits) {
                push(number, Digit { slot: if digit.slot == MINOR { slot } else { digit.slot }, ..digit });
            }
        }
        for number in extra.into_iter().filter(|number| !number.is_empty()) {
            dims.push(super::count(&number));
            index.push(number);
        }
        let term: TermId = self.intern(Node { op, kind, args, vars, dims });
        Some(View { term, index })
    }
}
