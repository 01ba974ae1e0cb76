//! Finds cycles in a graph of rooms (the top-level modules of a crate).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maps each edge, a pair of a room and a room that it uses, to an example of such a use.
pub(crate) type Edges<'a, T> = BTreeMap<(&'a str, &'a str), T>;

/// Strongly connected components of more than one room, sorted.
pub(crate) fn components<'a, T>(edges: &Edges<'a, T>) -> Vec<Vec<&'a str>> {
    let rooms: BTreeSet<&str> = edges.keys().flat_map(|&(from, to)| [from, to]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        rooms.iter().map(|&room| (room, ways(edges, room).into_keys().collect())).collect();
    let mut found: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (room, reaches) in &reached {
        if reaches.contains(room) {
            found.insert(reaches.iter().copied().filter(|other| reached[other].contains(room)).collect());
        }
    }
    found.into_iter().collect()
}

/// The shortest cycle through the first room of a component.
pub(crate) fn circle<'a, T>(edges: &Edges<'a, T>, component: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let Some(&start) = component.first() else { return Vec::new() };
    let ways = ways(edges, start);
    let mut circle = Vec::new();
    let mut at = start;
    while let Some(&from) = ways.get(at) {
        circle.push((from, at));
        at = from;
        if at == start {
            break;
        }
    }
    circle.reverse();
    circle
}

/// The rooms that `start` reaches by at least one edge, each with its predecessor on a shortest path.
fn ways<'a, T>(edges: &Edges<'a, T>, start: &'a str) -> BTreeMap<&'a str, &'a str> {
    let mut ways = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(from) = queue.pop_front() {
        for &(_, to) in edges.keys().filter(|(f, _)| *f == from) {
            if !ways.contains_key(to) {
                ways.insert(to, from);
                queue.push_back(to);
            }
        }
    }
    ways
}
