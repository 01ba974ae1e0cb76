//! Tandem repeats: a sequence of tokens as runs, some of which are copies of one block.

use std::collections::HashMap;

/// Consecutive tokens: `copies` copies of a block of `period` tokens, starting at `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) period: usize,
    pub(super) copies: usize,
}

impl Run {
    /// The run itself if it is repeated, else a run for each of its tokens.
    pub(super) fn parts(self) -> impl Iterator<Item = Run> {
        let (count, period) = if self.copies > 1 { (1, self.period) } else { (self.period, 1) };
        (0..count).map(move |i| Run { start: self.start + i, period, copies: self.copies })
    }
}

/// The number of later occurrences of a token that are tried as the start of the second copy. It bounds the work for each token.
const TRIED: usize = 24;

/// The minimum number of tokens in all copies of a block, so that two equal neighbors are not a block.
const MIN_TOKENS: usize = 6;

/// Splits a sequence into runs, in order. At each position, the block whose copies cover most tokens is taken, and among these the shortest.
///
/// Candidates are compared by prefix hashes, and an accepted block is compared token by token, so that the time is linear in the number of
/// tokens.
pub(super) fn runs(tokens: &[u32]) -> Vec<Run> {
    let sequence = Sequence::new(tokens);
    let mut out: Vec<Run> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let block = sequence.best(at);
        let single = Run { start: at, period: 1, copies: 1 };
        let run = block.filter(|run| is_repeated(tokens, *run)).unwrap_or(single);
        at += run.period * run.copies;
        match out.last_mut() {
            Some(last) if last.copies == 1 && run.copies == 1 => last.period += 1,
            _ => out.push(run),
        }
    }
    out
}

fn is_repeated(tokens: &[u32], run: Run) -> bool {
    let end = run.start + run.period * run.copies;
    tokens[run.start..end - run.period] == tokens[run.start + run.period..end]
}

struct Sequence {
    len: usize,
    /// The next position with the same token.
    next: Vec<Option<usize>>,
    /// The hash of each prefix.
    prefix: Vec<u64>,
    /// Powers of [`BASE`].
    power: Vec<u64>,
}

/// The base of the polynomial hashes; any odd number with many bits.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Sequence {
    fn new(tokens: &[u32]) -> Self {
        let mut next = vec![None; tokens.len()];
        let mut last: HashMap<u32, usize> = HashMap::new();
        for (at, token) in tokens.iter().enumerate().rev() {
            next[at] = last.insert(*token, at);
        }
        let (mut prefix, mut power) = (vec![0u64], vec![1u64]);
        for (at, &token) in tokens.iter().enumerate() {
            prefix.push(prefix[at].wrapping_mul(BASE).wrapping_add(u64::from(token) + 1));
            power.push(power[at].wrapping_mul(BASE));
        }
        Sequence { len: tokens.len(), next, prefix, power }
    }

    fn hash(&self, start: usize, len: usize) -> u64 {
        self.prefix[start + len].wrapping_sub(self.prefix[start].wrapping_mul(self.power[len]))
    }

    /// The repeated block at a position that covers most tokens.
    fn best(&self, start: usize) -> Option<Run> {
        let mut best: Option<Run> = None;
        let mut next = self.next[start];
        for _ in 0..TRIED {
            let Some(second) = next else { break };
            next = self.next[second];
            let period = second - start;
            let copies = self.copies(start, period);
            let covered = period * copies;
            if copies > 1 && covered >= MIN_TOKENS && best.is_none_or(|b| covered > b.period * b.copies) {
                best = Some(Run { start, period, copies });
            }
        }
        best
    }

    /// The number of copies of the block of `period` tokens at `start`. The longest range that equals itself shifted by one period is found
    /// by binary search, so that a candidate costs logarithmic time.
    fn copies(&self, start: usize, period: usize) -> usize {
        let (mut low, mut high) = (0, self.len - start - period);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.hash(start, middle) == self.hash(start + period, middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low / period + 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Run, runs};

    fn run(start: usize, period: usize, copies: usize) -> Run {
        Run { start, period, copies }
    }

    #[test]
    fn layers_are_one_block() {
        // An embedding, 40 layers of 4 operations with two equal neighbors, a head.
        let mut tokens = vec![9];
        tokens.extend([1, 1, 2, 3].repeat(40));
        tokens.extend([7, 8]);
        assert_eq!(runs(&tokens), [run(0, 1, 1), run(1, 4, 40), run(161, 2, 1)]);
    }

    #[test]
    fn short_repeats_are_no_blocks() {
        assert_eq!(runs(&[1, 1, 2, 2, 1]), [run(0, 5, 1)]);
        assert_eq!(runs(&[]), []);
        assert_eq!(runs(&[5; 7]), [run(0, 1, 7)]);
    }
}
