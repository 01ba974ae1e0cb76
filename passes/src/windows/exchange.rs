//! Halo exchange: who sends what to whom, so that each device along a dimension has a window of it.
//!
//! What a device needs of another's block is an *edge*. Edges in which no device sends or receives twice make a
//! *round*: one collective-permute of slabs of one width. Edges of a device to itself are one more round, which sends
//! nothing.
//!
//! A device that takes no part in a round receives zeros, and slabs are as wide as the widest edge, so what a round
//! brings is right only where the receiver [takes](Piece::takes) it. Elements that no block holds are the fill.

use std::collections::BTreeMap;
use std::ops::Range;

use super::PerDevice;
use crate::cost;

/// Consecutive global indices along one dimension, the end excluded.
pub(crate) type Span = Range<i64>;

/// More rounds than these are worse than gathering the whole dimension.
const MAX_ROUNDS: u32 = 16;

/// A dimension as the devices hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Size of each device's block.
    pub(crate) block: i64,
    /// What the blocks hold, from their first element on; beginnings and ends never decrease.
    pub(crate) spans: Vec<Span>,
}

impl Held {
    /// The blocks of a dimension of `size` split `k` ways, of which the first element has index `first`.
    pub(crate) fn blocks(size: i64, k: i64, first: i64) -> Held {
        let block = ceil_div(size, k);
        let at = |i: i64| first + (i * block).min(size);
        Held { block, spans: (0..k).map(|i| at(i)..at(i + 1)).collect() }
    }
}

/// The window of a dimension that each device needs, in elements along it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Size of the window.
    pub(crate) size: i64,
    /// The index of its first element, for each device.
    pub(crate) origins: Vec<i64>,
    /// The indices that must be right, for each device; within the window. Elsewhere it may hold anything.
    pub(crate) needs: Vec<Span>,
}

/// One round: the slab that each sender cuts from its block and each receiver takes into its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The index of the tensor that the slabs are cut from.
    pub(crate) source: usize,
    /// Size of the slab.
    pub(crate) width: i64,
    /// Where in its block a sender's slab begins.
    pub(crate) from: PerDevice,
    /// Where in its window a receiver's slab begins; it may begin before, and end beyond.
    pub(crate) to: PerDevice,
    /// The part of its window that a receiver takes from the slab; empty for others.
    pub(crate) takes: Vec<Span>,
    /// Senders and receivers; none where each device sends to itself alone.
    pub(crate) pairs: Vec<(usize, usize)>,
}

/// How the devices get their windows: rounds, and what fills the places that hold no element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Size of the window.
    pub(crate) size: i64,
    /// The rounds. Of a [joined](Exchange::is_joined) exchange, in the order of the window.
    pub(crate) pieces: Vec<Piece>,
    /// Whether each slab begins at one place in all blocks, and at another in all windows, clear of the other slabs.
    pub(crate) is_joined: bool,
    /// Whether some device needs elements before the first one that there is.
    pub(crate) fills_before: bool,
    /// Whether some device needs elements after the last one that there is.
    pub(crate) fills_after: bool,
    /// The elements that there are.
    pub(crate) extent: Span,
    /// The index of the window's first element, for each device.
    pub(crate) origins: Vec<i64>,
}

/// What one device needs of another's block, or of its own.
#[derive(Clone, Debug)]
struct Edge {
    sender: usize,
    receiver: usize,
    span: Span,
}

impl Exchange {
    /// Plans how to get `window` from tensors whose spans follow one another. `row_bytes` is the size of what one index
    /// stands for on a device. Returns `None` where a device would need more than [`MAX_ROUNDS`] rounds.
    pub(crate) fn new(sources: &[Held], window: &Window, row_bytes: f64) -> Option<Exchange> {
        let mut pieces = Vec::new();
        for (source, held) in sources.iter().enumerate() {
            let (own, others): (Vec<Edge>, Vec<Edge>) =
                edges(held, window)?.into_iter().partition(|e| e.sender == e.receiver);
            if !own.is_empty() {
                pieces.push(piece(source, &own, held, window, Vec::new()));
            }
            for round in rounds(&others, held, window, row_bytes)? {
                let pairs = round.iter().map(|e| (e.sender, e.receiver)).collect();
                pieces.push(piece(source, &round, held, window, pairs));
            }
        }
        let is_joined = is_joined(&pieces, window.size);
        if is_joined {
            // A concatenation takes its operands in order.
            pieces.sort_by_key(|p| p.to.iter().flatten().next().copied());
        }
        let spans = || sources.iter().flat_map(|h| &h.spans).filter(|s| !s.is_empty());
        // Sources follow one another (those of a `concatenate`), so that what lies between the ends is all held by someone.
        let extent = spans().map(|s| s.start).min().unwrap_or(0)..spans().map(|s| s.end).max().unwrap_or(0);
        let needs = || window.needs.iter().filter(|n| !n.is_empty());
        Some(Exchange {
            size: window.size,
            is_joined,
            fills_before: needs().any(|n| n.start < extent.start || extent.is_empty()),
            fills_after: needs().any(|n| n.end > extent.end),
            extent,
            pieces,
            origins: window.origins.clone(),
        })
    }

    /// Returns the bytes that a device sends.
    pub(crate) fn sent(&self, row_bytes: f64) -> f64 {
        let sent = self.pieces.iter().filter(|p| !p.pairs.is_empty());
        sent.map(|p| p.width as f64 * row_bytes).sum()
    }

    /// Returns what the exchange costs, in bytes that a device sends.
    pub(crate) fn cost(&self, row_bytes: f64) -> f64 {
        let sent: f64 = self
            .pieces
            .iter()
            .filter(|p| !p.pairs.is_empty())
            .map(|p| cost::permute(p.width as f64 * row_bytes))
            .sum();
        // Each piece is put into the window by a pass over all of it.
        sent + cost::local_copy(self.size as f64 * row_bytes * self.pieces.len() as f64)
    }
}

/// Returns what each device needs of which block, by receiver and then sender; `None` if one needs more blocks than there
/// are rounds, since it receives one slab in each. Takes `O(k log k)` steps for `k` devices.
fn edges(held: &Held, window: &Window) -> Option<Vec<Edge>> {
    let mut all = Vec::new();
    for (receiver, need) in window.needs.iter().enumerate().filter(|(_, need)| !need.is_empty()) {
        // The ends of spans never decrease, though spans may be empty where there are fewer elements than devices.
        let first = held.spans.partition_point(|s| s.end <= need.start);
        let before = all.len();
        for (sender, span) in held.spans.iter().enumerate().skip(first) {
            if span.start >= need.end || all.len() > before + MAX_ROUNDS as usize {
                break;
            }
            let span = span.start.max(need.start)..span.end.min(need.end);
            if !span.is_empty() {
                all.push(Edge { sender, receiver, span });
            }
        }
        if all.len() > before + MAX_ROUNDS as usize {
            return None;
        }
    }
    Some(all)
}

/// Puts edges into rounds: an edge colouring of the bipartite graph of senders and receivers. By König's theorem its degree
/// would do as the number of colours, but a round costs as much as its widest edge, so few rounds are not the aim. Tries
/// one round per distance, whose slabs lie at one place where windows move as blocks do, and first fit in two orders, and
/// returns the cheapest.
fn rounds(edges: &[Edge], held: &Held, window: &Window, row_bytes: f64) -> Option<Vec<Vec<Edge>>> {
    let mut by_distance = BTreeMap::<i64, Vec<Edge>>::new();
    for e in edges {
        by_distance.entry(e.sender as i64 - e.receiver as i64).or_default().push(e.clone());
    }
    let mut longest_first = edges.to_vec();
    // Wide edges together, so that rounds of narrow ones stay narrow.
    longest_first.sort_by_key(|e| std::cmp::Reverse(e.span.end - e.span.start));
    let by_distance: Vec<_> = by_distance.into_values().collect();
    let cost = |rounds: &[Vec<Edge>]| -> f64 {
        rounds
            .iter()
            .map(|r| cost::permute(piece(0, r, held, window, Vec::new()).width as f64 * row_bytes))
            .sum()
    };
    let ways = [
        // A distance is a bijection of senders and receivers, so each of these is a round.
        (by_distance.len() <= MAX_ROUNDS as usize).then_some(by_distance),
        first_fit(edges, held.spans.len()),
        first_fit(&longest_first, held.spans.len()),
    ];
    ways.into_iter().flatten().map(|way| (cost(&way), way)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|x| x.1)
}

/// Puts each edge into the first round in which its sender and its receiver are free. Takes at most `2d - 1` rounds for
/// devices that send and receive at most `d` edges.
fn first_fit(edges: &[Edge], devices: usize) -> Option<Vec<Vec<Edge>>> {
    let (mut sends, mut receives) = (vec![0u64; devices], vec![0u64; devices]);
    let mut rounds: Vec<Vec<Edge>> = Vec::new();
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

/// Returns the round that carries these edges, of which each device sends and receives one at most.
fn piece(source: usize, edges: &[Edge], held: &Held, window: &Window, pairs: Vec<(usize, usize)>) -> Piece {
    let k = held.spans.len();
    let from = |e: &Edge| e.span.start - held.spans[e.sender].start;
    let to = |e: &Edge| e.span.start - window.origins[e.receiver];
    let length = |e: &Edge| e.span.end - e.span.start;
    let mut made = Piece {
        source,
        width: edges.iter().map(length).max().unwrap_or(0),
        from: vec![None; k],
        to: vec![None; k],
        takes: vec![0..0; k],
        pairs,
    };
    for e in edges {
        made.takes[e.receiver] = to(e)..to(e) + length(e);
    }
    let shift = edges.first().map_or(0, |e| to(e) - from(e));
    if edges.iter().all(|e| to(e) - from(e) == shift) {
        // One place for all, though some then send more than is needed of them: constant offsets become slices and a
        // concatenation, where tables of offsets would need dynamic slices and a mask.
        let first = edges.iter().map(from).min().unwrap_or(0);
        made.width = edges.iter().map(|e| from(e) + length(e)).max().unwrap_or(0) - first;
        for e in edges {
            made.from[e.sender] = Some(first);
            made.to[e.receiver] = Some(first + shift);
        }
        return made;
    }
    for e in edges {
        // A slab that would leave the block begins earlier: `dynamic_slice` would clamp its start there without a word,
        // and the elements would come one by one too late.
        let first = from(e).min(held.block - made.width);
        made.from[e.sender] = Some(first);
        made.to[e.receiver] = Some(to(e) - (from(e) - first));
    }
    made
}

/// Whether the slabs lie side by side in every window, at places that are the same for all devices, so that the window is
/// a concatenation.
fn is_joined(pieces: &[Piece], size: i64) -> bool {
    let constant = |values: &PerDevice| {
        let mut known = values.iter().flatten();
        let first = known.next().copied();
        known.all(|&v| Some(v) == first).then_some(first).flatten()
    };
    let mut spans = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (Some(_), Some(to)) = (constant(&piece.from), constant(&piece.to)) else { return false };
        spans.push(to..to + piece.width);
    }
    spans.sort_by_key(|s| s.start);
    spans.iter().all(|s| s.start >= 0 && s.end <= size)
        && spans.windows(2).all(|pair| pair[0].end <= pair[1].start)
}

/// The quotient, rounded up.
pub(super) fn ceil_div(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILL: i64 = -7;
    const ANY: i64 = -99;

    /// The windows that devices end up with, each element being its index.
    fn carried_out(exchange: &Exchange, sources: &[Held]) -> Vec<Vec<i64>> {
        let k = exchange.origins.len();
        let blocks: Vec<Vec<Vec<i64>>> = sources
            .iter()
            .map(|held| {
                let element = |span: &Span, at: i64| {
                    if span.start + at < span.end { span.start + at } else { ANY }
                };
                held.spans.iter().map(|span| (0..held.block).map(|at| element(span, at)).collect()).collect()
            })
            .collect();
        let fills = exchange.fills_before || exchange.fills_after;
        let mut windows =
            vec![vec![if fills && !exchange.is_joined { FILL } else { ANY }; exchange.size as usize]; k];
        for piece in &exchange.pieces {
            let mut slabs = vec![vec![0; piece.width as usize]; k];
            let own: Vec<(usize, usize)> = (0..k).map(|i| (i, i)).collect();
            for &(sender, receiver) in if piece.pairs.is_empty() { &own } else { &piece.pairs } {
                let block = &blocks[piece.source][sender];
                let Some(from) = piece.from[sender] else { continue };
                slabs[receiver] = block[from as usize..(from + piece.width) as usize].to_vec();
            }
            let constant = piece.to.iter().flatten().next().copied().unwrap_or(0);
            for (receiver, slab) in slabs.iter().enumerate() {
                for at in 0..exchange.size {
                    let (to, takes) = if exchange.is_joined {
                        (constant, constant..constant + piece.width)
                    } else {
                        (piece.to[receiver].unwrap_or(0), piece.takes[receiver].clone())
                    };
                    if takes.contains(&at) {
                        windows[receiver][at as usize] = slab[(at - to) as usize];
                    }
                }
            }
        }
        if exchange.is_joined && fills {
            for (i, window) in windows.iter_mut().enumerate() {
                for (at, value) in window.iter_mut().enumerate() {
                    if !exchange.extent.contains(&(exchange.origins[i] + at as i64)) {
                        *value = FILL;
                    }
                }
            }
        }
        windows
    }

    #[track_caller]
    fn check(sources: &[Held], window: &Window) -> Option<Exchange> {
        let exchange = Exchange::new(sources, window, 4.0)?;
        let got = carried_out(&exchange, sources);
        for (i, need) in window.needs.iter().enumerate() {
            for index in need.clone() {
                let wanted = if exchange.extent.contains(&index) { index } else { FILL };
                let at = (index - window.origins[i]) as usize;
                assert_eq!(
                    got[i][at], wanted,
                    "device {i}, index {index}: {sources:?} {window:?} {exchange:?}"
                );
            }
        }
        for piece in &exchange.pieces {
            let block = sources[piece.source].block;
            assert!(piece.from.iter().flatten().all(|&f| f >= 0 && f + piece.width <= block), "{piece:?}");
            for side in [0, 1] {
                let mut seen: Vec<usize> =
                    piece.pairs.iter().map(|p| if side == 0 { p.0 } else { p.1 }).collect();
                seen.sort_unstable();
                assert!(seen.windows(2).all(|w| w[0] != w[1]), "twice in {:?}", piece.pairs);
            }
        }
        Some(exchange)
    }

    /// Windows that begin at `start + i * step`.
    fn moving(k: i64, start: i64, step: i64, size: i64) -> Window {
        let origins: Vec<i64> = (0..k).map(|i| start + i * step).collect();
        let needs = origins.iter().map(|&o| o..o + size).collect();
        Window { size, origins, needs }
    }

    #[test]
    fn neighbours_send_their_borders() {
        let exchange = check(&[Held::blocks(16, 4, 0)], &moving(4, -1, 4, 6)).unwrap();
        assert!(exchange.is_joined && exchange.fills_before && exchange.fills_after);
        let widths: Vec<_> = exchange.pieces.iter().map(|p| (p.width, p.pairs.len())).collect();
        assert_eq!(widths, [(1, 3), (4, 0), (1, 3)]);
    }

    #[test]
    fn the_first_half_is_sent_in_two_rounds() {
        let exchange = check(&[Held::blocks(64, 8, 0)], &moving(8, 0, 4, 4)).unwrap();
        let sent: Vec<_> = exchange.pieces.iter().filter(|p| !p.pairs.is_empty()).map(|p| p.width).collect();
        assert_eq!(sent, [4, 4]);
    }

    #[test]
    fn blocks_in_reverse_take_one_round() {
        let needs: Vec<Span> = (0..8).map(|i| 16 - (i + 1) * 2..16 - i * 2).collect();
        let window = Window { size: 2, origins: needs.iter().map(|n| n.start).collect(), needs };
        let exchange = check(&[Held::blocks(16, 8, 0)], &window).unwrap();
        assert_eq!(exchange.pieces.len(), 1);
    }

    #[test]
    fn what_no_block_holds_is_filled() {
        let exchange = check(&[Held::blocks(0, 4, 0)], &moving(4, 0, 1, 1)).unwrap();
        assert!(exchange.pieces.is_empty() && exchange.fills_before);
    }

    #[test]
    fn too_many_rounds_are_refused() {
        let everything = Window { size: 64, origins: vec![0; 64], needs: vec![0..64; 64] };
        assert_eq!(Exchange::new(&[Held::blocks(64, 64, 0)], &everything, 4.0), None);
    }

    /// Numbers that look random.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as i64 % n.max(1)
        }
    }

    #[test]
    fn any_windows_hold_what_is_needed() {
        let mut numbers = Numbers(1);
        let mut done = 0;
        for _ in 0..20_000 {
            let k = 1 + numbers.below(9);
            let mut first = numbers.below(5) - 2;
            let sources: Vec<Held> = (0..=numbers.below(3))
                .map(|_| {
                    let size = numbers.below(20);
                    let held = match numbers.below(3) {
                        // Blocks that hold as many elements as they like.
                        0 => {
                            let mut ends: Vec<i64> = (0..k - 1).map(|_| numbers.below(size + 1)).collect();
                            ends.push(size);
                            ends.sort_unstable();
                            let mut begin = 0;
                            let spans: Vec<Span> = ends
                                .iter()
                                .map(|&end| {
                                    let span = first + begin..first + end;
                                    begin = end;
                                    span
                                })
                                .collect();
                            let block = spans.iter().map(|s| s.end - s.start).max().unwrap_or(0);
                            Held { block: block + numbers.below(2), spans }
                        }
                        _ => Held::blocks(size, k, first),
                    };
                    first += size;
                    held
                })
                .collect();
            let size = 1 + numbers.below(8);
            let step = if numbers.below(3) == 0 { sources[0].block } else { numbers.below(9) - 3 };
            let mut window = moving(k, numbers.below(20) - 5, step, size);
            for need in &mut window.needs {
                if numbers.below(4) == 0 {
                    need.end -= numbers.below(size + 1);
                    need.start += numbers.below(need.end - need.start + 1);
                }
            }
            done += usize::from(check(&sources, &window).is_some());
        }
        assert!(done > 15_000, "{done}");
    }
}
