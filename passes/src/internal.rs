//! The parts of this crate and of `shardc-analysis`, other than passes, that `shardc-shardy`, `shardc-graph` and the facade use. They may
//! change together with the passes.

pub use crate::analysis::inlined_size::check_size;
pub use crate::collectives::verify::axes_results_vary_along;
pub use crate::gspmd::text::{Cursor as TextCursor, TextError};
pub use crate::propagate::projection::{FactorSharding, Projection, TensorFactors};
pub use crate::propagate::{check_groups, whole_axes};
pub use crate::transforms::clone_functions::clone_callee;
pub use crate::transforms::cse::cse;
pub use crate::transforms::dce::dce_where;
pub use crate::transforms::inline::check_calls;

/// The call graph.
pub mod call_graph {
    pub use crate::analysis::call_graph::{
        EXECUTION_THREAD, ORIGINAL_FUNC_NAME, callee_of, callees_first, calls_in, original_name,
    };
}

/// Names of functions and meshes.
pub mod symbols {
    pub use crate::analysis::symbols::{FreshNames, drop_unused_funcs};
}

/// Access to the sharding of a value.
pub mod access {
    pub use crate::sharding::access::{ShardingAccess, result_sharding};
}

/// Shardings inside and outside of manual computations.
pub mod manual {
    pub use crate::sharding::manual::{inside, outside, without_manual_axes};
}

/// Visitor of every sharding of a function.
pub mod map {
    pub use crate::sharding::map::{Change, map_func, map_module};
}

/// Arithmetic of axes and parts of axes.
pub mod sub_axes {
    pub use crate::sharding::sub_axes::{
        Axes, Prefix, minus, overlaps, part, pre, prefix_of, prefix_without_all, push_merged,
    };
}
