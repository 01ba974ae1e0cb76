//! Training steps as programs.

use std::collections::HashSet;
use std::panic::Location;

use indexmap::IndexMap;
use shardc_graph::{DType, ErrorKind, Graph, GraphError, GraphErrors, Mesh, Tensor};
use shardc_ir::Module;
use shardc_strategy::Parameters;

use crate::variable::Entry;
use crate::{Init, Kind, Variable, variable};

/// An argument or result of a program that is not a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name of the argument or result.
    pub name: String,
    /// The index among the arguments or results of the program.
    pub index: usize,
    /// The global shape.
    pub shape: Vec<i64>,
    /// The element type.
    pub dtype: DType,
}

/// A program that runs once per step: variables are arguments and results.
#[derive(Clone, Debug)]
pub struct StepProgram {
    /// The program. The argument of a variable that changes is donated to the result that replaces it.
    pub module: Module,
    /// The mesh that the program was written for.
    pub mesh: Mesh,
    /// The variables, in creation order.
    pub variables: Vec<Variable>,
    /// For each variable, the index of its argument.
    pub arguments: Vec<usize>,
    /// For each variable, the index of the result with its next value; `None` if the step does not change the variable.
    pub results: Vec<Option<usize>>,
    /// The arguments that are not variables.
    pub inputs: Vec<Port>,
    /// The results that are not variables.
    pub metrics: Vec<Port>,
    /// Warnings about valid but suspicious code, such as a trained parameter that the step does not update.
    pub warnings: Vec<GraphError>,
}

impl StepProgram {
    /// Returns the variable whose initial values `variable` copies, at the end of a chain of copies; `None` if it copies none: see
    /// [`Init::copy_of`].
    #[must_use]
    pub fn source(&self, variable: &Variable) -> Option<&Variable> {
        let get = |name: &str| self.variables.iter().find(|variable| variable.name == name);
        let known = get(&variable.name)?;
        variable::source(known, get).ok().filter(|source| source.name != known.name)
    }

    /// Returns the total number of parameter elements, and how many of them are trained.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let of = |kinds: &[Kind]| {
            let variables = self.variables.iter().filter(|variable| kinds.contains(&variable.kind));
            variables.map(Variable::num_weights).sum()
        };
        Parameters { trained: of(&[Kind::Parameter]), all: of(&[Kind::Parameter, Kind::Frozen]) }
    }
}

#[track_caller]
pub(crate) fn finish<'g>(
    graph: &'g Graph,
    entries: &IndexMap<String, Entry<'g>>,
    metrics: &[(&str, Tensor<'g>)],
) -> Result<StepProgram, GraphErrors> {
    let mut returned: Vec<(&str, Tensor<'g>)> = Vec::new();
    let mut results = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        let Some(next) = entry.next else {
            results.push(None);
            continue;
        };
        results.push(Some(returned.len()));
        // A next value that is itself a parameter keeps its own sharding; shardings of results are set below.
        let is_marked = next.is_parameter() && entry.tensor.sharding().is_some();
        returned.push((name, if is_marked { next } else { next.shard_like(entry.tensor) }));
    }
    for entry in entries.values() {
        let source = variable::source(&entry.variable, |name| entries.get(name).map(|entry| &entry.variable));
        if let Err(text) = source {
            graph.refuse(&[entry.tensor], text);
        }
    }
    untrained(graph, entries);
    let first_metric = returned.len();
    let metric = |(i, (name, tensor)): (usize, &(&str, Tensor<'g>))| Port {
        name: (*name).to_owned(),
        index: first_metric + i,
        shape: tensor.shape(),
        dtype: tensor.dtype(),
    };
    let ports: Vec<Port> = metrics.iter().enumerate().map(metric).collect();
    returned.extend(metrics);
    let mesh = graph.mesh();
    let mut module = match graph.finish(&returned) {
        Ok(module) => module,
        Err(errors) => return Err(with_causes(errors, entries, Location::caller())),
    };
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else {
        return Err(GraphErrors(Vec::new()));
    };
    let args = module.regions[body].args.clone();
    let names: Vec<String> =
        (0..args.len()).map(|i| module.funcs[func].shown_argument(&module.locs, i)).collect();
    let place: IndexMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut arguments = Vec::with_capacity(entries.len());
    for (name, result) in entries.keys().zip(&results) {
        let argument = place.get(name.as_str()).copied().unwrap_or_default();
        arguments.push(argument);
        if let Some(result) = result {
            module.funcs[func].arg_attrs[argument].donate_to(*result);
        }
    }
    for (entry, &argument) in entries.values().zip(&arguments) {
        // Optimizer state is sharded like its parameter; a copy is sharded like the variable whose initial values it copies.
        let Variable { of, init, .. } = &entry.variable;
        let source = match init {
            Init::CopyOf(name) => Some(name),
            _ => None,
        };
        let parameter = of.as_ref().or(source).and_then(|of| place.get(of.as_str()));
        if let Some(&parameter) = parameter
            && module.shardings.of(args[argument]).is_none()
        {
            let sharding = module.shardings.of(args[parameter]);
            module.shardings.set(args[argument], sharding);
        }
    }
    for (&argument, result) in arguments.iter().zip(&results) {
        if let Some(result) = result {
            module.funcs[func].res_shardings[*result] = module.shardings.of(args[argument]).into();
        }
    }
    let held: HashSet<usize> = arguments.iter().copied().collect();
    let input = |i: usize| Port {
        name: names[i].clone(),
        index: i,
        shape: module.shape(args[i]).to_vec(),
        dtype: module.tensor(args[i]).map_or(DType::F32, |ty| ty.dtype),
    };
    let inputs = (0..args.len()).filter(|i| !held.contains(i)).map(input).collect();
    let variables = entries.values().map(|entry| entry.variable.clone()).collect();
    let warnings = graph.warnings();
    Ok(StepProgram { module, mesh, variables, arguments, results, inputs, metrics: ports, warnings })
}

/// Replaces errors about variables whose next value is a tensor of a closure. These errors are located at `end`, the call of
/// `Scope::finish`; the new error is located at the line that set the variable, and its message says how to fix the error. Later errors
/// at `end` about tensors of closures are duplicates and are dropped.
fn with_causes(
    errors: GraphErrors,
    entries: &IndexMap<String, Entry<'_>>,
    end: &'static Location<'static>,
) -> GraphErrors {
    let (mut reported, mut has_cause) = (Vec::new(), false);
    for error in errors.0 {
        let (ErrorKind::Escaped { of }, true) = (&error.kind, error.location == end) else {
            reported.push(error);
            continue;
        };
        // The failed operation annotated the next value with the sharding of the variable.
        let name = match error.operands.as_slice() {
            [_, variable] => variable.name.as_deref(),
            _ => None,
        };
        let place = name.and_then(|name| Some((name, entries.get(name)?.set_at?)));
        if let Some((name, location)) = place {
            let text = format!(
                "the variable {name:?} is set inside the closure of {of}: return the next value from the closure, and set the variable \
                 to the result"
            );
            reported.push(GraphError { kind: ErrorKind::Operands(text), location, operands: Vec::new() });
            has_cause = true;
        } else if !has_cause {
            reported.push(error);
        }
    }
    GraphErrors(reported)
}

/// Warns about parameters that a training step does not update.
#[track_caller]
fn untrained<'g>(graph: &'g Graph, entries: &IndexMap<String, Entry<'g>>) {
    let parameters = || entries.values().filter(|entry| entry.variable.kind == Kind::Parameter);
    if parameters().all(|entry| entry.next.is_none()) {
        return;
    }
    for entry in parameters().filter(|entry| entry.next.is_none()) {
        graph.warn(&[entry.tensor], ErrorKind::Untrained { name: entry.variable.name.clone() });
    }
}
