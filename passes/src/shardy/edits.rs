//! Operations that are to go between those that are there.
//!
//! Nothing moves while a pass looks at operations; all that is new goes to its place at the end. What is put right
//! behind a value later stands before what was put there earlier.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, RegionId, ValueDef, ValueId};

/// A place to put operations, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cursor {
    /// Before an operation.
    Before(OpId),
    /// After an operation, with so many of the operations there before.
    After(OpId, usize),
    /// At the start of a region, with so many of the operations there before.
    Start(RegionId, usize),
}

/// What is new.
#[derive(Debug, Default)]
pub(super) struct Edits {
    before: FxHashMap<OpId, Vec<OpId>>,
    after: FxHashMap<OpId, Vec<OpId>>,
    start: FxHashMap<RegionId, Vec<OpId>>,
}

impl Edits {
    /// Right behind where a value comes from.
    pub(super) fn behind(module: &Module, value: ValueId) -> Cursor {
        match module.values[value].def {
            ValueDef::Result(op, _) => Cursor::After(op, 0),
            ValueDef::Arg(region, _) => Cursor::Start(region, 0),
        }
    }

    /// Puts an operation at a place; the next one comes behind it.
    pub(super) fn insert(&mut self, at: &mut Cursor, op: OpId) {
        match at {
            Cursor::Before(next) => self.before.entry(*next).or_default().push(op),
            Cursor::After(previous, i) => {
                self.after.entry(*previous).or_default().insert(*i, op);
                *i += 1;
            }
            Cursor::Start(region, i) => {
                self.start.entry(*region).or_default().insert(*i, op);
                *i += 1;
            }
        }
    }

    /// Puts everything in its place under a function body; operations that are `gone` are left out.
    pub(super) fn apply(mut self, module: &mut Module, body: RegionId, gone: impl Fn(OpId) -> bool) {
        enum Step {
            Around(OpId),
            Itself(OpId),
        }
        let mut regions = vec![body];
        while let Some(region) = regions.pop() {
            let old = std::mem::take(&mut module.regions[region].ops);
            let mut new = Vec::with_capacity(old.len());
            let mut stack: Vec<Step> = old.into_iter().rev().map(Step::Around).collect();
            stack.extend(self.start.remove(&region).into_iter().flatten().rev().map(Step::Around));
            while let Some(step) = stack.pop() {
                match step {
                    Step::Itself(op) if gone(op) => {}
                    Step::Itself(op) => {
                        regions.extend(&module.ops[op].regions);
                        new.push(op);
                    }
                    Step::Around(op) => {
                        let around = |ops: Option<Vec<OpId>>| {
                            ops.into_iter().flat_map(|ops| ops.into_iter().rev()).map(Step::Around)
                        };
                        stack.extend(around(self.after.remove(&op)));
                        stack.push(Step::Itself(op));
                        stack.extend(around(self.before.remove(&op)));
                    }
                }
            }
            module.regions[region].ops = new;
        }
    }
}
