//! Handles: typed 32-bit indices into a [`Module`](crate::Module)'s arenas.

use cranelift_entity::entity_impl;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);
        entity_impl!($name, $prefix);
    };
}

handle!(
    /// An SSA value: a result of an operation or an argument of a region.
    ValueId, "v"
);
handle!(
    /// An operation.
    OpId, "op"
);
handle!(
    /// A region: the body of a function or of a structured operation.
    RegionId, "region"
);
handle!(
    /// A function of the module.
    FuncId, "func"
);
handle!(
    /// A device mesh of the module.
    MeshId, "mesh"
);
handle!(
    /// An interned [`Type`](crate::Type).
    TypeId, "type"
);
handle!(
    /// An interned [`TensorSharding`](crate::TensorSharding).
    ShardingId, "sharding"
);
handle!(
    /// An interned source [`Loc`](crate::Loc).
    LocId, "loc"
);
