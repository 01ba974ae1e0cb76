//! Pretty forms of StableHLO operations that compute.

use super::Piece::{
    A, All, Dict, DotDims, ExpMant, Functional, L, One, Opt, Ranges, Result, Same, Select, Tuple, Unless,
    Window,
};
use super::{FUNCTIONAL, Own, Pretty, SAME_1, pieces};

/// The pretty forms of operations that are not elementwise.
pub(super) const PRETTY: &[(&str, Pretty)] = &[
    (
        "stablehlo.compare",
        pieces(&[
            L(" "),
            A("comparison_direction"),
            L(", "),
            One,
            L(", "),
            One,
            Opt(", ", "compare_type"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    ("stablehlo.select", pieces(&[L(" "), All, Dict, L(" : "), Select])),
    ("stablehlo.clamp", pieces(&[L(" "), All, Dict, L(" : "), Same])),
    ("stablehlo.convert", pieces(SAME_1)),
    ("stablehlo.bitcast_convert", pieces(FUNCTIONAL)),
    ("stablehlo.reduce_precision", pieces(&[L(" "), One, L(", format = "), ExpMant, Dict, L(" : "), Same])),
    ("stablehlo.constant", Pretty::Own(Own::Constant)),
    ("stablehlo.iota", pieces(&[L(" dim = "), A("iota_dimension"), Dict, L(" : "), Result])),
    (
        "stablehlo.broadcast_in_dim",
        pieces(&[L(" "), One, L(", dims = "), A("broadcast_dimensions"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.reshape", pieces(FUNCTIONAL)),
    (
        "stablehlo.transpose",
        pieces(&[L(" "), One, L(", dims = "), A("permutation"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.reverse", pieces(&[L(" "), One, L(", dims = "), A("dimensions"), Dict, L(" : "), Same])),
    ("stablehlo.slice", pieces(&[L(" "), One, L(" "), Ranges, Dict, L(" : "), Functional])),
    (
        "stablehlo.dynamic_slice",
        pieces(&[L(" "), All, L(", sizes = "), A("slice_sizes"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.dynamic_update_slice", pieces(FUNCTIONAL)),
    (
        "stablehlo.concatenate",
        pieces(&[L(" "), All, L(", dim = "), A("dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.pad",
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            L(", low = "),
            A("edge_padding_low"),
            L(", high = "),
            A("edge_padding_high"),
            L(", interior = "),
            A("interior_padding"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.dot_general",
        pieces(&[L(" "), One, L(", "), One, L(", "), DotDims, Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.convolution",
        pieces(&[
            L("("),
            All,
            L(") dim_numbers = "),
            A("dimension_numbers"),
            L(", window = "),
            Window,
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    ("stablehlo.reduce", Pretty::Own(Own::Reduce)),
    (
        "stablehlo.rng_bit_generator",
        pieces(&[L(" "), One, L(", algorithm = "), A("rng_algorithm"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.fft",
        pieces(&[
            L(" "),
            One,
            L(", type = "),
            A("fft_type"),
            L(", length = "),
            A("fft_length"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.cholesky",
        pieces(&[L(" "), One, Unless(false, ", lower = ", "lower"), Dict, L(" : "), Same]),
    ),
    ("stablehlo.while", Pretty::Own(Own::While)),
    ("stablehlo.optimization_barrier", Pretty::Own(Own::OptimizationBarrier)),
    ("stablehlo.return", Pretty::Own(Own::Return)),
    ("stablehlo.tuple", pieces(&[L(" "), All, Dict, L(" : "), Tuple])),
    (
        "stablehlo.get_tuple_element",
        pieces(&[L(" "), One, L("["), A("index"), L("]"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.dynamic_reshape", pieces(FUNCTIONAL)),
    ("stablehlo.dynamic_pad", pieces(FUNCTIONAL)),
    ("stablehlo.real_dynamic_slice", pieces(FUNCTIONAL)),
    (
        "stablehlo.dynamic_iota",
        pieces(&[L(" "), One, L(", dim = "), A("iota_dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.dynamic_broadcast_in_dim",
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            L(", dims = "),
            A("broadcast_dimensions"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.broadcast",
        pieces(&[L(" "), One, L(", sizes = "), A("broadcast_sizes"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.get_dimension_size",
        pieces(&[L(" "), One, L(", dim = "), A("dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.set_dimension_size",
        pieces(&[L(" "), One, L(", "), One, L(", dim = "), A("dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.rng",
        pieces(&[L(" "), All, L(", distribution = "), A("rng_distribution"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.uniform_quantize", pieces(SAME_1)),
    ("stablehlo.uniform_dequantize", pieces(SAME_1)),
    (
        "stablehlo.einsum",
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            L(", config = "),
            A("einsum_config"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.unary_einsum",
        pieces(&[L(" "), One, L(", config = "), A("einsum_config"), Dict, L(" : "), Functional]),
    ),
];
