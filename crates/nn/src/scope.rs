//! Scopes: prefixes of variable names, and settings for all variables and layers below them.

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

/// The variables of one graph, by name, in creation order.
type Entries<'g> = Rc<RefCell<IndexMap<String, Entry<'g>>>>;

/// A prefix of variable names, and a [`Policy`]. Models create their variables through a scope. A scope is cheap to clone; clones and
/// nested scopes share their variables.
#[derive(Clone, Debug)]
pub struct Scope<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) entries: Entries<'g>,
    pub(crate) prefix: String,
    pub(crate) policy: Policy,
    pub(crate) is_frozen: bool,
    /// Whether layers may use parameters of other layers.
    pub(crate) is_shared: bool,
    /// Which values of each unit are saved for the backward pass.
    pub(crate) checkpoint: Option<Keep>,
    /// Whether linear layers in this scope are the output layer of a model.
    pub(crate) is_output: bool,
    /// LoRA adapters of linear layers.
    pub(crate) adapters: Option<Adapters<'g>>,
    /// The linear layers created so far.
    pub(crate) maps: SharedMaps,
    /// The four-bit format of frozen kernels of linear layers, if any.
    pub(crate) quantized: Option<Nf4>,
    /// The enclosing loops over layers or microbatches, outermost first.
    pub(crate) trips: Vec<Trip<'g>>,
    /// Tensors that replace variables in this scope: see [`Scope::with_values`].
    pub(crate) values: Values<'g>,
}

/// One iteration of a loop: a layer of a stack, or a microbatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trip<'g> {
    /// The number of layers, each with its own variables; `None` for microbatches, which share variables.
    pub(crate) layers: Option<i64>,
    /// The index of the iteration.
    pub(crate) number: Tensor<'g>,
}

impl Trip<'_> {
    /// Returns the error message for a variable that is set in this loop.
    fn cannot_set(&self, name: &str) -> String {
        match self.layers {
            Some(_) => format!(
                "cannot set the variable {name:?} inside a stack, which is one loop over layers: create stateful layers one by one in \
                 separate scopes, or return the next value from `stack_with` and set the variable to it"
            ),
            None => format!(
                "cannot set the variable {name:?} during gradient accumulation, where microbatches share it: use a normalization without \
                 running statistics, or compute the gradient of the full batch at once"
            ),
        }
    }
}

impl<'g> Scope<'g> {
    /// Creates the outermost scope of a graph, which has only one: variables of a second root scope would be unknown to
    /// [`finish`](Scope::finish) and become inputs of the program. Pass clones and nested scopes to parts of a model.
    ///
    /// Reports an error if the graph has a scope already.
    #[must_use]
    #[track_caller]
    pub fn new(graph: &'g Graph) -> Self {
        if !graph.is_first("scope") {
            let text = "the graph already has a scope: clone it, or create a nested scope";
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

    /// Returns the graph that contains the variables.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Returns the nested scope of this name. A name may contain dots and numbers: `p.at(format!("h.{i}"))`.
    #[must_use]
    pub fn at(&self, name: impl AsRef<str>) -> Self {
        Scope { prefix: self.full_name(name.as_ref()), ..self.clone() }
    }

    /// Returns this scope with other element types.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Scope { policy, ..self.clone() }
    }

    /// Returns this scope, with parameters that are not trained.
    #[must_use]
    pub fn frozen(&self) -> Self {
        Scope { is_frozen: true, ..self.clone() }
    }

    /// Returns this scope, in which layers may use the parameters of layers created on other lines: shared (tied) weights.
    ///
    /// In other scopes, two layers with the same name are an error that shows both lines. A layer that is called again from the same line,
    /// for example in a function applied to two inputs, uses its own parameters and needs no shared scope.
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

    /// Returns this scope, marked as the output layer: its linear layers are not quantized, and get LoRA adapters only if a target names
    /// them.
    #[must_use]
    pub fn output(&self) -> Self {
        Scope { is_output: true, ..self.clone() }
    }

    /// Returns this scope, with frozen kernels of linear layers stored in four bits, except those of the [`output`](Scope::output).
    /// Quantized kernels are dequantized at each use (Dettmers et al., "QLoRA", 2023).
    #[must_use]
    pub fn quantized(&self, nf4: Nf4) -> Self {
        Scope { quantized: Some(nf4), ..self.clone() }
    }

    /// Returns this scope, in which these tensors replace the variables of these full names (`torch.func.functional_call`). For layers of a
    /// [`stack`](Scope::stack), the leading dimension indexes the layers. Gradients flow through the tensors. Replacements are useful for
    /// teachers, target networks, averaged parameters, or a step of gradient descent within a step (MAML, Finn et al., 2017).
    ///
    /// If a layer [`set`](Scope::set)s one of these variables, the value is returned by [`Scope::next`] of this scope, and the stored
    /// variable does not change. Statistics without a replacement are updated as usual.
    ///
    /// Reports an error if two tensors replace one variable, or if a layer requests a different shape or element type. [`Scope::finish`]
    /// reports an error if no layer requests the variable and it does not exist.
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
    /// // The gradient of the loss after one step of gradient descent (MAML).
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

    /// Returns this scope, with gradient (activation) checkpointing: for each layer of a [`stack`](Scope::stack) and each
    /// [`unit`](Scope::unit), the values that `policy` selects are saved, and the rest is recomputed in the backward pass.
    #[must_use]
    pub fn checkpointed(&self, policy: Keep) -> Self {
        Scope { checkpoint: Some(policy), ..self.clone() }
    }

    /// Returns the element types of parameters, matmuls and reductions in this scope.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the prefix of the names of variables in this scope.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.prefix
    }

    /// Returns the full name of `name` in this scope.
    #[must_use]
    pub fn full_name(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", self.prefix) }
    }

    /// Returns a parameter, converted to the compute type. A second request returns the same parameter; a request from another line of code
    /// requires a [`Scope::shared`] scope.
    ///
    /// Reports an error if a size is negative, if the variable exists with a different shape, or if it was requested on a different line.
    #[track_caller]
    pub fn parameter(&self, name: &str, shape: impl IntoShape, init: Init) -> Tensor<'g> {
        let is_trained = !self.is_frozen || self.is_saved() || (name == "bias" && self.trains_bias());
        let kind = if is_trained { Kind::Parameter } else { Kind::Frozen };
        self.variable(name, kind, shape, self.policy.params, init).to(self.policy.compute)
    }

    /// Returns a parameter of linear layers: see [`Scope::parameter`].
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

    /// Returns a variable in its stored type, or the tensor that replaces it ([`with_values`](Scope::with_values)). A second request
    /// returns the same variable.
    ///
    /// Reports an error if a size is negative, or if the variable exists with a different shape or element type.
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
            // The graph reports the duplicate.
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

    /// Reports an error if another source line requested the parameter and this scope is not [`shared`](Scope::shared).
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
            "two layers use the parameter {name:?}: the first is at {first}; give the second layer a scope with another name, or \
             share the weights explicitly with `Scope::shared`"
        );
        self.graph.refuse(&[tensor], text);
    }

    /// Returns the slice of a stacked variable for the current layer.
    #[track_caller]
    fn of_layer(&self, whole: Tensor<'g>) -> Tensor<'g> {
        let layers = self.trips.iter().filter(|trip| trip.layers.is_some());
        let numbers: Vec<Tensor<'g>> = layers.map(|layer| layer.number).collect();
        match numbers.as_slice() {
            [] => whole,
            [number] => whole.dynamic_index(0, number),
            _ if whole.is_poisoned() => whole,
            // A single slice over all stack dimensions: slicing the dimensions one by one would copy all layers of the inner stack.
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

    /// Returns optimizer state of a parameter, with the same shape and sharding; `what` is the name prefix, such as `mu`.
    ///
    /// Reports an error if the variable exists with a different shape or element type.
    #[track_caller]
    pub fn variable_of(&self, param: &Param<'g>, what: &str, dtype: DType, init: Init) -> Tensor<'g> {
        let name = format!("{what}.{}", param.name);
        let tensor = self.variable(&name, Kind::Optimizer, param.tensor.shape(), dtype, init);
        if let Some(entry) = self.entries.borrow_mut().get_mut(&self.full_name(&name)) {
            entry.variable.of = Some(param.name.clone());
        }
        tensor
    }

    /// Sets the next value of a [`Scope::variable_of`].
    ///
    /// Reports an error if there is no such variable, or if the shape or element type differs.
    #[track_caller]
    pub fn set_of(&self, param: &Param<'g>, what: &str, next: impl Into<Tensor<'g>>) {
        self.set(&self.full_name(&format!("{what}.{}", param.name)), next);
    }

    /// Sets the next value of a variable, by its full name; the last call wins.
    ///
    /// Reports an error if there is no such variable, or if the shape or element type differs. Also reports an error if the variable is set
    /// in a loop or another closure, because tensors of a closure cannot be used outside of the closure.
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
        // At most one error is reported for all variables that are set in loops.
        let trip = self.trips.last();
        let is_reported = trip.is_some() && entries.values().any(|entry| entry.is_refused);
        let text = match (entries.get_mut(name), trip) {
            _ if next.is_poisoned() => return,
            (None, _) => format!("there is no variable named {name:?}"),
            (Some(_), Some(_)) if is_reported => return,
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
                format!("the variable {name:?} is {}{:?}, but is set to {next:?}", want.1, want.0)
            }
        };
        self.graph.refuse(&[next], text);
    }

    /// Returns the next value of a variable, by its full name, if it was set.
    #[must_use]
    pub fn next(&self, name: &str) -> Option<Tensor<'g>> {
        if self.values.has(name) {
            return self.values.next(name);
        }
        self.entries.borrow().get(name)?.next
    }

    /// Replaces the next values that were set for variables of this scope and nested scopes. `update` gets the name, the current value and
    /// the next value.
    #[track_caller]
    pub fn update_all(&self, mut update: impl FnMut(&str, Tensor<'g>, Tensor<'g>) -> Tensor<'g>) {
        self.update_entries(|entry, next| update(&entry.variable.name, entry.tensor, next));
    }

    /// Replaces next values like [`Scope::update_all`], except those of variables that also change in skipped steps: see
    /// [`Scope::never_skip`].
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

    /// Marks a variable of this scope as one that also changes in skipped steps: the loss scale, which decides which steps are skipped.
    pub(crate) fn never_skip(&self, name: &str) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(&self.full_name(name)) {
            entry.is_of_scale = true;
        }
    }

    /// Returns whether a variable, by its full name, is in this scope or a nested one.
    fn holds(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.prefix);
        self.prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Returns the trained parameters of this scope and nested scopes, in their stored types and in creation order.
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

    /// Returns the gradient of a loss with respect to each of [`Scope::trainable`].
    ///
    /// Reports the errors of [`Graph::grad`].
    #[track_caller]
    pub fn gradients(&self, loss: impl Into<Tensor<'g>>) -> Vec<Tensor<'g>> {
        let by: Vec<Tensor<'g>> = self.trainable().iter().map(|param| param.tensor).collect();
        self.graph.grad(loss, &by)
    }

    /// Annotates variables with shardings: `spec` returns the partition spec of a variable, or `None`.
    ///
    /// Reports an error if a specification does not match its variable, or if the variable is already annotated with a different one.
    #[track_caller]
    pub fn mark_sharding(&self, mut spec: impl FnMut(&Variable) -> Option<PartitionSpec>) {
        for entry in self.entries.borrow().values() {
            if let Some(spec) = spec(&entry.variable) {
                entry.tensor.mark_sharding(spec);
            }
        }
    }

    /// Returns this scope within an iteration of a loop.
    pub(crate) fn in_trip(mut self, trip: Trip<'g>) -> Self {
        self.trips.push(trip);
        self
    }

    /// Derives a different key for each scope name, each layer of a [`stack`](Scope::stack) and each microbatch of
    /// [`accumulated`](crate::optim::accumulated). A key always yields the same numbers, and a loop body is traced once. With a key that is
    /// captured directly, all iterations would use the same random numbers.
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

    /// Derives a different key for each iteration of the enclosing loops.
    #[must_use]
    #[track_caller]
    pub(crate) fn key_of_trip(&self, mut key: Key<'g>) -> Key<'g> {
        for trip in &self.trips {
            key = key.fold_in(trip.number);
        }
        key
    }

    /// Runs a stack of identical layers as a loop (`jax.lax.scan`): `layer` is traced once and runs `layers` times, each time with its
    /// own variables. The leading dimension of the variables indexes the layers; with nested stacks, the leading two dimensions index
    /// the outer and the inner layers.
    ///
    /// A captured key produces the same numbers in each layer: use [`Scope::key`] of the scope passed to `layer`. Variables cannot be set
    /// in `layer`, since a loop returns only its loop-carried values; build layers with statistics one by one.
    ///
    /// Reports an error if the layer changes the shape or element type of the loop-carried value.
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

    /// [`Scope::stack`] with a second output per layer, stacked along a new leading dimension.
    ///
    /// Reports the errors of [`Scope::stack`].
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

    /// Returns all variables, in creation order.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        self.entries.borrow().values().map(|entry| entry.variable.clone()).collect()
    }

    /// Finishes the graph: variables are arguments and results, other parameters of the graph are inputs, and `metrics` are results with
    /// these names.
    ///
    /// # Errors
    /// All errors reported since the graph was created.
    #[track_caller]
    pub fn finish(&self, metrics: &[(&str, Tensor<'g>)]) -> Result<StepProgram, GraphErrors> {
        if let Some(text) = self.maps.borrow().unmatched() {
            self.graph.refuse(&[], text);
        }
        if let Some(text) = self.maps.borrow().unsaved(&self.variables()) {
            self.graph.refuse(&[], text);
        }
        for name in self.values.unknown(|name| self.entries.borrow().contains_key(name)) {
            let text = format!("with_values names an unknown variable {name:?}");
            self.graph.refuse(&[], text);
        }
        program::finish(self.graph, &self.entries.borrow(), metrics)
    }

    /// Returns the mesh of the graph.
    #[must_use]
    pub fn mesh(&self) -> Mesh {
        self.graph.mesh()
    }
}
