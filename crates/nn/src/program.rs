//! Training steps as programs.

use std::collections::HashSet;

use indexmap::IndexMap;
use shardc_graph::{DType, ErrorKind, Graph, GraphError, GraphErrors, Mesh, Tensor};
use shardc_ir::Module;
use shardc_strategy::Parameters;

use crate::variable::Entry;
use crate::{Kind, Variable};

/// Something that goes into a program, or comes out, beside variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Which argument or result of the program it is.
    pub index: usize,
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its element type.
    pub dtype: DType,
}

/// A program that is done again and again: variables go in and come out.
#[derive(Clone, Debug)]
pub struct StepProgram {
    /// The program. An argument that holds a variable which changes is donated to the result that it becomes.
    pub module: Module,
    /// The devices that it was written for.
    pub mesh: Mesh,
    /// The variables, in the order in which they were asked for.
    pub variables: Vec<Variable>,
    /// For each variable, the argument that it is.
    pub arguments: Vec<usize>,
    /// For each variable, the result that it becomes; `None` where it stays as it is.
    pub results: Vec<Option<usize>>,
    /// The arguments that are no variables.
    pub inputs: Vec<Port>,
    /// The results that are no variables.
    pub metrics: Vec<Port>,
    /// What the program may do, but hardly means to: a parameter whose gradient was forgotten.
    pub warnings: Vec<GraphError>,
}

impl StepProgram {
    /// How many numbers the model is made of, and how many of them are trained.
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
        results.push(entry.next.map(|next| {
            returned.push((name, next.shard_like(entry.tensor)));
            returned.len() - 1
        }));
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
    let mut module = graph.finish(&returned)?;
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
        // What an optimiser keeps lies where its parameter does.
        let parameter = entry.variable.of.as_deref().and_then(|of| place.get(of));
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

/// Warns of parameters that a step which trains leaves as they are.
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
