//! Groups of arguments that are sharded alike: those of repeated layers, and each parameter with its optimizer state.

use indexmap::IndexMap;
use shardc_ir::{FuncId, Module, OpKind, TypeId, Uses, ValueId};
use shardc_passes::propagate::DimensionClasses;
use shardc_strategy::{Role, Roles};

use crate::folding::with_wildcards;

/// Arguments that are sharded alike.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The indices of the arguments, in ascending order.
    pub(super) args: Vec<usize>,
    /// The role of the arguments.
    pub(super) role: Role,
    /// The global shape.
    pub(super) shape: Vec<i64>,
    /// Bytes of all arguments of the group.
    pub(super) bytes: u64,
    /// The dimension classes of the first argument.
    pub(super) classes: Vec<u32>,
    /// Whether the user annotated an argument of the group, so that the search leaves it as it is.
    pub(super) is_fixed: bool,
}

/// Identifies the group of an argument: arguments that differ only in the numbers of their names, or, without names, that are first used alike.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    name: String,
    ty: TypeId,
    role: Role,
}

/// Groups the arguments that a search decides on: tensors, except for state that is sharded like its parameter. Groups with the most bytes are
/// first.
pub(super) fn groups(module: &Module, func: FuncId, roles: &Roles) -> Vec<Group> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let classes = DimensionClasses::of_func(module, func);
    let uses = module.uses();
    let mut groups: IndexMap<Key, Group> = IndexMap::new();
    for (i, (&arg, argument)) in module.regions[body].args.iter().zip(&roles.arguments).enumerate() {
        let Some(tensor) = module.stored(arg) else { continue };
        let follows = argument.of.is_some_and(|of| {
            module.regions[body].args.get(of).is_some_and(|&of| module.shape(of) == module.shape(arg))
        });
        if follows || module.rank(arg) == 0 {
            continue;
        }
        let name = module.funcs[func].argument_name(&module.locs, i);
        let key = Key {
            name: name.map_or_else(|| first_use(module, &uses, arg), |name| with_wildcards(&name)),
            ty: module.values[arg].ty,
            role: argument.role,
        };
        let elements: i64 = module.shape(arg).iter().product();
        let bits = elements.unsigned_abs().saturating_mul(u64::from(tensor.dtype.bits()));
        let group = groups.entry(key).or_insert_with(|| Group {
            args: Vec::new(),
            role: argument.role,
            shape: module.shape(arg).to_vec(),
            bytes: 0,
            classes: classes.as_ref().map(|classes| classes.of(arg).to_vec()).unwrap_or_default(),
            is_fixed: false,
        });
        group.args.push(i);
        group.bytes = group.bytes.saturating_add(bits / 8);
        group.is_fixed |= module.shardings.of(arg).is_some();
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    groups
}

/// The first use of an argument: the operation, the operand, and the dimensions of a matmul. It distinguishes arguments without names.
fn first_use(module: &Module, uses: &Uses, arg: ValueId) -> String {
    let Some(&(op, operand)) = uses.of(arg).first() else { return String::new() };
    match &module.ops[op].kind {
        kind @ OpKind::DotGeneral(_) => format!("{kind:?} {operand}"),
        kind => format!("{} {operand}", kind.name()),
    }
}
