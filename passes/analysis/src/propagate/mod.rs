//! Sharding propagation: derives a sharding for every value from a few annotations.
//!
//! The algorithm is Shardy's factor propagation. The sharding rule of each operation maps dimensions to factors; shardings are projected
//! onto factors, propagated along them, and projected back, until a fixed point. The nesting, from inside to outside, is: conflict
//! resolution within an operation ([`PropagationStrategy`]), a schedule of operations by class (`schedule`), and user priorities (`p0`
//! before `p1`), which determine the visible annotations. The result equals that of Shardy, and so does the visiting order of operations
//! where it matters.
//!
//! [`propagate`] is the compiler's entry point. It first copies constants for each use and applies sharding constraints to their
//! operands; afterwards every value that can have a sharding has one, with all dimensions closed. [`propagate_module`] is the algorithm
//! alone, on all functions of a module.

mod conflict;
mod conflicts;
mod constants;
mod constraints;
mod debug;
mod dimension_classes;
mod engine;
mod factors;
mod finish;
mod flow;
mod graph;
mod groups;
mod manual;
mod prepare;
mod priority;
pub mod projection;
mod provenance;
mod schedule;
mod subjects;

pub use crate::sharding::sub_axes::overlaps;
pub use conflict::{Conflict, Reason, Winner};
pub use debug::DebugOptions;
pub use dimension_classes::DimensionClasses;
pub use factors::PropagationStrategy;
pub use finish::whole_axes;
pub use groups::check as check_groups;
pub use provenance::{Arrival, Cause, Chain, Provenance, Round};
pub use subjects::{AnnotationSource, AxisRole, Subject};

use shardc_ir::{Diagnostic, FuncId, Interrupt, Module, OpId, RegionId, ValueId};

use crate::analysis::call_graph;
use crate::rules::{RuleOptions, RuleSet};
use crate::sharding::map;
use engine::Engine;
use factors::Direction;
use flow::Parents;
use graph::Graph;
use prepare::Kinds;
use schedule::{LEVELS, Profile};

/// Propagation options. The default is Shardy's.
#[derive(Clone, Debug)]
pub struct PropagateOptions {
    /// The strategies for conflicts within an operation, from first to last, each to a fixed point.
    pub strategies: &'static [PropagationStrategy],
    /// Whether to use op-priority propagation (for example, elementwise operations before products). If not, all operations have the same
    /// priority.
    pub op_priority: bool,
    /// Whether annotations propagate in the order of their user priorities. If not, all annotations have the same priority.
    pub user_priority: bool,
    /// If true, no sub-axis is propagated, and no axis is propagated along a dimension that the axis may not divide (Shardy's conservative
    /// propagation).
    pub conservative: bool,
    /// The set of operations that have sharding rules.
    pub rules: RuleSet,
    /// Whether to record the origin of each axis ([`PropagateReport::provenance`]).
    pub provenance: bool,
    /// Which of Shardy's debugging attributes to write.
    pub debug: DebugOptions,
    /// A check that may end propagation early; the shardings are then not final.
    pub interrupt: Interrupt,
}

impl Default for PropagateOptions {
    fn default() -> Self {
        PropagateOptions {
            strategies: &[PropagationStrategy::Aggressive],
            op_priority: true,
            user_priority: true,
            conservative: false,
            rules: RuleSet::default(),
            provenance: false,
            debug: DebugOptions::default(),
            interrupt: Interrupt::default(),
        }
    }
}

impl PropagateOptions {
    fn rule_options(&self) -> RuleOptions {
        RuleOptions { conservative: self.conservative, set: self.rules }
    }
}

/// The results of propagation, apart from the shardings.
#[derive(Clone, Debug, Default)]
pub struct PropagateReport {
    /// The number of times that propagation visited an operation.
    pub visits: u64,
    /// The number of times that the sharding of a value changed.
    pub updates: u64,
    /// The origins of axes, if requested.
    pub provenance: Option<Box<Provenance>>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Warnings about function results that must be gathered, because axes do not divide their dimensions.
    pub uneven_results: Vec<Diagnostic>,
}

/// Propagates the shardings of the entry function to every value in it.
///
/// Afterwards each tensor value that can have a sharding, and each function result, has a closed sharding without priorities in
/// [`Module::shardings`]. An argument that is donated to a result (`tf.aliasing_output`) has the sharding of that result, unless both are
/// annotated differently. Nothing propagates through a call, so calls should be inlined first (see
/// [`inline_calls`](crate::transforms::inline::inline_calls)).
///
/// # Errors
/// Returns an error if there is no entry function with a body, or if a sharding does not fit its tensor or mesh.
pub fn propagate(
    module: &mut Module,
    options: &PropagateOptions,
) -> Result<PropagateReport, Vec<Diagnostic>> {
    let prepared = prepare(module, options)?;
    Ok(propagate_prepared(module, &prepared, options))
}

/// Prepares the entry function for propagation: copies constants for each use, and applies constraints to their operands.
///
/// # Errors
/// Returns the same errors as [`propagate`].
pub fn prepare(module: &mut Module, options: &PropagateOptions) -> Result<Prepared, Vec<Diagnostic>> {
    let Some(func) = module.entry().filter(|&f| module.funcs[f].body.is_some()) else {
        return Err(vec![Diagnostic::invalid("SH0801", "the module has no entry function with a body")]);
    };
    prepare_func(module, func, options)
}

/// Propagates the shardings of one function, as [`propagate`] does for the entry function.
///
/// # Errors
/// Returns an error if the function has no body, or if a sharding does not fit its tensor or mesh.
pub fn propagate_func(
    module: &mut Module,
    func: FuncId,
    options: &PropagateOptions,
) -> Result<PropagateReport, Vec<Diagnostic>> {
    let prepared = prepare_func(module, func, options)?;
    Ok(propagate_prepared(module, &prepared, options))
}

/// A function that is ready for propagation, and the results of the preparation. They do not depend on the priorities of annotations.
pub struct Prepared {
    func: FuncId,
    body: RegionId,
    kinds: Kinds,
    copies: constants::Copies,
    applied: Vec<(ValueId, AnnotationSource)>,
    parents: Parents,
    graph: Graph,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("func", &self.func).finish_non_exhaustive()
    }
}

/// Prepares one function for propagation: copies constants for each use, and applies constraints to their operands.
///
/// # Errors
/// Returns the same errors as [`propagate_func`].
fn prepare_func(
    module: &mut Module,
    func: FuncId,
    options: &PropagateOptions,
) -> Result<Prepared, Vec<Diagnostic>> {
    let body = body_of(module, func)?;
    let kinds = prepare::check(module, func, body)?;
    drop_size_one_axes(module, func);
    // Constants are copied before the graph is built, since copies of a constant are separate values in the graph.
    let copies = constants::split(module, func, body, &mut constants::Known::default());
    if kinds.manual {
        manual::name_all_manual_axes(module, body);
    }
    let applied = if kinds.manual || kinds.constraints {
        constraints::apply(module, &[body], constraints::Flow::Implied)
    } else {
        Vec::new()
    };
    if options.debug.edges {
        debug::write_constraints(module, &applied);
    }
    let parents = Parents::new(module, body);
    let graph = PropagationScope::Func(func, body).graph(module, &parents, options.rule_options());
    Ok(Prepared { func, body, kinds, copies, applied, parents, graph })
}

/// Propagates the shardings of a function that [`prepare()`] prepared, or of a copy of it with other priorities.
pub fn propagate_prepared(
    module: &mut Module,
    prepared: &Prepared,
    options: &PropagateOptions,
) -> PropagateReport {
    let &Prepared { func, body, kinds, .. } = prepared;
    let scope = PropagationScope::Func(func, body);
    let mut solved = solve(module, &scope, &prepared.parents, &prepared.graph, &prepared.applied, options);
    let Solved { opened, given, shardings, report } = &mut solved;
    let graph = opened.as_ref().unwrap_or(&prepared.graph);
    let agreed = finish::write_back(module, func, body, graph, given, shardings, &mut report.uneven_results);
    if kinds != Kinds::default() {
        finish::write_ops(module, body);
    }
    if let Some(provenance) = &mut solved.report.provenance {
        for (to, from, sharding) in agreed {
            provenance.donate(module, to, from, sharding);
        }
    }
    constants::merge(module, body, &prepared.copies);
    solved.report
}

/// Propagates in all functions of a module at once, as Shardy's passes do, without preparation. Data flows between functions and through
/// regions only along edges (`sdy.data_flow_edge`, `sdy.func_data_flow_edge`). Values that no axis reaches are unchanged. Shardings of
/// other values stay open where further axes could be added.
///
/// Only the results of `main`, or of the only function, take part in propagation.
///
/// # Errors
/// Returns an error if a sharding does not fit its tensor or mesh, or if the shape of a tensor is not static.
pub fn propagate_module(
    module: &mut Module,
    options: &PropagateOptions,
) -> Result<PropagateReport, Vec<Diagnostic>> {
    for (func, data) in &module.funcs {
        if let Some(body) = data.body {
            prepare::check(module, func, body)?;
            prepare::check_shapes(module, body)?;
        }
    }
    let only = || module.funcs.keys().next().filter(|_| module.funcs.len() == 1);
    let main = module.func_names.get("main").copied().or_else(only);
    let main = main.and_then(|func| Some((func, module.funcs[func].body?)));
    let parents = Parents::of_module(module);
    let scope = PropagationScope::Module(main);
    let graph = scope.graph(module, &parents, options.rule_options());
    let solved = solve(module, &scope, &parents, &graph, &[], options);
    finish::write_changed(
        module,
        main.map(|(func, _)| func),
        solved.opened.as_ref().unwrap_or(&graph),
        &solved.given,
        &solved.shardings,
    );
    if options.user_priority {
        priority::forget_of_results(module);
    }
    Ok(solved.report)
}

/// Removes axes of size 1 from every sharding of a function, since they shard nothing.
pub fn drop_size_one_axes(module: &mut Module, func: FuncId) {
    if module.meshes.values().any(|mesh| mesh.axes.values().any(|&n| n == 1)) {
        map::map_func(module, func, &mut |module, s| prepare::without_trivial_axes(module, s));
    }
}

/// Copies constants and broadcasts of scalars for each of their uses, in every function.
///
/// # Errors
/// Returns an error if a function is recursive, or if a callee does not exist.
pub fn split_constants(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    crate::transforms::inline::check_calls(module)?;
    let mut known = constants::Known::default();
    for func in call_graph::callees_first(module) {
        if let Some(body) = module.funcs[func].body {
            constants::split(module, func, body, &mut known);
        }
    }
    Ok(())
}

/// Applies sharding constraints to their operands if no other sharding contradicts. Data flows through regions along `sdy.data_flow_edge`
/// operations. Returns the operations whose sharding was applied to an operand.
pub fn apply_sharding_constraints(module: &mut Module, debug: DebugOptions) -> Vec<OpId> {
    let bodies: Vec<RegionId> = module.bodies().collect();
    let given = constraints::apply(module, &bodies, constraints::Flow::Edges);
    if debug.edges {
        debug::write_constraints(module, &given);
    }
    given.iter().filter_map(|(_, annotation)| annotation.op()).collect()
}

/// For each in- and out-sharding of a manual computation, adds every manual axis that the sharding does not use to the sharding's
/// replicated axes.
pub fn name_manual_axes(module: &mut Module, func: FuncId) {
    if let Some(body) = module.funcs[func].body {
        manual::name_all_manual_axes(module, body);
    }
}

/// Closes every dimension of every sharding of a function, and removes replicated axes. Sharded dimensions keep their priorities.
pub fn close_shardings(module: &mut Module, func: FuncId) {
    map::map_func(module, func, &mut |_, sharding| {
        let mut closed = sharding.closed();
        for (dim, before) in closed.dims.iter_mut().zip(&sharding.dims) {
            dim.priority = before.priority.filter(|_| !dim.axes.is_empty());
        }
        closed
    });
}

/// For each dimension of an argument or result of a function or manual computation, keeps the longest prefix of its axes whose total size
/// divides the dimension's size.
pub fn keep_dividing_axes(module: &mut Module, func: FuncId) {
    if let Some(body) = module.funcs[func].body {
        finish::keep_dividing_axes(module, func, body);
    }
}

fn body_of(module: &Module, func: FuncId) -> Result<RegionId, Vec<Diagnostic>> {
    let data = &module.funcs[func];
    data.body.ok_or_else(|| {
        vec![Diagnostic::invalid("SH0801", format!("function @{} has no body", data.name)).at(data.span)]
    })
}

/// The scope of one propagation run.
enum PropagationScope {
    /// A function without calls, with implied data flow.
    Func(FuncId, RegionId),
    /// All functions, with data flow along edges; the results of the given function take part in propagation.
    Module(Option<(FuncId, RegionId)>),
}

impl PropagationScope {
    /// Returns the function whose results take part in propagation, if there is one.
    fn main(&self) -> Option<FuncId> {
        match *self {
            PropagationScope::Func(func, _) => Some(func),
            PropagationScope::Module(main) => main.map(|(func, _)| func),
        }
    }

    fn parents(&self, module: &Module) -> Parents {
        match *self {
            PropagationScope::Func(_, body) => Parents::new(module, body),
            PropagationScope::Module(_) => Parents::of_module(module),
        }
    }

    fn graph(&self, module: &Module, parents: &Parents, rules: RuleOptions) -> Graph {
        match *self {
            PropagationScope::Func(func, body) => Graph::of_func(module, func, body, parents, rules),
            PropagationScope::Module(main) => Graph::of_module(module, main, parents, rules),
        }
    }
}

/// The result of a propagation run: the initial and final sharding of each slot (values that share a sharding).
struct Solved {
    /// The new graph, if constraints were inserted for sharding groups whose members disagreed.
    opened: Option<Graph>,
    given: Vec<u32>,
    shardings: Vec<u32>,
    report: PropagateReport,
}

fn solve(
    module: &mut Module,
    scope: &PropagationScope,
    parents: &Parents,
    graph: &Graph,
    applied: &[(ValueId, AnnotationSource)],
    options: &PropagateOptions,
) -> Solved {
    let mut given = prepare::initial_shardings(module, scope.main(), graph, parents);
    let mut shardings = given.clone();
    let conflicts = groups::join(module, graph, &mut shardings);
    let mut warnings = Vec::new();
    let mut opened = None;
    if !conflicts.is_empty() {
        warnings = groups::open(module, parents, &conflicts);
        let parents = scope.parents(module);
        let graph = scope.graph(module, &parents, options.rule_options());
        given = prepare::initial_shardings(module, scope.main(), &graph, &parents);
        shardings.clone_from(&given);
        // Values that disagreed have left the group: it now consists of the results of open constraints, so its members get one sharding.
        groups::join(module, &graph, &mut shardings);
        opened = Some((parents, graph));
    }
    let (parents, graph) = opened.as_ref().map_or((parents, graph), |(parents, graph)| (parents, graph));
    let recorder = (options.provenance || options.debug.any()).then(|| {
        let mut recorder = prepare::annotations(module, graph, &given, parents, applied);
        recorder.joined(module, graph, &given, &shardings);
        recorder.log = options.debug.any().then(Default::default);
        Box::new(recorder)
    });
    let mut engine = Engine::new(module, graph, shardings);
    engine.recorder = recorder;
    engine.interrupt = options.interrupt.clone();
    engine.report.warnings = warnings;
    let priorities = if options.user_priority { priority::begin(&mut engine) } else { Vec::new() };
    // User priorities enclose operation priorities, which enclose strategies, each until a fixed point. This is the nesting of Shardy's
    // passes.
    run_levels(&mut engine, options, 0);
    for level in &priorities {
        level.release(&mut engine);
        run_levels(&mut engine, options, level.number());
    }
    // Aliases are propagated last, so that a program whose aliased pairs already agree gets the same result as in Shardy.
    for &strategy in options.strategies {
        // The loop terminates, since propagation only adds axes to shardings.
        while engine.aliases(strategy) {
            run_level(&mut engine, options, LEVELS - 1);
        }
    }
    let Engine { shardings, mut report, mut recorder, .. } = engine;
    let log = recorder.as_mut().and_then(|recorder| recorder.log.take());
    if let Some(log) = log {
        let subject = debug::Subject {
            graph,
            given: &given,
            shardings: &shardings,
            main: scope.main(),
            has_edges: matches!(scope, PropagationScope::Module(_)),
        };
        log.write(module, &subject, options.debug);
    }
    report.provenance = recorder.filter(|_| options.provenance).map(|recorder| {
        let conflicts = conflicts::find(module, graph, &shardings, &recorder, options.op_priority);
        Box::new(recorder.finish(conflicts, &shardings))
    });
    Solved { opened: opened.map(|(_, graph)| graph), given, shardings, report }
}

fn run_levels(engine: &mut Engine<'_>, options: &PropagateOptions, priority: u32) {
    let levels = if options.op_priority { 0..LEVELS } else { 0..1 };
    for level in levels {
        if let Some(recorder) = &mut engine.recorder {
            recorder.round = Round { priority, level };
        }
        run_level(engine, options, level);
    }
}

fn run_level(engine: &mut Engine<'_>, options: &PropagateOptions, level: u8) {
    for &strategy in options.strategies {
        engine.run(strategy, &|node| match node.class {
            schedule::OpClass::Fixed(direction) => Profile::All(direction),
            class if options.op_priority => class.profile(level),
            _ => Profile::All(Direction::Both),
        });
    }
}
