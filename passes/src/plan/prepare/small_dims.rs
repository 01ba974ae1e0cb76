//! Removes axes from dimensions with fewer elements than shards.
//!
//! Propagation carries an axis from a sharded dimension to a slice with only a few rows. If one row is sharded over 8 devices, the first
//! device holds it and the others hold padding. Each user of the row then pays for an all-gather of 8 blocks, and the slice pays for
//! sending the row to the first device.
//!
//! Conditions:
//!
//! * The dimension has fewer elements than shards.
//! * Replicating the dimension neither costs more nor sends more bytes, from the slices to the users of their results. The decision is made
//!   for a class of values whose shardings depend on each other.
//! * The program itself does not request the sharding: arguments, annotated results, constraints and loop-carried values keep it.
//!
//! If all users agree on the sharding of other dimensions, those dimensions are sharded instead, and a reduce-scatter provides the rows.
//!
//! ```mlir
//! %0 = stablehlo.slice %x [5:6, 0:64] : (tensor<16x64xf32>) -> tensor<1x64xf32>   // %x: [{"x"}, {}], %0: [{"x"}, {}]
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.slice %x [5:6, 0:64] : (tensor<16x64xf32>) -> tensor<1x64xf32>   // %0: [{}, {}]
//! ```

use std::ops::AddAssign;

use rustc_hash::FxHashMap;
use shardc_ir::{
    AxisList, DimSharding, Mesh, MeshId, Module, OpId, OpKind, RegionId, ShardingId, TensorSharding, Uses,
    ValueId, Work,
};

use crate::analysis::regions::program_parts;
use crate::cost::{CostModel, Costs};
use crate::plan::support::planning_rule;
use crate::reshard::{Planner, path_bytes};
use crate::rules::rule_of;
use crate::rules::sharding_rule::{FactorIndex, ShardingRule, TensorMapping};
use crate::sharding::axes::parts;
use crate::windows::{Along, Exchange, is_windowed, transfers};

/// Removes axes from dimensions with fewer elements than shards, if the program then sends no more bytes. `declared`: the shardings that
/// the program requests for the results of the function.
pub(crate) fn remove_axes(
    module: &mut Module,
    body: RegionId,
    mesh_id: MeshId,
    declared: &[Option<ShardingId>],
    model: &CostModel,
) {
    let mesh = module.meshes[mesh_id].clone();
    let mut classes = Classes::default();
    let (ops, regions) = program_parts(module, body);
    for region in regions {
        for &arg in &module.regions[region].args {
            classes.add(module, &mesh, arg);
        }
    }
    let arguments = classes.nodes.len();
    for &op in &ops {
        for &result in &module.ops[op].results {
            classes.add(module, &mesh, result);
        }
    }
    if classes.nodes.len() == arguments {
        return;
    }
    for node in 0..arguments {
        classes.pin(node);
    }
    let mut planner = Planner::new(&mesh, model);
    let returns = module.terminator(body);
    for &op in &ops {
        classes.link(module, op, (returns == Some(op)).then_some(declared));
    }
    for &op in &ops {
        classes.add_costs(module, &mut planner, op);
    }
    for (&value, &to) in returns.iter().flat_map(|&op| &module.ops[op].operands).zip(declared) {
        if let Some(to) = to {
            classes.add_reshard(module, &mut planner, value, to);
        }
    }
    let chosen: Vec<(ValueId, usize)> = (0..classes.nodes.len())
        .filter(|&node| classes.sends_less_replicated(node))
        .map(|node| classes.nodes[node])
        .collect();
    if chosen.is_empty() {
        return;
    }
    for &(value, dim) in &chosen {
        change(module, value, |sharding| sharding.dims[dim] = DimSharding::closed(&[]));
    }
    let uses = module.uses();
    // Values are visited in reverse order, so that the users of a value already have their final shardings.
    for &(value, _) in chosen.iter().rev() {
        let requested = split_by_all_users(module, &mesh, &uses, value);
        for (dim, axes) in requested {
            change(module, value, |sharding| sharding.dims[dim] = DimSharding::closed(&axes));
        }
    }
}

fn change(module: &mut Module, value: ValueId, change: impl FnOnce(&mut TensorSharding)) {
    let Some(mut sharding) = module.shardings.sharding_of(value).cloned() else { return };
    change(&mut sharding);
    let id = module.shardings.intern(sharding);
    module.shardings.set(value, Some(id));
}

/// Sharded dimensions that keep or lose their axes together.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Whether the dimensions must keep their axes.
    pinned: bool,
    /// The price if the dimensions keep their axes (`kept`), and the price if they lose them (`whole`).
    kept: Price,
    whole: Price,
}

/// The cost of an alternative, in the unit of the cost model, and the bytes that a device sends.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    cost: f64,
    sent: f64,
}

impl AddAssign for Price {
    fn add_assign(&mut self, other: Price) {
        self.cost += other.cost;
        self.sent += other.sent;
    }
}

/// A union-find structure. Nodes are sharded dimensions with fewer elements than shards; classes are nodes that keep or lose their axes
/// together.
#[derive(Default)]
struct Classes {
    nodes: Vec<(ValueId, usize)>,
    index: FxHashMap<(ValueId, usize), usize>,
    parent: Vec<usize>,
    /// The properties of each class, at the index of its root node.
    class: Vec<Class>,
    /// For each node, whether the cost of an all-gather for users that need the dimension replicated is already counted. One all-gather
    /// serves all users.
    is_gathered: Vec<bool>,
}

impl Classes {
    fn add(&mut self, module: &Module, mesh: &Mesh, value: ValueId) {
        let (Some(sharding), Some(ty)) = (module.shardings.sharding_of(value), module.tensor(value)) else {
            return;
        };
        for (dim, &n) in ty.shape.iter().enumerate() {
            if n > 0 && !sharding.axes(dim).is_empty() && n < sharding.shards(mesh, dim) {
                self.index.insert((value, dim), self.nodes.len());
                self.parent.push(self.nodes.len());
                self.nodes.push((value, dim));
                self.class.push(Class::default());
                self.is_gathered.push(false);
            }
        }
    }

    fn of(&self, value: ValueId, dim: usize) -> Option<usize> {
        self.index.get(&(value, dim)).copied()
    }

    /// Returns the nodes of a value: its dimensions that have fewer elements than shards.
    fn all_of(&self, module: &Module, value: ValueId) -> Vec<usize> {
        (0..module.rank(value)).filter_map(|dim| self.of(value, dim)).collect()
    }

    fn root(&self, mut node: usize) -> usize {
        while self.parent[node] != node {
            node = self.parent[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let (first, second) = (a.min(b), a.max(b));
        self.parent[second] = first;
        self.class[first].pinned |= self.class[second].pinned;
    }

    fn pin(&mut self, node: usize) {
        let root = self.root(node);
        self.class[root].pinned = true;
    }

    /// Whether an operand or result of an operation has a sharded dimension with fewer elements than shards.
    fn touches(&self, module: &Module, op: OpId) -> bool {
        let data = &module.ops[op];
        data.operands
            .iter()
            .chain(&data.results)
            .any(|&v| (0..module.rank(v)).any(|d| self.of(v, d).is_some()))
    }

    /// Unites the classes of dimensions that an operation requires to have the same sharding, and pins dimensions that must keep their
    /// axes. `declared`: the result shardings of the function, if the operation is its terminator.
    fn link(&mut self, module: &Module, op: OpId, declared: Option<&[Option<ShardingId>]>) {
        if !self.touches(module, op) {
            return;
        }
        let data = &module.ops[op];
        let (operands, results) = (data.operands.clone(), data.results.clone());
        if let Some(declared) = declared {
            let free = operands.iter().zip(declared).filter(|(_, declared)| declared.is_none());
            let free: Vec<ValueId> = free.map(|(&v, _)| v).collect();
            return self.pin_all(module, &free);
        }
        match &data.kind {
            // Constants and iotas are available in any sharding.
            OpKind::Constant(_) | OpKind::Iota { .. } => {}
            OpKind::OptimizationBarrier => {
                for (&operand, &result) in operands.iter().zip(&results) {
                    for dim in 0..module.rank(result) {
                        match (self.of(operand, dim), self.of(result, dim)) {
                            (Some(a), Some(b)) => self.join(a, b),
                            (Some(node), None) | (None, Some(node)) => self.pin(node),
                            (None, None) => {}
                        }
                    }
                }
            }
            // The program requests this sharding.
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => self.pin_all(module, &results),
            _ => match rule_of(module, op).map(|rule| planning_rule(module, op, rule)) {
                Some(rule) => self.link_by_rule(module, op, &rule),
                None => {
                    self.pin_all(module, &operands);
                    self.pin_all(module, &results);
                }
            },
        }
    }

    fn pin_all(&mut self, module: &Module, values: &[ValueId]) {
        for &value in values {
            for node in self.all_of(module, value) {
                self.pin(node);
            }
        }
    }

    fn link_by_rule(&mut self, module: &Module, op: OpId, rule: &ShardingRule) {
        let data = &module.ops[op];
        let tensors: Vec<(ValueId, &TensorMapping)> =
            data.operands.iter().chain(&data.results).copied().zip(rule.tensors()).collect();
        for factor in 0..rule.factors.len() as FactorIndex {
            let mut first: Option<usize> = None;
            for (value, mapping) in &tensors {
                let Some((dim, _)) = mapping.find(factor) else { continue };
                let Some(node) = self.of(*value, dim) else { continue };
                // A dimension stays sharded if replicating it is costly: if it has the axes of several factors, or if every device would
                // have to compute all rows of a matmul.
                let is_costly = data.kind.def().work != Work::Light && module.shape(*value)[dim] > 1;
                if mapping.dims[dim].len() > 1 || is_costly {
                    self.pin(node);
                }
                match first {
                    Some(other) => self.join(other, node),
                    None => first = Some(node),
                }
            }
        }
    }

    /// Adds the costs of an operation to the classes of its operands' and results' dimensions.
    fn add_costs(&mut self, module: &Module, planner: &mut Planner<'_>, op: OpId) {
        if !self.touches(module, op) {
            return;
        }
        let data = &module.ops[op];
        if let (OpKind::ShardingConstraint(to) | OpKind::Reshard(to), &[operand]) =
            (&data.kind, data.operands.as_slice())
        {
            return self.add_reshard(module, planner, operand, *to);
        }
        let Some(rule) = rule_of(module, op).map(|rule| planning_rule(module, op, rule)) else { return };
        let has = |mappings: &[TensorMapping], factor: FactorIndex| {
            mappings.iter().zip(0..).find_map(|(m, i)| Some((i, m.find(factor)?.0)))
        };
        for (&operand, mapping) in data.operands.iter().zip(&rule.operands) {
            for node in self.all_of(module, operand) {
                let Some(&factor) = mapping.dims[self.nodes[node].1].first() else { continue };
                // A dimension whose factor is also in a result need not be replicated for this operation.
                if has(&rule.results, factor).is_none() {
                    self.add_gather(module, planner, node);
                }
            }
        }
        for (&result, mapping) in data.results.iter().zip(&rule.results) {
            for node in self.all_of(module, result) {
                let dim = self.nodes[node].1;
                let Some(&factor) = mapping.dims[dim].first() else { continue };
                let root = self.root(node);
                let row = row_bytes(module, planner.mesh(), result);
                let rows = module.shape(result)[dim] as f64;
                self.class[root].whole.cost += planner.costs().local_copy((rows - 1.0) * row);
                let source = has(&rule.operands, factor).and_then(|(i, d)| Some((*data.operands.get(i)?, d)));
                let Some((operand, from)) = source else { continue };
                let is_split =
                    module.shardings.sharding_of(operand).is_some_and(|s| !s.axes(from).is_empty());
                if self.of(operand, from).is_some() || !is_split {
                    continue;
                }
                let axes = module.shardings.sharding_of(result).map_or(&[][..], |s| s.axes(dim));
                let k = planner.mesh().axes_size(axes);
                let costs = planner.costs().along(axes.iter().map(|axis| axis.axis));
                match slice_price(module, op, (from, k), row, costs) {
                    Some(brought) => {
                        let (group, bytes) = (k as f64, rows * row);
                        let cost = costs.all_reduce(bytes, group);
                        self.class[root].kept += brought;
                        self.class[root].whole += Price { cost, sent: 2.0 * bytes * (group - 1.0) / group };
                    }
                    None => self.class[root].whole += gather_price(module, planner, (result, dim)),
                }
            }
        }
    }

    /// Adds the cost of replicating a dimension, at most once for all users of the value.
    fn add_gather(&mut self, module: &Module, planner: &mut Planner<'_>, node: usize) {
        if !std::mem::replace(&mut self.is_gathered[node], true) {
            let root = self.root(node);
            self.class[root].kept += gather_price(module, planner, self.nodes[node]);
        }
    }

    /// Adds the cost of a requested reshard of a value to the sharding `to`.
    fn add_reshard(&mut self, module: &Module, planner: &mut Planner<'_>, value: ValueId, to: ShardingId) {
        for node in self.all_of(module, value) {
            if module.shardings.get(to).axes(self.nodes[node].1).is_empty() {
                self.add_gather(module, planner, node);
            }
        }
    }

    /// Whether removing the axes of the node's class neither costs more nor sends more bytes than keeping them.
    fn sends_less_replicated(&self, node: usize) -> bool {
        let class = self.class[self.root(node)];
        // The axes stay if their removal sends more bytes, even if fewer collectives make the removal cheaper.
        !class.pinned
            && class.kept.sent > 0.0
            && class.whole.cost <= class.kept.cost
            && class.whole.sent.floor() <= class.kept.sent
    }
}

/// Returns the bytes of a value's block on each device. A dimension with fewer elements than shards has one row in each block.
fn row_bytes(module: &Module, mesh: &Mesh, value: ValueId) -> f64 {
    let (Some(sharding), Some(ty)) = (module.shardings.sharding_of(value), module.tensor(value)) else {
        return 0.0;
    };
    let local: f64 = sharding.local_shape(mesh, &ty.shape).iter().map(|&n| n as f64).product();
    local * f64::from(ty.dtype.bits()) / 8.0
}

/// Returns the price of replicating a dimension of a value.
fn gather_price(module: &Module, planner: &mut Planner<'_>, (value, dim): (ValueId, usize)) -> Price {
    let (Some(from), Some(ty)) = (module.shardings.sharding_of(value), module.tensor(value)) else {
        return Price::default();
    };
    let mut to = from.clone();
    to.dims[dim] = DimSharding::closed(&[]);
    let sent = path_bytes(planner.mesh(), planner, from, &to, ty) as f64;
    Price { cost: planner.cost(from, &to, ty), sent }
}

/// Returns the price of moving the rows of a slice of dimension `dim` to the first devices; `None` for other operations.
fn slice_price(
    module: &Module,
    op: OpId,
    (dim, k): (usize, i64),
    row_bytes: f64,
    costs: Costs,
) -> Option<Price> {
    let data = &module.ops[op];
    let (&[operand], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else { return None };
    let (from, to) = (module.shape(operand), module.shape(result));
    if !matches!(data.kind, OpKind::Slice(_)) || !is_windowed(&data.kind, from, dim) {
        return None;
    }
    let mut price = Price::default();
    for transfer in transfers(&data.kind, &[from], &|_| false, to, Along::Result(dim), k)? {
        price += match Exchange::price(&transfer.held, &transfer.window, row_bytes, costs) {
            Some(price) => Price { cost: price.cost, sent: price.sent },
            None => Price { cost: f64::INFINITY, sent: f64::INFINITY },
        };
    }
    Some(price)
}

/// Returns pairs of a dimension and axes. All users shard the dimension by the axes, and the sharding of the value uses neither.
fn split_by_all_users(module: &Module, mesh: &Mesh, uses: &Uses, value: ValueId) -> Vec<(usize, AxisList)> {
    let Some(own) = module.shardings.sharding_of(value) else { return Vec::new() };
    let mut requested: Option<Vec<(usize, AxisList)>> = None;
    for &(op, i) in uses.of(value) {
        let data = &module.ops[op];
        let Some(rule) = rule_of(module, op).map(|rule| planning_rule(module, op, rule)) else {
            return Vec::new();
        };
        let Some(mapping) = rule.operands.get(i as usize) else { return Vec::new() };
        let mut here = Vec::new();
        for (dim, factors) in mapping.dims.iter().enumerate() {
            let &[factor] = factors.as_slice() else { continue };
            let results = data.results.iter().zip(&rule.results);
            let found = results.filter_map(|(&r, m)| {
                let (d, _) = m.find(factor)?;
                let is_alone = m.dims[d].len() == 1;
                let axes = &module.shardings.sharding_of(r)?.dims.get(d)?.axes;
                (is_alone && !axes.is_empty()).then(|| axes.clone())
            });
            here.extend(found.map(|axes| (dim, axes)).take(1));
        }
        match &requested {
            Some(requested) if *requested != here => return Vec::new(),
            Some(_) => {}
            None => requested = Some(here),
        }
    }
    let used: AxisList = own.split_axes().chain(own.unreduced.iter().copied()).collect();
    let used = parts(mesh, &used);
    let is_free = |axes: &AxisList| !parts(mesh, axes).iter().any(|a| used.iter().any(|u| a.overlaps(*u)));
    let shape = module.shape(value);
    let divides = |dim: usize, axes: &AxisList| shape[dim] % mesh.axes_size(axes) == 0;
    let mut requested = requested.unwrap_or_default();
    requested.retain(|(dim, axes)| own.axes(*dim).is_empty() && is_free(axes) && divides(*dim, axes));
    requested
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Runs the pass on a program that slices `%x`, sharded along dimension 0, and adds the broadcast of `%row` to it.
    fn replicated(row: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<16x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> tensor<16x64xf32> {{
              {row}
              %flat = stablehlo.reshape %row : (tensor<1x64xf32>) -> tensor<64xf32>
              %all = stablehlo.broadcast_in_dim %flat, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
              %sum = stablehlo.add %x, %all : tensor<16x64xf32>
              return %sum : tensor<16x64xf32>
            }}"#
        );
        around("replicate-small-dims", r#""x"=8"#, &program)
    }

    #[test]
    fn one_row_that_all_devices_need_is_replicated() {
        let done =
            replicated("%row = stablehlo.slice %x [5:6, 0:64] : (tensor<16x64xf32>) -> tensor<1x64xf32>");
        assert_eq!(done.shardings("stablehlo.slice"), ["[{}, {}]"]);
        assert_eq!(done.shardings("stablehlo.add"), [r#"[{"x"}, {}]"#]);
    }

    #[test]
    fn a_row_that_the_program_requests_split_stays_split() {
        let done = replicated(
            r#"%slice = stablehlo.slice %x [5:6, 0:64] : (tensor<16x64xf32>) -> tensor<1x64xf32>
            %row = sdy.sharding_constraint %slice <@mesh, [{"x"}, {}]> : tensor<1x64xf32>"#,
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_slice_with_a_row_for_each_device_stays_split() {
        let done = around(
            "replicate-small-dims",
            r#""x"=8"#,
            r#"func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64xf32> {
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %rows = stablehlo.slice %x [0:8, 0:64] : (tensor<16x64xf32>) -> tensor<8x64xf32>
              %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
              return %sum : tensor<64xf32>
            }"#,
        );
        assert_eq!(done.shardings("stablehlo.slice"), [r#"[{"x"}, {}]"#]);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_row_takes_the_axes_that_its_users_split_another_dimension_by() {
        let done = around(
            "replicate-small-dims",
            r#""x"=8"#,
            r#"func.func @main(%x: tensor<16x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p0, {}]>},
                %y: tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1]>}) -> tensor<4096xf32> {
              %row = stablehlo.slice %x [5:6, 0:4096] : (tensor<16x4096xf32>) -> tensor<1x4096xf32>
              %flat = stablehlo.reshape %row : (tensor<1x4096xf32>) -> tensor<4096xf32>
              %sum = stablehlo.add %y, %flat : tensor<4096xf32>
              return %sum : tensor<4096xf32>
            }"#,
        );
        assert_eq!(done.shardings("stablehlo.slice"), [r#"[{}, {"x"}]"#]);
    }
}
