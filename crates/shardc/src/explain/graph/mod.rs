//! The graph of a program: its layers, with the values and collectives between them.
//!
//! The nodes are found in three steps, each linear in the size of the program:
//!
//! 1. The operations of a region are grouped around its *heavy* operations (contractions, reductions, loops, ...): an operation belongs to
//!    the last heavy operation before it. Operations that compute a result of the function are treated as heavy, so that the updates
//!    of an optimizer are separate.
//! 2. Repeated sequences of heavy operations with equal types are folded into one block ([`repeats`]): a layer that occurs 80 times is one
//!    node with 80 copies. Other sequences are split where the scope of the front end changes.
//! 3. The regions of loops and branches are handled in the same way.
//!
//! A block is named after its scope, or else after the arguments that its operations read, or else after its operations.

mod edges;
mod repeats;
mod scopes;

use indexmap::IndexSet;
use shardc_ir::{OpId, OpKind, RegionId, SecondaryMap, TypeId, ValueDef, ValueId, Work};
use shardc_passes::analysis::regions::has_program_regions;
use shardc_passes::analysis::trip_count::trips;
use shardc_passes::propagate::Subject;

use super::Explainer;
use super::report::{CollectiveReport, GraphNode, GraphReport};
use crate::Output;
use repeats::Run;
use scopes::{Scope, common_prefix, without_numbers};

/// The node of the arguments of the program.
const ARGUMENTS: usize = 0;
/// The node of the results of the program.
const RESULTS: usize = 1;

/// The maximum number of heavy operations of a block that is not repeated.
const BLOCK: usize = 24;

/// The maximum number of steps from an operand to the argument that it is computed from.
const TO_ARGUMENT: usize = 6;

/// The node of an operation, and the copy of the repeated block that the operation belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Home {
    node: u32,
    /// The node of the outermost repeated block in the region; [`ARGUMENTS`] if there is none.
    block: u32,
    copy: u32,
}

impl Home {
    fn of(node: usize) -> Home {
        Home { node: node as u32, block: ARGUMENTS as u32, copy: 0 }
    }
}

/// A heavy operation, while blocks are formed.
struct Anchor {
    op: OpId,
    scope: Scope,
    /// The name of an argument that the operation reads, or of the result that it computes.
    label: Option<String>,
    /// An argument that the operation reads.
    argument: Option<ValueId>,
}

struct Builder<'a, 'e> {
    explainer: &'a Explainer<'e>,
    nodes: Vec<GraphNode>,
    homes: SecondaryMap<OpId, Option<Home>>,
    /// The result of the entry function that an operation computes.
    results: SecondaryMap<OpId, Option<u32>>,
}

impl Explainer<'_> {
    /// The graph of the propagated program. Sets the nodes of the edge of each collective of the partitioned program.
    pub(super) fn graph(&self, output: Option<&Output>, collectives: &mut [CollectiveReport]) -> GraphReport {
        let mut builder = Builder::new(self);
        builder.all();
        let Builder { mut nodes, homes, .. } = builder;
        let edges = edges::between(self, &homes);
        if let Some(output) = output {
            edges::place_collectives(self, &homes, output, collectives);
        }
        nodes[ARGUMENTS].ops = self.module.regions[self.body].args.len();
        nodes[RESULTS].ops = self.num_results();
        GraphReport { nodes, edges }
    }
}

impl<'a, 'e> Builder<'a, 'e> {
    fn new(explainer: &'a Explainer<'e>) -> Self {
        let node = |kind: &str| GraphNode {
            kind: kind.to_owned(),
            name: kind.to_owned(),
            copies: 1,
            ..GraphNode::default()
        };
        let mut results = SecondaryMap::new();
        if let Some(end) = explainer.module.terminator(explainer.body) {
            for (i, &value) in explainer.module.ops[end].operands.iter().enumerate() {
                if let Some(op) = explainer.module.def_op(value) {
                    results[op] = Some(i as u32);
                }
            }
        }
        let nodes = vec![node("arguments"), node("results")];
        Builder { explainer, nodes, homes: SecondaryMap::new(), results }
    }

    /// Handles the body of the program and all nested regions.
    fn all(&mut self) {
        let mut todo = vec![(self.explainer.body, None)];
        while let Some((region, parent)) = todo.pop() {
            self.region(region, parent, &mut todo);
        }
    }

    fn region(&mut self, region: RegionId, parent: Option<usize>, todo: &mut Vec<(RegionId, Option<usize>)>) {
        let ops = &self.explainer.module.regions[region].ops;
        let anchors: Vec<Anchor> =
            ops.iter().filter(|&&op| self.is_heavy(op)).map(|&op| self.anchor(op)).collect();
        let tokens = self.tokens(&anchors);
        let mut homes = Vec::with_capacity(anchors.len());
        for run in self.blocks(&anchors, &tokens) {
            homes.extend(self.block(&anchors, &tokens, run, parent));
        }
        // Operations before the first heavy operation belong to it.
        let mut home = homes.first().copied().or(parent.map(Home::of));
        let mut next = anchors.iter().zip(&homes).peekable();
        for &op in ops {
            if let Some((_, &at)) = next.next_if(|(anchor, _)| anchor.op == op) {
                home = Some(at);
                self.nested(op, at, todo);
            }
            let end = matches!(self.explainer.module.ops[op].kind, OpKind::Return);
            self.homes[op] = match (end, parent) {
                (true, None) => Some(Home::of(RESULTS)),
                (true, Some(parent)) => Some(Home::of(parent)),
                (false, _) => home,
            };
            if let Some(home) = home {
                self.nodes[home.node as usize].ops += 1;
            }
        }
    }

    /// Schedules the regions of a loop or a branch. The regions of further copies of a folded block are not split into nodes.
    fn nested(&mut self, op: OpId, home: Home, todo: &mut Vec<(RegionId, Option<usize>)>) {
        let data = &self.explainer.module.ops[op];
        if home.copy == 0 && has_program_regions(&data.kind) {
            // A condition has only scalar operations.
            let skipped = usize::from(matches!(data.kind, OpKind::While));
            for &inner in data.regions.iter().take(skipped) {
                self.keep(inner, home);
            }
            todo.extend(data.regions.iter().skip(skipped).map(|&inner| (inner, Some(home.node as usize))));
        } else {
            for &inner in &data.regions {
                self.keep(inner, home);
            }
        }
    }

    fn keep(&mut self, region: RegionId, home: Home) {
        for op in self.explainer.module.walk(region) {
            self.homes[op] = Some(home);
        }
    }

    fn is_heavy(&self, op: OpId) -> bool {
        let data = &self.explainer.module.ops[op];
        let is_heavy = data.kind.def().work != Work::Light
            || !data.regions.is_empty()
            || data.collective_spec().is_some()
            || matches!(data.kind, OpKind::Gather(_) | OpKind::CustomCall(_));
        is_heavy || self.results[op].is_some()
    }

    fn anchor(&self, op: OpId) -> Anchor {
        let module = self.explainer.module;
        let loc = module.ops[op].loc.expand();
        let arguments = self.arguments(op);
        let label = arguments.iter().find_map(|&value| self.explainer.label(Subject::Value(value)));
        let result = || self.results[op].and_then(|i| self.explainer.label(Subject::Result(i)));
        Anchor {
            op,
            scope: loc.map_or(Scope::default(), |loc| Scope::of(&module.locs, loc)),
            label: label.or_else(result),
            // The left operand of a matmul is often the batch, and the right operand a parameter.
            argument: arguments.last().copied(),
        }
    }

    /// The arguments of the program that an operation reads, directly or through operations with one operand.
    fn arguments(&self, op: OpId) -> Vec<ValueId> {
        let module = self.explainer.module;
        let argument = |&operand: &ValueId| {
            let mut value = operand;
            for _ in 0..TO_ARGUMENT {
                match module.values[value].def() {
                    ValueDef::Arg(region, _) => return (region == self.explainer.body).then_some(value),
                    ValueDef::Result(op, _) => match module.ops[op].operands.as_slice() {
                        &[only] => value = only,
                        _ => return None,
                    },
                }
            }
            None
        };
        module.ops[op].operands.iter().filter_map(argument).collect()
    }

    /// Equal numbers for operations with equal names, scopes and types.
    fn tokens(&self, anchors: &[Anchor]) -> Vec<u32> {
        let module = self.explainer.module;
        let mut known: IndexSet<(String, String, Vec<TypeId>)> = IndexSet::new();
        let mut tokens = Vec::with_capacity(anchors.len());
        for anchor in anchors {
            let data = &module.ops[anchor.op];
            let types = data.operands.iter().chain(&data.results).map(|&v| module.values[v].ty).collect();
            let key = (data.kind.name().to_owned(), anchor.scope.key(), types);
            tokens.push(known.insert_full(key).0 as u32);
        }
        tokens
    }

    /// Splits heavy operations into repeated blocks, and blocks of operations between these. A loop is a block of its own.
    fn blocks(&self, anchors: &[Anchor], tokens: &[u32]) -> Vec<Run> {
        let part = |at: usize| {
            let Anchor { op, scope, .. } = &anchors[at];
            let is_loop = has_program_regions(&self.explainer.module.ops[*op].kind);
            (scope.parts.first(), scope.backward, is_loop.then_some(at))
        };
        let mut out = Vec::new();
        for run in repeats::runs(tokens) {
            if run.copies > 1 {
                out.push(run);
                continue;
            }
            let mut start = run.start;
            for at in run.start + 1..=run.start + run.period {
                let ends = at == run.start + run.period;
                if ends || at - start == BLOCK || part(at) != part(start) {
                    out.push(Run { start, period: at - start, copies: 1 });
                    start = at;
                }
            }
        }
        out
    }

    /// Adds the nodes of a block. Returns the homes of its heavy operations in all copies.
    ///
    /// The copies of a block may contain repeated blocks, which are found in the first copy. The recursion is at most logarithmic in the number
    /// of operations, because a block that is repeated has at most half of them.
    fn block(&mut self, anchors: &[Anchor], tokens: &[u32], run: Run, parent: Option<usize>) -> Vec<Home> {
        let range = run.start..run.start + run.period;
        let (anchors, tokens) = (&anchors[range.clone()], &tokens[range]);
        let copies = parent.map_or(1, |parent| self.nodes[parent].copies).saturating_mul(run.copies as u64);
        if run.period == 1 {
            let node = self.nodes.len();
            let leaf = self.leaf(&anchors[0], parent, copies);
            self.nodes.push(leaf);
            return repeated(vec![Home::of(node)], node, run.copies);
        }
        let block = self.nodes.len();
        self.nodes.push(GraphNode {
            parent,
            kind: "block".to_owned(),
            name: block_name(self.explainer, anchors, copies),
            copies,
            place: self.explainer.names.op_place(anchors[0].op),
            ..GraphNode::default()
        });
        let mut homes = Vec::with_capacity(run.period * run.copies);
        // A block that is not repeated contains no repeated blocks.
        let alone = Run { start: 0, period: run.period, copies: 1 };
        let inner = if run.copies > 1 { repeats::runs(tokens) } else { vec![alone] };
        for run in inner.into_iter().flat_map(Run::parts) {
            homes.extend(self.block(anchors, tokens, run, Some(block)));
        }
        repeated(homes, block, run.copies)
    }

    fn leaf(&self, anchor: &Anchor, parent: Option<usize>, copies: u64) -> GraphNode {
        let explainer = self.explainer;
        let data = &explainer.module.ops[anchor.op];
        let title = data.kind.title();
        let title = title.strip_prefix("stablehlo.").unwrap_or(&title).to_owned();
        let label = anchor.label.as_ref().map(|label| match copies {
            1 => label.clone(),
            _ => without_numbers(label),
        });
        let argument = || anchor.argument.map(|value| explainer.names.value(value));
        // The name of a block has the outermost scope of its operations.
        let is_in_block = parent.is_some_and(|parent| self.nodes[parent].kind == "block");
        let is_known = anchor.scope.parts.len() == 1 && is_in_block;
        let inner = anchor.scope.parts.last().filter(|_| !is_known).cloned();
        let details: Vec<String> = inner.into_iter().chain(label.or_else(argument)).collect();
        let subject = data.results.first().map(|&value| Subject::Value(value));
        let sharding = subject.and_then(|subject| explainer.sharding(subject));
        GraphNode {
            parent,
            kind: if has_program_regions(&data.kind) { "loop" } else { "operation" }.to_owned(),
            name: match details.is_empty() {
                true => title,
                false => format!("{title} ({})", details.join(", ")),
            },
            copies,
            trips: matches!(data.kind, OpKind::While).then(|| trips(explainer.module, anchor.op)),
            ty: subject.map(|subject| explainer.type_of(subject)),
            sharding: sharding.map(|s| s.display(&explainer.module.meshes[s.mesh])),
            ops: 0,
            place: explainer.names.op_place(anchor.op),
        }
    }
}

/// The homes of all copies of a block, from those of the first copy.
fn repeated(mut homes: Vec<Home>, block: usize, copies: usize) -> Vec<Home> {
    if copies == 1 {
        return homes;
    }
    let inner = homes.iter().map(|home| home.copy + 1).max().unwrap_or(1);
    for home in &mut homes {
        home.block = block as u32;
    }
    let first = homes.clone();
    for copy in 1..copies as u32 {
        homes.extend(first.iter().map(|home| Home { copy: home.copy + copy * inner, ..*home }));
    }
    homes
}

/// The name of a block; see the module documentation.
fn block_name(explainer: &Explainer<'_>, anchors: &[Anchor], copies: u64) -> String {
    let text = |text: &String| if copies > 1 { without_numbers(text) } else { text.clone() };
    let paths: Vec<String> = anchors.iter().map(|anchor| text(&anchor.scope.parts.join("/"))).collect();
    let backward = if anchors.iter().any(|anchor| anchor.scope.backward) { " (backward)" } else { "" };
    if let Some(scope) = common_prefix(&paths) {
        return format!("{scope}{backward}");
    }
    let labels: Vec<String> = anchors.iter().filter_map(|a| a.label.as_ref()).map(text).collect();
    if let Some(label) = common_prefix(&labels).filter(|_| labels.len() > 1) {
        return label;
    }
    let mut kinds: indexmap::IndexMap<String, usize> = indexmap::IndexMap::new();
    for anchor in anchors {
        let title = explainer.module.ops[anchor.op].kind.title();
        *kinds.entry(title.strip_prefix("stablehlo.").unwrap_or(&title).to_owned()).or_default() += 1;
    }
    kinds.sort_by(|_, a, _, b| b.cmp(a));
    let counted = |(kind, count): (&String, &usize)| match count {
        1 => kind.clone(),
        count => format!("{count} {kind}"),
    };
    let shown: Vec<String> = kinds.iter().take(3).map(counted).collect();
    let more = if kinds.len() > 3 { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests;
