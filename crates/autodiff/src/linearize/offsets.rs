//! Finds offsets that cancel: `softmax(x - m)` does not depend on `m`, so the maximum that is used as `m` needs no derivative.
//!
//! The analysis traces the effect of shifting `m` by a small amount: `x - m` is shifted by the opposite amount, `exp(x - m)` is scaled, and
//! so is a sum of such exponentials. A quotient of two equally scaled values is unchanged, and so is `log(sum) + m`. If all effects cancel,
//! the derivative with respect to `m` is zero, so `m` gets no tangent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::reducer::{is_identity, reduction_of};
use shardc_ir::{
    BinaryOp, DTypeClass, Dense, DimList, DotSpec, GatherSpec, Module, OpId, OpKind, ReductionKind,
    SecondaryMap, UnaryOp, Uses, ValueId,
};
use smallvec::SmallVec;

/// The maximum number of operations that are traced: offsets usually cancel within a few.
const MANY: usize = 64;

/// The users of values in the program before linearization.
#[derive(Debug)]
pub(super) struct Readers {
    uses: Uses,
    places: SecondaryMap<OpId, u32>,
}

impl Readers {
    pub(super) fn of(module: &Module) -> Readers {
        let mut places = SecondaryMap::new();
        for (i, op) in module.bodies().flat_map(|body| module.walk(body)).enumerate() {
            places[op] = i as u32;
        }
        Readers { uses: module.uses(), places }
    }

    /// Whether a differentiable result of the operation has users. Also true for operations that were inserted later, because their users
    /// are unknown.
    pub(super) fn reads(&self, module: &Module, op: OpId) -> bool {
        let is_read = |value: &&ValueId| !self.uses.of(**value).is_empty();
        let mut read = module.ops[op].results.iter().filter(is_read).peekable();
        read.peek().is_none() || read.any(|&value| can_change(module, value))
    }

    /// Whether the operations `by` are the only users of a value.
    pub(super) fn reads_only(&self, value: ValueId, by: &[OpId]) -> bool {
        self.uses.of(value).iter().all(|(op, _)| by.contains(op))
    }

    /// The users of a value.
    pub(super) fn users(&self, value: ValueId) -> Vec<OpId> {
        self.uses.of(value).iter().map(|&(op, _)| op).collect()
    }

    /// Whether all results stay the same if `root` is shifted by a small amount. Unknown effects count as changes.
    pub(super) fn cancels(&self, module: &Module, root: ValueId) -> bool {
        let mut root = root;
        // The root may first pass through other operations, such as a `select` that replaces an infinite value.
        for _ in 0..8 {
            if self.cancels_from(module, root) {
                return true;
            }
            let mut next = None;
            for &(op, _) in self.uses.of(root) {
                let results = &module.ops[op].results;
                if matches!(module.ops[op].kind, OpKind::Return) {
                    return false;
                }
                if results.iter().any(|&v| can_change(module, v))
                    && (results.len() != 1 || next.replace(results[0]).is_some())
                {
                    return false;
                }
            }
            match next {
                Some(next) => root = next,
                None => return false,
            }
        }
        false
    }

    fn cancels_from(&self, module: &Module, root: ValueId) -> bool {
        if self.uses.of(root).is_empty() {
            return false;
        }
        let along = (0..module.rank(root)).map(|d| Some(d).filter(|&d| module.shape(root)[d] != 1)).collect();
        let mut moved: FxHashMap<ValueId, Moved> = FxHashMap::default();
        moved.insert(root, Moved { how: How::Plus(1), along });
        let mut todo = BinaryHeap::new();
        let mut seen = FxHashSet::default();
        let mut follow = |todo: &mut BinaryHeap<_>, value: ValueId| {
            for &(op, _) in self.uses.of(value) {
                if seen.insert(op) {
                    todo.push(Reverse((self.places[op], op)));
                }
            }
        };
        follow(&mut todo, root);
        for _ in 0..MANY {
            let Some(Reverse((_, op))) = todo.pop() else { return true };
            let data = &module.ops[op];
            let returns = matches!(data.kind, OpKind::Return);
            if !returns && !data.results.iter().any(|&v| can_change(module, v)) {
                continue;
            }
            match (Step { module, moved: &moved, op }).result() {
                Some(Moved { how: How::Plus(0) | How::Times(0), .. }) => {}
                Some(how) => {
                    moved.insert(data.results[0], how);
                    follow(&mut todo, data.results[0]);
                }
                None => return false,
            }
        }
        false
    }
}

fn can_change(module: &Module, value: ValueId) -> bool {
    let class = module.tensor(value).map(|ty| ty.dtype.class());
    !matches!(class, Some(DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned))
}

/// The effect on a value if the root (the value whose offset is tested) is shifted by a small amount. The number is a multiple of this
/// amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The value is shifted by this multiple of the amount.
    Plus(i32),
    /// The value is scaled by the exponential of this multiple of the amount.
    Times(i32),
}

/// The effect on a value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moved {
    how: How,
    /// For each dimension of the value, the corresponding dimension of the root; `None` if all elements change by the same amount.
    along: Along,
}

type Along = SmallVec<[Option<usize>; 4]>;

/// An operation, at least one of whose operands changes if the root is shifted.
struct Step<'a> {
    module: &'a Module,
    moved: &'a FxHashMap<ValueId, Moved>,
    op: OpId,
}

impl Step<'_> {
    fn operand(&self, i: usize) -> ValueId {
        self.module.ops[self.op].operands[i]
    }

    fn moved(&self, i: usize) -> Option<&Moved> {
        self.moved.get(&self.operand(i))
    }

    /// Returns the effect on the only result; `None` if it is neither a shift nor a scaling.
    fn result(&self) -> Option<Moved> {
        let data = &self.module.ops[self.op];
        if data.results.len() != 1 {
            return None;
        }
        match &data.kind {
            OpKind::Convert | OpKind::ShardingConstraint(_) => self.moved(0).cloned(),
            OpKind::Unary(op) => self.unary(*op),
            OpKind::Binary(op) => self.binary(*op),
            OpKind::Select => self.select(),
            OpKind::BroadcastInDim { dims } => self.broadcast(dims),
            OpKind::Reshape => self.reshape(),
            OpKind::Transpose { permutation } => {
                let from = self.moved(0)?;
                let along = permutation.iter().map(|&d| from.along[d as usize]).collect();
                Some(Moved { how: from.how, along })
            }
            OpKind::Reduce { dims } => self.sum(dims),
            OpKind::DotGeneral(spec) => self.product(spec),
            OpKind::Gather(spec) => self.gather(spec),
            _ => None,
        }
    }

    fn unary(&self, op: UnaryOp) -> Option<Moved> {
        let from = self.moved(0)?;
        let how = match (op, from.how) {
            (UnaryOp::Negate, How::Plus(n)) => How::Plus(-n),
            (UnaryOp::Exponential, How::Plus(n)) => How::Times(n),
            (UnaryOp::Log, How::Times(n)) => How::Plus(n),
            (UnaryOp::Negate | UnaryOp::Abs, how @ How::Times(_)) => how,
            // Scaling by an exponential, which is positive, does not change the sign.
            (UnaryOp::Sign, How::Times(_)) => How::Times(0),
            _ => return None,
        };
        Some(Moved { how, along: from.along.clone() })
    }

    fn binary(&self, op: BinaryOp) -> Option<Moved> {
        let (a, b) = (self.moved(0), self.moved(1));
        let along = a.or(b)?.along.clone();
        if let (Some(a), Some(b)) = (a, b)
            && a.along != b.along
        {
            return None;
        }
        let of = |moved: Option<&Moved>| moved.map(|moved| moved.how);
        let how = match (op, of(a), of(b)) {
            (BinaryOp::Add, Some(How::Plus(a)), Some(How::Plus(b))) => How::Plus(a + b),
            (BinaryOp::Subtract, Some(How::Plus(a)), Some(How::Plus(b))) => How::Plus(a - b),
            (BinaryOp::Add, Some(how @ How::Plus(_)), None) => how,
            (BinaryOp::Add, None, Some(how @ How::Plus(_))) => how,
            (BinaryOp::Subtract, Some(how @ How::Plus(_)), None) => how,
            (BinaryOp::Subtract, None, Some(How::Plus(b))) => How::Plus(-b),
            (BinaryOp::Add | BinaryOp::Subtract, Some(a @ How::Times(_)), Some(b)) if a == b => a,
            (BinaryOp::Multiply, Some(How::Times(a)), Some(How::Times(b))) => How::Times(a + b),
            (BinaryOp::Multiply, Some(how @ How::Times(_)), None) => how,
            (BinaryOp::Multiply, None, Some(how @ How::Times(_))) => how,
            (BinaryOp::Divide, Some(How::Times(a)), Some(How::Times(b))) => How::Times(a - b),
            (BinaryOp::Divide, Some(how @ How::Times(_)), None) => how,
            (BinaryOp::Divide, None, Some(How::Times(b))) => How::Times(-b),
            _ => return None,
        };
        Some(Moved { how, along })
    }

    fn select(&self) -> Option<Moved> {
        let (yes, no) = (self.moved(1), self.moved(2));
        let (moved, other) = match (yes, no) {
            (Some(yes), Some(no)) if yes == no => return Some(yes.clone()),
            (Some(yes), None) => (yes, self.operand(2)),
            (None, Some(no)) => (no, self.operand(1)),
            _ => return None,
        };
        // NaN plus a shift is NaN, and zero times a scale is zero.
        let stays = match moved.how {
            How::Plus(_) => is_not_a_number(self.module, other),
            How::Times(_) => is_identity(self.module, other, ReductionKind::Add),
        };
        stays.then(|| moved.clone())
    }

    fn broadcast(&self, dims: &DimList) -> Option<Moved> {
        let from = self.moved(0)?;
        let mut along: Along =
            SmallVec::from_elem(None, self.module.rank(self.module.ops[self.op].results[0]));
        for (&d, &root) in dims.iter().zip(&from.along) {
            along[d as usize] = root;
        }
        Some(Moved { how: from.how, along })
    }

    /// The effect on the result of a reshape that only adds or removes dimensions of size 1.
    fn reshape(&self) -> Option<Moved> {
        let from = self.moved(0)?;
        let (old, new) =
            (self.module.shape(self.operand(0)), self.module.shape(self.module.ops[self.op].results[0]));
        let mut left = old.iter().zip(&from.along).filter(|(n, _)| **n != 1);
        let mut along = Along::new();
        for &n in new {
            along.push(match n {
                1 => None,
                _ => left.next().filter(|(old, _)| **old == n)?.1.to_owned(),
            });
        }
        left.next().is_none().then_some(Moved { how: from.how, along })
    }

    /// The effect on the result of a sum: a sum of equally scaled values is scaled in the same way.
    fn sum(&self, dims: &DimList) -> Option<Moved> {
        let data = &self.module.ops[self.op];
        let from = self.moved(0).filter(|moved| matches!(moved.how, How::Times(_)))?;
        let adds = reduction_of(self.module, *data.regions.first()?, 1) == Some(ReductionKind::Add);
        if data.operands.len() != 2 || !adds || !is_identity(self.module, self.operand(1), ReductionKind::Add)
        {
            return None;
        }
        if dims.iter().any(|&d| from.along[d as usize].is_some()) {
            return None;
        }
        let along = (0..from.along.len()).filter(|&d| !dims.contains(&(d as u32))).map(|d| from.along[d]);
        Some(Moved { how: from.how, along: along.collect() })
    }

    /// Returns the effect on the result of a matmul: if one operand is unaffected, the result is scaled like the other operand.
    fn product(&self, spec: &DotSpec) -> Option<Moved> {
        let (from, i) = match (self.moved(0), self.moved(1)) {
            (Some(from), None) => (from, 0),
            (None, Some(from)) => (from, 1),
            _ => return None,
        };
        let sides = [(&spec.lhs_batch, &spec.lhs_contract), (&spec.rhs_batch, &spec.rhs_contract)];
        let (batch, contract) = sides[i];
        if !matches!(from.how, How::Times(_)) || contract.iter().any(|&d| from.along[d as usize].is_some()) {
            return None;
        }
        let mut along: Along = batch.iter().map(|&d| from.along[d as usize]).collect();
        for (side, (batch, contract)) in sides.into_iter().enumerate() {
            for d in 0..self.module.rank(self.operand(side)) {
                if !batch.contains(&(d as u32)) && !contract.contains(&(d as u32)) {
                    along.push(if side == i { from.along[d] } else { None });
                }
            }
        }
        Some(Moved { how: from.how, along })
    }

    /// Returns the effect on the result of a gather, if it selects only along dimensions in which all elements change by the same amount.
    fn gather(&self, spec: &GatherSpec) -> Option<Moved> {
        let (operand, indices) = (self.operand(0), self.operand(1));
        let from = self.moved(0)?;
        let result = self.module.ops[self.op].results[0];
        let mut along: Along = SmallVec::from_elem(None, self.module.rank(result));
        // The result dimensions that correspond to indices, in order.
        let batch: Vec<usize> =
            (0..along.len()).filter(|&d| !spec.offset_dims.contains(&(d as u32))).collect();
        let of_index: Vec<u32> =
            (0..self.module.rank(indices) as u32).filter(|&d| d != spec.index_vector_dim).collect();
        let mut offsets = spec.offset_dims.iter();
        for (d, &root) in from.along.iter().enumerate() {
            if let Some(i) = spec.operand_batching_dims.iter().position(|&b| b as usize == d) {
                let of = of_index.iter().position(|&x| x == spec.start_indices_batching_dims[i])?;
                along[*batch.get(of)?] = root;
                continue;
            }
            let collapsed = spec.collapsed_slice_dims.contains(&(d as u32));
            let to = if collapsed { None } else { Some(*offsets.next()? as usize) };
            if root.is_some() {
                let whole = spec.slice_sizes.get(d) == Some(&self.module.shape(operand)[d]);
                along[to.filter(|_| whole)?] = root;
            }
        }
        Some(Moved { how: from.how, along })
    }
}

/// Whether a value is a constant with all elements NaN.
fn is_not_a_number(module: &Module, mut value: ValueId) -> bool {
    while let Some(op) = module.def_op(value) {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::Constant(Dense::Splat(bytes)) => {
                return module.tensor(value).is_some_and(|ty| match ty.dtype {
                    shardc_ir::DType::F32 => {
                        <[u8; 4]>::try_from(bytes.as_slice()).is_ok_and(|b| f32::from_le_bytes(b).is_nan())
                    }
                    shardc_ir::DType::F64 => {
                        <[u8; 8]>::try_from(bytes.as_slice()).is_ok_and(|b| f64::from_le_bytes(b).is_nan())
                    }
                    _ => false,
                });
            }
            OpKind::BroadcastInDim { .. } | OpKind::Reshape => value = data.operands[0],
            _ => return false,
        }
    }
    false
}
