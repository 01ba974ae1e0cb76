//! Finds batch dimensions.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{OpId, OpKind, ValueId};

use super::Role;
use super::dependence::{Arguments, Dependence, Through};
use super::facts::Facts;

/// Infers the batch dimension of each argument, if any. `roles` contains the roles of state; the roles of other arguments are still
/// unknown.
pub(super) fn batch_dims(facts: &Facts<'_>, roles: &[Option<Role>]) -> Vec<Option<usize>> {
    let Some(classes) = DimensionClasses::of_func(facts.module, facts.func) else {
        return vec![None; roles.len()];
    };
    let known = Known::of(facts, &classes, roles);
    let mut examples: FxHashSet<u32> = known.most_computed().into_iter().collect();
    known.add_those_of_other_data(&mut examples);
    let dims_of = |i: usize| classes.of(facts.args[i]);
    let mut dims: Vec<Option<usize>> =
        (0..roles.len()).map(|i| dims_of(i).iter().position(|class| examples.contains(class))).collect();
    // Targets that only a loss reads may share no class with the batch. Such targets get the batch dimension of a batch argument with the
    // same shape.
    let shape = |i: usize| facts.module.shape(facts.args[i]);
    for i in 0..roles.len() {
        let is_trained = |dim: usize| dims_of(i).get(dim).is_some_and(|class| known.trained.contains(class));
        let is_alike = |&j: &usize| {
            roles[j].is_none() && shape(j) == shape(i) && dims[j].is_some_and(|dim| !is_trained(dim))
        };
        if roles[i].is_none() && dims[i].is_none() {
            dims[i] = (0..roles.len()).find(is_alike).and_then(|j| dims[j]);
        }
    }
    dims
}

/// Facts about dimensions that follow from the roles of state.
struct Known<'a, 'm> {
    facts: &'a Facts<'m>,
    classes: &'a DimensionClasses,
    /// Trained parameters; arguments that are not state (`given`); and `given` arguments with a candidate dimension (`data`).
    parameters: Arguments,
    given: Vec<usize>,
    data: Arguments,
    /// The classes of dimensions of trained state, and the classes that only `given` arguments have (`candidates`).
    trained: FxHashSet<u32>,
    candidates: FxHashSet<u32>,
}

impl<'a, 'm> Known<'a, 'm> {
    fn of(facts: &'a Facts<'m>, classes: &'a DimensionClasses, roles: &[Option<Role>]) -> Self {
        let of_role = |is: fn(Option<Role>) -> bool| -> Vec<usize> {
            (0..roles.len()).filter(|&i| is(roles[i])).collect()
        };
        let classes_of = |args: &[usize]| -> FxHashSet<u32> {
            args.iter().flat_map(|&i| classes.of(facts.args[i])).copied().collect()
        };
        let set = |args: &[usize]| {
            args.iter().map(|&i| Arguments::one(i)).fold(Arguments::default(), |a, b| a.union(&b))
        };
        let trained = classes_of(&of_role(|r| matches!(r, Some(Role::Parameter | Role::OptimizerState))));
        let given = of_role(|role| matches!(role, None | Some(Role::Batch)));
        let candidates: FxHashSet<u32> = classes_of(&given).difference(&trained).copied().collect();
        let is_data = |i: &usize| classes.of(facts.args[*i]).iter().any(|class| candidates.contains(class));
        let data: Vec<usize> = given.iter().copied().filter(is_data).collect();
        let parameters = set(&of_role(|role| role == Some(Role::Parameter)));
        Known { facts, classes, parameters, data: set(&data), given, trained, candidates }
    }

    /// Returns the dimension class that occurs in most values that are computed from parameters and data; leading dimensions count twice.
    ///
    /// In a program that does not train, only results of matmuls and values computed from them are counted at first, because weights
    /// may be computed from scales. In such a program, classes that a matmul contracts have half the weight: the next layer contracts
    /// the features of a layer.
    fn most_computed(&self) -> Option<u32> {
        let module = self.facts.module;
        let ops = module.walk(self.facts.body);
        let count = |is_computed: &dyn Fn(ValueId) -> bool| {
            let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
            let results = ops.iter().flat_map(|&op| &module.ops[op].results);
            for value in results.copied().filter(|&value| is_computed(value)) {
                let dims = self.classes.of(value);
                for (dim, class) in
                    dims.iter().enumerate().filter(|(dim, class)| !dims[..*dim].contains(class))
                {
                    *counts.entry(*class).or_default() += 1 + usize::from(dim == 0);
                }
            }
            counts
        };
        let most = |by: &dyn Fn(u32) -> (usize, usize)| {
            self.candidates.iter().copied().max_by_key(|&class| (by(class), std::cmp::Reverse(class)))
        };
        let of = |counts: &FxHashMap<u32, usize>, class: u32| counts.get(&class).copied().unwrap_or_default();
        if !self.parameters.is_empty() {
            let counts = count(&|value| {
                let needs = self.facts.all.of(value);
                needs.meets(&self.parameters) && needs.meets(&self.data)
            });
            return most(&|class| (of(&counts, class), 0));
        }
        let products = ops.iter().filter(|&&op| is_product(&module.ops[op].kind));
        let results = products.flat_map(|&op| module.ops[op].results.iter().map(|&value| (0, value)));
        let of_products = Dependence::on(module, self.facts.body, Through::Everything, results);
        let (activations, all) = (count(&|value| !of_products.of(value).is_empty()), count(&|_| true));
        let contracted = self.contracted(&ops);
        most(&|class| {
            let weight = if contracted.contains(&class) { 1 } else { 2 };
            (weight * of(&activations, class), of(&all, class))
        })
    }

    /// Returns the dimension classes that matmuls contract.
    fn contracted(&self, ops: &[OpId]) -> FxHashSet<u32> {
        let mut out = FxHashSet::default();
        for &op in ops {
            if let (OpKind::DotGeneral(spec), Some(&left)) =
                (&self.facts.module.ops[op].kind, self.facts.module.ops[op].operands.first())
            {
                let dims = self.classes.of(left);
                out.extend(spec.lhs_contract.iter().filter_map(|&dim| dims.get(dim as usize)));
            }
        }
        out
    }

    /// Returns whether an argument that is not state has a dimension of one of these classes with size `count`.
    fn is_count_of(&self, classes: &FxHashSet<u32>, count: i64) -> bool {
        self.given.iter().map(|&i| self.facts.args[i]).any(|arg| {
            let sizes = self.facts.module.shape(arg);
            self.classes
                .of(arg)
                .iter()
                .zip(sizes)
                .any(|(class, &size)| size == count && classes.contains(class))
        })
    }

    /// Adds to `examples` the batch classes of data that parameters process separately from other data, such as the second half of
    /// pairs. Such a class belongs to the leading dimension of a matmul of the data with a parameter. The leading dimension of a
    /// lookup in a parameter also counts, but only if its size is that of a known batch dimension, since positions are also looked up.
    /// Operands that depend on data do not count as parameters.
    fn add_those_of_other_data(&self, examples: &mut FxHashSet<u32>) {
        let module = self.facts.module;
        for op in module.walk(self.facts.body) {
            let meeting = &module.ops[op];
            // Pairs of operand indices: the data, and the parameter that the data is combined with.
            let sides: &[(usize, usize)] = match &meeting.kind {
                kind if is_product(kind) => &[(0, 1), (1, 0)],
                OpKind::Gather(_) => &[(1, 0)],
                _ => continue,
            };
            let Some(&result) = meeting.results.first() else { continue };
            let (classes, sizes) = (self.classes.of(result), module.shape(result));
            let Some((&front, &count)) = classes.first().zip(sizes.first()) else { continue };
            let is_lookup = matches!(meeting.kind, OpKind::Gather(_));
            if !self.candidates.contains(&front) || is_lookup && !self.is_count_of(examples, count) {
                continue;
            }
            let needs = |at: usize| meeting.operands.get(at).map(|&v| self.facts.all.of(v));
            for &(data, parameter) in sides {
                let Some((of_data, of_parameter)) = needs(data).zip(needs(parameter)) else { continue };
                let meets = of_parameter.meets(&self.parameters)
                    && !of_parameter.meets(&self.data)
                    && !of_data.meets(&self.parameters);
                let has_no_other = |i: &usize| {
                    let dims = self.classes.of(self.facts.args[*i]);
                    let is_known = dims.iter().any(|class| examples.contains(class));
                    of_data.contains(*i) && dims.contains(&front) && !is_known
                };
                if meets && self.given.iter().any(has_no_other) {
                    examples.insert(front);
                }
            }
        }
    }
}

fn is_product(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_))
}
