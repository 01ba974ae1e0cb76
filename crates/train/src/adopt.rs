//! Creates states from other states.

use indexmap::IndexMap;
use shardc::Error;
use shardc::exec::Port;
use shardc_ir::Diagnostic;
use shardc_nn::Variable;
use shardc_runtime::ShardedArray;

use crate::state::{to_host, unknown};
use crate::step::{converted, fits};
use crate::{State, Step};

/// A state created from another state, and the variables in which the two differ.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The state.
    pub state: State,
    /// The variables of the step that the source state lacks.
    pub missing: Vec<String>,
    /// The variables of the source state that the step does not have.
    pub unused: Vec<String>,
}

impl Step {
    /// Creates a state of this step from the state of another step, which may have additional variables: for example, for an evaluation
    /// step from a training step. Both states share device memory until one changes. Arrays with a different sharding are copied through
    /// the host, so in a job of several processes each process must call `adopt`.
    ///
    /// # Errors
    /// The given state lacks a variable (SH0720), or has a variable with a different shape or element type (SH0721), or a copy fails.
    pub fn adopt(&self, state: &State) -> Result<State, Error> {
        let take = |(variable, port): (&Variable, &Port)| {
            let name = &variable.name;
            let Some(array) = state.arrays.get(name) else {
                return Err(unknown("variable", name, state.arrays.keys()));
            };
            fits("variable", name, &array.ty(), port)?;
            Ok((name.clone(), self.taken(port, array)?))
        };
        let arrays = self.ports().map(take).collect::<Result<_, Error>>()?;
        Ok(State { arrays, processes: self.processes() })
    }

    /// Creates a state of this step from a state that may lack variables; missing ones come from `begin`. For example, a model with a new
    /// head starts from a trained state and [`init`](Step::init). Missing and unexpected variables are returned, as by PyTorch's
    /// `load_state_dict` with `strict=False`. A missing variable that is initialized as a copy of an existing variable
    /// ([`Init::copy_of`](shardc_nn::Init::copy_of)) is copied from that variable, and still reported as missing.
    ///
    /// As for [`adopt`](Step::adopt), memory is shared, and arrays with a different sharding are copied through the host.
    ///
    /// # Errors
    /// Variables have a different shape or element type (SH0721), a variable is in neither state (SH0720), or a copy fails.
    pub fn adopt_over(&self, state: &State, begin: &State) -> Result<Adopted, Error> {
        let wrong: Vec<String> = (self.ports())
            .filter_map(|(variable, port)| {
                let have = state.arrays.get(&variable.name)?.ty();
                (have != port.ty)
                    .then(|| format!("{:?} is {have}, but the step expects {}", variable.name, port.ty))
            })
            .collect();
        if !wrong.is_empty() {
            let text = format!("the state does not match the step: {}", wrong.join("; "));
            let hint = "remove these variables from the state with `State::filtered`; they then get their initial values";
            return Err(Diagnostic::invalid("SH0721", text).hint(hint).into());
        }
        let (mut arrays, mut missing) = (IndexMap::new(), Vec::new());
        for (variable, port) in self.ports() {
            let name = &variable.name;
            let source = || state.arrays.get(&self.source(variable)?.name);
            let array = if let Some(array) = state.arrays.get(name) {
                self.taken(port, array)?
            } else {
                missing.push(name.clone());
                if let Some(array) = source() {
                    // The copy gets its own memory, because an execution donates the memory of each variable.
                    let array = to_host(array, self.client().processes())?;
                    self.spread(port, &converted(array, variable.dtype)?)?
                } else {
                    let known = state.arrays.keys().chain(begin.arrays.keys());
                    let array = begin.arrays.get(name).ok_or_else(|| unknown("variable", name, known))?;
                    fits("variable", name, &array.ty(), port)?;
                    self.taken(port, array)?
                }
            };
            arrays.insert(name.clone(), array);
        }
        let unused = state.arrays.keys().filter(|name| !arrays.contains_key(*name)).cloned().collect();
        Ok(Adopted { state: State { arrays, processes: self.processes() }, missing, unused })
    }

    /// Returns an array of another state with the sharding of this step.
    fn taken(&self, port: &Port, array: &ShardedArray) -> Result<ShardedArray, Error> {
        if *array.layout() == port.layout {
            return Ok(array.clone());
        }
        self.spread(port, &to_host(array, self.client().processes())?)
    }
}

/// Subsets, renaming and merging of states. The results share device memory with the originals until one changes.
impl State {
    /// Returns a state that contains only the variables whose names satisfy `keep`.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&str) -> bool) -> State {
        let kept = self.arrays.iter().filter(|(name, _)| keep(name));
        let arrays = kept.map(|(name, array)| (name.clone(), array.clone())).collect();
        State { arrays, processes: self.processes.clone() }
    }

    /// Returns the state with renamed variables.
    ///
    /// # Errors
    /// Two variables would get the same name (SH0720).
    pub fn renamed(&self, mut rename: impl FnMut(&str) -> String) -> Result<State, Error> {
        let mut from: IndexMap<String, &str> = IndexMap::new();
        for name in self.arrays.keys() {
            let to = rename(name);
            if let Some(before) = from.get(&to) {
                let text = format!("the variables {before:?} and {name:?} would both be renamed to {to:?}");
                return Err(Diagnostic::invalid("SH0720", text).into());
            }
            from.insert(to, name);
        }
        let arrays = from.into_keys().zip(self.arrays.values().cloned()).collect();
        Ok(State { arrays, processes: self.processes.clone() })
    }

    /// Returns a state that contains the variables of both states.
    ///
    /// # Errors
    /// Both states have the same variable (SH0720).
    pub fn merged(&self, other: &State) -> Result<State, Error> {
        let both: Vec<String> = (self.arrays.keys())
            .filter(|name| other.arrays.contains_key(*name))
            .map(|name| format!("{name:?}"))
            .collect();
        if !both.is_empty() {
            let text = format!("both states have variables named {}", both.join(", "));
            let hint = "remove them from one of the states with `State::filtered`";
            return Err(Diagnostic::invalid("SH0720", text).hint(hint).into());
        }
        let arrays = self.arrays.iter().chain(&other.arrays);
        let arrays = arrays.map(|(name, array)| (name.clone(), array.clone())).collect();
        let processes = self.processes.clone().or_else(|| other.processes.clone());
        Ok(State { arrays, processes })
    }
}
