//! Range analysis of integer tensors: bounds of their elements.

use rustc_hash::FxHashMap;
use shardc_ir::{
    BinaryOp, CompareDirection, DTypeClass, Dense, Module, OpId, OpKind, RegionId, UnaryOp, ValueDef, ValueId,
};

/// The maximum number of values that are visited.
const MANY: u32 = 256;

/// The least and the greatest possible element of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

impl Range {
    fn new(low: i128, high: i128) -> Range {
        Range { low, high }
    }

    /// Whether the range is within `0..=last`.
    pub(crate) fn is_within(self, last: i64) -> bool {
        self.low >= 0 && self.high <= i128::from(last)
    }

    fn union(self, other: Range) -> Range {
        Range::new(self.low.min(other.low), self.high.max(other.high))
    }

    /// Returns the intersection of two ranges; `None` if the intersection is empty.
    fn meet(self, other: Range) -> Option<Range> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        (low <= high).then_some(Range { low, high })
    }

    /// The range of an operation whose minimum and maximum occur at minima or maxima of its operands.
    fn of_corners(a: Range, b: Range, of: impl Fn(i128, i128) -> i128) -> Range {
        let all = [of(a.low, b.low), of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)];
        all.into_iter().map(|n| Range::new(n, n)).reduce(Range::union).unwrap_or(a)
    }
}

/// Returns the range of the elements of `value`; `None` if the elements are not integers.
pub(crate) fn range(module: &Module, value: ValueId) -> Option<Range> {
    Ranges { module, left: MANY, known: Vec::new(), found: FxHashMap::default() }.of(value)
}

/// Returns the range for each index along `dim`, since operands of a concatenation may have different ranges.
pub(crate) fn ranges_along(module: &Module, value: ValueId, dim: usize) -> Option<Vec<Range>> {
    along(module, value, dim, &mut { MANY })
}

fn along(module: &Module, value: ValueId, dim: usize, left: &mut u32) -> Option<Vec<Range>> {
    let size = usize::try_from(*module.shape(value).get(dim)?).ok()?;
    let whole = range(module, value)?;
    let Some(fewer) = left.checked_sub(1) else { return Some(vec![whole; size]) };
    *left = fewer;
    let Some(data) = module.def_op(value).map(|op| &module.ops[op]) else { return Some(vec![whole; size]) };
    match (&data.kind, data.operands.as_slice()) {
        (OpKind::Concatenate { dim: joined }, parts) if *joined as usize == dim => {
            let mut all = Vec::with_capacity(size);
            for &part in parts {
                all.extend(along(module, part, dim, left)?);
            }
            Some(all)
        }
        (OpKind::Constant(_), []) => {
            let elements = module.constant_integers(value)?;
            let inner: usize = module.shape(value)[dim + 1..].iter().product::<i64>().max(1) as usize;
            let mut all: Vec<Option<Range>> = vec![None; size];
            for (i, &n) in elements.iter().enumerate() {
                let n = Range::new(n.into(), n.into());
                let place = &mut all[i / inner % size];
                *place = Some(place.map_or(n, |found| found.union(n)));
            }
            all.into_iter().collect()
        }
        // The value is a broadcast of a vector of bounds.
        (OpKind::BroadcastInDim { dims }, &[row]) => {
            let from = dims.iter().position(|&d| d as usize == dim);
            match from.filter(|&from| module.shape(row).get(from) == Some(&(size as i64))) {
                Some(from) => along(module, row, from, left),
                None => Some(vec![whole; size]),
            }
        }
        (OpKind::Binary(BinaryOp::Minimum | BinaryOp::Maximum), &[_, _]) | (OpKind::Clamp, &[_, _, _]) => {
            let mut of = |operand: ValueId| match module.rank(operand) {
                0 => Some(vec![range(module, operand)?; size]),
                _ => along(module, operand, dim, left),
            };
            let operands: Vec<Vec<Range>> =
                data.operands.iter().map(|&operand| of(operand)).collect::<Option<_>>()?;
            let of_place = |place: usize| match (&data.kind, operands.as_slice()) {
                (OpKind::Binary(kind), [a, b]) => binary(*kind, a[place], b[place]),
                (_, [low, x, high]) => Some(clamp(low[place], x[place], high[place])),
                _ => None,
            };
            Some((0..size).map(|place| of_place(place).unwrap_or(whole)).collect())
        }
        _ => Some(vec![whole; size]),
    }
}

struct Ranges<'a> {
    module: &'a Module,
    /// The number of values that may still be visited.
    left: u32,
    /// Ranges that follow from the conditions of enclosing selects. They hold for elements at the same position as the analyzed element.
    known: Vec<(ValueId, Range)>,
    /// A cache of ranges that were found without assuming a condition.
    found: FxHashMap<ValueId, Range>,
}

impl Ranges<'_> {
    fn of(&mut self, value: ValueId) -> Option<Range> {
        let limits = self.limits(value)?;
        if let Some(&found) = self.found.get(&value).filter(|_| self.known.is_empty()) {
            return Some(found);
        }
        let Some(left) = self.left.checked_sub(1) else { return Some(limits) };
        self.left = left;
        // If the range exceeds the limits of the type, the value may have wrapped around.
        let found = self.made(value).filter(|r| limits.low <= r.low && r.high <= limits.high);
        let mut found = found.unwrap_or(limits);
        for &(known, range) in &self.known {
            if known == value {
                found = found.meet(range).unwrap_or(range);
            }
        }
        if self.known.is_empty() {
            self.found.insert(value, found);
        }
        Some(found)
    }

    /// The range of the type.
    fn limits(&self, value: ValueId) -> Option<Range> {
        let dtype = self.module.tensor(value)?.dtype;
        let bits = dtype.bits().min(64);
        match dtype.class() {
            DTypeClass::Bool => Some(Range::new(0, 1)),
            DTypeClass::Unsigned => Some(Range::new(0, (1 << bits) - 1)),
            DTypeClass::Signed => Some(Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            DTypeClass::Float | DTypeClass::Complex => None,
        }
    }

    /// The range of the results of the operation that produces the value.
    fn made(&mut self, value: ValueId) -> Option<Range> {
        let module = self.module;
        let ValueDef::Result(op, place) = module.values[value].def() else { return None };
        let (data, place) = (&module.ops[op], place as usize);
        let operand = |i: usize| data.operands.get(i).copied();
        match &data.kind {
            OpKind::Constant(_) => constant(module, value),
            OpKind::Iota { dim } => {
                Some(Range::new(0, i128::from(*module.shape(value).get(*dim as usize)?) - 1))
            }
            // The result consists of elements of the operand, also for gathers and dynamic slices, since their indices are clamped.
            OpKind::Reshape
            | OpKind::BroadcastInDim { .. }
            | OpKind::Transpose { .. }
            | OpKind::Reverse { .. }
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::Gather(_) => self.elsewhere(&[operand(0)?]),
            OpKind::Convert | OpKind::ShardingConstraint(_) => self.of(operand(0)?),
            OpKind::OptimizationBarrier => self.of(operand(place)?),
            OpKind::Sort { .. } => self.elsewhere(&[operand(place)?]),
            OpKind::Concatenate { .. } => self.elsewhere(&data.operands),
            OpKind::Pad(_) | OpKind::DynamicUpdateSlice => self.elsewhere(&[operand(0)?, operand(1)?]),
            OpKind::TopK { .. } if place == 1 => {
                Some(Range::new(0, i128::from(*module.shape(operand(0)?).last()?) - 1))
            }
            OpKind::Reduce { .. } => {
                let n = data.results.len();
                let picks = picks(module, *data.regions.first()?, place, n);
                if picks { self.elsewhere(&[operand(place)?, operand(n + place)?]) } else { None }
            }
            OpKind::Clamp => {
                let (low, x, high) = (self.of(operand(0)?)?, self.of(operand(1)?)?, self.of(operand(2)?)?);
                Some(clamp(low, x, high))
            }
            OpKind::Select => self.select(op),
            OpKind::Compare(direction, _) => {
                let (a, b) = (self.of(operand(0)?)?, self.of(operand(1)?)?);
                compare(*direction, a, b)
            }
            OpKind::Unary(UnaryOp::Negate) => {
                let x = self.of(operand(0)?)?;
                Some(Range::new(-x.high, -x.low))
            }
            OpKind::Unary(UnaryOp::Abs) => {
                let x = self.of(operand(0)?)?;
                let low = if x.low <= 0 && x.high >= 0 { 0 } else { x.low.abs().min(x.high.abs()) };
                Some(Range::new(low, x.low.abs().max(x.high.abs())))
            }
            OpKind::Unary(UnaryOp::Sign) => {
                let x = self.of(operand(0)?)?;
                Some(Range::new(x.low.signum(), x.high.signum()))
            }
            OpKind::Binary(kind) => {
                let (a, b) = (self.of(operand(0)?)?, self.of(operand(1)?)?);
                match kind {
                    BinaryOp::And if is_bool(module, value) => binary(BinaryOp::Minimum, a, b),
                    BinaryOp::Or if is_bool(module, value) => binary(BinaryOp::Maximum, a, b),
                    _ => binary(*kind, a, b),
                }
            }
            _ => None,
        }
    }

    /// Returns the range of all elements of `values`. Assumed conditions are ignored, since they hold only for elements at the same
    /// position.
    fn elsewhere(&mut self, values: &[ValueId]) -> Option<Range> {
        let known = std::mem::take(&mut self.known);
        let ranges: Option<Vec<Range>> = values.iter().map(|&value| self.of(value)).collect();
        self.known = known;
        ranges?.into_iter().reduce(Range::union)
    }

    /// The range of a select, where each operand is analyzed under the condition that it is selected: `i < 0 ? i + n : i` is not negative
    /// for `i >= -n`.
    fn select(&mut self, op: OpId) -> Option<Range> {
        let module = self.module;
        let &[condition, yes, no] = module.ops[op].operands.as_slice() else { return None };
        let mut all: Option<Range> = None;
        for (side, holds) in [(yes, true), (no, false)] {
            let before = self.known.len();
            if self.assume(condition, holds) {
                let range = self.of(side);
                all = Some(all.map_or(range?, |all| range.map_or(all, |range| all.union(range))));
            }
            self.known.truncate(before);
        }
        all
    }

    /// Assumes that `condition` is true (`holds`) or false, and narrows ranges accordingly. Returns false if the known ranges contradict it.
    fn assume(&mut self, condition: ValueId, holds: bool) -> bool {
        let may_be = |found: Option<Range>| {
            found.is_none_or(|found| found.meet(Range::new(holds.into(), holds.into())).is_some())
        };
        let op = self.module.def_op(condition).map(|op| &self.module.ops[op]);
        let Some((&OpKind::Compare(direction, _), &[a, b])) = op.map(|op| (&op.kind, op.operands.as_slice()))
        else {
            let found = self.of(condition);
            return may_be(found);
        };
        let (Some(of_a), Some(of_b)) = (self.of(a), self.of(b)) else { return true };
        if !may_be(compare(direction, of_a, of_b)) {
            return false;
        }
        use CompareDirection as D;
        let (low, high) = (of_a.low, of_a.high);
        let met = match (direction, holds) {
            (D::LT, true) | (D::GE, false) => Range { low, high: of_b.high - 1 },
            (D::LE, true) | (D::GT, false) => Range { low, high: of_b.high },
            (D::GT, true) | (D::LE, false) => Range { low: of_b.low + 1, high },
            (D::GE, true) | (D::LT, false) => Range { low: of_b.low, high },
            (D::EQ, true) | (D::NE, false) => of_b,
            (D::EQ, false) | (D::NE, true) => return true,
        };
        let Some(met) = of_a.meet(met) else { return false };
        self.known.push((a, met));
        true
    }
}

/// Returns the range of the result of a comparison: 1 if the comparison always holds, 0 if it never holds; `None` if the operands' ranges
/// do not determine this.
fn compare(direction: CompareDirection, a: Range, b: Range) -> Option<Range> {
    use CompareDirection as D;
    let less = a.high < b.low;
    let not_less = a.low >= b.high;
    let (more, not_more) = (a.low > b.high, a.high <= b.low);
    let (always, never) = match direction {
        D::LT => (less, not_less),
        D::GE => (not_less, less),
        D::GT => (more, not_more),
        D::LE => (not_more, more),
        D::EQ => (not_less && not_more, less || more),
        D::NE => (less || more, not_less && not_more),
    };
    (always || never).then(|| Range::new(always.into(), always.into()))
}

/// The range of `clamp(low, x, high)`.
fn clamp(low: Range, x: Range, high: Range) -> Range {
    let at = |x: i128, low: i128, high: i128| x.max(low).min(high);
    Range::new(at(x.low, low.low, high.low), at(x.high, low.high, high.high))
}

fn is_bool(module: &Module, value: ValueId) -> bool {
    module.tensor(value).is_some_and(|ty| ty.dtype.class() == DTypeClass::Bool)
}

/// Returns the range of `op(a, b)` without regard to the limits of its type; `None` if the range is unknown.
fn binary(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
    Some(match op {
        BinaryOp::Add => Range::new(a.low + b.low, a.high + b.high),
        BinaryOp::Subtract => Range::new(a.low - b.high, a.high - b.low),
        BinaryOp::Multiply if [a.low, a.high, b.low, b.high].iter().all(|n| n.abs() < 1 << 62) => {
            Range::of_corners(a, b, |a, b| a * b)
        }
        BinaryOp::Maximum => Range::new(a.low.max(b.low), a.high.max(b.high)),
        BinaryOp::Minimum => Range::new(a.low.min(b.low), a.high.min(b.high)),
        BinaryOp::Divide if b.low > 0 => Range::of_corners(a, b, |a, b| a / b),
        // The remainder has the sign of the dividend.
        BinaryOp::Remainder if b.low > 0 => {
            let most = b.high - 1;
            Range::new(a.low.clamp(-most, 0), a.high.clamp(0, most))
        }
        BinaryOp::And if b.low >= 0 => Range::new(0, b.high),
        BinaryOp::And if a.low >= 0 => Range::new(0, a.high),
        _ => return None,
    })
}

/// The range of a constant of integers or booleans.
fn constant(module: &Module, value: ValueId) -> Option<Range> {
    let ty = module.tensor(value)?;
    let OpKind::Constant(dense) = &module.ops[module.def_op(value)?].kind else { return None };
    let signed = ty.dtype.class() == DTypeClass::Signed;
    let number = |bytes: &[u8]| {
        let negative = signed && bytes.last().is_some_and(|&b| b >= 0x80);
        let start: i128 = if negative { -1 } else { 0 };
        let n = bytes.iter().rev().fold(start, |n, &b| n << 8 | i128::from(b));
        // `true` may be stored as any nonzero bit pattern.
        if ty.dtype.class() == DTypeClass::Bool { i128::from(n != 0) } else { n }
    };
    let numbers: Vec<i128> = match dense {
        Dense::Splat(bytes) => vec![number(bytes)],
        Dense::Elements(bytes) if ty.dtype.bits() >= 8 || ty.dtype.class() == DTypeClass::Bool => {
            bytes.chunks_exact(ty.dtype.bytes()).map(number).collect()
        }
        Dense::Elements(_) | Dense::Resource(_) | Dense::Raw(_) => return None,
    };
    Some(Range::new(*numbers.iter().min()?, *numbers.iter().max()?))
}

/// Whether result `i` of a combiner of `n` pairs of values is always one of the two values of pair `i`.
fn picks(module: &Module, region: RegionId, i: usize, n: usize) -> bool {
    let args = &module.regions[region].args;
    let (Some(&old), Some(&new)) = (args.get(i), args.get(n + i)) else { return false };
    let mut todo: Vec<ValueId> = module
        .terminator(region)
        .and_then(|end| module.ops[end].operands.get(i))
        .copied()
        .into_iter()
        .collect();
    let (mut looked_at, found) = (0, !todo.is_empty());
    while let Some(value) = todo.pop() {
        looked_at += 1;
        if value == old || value == new {
            continue;
        }
        let data = module.def_op(value).map(|op| &module.ops[op]);
        match data.map(|data| (&data.kind, data.operands.as_slice())) {
            _ if looked_at > MANY => return false,
            Some((OpKind::Select, &[_, yes, no])) => todo.extend([yes, no]),
            Some((OpKind::Binary(BinaryOp::Maximum | BinaryOp::Minimum), &[a, b])) => todo.extend([a, b]),
            Some((OpKind::Binary(BinaryOp::And | BinaryOp::Or), &[a, b])) if is_bool(module, value) => {
                todo.extend([a, b]);
            }
            _ => return false,
        }
    }
    found
}
