//! The slabs that are sent in one round, or kept.

use smallvec::SmallVec;

use super::PerDevice;
use super::edges::Edges;
use super::exchange::{Held, Span};
use super::rounds::{Round, Slab};

/// One round: the slab that each sender cuts from its blocks and each receiver takes into its window. What each device does is
/// told in runs of devices, and listed where it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Size of the slab.
    pub(crate) width: i64,
    /// Where slabs are cut from, one entry for each tensor; each sender cuts from one of them.
    pub(crate) cuts: SmallVec<[Cut; 1]>,
    /// Whether slabs are sent; else each device takes from its own block.
    pub(crate) is_sent: bool,
    devices: usize,
    /// Where slabs begin in all blocks, if that is one place.
    first: Option<i64>,
    /// The edges, and the number of the cut that each run is of.
    edges: Vec<(Edges, usize)>,
}

/// The slabs that are cut from one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The index of the tensor among those of the exchange.
    pub(crate) source: usize,
    /// Size of what is cut: less than the slab, the rest of which is any, where blocks of the tensor are smaller.
    pub(crate) width: i64,
    /// The last place in a block where a slab may begin.
    last: i64,
}

/// What one device sends to another.
struct Sent {
    sender: usize,
    receiver: usize,
    cut: usize,
    /// Where in the sender's block the slab begins.
    from: i64,
    /// Where in the receiver's window the slab begins.
    to: i64,
    takes: Span,
}

impl Piece {
    /// The round that carries these edges, of which each of the `devices` sends and receives one at most.
    pub(super) fn new(views: &[Held], round: Round, devices: usize, is_sent: bool) -> Piece {
        let slab = Slab::of(views, &round);
        let width = slab.width();
        let mut cuts: SmallVec<[Cut; 1]> = SmallVec::new();
        let edges = round.into_iter().map(|run| {
            let Held { source, block, .. } = views[run.view as usize];
            let number = cuts.iter().position(|cut| cut.source == source).unwrap_or_else(|| {
                let width = width.min(block);
                cuts.push(Cut { source, width, last: block - width });
                cuts.len() - 1
            });
            (run, number)
        });
        let edges = edges.collect();
        Piece { width, cuts, is_sent, devices, first: slab.one_place().map(|(first, _)| first), edges }
    }

    fn each(&self) -> impl Iterator<Item = Sent> {
        self.edges.iter().flat_map(move |&(run, cut)| {
            run.each().map(move |e| {
                // A slab that would leave the block begins earlier: `dynamic_slice` would clamp its start there without a word,
                // and the elements would come one by one too late.
                let from = self.first.unwrap_or(e.from.min(self.cuts[cut].last));
                Sent {
                    sender: e.sender as usize,
                    receiver: e.receiver as usize,
                    cut,
                    from,
                    to: e.to - (e.from - from),
                    takes: e.to..e.to + e.length,
                }
            })
        })
    }

    /// Senders and receivers; none where each device takes from its own block.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.each().filter(|_| self.is_sent).map(|sent| (sent.sender, sent.receiver))
    }

    /// The number of [`Piece::pairs`].
    pub(crate) fn num_pairs(&self) -> usize {
        if self.is_sent { self.num_edges() } else { 0 }
    }

    fn num_edges(&self) -> usize {
        self.edges.iter().map(|(run, _)| run.count as usize).sum()
    }

    /// Where in its block a sender's slab of cut number `cut` begins; `None` for one that does not send of this tensor.
    pub(crate) fn from(&self, cut: usize) -> PerDevice {
        let mut from = vec![None; self.devices];
        for sent in self.each().filter(|sent| sent.cut == cut) {
            from[sent.sender] = Some(sent.from);
        }
        from
    }

    /// Returns 1 for devices that send of cut number `cut`, 0 for those that send of another.
    pub(crate) fn sends(&self, cut: usize) -> PerDevice {
        let mut sends = vec![None; self.devices];
        for sent in self.each() {
            sends[sent.sender] = Some(i64::from(sent.cut == cut));
        }
        sends
    }

    /// Where in its window a receiver's slab begins; it may begin before, and end beyond.
    pub(crate) fn to(&self) -> PerDevice {
        let mut to = vec![None; self.devices];
        for sent in self.each() {
            to[sent.receiver] = Some(sent.to);
        }
        to
    }

    /// The part of its window that a receiver takes from the slab; empty for others.
    pub(crate) fn takes(&self) -> Vec<Span> {
        let mut takes = vec![0..0; self.devices];
        for sent in self.each() {
            takes[sent.receiver] = sent.takes;
        }
        takes
    }

    /// Whether every device takes all of its slab.
    pub(crate) fn is_taken_whole(&self) -> bool {
        self.num_edges() == self.devices
            && self.each().all(|sent| sent.takes == (sent.to..sent.to + self.width))
    }

    /// Returns where in its window each receiver's slab begins, if that is one place, and one in all blocks of each tensor.
    pub(crate) fn place(&self) -> Option<i64> {
        let mut firsts: SmallVec<[Option<i64>; 1]> = SmallVec::from_elem(None, self.cuts.len());
        let mut place = None;
        let is_one = self.each().all(|sent| {
            *firsts[sent.cut].get_or_insert(sent.from) == sent.from
                && *place.get_or_insert(sent.to) == sent.to
        });
        place.filter(|_| is_one)
    }
}
