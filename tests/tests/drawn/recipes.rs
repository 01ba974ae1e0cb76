//! Random programs.

use proptest::array::uniform3;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::strategy::Strategy;
use shardc_tests::random::{MeshRecipe, Recipe};

/// Recipes of programs; see [`Recipe`] for `floats`.
pub(crate) fn recipe(floats: bool) -> impl Strategy<Value = Recipe> {
    // Half of the recipes have the default device order.
    let order = proptest::prop_oneof![proptest::strategy::Just(0), any::<u16>()];
    let mesh = (any::<u16>(), order).prop_map(|(axes, order)| MeshRecipe { axes, order });
    let parameters = vec(proptest::array::uniform10(any::<u16>()), 1..5);
    let ops = vec(proptest::array::uniform12(any::<u16>()), 1..11);
    (mesh, uniform3(any::<u16>()), parameters, ops, any::<u16>()).prop_map(
        move |(mesh, sizes, parameters, ops, outputs)| Recipe {
            mesh,
            sizes,
            parameters,
            ops,
            outputs,
            floats,
        },
    )
}
