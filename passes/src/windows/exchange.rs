//! Plans halo exchanges: determines what each device sends to each other device, so that every device gets its window of a sharded
//! dimension.
//!
//! * An *edge* is a range of elements that one device needs from another device's block.
//! * A *round* is a set of edges in which no device sends or receives twice: one collective-permute of slabs of equal width. Edges from a
//!   device to itself form a separate round, without communication.
//! * A *view* places a tensor in the index space of the window. A tensor may have several views: a roll has two views of its operand, one
//!   on each side of the wrap-around. Elements of a replicated view are taken locally.
//!
//! Edges of different views and tensors share a round if that reduces cost. Each sender then cuts its slab from the tensor that its
//! receiver needs.
//!
//! A device that does not participate in a round receives zeros, and slabs are as wide as the widest edge. Therefore only the range of a
//! slab that the receiver [takes](Piece::takes) is valid. Elements outside all blocks are the fill value.

use super::edges::{Edges, edges};
use super::held::{Held, Span, Window};
use super::piece::Piece;
use super::rounds::{Round, Slab, rounds};
use crate::cost::Costs;

/// A halo exchange: its rounds, and the range of existing elements, outside of which windows are filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The number of elements in each device's window.
    pub(crate) size: i64,
    /// The rounds: each piece is one round. If the exchange is [joined](Exchange::is_joined), they are sorted by the position of their slab
    /// in the window.
    pub(crate) pieces: Vec<Piece>,
    /// Whether the window is a concatenation of slabs: the slabs are disjoint, and each has the same offset in all blocks and the same
    /// offset in all windows.
    pub(crate) is_joined: bool,
    /// Whether the window of some device begins before the first existing element.
    pub(crate) fills_before: bool,
    /// Whether the window of some device ends after the last existing element.
    pub(crate) fills_after: bool,
    /// The range of global indices that have an element.
    pub(crate) extent: Span,
    /// For each device, the global index of the first element of its window.
    pub(crate) origins: Vec<i64>,
}

/// The price of an exchange: bytes and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExchangePrice {
    /// The bytes sent per device.
    pub(crate) sent: f64,
    /// The total cost of the exchange, in units of one byte sent per device.
    pub(crate) cost: f64,
}

/// The rounds of an exchange.
struct Rounds {
    /// The edges from a device to itself, as one round for each view that has any.
    own: Vec<Round>,
    /// The edges between different devices, by round.
    sent: Vec<Round>,
}

impl Rounds {
    fn new(views: &[Held], window: &Window, row_bytes: f64, costs: Costs) -> Option<Rounds> {
        let mut own = Vec::new();
        let mut to_others = Vec::with_capacity(views.len());
        for (view, held) in views.iter().enumerate() {
            let (of_own, of_others): (Round, Round) =
                edges(view, held, window)?.into_iter().partition(Edges::is_own);
            if !of_own.is_empty() {
                own.push(of_own);
            }
            to_others.push(of_others);
        }
        Some(Rounds { own, sent: rounds(views, &to_others, window.origins.len(), row_bytes, costs)? })
    }
}

impl Exchange {
    /// Returns the price of the exchange that [`Exchange::new`] would return, without building its per-device tables. Returns `None` if
    /// there is no such exchange. `costs` are those along the axes of the dimension.
    pub(crate) fn price(
        views: &[Held],
        window: &Window,
        row_bytes: f64,
        costs: Costs,
    ) -> Option<ExchangePrice> {
        let Rounds { own, sent } = Rounds::new(views, window, row_bytes, costs)?;
        let mut price = ExchangePrice::default();
        for round in &sent {
            let bytes = Slab::of(views, round).width() as f64 * row_bytes;
            price.sent += bytes;
            price.cost += costs.permute(bytes);
        }
        // Each piece is inserted by a pass over the entire window.
        price.cost += costs.local_copy(window.size as f64 * row_bytes * (own.len() + sent.len()) as f64);
        Some(price)
    }

    /// Plans the exchange that produces `window` from views with contiguous spans. `row_bytes` is the number of bytes that a device holds
    /// for one index along the dimension. Returns `None` if a device would need more than [`MAX_ROUNDS`](super::MAX_ROUNDS) rounds.
    pub(crate) fn new(views: &[Held], window: Window, row_bytes: f64, costs: Costs) -> Option<Exchange> {
        let Rounds { own, sent } = Rounds::new(views, &window, row_bytes, costs)?;
        let devices = window.origins.len();
        let mut pieces: Vec<Piece> =
            own.into_iter().map(|round| Piece::new(views, round, devices, false)).collect();
        pieces.extend(sent.into_iter().map(|round| Piece::new(views, round, devices, true)));
        let is_joined = is_joined(&pieces, window.size);
        if is_joined {
            // Pieces are sorted, since a concatenation takes its operands in order.
            pieces.sort_by_key(Piece::place);
        }
        let spans = || views.iter().flat_map(|h| &h.spans).filter(|s| !s.is_empty());
        // The views of the operands of a `concatenate` are contiguous, so some device holds each element between the first start and the
        // last end.
        let extent = spans().map(|s| s.start).min().unwrap_or(0)..spans().map(|s| s.end).max().unwrap_or(0);
        let needs = || window.needs.iter().filter(|n| !n.is_empty());
        Some(Exchange {
            size: window.size,
            is_joined,
            fills_before: needs().any(|n| n.start < extent.start || extent.is_empty()),
            fills_after: needs().any(|n| n.end > extent.end),
            extent,
            pieces,
            origins: window.origins,
        })
    }
}

/// Whether the slabs are disjoint in every window, each at an offset that is equal on all devices, so that the window is a concatenation.
fn is_joined(pieces: &[Piece], size: i64) -> bool {
    let mut spans = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some(to) = piece.place() else { return false };
        spans.push(to..to + piece.width);
    }
    spans.sort_by_key(|s| s.start);
    spans.iter().all(|s| s.start >= 0 && s.end <= size)
        && spans.windows(2).all(|pair| pair[0].end <= pair[1].start)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::windows::held::ceil_div;

    const FILL: i64 = -7;
    const ANY: i64 = -99;

    fn set(index: i64) -> BTreeSet<i64> {
        BTreeSet::from([index])
    }

    /// Carries out an exchange, and returns the resulting window of each device. Each element is represented by the set of its indices, one
    /// per view that contains it.
    fn carried_out(exchange: &Exchange, sources: &[Held]) -> Vec<Vec<BTreeSet<i64>>> {
        let k = exchange.origins.len();
        // If a tensor has two views, an element belongs to the view that holds it.
        let tensors = sources.iter().map(|held| held.source + 1).max().unwrap_or(0);
        let mut blocks: Vec<Vec<Vec<BTreeSet<i64>>>> = vec![Vec::new(); tensors];
        for held in sources {
            let blocks = &mut blocks[held.source];
            blocks.resize(k, vec![BTreeSet::new(); held.block as usize]);
            for (block, (span, origin)) in blocks.iter_mut().zip(held.spans.iter().zip(&held.origins)) {
                for index in span.clone() {
                    block[(index - origin) as usize].insert(index);
                }
            }
        }
        let fills = exchange.fills_before || exchange.fills_after;
        let mut windows =
            vec![vec![set(if fills && !exchange.is_joined { FILL } else { ANY }); exchange.size as usize]; k];
        for piece in &exchange.pieces {
            let mut slabs = vec![vec![set(0); piece.width as usize]; k];
            let own: Vec<(usize, usize)> = (0..k).map(|i| (i, i)).collect();
            let sent: Vec<(usize, usize)> = piece.pairs().collect();
            for &(sender, receiver) in if piece.is_sent { &sent } else { &own } {
                let mut cuts = (0..)
                    .zip(&piece.cuts)
                    .filter_map(|(i, cut)| Some((cut, piece.from(i)[sender]? as usize)));
                let Some((cut, from)) = cuts.next() else { continue };
                assert!(cuts.next().is_none(), "two cuts of {sender} in {piece:?}");
                let mut slab = blocks[cut.source][sender][from..from + cut.width as usize].to_vec();
                slab.resize(piece.width as usize, set(ANY));
                slabs[receiver] = slab;
            }
            let (tos, all_takes) = (piece.to(), piece.takes());
            let constant = tos.iter().flatten().next().copied().unwrap_or(0);
            for (receiver, slab) in slabs.iter().enumerate() {
                for at in 0..exchange.size {
                    let (to, takes) = if exchange.is_joined {
                        (constant, constant..constant + piece.width)
                    } else {
                        (tos[receiver].unwrap_or(0), all_takes[receiver].clone())
                    };
                    if takes.contains(&at) {
                        windows[receiver][at as usize] = slab[(at - to) as usize].clone();
                    }
                }
            }
        }
        if exchange.is_joined && fills {
            for (i, window) in windows.iter_mut().enumerate() {
                for (at, value) in window.iter_mut().enumerate() {
                    if !exchange.extent.contains(&(exchange.origins[i] + at as i64)) {
                        *value = set(FILL);
                    }
                }
            }
        }
        windows
    }

    #[track_caller]
    fn check(sources: &[Held], window: &Window) -> Option<Exchange> {
        let exchange = Exchange::new(sources, window.clone(), 4.0, Costs::default())?;
        let price = Exchange::price(sources, window, 4.0, Costs::default()).unwrap();
        assert_eq!(price.sent, 4.0 * widths(&exchange).iter().sum::<i64>() as f64, "{exchange:?}");
        let got = carried_out(&exchange, sources);
        for (i, need) in window.needs.iter().enumerate() {
            for index in need.clone() {
                let wanted = if exchange.extent.contains(&index) { index } else { FILL };
                let at = (index - window.origins[i]) as usize;
                assert!(
                    got[i][at].contains(&wanted),
                    "device {i}, index {index}: {sources:?} {window:?} {exchange:?}"
                );
            }
        }
        for piece in &exchange.pieces {
            for (i, cut) in piece.cuts.iter().enumerate() {
                let block = sources.iter().find(|held| held.source == cut.source).unwrap().block;
                assert!(
                    piece.from(i).iter().flatten().all(|&f| f >= 0 && f + cut.width <= block),
                    "{piece:?}"
                );
                assert!(cut.width <= piece.width, "{piece:?}");
            }
            for side in [0, 1] {
                let mut seen: Vec<usize> = piece.pairs().map(|p| if side == 0 { p.0 } else { p.1 }).collect();
                seen.sort_unstable();
                assert!(seen.windows(2).all(|w| w[0] != w[1]), "twice in {piece:?}");
            }
        }
        Some(exchange)
    }

    /// Returns windows of `size` elements; the window of device `i` begins at `start + i * step`.
    fn moving(k: i64, start: i64, step: i64, size: i64) -> Window {
        let origins: Vec<i64> = (0..k).map(|i| start + i * step).collect();
        let needs = origins.iter().map(|&o| o..o + size).collect();
        Window { size, origins, needs }
    }

    #[test]
    fn neighbours_send_their_borders() {
        let exchange = check(&[Held::blocks(0, 16, 4, 0)], &moving(4, -1, 4, 6)).unwrap();
        assert!(exchange.is_joined && exchange.fills_before && exchange.fills_after);
        let widths: Vec<_> = exchange.pieces.iter().map(|p| (p.width, p.pairs().count())).collect();
        assert_eq!(widths, [(1, 3), (4, 0), (1, 3)]);
    }

    #[test]
    fn the_first_half_is_sent_in_two_rounds() {
        let exchange = check(&[Held::blocks(0, 64, 8, 0)], &moving(8, 0, 4, 4)).unwrap();
        let sent: Vec<_> = exchange.pieces.iter().filter(|p| p.is_sent).map(|p| p.width).collect();
        assert_eq!(sent, [4, 4]);
    }

    #[test]
    fn blocks_in_reverse_take_one_round() {
        let needs: Vec<Span> = (0..8).map(|i| 16 - (i + 1) * 2..16 - i * 2).collect();
        let window = Window { size: 2, origins: needs.iter().map(|n| n.start).collect(), needs };
        let exchange = check(&[Held::blocks(0, 16, 8, 0)], &window).unwrap();
        assert_eq!(exchange.pieces.len(), 1);
    }

    #[test]
    fn elements_outside_all_blocks_are_filled() {
        let exchange = check(&[Held::blocks(0, 0, 4, 0)], &moving(4, 0, 1, 1)).unwrap();
        assert!(exchange.pieces.is_empty() && exchange.fills_before);
    }

    #[test]
    fn too_many_rounds_are_refused() {
        let everything = Window { size: 64, origins: vec![0; 64], needs: vec![0..64; 64] };
        assert_eq!(Exchange::new(&[Held::blocks(0, 64, 64, 0)], everything, 4.0, Costs::default()), None);
    }

    /// A generator of pseudorandom numbers.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as i64 % n.max(1)
        }
    }

    #[test]
    fn random_windows_hold_the_needed_elements() {
        let mut numbers = Numbers(1);
        let mut done = 0;
        for _ in 0..20_000 {
            let k = 1 + numbers.below(9);
            let mut first = numbers.below(5) - 2;
            let sources: Vec<Held> = (0..=numbers.below(3))
                .map(|source| {
                    let source = source as usize;
                    let size = numbers.below(20);
                    let held = match numbers.below(3) {
                        // The devices hold blocks of arbitrary sizes.
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
                            Held {
                                source,
                                block: block + numbers.below(2),
                                origins: spans.iter().map(|s| s.start).collect(),
                                spans,
                                is_whole: false,
                            }
                        }
                        1 if numbers.below(3) == 0 => Held::whole(source, size, k, first),
                        _ => Held::blocks(source, size, k, first),
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

    /// Returns the elements of a concatenation that each device holds, and the window that each device needs for its block of the result.
    fn spliced(sizes: &[(i64, bool)], pieces: &[(usize, Span)], k: i64) -> (Vec<Held>, Window) {
        let mut end = 0;
        let mut views = Vec::new();
        for (source, range) in pieces {
            let (size, is_whole) = sizes[*source];
            let view = if is_whole { Held::whole } else { Held::blocks };
            let seen = end..end + (range.end - range.start);
            views.push(view(*source, size, k, end - range.start).only(&seen));
            end = seen.end;
        }
        let block = ceil_div(end, k);
        let mut window = moving(k, 0, block, block);
        for need in &mut window.needs {
            *need = need.start.min(end)..need.end.min(end);
        }
        (views, window)
    }

    fn roll(size: i64, k: i64, by: i64) -> Exchange {
        let (views, window) = spliced(&[(size, false)], &[(0, by..size), (0, 0..by)], k);
        check(&views, &window).unwrap()
    }

    fn widths(exchange: &Exchange) -> Vec<i64> {
        exchange.pieces.iter().filter(|p| p.is_sent).map(|p| p.width).collect()
    }

    #[test]
    fn a_roll_by_whole_blocks_is_one_round_and_any_other_at_most_two() {
        for (k, block) in (2..9).flat_map(|k| (1..7).map(move |b| (k, b))) {
            for by in 1..k * block {
                let exchange = roll(k * block, k, by);
                let (blocks, rest) = (by / block, by % block);
                // A device keeps part of its own block, which is not sent.
                let wanted: Vec<i64> = [(blocks, block - rest), ((blocks + 1) % k, rest)]
                    .into_iter()
                    .filter(|&(distance, width)| distance != 0 && width != 0)
                    .map(|x| x.1)
                    .collect();
                let (mut got, mut wanted) = (widths(&exchange), wanted);
                got.sort_unstable();
                wanted.sort_unstable();
                assert_eq!(got, wanted, "{by} of {k} blocks of {block}");
                assert!(exchange.is_joined, "{by} of {k} blocks of {block}: {exchange:?}");
            }
        }
    }

    #[test]
    fn a_roll_of_uneven_blocks_takes_at_most_three_rounds_of_a_block() {
        for (k, size) in (2..9).flat_map(|k| (k..40).map(move |n| (k, n))) {
            let block = ceil_div(size, k);
            for by in 1..size {
                let widths = widths(&roll(size, k, by));
                assert!(widths.len() <= 5, "{by} of {size} in {k}: {widths:?}");
                assert!(widths.iter().sum::<i64>() <= 3 * block, "{by} of {size} in {k}: {widths:?}");
            }
        }
    }

    #[test]
    fn replicated_tensors_are_not_sent() {
        let (views, window) = spliced(&[(8, true), (8, false)], &[(0, 0..8), (1, 0..8)], 4);
        // Device 2 has the first half of the second tensor, and device 3 the rest.
        assert_eq!(widths(&check(&views, &window).unwrap()), [2, 2]);
    }

    #[test]
    fn two_halves_share_their_rounds() {
        let (views, window) = spliced(&[(8, false), (8, false)], &[(0, 0..8), (1, 0..8)], 4);
        assert_eq!(widths(&check(&views, &window).unwrap()), [2, 2]);
    }

    #[test]
    fn random_splices_hold_the_needed_elements() {
        let mut numbers = Numbers(2);
        let mut done = 0;
        for _ in 0..20_000 {
            let k = 1 + numbers.below(9);
            let sizes: Vec<(i64, bool)> =
                (0..=numbers.below(3)).map(|_| (numbers.below(20), numbers.below(3) == 0)).collect();
            let pieces: Vec<(usize, Span)> = (0..=numbers.below(4))
                .map(|_| {
                    let source = numbers.below(sizes.len() as i64) as usize;
                    let start = numbers.below(sizes[source].0 + 1);
                    (source, start..start + numbers.below(sizes[source].0 - start + 1))
                })
                .collect();
            let (views, window) = spliced(&sizes, &pieces, k);
            done += usize::from(window.size > 0 && check(&views, &window).is_some());
        }
        assert!(done > 15_000, "{done}");
    }
}
