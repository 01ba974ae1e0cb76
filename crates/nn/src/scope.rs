//! Scopes: names of variables, and what holds for all of them.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use indexmap::IndexMap;
use shardc_graph::{
    DType, Graph, GraphErrors, IntoShape, Keep, Key, Mesh, PartitionSpec, ScanOptions, Tensor, Tree,
};

use crate::initializer::hash;
use crate::lora::{Adapters, SharedMaps};
use crate::program::{self, StepProgram};
use crate::values::Values;
use crate::variable::Entry;
use crate::{Init, Kind, Maps, Nf4, Param, Policy, Variable};

/// The variables of one graph, by name, in the order in which they were asked for.
type Entries<'g> = Rc<RefCell<IndexMap<String, Entry<'g>>>>;

/// Where a model takes its variables from: a name, which those of variables begin with, and a [`Policy`]. Cheap to clone; clones
/// and scopes below share their variables.
#[derive(Clone, Debug)]
pub struct Scope<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) entries: Entries<'g>,
    pub(crate) prefix: String,
    pub(crate) policy: Policy,
    pub(crate) is_frozen: bool,
    /// Whether layers may use parameters of other layers.
    pub(crate) is_shared: bool,
    /// What a gradient keeps of each unit.
    pub(crate) checkpoint: Option<Keep>,
    /// Whether linear maps are the output of a model.
    pub(crate) is_output: bool,
    /// What linear maps get beside them.
    pub(crate) adapters: Option<Adapters<'g>>,
    /// The linear maps so far.
    pub(crate) maps: SharedMaps,
    /// How frozen kernels of linear maps are kept, if in four bits.
    pub(crate) quantized: Option<Nf4>,
    /// The loops around that layers or parts of a batch are done in, outermost first.
    pub(crate) trips: Vec<Trip<'g>>,
    /// Tensors that stand for variables.
    pub(crate) values: Values<'g>,
}

/// A trip of a loop: a layer of a stack, or a part of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trip<'g> {
    /// How many layers there are, each with variables of its own; `None` of parts of a batch, which share them.
    pub(crate) layers: Option<i64>,
    /// Which one it is.
    pub(crate) number: Tensor<'g>,
}

impl Trip<'_> {
    /// What is to be said of a variable that is set in it.
    fn cannot_set(&self, name: &str) -> String {
        match self.layers {
            Some(_) => format!(
                "the variable {name:?} is set in a stack, whose layers are one loop: make layers that keep something one by one, in \
                 scopes of their own, or let `stack_with` return what it becomes, and set it to that"
            ),
            None => format!(
                "the variable {name:?} is set in a part of a batch that is accumulated, where parts share it: normalise by what \
                 keeps no statistics, or take the gradient of the batch at once"
            ),
        }
    }
}

impl<'g> Scope<'g> {
    /// The outermost scope of a graph; there is one for each graph. Variables of another one would not be known to
    /// [`finish`](Scope::finish), and be inputs of the program: parts of a model are given clones, and scopes below.
    ///
    /// Reported: there is one of the graph.
    #[must_use]
    #[track_caller]
    pub fn new(graph: &'g Graph) -> Self {
        if !graph.is_first("scope") {
            let text = "the graph has a scope: variables of a second one would be inputs; take clones of the first, or scopes below it";
            graph.refuse(&[], text);
        }
        Scope {
            graph,
            entries: Rc::default(),
            prefix: String::new(),
            policy: Policy::default(),
            is_frozen: false,
            is_shared: false,
            checkpoint: None,
            is_output: false,
            adapters: None,
            maps: SharedMaps::default(),
            quantized: None,
            trips: Vec::new(),
            values: Values::default(),
        }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The scope of this name below this one. A number is a name, too: `p.at(format!("h.{i}"))`.
    #[must_use]
    pub fn at(&self, name: impl AsRef<str>) -> Self {
        Scope { prefix: self.full_name(name.as_ref()), ..self.clone() }
    }

    /// The same scope with other element types.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Scope { policy, ..self.clone() }
    }

    /// The same scope, whose parameters are not trained.
    #[must_use]
    pub fn frozen(&self) -> Self {
        Scope { is_frozen: true, ..self.clone() }
    }

    /// The same scope, in which layers may use the parameters of layers that are written at other lines: shared (tied) weights.
    ///
    /// Without it, two layers of one name are an error that shows both lines. A layer that is called again from the same line,
    /// such as one of a function that is applied to two inputs, uses its own parameters and needs no permission.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # use shardc_nn::{Scope, layers::Dense};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let g = Graph::new("step", &Mesh::new(&[])?);
    /// # let (p, x) = (Scope::new(&g), g.parameter("x", [4, 8], F32));
    /// let once = Dense::new(8).apply(&p.at("map"), x);
    /// let twice = Dense::new(8).apply(&p.at("map").shared(), once);
    /// # let _ = twice;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn shared(&self) -> Self {
        Scope { is_shared: true, ..self.clone() }
    }

    /// The same scope, whose linear maps are the output of a model: they stay in all bits, and adapters go to them only by name.
    #[must_use]
    pub fn output(&self) -> Self {
        Scope { is_output: true, ..self.clone() }
    }

    /// The same scope, whose frozen kernels of linear maps, but for the [`output`](Scope::output), are kept in four bits, and become
    /// numbers again where they are used (Dettmers et al., "QLoRA", 2023).
    #[must_use]
    pub fn quantized(&self, nf4: Nf4) -> Self {
        Scope { quantized: Some(nf4), ..self.clone() }
    }

    /// The same scope, in which these tensors stand for the variables of these full names: what is made in it computes with them
    /// (`torch.func.functional_call`). Of layers of a [`stack`](Scope::stack) they have the layers in front. Gradients go through them to what
    /// they are made of: teachers, target networks, means of parameters, or a step of gradient descent within a step (MAML, Finn et al.,
    /// 2017).
    ///
    /// What layers [`set`](Scope::set) these variables to is what [`Scope::next`] of this scope says, and no other variable becomes it;
    /// statistics that are not given are set as ever.
    ///
    /// Reported: two tensors for one variable; a layer asks for another shape or element type. Reported by [`Scope::finish`]: neither does a
    /// layer ask for it, nor is there such a variable.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Tensor};
    /// # use shardc_nn::{Scope, layers::Dense};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let g = Graph::new("step", &Mesh::new(&[])?);
    /// # let (p, x, y) = (Scope::new(&g), g.parameter("x", [4, 8], F32), g.parameter("y", [4, 8], F32));
    /// fn loss<'g>(p: &Scope<'g>, x: Tensor<'g>, y: Tensor<'g>) -> Tensor<'g> {
    ///     (Dense::new(8).apply(&p.at("map"), x) - y).square().mean(..)
    /// }
    ///
    /// // The gradient of the loss that one step of gradient descent leads to.
    /// let gradients = p.gradients(loss(&p, x, y));
    /// let step = p.trainable().into_iter().zip(gradients).map(|(param, by)| (param.name, param.tensor - 0.1 * by));
    /// let adapted = p.with_values(step);
    /// let gradients = p.gradients(loss(&adapted, x, y));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_values<N: Into<String>>(&self, values: impl IntoIterator<Item = (N, Tensor<'g>)>) -> Self {
        let named = values.into_iter().map(|(name, tensor)| (name.into(), tensor));
        Scope { values: self.values.clone().with(self.graph, named), ..self.clone() }
    }

    /// The same scope, of whose units (layers of a [`stack`](Scope::stack), and what is a [`unit`](Scope::unit)) a gradient keeps
    /// what `policy` says, and computes the rest again: gradient checkpointing, or activation checkpointing.
    #[must_use]
    pub fn checkpointed(&self, policy: Keep) -> Self {
        Scope { checkpoint: Some(policy), ..self.clone() }
    }

    /// Element types by role.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The name that variables of this scope begin with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.prefix
    }

    /// The name of something in this scope.
    #[must_use]
    pub fn full_name(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", self.prefix) }
    }

    /// A parameter, in the element type that is computed with. Asked for again it is the same one, which another line of code needs
    /// permission for ([`Scope::shared`]).
    ///
    /// Reported: a size is negative; there is one of this name with another shape, or one that another line asked for.
    #[track_caller]
    pub fn parameter(&self, name: &str, shape: impl IntoShape, init: Init) -> Tensor<'g> {
        let is_trained = !self.is_frozen || self.is_saved() || (name == "bias" && self.trains_bias());
        let kind = if is_trained { Kind::Parameter } else { Kind::Frozen };
        self.variable(name, kind, shape, self.policy.params, init).to(self.policy.compute)
    }

    /// A parameter of linear maps: see [`Scope::parameter`].
    #[track_caller]
    pub(crate) fn parameter_of_maps(
        &self,
        name: &str,
        shape: impl IntoShape,
        maps: Maps,
        init: Init,
    ) -> Tensor<'g> {
        let tensor = self.parameter(name, shape, init);
        if let Some(entry) = self.entries.borrow_mut().get_mut(&self.full_name(name)) {
            entry.maps = Some(maps);
        }
        tensor
    }

    /// A variable, as it is kept, or the tensor that stands for it ([`with_values`](Scope::with_values)). Asked for again it is the same
    /// one.
    ///
    /// Reported: a size is negative; there is one of this name with another shape or element type.
    #[track_caller]
    pub fn variable(
        &self,
        name: &str,
        kind: Kind,
        shape: impl IntoShape,
        dtype: DType,
        init: Init,
    ) -> Tensor<'g> {
        let name = self.full_name(name);
        let mut own = shape.into_shape();
        let mut shape: Vec<i64> = self.trips.iter().filter_map(|trip| trip.layers).collect();
        let num_stacks = shape.len();
        shape.append(&mut own);
        if let Some(given) = self.values.get(self.graph, &name, &shape, dtype) {
            return self.of_layer(given);
        }
        let known = self.entries.borrow().get(&name).map(|entry| entry.tensor);
        let whole = match known {
            Some(tensor) if tensor.shape() == shape && tensor.dtype() == dtype => tensor,
            // The graph says what is wrong with a second one.
            _ => self.graph.parameter(&name, &shape, dtype),
        };
        if known.is_some() && matches!(kind, Kind::Parameter | Kind::Frozen) {
            self.check_sharing(&name, whole);
        }
        if known.is_none() {
            let asked_at = Some(Location::caller()).filter(|_| !self.is_shared);
            let variable = Variable { name, kind, shape, dtype, init, num_stacks, of: None };
            let entry = Entry {
                variable,
                tensor: whole,
                asked_at,
                is_sharing_reported: false,
                next: None,
                set_at: None,
                maps: None,
                is_of_scale: false,
                is_refused: false,
            };
            self.entries.borrow_mut().insert(entry.variable.name.clone(), entry);
        }
        self.of_layer(whole)
    }

    /// Reports a parameter that another line asked for, unless this scope may share it.
    #[track_caller]
    fn check_sharing(&self, name: &str, tensor: Tensor<'g>) {
        if self.is_shared {
            return;
        }
        let here = Location::caller();
        let first = {
            let mut entries = self.entries.borrow_mut();
            let Some(entry) = entries.get_mut(name) else { return };
            let first = *entry.asked_at.get_or_insert(here);
            if first == here || std::mem::replace(&mut entry.is_sharing_reported, true) {
                return;
            }
            first
        };
        let text = format!(
            "two layers use the parameter {name:?}: the first is at {first}; give this one a scope with another name, or \
             share the weights explicitly with `Scope::shared`"
        );
        self.graph.refuse(&[tensor], text);
    }

    /// What this layer has of a variable of all layers.
    #[track_caller]
    fn of_layer(&self, whole: Tensor<'g>) -> Tensor<'g> {
        let layers = self.trips.iter().filter(|trip| trip.layers.is_some());
        let numbers: Vec<Tensor<'g>> = layers.map(|layer| layer.number).collect();
        match numbers.as_slice() {
            [] => whole,
            [number] => whole.dynamic_index(0, number),
            _ if whole.is_poisoned() => whole,
            // One slice, so that the layers of an inner stack are not copied to take one of them.
            numbers => {
                let own = whole.shape().split_off(numbers.len());
                let zero = self.graph.scalar(0.0, DType::I32);
                let start: Vec<Tensor<'g>> =
                    numbers.iter().copied().chain(std::iter::repeat_n(zero, own.len())).collect();
                let sizes = [&vec![1; numbers.len()], own.as_slice()].concat();
                whole.dynamic_slice(&start, sizes).reshape(own)
            }
        }
    }

    /// What an optimiser keeps for a parameter, of its shape, and split as it is; `what` says what it is: `adam.m`.
    ///
    /// Reported: there is one of this name with another shape or element type.
    #[track_caller]
    pub fn variable_of(&self, param: &Param<'g>, what: &str, dtype: DType, init: Init) -> Tensor<'g> {
        let name = format!("{what}.{}", param.name);
        let tensor = self.variable(&name, Kind::Optimizer, param.tensor.shape(), dtype, init);
        if let Some(entry) = self.entries.borrow_mut().get_mut(&self.full_name(&name)) {
            entry.variable.of = Some(param.name.clone());
        }
        tensor
    }

    /// Says what [`Scope::variable_of`] becomes in this step.
    ///
    /// Reported: there is no such variable, or the shape or element type is another one.
    #[track_caller]
    pub fn set_of(&self, param: &Param<'g>, what: &str, next: impl Into<Tensor<'g>>) {
        self.set(&self.full_name(&format!("{what}.{}", param.name)), next);
    }

    /// Says what a variable, by its full name, becomes in this step; the last word holds.
    ///
    /// Reported: there is no such variable, or the shape or element type is another one; it is set in a loop, or in another closure,
    /// that tensors do not come out of by themselves.
    #[track_caller]
    pub fn set(&self, name: &str, next: impl Into<Tensor<'g>>) {
        let next = next.into();
        if self.values.has(name) {
            let set = match self.trips.last() {
                Some(trip) => Err(trip.cannot_set(name)),
                None => self.values.set(name, next),
            };
            if let Err(text) = set {
                self.graph.refuse(&[next], text);
            }
            return;
        }
        let mut entries = self.entries.borrow_mut();
        // Said once, of a model that does it again and again.
        let trip = self.trips.last();
        let is_said = trip.is_some() && entries.values().any(|entry| entry.is_refused);
        let text = match (entries.get_mut(name), trip) {
            _ if next.is_poisoned() => return,
            (None, _) => format!("there is no variable named {name:?}"),
            (Some(_), Some(_)) if is_said => return,
            (Some(entry), Some(trip)) => {
                entry.is_refused = true;
                self.graph.refuse(&[], trip.cannot_set(name));
                return;
            }
            (Some(entry), None) => {
                entry.set_at = Some(Location::caller());
                let want = (entry.tensor.shape(), entry.tensor.dtype());
                if entry.tensor.is_poisoned() || want == (next.shape(), next.dtype()) {
                    entry.next = Some(next);
                    return;
                }
                format!("the variable {name:?} is {}{:?} and becomes {next:?}", want.1, want.0)
            }
        };
        self.graph.refuse(&[next], text);
    }

    /// What a variable, by its full name, becomes in this step, if something was said.
    #[must_use]
    pub fn next(&self, name: &str) -> Option<Tensor<'g>> {
        if self.values.has(name) {
            return self.values.next(name);
        }
        self.entries.borrow().get(name)?.next
    }

    /// Changes what variables of this scope and those below become, for each of which something was said: by its name, what it is,
    /// and what it becomes.
    #[track_caller]
    pub fn update_all(&self, mut update: impl FnMut(&str, Tensor<'g>, Tensor<'g>) -> Tensor<'g>) {
        self.update_entries(|entry, next| update(&entry.variable.name, entry.tensor, next));
    }

    /// [`Scope::update_all`] but for variables that a skipped step changes, too.
    #[track_caller]
    pub(crate) fn update_skipped(&self, mut update: impl FnMut(Tensor<'g>, Tensor<'g>) -> Tensor<'g>) {
        self.update_entries(|entry, next| if entry.is_of_scale { next } else { update(entry.tensor, next) });
    }

    #[track_caller]
    fn update_entries(&self, mut update: impl FnMut(&Entry<'g>, Tensor<'g>) -> Tensor<'g>) {
        for (name, entry) in self.entries.borrow_mut().iter_mut() {
            if let Some(next) = entry.next.filter(|_| self.holds(name)) {
                entry.next = Some(update(entry, next));
            }
        }
    }

    /// Lets a variable of this scope change in steps that are skipped, too: it says which these are.
    pub(crate) fn never_skip(&self, name: &str) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(&self.full_name(name)) {
            entry.is_of_scale = true;
        }
    }

    /// Whether a variable, by its full name, is of this scope or one below.
    fn holds(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.prefix);
        self.prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The parameters that are trained, of this scope and those below, as they are kept, in the order in which they were asked for.
    #[must_use]
    pub fn trainable(&self) -> Vec<Param<'g>> {
        let entries = self.entries.borrow();
        let trained = entries.values().filter(|e| e.variable.kind == Kind::Parameter);
        let trained = trained.filter(|entry| self.holds(&entry.variable.name));
        let param = |e: &Entry<'g>| {
            let Variable { name, num_stacks, .. } = &e.variable;
            Param { name: name.clone(), tensor: e.tensor, num_stacks: *num_stacks, maps: e.maps }
        };
        trained.map(param).collect()
    }

    /// The gradient of a loss by each of [`Scope::trainable`].
    ///
    /// Reported: as for [`Graph::grad`].
    #[track_caller]
    pub fn gradients(&self, loss: impl Into<Tensor<'g>>) -> Vec<Tensor<'g>> {
        let by: Vec<Tensor<'g>> = self.trainable().iter().map(|param| param.tensor).collect();
        self.graph.grad(loss, &by)
    }

    /// Marks variables: `spec` says, by name and shape, how one is split, where it is to be.
    ///
    /// Reported: a specification does not fit, or the variable is marked otherwise already.
    #[track_caller]
    pub fn mark_sharding(&self, mut spec: impl FnMut(&Variable) -> Option<PartitionSpec>) {
        for entry in self.entries.borrow().values() {
            if let Some(spec) = spec(&entry.variable) {
                entry.tensor.mark_sharding(spec);
            }
        }
    }

    /// The scope in a trip of a loop.
    pub(crate) fn in_trip(mut self, trip: Trip<'g>) -> Self {
        self.trips.push(trip);
        self
    }

    /// Another key for each name of a scope, each layer of a [`stack`](Scope::stack), and each part of a batch that is
    /// [`accumulated`](crate::optim::accumulated). What is drawn with one key is always the same: in a loop, where code is written
    /// once, each trip would draw the same.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # use shardc_nn::{Scope, layers::{Dense, Dropout}};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let g = Graph::new("step", &Mesh::new(&[])?);
    /// # let (p, x) = (Scope::new(&g), g.parameter("x", [4, 8], F32));
    /// let key = g.key(0);
    /// let y = p.stack("h", 3, x, |p, x| {
    ///     let x = Dropout::new(0.1).apply(Some(p.at("before").key(key)), x);
    ///     let x = Dense::new(8).apply(&p.at("map"), x);
    ///     Dropout::new(0.1).apply(Some(p.at("after").key(key)), x)
    /// });
    /// # p.finish(&[("y", y)])?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn key(&self, key: Key<'g>) -> Key<'g> {
        self.key_of_trip(key.fold_in(i64::from(hash(&self.prefix))))
    }

    /// Another key for each trip of the loops around.
    #[must_use]
    #[track_caller]
    pub(crate) fn key_of_trip(&self, mut key: Key<'g>) -> Key<'g> {
        for trip in &self.trips {
            key = key.fold_in(trip.number);
        }
        key
    }

    /// A stack of layers that are alike: `layer` is written once, and done `layers` times in a loop, each time with other
    /// variables. Those that it asks for have one more dimension, the layers, in front; of a stack in a stack two, the outer layers
    /// first.
    ///
    /// What is drawn at random by a key from around is the same in each layer: take [`Scope::key`] of the scope that `layer` is given.
    /// Variables cannot be set in it, since a loop returns what it carries alone: layers that keep statistics are made one by one.
    ///
    /// Reported: the layer changes shape or element type of what goes through it.
    #[track_caller]
    pub fn stack<T: Tree<'g>>(
        &self,
        name: &str,
        layers: i64,
        through: T,
        layer: impl FnOnce(&Scope<'g>, T) -> T,
    ) -> T {
        self.stack_with(name, layers, through, |scope, through| (layer(scope, through), ())).0
    }

    /// [`Scope::stack`] of layers that give something beside what goes through them: that of all layers, with the layers in front.
    ///
    /// Reported: as for [`Scope::stack`].
    #[track_caller]
    pub fn stack_with<T: Tree<'g>, Y: Tree<'g>>(
        &self,
        name: &str,
        layers: i64,
        through: T,
        layer: impl FnOnce(&Scope<'g>, T) -> (T, Y),
    ) -> (T, Y) {
        let numbers = self.graph.arange(layers, DType::I32);
        self.graph.scan_with(ScanOptions::default(), through, numbers, |through, index| {
            let scope = self.at(name).in_trip(Trip { layers: Some(layers), number: index });
            scope.remembered(through, layer)
        })
    }

    /// All variables, in the order in which they were asked for.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        self.entries.borrow().values().map(|entry| entry.variable.clone()).collect()
    }

    /// Ends the graph: variables go in and come out, parameters of the graph that are none are inputs, and `metrics` come out
    /// under their names.
    ///
    /// # Errors
    /// All that was reported since the graph began.
    #[track_caller]
    pub fn finish(&self, metrics: &[(&str, Tensor<'g>)]) -> Result<StepProgram, GraphErrors> {
        if let Some(text) = self.maps.borrow().unmatched() {
            self.graph.refuse(&[], text);
        }
        if let Some(text) = self.maps.borrow().unsaved(&self.variables()) {
            self.graph.refuse(&[], text);
        }
        for name in self.values.unknown(|name| self.entries.borrow().contains_key(name)) {
            let text = format!("a tensor is given for the variable {name:?}, which there is not");
            self.graph.refuse(&[], text);
        }
        program::finish(self.graph, &self.entries.borrow(), metrics)
    }

    /// The mesh of the graph.
    #[must_use]
    pub fn mesh(&self) -> Mesh {
        self.graph.mesh()
    }
}
