//! The schedule of operations: Shardy's op-priority propagation.
//!
//! Propagation runs in levels. Operations that preserve the layout of a tensor propagate first, before a matmul elsewhere can cause a
//! conflict. Operations that may need communication or memory propagate later. Each level adds to the earlier levels:
//! | level | operations | along |
//! |---|---|---|
//! | 0 | elementwise, reshape, transpose, data flow, dynamic slices (forward), if no operand has another use | all factors |
//! | 1 | those of level 0, also if operands have other uses | all factors |
//! | 2 | all; broadcasts backward only | pass-through factors |
//! | 3 | all; broadcasts backward only | all factors |
//! | 4 | all | all factors |

use shardc_ir::{Access, Module, OpId, OpKind};

use super::factors::Direction;
use crate::analysis::elementwise::is_elementwise;
use crate::rules::sharding_rule::FactorKind;

/// The number of levels in the schedule.
pub(super) const LEVELS: u8 = 5;

/// The classes of operations that the schedule distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OpClass {
    /// An operation that preserves the layout. `single` is true if none of its operands has another use.
    PassThrough { single: bool },
    /// An operation that reads or writes a slice at a dynamic index. `single` is true if none of its operands has another use.
    DynamicSlice { single: bool },
    /// A broadcast.
    Broadcast,
    /// Any other operation: contractions, reductions, gathers.
    Other,
    /// A propagation barrier, which has the given direction at every level of the schedule.
    Fixed(Direction),
}

/// The directions in which the factors of an operation may propagate at one level of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Profile {
    /// One direction for every factor.
    All(Direction),
    /// One direction for pass-through factors (the first field), and one for all others.
    ByKind(Direction, Direction),
}

impl OpClass {
    /// Returns the directions in which factors of this class of operations propagate at a level of the schedule.
    pub(super) fn profile(self, level: u8) -> Profile {
        use Direction::{Backward, Both, Forward, None};
        match (self, level) {
            (OpClass::Fixed(direction), _) => Profile::All(direction),
            (OpClass::PassThrough { single: false }, 0) => Profile::All(None),
            (OpClass::PassThrough { .. }, _) => Profile::All(Both),
            (OpClass::DynamicSlice { single: false }, 0) => Profile::All(None),
            (OpClass::DynamicSlice { .. }, 0 | 1) => Profile::All(Forward),
            (OpClass::DynamicSlice { .. }, 2) => Profile::ByKind(Both, Forward),
            (OpClass::DynamicSlice { .. }, _) => Profile::All(Both),
            (OpClass::Broadcast, 0 | 1) => Profile::All(None),
            (OpClass::Broadcast, 2) => Profile::ByKind(Backward, None),
            (OpClass::Broadcast, 3) => Profile::All(Backward),
            (OpClass::Broadcast, _) => Profile::All(Both),
            (OpClass::Other, 0 | 1) => Profile::All(None),
            (OpClass::Other, 2) => Profile::ByKind(Both, None),
            (OpClass::Other, _) => Profile::All(Both),
        }
    }

    /// Returns the class of an operation that has a rule. `uses` returns the number of uses of operand `i`.
    pub(super) fn of(module: &Module, op: OpId, uses: impl Fn(usize) -> usize) -> OpClass {
        let data = &module.ops[op];
        // Scalars are ignored: they have no dimensions, and many operations share them.
        let single = || (0..data.operands.len()).all(|i| module.rank(data.operands[i]) == 0 || uses(i) == 1);
        match &data.kind {
            OpKind::PropagationBarrier { direction } => OpClass::Fixed(*direction),
            // The operation table assumes nothing about custom calls, but these two are copies.
            OpKind::CustomCall(spec) if matches!(&*spec.target, "MoveToDevice" | "MoveToHost") => {
                OpClass::PassThrough { single: single() }
            }
            kind => match kind.def().access {
                Access::Rearranges => OpClass::PassThrough { single: single() },
                Access::SlicesAtRunTime => OpClass::DynamicSlice { single: single() },
                Access::Broadcasts => OpClass::Broadcast,
                Access::SamePlace | Access::SamePlaceIfSameShape if is_elementwise(module, op) => {
                    OpClass::PassThrough { single: single() }
                }
                Access::SamePlace | Access::SamePlaceIfSameShape | Access::Other => OpClass::Other,
            },
        }
    }
}

impl Profile {
    /// Returns the direction in which a factor of this kind propagates; the direction "none" if the rule blocks the factor.
    pub(super) fn direction(self, kind: FactorKind, blocked: bool) -> Direction {
        match self {
            _ if blocked => Direction::None,
            Profile::All(direction) => direction,
            Profile::ByKind(direction, _) if kind == FactorKind::PassThrough => direction,
            Profile::ByKind(_, direction) => direction,
        }
    }

    /// Whether nothing propagates, in either direction.
    pub(super) fn is_none(self) -> bool {
        self == Profile::All(Direction::None)
    }

    /// Returns a number that identifies the profile, for keys of hash maps.
    pub(super) fn code(self) -> u32 {
        match self {
            Profile::All(direction) => direction as u32,
            // There are four directions, so the two forms are disjoint: 0 to 3, and 4 to 19.
            Profile::ByKind(a, b) => 4 + a as u32 * 4 + b as u32,
        }
    }
}
