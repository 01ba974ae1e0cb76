//! Linearity analysis: determines the operands in which an operation can be applied to partial sums.
//!
//! An operation `f` can be applied to the partial sums of an unreduced value if `f(a + b) = f(a) + f(b)`, where `a` and `b` stand for all
//! operands that are unreduced. The same holds for other reductions: rounding is monotonic, so the maximum of rounded numbers is the
//! rounded maximum.

use shardc_ir::{BinaryOp, DType, DTypeClass, Linear, Module, OpId, OpKind, ReductionKind, ValueId};

use super::reducer::reduction_of;

/// The operands of an operation that may be unreduced. Applying the operation to their partial sums, and then reducing the results, must be
/// equivalent to reducing the operands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// All operands `from..to` must be unreduced together, except that an operand that is the identity of the reduction may be
    /// reduced. Operands outside of this range must be reduced.
    Alike {
        /// The first operand of the range.
        from: usize,
        /// One past the last operand of the range.
        to: usize,
        /// An operand in this range that must be reduced.
        except: Option<usize>,
    },
    /// Any one operand may be unreduced, if all others are reduced.
    Either,
}

impl Passes {
    /// No operand may be unreduced.
    pub const NONE: Passes = Passes::Alike { from: 0, to: 0, except: None };
    const ALL: Passes = Passes::Alike { from: 0, to: usize::MAX, except: None };

    /// Whether operand `i` may be unreduced.
    pub fn takes(self, i: usize) -> bool {
        match self {
            Passes::Alike { from, to, except } => from <= i && i < to && except != Some(i),
            Passes::Either => true,
        }
    }
}

/// Returns the operands of `op` that may be unreduced with the reduction `kind`.
pub fn passes(module: &Module, op: OpId, kind: ReductionKind) -> Passes {
    let data = &module.ops[op];
    let if_sum = |passes: Passes| if kind == ReductionKind::Add { passes } else { Passes::NONE };
    let alike = |from: u8, to: u8| {
        let to = if to == u8::MAX { usize::MAX } else { to.into() };
        Passes::Alike { from: from.into(), to, except: None }
    };
    let all_if = |ok: bool| if ok { Passes::ALL } else { Passes::NONE };
    let region_does = |region: usize| {
        let &region = data.regions.get(region)?;
        reduction_of(module, region, data.results.len())
    };
    match data.kind.def().linear {
        Linear::No => Passes::NONE,
        Linear::Moves { from, to } => alike(from, to),
        Linear::Sums { from, to } => if_sum(alike(from, to)),
        Linear::EitherSums => if_sum(Passes::Either),
        Linear::Itself => all_if(matches!(data.kind, OpKind::Binary(op) if op == kind.op())),
        Linear::Depends => match &data.kind {
            // Each integer division drops a remainder, so it is not linear.
            OpKind::Binary(BinaryOp::Divide) => {
                let is_integer = |dtype: DType| dtype.is_integer();
                let drops = element_types(module, op).is_none_or(|(from, _)| is_integer(from));
                if drops { Passes::NONE } else { if_sum(alike(0, 1)) }
            }
            OpKind::Convert => {
                all_if(element_types(module, op).is_some_and(|(from, to)| converts(from, to, kind)))
            }
            OpKind::ReducePrecision { .. } => all_if(kind == ReductionKind::Add || is_order(kind)),
            OpKind::Reduce { .. } | OpKind::ReduceWindow(_) => all_if(region_does(0) == Some(kind)),
            // Updates are added to the operand: the operand and the updates may be unreduced, the indices may not.
            OpKind::Scatter(_) if region_does(0) == Some(kind) => {
                Passes::Alike { from: 0, to: usize::MAX, except: Some(data.results.len()) }
            }
            // The first operand selects the positions; the values scattered there are summed.
            OpKind::SelectAndScatter(_) if region_does(1) == Some(kind) => {
                Passes::Alike { from: 1, to: usize::MAX, except: None }
            }
            _ => Passes::NONE,
        },
    }
}

/// Whether the reduction `kind` of operand `i` may be deferred past the operation. The other operands are reduced or, if the operation is
/// jointly linear, may also be unreduced.
pub fn is_linear_in(module: &Module, op: OpId, i: usize, kind: ReductionKind) -> bool {
    let is_pending = |v: &ValueId| module.shardings.sharding_of(*v).is_some_and(|s| !s.unreduced.is_empty());
    match passes(module, op, kind) {
        Passes::Either => module.ops[op].operands.iter().filter(|v| is_pending(v)).count() <= 1,
        alike @ Passes::Alike { .. } => alike.takes(i),
    }
}

fn is_order(kind: ReductionKind) -> bool {
    matches!(kind, ReductionKind::Max | ReductionKind::Min)
}

/// Returns the element types of the first operand and the first result.
fn element_types(module: &Module, op: OpId) -> Option<(DType, DType)> {
    let data = &module.ops[op];
    Some((module.tensor(*data.operands.first()?)?.dtype, module.tensor(*data.results.first()?)?.dtype))
}

/// Whether a conversion may be applied to partial results, before their reduction. Rounding the partial sums is equivalent to rounding the
/// sum, up to precision. Truncating fractions is not equivalent, and neither is widening integers, whose sums wrap around.
fn converts(from: DType, to: DType, kind: ReductionKind) -> bool {
    let is_real = |dtype: DType| matches!(dtype.class(), DTypeClass::Float);
    let is_wrapping = |dtype: DType| matches!(dtype.class(), DTypeClass::Signed | DTypeClass::Unsigned);
    let is_inexact = |dtype: DType| matches!(dtype.class(), DTypeClass::Float | DTypeClass::Complex);
    match kind {
        ReductionKind::Add => {
            is_inexact(from) && is_inexact(to)
                || is_wrapping(from) && is_wrapping(to) && to.bits() <= from.bits()
        }
        ReductionKind::Mul => is_real(from) && is_real(to),
        ReductionKind::Max | ReductionKind::Min => {
            is_real(from) && is_real(to) || from.class() == to.class() && to.bits() >= from.bits()
        }
        ReductionKind::And | ReductionKind::Or | ReductionKind::Xor => {
            from == to || is_wrapping(from) && is_wrapping(to) && to.bits() <= from.bits()
        }
    }
}

/// Whether an operation only moves or drops elements of its only operand, so that it commutes with every reduction.
pub fn is_part(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Transpose { .. } | OpKind::Reshape | OpKind::Slice { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_that_commute_with_sums() {
        let add = ReductionKind::Add;
        assert!(converts(DType::F32, DType::BF16, add) && converts(DType::BF16, DType::F32, add));
        assert!(converts(DType::F32, DType::C64, add));
        assert!(!converts(DType::F32, DType::I32, add) && !converts(DType::I32, DType::F32, add));
        // 100 + 100 is -56 in eight bits, and 200 in a wider type.
        assert!(!converts(DType::I8, DType::I32, add) && converts(DType::I32, DType::I8, add));
        assert!(converts(DType::I32, DType::UI32, add) && !converts(DType::I1, DType::I32, add));
    }

    #[test]
    fn conversions_without_wrapping_are_monotonic() {
        let max = ReductionKind::Max;
        assert!(converts(DType::F32, DType::BF16, max) && converts(DType::I8, DType::I32, max));
        assert!(!converts(DType::I32, DType::I8, max) && !converts(DType::I32, DType::UI32, max));
    }
}
