//! Constant folding of integer tensors that vary along at most one dimension, such as `iota` and values computed from it.
//!
//! Batch indices are expressed in many ways: `iota`, a reshaped `iota / n`, `i < 0 ? i + n : i` of an `iota`, columns of a concatenation.
//! Folding the values handles all of them. A table along one dimension is short even if the tensor is large.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardc_ir::{BinaryOp, DType, DTypeClass, Dense, Module, OpKind, UnaryOp, ValueDef, ValueId};

/// The maximum number of elements of a folded tensor, and of a tensor whose elements are inspected one by one.
const MAX_ELEMENTS: usize = 1 << 16;

/// The maximum number of operations on a path from a folded value to its inputs.
const MAX_DEPTH: usize = 64;

/// The maximum number of elements computed in total, which bounds time and memory.
const BUDGET: usize = 1 << 22;

/// An integer tensor whose elements depend on at most one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folded {
    /// The dimension along which the elements vary; `None` if all are equal.
    pub(crate) dim: Option<usize>,
    /// The elements along `dim`; if `dim` is `None`, a single number, which is the value of all elements.
    pub(crate) values: Rc<[i64]>,
}

/// Restricts a tensor to one index along a dimension: `(dimension, index)`. `None` means the entire tensor.
pub(crate) type At = Option<(usize, i64)>;

impl Folded {
    fn all(value: i64) -> Folded {
        Folded { dim: None, values: [value].into() }
    }

    /// Creates a tensor from its elements along a dimension. If all are equal, the dimension is dropped.
    fn along(dim: usize, values: Vec<i64>) -> Option<Folded> {
        let (&first, rest) = values.split_first()?;
        if rest.iter().all(|&n| n == first) {
            return Some(Folded::all(first));
        }
        Some(Folded { dim: Some(dim), values: values.into() })
    }

    fn at(&self, index: usize) -> Option<i64> {
        self.values.get(if self.dim.is_some() { index } else { 0 }).copied()
    }

    /// Restricts the elements to one index of a dimension.
    fn fixed(self, at: At) -> Option<Folded> {
        match at {
            Some((dim, i)) if self.dim == Some(dim) => {
                Some(Folded::all(*self.values.get(usize::try_from(i).ok()?)?))
            }
            _ => Some(self),
        }
    }

    /// Replaces the dimension along which the elements vary by `to(dim)`. Returns `None` if `to` returns `None`.
    fn moved(self, to: impl Fn(usize) -> Option<usize>) -> Option<Folded> {
        match self.dim {
            None => Some(self),
            Some(dim) => Some(Folded { dim: Some(to(dim)?), values: self.values }),
        }
    }
}

/// The arithmetic progression `start`, `start + step`, ... of `len` numbers; `len` is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progression {
    /// The first number.
    pub start: i64,
    /// The difference between consecutive numbers.
    pub step: i64,
    /// How many numbers there are.
    pub len: i64,
}

impl Progression {
    /// Returns the numbers as a progression, if they form one. A single number has step 1.
    fn of(numbers: &[i64]) -> Option<Progression> {
        let (&start, len) = (numbers.first()?, i64::try_from(numbers.len()).ok()?);
        let step = numbers.get(1).map_or(Some(1), |second| second.checked_sub(start))?;
        let is_next = |pair: &[i64]| pair[1].checked_sub(pair[0]) == Some(step);
        numbers.windows(2).all(is_next).then_some(Progression { start, step, len })
    }

    /// Returns the last number of the progression.
    pub fn last(self) -> i64 {
        self.start + self.step * (self.len - 1)
    }
}

/// Folds values of a module, which must not change during the lifetime of the `IntegerFold`. Results are memoized.
pub struct IntegerFold<'m> {
    module: &'m Module,
    known: FxHashMap<(ValueId, At), Option<Folded>>,
    budget: usize,
}

impl<'m> IntegerFold<'m> {
    /// Starts without memoized results.
    pub fn new(module: &'m Module) -> Self {
        IntegerFold { module, known: FxHashMap::default(), budget: BUDGET }
    }

    /// Returns the elements of `value`, restricted to `at`. Returns `None` if they are unknown or vary along several
    /// dimensions.
    pub(crate) fn fold(&mut self, value: ValueId, at: At) -> Option<Folded> {
        self.value(value, at, MAX_DEPTH)
    }

    /// Returns the common value of all elements of `value`, restricted to `at`. Returns `None` if they are unknown or
    /// differ.
    pub fn number(&mut self, value: ValueId, at: At) -> Option<i64> {
        let folded = self.fold(value, at)?;
        if folded.dim.is_none() { folded.at(0) } else { None }
    }

    /// Returns the elements of `value`, restricted to `at`, as a progression of `len` numbers. Returns `None` if they are unknown or not
    /// a progression.
    pub fn progression(&mut self, value: ValueId, at: At, len: i64) -> Option<Progression> {
        let folded = self.fold(value, at)?;
        Progression::of(&folded.values).filter(|numbers| numbers.len == len)
    }

    fn value(&mut self, value: ValueId, at: At, depth: usize) -> Option<Folded> {
        if let Some(known) = self.known.get(&(value, at)) {
            return known.clone();
        }
        let depth = depth.checked_sub(1)?;
        let found = self.compute(value, at, depth).filter(|folded| {
            let dtype = self.module.tensor(value).map(|ty| ty.dtype);
            dtype.is_some_and(|dtype| folded.values.iter().all(|&n| fits(n, dtype)))
        });
        let found = found.filter(|folded| self.spend(folded.values.len()));
        self.known.insert((value, at), found.clone());
        found
    }

    /// Subtracts `elements` from the budget. Returns whether the budget suffices.
    fn spend(&mut self, elements: usize) -> bool {
        let left = self.budget.checked_sub(elements);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    fn compute(&mut self, value: ValueId, at: At, depth: usize) -> Option<Folded> {
        let module = self.module;
        let ty = module.tensor(value).filter(|ty| ty.is_static())?;
        let shape = &ty.shape;
        let op = match module.values[value].def() {
            ValueDef::Result(op, 0) => &module.ops[op],
            ValueDef::Result(..) | ValueDef::Arg(..) => return None,
        };
        let operand = |i: usize| op.operands.get(i).copied();
        match &op.kind {
            OpKind::Constant(Dense::Splat(bytes)) => Some(Folded::all(integer(bytes, ty.dtype)?)),
            OpKind::Constant(Dense::Elements(bytes)) => {
                let width = ty.dtype.bytes();
                if bytes.len() / width > MAX_ELEMENTS || !self.spend(bytes.len() / width) {
                    return None;
                }
                let all: Option<Vec<i64>> = bytes.chunks(width).map(|b| integer(b, ty.dtype)).collect();
                along_one(shape, &all?)?.fixed(at)
            }
            OpKind::Iota { dim } => {
                let dim = *dim as usize;
                let n = usize::try_from(*shape.get(dim)?).ok().filter(|&n| n <= MAX_ELEMENTS)?;
                Folded::along(dim, (0..n as i64).collect())?.fixed(at)
            }
            OpKind::BroadcastInDim { dims } => {
                let from = module.shape(operand(0)?);
                let stays = |d: usize| from.get(d).is_some_and(|&n| n != 1);
                let inner = at.and_then(|(dim, i)| {
                    let d = dims.iter().position(|&d| d as usize == dim)?;
                    Some((d, if stays(d) { i } else { 0 }))
                });
                self.value(operand(0)?, inner, depth)?.moved(|d| dims.get(d).map(|&d| d as usize))
            }
            OpKind::Transpose { permutation } => {
                let inner = match at {
                    Some((dim, i)) => Some((*permutation.get(dim)? as usize, i)),
                    None => None,
                };
                let place = |d: usize| permutation.iter().position(|&p| p as usize == d);
                self.value(operand(0)?, inner, depth)?.moved(place)
            }
            OpKind::Reshape => self.reshape(operand(0)?, shape, at, depth),
            OpKind::Concatenate { dim } => {
                let along = *dim as usize;
                let (_, mut i) = at.filter(|&(d, _)| d == along)?;
                for &part in &op.operands {
                    let n = *module.shape(part).get(along)?;
                    if i < n {
                        return self.value(part, Some((along, i)), depth);
                    }
                    i -= n;
                }
                None
            }
            OpKind::Convert | OpKind::OptimizationBarrier | OpKind::ShardingConstraint(_) => {
                let is_integer = |v: ValueId| module.tensor(v).is_some_and(|ty| !is_other(ty.dtype));
                // The first result of a barrier is its first operand.
                if is_integer(operand(0)?) { self.value(operand(0)?, at, depth) } else { None }
            }
            OpKind::Unary(unary) => {
                let a = self.value(operand(0)?, at, depth)?;
                let is_bool = ty.dtype == DType::I1;
                elementwise(&[a], |n| apply_unary(*unary, n[0], is_bool))
            }
            OpKind::Binary(binary) => {
                let both = [self.value(operand(0)?, at, depth)?, self.value(operand(1)?, at, depth)?];
                elementwise(&both, |n| apply_binary(*binary, n[0], n[1], ty.dtype))
            }
            OpKind::Compare(direction, _) => {
                let both = [self.value(operand(0)?, at, depth)?, self.value(operand(1)?, at, depth)?];
                elementwise(&both, |n| Some(i64::from(direction.holds(n[0], n[1]))))
            }
            OpKind::Select => {
                let which = self.value(operand(0)?, at, depth)?;
                // If the predicate is one value, the operand that it does not select need not be known.
                if which.dim.is_none() {
                    let chosen = if which.at(0)? != 0 { 1 } else { 2 };
                    return self.value(operand(chosen)?, at, depth);
                }
                let (yes, no) = (self.value(operand(1)?, at, depth)?, self.value(operand(2)?, at, depth)?);
                elementwise(&[which, yes, no], |n| Some(if n[0] != 0 { n[1] } else { n[2] }))
            }
            OpKind::Clamp => {
                let mut three = Vec::with_capacity(3);
                for i in 0..3 {
                    three.push(self.value(operand(i)?, at, depth)?);
                }
                elementwise(&three, |n| Some(n[1].max(n[0]).min(n[2])))
            }
            _ => None,
        }
    }

    /// Folds a reshape to `shape`.
    fn reshape(&mut self, operand: ValueId, shape: &[i64], at: At, depth: usize) -> Option<Folded> {
        let from = self.module.shape(operand);
        if let Some(places) = same_but_ones(from, shape) {
            // `places` has, for each dimension of the result, the corresponding dimension of the operand, or `None` for a dimension of size
            // 1.
            let inner = at.and_then(|(dim, i)| Some(((*places.get(dim)?)?, i)));
            let folded = self.value(operand, inner, depth)?;
            return folded.moved(|d| places.iter().position(|&p| p == Some(d)));
        }
        let folded = self.value(operand, None, depth)?;
        if folded.dim.is_none() {
            return Some(folded);
        }
        let elements = elements(shape)?;
        if !self.spend(elements) {
            return None;
        }
        reshaped(&folded, from, shape, elements)?.fixed(at)
    }
}

/// Whether `dtype` is a type that the folder does not support: neither integers nor booleans.
fn is_other(dtype: DType) -> bool {
    matches!(dtype.class(), DTypeClass::Float | DTypeClass::Complex)
}

/// Whether type `dtype` can represent `n`. Arithmetic that wraps around is not folded.
fn fits(n: i64, dtype: DType) -> bool {
    let bits = dtype.bits();
    match dtype.class() {
        DTypeClass::Bool => n == 0 || n == 1,
        DTypeClass::Signed => bits >= 64 || (-(1 << (bits - 1))..1 << (bits - 1)).contains(&n),
        DTypeClass::Unsigned => n >= 0 && (bits >= 63 || n < 1 << bits),
        DTypeClass::Float | DTypeClass::Complex => false,
    }
}

/// Returns the integer or boolean of type `dtype` that is stored as `bytes`.
fn integer(bytes: &[u8], dtype: DType) -> Option<i64> {
    let is_negative = match dtype.class() {
        DTypeClass::Signed => bytes.last().is_some_and(|&b| b >= 0x80),
        DTypeClass::Bool | DTypeClass::Unsigned => false,
        DTypeClass::Float | DTypeClass::Complex => return None,
    };
    let mut word = if is_negative { [0xff; 8] } else { [0; 8] };
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let n = i64::from_le_bytes(word);
    // Types below 8 bits are in the low bits of a byte, and 64-bit unsigned integers may be too large.
    fits(n, dtype).then_some(n)
}

/// Applies a function to the operands' elements. Returns `None` if operands vary along different dimensions.
fn elementwise(operands: &[Folded], apply: impl Fn(&[i64]) -> Option<i64>) -> Option<Folded> {
    let mut varying = operands.iter().filter(|f| f.dim.is_some());
    let first = varying.next();
    if varying.any(|f| f.dim != first.and_then(|f| f.dim)) {
        return None;
    }
    let count = first.map_or(1, |f| f.values.len());
    let mut row = vec![0; operands.len()];
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        for (n, operand) in row.iter_mut().zip(operands) {
            *n = operand.at(i)?;
        }
        out.push(apply(&row)?);
    }
    Folded::along(first.and_then(|f| f.dim).unwrap_or(0), out)
}

fn apply_unary(op: UnaryOp, n: i64, is_bool: bool) -> Option<i64> {
    match op {
        UnaryOp::Abs => n.checked_abs(),
        UnaryOp::Negate => n.checked_neg(),
        UnaryOp::Sign => Some(n.signum()),
        UnaryOp::Not if is_bool => Some(1 - n),
        UnaryOp::Not => Some(!n),
        _ => None,
    }
}

/// Evaluates an operation on two integers. Division rounds towards zero, and a remainder has the sign of the dividend (StableHLO
/// specification, `divide`, `remainder`).
fn apply_binary(op: BinaryOp, a: i64, b: i64, dtype: DType) -> Option<i64> {
    let wraps = matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply);
    if wraps && dtype == DType::I1 { None } else { op.on_integers(a, b) }
}

/// Returns for each dimension of `to` the corresponding dimension of `from`, or `None` for a dimension of size 1. The shapes may differ
/// only in dimensions of size 1.
fn same_but_ones(from: &[i64], to: &[i64]) -> Option<Vec<Option<usize>>> {
    let mut left = from.iter().enumerate().filter(|&(_, &n)| n != 1).peekable();
    let mut places = Vec::with_capacity(to.len());
    for &n in to {
        if n == 1 {
            places.push(None);
            continue;
        }
        let (d, &m) = left.next()?;
        if m != n {
            return None;
        }
        places.push(Some(d));
    }
    left.peek().is_none().then_some(places)
}

/// Returns the number of elements of a shape, if it is at most [`MAX_ELEMENTS`].
fn elements(shape: &[i64]) -> Option<usize> {
    let product = |n: usize, &m: &i64| n.checked_mul(usize::try_from(m).ok()?);
    shape.iter().try_fold(1, product).filter(|&n| n <= MAX_ELEMENTS)
}

/// Returns the elements of `folded`, whose shape is `from`, after a reshape to `to`.
fn reshaped(folded: &Folded, from: &[i64], to: &[i64], elements: usize) -> Option<Folded> {
    let dim = folded.dim?;
    let stride: i64 = from.get(dim + 1..)?.iter().product();
    let size = *from.get(dim)?;
    let all: Option<Vec<i64>> =
        (0..elements).map(|i| folded.at((i as i64 / stride % size) as usize)).collect();
    along_one(to, &all?)
}

/// Returns row-major elements as a table along one dimension, if they vary along only one.
fn along_one(shape: &[i64], all: &[i64]) -> Option<Folded> {
    let first = *all.first()?;
    // The first element that differs from element 0 determines the dimension: if the elements vary along only one dimension, it differs in
    // the index along that dimension.
    let Some(other) = all.iter().position(|&n| n != first) else { return Some(Folded::all(first)) };
    let mut stride = 1;
    for dim in (0..shape.len()).rev() {
        let size = usize::try_from(shape[dim]).ok().filter(|&n| n > 0)?;
        let along = other / stride % size;
        if along != 0 {
            let values: Vec<i64> = (0..size).map(|i| all.get(i * stride).copied()).collect::<Option<_>>()?;
            let fits = all.iter().enumerate().all(|(i, &n)| n == values[i / stride % size]);
            return if fits { Folded::along(dim, values) } else { None };
        }
        stride *= size;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the folded elements of the value that the function with body `body` returns.
    fn folded(body: &str, ty: &str, at: At) -> Option<(Option<usize>, Vec<i64>)> {
        let text = format!("func.func @main(%x: {ty}) -> {ty} {{\n{body}\nreturn %r : {ty}\n}}");
        let module = shardc_stablehlo::parse(&text).unwrap();
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        let returned = module.ops[module.terminator(body).unwrap()].operands[0];
        let folded = IntegerFold::new(&module).fold(returned, at)?;
        Some((folded.dim, folded.values.to_vec()))
    }

    #[test]
    fn batch_counts_are_recognized_in_many_forms() {
        let negative = "%i = stablehlo.iota dim = 0 : tensor<3xi32>
          %z = stablehlo.constant dense<0> : tensor<3xi32>
          %n = stablehlo.constant dense<3> : tensor<3xi32>
          %lt = stablehlo.compare LT, %i, %z, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
          %add = stablehlo.add %i, %n : tensor<3xi32>
          %r = stablehlo.select %lt, %add, %i : tensor<3xi1>, tensor<3xi32>";
        assert_eq!(folded(negative, "tensor<3xi32>", None), Some((Some(0), vec![0, 1, 2])));

        let divided = "%i = stablehlo.iota dim = 0 : tensor<6xi32>
          %n = stablehlo.constant dense<2> : tensor<6xi32>
          %d = stablehlo.divide %i, %n : tensor<6xi32>
          %r = stablehlo.reshape %d : (tensor<6xi32>) -> tensor<3x2xi32>";
        assert_eq!(folded(divided, "tensor<3x2xi32>", None), Some((Some(0), vec![0, 1, 2])));

        let minor = divided.replace("divide", "remainder");
        assert_eq!(folded(&minor, "tensor<3x2xi32>", None), Some((Some(1), vec![0, 1])));

        let column = "%i = stablehlo.iota dim = 0 : tensor<3x1xi32>
          %y = stablehlo.slice %x [0:3, 0:1] : (tensor<3x2xi32>) -> tensor<3x1xi32>
          %r = stablehlo.concatenate %y, %i, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>";
        assert_eq!(folded(column, "tensor<3x2xi32>", None), None);
        assert_eq!(folded(column, "tensor<3x2xi32>", Some((1, 0))), None);
        assert_eq!(folded(column, "tensor<3x2xi32>", Some((1, 1))), Some((Some(0), vec![0, 1, 2])));

        let written = "%r = stablehlo.constant dense<[[[0, 0], [1, 1]]]> : tensor<1x2x2xi64>";
        assert_eq!(folded(written, "tensor<1x2x2xi64>", None), Some((Some(1), vec![0, 1])));
        let both = written.replace("[1, 1]", "[1, 0]");
        assert_eq!(folded(&both, "tensor<1x2x2xi64>", None), None);
    }

    #[test]
    fn progressions_have_equal_distances() {
        let of = |numbers: &[i64]| Progression::of(numbers).map(|p| (p.start, p.step, p.last()));
        assert_eq!(of(&[2, 5, 8]), Some((2, 3, 8)));
        assert_eq!(of(&[7]), Some((7, 1, 7)));
        assert_eq!(of(&[4, 3]), Some((4, -1, 3)));
        assert_eq!(of(&[1, 2, 4]), None);
        assert_eq!(of(&[i64::MIN, i64::MAX]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn wrapping_arithmetic_is_not_folded() {
        let body = "%i = stablehlo.iota dim = 0 : tensor<2xi8>
          %n = stablehlo.constant dense<127> : tensor<2xi8>
          %r = stablehlo.add %i, %n : tensor<2xi8>";
        assert_eq!(folded(body, "tensor<2xi8>", None), None);
    }

    #[test]
    fn broadcasts_and_transposes_keep_the_dimension() {
        let body = "%i = stablehlo.iota dim = 0 : tensor<3xui32>
          %b = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<3xui32>) -> tensor<2x3x1xui32>
          %t = stablehlo.transpose %b, dims = [1, 2, 0] : (tensor<2x3x1xui32>) -> tensor<3x1x2xui32>
          %r = stablehlo.reshape %t : (tensor<3x1x2xui32>) -> tensor<1x3x2xui32>";
        assert_eq!(folded(body, "tensor<1x3x2xui32>", None), Some((Some(1), vec![0, 1, 2])));
        assert_eq!(folded(body, "tensor<1x3x2xui32>", Some((1, 2))), Some((None, vec![2])));
    }
}
