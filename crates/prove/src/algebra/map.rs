//! Element-wise operations.
//!
//! | rewrite | condition |
//! |---|---|
//! | `x - y` = `x + -1 * y`, `-x` = `-1 * x` | |
//! | `x / y` = `x * inverse(y)` | reals |
//! | `select(c, x, 0)` = `[c] * x` | numbers; `[c]` is 1 if `c` is true, else 0 |
//! | `select(c, x, x)` = `x`, `select(true, x, y)` = `x` | |
//! | `convert(c)` = `[c]` | truth values |
//! | `[a and b]` = `[a] * [b]` | |
//! | `x = y` is `x - y = 0` | integers |
//! | `x < y` is `y > x`, `x > c` is `x >= c + 1` | integers for the latter |
//! | `g * x + y >= 0` is `x + k >= 0` | `y` is from `g * k` to `g * k + g - 1` |
//! | `i >= n - 1` is `i = n - 1`, `i <= 0` is `i = 0`, `not (i = 0)` is `i = 1` | `i` is from `0` to `n - 1`; two values for the last |
//! | `select(c, x, y)` is a concatenation of `x` and `y` | `c` compares one digit with a constant |
//! | comparisons, quotients, remainders, extrema of affine functions are computed | ranges decide |
//! | conversions between float types are the identity | |

use shardc_ir::{BinaryOp, CompareDirection, ReductionKind, UnaryOp};

use crate::terms::{Kind, Map, Op, Terms, View};

impl Terms {
    pub(super) fn map(&mut self, map: Map, kind: Kind, args: &[View]) -> Option<View> {
        if let Some(view) = self.over_padding(args, |terms, args| terms.map(map.clone(), kind, args)) {
            return Some(view);
        }
        if let Some(view) = self.absorbed(kind, args, false) {
            return Some(view);
        }
        if let Some(view) = self.outside(args, |terms, args| terms.map(map.clone(), kind, args)) {
            return Some(view);
        }
        self.build(Op::Map(map), kind, args, &[], &[])
    }

    /// Any element-wise operation without rewrites; `text` has its name and attributes.
    pub(crate) fn other_map(&mut self, text: &str, kind: Kind, args: &[View]) -> Option<View> {
        self.map(Map::Other(text.into()), kind, args)
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, kind: Kind, x: &View) -> Option<View> {
        if let Some(view) =
            self.over_padding(std::slice::from_ref(x), |terms, args| terms.unary(op, kind, args.first()?))
        {
            return Some(view);
        }
        match op {
            UnaryOp::Negate => self.negate(kind, x),
            UnaryOp::Copy => Some(x.clone()),
            UnaryOp::Square => self.mul(kind, x, x),
            UnaryOp::Not if kind == Kind::Bool => {
                if let Some(value) = self.as_integer(x) {
                    return Some(self.truth(value == 0));
                }
                let node = self.node(x.term);
                if node.op == Op::Map(Map::Unary(UnaryOp::Not)) {
                    return self.arguments(x)?.pop();
                }
                if let Some(view) = self.other_of_two(x) {
                    return Some(view);
                }
                self.map(Map::Unary(op), kind, std::slice::from_ref(x))
            }
            _ => self.map(Map::Unary(op), kind, std::slice::from_ref(x)),
        }
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, kind: Kind, a: &View, b: &View) -> Option<View> {
        let pair = [a.clone(), b.clone()];
        let over = self.over_padding(&pair, |terms, args| match args {
            [a, b] => terms.binary(op, kind, a, b),
            _ => None,
        });
        if over.is_some() {
            return over;
        }
        let join = match (op, kind) {
            (BinaryOp::Add, Kind::Bool) | (BinaryOp::Or | BinaryOp::Maximum, Kind::Bool) => {
                Some(ReductionKind::Or)
            }
            (BinaryOp::Multiply | BinaryOp::And | BinaryOp::Minimum, Kind::Bool) => Some(ReductionKind::And),
            (BinaryOp::Add, _) => Some(ReductionKind::Add),
            (BinaryOp::Multiply, _) => Some(ReductionKind::Mul),
            (BinaryOp::Maximum, Kind::Real | Kind::Integer(_)) => Some(ReductionKind::Max),
            (BinaryOp::Minimum, Kind::Real | Kind::Integer(_)) => Some(ReductionKind::Min),
            (BinaryOp::And, _) => Some(ReductionKind::And),
            (BinaryOp::Or, _) => Some(ReductionKind::Or),
            (BinaryOp::Xor, _) => Some(ReductionKind::Xor),
            _ => None,
        };
        if let Some(join) = join {
            if let Some(view) = self.extreme(join, kind, &pair) {
                return Some(view);
            }
            return self.join(join, kind, &pair);
        }
        match (op, kind) {
            (BinaryOp::Subtract, _) => self.subtract(kind, a, b),
            (BinaryOp::Divide, Kind::Real) => {
                let inverse = self.inverse(kind, b)?;
                self.mul(kind, a, &inverse)
            }
            (BinaryOp::Divide | BinaryOp::Remainder, Kind::Integer(_)) => {
                let linear = self.as_linear(a).zip(self.as_integer(b)).and_then(|(x, by)| {
                    if op == BinaryOp::Divide { x.quotient(by) } else { x.remainder(by) }
                });
                match linear.and_then(|linear| self.linear(&linear, kind)) {
                    Some(view) => Some(view),
                    None => self.map(Map::Binary(op), kind, &pair),
                }
            }
            _ => self.map(Map::Binary(op), kind, &pair),
        }
    }

    /// The extreme of two integers whose ranges decide it.
    fn extreme(&mut self, join: ReductionKind, kind: Kind, pair: &[View; 2]) -> Option<View> {
        if !matches!((join, kind), (ReductionKind::Max | ReductionKind::Min, Kind::Integer(_))) {
            return None;
        }
        let [a, b] = pair;
        let (x, y) = (self.range(a)?, self.range(b)?);
        let is_first = match join {
            ReductionKind::Max if x.0 >= y.1 => true,
            ReductionKind::Min if x.1 <= y.0 => true,
            ReductionKind::Max if y.0 >= x.1 => false,
            ReductionKind::Min if y.1 <= x.0 => false,
            _ => return None,
        };
        Some(if is_first { a.clone() } else { b.clone() })
    }

    /// The multiplicative inverse.
    fn inverse(&mut self, kind: Kind, x: &View) -> Option<View> {
        if self.as_integer(x).is_some_and(|value| value.unsigned_abs() == 1) {
            return Some(x.clone());
        }
        if self.node(x.term).op == Op::Map(Map::Inverse) {
            return self.arguments(x)?.pop();
        }
        self.map(Map::Inverse, kind, std::slice::from_ref(x))
    }

    /// The negation of `x = 0` for an affine function that is zero or one, or zero or minus one.
    fn other_of_two(&mut self, test: &View) -> Option<View> {
        if self.node(test.term).op != Op::Map(Map::IsZero) {
            return None;
        }
        let value = self.arguments(test)?.pop()?;
        let kind = self.kind(&value);
        let other = match self.as_linear(&value)?.range()? {
            (0, 1) => 1,
            (-1, 0) => -1,
            _ => return None,
        };
        let other = self.integer(kind, other);
        self.is_equal(kind, &value, &other)
    }

    /// One if a truth value is true, else zero.
    pub(crate) fn indicator(&mut self, kind: Kind, test: &View) -> Option<View> {
        if let Some(value) = self.as_integer(test) {
            return Some(self.integer(kind, value));
        }
        if let Some(view) =
            self.over_padding(std::slice::from_ref(test), |terms, args| terms.indicator(kind, args.first()?))
        {
            return Some(view);
        }
        if self.node(test.term).op == Op::Join(ReductionKind::And) {
            let args = self.arguments(test)?;
            let all: Option<Vec<View>> = args.iter().map(|arg| self.indicator(kind, arg)).collect();
            return self.join(ReductionKind::Mul, kind, &all?);
        }
        self.map(Map::Indicator, kind, std::slice::from_ref(test))
    }

    /// Converts elements to another kind.
    pub(crate) fn convert(&mut self, kind: Kind, x: &View) -> Option<View> {
        let from = self.kind(x);
        if from == kind {
            return Some(x.clone());
        }
        if let Some(view) =
            self.over_padding(std::slice::from_ref(x), |terms, args| terms.convert(kind, args.first()?))
        {
            return Some(view);
        }
        if self.is_arbitrary(x) {
            return Some(self.arbitrary(kind));
        }
        if from == Kind::Bool {
            return self.indicator(kind, x);
        }
        if kind != Kind::Bool
            && from != Kind::Complex
            && let Some(view) = self.as_linear(x).and_then(|linear| self.linear(&linear, kind))
        {
            return Some(view);
        }
        if kind == Kind::Bool {
            let zero = self.integer(from, 0);
            return self.compare(CompareDirection::NE, x, &zero, false);
        }
        self.map(Map::Convert, kind, std::slice::from_ref(x))
    }

    pub(crate) fn select(&mut self, kind: Kind, test: &View, a: &View, b: &View) -> Option<View> {
        if let Some(value) = self.as_integer(test) {
            return Some(if value != 0 { a.clone() } else { b.clone() });
        }
        if a == b {
            return Some(a.clone());
        }
        let over = self.over_padding(&[test.clone(), a.clone(), b.clone()], |terms, args| match args {
            [test, a, b] => terms.select(kind, test, a, b),
            _ => None,
        });
        if over.is_some() {
            return over;
        }
        let (x, y) = (self.as_integer(a), self.as_integer(b));
        match (kind, x, y) {
            (Kind::Bool, Some(1), Some(0)) => Some(test.clone()),
            (Kind::Bool, Some(0), Some(1)) => self.unary(UnaryOp::Not, Kind::Bool, test),
            (Kind::Bool, _, Some(0)) => self.join(ReductionKind::And, kind, &[test.clone(), a.clone()]),
            (Kind::Bool, Some(1), _) => self.join(ReductionKind::Or, kind, &[test.clone(), b.clone()]),
            (Kind::Bool, ..) => self.choice(kind, test, a, b),
            (_, _, Some(0)) => {
                let factor = self.indicator(kind, test)?;
                self.mul(kind, &factor, a)
            }
            (_, Some(0), _) => {
                let inverted = self.unary(UnaryOp::Not, Kind::Bool, test)?;
                let factor = self.indicator(kind, &inverted)?;
                self.mul(kind, &factor, b)
            }
            _ => self.choice(kind, test, a, b),
        }
    }

    fn choice(&mut self, kind: Kind, test: &View, a: &View, b: &View) -> Option<View> {
        if let Some(view) = self.by_digit(kind, test, a, b) {
            return Some(view);
        }
        self.map(Map::Select, kind, &[test.clone(), a.clone(), b.clone()])
    }

    pub(crate) fn clamp(&mut self, kind: Kind, low: &View, x: &View, high: &View) -> Option<View> {
        let over = self.over_padding(&[low.clone(), x.clone(), high.clone()], |terms, args| match args {
            [low, x, high] => terms.clamp(kind, low, x, high),
            _ => None,
        });
        if over.is_some() {
            return over;
        }
        if matches!(kind, Kind::Integer(_))
            && let (Some(range), Some(least), Some(most)) =
                (self.range(x), self.as_integer(low), self.as_integer(high))
        {
            if range.0 >= least && range.1 <= most {
                return Some(x.clone());
            }
            if least <= most && range.1 <= least {
                return Some(low.clone());
            }
            if least <= most && range.0 >= most {
                return Some(high.clone());
            }
        }
        self.map(Map::Clamp, kind, &[x.clone(), low.clone(), high.clone()])
    }

    /// Compares elements. `is_plain` is false if the comparison has a type that is not the default of the kind.
    pub(crate) fn compare(
        &mut self,
        direction: CompareDirection,
        a: &View,
        b: &View,
        is_plain: bool,
    ) -> Option<View> {
        use CompareDirection as C;
        let kind = self.kind(a);
        let over = self.over_padding(&[a.clone(), b.clone()], |terms, args| match args {
            [a, b] => terms.compare(direction, a, b, is_plain),
            _ => None,
        });
        if over.is_some() {
            return over;
        }
        if !is_plain {
            return self.map(
                Map::Other(format!("compare total {direction:?}").into()),
                Kind::Bool,
                &[a.clone(), b.clone()],
            );
        }
        let is_integer = matches!(kind, Kind::Integer(_));
        if is_integer && matches!(direction, C::EQ | C::NE) {
            let zero = self.is_equal(kind, a, b)?;
            return if direction == C::EQ { Some(zero) } else { self.unary(UnaryOp::Not, Kind::Bool, &zero) };
        }
        let (direction, a, b) = match direction {
            C::LT => (C::GT, b, a),
            C::LE => (C::GE, b, a),
            C::EQ | C::NE | C::GE | C::GT => (direction, a, b),
        };
        if is_integer {
            return self.compare_integers(kind, direction == C::GT, a, b);
        }
        let mut pair = [a.clone(), b.clone()];
        if matches!(direction, C::EQ | C::NE) {
            pair.sort_by_key(|view| view.term);
        }
        self.map(Map::Compare(direction), Kind::Bool, &pair)
    }

    /// Whether two integers are equal: whether their difference is zero. The difference has the sign with which its term was created first.
    fn is_equal(&mut self, kind: Kind, a: &View, b: &View) -> Option<View> {
        // Differences of unsigned integers may be negative.
        let words = Kind::Integer(shardc_ir::DType::I64);
        if kind != words
            && let Some((x, y)) = self.as_linear(a).zip(self.as_linear(b))
            && let Some((x, y)) = self.linear(&x, words).zip(self.linear(&y, words))
        {
            return self.is_equal(words, &x, &y);
        }
        let one = self.subtract(kind, a, b)?;
        let other = self.subtract(kind, b, a)?;
        if let Some((low, high)) = self.range(&one)
            && (low > 0 || high < 0 || (low, high) == (0, 0))
        {
            return Some(self.truth(low == 0 && high == 0));
        }
        let difference = if one.term <= other.term { one } else { other };
        self.map(Map::IsZero, Kind::Bool, &[difference])
    }

    /// `a > b` or `a >= b` for integers.
    fn compare_integers(&mut self, kind: Kind, is_strict: bool, a: &View, b: &View) -> Option<View> {
        let strict = i64::from(is_strict);
        if let (Some(x), Some(y)) = (self.range(a), self.range(b)) {
            if x.0 >= y.1.saturating_add(strict) {
                return Some(self.truth(true));
            }
            if x.1 < y.0.saturating_add(strict) {
                return Some(self.truth(false));
            }
        }
        // `a - b - strict >= 0`, with a difference of 64 bits.
        let difference = self
            .as_linear(a)
            .zip(self.as_linear(b))
            .and_then(|(x, y)| x.plus(&y, -1)?.plus(&super::Linear::constant(strict), -1))
            .map(|linear| linear.with_sign());
        let words = Kind::Integer(shardc_ir::DType::I64);
        if let Some(linear) = &difference
            && let Some(value) = linear.last()
            && let Some((position, value)) =
                self.linear(&linear.digit(), words).zip(self.linear(&value, words))
        {
            return self.is_equal(words, &position, &value);
        }
        if let Some(view) = difference.and_then(|linear| self.linear(&linear, words)) {
            let zero = self.integer(words, 0);
            return self.map(Map::Compare(CompareDirection::GE), Kind::Bool, &[view, zero]);
        }
        let (mut a, mut b, mut direction) = (a.clone(), b.clone(), CompareDirection::GE);
        if is_strict {
            match (self.as_integer(&a), self.as_integer(&b)) {
                (Some(value), _) if Terms::fits(kind, value.saturating_sub(1), value) => {
                    a = self.integer(kind, value - 1);
                }
                (_, Some(value)) if Terms::fits(kind, value, value.saturating_add(1)) => {
                    b = self.integer(kind, value + 1);
                }
                _ => direction = CompareDirection::GT,
            }
        }
        self.map(Map::Compare(direction), Kind::Bool, &[a, b])
    }
}
