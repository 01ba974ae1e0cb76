//! Units: parameters that are gathered, dropped and gathered again together, as FSDP wraps modules.
//!
//! A compiled step has no modules, but its parameters have names: `params['h'][3]['attn']['kernel']` stands in a tree of modules as
//! `params/h/3/attn`. Wrap policies go through that tree as those of PyTorch go through modules. Where parameters have no names,
//! *layers* are found by the shapes that repeat in the order in which parameters are used.
//!
//! Of a stack of layers each trip of a loop is a unit: its parameters stand in one module, and rows are gathered where they are taken.
//!
//! What no unit has belongs to the *root*: as in PyTorch it is gathered once, and kept for the backward part.

mod repeats;
mod tree;

use shardc_ir::{EntityRef, Module, RegionId, ValueId};

use crate::roles::Roles;
use crate::stacked::Stacked;
use tree::Tree;

/// Which modules of a step become units (`auto_wrap_policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// Every module that has parameters of its own (`always_wrap_policy`).
    Always,
    /// Layers: modules that are repeated (`TRANSFORMER_BASED_WRAP`).
    Layers,
    /// Modules of at least so many parameters that are in no unit within (`SIZE_BASED_WRAP`).
    Size(u64),
    /// None: all is the root's (`NO_WRAP`).
    Nothing,
}

impl Wrap {
    /// What `SIZE_BASED_WRAP` asks of a module where nothing is said: 100 million parameters.
    pub const MIN_PARAMETERS: u64 = 100_000_000;
}

/// A module that a policy is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Where it stands: `params.h.3.attn`; `layer.3` where parameters have no names.
    pub name: &'a str,
    /// How many parameters it has that are in no unit within.
    pub parameters: u64,
    /// Whether modules beside it are built alike and numbered, or it is a stack of layers.
    pub is_layer: bool,
    /// Whether it has nothing but such modules (`ModuleList`).
    pub is_list: bool,
}

/// The units of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Their names, in the order of their first argument.
    pub names: Vec<String>,
    /// For each argument that is a weight, its unit; `None` of the root's, and of what is no weight.
    pub of: Vec<Option<usize>>,
}

impl Units {
    /// The units that a policy makes of a step in which calls are inlined; `None` if it finds none where it looks for some: each
    /// parameter is gathered by itself then.
    #[must_use]
    pub fn find(module: &Module, roles: &Roles, wrap: Wrap) -> Option<Units> {
        let units = match wrap {
            Wrap::Always => Units::by(module, roles, &|part| part.parameters > 0),
            Wrap::Layers => Units::by(module, roles, &|part| part.is_layer),
            Wrap::Size(least) => {
                Units::by(module, roles, &|part| part.parameters >= least.max(1) && !part.is_list)
            }
            Wrap::Nothing => {
                return Some(Units { names: Vec::new(), of: vec![None; roles.arguments.len()] });
            }
        };
        (!units.names.is_empty()).then_some(units)
    }

    /// The units of a step that a function chooses (`lambda_auto_wrap_policy`): it is asked about modules within before those around
    /// them.
    #[must_use]
    pub fn by(module: &Module, roles: &Roles, policy: &dyn Fn(&Part<'_>) -> bool) -> Units {
        let Some(body) = module.entry().and_then(|func| module.funcs[func].body) else {
            return Units::default();
        };
        let args = &module.regions[body].args;
        let weights: Vec<usize> = (0..args.len().min(roles.arguments.len()))
            .filter(|&i| roles.arguments[i].role.is_weight())
            .collect();
        let names = weights.iter().map(|&i| roles.arguments[i].name.as_str());
        let sizes = |i: usize| module.shape(args[i]).iter().product::<i64>().unsigned_abs();
        let tree = match names.clone().all(tree::is_nameless) {
            true => unnamed(module, body, args, &weights),
            false => Tree::of(weights.iter().zip(names).map(|(&i, name)| (i, tree::path(name)))),
        };
        let stacked = Stacked::of(module, body);
        let is_stack = |i: usize| stacked.has_rows(args[i]);
        tree.units(roles.arguments.len(), &sizes, &is_stack, policy)
    }
}

/// The tree of a step whose parameters have no names: layers by shapes that repeat.
fn unnamed(module: &Module, body: RegionId, args: &[ValueId], weights: &[usize]) -> Tree {
    let used = in_order_of_use(module, body, args, weights);
    let shapes: Vec<&[i64]> = used.iter().map(|&i| module.shape(args[i])).collect();
    let run = repeats::longest(&shapes);
    let path = |place: usize| match run.and_then(|run| run.place(place)) {
        // What is numbered alike is built alike: parameters are called by their place in the layer.
        Some((layer, within)) => vec!["layer".to_owned(), layer.to_string(), within.to_string()],
        None => vec![format!("p{place}")],
    };
    Tree::of(used.iter().enumerate().map(|(place, &i)| (i, path(place))))
}

/// Weights in the order in which the program reads them first.
fn in_order_of_use(module: &Module, body: RegionId, args: &[ValueId], weights: &[usize]) -> Vec<usize> {
    let mut first = vec![usize::MAX; module.values.len()];
    for (at, op) in module.walk(body).into_iter().enumerate() {
        for operand in &module.ops[op].operands {
            let place = &mut first[operand.index()];
            *place = at.min(*place);
        }
    }
    let mut used = weights.to_vec();
    used.sort_by_key(|&i| (first[args[i].index()], i));
    used
}
