//! Groups of arguments or results that are sharded alike: those of repeated layers, and each parameter with its optimizer state.

use indexmap::IndexMap;
use shardc_ir::{AxisRef, FuncId, Module, OpKind, RegionId, ShardingId, TypeId, Uses, ValueId};
use shardc_passes::propagate::DimensionClasses;
use shardc_strategy::{Role, Roles};

use crate::folding::with_wildcards;

/// Arguments or results that are sharded alike.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The indices of the arguments or results, in ascending order.
    pub(super) members: Vec<usize>,
    /// The role of the arguments; `None` for results.
    pub(super) role: Option<Role>,
    /// The global shape.
    pub(super) shape: Vec<i64>,
    /// Bytes of all members.
    pub(super) bytes: u64,
    /// The dimension classes of the first member.
    pub(super) classes: Vec<u32>,
    /// Whether the user annotated the members, so that the search leaves them as they are.
    pub(super) is_fixed: bool,
}

/// Identifies the group of an argument: arguments that differ only in the numbers of their names, or, without names, that are first used alike.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    name: String,
    ty: TypeId,
    role: Option<Role>,
    axes: Axes,
}

/// The axes that shard each dimension of an argument or result; `None` without a sharding.
pub(super) type Axes = Option<Vec<Vec<AxisRef>>>;

/// The axes of a sharding. Priorities and open dimensions are left out.
pub(super) fn axes(module: &Module, sharding: Option<ShardingId>) -> Axes {
    let dims = &module.shardings.get(sharding?).dims;
    Some(dims.iter().map(|dim| dim.axes.to_vec()).collect())
}

/// Groups the arguments and results that a search decides on. Groups with the most bytes are first.
///
/// State that is sharded like its parameter is left out, unless its given sharding differs from that of the parameter. Results are left out if
/// the program is a training step, because a strategy shards its results like state.
pub(super) fn groups(module: &Module, func: FuncId, roles: &Roles) -> Vec<Group> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let classes = DimensionClasses::of_func(module, func);
    let uses = module.uses();
    let mut groups = Groups { module, classes, groups: IndexMap::new() };
    for (i, (&arg, argument)) in module.regions[body].args.iter().zip(&roles.arguments).enumerate() {
        let follows = argument.of.is_some_and(|of| {
            let own = axes(module, module.shardings.of(arg));
            let alike = |of: ValueId| own.is_none() || own == axes(module, module.shardings.of(of));
            module.regions[body]
                .args
                .get(of)
                .is_some_and(|&of| module.shape(of) == module.shape(arg) && alike(of))
        });
        if follows {
            continue;
        }
        let name = module.funcs[func].argument_name(&module.locs, i);
        let name = name.map_or_else(|| first_use(module, &uses, arg), |name| with_wildcards(&name));
        groups.add((name, Some(argument.role)), (i, arg), module.shardings.of(arg));
    }
    if roles.loss.is_none() {
        groups.add_results(func, body);
    }
    let mut groups: Vec<Group> = groups.groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    groups
}

/// The groups so far.
struct Groups<'m> {
    module: &'m Module,
    classes: Option<DimensionClasses>,
    groups: IndexMap<Key, Group>,
}

impl Groups<'_> {
    /// Adds a tensor to the group of its name, its role and its given sharding.
    fn add(
        &mut self,
        (name, role): (String, Option<Role>),
        (i, value): (usize, ValueId),
        sharding: Option<ShardingId>,
    ) {
        let module = self.module;
        let Some(tensor) = module.stored(value).filter(|_| module.rank(value) > 0) else { return };
        let elements: i64 = module.shape(value).iter().product();
        let bits = elements.unsigned_abs().saturating_mul(u64::from(tensor.dtype.bits()));
        let key = Key { name, ty: module.values[value].ty, role, axes: axes(module, sharding) };
        let group = self.groups.entry(key).or_insert_with(|| Group {
            members: Vec::new(),
            role,
            shape: module.shape(value).to_vec(),
            bytes: 0,
            classes: self.classes.as_ref().map(|classes| classes.of(value).to_vec()).unwrap_or_default(),
            is_fixed: sharding.is_some(),
        });
        group.members.push(i);
        group.bytes = group.bytes.saturating_add(bits / 8);
    }

    fn add_results(&mut self, func: FuncId, body: RegionId) {
        let module = self.module;
        let Some(end) = module.terminator(body) else { return };
        for (i, &value) in module.ops[end].operands.iter().enumerate() {
            let name = module.funcs[func].result_name(i);
            let name = name.map_or_else(|| format!("result {i}"), |name| with_wildcards(&name));
            let sharding = module.funcs[func].res_shardings.get(i).and_then(|sharding| sharding.expand());
            self.add((name, None), (i, value), sharding);
        }
    }
}

/// The first use of an argument: the operation, the operand, and the dimensions of a matmul. It distinguishes arguments without names.
fn first_use(module: &Module, uses: &Uses, arg: ValueId) -> String {
    let Some(&(op, operand)) = uses.of(arg).first() else { return String::new() };
    match &module.ops[op].kind {
        kind @ OpKind::DotGeneral(_) => format!("{kind:?} {operand}"),
        kind => format!("{} {operand}", kind.name()),
    }
}
