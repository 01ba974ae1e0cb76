//! One round of an exchange: the slabs that devices send and receive.

use smallvec::SmallVec;

use super::PerDevice;
use super::edges::Edges;
use super::held::{Held, Span};
use super::rounds::{Round, Slab};

/// One round of an exchange: each sender cuts a slab from its block, and each receiver inserts it into its window. The round is stored as
/// runs of devices; the methods compute values for each device on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The number of elements of each slab along the dimension.
    pub(crate) width: i64,
    /// The tensors from which slabs are cut. Each sender cuts its slab from one of them.
    pub(crate) cuts: SmallVec<[Cut; 1]>,
    /// Whether slabs are sent to other devices. If false, each device cuts its slab from its own block.
    pub(crate) is_sent: bool,
    devices: usize,
    /// The offset of the slabs in their blocks, if it is the same in all blocks.
    first: Option<i64>,
    /// The runs of edges, each with the index in `cuts` of the tensor from which its slabs are cut.
    edges: Vec<(Edges, usize)>,
}

/// The slabs that are cut from one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The index of the tensor in the list of tensors of the exchange.
    pub(crate) source: usize,
    /// The number of elements that are cut. If the tensor's block is smaller than a slab, the rest of the slab is undefined.
    pub(crate) width: i64,
    /// The last offset in a block at which a cut of `width` elements may begin.
    last: i64,
}

/// The transfer from one device to another.
struct Sent {
    sender: usize,
    receiver: usize,
    cut: usize,
    /// The offset of the slab in the sender's block.
    from: i64,
    /// The offset of the slab in the receiver's window.
    to: i64,
    takes: Span,
}

impl Piece {
    /// Creates the round that consists of the edges of `round`. Each of the `devices` devices sends at most one slab and receives at most
    /// one slab.
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
                // A slab that would leave the block is moved to an earlier offset. Otherwise `dynamic_slice` would clamp its start
                // silently, and the elements would be misplaced.
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

    /// Returns the pairs of sender and receiver; none if each device cuts from its own block.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.each().filter(|_| self.is_sent).map(|sent| (sent.sender, sent.receiver))
    }

    /// Returns the number of [`Piece::pairs`].
    pub(crate) fn num_pairs(&self) -> usize {
        if self.is_sent { self.num_edges() } else { 0 }
    }

    fn num_edges(&self) -> usize {
        self.edges.iter().map(|(run, _)| run.count as usize).sum()
    }

    /// Returns for each device the offset of its slab in its block of the tensor with index `cut`; `None` for devices that do not send from
    /// this tensor.
    pub(crate) fn from(&self, cut: usize) -> PerDevice {
        let mut from = vec![None; self.devices];
        for sent in self.each().filter(|sent| sent.cut == cut) {
            from[sent.sender] = Some(sent.from);
        }
        from
    }

    /// Returns for each device that sends: 1 if it sends from the tensor with index `cut`, and 0 if it sends from another tensor.
    pub(crate) fn sends(&self, cut: usize) -> PerDevice {
        let mut sends = vec![None; self.devices];
        for sent in self.each() {
            sends[sent.sender] = Some(i64::from(sent.cut == cut));
        }
        sends
    }

    /// Returns for each device that receives the offset of its slab in its window. The slab may extend beyond the window on both sides.
    pub(crate) fn to(&self) -> PerDevice {
        let mut to = vec![None; self.devices];
        for sent in self.each() {
            to[sent.receiver] = Some(sent.to);
        }
        to
    }

    /// Returns for each device the range of its window that it takes from the slab; empty for devices that do not receive.
    pub(crate) fn takes(&self) -> Vec<Span> {
        let mut takes = vec![0..0; self.devices];
        for sent in self.each() {
            takes[sent.receiver] = sent.takes;
        }
        takes
    }

    /// Whether every device takes the entire slab.
    pub(crate) fn is_taken_whole(&self) -> bool {
        self.num_edges() == self.devices
            && self.each().all(|sent| sent.takes == (sent.to..sent.to + self.width))
    }

    /// Returns the offset of the slabs in the windows, if it is the same in all windows, and if all slabs of one tensor also have the same
    /// offset in their blocks. Otherwise `None`.
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
