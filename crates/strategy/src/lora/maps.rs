//! The linear layers of a program: matmuls with a weight.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DTypeClass, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use super::forms::{Form, Reform, Step, forms};
use super::names;
use crate::roles::{Dependence, Role, Roles, Through};

/// The operand of a matmul that is the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The left operand.
    Left,
    /// The right operand.
    Right,
}

/// A linear layer of a program: a matmul of an activation with a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearMap {
    /// The name: the weight's name with dots between the parts, and without a trailing `kernel` or `weight`.
    pub name: String,
    /// The index of the argument that is the weight.
    pub weight: usize,
    /// The conversions, reshapes and slices of the weight before the matmul.
    pub steps: Vec<Step>,
    /// The leading dimensions if the weight is stacked over the iterations of loops, as in a scan over layers; each layer has its own
    /// adapters. Empty for other weights.
    pub stacked: Vec<i64>,
    /// The operand of the matmul that is the weight.
    pub side: Side,
    /// The shape of the weight in the matmul.
    pub shape: Vec<i64>,
    /// The batching dimensions in the matmul, such as experts with separate inputs.
    pub batch: Vec<usize>,
    /// A dimension of experts that all read the same input: it is free in the matmul, and each index has its own adapters.
    pub experts: Option<usize>,
    /// The contracting dimensions: the inputs.
    pub contracted: Vec<usize>,
    /// The free dimensions: the outputs.
    pub free: Vec<usize>,
    /// Whether the layer is the model's output: its result reaches no other linear layer, and no other layer of the same shape has a name
    /// that differs only in numbers.
    pub is_output: bool,
    /// Whether the weight has another user, such as a lookup in a tied embedding: merging adapters into the weight also changes the
    /// result of that user.
    pub shares_weight: bool,
}

impl LinearMap {
    fn sizes(&self, dims: &[usize]) -> Vec<i64> {
        dims.iter().map(|&d| self.shape[d]).collect()
    }

    /// Returns the weight dimensions with separate adapters for each index: batching dimensions, and experts.
    #[must_use]
    pub fn along(&self) -> Vec<usize> {
        self.batch.iter().copied().chain(self.experts).collect()
    }

    /// Returns the shape of `A`: stacked layers, the dimensions of [`LinearMap::along`], inputs, and the rank.
    #[must_use]
    pub fn shape_a(&self, rank: i64) -> Vec<i64> {
        [self.stacked.clone(), self.sizes(&self.along()), self.sizes(&self.contracted), vec![rank]].concat()
    }

    /// Returns the shape of `B`: stacked layers, the dimensions of [`LinearMap::along`], the rank, and outputs.
    #[must_use]
    pub fn shape_b(&self, rank: i64) -> Vec<i64> {
        [self.stacked.clone(), self.sizes(&self.along()), vec![rank], self.sizes(&self.free)].concat()
    }
}

/// A matmul: the linear layer that it computes, and the rows of stacks that it reads.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) map: usize,
    pub(super) rows: Vec<ValueId>,
}

/// Finds the linear layers of a body without calls, in program order, and their matmuls.
pub(super) fn linear_maps(
    module: &Module,
    func: FuncId,
    body: RegionId,
    roles: &Roles,
) -> (Vec<LinearMap>, FxHashMap<OpId, Product>) {
    let forms = forms(module, body, |i| roles.arguments[i].role.is_weight());
    let needs = Dependence::of_body(module, body, Through::Everything);
    let batch: Vec<usize> = roles.of(Role::Batch).collect();
    let is_data = |value: ValueId| {
        let needs = needs.of(value);
        batch.iter().any(|&i| needs.contains(i))
    };
    let mut maps: Vec<LinearMap> = Vec::new();
    let mut of_weight: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut products: FxHashMap<OpId, Product> = FxHashMap::default();
    for op in module.walk(body) {
        let Some((map, form)) = linear_map(module, op, &forms, &is_data) else { continue };
        let known = of_weight.entry(map.weight).or_default();
        let place = match known.iter().copied().find(|&i| maps[i] == map) {
            Some(place) => place,
            None => {
                known.push(maps.len());
                maps.push(map);
                maps.len() - 1
            }
        };
        let rows = form.rows.iter().map(|&(_, index)| index).collect();
        products.insert(op, Product { map: place, rows });
    }
    let mut taken: FxHashMap<String, usize> = FxHashMap::default();
    for map in &mut maps {
        let base = names::module(&module.funcs[func].shown_argument(&module.locs, map.weight));
        let part = map.steps.iter().filter_map(Step::part).collect::<Vec<_>>().concat();
        let name = format!("{base}{part}");
        // A weight that is read with two sets of contracting dimensions is two linear layers.
        let times = taken.entry(name.clone()).or_default();
        *times += 1;
        map.name = if *times == 1 { name } else { format!("{name}.{times}") };
    }
    let followed = followed(module, body, &maps, &products);
    for i in 0..maps.len() {
        let is_alike = |other: &LinearMap| {
            names::is_numbered_alike(&other.name, &maps[i].name) && other.shape == maps[i].shape
        };
        let alone = maps.iter().enumerate().all(|(j, other)| j == i || !is_alike(other));
        maps[i].is_output = alone && !followed.contains(&i);
    }
    let others = read_otherwise(module, body, &forms, &products);
    for i in 0..maps.len() {
        let overlaps = |(j, other): (usize, &LinearMap)| {
            j != i && other.weight == maps[i].weight && !are_apart(&other.steps, &maps[i].steps)
        };
        maps[i].shares_weight = others.contains(&maps[i].weight) || maps.iter().enumerate().any(overlaps);
    }
    (maps, products)
}

/// Finds the weights that are used by anything other than the matmuls of linear layers.
fn read_otherwise(
    module: &Module,
    body: RegionId,
    forms: &FxHashMap<ValueId, Form>,
    products: &FxHashMap<OpId, Product>,
) -> FxHashSet<usize> {
    let end = module.terminator(body);
    let mut out = FxHashSet::default();
    for op in module.walk(body) {
        let data = &module.ops[op];
        // A value that a loop returns is read inside and after the loop.
        let hands_on = matches!(data.kind, OpKind::Return) && Some(op) != end;
        if hands_on || products.contains_key(&op) {
            continue;
        }
        for form in data.operands.iter().filter_map(|operand| forms.get(operand)) {
            let is_of_weight =
                |value: &ValueId| forms.get(value).is_some_and(|of| of.argument == form.argument);
            if !data.results.iter().any(is_of_weight) {
                out.insert(form.argument);
            }
        }
    }
    out
}

/// Returns whether two linear layers read different slices of the same weight: their steps differ only in disjoint slices.
fn are_apart(a: &[Step], b: &[Step]) -> bool {
    let differs = a.iter().zip(b).find(|(a, b)| a != b);
    let Some((Step { reform: Reform::Slice(a), .. }, Step { reform: Reform::Slice(b), .. })) = differs else {
        return false;
    };
    let mut bounds = a.start.iter().zip(&a.limit).zip(b.start.iter().zip(&b.limit));
    bounds.any(|((start_a, limit_a), (start_b, limit_b))| limit_a <= start_b || limit_b <= start_a)
}

/// Finds the linear layer that an operation computes, not yet named, and the form of its weight.
fn linear_map<'f>(
    module: &Module,
    op: OpId,
    forms: &'f FxHashMap<ValueId, Form>,
    is_data: &impl Fn(ValueId) -> bool,
) -> Option<(LinearMap, &'f Form)> {
    let OpKind::DotGeneral(spec) = &module.ops[op].kind else { return None };
    let &[left, right] = module.ops[op].operands.as_slice() else { return None };
    let (side, weight, form) = match (forms.get(&left), forms.get(&right)) {
        (_, Some(form)) if is_data(left) => (Side::Right, right, form),
        (Some(form), _) if is_data(right) => (Side::Left, left, form),
        _ => return None,
    };
    let ty = module.tensor(weight).filter(|ty| ty.dtype.class() == DTypeClass::Float)?;
    let (batch, contracted) = match side {
        Side::Left => (&spec.lhs_batch, &spec.lhs_contract),
        Side::Right => (&spec.rhs_batch, &spec.rhs_contract),
    };
    let dims = |list: &[u32]| -> Vec<usize> { list.iter().map(|&d| d as usize).collect() };
    let (batch, contracted) = (dims(batch), dims(contracted));
    let experts = experts(form, &ty.shape).filter(|d| batch.is_empty() && !contracted.contains(d));
    let experts = experts.filter(|_| contracted.len() == 1);
    let is_free = |d: &usize| !batch.contains(d) && !contracted.contains(d) && experts != Some(*d);
    let map = LinearMap {
        name: String::new(),
        weight: form.argument,
        steps: form.steps.clone(),
        stacked: form.rows.iter().map(|&(n, _)| n).collect(),
        side,
        shape: ty.shape.to_vec(),
        free: (0..ty.shape.len()).filter(is_free).collect(),
        batch,
        experts,
        contracted,
        is_output: false,
        shares_weight: false,
    };
    (!map.contracted.is_empty()).then_some((map, form))
}

/// Finds the expert dimension of a weight that has three dimensions in the matmul: the dimension that comes first in the argument.
/// PEFT treats a three-dimensional parameter (`target_parameters`) as one matrix for each index of the first dimension.
fn experts(form: &Form, shape: &[i64]) -> Option<usize> {
    if shape.len() != 3 || shape.contains(&1) {
        return None;
    }
    let argument_dimension = |d| {
        form.steps.iter().rev().try_fold((d, shape), |(d, to), step| {
            let from: &[i64] = &step.from.shape;
            let before = match &step.reform {
                Reform::Convert | Reform::Slice(_) | Reform::Row(_) => d,
                Reform::Transpose(permutation) => permutation[d] as usize,
                // Dimensions of size one may be added or removed.
                Reform::Reshape => {
                    let wide =
                        |shape: &[i64]| (0..shape.len()).filter(|&d| shape[d] != 1).collect::<Vec<_>>();
                    let (wide_from, wide_to) = (wide(from), wide(to));
                    if !wide_from.iter().map(|&d| from[d]).eq(wide_to.iter().map(|&d| to[d])) {
                        return None;
                    }
                    wide_from[wide_to.iter().position(|&wide| wide == d)?]
                }
            };
            Some((before, from))
        })
    };
    let places: Option<Vec<usize>> = (0..3).map(|d| Some(argument_dimension(d)?.0)).collect();
    places?.iter().enumerate().min_by_key(|(_, place)| **place).map(|(d, _)| d)
}

/// Finds the linear layers whose results reach another linear layer, or the same layer in the next loop iteration.
fn followed(
    module: &Module,
    body: RegionId,
    maps: &[LinearMap],
    products: &FxHashMap<OpId, Product>,
) -> FxHashSet<usize> {
    let given =
        products.iter().flat_map(|(&op, product)| module.ops[op].results.iter().map(|&v| (product.map, v)));
    let needs = Dependence::on(module, body, Through::Everything, given);
    let mut out = FxHashSet::default();
    for op in module.walk(body) {
        let Some(product) = products.get(&op) else { continue };
        let other = match maps[product.map].side {
            Side::Left => 1,
            Side::Right => 0,
        };
        out.extend(needs.of(module.ops[op].operands[other]).iter());
    }
    out
}
