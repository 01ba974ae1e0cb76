//! Units: parameters that are all-gathered and freed together, like the modules that FSDP wraps.
//!
//! A compiled step has no modules, but its parameters have names: `params['h'][3]['attn']['kernel']` is in the module
//! `params/h/3/attn` of a tree. Wrap policies traverse that tree as PyTorch's policies traverse modules. If parameters have no
//! names, *layers* are inferred from shapes that repeat in the order of use.
//!
//! For a stack of layers each loop iteration is a unit: its parameters are in one module, and each row is gathered before its use.
//!
//! Parameters outside all units belong to the *root*. They are gathered once and kept for the backward pass, as in PyTorch.

mod repeats;
mod tree;

use shardc_ir::{EntityRef, Module, RegionId, ValueId};

use crate::roles::Roles;
use crate::stacked::Stacked;
use tree::Tree;

/// Which modules of a step become units (`auto_wrap_policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// Every module that has its own parameters (`always_wrap_policy`).
    Always,
    /// Layers: modules that are repeated (`TRANSFORMER_BASED_WRAP`).
    Layers,
    /// Modules with at least this many parameters outside nested units (`SIZE_BASED_WRAP`).
    Size(u64),
    /// No modules: all parameters belong to the root (`NO_WRAP`).
    Nothing,
}

impl Wrap {
    /// The default threshold of `SIZE_BASED_WRAP`: 100 million parameters.
    pub const MIN_PARAMETERS: u64 = 100_000_000;
}

/// A module, as passed to a wrap policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The path: `params.h.3.attn`; `layer.3` if parameters have no names.
    pub name: &'a str,
    /// The number of the module's parameters outside nested units.
    pub parameters: u64,
    /// Whether the module is a stack of layers, or has numbered siblings with the same structure, and is not inside another layer.
    pub is_layer: bool,
    /// Whether the module contains only repeated modules, and no parameters of its own (`ModuleList`).
    pub is_list: bool,
}

/// A function that selects modules.
type Policy<'a> = dyn Fn(&Part<'_>) -> bool + 'a;

/// The units of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// The names of the units, in the order of their first argument.
    pub names: Vec<String>,
    /// The unit of each argument that is a weight; `None` for weights of the root and for other arguments.
    pub of: Vec<Option<usize>>,
}

impl Units {
    /// Finds the units that a policy selects in a step without calls. `None` if the policy searches for units and finds none: then each
    /// parameter is gathered separately.
    #[must_use]
    pub fn find(module: &Module, roles: &Roles, wrap: Wrap) -> Option<Units> {
        Units::of_wrap(roles, wrap, &|policy| Units::by(module, roles, policy))
    }

    /// Returns the units that [`Units::find`] finds in a body, with previously computed stacks.
    pub(crate) fn find_with(
        module: &Module,
        at: (RegionId, &Stacked),
        roles: &Roles,
        wrap: Wrap,
    ) -> Option<Units> {
        Units::of_wrap(roles, wrap, &|policy| Units::of_policy(module, at, roles, policy))
    }

    /// Finds the units of a wrap policy; `by` finds the units that a predicate selects.
    fn of_wrap(roles: &Roles, wrap: Wrap, by: &dyn Fn(&Policy<'_>) -> Units) -> Option<Units> {
        let units = match wrap {
            Wrap::Always => by(&|part| part.parameters > 0),
            Wrap::Layers => by(&|part| part.is_layer),
            Wrap::Size(least) => by(&|part| part.parameters >= least.max(1) && !part.is_list),
            Wrap::Nothing => {
                return Some(Units { names: Vec::new(), of: vec![None; roles.arguments.len()] });
            }
        };
        (!units.names.is_empty()).then_some(units)
    }

    /// Finds the units that a function selects (`lambda_auto_wrap_policy`). `policy` is called for nested modules before their enclosing
    /// modules.
    #[must_use]
    pub fn by(module: &Module, roles: &Roles, policy: &dyn Fn(&Part<'_>) -> bool) -> Units {
        let Some(body) = module.entry().and_then(|func| module.funcs[func].body) else {
            return Units::default();
        };
        Units::of_policy(module, (body, &Stacked::of(module, body)), roles, policy)
    }

    fn of_policy(
        module: &Module,
        (body, stacked): (RegionId, &Stacked),
        roles: &Roles,
        policy: &Policy<'_>,
    ) -> Units {
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
        let is_stack = |i: usize| stacked.has_rows(args[i]);
        tree.units(roles.arguments.len(), &sizes, &is_stack, policy)
    }
}

/// Builds the tree of a step whose parameters have no names: layers inferred from repeated shapes.
fn unnamed(module: &Module, body: RegionId, args: &[ValueId], weights: &[usize]) -> Tree {
    let used = in_order_of_use(module, body, args, weights);
    let shapes: Vec<&[i64]> = used.iter().map(|&i| module.shape(args[i])).collect();
    let run = repeats::longest(&shapes);
    let path = |place: usize| match run.and_then(|run| run.place(place)) {
        // Modules with the same numbered name have the same structure: a parameter is named by its position in the layer.
        Some((layer, within)) => vec!["layer".to_owned(), layer.to_string(), within.to_string()],
        None => vec![format!("p{place}")],
    };
    Tree::of(used.iter().enumerate().map(|(place, &i)| (i, path(place))))
}

/// Returns the weights in the order of their first use in the program.
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
