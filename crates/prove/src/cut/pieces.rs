//! Pairs with one output, in which values of the original are arguments.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};
use shardc_ir::{EntityRef, Module, OpId, ValueDef, ValueId};

use super::Pair;
use super::extract::{extract, reached};
use super::relations::{Relation, relations, values};
use crate::Options;
use crate::boundary::{Block, Boundary};
use crate::check::{Both, evaluated};
use crate::terms::{Op, TermId, View};

/// A value of the partition that should be a block of a value of the original.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) global: ValueId,
    pub(crate) local: ValueId,
    pub(crate) block: Block,
    /// Whether it is an output of the programs.
    pub(crate) is_output: bool,
}

/// The most operations that all devices of a pair run together, not counting repetitions.
const MOST_OPERATIONS: u64 = 1 << 20;
/// How often values are excluded from the arguments.
const MOST_TRIES: usize = 16;

/// The first pair that `judge` accepts: for each target the pair with cuts, then for each the pair that only has fewer outputs.
pub(crate) fn find(
    both: &Both<'_, '_>,
    targets: &[Target],
    options: &Options,
    judge: impl Fn(Pair) -> Option<Pair>,
) -> Option<Pair> {
    let relations = relations(both);
    let with_cuts = targets.iter().filter_map(|target| consistent(both, target, &relations, options));
    let none = FxHashMap::default();
    let without = targets.iter().filter_map(|target| pair(both, target, &none)).map(|piece| piece.pair);
    with_cuts.chain(without).find_map(judge)
}

/// The pair with cuts. A value that is an argument is no longer related to its operands. So both programs must use it, or else one of them
/// may compute from its operands what the other computes from it. All values inside the partition that had a relation must have one in the
/// pair.
fn consistent(
    both: &Both<'_, '_>,
    target: &Target,
    relations: &FxHashMap<TermId, Relation>,
    options: &Options,
) -> Option<Pair> {
    let mut relations = relations.clone();
    for _ in 0..MOST_TRIES {
        let Piece { pair, ops, one_sided } = pair(both, target, &relations)?;
        if !one_sided.is_empty() {
            one_sided.iter().for_each(|term| {
                relations.remove(term);
            });
            continue;
        }
        let quick = Options { certificate: None, ..options.clone() };
        let broken = evaluated(&pair.original, &pair.partitioned, &pair.boundary, &quick, |cut| {
            let module = cut.eval.module;
            let pairs = module.regions[cut.body].ops.iter().zip(&ops);
            let results = |&(&new, &old): &(&OpId, &OpId)| {
                let news = module.ops[new].results.clone();
                news.into_iter().zip(both.eval.module.ops[old].results.clone())
            };
            let is_original = |both: &Both<'_, '_>, value: ValueId| {
                both.eval.values[value.index()].as_ref().is_some_and(|view| both.eval.is_original(view))
            };
            let lost = |&(new, old): &(ValueId, ValueId)| is_original(both, old) && !is_original(&cut, new);
            let broken = pairs.flat_map(|pair| results(&pair)).filter(lost);
            broken
                .filter_map(|(_, old)| both.eval.values[old.index()].as_ref().map(|view| view.term))
                .collect::<Vec<_>>()
        });
        let broken = broken.ok()?;
        if broken.is_empty() {
            return Some(pair);
        }
        let before = relations.len();
        broken.iter().for_each(|term| {
            relations.remove(term);
        });
        if relations.len() == before {
            return None;
        }
    }
    None
}

/// Whether a value has the view and the type of another.
fn is_equal(module: &Module, values: &[Option<View>], one: ValueId, two: ValueId) -> bool {
    module.values[one].ty == module.values[two].ty && values[one.index()] == values[two.index()]
}

/// A pair that is a part of another.
struct Piece {
    pair: Pair,
    /// For each operation of its partition, the operation that it is a copy of.
    ops: Vec<OpId>,
    /// The terms that are arguments, are no parameters, and that only one of the programs uses.
    one_sided: Vec<TermId>,
}

/// The pair with this output, in which related values are arguments.
fn pair(both: &Both<'_, '_>, target: &Target, relations: &FxHashMap<TermId, Relation>) -> Option<Piece> {
    let (original, module) = (both.original, both.eval.module);
    let mut hits: [IndexSet<TermId, FxBuildHasher>; 2] = Default::default();
    let related = |views: &[Option<View>], value: ValueId| {
        let term = views[value.index()].as_ref()?.term;
        relations.get(&term).map(|relation| (term, relation))
    };
    let (global_ops, mut params) = reached(original, &[target.global], |value| {
        let found = related(&both.views, value)
            .filter(|(_, relation)| is_equal(original, &both.views, value, relation.global));
        hits[0].extend(found.map(|(term, _)| term));
        found.is_some()
    })?;
    let (local_ops, more) = reached(module, &[target.local], |value| {
        let found = related(&both.eval.values, value)
            .filter(|(_, relation)| is_equal(module, &both.eval.values, value, relation.local));
        hits[1].extend(found.map(|(term, _)| term));
        found.is_some() && value != target.local
    })?;
    let devices = both.boundary.device_ids.len() as u64;
    if global_ops.len() as u64 + (local_ops.len() as u64).saturating_mul(devices) > MOST_OPERATIONS {
        return None;
    }
    // Parameters of which no relation is known have the blocks of the boundary.
    let number = |module: &Module, value: ValueId| match module.values[value].def() {
        ValueDef::Arg(_, at) => Some(at as usize),
        ValueDef::Result(..) => None,
    };
    let global_params = original.regions[original.funcs[original.entry()?].body?].args.clone();
    let local_params = module.regions[both.body].args.clone();
    let mut numbers: Vec<usize> = params.drain(..).filter_map(|value| number(original, value)).collect();
    numbers.extend(more.into_iter().filter_map(|value| number(module, value)));
    numbers.sort_unstable();
    numbers.dedup();
    let mut args: IndexMap<(ValueId, ValueId), Block, FxBuildHasher> = IndexMap::default();
    for at in numbers {
        let key = (*global_params.get(at)?, *local_params.get(at)?);
        args.insert(key, both.boundary.inputs.get(at)?.clone());
    }
    for relation in hits[0].union(&hits[1]).filter_map(|term| relations.get(term)) {
        args.insert((relation.global, relation.local), relation.block.clone());
    }
    args.sort_by(|one, _, two, _| one.cmp(two));
    let body = original.funcs[original.entry()?].body?;
    let same = |module: &Module, views: &[Option<View>], all: Vec<ValueId>, value: ValueId| {
        let mut list = vec![value];
        if related(views, value).is_some() {
            list.extend(
                all.into_iter().filter(|&other| other != value && is_equal(module, views, other, value)),
            );
        }
        list
    };
    let keys: Vec<(ValueId, ValueId)> = args.keys().copied().collect();
    let globals: Vec<Vec<ValueId>> = keys
        .iter()
        .map(|&(global, _)| same(original, &both.views, values(original, body).collect(), global))
        .collect();
    let locals: Vec<Vec<ValueId>> = keys
        .iter()
        .map(|&(_, local)| same(module, &both.eval.values, values(module, both.body).collect(), local))
        .collect();
    let global = extract(original, &globals, &[target.global])?;
    let local = extract(module, &locals, &[target.local])?;
    let boundary = Boundary {
        are_partitions: both.boundary.are_partitions,
        device_ids: both.boundary.device_ids.clone(),
        inputs: args.into_values().collect(),
        outputs: vec![target.block.clone()],
    };
    let pair =
        Pair { original: global.module, partitioned: local.module, boundary, is_output: target.is_output };
    let is_param = |term: &TermId| matches!(both.eval.terms.node(*term).op, Op::Param(_));
    let [one, two] = &hits;
    let one_sided = one.symmetric_difference(two).copied().filter(|term| !is_param(term)).collect();
    Some(Piece { pair, ops: local.ops, one_sided })
}
