//! Dimensions of two programs that have corresponding positions.
//!
//! Two dimensions are *linked* if an operation computes an element only from elements at the same position in both. A class of linked
//! dimensions may have fewer positions if no operation moves elements along it, and if one of these holds:
//!
//! * No operation reduces along the class. Then both programs are independent programs for each position.
//! * Each operation that reduces along it is a sum of elements that are zero wherever the arguments are. Then the programs compute the same as
//!   larger ones whose arguments are zero at all other positions.
//!
//! In both cases a difference of the smaller programs is one of the larger programs. The numbers of blocks do not change: positions are
//! counted in blocks of the greatest common divisor of the sizes of a class.

use shardc_ir::{BinaryOp, Dense, EntityRef, Module, Op, OpKind, ReductionKind, UnaryOp, ValueId, reducer};

use super::Pair;

/// The programs of a pair.
pub(crate) const SIDES: [usize; 2] = [0, 1];

/// Classes of linked dimensions.
pub(crate) struct Classes<'m> {
    modules: [&'m Module; 2],
    /// The number of the first dimension of each value.
    first: [Vec<usize>; 2],
    parent: Vec<usize>,
    /// Whether a dimension must keep its size.
    is_pinned: Vec<bool>,
    /// Sums: the program, the number of the dimension, and the operands of which one must be zero.
    sums: Vec<(usize, usize, Vec<ValueId>)>,
}

/// The operations of the entry function.
pub(crate) fn ops(module: &Module) -> impl Iterator<Item = &Op> {
    let body = module.entry().and_then(|entry| module.funcs[entry].body);
    body.into_iter().flat_map(|body| &module.regions[body].ops).map(|&op| &module.ops[op])
}

impl<'m> Classes<'m> {
    /// The classes of a pair.
    pub(crate) fn new(pair: &'m Pair) -> Classes<'m> {
        let modules = [&pair.original, &pair.partitioned];
        let mut next = 0;
        let first = modules.map(|module| {
            let mut first = Vec::new();
            for value in module.values.keys() {
                first.push(next);
                next += module.rank(value);
            }
            first
        });
        let parent = (0..next).collect();
        let mut classes = Classes { modules, first, parent, is_pinned: vec![false; next], sums: Vec::new() };
        for side in SIDES {
            for op in ops(modules[side]) {
                classes.operation(side, op);
            }
        }
        classes.boundary(pair);
        classes
    }

    fn node(&self, side: usize, value: ValueId, dim: usize) -> usize {
        self.first[side][value.index()] + dim
    }

    /// The class of a dimension.
    pub(crate) fn class(&self, side: usize, value: ValueId, dim: usize) -> usize {
        self.root(self.node(side, value, dim))
    }

    fn root(&self, mut node: usize) -> usize {
        while self.parent[node] != node {
            node = self.parent[node];
        }
        node
    }

    fn link(&mut self, one: usize, two: usize) {
        let (one, two) = (self.root(one), self.root(two));
        self.parent[one.max(two)] = one.min(two);
        self.is_pinned[one.min(two)] |= self.is_pinned[one.max(two)];
    }

    fn link_values(&mut self, side: usize, one: ValueId, two: ValueId) {
        let rank = self.modules[side].rank(one);
        if rank == self.modules[side].rank(two) {
            (0..rank).for_each(|dim| self.link(self.node(side, one, dim), self.node(side, two, dim)));
        }
    }

    fn pin(&mut self, node: usize) {
        let root = self.root(node);
        self.is_pinned[root] = true;
    }

    fn pin_value(&mut self, side: usize, value: ValueId) {
        (0..self.modules[side].rank(value)).for_each(|dim| self.pin(self.node(side, value, dim)));
    }

    /// Dimensions of inputs and outputs correspond to those of their blocks.
    fn boundary(&mut self, pair: &Pair) {
        let ends = |module: &Module| -> Option<[Vec<ValueId>; 2]> {
            let body = module.funcs[module.entry()?].body?;
            let end = module.terminator(body)?;
            Some([module.regions[body].args.clone(), module.ops[end].operands.to_vec()])
        };
        let (Some(global), Some(local)) = (ends(&pair.original), ends(&pair.partitioned)) else { return };
        for (at, blocks) in [&pair.boundary.inputs, &pair.boundary.outputs].into_iter().enumerate() {
            for ((&global, &local), block) in global[at].iter().zip(&local[at]).zip(blocks) {
                for dim in 0..block.axes.len() {
                    let nodes = (self.node(0, global, dim), self.node(1, local, dim));
                    self.link(nodes.0, nodes.1);
                    if block.is_uneven(dim) {
                        self.pin(nodes.0);
                    }
                }
            }
        }
    }

    fn operation(&mut self, side: usize, op: &Op) {
        let module = self.modules[side];
        let Some(&result) = op.results.first() else { return };
        let shape = module.shape(result).to_vec();
        match &op.kind {
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(..)
            | OpKind::Select
            | OpKind::Clamp
            | OpKind::Convert
            | OpKind::ReducePrecision { .. } => {
                op.operands.iter().for_each(|&operand| self.link_values(side, operand, result));
            }
            OpKind::AllReduce(_)
            | OpKind::AllGather { .. }
            | OpKind::ReduceScatter { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectivePermute(_)
            | OpKind::OptimizationBarrier => {
                let pairs = op.operands.iter().zip(&op.results);
                pairs.for_each(|(&operand, &result)| self.link_values(side, operand, result));
            }
            OpKind::Constant(Dense::Splat(_)) | OpKind::PartitionId | OpKind::ReplicaId => {}
            OpKind::Iota { dim } => self.pin(self.node(side, result, *dim as usize)),
            OpKind::BroadcastInDim { dims } => {
                let operand = op.operands[0];
                for (from, &to) in dims.iter().enumerate() {
                    if module.shape(operand)[from] == shape[to as usize] {
                        self.link(self.node(side, operand, from), self.node(side, result, to as usize));
                    }
                }
            }
            OpKind::Transpose { permutation } => {
                for (to, &from) in permutation.iter().enumerate() {
                    let from = self.node(side, op.operands[0], from as usize);
                    self.link(from, self.node(side, result, to));
                }
            }
            OpKind::DotGeneral(spec) => self.product(side, op, spec),
            OpKind::Reduce { dims } => self.reduce(side, op, dims),
            OpKind::Reshape => self.reshape(side, op),
            OpKind::Slice(spec) => {
                let size = module.shape(op.operands[0]);
                let is_full: Vec<bool> = (0..shape.len())
                    .map(|dim| spec.start[dim] == 0 && shape[dim] == size[dim] && spec.stride[dim] == 1)
                    .collect();
                self.partly(side, op.operands[0], result, &is_full);
            }
            OpKind::DynamicSlice { .. } => {
                let size = module.shape(op.operands[0]);
                let is_full: Vec<bool> = shape.iter().zip(size).map(|(one, two)| one == two).collect();
                self.partly(side, op.operands[0], result, &is_full);
            }
            OpKind::Concatenate { dim } => {
                let is_full: Vec<bool> = (0..shape.len()).map(|own| own != *dim as usize).collect();
                op.operands.iter().for_each(|&operand| self.partly(side, operand, result, &is_full));
            }
            _ => {
                op.results.iter().for_each(|&value| self.pin_value(side, value));
                op.operands.iter().for_each(|&value| self.pin_value(side, value));
                for &inner in op.regions.iter().flat_map(|&region| &module.regions[region].ops) {
                    let used: Vec<ValueId> = super::extract::uses(module, inner).collect();
                    used.into_iter().for_each(|value| self.pin_value(side, value));
                }
            }
        }
    }

    /// Links dimensions that are taken in full, and pins the others.
    fn partly(&mut self, side: usize, operand: ValueId, result: ValueId, is_full: &[bool]) {
        for (dim, &is_full) in is_full.iter().enumerate() {
            let nodes = (self.node(side, operand, dim), self.node(side, result, dim));
            if is_full {
                self.link(nodes.0, nodes.1);
            } else {
                self.pin(nodes.0);
                self.pin(nodes.1);
            }
        }
    }

    fn product(&mut self, side: usize, op: &Op, spec: &shardc_ir::DotSpec) {
        let module = self.modules[side];
        let (left, right, result) = (op.operands[0], op.operands[1], op.results[0]);
        let mut next = 0;
        for (&one, &two) in spec.lhs_batch.iter().zip(&spec.rhs_batch) {
            let result = self.node(side, result, next);
            self.link(self.node(side, left, one as usize), result);
            self.link(self.node(side, right, two as usize), result);
            next += 1;
        }
        for (operand, batch, contract) in
            [(left, &spec.lhs_batch, &spec.lhs_contract), (right, &spec.rhs_batch, &spec.rhs_contract)]
        {
            let is_free = |dim: &u32| !batch.contains(dim) && !contract.contains(dim);
            for dim in (0..module.rank(operand) as u32).filter(is_free) {
                self.link(self.node(side, operand, dim as usize), self.node(side, result, next));
                next += 1;
            }
        }
        for (&one, &two) in spec.lhs_contract.iter().zip(&spec.rhs_contract) {
            let (one, two) = (self.node(side, left, one as usize), self.node(side, right, two as usize));
            self.link(one, two);
            self.sums.push((side, one, vec![left, right]));
        }
    }

    fn reduce(&mut self, side: usize, op: &Op, dims: &[u32]) {
        let module = self.modules[side];
        let count = op.results.len();
        let is_sum = count == 1
            && op.regions.first().and_then(|&region| reducer::reduction_of(module, region, 1))
                == Some(ReductionKind::Add);
        for (&operand, &result) in op.operands.iter().zip(&op.results) {
            let mut next = 0;
            for dim in 0..module.rank(operand) {
                let node = self.node(side, operand, dim);
                if !dims.contains(&(dim as u32)) {
                    self.link(node, self.node(side, result, next));
                    next += 1;
                } else if is_sum {
                    self.sums.push((side, node, vec![operand]));
                } else {
                    self.pin(node);
                }
            }
        }
        // All inputs of a reduction have the same positions.
        for pair in op.operands.get(..count).unwrap_or_default().windows(2) {
            self.link_values(side, pair[0], pair[1]);
        }
    }

    /// Links dimensions that a reshape keeps, and pins those that it merges or splits.
    fn reshape(&mut self, side: usize, op: &Op) {
        let module = self.modules[side];
        let (operand, result) = (op.operands[0], op.results[0]);
        let (from, to) = (module.shape(operand), module.shape(result));
        let (mut at, mut until) = ((0, 0), (0, 0));
        while until.0 < from.len() || until.1 < to.len() {
            let product = |list: &[i64]| list.iter().product::<i64>();
            // Extends the group that has fewer elements.
            let sizes = (product(&from[at.0..until.0]), product(&to[at.1..until.1]));
            let extends_from = until.1 >= to.len() || (until.0 < from.len() && sizes.0 <= sizes.1);
            if extends_from {
                until.0 += 1
            } else {
                until.1 += 1
            }
            let sizes = (product(&from[at.0..until.0]), product(&to[at.1..until.1]));
            if sizes.0 != sizes.1 || until.0 == at.0 || until.1 == at.1 {
                continue;
            }
            if (until.0 - at.0, until.1 - at.1) == (1, 1) {
                self.link(self.node(side, operand, at.0), self.node(side, result, at.1));
            } else {
                (at.0..until.0).for_each(|dim| self.pin(self.node(side, operand, dim)));
                (at.1..until.1).for_each(|dim| self.pin(self.node(side, result, dim)));
            }
            at = until;
        }
        (at.0..from.len()).for_each(|dim| self.pin(self.node(side, operand, dim)));
        (at.1..to.len()).for_each(|dim| self.pin(self.node(side, result, dim)));
    }

    /// The classes that may have fewer positions, with the greatest common divisor of the sizes of their dimensions.
    pub(crate) fn free(&self) -> Vec<(usize, i64)> {
        let mut divisors = vec![0i64; self.parent.len()];
        for side in SIDES {
            let module = self.modules[side];
            let body = module.entry().and_then(|entry| module.funcs[entry].body);
            for value in body.into_iter().flat_map(|body| super::relations::values(module, body)) {
                for (dim, &size) in module.shape(value).iter().enumerate() {
                    let own = &mut divisors[self.class(side, value, dim)];
                    *own = gcd(*own, size);
                }
            }
        }
        let is_free = |&(class, divisor): &(usize, i64)| {
            divisor > 1 && !self.is_pinned[class] && self.has_zero_sums(class)
        };
        divisors.into_iter().enumerate().filter(is_free).collect()
    }

    /// Whether all sums along a class have operands that are zero wherever the arguments are.
    fn has_zero_sums(&self, class: usize) -> bool {
        SIDES.iter().all(|&side| {
            let mut sums =
                self.sums.iter().filter(|&&(own, node, _)| own == side && self.root(node) == class);
            if sums.clone().next().is_none() {
                return true;
            }
            let zeros = self.zeros(side, class);
            sums.all(|(.., operands)| operands.iter().any(|value| zeros[value.index()]))
        })
    }

    /// The number of dimensions of a value in a class.
    fn count(&self, side: usize, value: ValueId, class: usize) -> usize {
        (0..self.modules[side].rank(value)).filter(|&dim| self.class(side, value, dim) == class).count()
    }

    /// The values that are zero at the positions of a class at which all arguments are zero.
    fn zeros(&self, side: usize, class: usize) -> Vec<bool> {
        let module = self.modules[side];
        let mut zeros = vec![false; module.values.len()];
        let body = module.entry().and_then(|entry| module.funcs[entry].body);
        for &arg in body.into_iter().flat_map(|body| &module.regions[body].args) {
            zeros[arg.index()] = self.count(side, arg, class) > 0;
        }
        for op in ops(module) {
            let Some(&result) = op.results.first() else { continue };
            let count = self.count(side, result, class);
            let is = |at: usize| op.operands.get(at).is_some_and(|value| zeros[value.index()]);
            let has_all =
                |at: usize| op.operands.get(at).is_some_and(|&value| self.count(side, value, class) == count);
            let is_zero = match &op.kind {
                OpKind::Unary(UnaryOp::Negate)
                | OpKind::Convert
                | OpKind::ReducePrecision { .. }
                | OpKind::Transpose { .. }
                | OpKind::BroadcastInDim { .. }
                | OpKind::Reshape
                | OpKind::Slice(_)
                | OpKind::DynamicSlice { .. }
                | OpKind::AllGather { .. }
                | OpKind::AllToAll { .. }
                | OpKind::CollectivePermute(_) => is(0) && has_all(0),
                OpKind::AllReduce(_) | OpKind::ReduceScatter { .. } | OpKind::Reduce { .. } => {
                    op.results.len() == 1 && is(0) && has_all(0)
                }
                OpKind::Binary(BinaryOp::Multiply) => is(0) || is(1),
                OpKind::Binary(
                    BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Maximum | BinaryOp::Minimum,
                ) => is(0) && is(1),
                OpKind::Select => is(1) && is(2),
                OpKind::Concatenate { .. } => (0..op.operands.len()).all(is),
                OpKind::DotGeneral(_) => {
                    (is(0) && self.free_count(side, op, 0, class) == count)
                        || (is(1) && self.free_count(side, op, 1, class) == count)
                }
                OpKind::Constant(Dense::Splat(bytes)) => bytes.iter().all(|&byte| byte == 0),
                _ => false,
            };
            zeros[result.index()] = is_zero && count > 0;
        }
        zeros
    }

    /// The number of dimensions of a class that the result of a product has from an operand.
    fn free_count(&self, side: usize, op: &Op, at: usize, class: usize) -> usize {
        let OpKind::DotGeneral(spec) = &op.kind else { return 0 };
        let contract = if at == 0 { &spec.lhs_contract } else { &spec.rhs_contract };
        let value = op.operands[at];
        (0..self.modules[side].rank(value))
            .filter(|&dim| !contract.contains(&(dim as u32)) && self.class(side, value, dim) == class)
            .count()
    }
}

fn gcd(one: i64, two: i64) -> i64 {
    if two == 0 { one } else { gcd(two, one % two) }
}
