//! Sums, products, maxima and other associative and commutative operations as lists of arguments.
//!
//! | rewrite | condition |
//! |---|---|
//! | `(x + y) + z` = `x + y + z`, for every such operation | at most [`MOST`] arguments |
//! | `x + 0` = `x`, `x * 1` = `x`, `x * 0` = `0`, `max(x, -inf)` = `x`, `x and true` = `x`, ... | |
//! | `max(x, x)` = `x`, `x and x` = `x`, `[c] * [c]` = `[c]` | idempotent operations and indicators |
//! | affine functions are summed | |
//! | `c * (x + y)` = `c * x + c * y` | `c` is a literal |
//! | products of integer literals are computed | the result is less than 2^40 |
//! | `[0 <= y] * [y <= n - 1] * sum over p of [p = clamp(y)] * x` = `sum over p of [p = y] * x` | `p` is from 0 to `n - 1` |

use shardc_ir::ReductionKind;

use crate::terms::{Kind, Map, Op, Terms, View};

use super::Linear;

/// The most arguments of an operation into which another is merged.
const MOST: usize = 512;

/// The operation of a reduction on elements of a kind; `None` if it has none. On truth values, sums and maxima are "or".
pub(crate) fn join_of(kind: Kind, reduction: ReductionKind) -> Option<ReductionKind> {
    use ReductionKind as R;
    match (reduction, kind) {
        (R::Add | R::Max, Kind::Bool) => Some(R::Or),
        (R::Mul | R::Min, Kind::Bool) => Some(R::And),
        (R::Max | R::Min, Kind::Complex) => None,
        _ => Some(reduction),
    }
}

fn is_idempotent(join: ReductionKind) -> bool {
    use ReductionKind as R;
    match join {
        R::Max | R::Min | R::And | R::Or => true,
        R::Add | R::Mul | R::Xor => false,
    }
}

impl Terms {
    /// Applies an associative and commutative operation.
    pub(crate) fn join(&mut self, join: ReductionKind, kind: Kind, args: &[View]) -> Option<View> {
        self.nested(|terms| terms.join_by_rules(join, kind, args))
    }

    fn join_by_rules(&mut self, join: ReductionKind, kind: Kind, args: &[View]) -> Option<View> {
        let may_select = join == ReductionKind::Mul && self.masks_padding(args);
        let over = self.over_padding(args, |terms, args| {
            // The product is decided when it is summed.
            let is_open = may_select && terms.is_masked(args);
            if is_open { None } else { terms.join(join, kind, args) }
        });
        if over.is_some() {
            return over;
        }
        let mut flat: Vec<View> = Vec::new();
        for arg in args {
            let node = self.node(arg.term);
            if node.op == Op::Join(join) && node.args.len() + flat.len() <= MOST {
                flat.extend(self.arguments(arg)?);
            } else {
                flat.push(arg.clone());
            }
        }
        match join {
            ReductionKind::Add => self.sum(kind, flat),
            ReductionKind::Mul => self.product(kind, flat),
            ReductionKind::Max
            | ReductionKind::Min
            | ReductionKind::And
            | ReductionKind::Or
            | ReductionKind::Xor => self.other(join, kind, flat),
        }
    }

    pub(crate) fn add(&mut self, kind: Kind, a: &View, b: &View) -> Option<View> {
        self.join(ReductionKind::Add, kind, &[a.clone(), b.clone()])
    }

    pub(crate) fn mul(&mut self, kind: Kind, a: &View, b: &View) -> Option<View> {
        self.join(ReductionKind::Mul, kind, &[a.clone(), b.clone()])
    }

    pub(crate) fn negate(&mut self, kind: Kind, x: &View) -> Option<View> {
        if let Some(linear) = self.as_linear(x).and_then(|linear| linear.times(-1))
            && let Some(view) = self.linear(&linear, kind)
        {
            return Some(view);
        }
        let minus = self.integer(kind, -1);
        self.mul(kind, &minus, x)
    }

    pub(crate) fn subtract(&mut self, kind: Kind, a: &View, b: &View) -> Option<View> {
        // Unsigned integers: the difference may be representable although the negation is not.
        if let (Some(x), Some(y)) = (self.as_linear(a), self.as_linear(b))
            && let Some(view) = x.plus(&y, -1).and_then(|linear| self.linear(&linear, kind))
        {
            return Some(view);
        }
        let negative = self.negate(kind, b)?;
        self.add(kind, a, &negative)
    }

    fn sum(&mut self, kind: Kind, flat: Vec<View>) -> Option<View> {
        let mut affine = Linear::default();
        let mut rest: Vec<View> = Vec::new();
        for view in flat {
            match self.as_linear(&view).and_then(|linear| affine.plus(&linear, 1)) {
                Some(sum) if self.linear(&sum, kind).is_some() => affine = sum,
                _ => rest.push(view),
            }
        }
        let mut at = 0;
        while at < rest.len() {
            let is_concat = |view: &View| matches!(self.node(view.term).op, Op::Concat(_));
            let later: Vec<usize> = if is_concat(&rest[at]) {
                (at + 1..rest.len()).filter(|&other| is_concat(&rest[other])).collect()
            } else {
                Vec::new()
            };
            let found = later.into_iter().find_map(|other| {
                let (one, two) = (rest[at].clone(), rest[other].clone());
                Some((other, self.interleaved(kind, &one, &two)?))
            });
            match found {
                Some((other, joined)) => {
                    rest.remove(other);
                    rest[at] = joined;
                }
                None => at += 1,
            }
        }
        if affine.base != 0 || !affine.parts.is_empty() || rest.is_empty() {
            rest.push(self.linear(&affine, kind)?);
        }
        if let [only] = rest.as_slice() {
            return Some(only.clone());
        }
        self.joined(ReductionKind::Add, kind, &rest)
    }

    /// An operation on arguments that no rewrite changes.
    fn joined(&mut self, join: ReductionKind, kind: Kind, args: &[View]) -> Option<View> {
        if let Some(view) = self.absorbed(kind, args, join == ReductionKind::Mul) {
            return Some(view);
        }
        if let Some(view) = self.outside(args, |terms, args| terms.join(join, kind, args)) {
            return Some(view);
        }
        self.build(Op::Join(join), kind, args, &[], &[])
    }

    fn product(&mut self, kind: Kind, flat: Vec<View>) -> Option<View> {
        let mut factor = 1i64;
        let mut rest: Vec<View> = Vec::new();
        for view in flat {
            let product = self.as_integer(&view).and_then(|value| factor.checked_mul(value));
            match product
                .filter(|product| product.unsigned_abs() < 1 << 40 && Terms::fits(kind, *product, *product))
            {
                Some(product) => factor = product,
                None if self.is_indicator(&view) && rest.contains(&view) => {}
                None => rest.push(view),
            }
        }
        if factor == 0 {
            return Some(self.integer(kind, 0));
        }
        if factor != 1 {
            if let [only] = rest.as_slice()
                && let Some(view) = self.scaled(kind, factor, &only.clone())?
            {
                return Some(view);
            }
            rest.push(self.integer(kind, factor));
        }
        match rest.as_slice() {
            [] => return Some(self.integer(kind, 1)),
            [only] => return Some(only.clone()),
            _ => {}
        }
        if let Some(view) = self.unmasked(kind, &rest) {
            return Some(view);
        }
        if let Some(view) = self.distributed(kind, &rest) {
            return Some(view);
        }
        self.joined(ReductionKind::Mul, kind, &rest)
    }

    /// An integer times one view: an affine function stays affine, and a sum is scaled term by term.
    fn scaled(&mut self, kind: Kind, factor: i64, view: &View) -> Option<Option<View>> {
        if let Some(linear) = self.as_linear(view).and_then(|linear| linear.times(factor))
            && let Some(view) = self.linear(&linear, kind)
        {
            return Some(Some(view));
        }
        if self.node(view.term).op != Op::Join(ReductionKind::Add) {
            return Some(None);
        }
        let factor = self.integer(kind, factor);
        let args = self.arguments(view)?;
        let scaled: Option<Vec<View>> = args.iter().map(|arg| self.mul(kind, &factor, arg)).collect();
        Some(self.join(ReductionKind::Add, kind, &scaled?))
    }

    /// A literal times a sum.
    fn distributed(&mut self, kind: Kind, args: &[View]) -> Option<View> {
        let [a, b] = args else { return None };
        let (literal, sum) = if self.is_literal(a) { (a, b) } else { (b, a) };
        if !self.is_literal(literal) || self.node(sum.term).op != Op::Join(ReductionKind::Add) {
            return None;
        }
        let args = self.arguments(sum)?;
        let scaled: Option<Vec<View>> = args.iter().map(|arg| self.mul(kind, literal, arg)).collect();
        self.join(ReductionKind::Add, kind, &scaled?)
    }

    pub(crate) fn is_indicator(&self, view: &View) -> bool {
        self.node(view.term).op == Op::Map(Map::Indicator)
    }

    fn other(&mut self, join: ReductionKind, kind: Kind, flat: Vec<View>) -> Option<View> {
        let mut rest: Vec<View> = Vec::new();
        for view in flat {
            if self.is_identity(join, &view) || (is_idempotent(join) && rest.contains(&view)) {
                continue;
            }
            if self.absorbs(join, &view) {
                return Some(view);
            }
            rest.push(view);
        }
        match rest.as_slice() {
            [] => self.identity(join, kind),
            [only] => Some(only.clone()),
            _ => {
                let numbers: Option<Vec<i64>> = rest.iter().map(|view| self.as_integer(view)).collect();
                match (join, numbers) {
                    (ReductionKind::Max, Some(list)) => Some(self.integer(kind, list.into_iter().max()?)),
                    (ReductionKind::Min, Some(list)) => Some(self.integer(kind, list.into_iter().min()?)),
                    _ => self.joined(join, kind, &rest),
                }
            }
        }
    }

    /// Whether combining with this scalar changes nothing.
    pub(crate) fn is_identity(&self, join: ReductionKind, view: &View) -> bool {
        let node = self.node(view.term);
        let Op::Literal(bits) = node.op else { return false };
        let real = f64::from_bits(bits as u64);
        match (join, node.kind) {
            (ReductionKind::Add, Kind::Real | Kind::Complex) => real == 0.0,
            (ReductionKind::Mul, Kind::Real | Kind::Complex) => real == 1.0,
            (ReductionKind::Max, Kind::Real) => real == f64::NEG_INFINITY,
            (ReductionKind::Min, Kind::Real) => real == f64::INFINITY,
            (ReductionKind::Add | ReductionKind::Or | ReductionKind::Xor, _) => bits == 0,
            (ReductionKind::Mul, _) => bits == 1,
            (ReductionKind::And, Kind::Bool) | (ReductionKind::Min, Kind::Bool) => bits == 1,
            (ReductionKind::Max, Kind::Bool) => bits == 0,
            (ReductionKind::Max, Kind::Integer(_)) => bits == super::linear::least(node.kind),
            (ReductionKind::Min, Kind::Integer(dtype)) => {
                dtype != shardc_ir::DType::UI64 && bits == super::linear::greatest(node.kind)
            }
            _ => false,
        }
    }

    fn identity(&mut self, join: ReductionKind, kind: Kind) -> Option<View> {
        Some(match (join, kind) {
            (ReductionKind::Add | ReductionKind::Xor | ReductionKind::Or, _) => self.integer(kind, 0),
            (ReductionKind::Mul, _) => self.integer(kind, 1),
            (ReductionKind::And, Kind::Bool) | (ReductionKind::Min, Kind::Bool) => self.truth(true),
            (ReductionKind::Max, Kind::Bool) => self.truth(false),
            (ReductionKind::Max, Kind::Real) => self.real(kind, f64::NEG_INFINITY),
            (ReductionKind::Min, Kind::Real) => self.real(kind, f64::INFINITY),
            (ReductionKind::Max, Kind::Integer(_)) => self.integer(kind, super::linear::least(kind)),
            (ReductionKind::Min, Kind::Integer(dtype)) if dtype != shardc_ir::DType::UI64 => {
                self.integer(kind, super::linear::greatest(kind))
            }
            _ => return None,
        })
    }

    fn absorbs(&self, join: ReductionKind, view: &View) -> bool {
        let node = self.node(view.term);
        matches!(
            (join, node.kind, &node.op),
            (ReductionKind::And, Kind::Bool, Op::Literal(0))
                | (ReductionKind::Or, Kind::Bool, Op::Literal(1))
        )
    }
}
