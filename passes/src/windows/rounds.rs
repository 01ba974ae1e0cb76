//! The rounds of an exchange: which edges travel together in one collective-permute.
//!
//! Putting edges into rounds is an edge colouring of the bipartite graph of senders and receivers. By König's theorem its
//! degree would do as the number of colours, but a round costs as much as its widest edge, so few rounds are not the aim.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::exchange::{Held, Span, Window, piece};
use crate::cost;

/// More rounds than these are worse than gathering the whole dimension.
pub(super) const MAX_ROUNDS: u32 = 16;

/// What one device needs of another's block, or of its own.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) sender: usize,
    pub(super) receiver: usize,
    /// The index of the view.
    pub(super) view: usize,
    pub(super) span: Span,
}

/// Returns what each device needs of which block of a view, by receiver and then sender; `None` if one needs more blocks than
/// there are rounds, since it receives one slab in each. Takes `O(k log k)` steps for `k` devices.
pub(super) fn edges(view: usize, held: &Held, window: &Window) -> Option<Vec<Edge>> {
    let mut all = Vec::new();
    let met = |span: &Span, need: &Span| span.start.max(need.start)..span.end.min(need.end);
    for (receiver, need) in window.needs.iter().enumerate().filter(|(_, need)| !need.is_empty()) {
        if held.is_whole {
            let span = held.spans.get(receiver).map_or(0..0, |span| met(span, need));
            if !span.is_empty() {
                all.push(Edge { sender: receiver, receiver, view, span });
            }
            continue;
        }
        // The ends of spans never decrease, though spans may be empty where there are fewer elements than devices.
        let first = held.spans.partition_point(|s| s.end <= need.start);
        let before = all.len();
        for (sender, span) in held.spans.iter().enumerate().skip(first) {
            if span.start >= need.end || all.len() > before + MAX_ROUNDS as usize {
                break;
            }
            let span = met(span, need);
            if !span.is_empty() {
                all.push(Edge { sender, receiver, view, span });
            }
        }
        if all.len() > before + MAX_ROUNDS as usize {
            return None;
        }
    }
    Some(all)
}

/// Edges in which no device sends or receives twice.
type Round = Vec<Edge>;

/// Puts the edges of all views into rounds: those of each view for itself, or those of all together where that costs less.
/// `None` where there would be too many.
pub(super) fn rounds(
    views: &[Held],
    edges: &[Vec<Edge>],
    window: &Window,
    row_bytes: f64,
) -> Option<Vec<Round>> {
    let devices = window.origins.len();
    let cost_of_round =
        |round: &Round| cost::permute(piece(views, round, window, Vec::new()).width as f64 * row_bytes);
    let cost = |rounds: &[Round]| rounds.iter().map(cost_of_round).sum::<f64>();
    let seen: Vec<&Vec<Edge>> = edges.iter().filter(|edges| !edges.is_empty()).collect();
    let of_each = seen.iter().map(|edges| cheapest(ways(edges, devices, false), cost));
    let apart = of_each.collect::<Option<Vec<_>>>().map(|rounds| rounds.into_iter().flatten().collect());
    if seen.len() < 2 {
        return apart;
    }
    let all: Vec<Edge> = seen.into_iter().flatten().cloned().collect();
    cheapest(apart.into_iter().chain(ways(&all, devices, true)), cost)
}

/// Returns the way of least cost, the first of equals.
fn cheapest(
    ways: impl IntoIterator<Item = Vec<Round>>,
    cost: impl Fn(&[Round]) -> f64,
) -> Option<Vec<Round>> {
    ways.into_iter().map(|way| (cost(&way), way)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, way)| way)
}

/// Returns ways to put edges into rounds: one round per distance, whose slabs lie at one place where windows move as blocks
/// do, counted around the border where views may wrap; and first fit in two orders.
fn ways(edges: &[Edge], devices: usize, may_wrap: bool) -> impl Iterator<Item = Vec<Round>> {
    let mut longest_first = edges.to_vec();
    // Wide edges together, so that rounds of narrow ones stay narrow.
    longest_first.sort_by_key(|e| std::cmp::Reverse(e.span.end - e.span.start));
    let distance = |e: &Edge| {
        let distance = e.sender as i64 - e.receiver as i64;
        if may_wrap { distance.rem_euclid(devices as i64) } else { distance }
    };
    let ways = [by_distance(edges, distance), first_fit(edges, devices), first_fit(&longest_first, devices)];
    ways.into_iter().flatten()
}

/// Puts the edges of each distance into one round. Of one view a distance is a bijection of senders and receivers; where
/// several views have edges of one sender and receiver, each of these takes a round of its own.
fn by_distance(edges: &[Edge], distance: impl Fn(&Edge) -> i64) -> Option<Vec<Round>> {
    let mut rounds = BTreeMap::<(i64, usize), Round>::new();
    let mut met = FxHashMap::<(usize, usize), usize>::default();
    for e in edges {
        let times = met.entry((e.sender, e.receiver)).or_default();
        rounds.entry((distance(e), *times)).or_default().push(e.clone());
        *times += 1;
    }
    (rounds.len() <= MAX_ROUNDS as usize).then(|| rounds.into_values().collect())
}

/// Puts each edge into the first round in which its sender and its receiver are free. Takes at most `2d - 1` rounds for
/// devices that send and receive at most `d` edges.
fn first_fit(edges: &[Edge], devices: usize) -> Option<Vec<Round>> {
    let (mut sends, mut receives) = (vec![0u64; devices], vec![0u64; devices]);
    let mut rounds: Vec<Round> = Vec::new();
    for e in edges {
        // Bit `r` is set where a device is busy in round `r`; `MAX_ROUNDS` of them fit in the word.
        let round = (sends[e.sender] | receives[e.receiver]).trailing_ones();
        if round >= MAX_ROUNDS {
            return None;
        }
        sends[e.sender] |= 1 << round;
        receives[e.receiver] |= 1 << round;
        if rounds.len() <= round as usize {
            rounds.push(Vec::new());
        }
        rounds[round as usize].push(e.clone());
    }
    Some(rounds)
}
