//! Counter-examples: the smallest pair of programs that still shows a difference.
//!
//! A pair is cut in three ways, until none makes it smaller:
//!
//! 1. One output is kept. It may be a value inside both programs: if the assumption that a value of the partition is a block of a value of
//!    the original proves an output, the difference is before that value (`targets`).
//! 2. Values of the partition that are blocks of values of the original become arguments of both programs (`relations`, `pieces`).
//! 3. Dimensions along which all operations are independent, or only sum products, get smaller (`sizes`).
//!
//! No step is trusted: a smaller pair is used only if the test in exact arithmetic finds a difference in it.
//!
//! ## What a difference of a smaller pair means
//!
//! The arguments of a cut pair are arbitrary, while in the entire programs they are values that other arguments determine. So a difference
//! in the pair says that the operations of the partition compute another function than those of the original. It does not say that an
//! output of the entire partition differs: later operations may ignore the element.

mod difference;
mod extract;
mod inline;
mod linked;
mod pieces;
mod relations;
mod sizes;
mod targets;

use shardc_ir::{Interrupt, Module, verify};

pub use self::difference::{Argument, Difference};
use crate::Options;
use crate::boundary::Boundary;
use crate::check::{directly, evaluated};
use crate::exact::{Failure, Test};
use crate::report::{Error, Place, Verdict};

/// Two programs, and the blocks of the inputs and outputs of the second.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) original: Module,
    pub(crate) partitioned: Module,
    pub(crate) boundary: Boundary,
    /// Whether the output is an output of the entire program, and not a value inside.
    pub(crate) is_output: bool,
}

/// A pair of programs with a difference.
#[derive(Clone, Debug)]
pub struct CounterExample {
    /// The program on global values.
    pub original: Module,
    /// The partitioned program.
    pub partitioned: Module,
    /// The blocks of their inputs and outputs.
    pub boundary: Boundary,
    /// Whether its output is an output of the entire partition. Otherwise it is a value inside: if it were the block of the original's value
    /// that the boundary states, outputs of the partition would be proven.
    pub is_output: bool,
    /// One element that differs; `None` if the devices wait for each other without end.
    pub difference: Option<Difference>,
}

/// The most rounds of cuts.
const MOST_ROUNDS: usize = 16;

impl Pair {
    /// The number of operations of both programs, then the number of elements of arguments and results.
    fn size(&self) -> (usize, u64) {
        let blocks = self.boundary.inputs.iter().chain(&self.boundary.outputs);
        let elements =
            blocks.map(|block| block.global.iter().fold(1u64, |all, &size| all.saturating_mul(size)));
        (count(&self.original) + count(&self.partitioned), elements.fold(0, u64::saturating_add))
    }
}

fn count(module: &Module) -> usize {
    module.bodies().map(|body| module.walk(body).len()).sum()
}

/// Finds differences by running programs.
struct Judge<'o> {
    work: u64,
    interrupt: &'o Interrupt,
}

impl Judge<'_> {
    /// Whether a pair has a difference, or a deadlock.
    fn differs(&self, pair: &Pair) -> bool {
        if verify(&pair.original).is_err() || verify(&pair.partitioned).is_err() {
            return false;
        }
        let Ok(test) = Test::new(&pair.original, &pair.boundary, self.work, self.interrupt) else {
            return false;
        };
        match test.run(&pair.partitioned) {
            Ok(results) => test.differences(&results).is_ok_and(|found| !found.is_empty()),
            Err(Failure::Deadlock(_)) => true,
            Err(Failure::NotRun(_)) => false,
        }
    }

    /// The pair with smaller dimensions if it has a difference, or else the pair itself if it has one.
    fn smallest(&self, pair: Pair) -> Option<Pair> {
        let found = sizes::smaller(&pair).into_iter().find(|smaller| self.differs(smaller));
        found.or_else(|| self.differs(&pair).then_some(pair))
    }
}

/// Makes the smallest pair that it can find in which the partition differs. `None` if no difference is found.
///
/// # Errors
/// As for [`prove`](crate::prove()).
pub fn counter_example(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
) -> Result<Option<CounterExample>, Error> {
    let Some(work) = options.test_work else { return Ok(None) };
    let judge = Judge { work, interrupt: &options.interrupt };
    let Some(pair) = cut(original, partitioned, boundary, options, &judge)? else { return Ok(None) };
    let Pair { original, partitioned, boundary, is_output } = pair;
    // The check that users make.
    let quick = Options { certificate: None, ..options.clone() };
    if directly(&original, &partitioned, &boundary, &quick)?.verdict != Verdict::Refuted {
        return Ok(None);
    }
    let difference = difference::find(&original, &partitioned, &boundary, work, &options.interrupt);
    Ok(Some(CounterExample { original, partitioned, boundary, is_output, difference }))
}

/// Cuts a pair until no cut makes it smaller.
fn cut(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
    judge: &Judge<'_>,
) -> Result<Option<Pair>, Error> {
    let mut pair = Pair {
        original: inline::flat(original),
        partitioned: inline::flat(partitioned),
        boundary: boundary.clone(),
        is_output: true,
    };
    let mut has_difference = false;
    for _ in 0..MOST_ROUNDS {
        options.interrupt.check().map_err(Error::Interrupted)?;
        let size = pair.size();
        let is_output = pair.is_output;
        let accept = |candidate: Pair| {
            let candidate = Pair { is_output: candidate.is_output && is_output, ..candidate };
            (candidate.size() < size || !has_difference).then(|| judge.smallest(candidate)).flatten()
        };
        let found = evaluated(&pair.original, &pair.partitioned, &pair.boundary, options, |mut both| {
            let targets = targets::targets(&mut both);
            pieces::find(&both, &targets, options, accept)
        })?;
        match found {
            Some(found) => (pair, has_difference) = (found, true),
            None => break,
        }
    }
    Ok(has_difference.then_some(pair))
}

/// For programs that cannot be run: the place of a value inside that differs. `None` if no difference is found.
///
/// # Errors
/// As for [`prove`](crate::prove()).
pub(crate) fn intermediate(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
) -> Result<Option<Place>, Error> {
    let Some(work) = options.test_work else { return Ok(None) };
    let judge = Judge { work, interrupt: &options.interrupt };
    let Some(pair) = cut(original, partitioned, boundary, options, &judge)? else { return Ok(None) };
    let module = &pair.partitioned;
    let body = module.entry().and_then(|entry| module.funcs[entry].body);
    let end = body.and_then(|body| module.terminator(body));
    let value = end.and_then(|end| module.ops[end].operands.first()).copied();
    let op = value.and_then(|value| module.def_op(value));
    let counts = [&pair.original, module].map(|module| linked::ops(module).count() - 1);
    Ok(Some(Place {
        operation: op.map_or("return", |op| module.ops[op].kind.name()).to_owned(),
        span: op.map_or(shardc_ir::Span::NONE, |op| module.ops[op].span),
        location: op.and_then(|op| module.user_loc(op)),
        found: format!(
            "another function of its arguments than in the original (arguments: {}, operations: {} in place of {})",
            pair.boundary.inputs.len(),
            counts[1],
            counts[0],
        ),
        needed: "a block of the value of the original".to_owned(),
        outputs: Vec::new(),
    }))
}
