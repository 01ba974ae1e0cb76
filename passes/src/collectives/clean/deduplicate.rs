//! Common subexpression elimination for collectives and their operands.
//!
//! Two operations are equal if they have equal attributes and the same operands. Collectives are merged within a region and with those of
//! enclosing regions. The operations that compute their operands (slices, coordinates, padding) are merged only within a region: a constant
//! inside a loop is better than an additional captured value.

use std::hash::{Hash, Hasher};
use std::iter::successors;
use std::mem::discriminant;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};
use shardc_ir::{CollectiveSpec, Dense, Module, Op, OpId, OpKind, RegionId, Rewriter, ValueId};
use smallvec::SmallVec;

use super::CleanOptions;
use crate::analysis::reducer::reduction_of;
use crate::analysis::regions::has_program_regions;

/// Merges equal operations in a function body and its nested regions. Returns the number of collectives removed.
pub(super) fn merge(module: &mut Module, body: RegionId, options: &CleanOptions) -> usize {
    let operations = module.regions[body].ops.len();
    let mut merger = Merger {
        rw: Rewriter::new(module),
        keep_bytes: options.keep_bytes,
        last: FxHashMap::with_capacity_and_hasher(operations, FxBuildHasher),
        seen: Vec::with_capacity(operations),
        merged: 0,
    };
    merger.visit(body);
    merger.merged
}

struct Merger<'m> {
    rw: Rewriter<'m>,
    keep_bytes: u64,
    /// Maps a [`key`] to the last operation that has this key, in this region or an enclosing one. The operation is given by its index in
    /// `seen` plus one; zero means none. Keys are hashes, to avoid copies of operations; operations with equal hashes are compared.
    last: FxHashMap<u64, u32>,
    /// The visited operations, in order.
    seen: Vec<Seen>,
    merged: usize,
}

/// An operation with which later equal operations may be merged.
struct Seen {
    key: u64,
    op: OpId,
    region: RegionId,
    /// The previous operation with the same key: its index in `seen` plus one, or zero.
    before: u32,
}

impl Merger<'_> {
    /// Visits a nested region.
    fn inner(&mut self, region: RegionId) {
        let outside = self.seen.len();
        self.visit(region);
        // The table is scoped, as in CSE over a dominator tree: operations in a region do not dominate operations after the region.
        for Seen { key, before, .. } in self.seen.drain(outside..).rev() {
            self.last.insert(key, before);
        }
    }

    fn visit(&mut self, region: RegionId) {
        self.rw.enter(region);
        while let Some(op) = self.rw.next_op() {
            if let Some(key) = key(self.rw.module, op) {
                if let Some(same) = self.find(key, op, region) {
                    self.merged += usize::from(self.rw.module.ops[op].kind.collective().is_some());
                    let results = self.rw.module.ops[same].results.clone();
                    self.rw.replace(&results);
                    continue;
                }
                let number = self.seen.len() as u32 + 1;
                let before = self.last.insert(key, number).unwrap_or(0);
                self.seen.push(Seen { key, op, region, before });
            }
            if self.rw.module.ops[op].regions.is_empty() {
                continue;
            }
            for inner in self.rw.module.ops[op].regions.clone() {
                if has_program_regions(&self.rw.module.ops[op].kind) {
                    self.inner(inner);
                } else {
                    self.rw.rewrite_under(inner);
                }
            }
        }
    }

    /// Returns an earlier operation that is equal to `op`, if there is one.
    fn find(&self, key: u64, op: OpId, region: RegionId) -> Option<OpId> {
        let module = &*self.rw.module;
        let is_collective = module.ops[op].kind.collective().is_some();
        // Reuse of a result from an enclosing region extends its live range, so its size is limited by `keep_bytes`.
        let bytes =
            || module.ops[op].results.iter().filter_map(|&v| module.tensor(v)?.num_bytes()).sum::<i64>();
        let at = |number: u32| self.seen.get(number.checked_sub(1)? as usize);
        let candidates = successors(at(*self.last.get(&key)?), |one| at(one.before));
        let fits = |place: RegionId| {
            place == region || is_collective && u64::try_from(bytes()).is_ok_and(|b| b <= self.keep_bytes)
        };
        candidates.filter(|one| fits(one.region)).map(|one| one.op).find(|&same| is_same(module, op, same))
    }
}

/// Hashes the properties that equal operations share; `None` for operations that are not merged.
fn key(module: &Module, op: OpId) -> Option<u64> {
    /// The maximum size in bytes of constants that are merged.
    const SMALL: usize = 64;
    let data = &module.ops[op];
    let is_collective = data.kind.collective().is_some();
    if !is_collective && (!module.is_pure(data) || has_program_regions(&data.kind)) {
        return None;
    }
    let mut hasher = FxHasher::default();
    data.kind.hash_places(&mut hasher);
    data.operands.hash(&mut hasher);
    for &result in &data.results {
        module.values[result].ty.hash(&mut hasher);
    }
    match &data.kind {
        OpKind::Constant(Dense::Elements(bytes)) if bytes.len() > SMALL => return None,
        OpKind::Constant(constant) => constant.hash(&mut hasher),
        _ => {}
    }
    Some(hasher.finish())
}

fn is_same(module: &Module, a: OpId, b: OpId) -> bool {
    let (one, other) = (&module.ops[a], &module.ops[b]);
    let types = |op: &Op| op.results.iter().map(|&v| module.values[v].ty).collect::<SmallVec<[_; 2]>>();
    if one.operands != other.operands || one.attrs != other.attrs || types(one) != types(other) {
        return false;
    }
    let same_kind = match (one.kind.collective(), other.kind.collective()) {
        (Some(x), Some(y)) => same_devices(x, y) && same_dims(&one.kind, &other.kind),
        _ => one.kind == other.kind,
    };
    same_kind && same_regions(module, one, other)
}

/// Whether the regions of two operations are equal.
fn same_regions(module: &Module, a: &Op, b: &Op) -> bool {
    let same = |(&one, &other): (&RegionId, &RegionId)| {
        same_reduction(module, one, other) || same_body(module, one, other)
    };
    a.regions.len() == b.regions.len() && a.regions.iter().zip(&b.regions).all(same)
}

fn same_reduction(module: &Module, one: RegionId, other: RegionId) -> bool {
    let [one, other] = [one, other].map(|region| reduction_of(module, region, 1));
    one.is_some() && one == other
}

/// Whether two regions have equal operations in the same order. Operations that have regions themselves never count as equal.
fn same_body(module: &Module, one: RegionId, other: RegionId) -> bool {
    let ty = |value: ValueId| module.values[value].ty;
    let mut value_in_other: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let mut match_up = |one: &[ValueId], other: &[ValueId]| {
        value_in_other.extend(one.iter().copied().zip(other.iter().copied()));
        one.len() == other.len() && one.iter().zip(other).all(|(&x, &y)| ty(x) == ty(y))
    };
    let (one, other) = (&module.regions[one], &module.regions[other]);
    if one.ops.len() != other.ops.len() || !match_up(&one.args, &other.args) {
        return false;
    }
    let mut pairs = one.ops.iter().zip(&other.ops).map(|(&x, &y)| (&module.ops[x], &module.ops[y]));
    let same_so_far = pairs.clone().all(|(x, y)| {
        x.kind == y.kind
            && x.attrs == y.attrs
            && x.regions.is_empty()
            && y.regions.is_empty()
            && match_up(&x.results, &y.results)
    });
    let there = |value: ValueId| value_in_other.get(&value).copied().unwrap_or(value);
    same_so_far && pairs.all(|(x, y)| x.operands.iter().map(|&v| there(v)).eq(y.operands.iter().copied()))
}

/// Whether two collectives have the same replica groups. Channel ids are ignored, since they always differ.
pub(super) fn same_devices(a: &CollectiveSpec, b: &CollectiveSpec) -> bool {
    a.channel.is_some() == b.channel.is_some() && CollectiveSpec { channel: b.channel, ..a.clone() } == *b
}

/// Whether two collectives have the same kind and dimensions.
pub(super) fn same_dims(a: &OpKind, b: &OpKind) -> bool {
    match (a, b) {
        (OpKind::AllGather { dim: x, .. }, OpKind::AllGather { dim: y, .. })
        | (OpKind::ReduceScatter { dim: x, .. }, OpKind::ReduceScatter { dim: y, .. }) => x == y,
        (
            OpKind::AllToAll { split_dim: s, concat_dim: c, split_count: n, .. },
            OpKind::AllToAll { split_dim, concat_dim, split_count, .. },
        ) => s == split_dim && c == concat_dim && n == split_count,
        _ => discriminant(a) == discriminant(b),
    }
}
