//! Tests of type inference, as one table: each row has an operation, the operand types, and the result types or a part of the error.

use crate::testing::{arg, list, reducer, region, tys};
use crate::{
    BinaryOp, Channel, CollectiveSpec, CompareDirection, ConvDims, ConvSpec, Dense, DotSpec, FftKind,
    GatherSpec, KernelDims, Module, OpKind, PadSpec, RegionId, RngAlgorithm, ScatterSpec, SliceSpec,
    SplicePiece, SpliceSpec, Transposition, TriangularSpec, UnaryOp, WindowSpec, check_result_types,
    infer_types,
};

fn infer_in(module: &mut Module, kind: &OpKind, operands: &str, regions: &[RegionId]) -> String {
    let body = region(module, operands);
    let values = module.regions[body].args.clone();
    match infer_types(module, kind, &values, regions) {
        Ok(types) => {
            let texts: Vec<String> = types.iter().map(|&t| module.types.display(t)).collect();
            texts.join(" ").replace("tensor<", "").replace(">", "")
        }
        Err(error) => format!("error: {error}"),
    }
}

/// Asserts that inference returns the result types `want`, or an error that contains `want`.
#[track_caller]
fn check(kind: OpKind, operands: &str, want: &str) {
    let have = infer_in(&mut Module::new(), &kind, operands, &[]);
    let fits = if have.starts_with("error") { have.contains(want) } else { have == want };
    assert!(fits, "{} of {operands}: {have}, not {want}", kind.name());
}

/// Checks the result types `results` of an operation. Asserts that they are accepted if `want` is empty, and otherwise that the error
/// contains `want`.
#[track_caller]
fn check_written(kind: OpKind, operands: &str, results: &str, want: &str) {
    let mut module = Module::new();
    let body = region(&mut module, operands);
    let values = module.regions[body].args.clone();
    let types = tys(&mut module, results);
    let op = module.add_op(kind, &values, &types, &[]);
    let name = module.ops[op].kind.name().to_owned();
    match check_result_types(&module, op) {
        Ok(()) => assert_eq!(want, "", "{name} of {operands} giving {results} is accepted"),
        Err(error) => {
            assert!(
                !want.is_empty() && error.0.contains(want),
                "{name} of {operands} giving {results}: {error}, not {want:?}"
            );
        }
    }
}

#[test]
fn elementwise() {
    use BinaryOp as B;
    use UnaryOp as U;
    check(OpKind::Unary(U::Tanh), "2x3xf32", "2x3xf32");
    check(OpKind::Unary(U::Abs), "2xcomplex<f32>", "2xf32");
    check(OpKind::Unary(U::Real), "2xcomplex<f64>", "2xf64");
    check(OpKind::Unary(U::Imag), "2xf32", "2xf32");
    check(OpKind::Unary(U::IsFinite), "?xbf16", "?xi1");
    check(OpKind::Unary(U::Exponential), "2xi32", "expects floats, complex numbers, got i32");
    check(OpKind::Unary(U::Not), "2xf32", "expects booleans, signed integers, unsigned integers, got f32");
    check(OpKind::Unary(U::Tanh), "token", "must be a tensor, got !stablehlo.token");
    check(OpKind::Unary(U::Tanh), "", "has too few operands: 0");
    check(OpKind::Binary(B::Add), "2x?xf32 ?x3xf32", "2x3xf32");
    check(OpKind::Binary(B::Add), "2xf32 3xf32", "different types: tensor<2xf32> and tensor<3xf32>");
    check(OpKind::Binary(B::Add), "2xf32 2xbf16", "different types");
    check(OpKind::Binary(B::And), "2xf32 2xf32", "got f32");
    check(OpKind::Binary(B::Complex), "2xf32 2xf32", "2xcomplex<f32");
    check(OpKind::Binary(B::Complex), "2xbf16 2xbf16", "expects f32 or f64");
    check(OpKind::Compare(CompareDirection::LT, None), "4xi32 4xi32", "4xi1");
    check(OpKind::Compare(CompareDirection::LT, None), "4xi32 4xui32", "different types");
    check(OpKind::Select, "i1 4xf32 4xf32", "4xf32");
    check(OpKind::Select, "4xi1 4xf32 4xf32", "4xf32");
    check(OpKind::Select, "3xi1 4xf32 4xf32", "predicate of select has shape [3]");
    check(OpKind::Select, "4xi8 4xf32 4xf32", "must be i1");
    check(OpKind::Clamp, "f32 4xf32 4xf32", "4xf32");
    check(OpKind::Clamp, "f32 4xf32 3xf32", "upper bound");
    check(OpKind::ReducePrecision { exponent_bits: 5, mantissa_bits: 2 }, "4xi32", "expects floats");
    check(OpKind::Binary(B::Add), "!quant !quant", "not a numeric tensor");
}

#[test]
fn movement() {
    let transpose = |p: &[u32]| OpKind::Transpose { permutation: list(p) };
    check(transpose(&[2, 0, 1]), "2x3x4xf32", "4x2x3xf32");
    check(transpose(&[0, 0, 1]), "2x3x4xf32", "dimension 0 is repeated");
    check(transpose(&[0, 1]), "2x3x4xf32", "one entry per dimension");
    check(OpKind::Reverse { dims: list(&[1]) }, "2x3xf32", "2x3xf32");
    check(OpKind::Reverse { dims: list(&[2]) }, "2x3xf32", "must be less than the rank, 2");
    let slice = |start: i64, limit: i64, stride: i64| {
        OpKind::Slice(Box::new(SliceSpec {
            start: list(&[start]),
            limit: list(&[limit]),
            stride: list(&[stride]),
        }))
    };
    check(slice(1, 8, 3), "9xf32", "3xf32");
    check(slice(2, 2, 1), "9xf32", "0xf32");
    check(slice(0, 2, i64::MAX), "9xf32", "1xf32");
    check(slice(0, 10, 1), "9xf32", "slice [0:10:1] of dimension 0 is invalid");
    check(slice(0, 4, 0), "9xf32", "is invalid");
    check(OpKind::DynamicSlice { sizes: list(&[2, 3]) }, "4x5xf32 i32 i32", "2x3xf32");
    check(OpKind::DynamicSlice { sizes: list(&[2, 6]) }, "4x5xf32 i32 i32", "do not fit");
    check(OpKind::DynamicSlice { sizes: list(&[2, 3]) }, "4x5xf32 i32", "needs 2 start indices");
    check(OpKind::DynamicSlice { sizes: list(&[2, 3]) }, "4x5xf32 i32 i64", "different types");
    check(OpKind::DynamicSlice { sizes: list(&[2]) }, "4xf32 1xi32", "must be a scalar");
    check(OpKind::DynamicUpdateSlice, "4x5xf32 2x5xf32 i32 i32", "4x5xf32");
    check(OpKind::DynamicUpdateSlice, "4x5xf32 5x5xf32 i32 i32", "must not be larger");
    check(OpKind::Concatenate { dim: 1 }, "2x3xf32 2x4xf32 2x1xf32", "2x8xf32");
    check(OpKind::Concatenate { dim: 1 }, "2x3xf32 2x?xf32", "2x?xf32");
    check(OpKind::Concatenate { dim: 1 }, "2x3xf32 3x3xf32", "the sizes of dimension 0 differ");
    check(OpKind::Concatenate { dim: 2 }, "2x3xf32", "is out of range");
    let splice = |pieces: &[[i64; 3]]| {
        let piece =
            |&[operand, start, limit]: &[i64; 3]| SplicePiece { operand: operand as u32, start, limit };
        OpKind::Splice(Box::new(SpliceSpec { dim: 0, pieces: pieces.iter().map(piece).collect() }))
    };
    check(splice(&[[0, 4, 9], [1, 0, 3], [0, 0, 4]]), "9x2xf32 5x2xf32", "12x2xf32");
    check(splice(&[[0, 4, 10]]), "9x2xf32", "piece [4:10] of dimension 0 is invalid");
    check(splice(&[[1, 0, 4]]), "9x2xf32", "refers to operand 1");
    check(splice(&[[0, 0, 4]]), "9x2xf32 9x3xf32", "splice of");
    check(splice(&[[0, 0, 4]]), "?x2xf32", "must have static shapes");
    let pad = |low: i64, high: i64, interior: i64| {
        OpKind::Pad(Box::new(PadSpec { low: list(&[low]), high: list(&[high]), interior: list(&[interior]) }))
    };
    check(pad(1, 2, 0), "4xf32 f32", "7xf32");
    check(pad(-1, 0, 2), "4xf32 f32", "9xf32");
    check(pad(0, 0, 2), "0xf32 f32", "0xf32");
    check(pad(-9, 0, 0), "4xf32 f32", "negative size");
    check(pad(i64::MAX, 1, 0), "4xf32 f32", "overflows");
    check(pad(0, 0, 0), "4xf32 i32", "with a value of type");
}

#[test]
fn products_and_linear_algebra() {
    let dot = |lb: &[u32], rb: &[u32], lc: &[u32], rc: &[u32]| {
        OpKind::DotGeneral(Box::new(DotSpec {
            lhs_batch: list(lb),
            rhs_batch: list(rb),
            lhs_contract: list(lc),
            rhs_contract: list(rc),
            ..DotSpec::default()
        }))
    };
    check(dot(&[], &[], &[1], &[0]), "2x3xf32 3x4xf32", "2x4xf32");
    check(dot(&[0], &[1], &[2], &[0]), "5x2x3xf32 3x5x4xf32", "5x2x4xf32");
    check(dot(&[], &[], &[], &[]), "2xf32 3xf32", "2x3xf32");
    check(
        dot(&[], &[], &[1], &[0]),
        "2x3xf32 4x4xf32",
        "contracting dimensions of stablehlo.dot_general differ",
    );
    check(dot(&[1], &[0], &[1], &[0]), "2x3xf32 3x4xf32", "is repeated");
    check(dot(&[], &[], &[1], &[]), "2x3xf32 3x4xf32", "1 left and 0 right contracting");
    check_written(dot(&[], &[], &[1], &[0]), "2x3xbf16 3x4xbf16", "2x4xf32", "");
    check_written(dot(&[], &[], &[1], &[0]), "2x3xbf16 3x4xbf16", "4x2xf32", "expected tensor<2x4xbf16>");
    let fft = |kind, length: &[i64]| OpKind::Fft { kind, length: list(length) };
    check(fft(FftKind::Fft, &[8]), "2x8xcomplex<f32>", "2x8xcomplex<f32");
    check(fft(FftKind::Rfft, &[4, 8]), "4x8xf32", "4x5xcomplex<f32");
    check(fft(FftKind::Irfft, &[4, 8]), "4x5xcomplex<f64>", "4x8xf64");
    check(fft(FftKind::Irfft, &[9]), "4xcomplex<f32>", "does not match the last dimensions");
    check(fft(FftKind::Fft, &[8]), "2x8xf32", "does not support the element type f32");
    check(fft(FftKind::Fft, &[]), "2x8xcomplex<f32>", "must have 1 to 3 entries");
    check(OpKind::Cholesky { lower: true }, "7x3x3xf32", "7x3x3xf32");
    check(OpKind::Cholesky { lower: true }, "3x4xf32", "square");
    let solve = |left_side| {
        OpKind::TriangularSolve(Box::new(TriangularSpec {
            left_side,
            lower: true,
            unit_diagonal: false,
            transpose_a: Transposition::None,
        }))
    };
    check(solve(true), "3x3xf32 3x5xf32", "3x5xf32");
    check(solve(false), "3x3xf32 5x3xf32", "5x3xf32");
    check(solve(true), "3x3xf32 5x3xf32", "left_side = true");
}

#[test]
fn windows() {
    let conv = |spec: ConvSpec| {
        OpKind::Convolution(Box::new(ConvSpec {
            input: ConvDims { batch: 0, feature: 3, spatial: list(&[1, 2]) },
            kernel: KernelDims { input_feature: 2, output_feature: 3, spatial: list(&[0, 1]) },
            output: ConvDims { batch: 0, feature: 3, spatial: list(&[1, 2]) },
            ..spec
        }))
    };
    let one = ConvSpec { feature_group_count: 1, batch_group_count: 1, ..ConvSpec::default() };
    check(conv(one.clone()), "8x32x32x3xf32 3x3x3x16xf32", "8x30x30x16xf32");
    check(
        conv(ConvSpec { strides: list(&[2, 2]), padding: list(&[(1, 1), (1, 1)]), ..one.clone() }),
        "8x32x32x3xf32 3x3x3x16xf32",
        "8x16x16x16xf32",
    );
    check(
        conv(ConvSpec { lhs_dilation: list(&[2, 2]), rhs_dilation: list(&[2, 1]), ..one.clone() }),
        "8x32x32x3xf32 3x3x3x16xf32",
        "8x59x61x16xf32",
    );
    check(
        conv(ConvSpec { feature_group_count: 3, ..one.clone() }),
        "8x32x32x6xf32 3x3x2x9xf32",
        "8x30x30x9xf32",
    );
    check(
        conv(ConvSpec { batch_group_count: 4, ..one.clone() }),
        "8x32x32x3xf32 3x3x3x16xf32",
        "2x30x30x16xf32",
    );
    check(conv(one.clone()), "8x32x32x4xf32 3x3x3x16xf32", "input features");
    check(
        conv(ConvSpec { batch_group_count: 3, ..one.clone() }),
        "8x32x32x3xf32 3x3x3x16xf32",
        "is not divisible by 3",
    );
    check(conv(ConvSpec { strides: list(&[0, 1]), ..one }), "8x32x32x3xf32 3x3x3x16xf32", "positive");

    let pool = WindowSpec { dimensions: list(&[1, 2]), strides: list(&[1, 2]), ..WindowSpec::default() };
    check(OpKind::ReduceWindow(Box::new(pool.clone())), "4x9xf32 f32", "4x4xf32");
    check(
        OpKind::ReduceWindow(Box::new(WindowSpec { padding: list(&[(0, 0), (1, 0)]), ..pool.clone() })),
        "4x9xf32 f32",
        "4x5xf32",
    );
    check(
        OpKind::ReduceWindow(Box::new(WindowSpec { dimensions: list(&[5, 1]), ..WindowSpec::default() })),
        "4x9xf32 f32",
        "0x9xf32",
    );
    check(OpKind::ReduceWindow(Box::new(pool.clone())), "4xf32 f32", "one entry per dimension");
    check(
        OpKind::ReduceWindow(Box::new(pool.clone())),
        "4x9xf32 f32 f32",
        "as many initial values as inputs",
    );
    check(OpKind::SelectAndScatter(Box::new(pool.clone())), "4x9xf32 4x4xf32 f32", "4x9xf32");
    check(
        OpKind::SelectAndScatter(Box::new(pool)),
        "4x9xf32 4x5xf32 f32",
        "expected the shape of the windows, [4, 4]",
    );
}

#[test]
fn reductions() {
    let reduce = |d: &[u32]| OpKind::Reduce { dims: list(d) };
    check(reduce(&[0, 2]), "2x3x4xf32 f32", "3xf32");
    check(reduce(&[1]), "2x3xf32 2x3xi32 f32 i32", "2xf32 2xi32");
    check(reduce(&[3]), "2x3x4xf32 f32", "must be less than the rank");
    check(reduce(&[0]), "2x3xf32 3x2xf32 f32 f32", "different shapes");
    check(reduce(&[0]), "2xf32 1xf32", "must be a scalar or have dimensions of []");
    check(reduce(&[0]), "2x3x4xf32 4xf32", "3x4xf32");
    check(reduce(&[0]), "2xf32 i32", "initial value");
    check(OpKind::Sort { dim: Some(-1), stable: Some(true) }, "2x3xf32 2x3xi32", "2x3xf32 2x3xi32");
    check(OpKind::Sort { dim: Some(2), stable: Some(true) }, "2x3xf32", "is out of range");
    // The body may use a wider type than the operands, but not a narrower one; for floats, it may use any float type.
    let mut module = Module::new();
    let body = reducer(&mut module, BinaryOp::Add, "f32");
    assert_eq!(infer_in(&mut module, &reduce(&[0]), "2x3xbf16 bf16", &[body]), "3xf32");
    assert_eq!(infer_in(&mut module, &reduce(&[0]), "2x3xf64 f64", &[body]), "3xf32");
    let body = reducer(&mut module, BinaryOp::Add, "i32");
    let narrow = infer_in(&mut module, &reduce(&[0]), "2x3xi64 i64", &[body]);
    assert!(narrow.contains("combines elements of type i64 in i32, which cannot represent them"), "{narrow}");
}

#[test]
fn gathers_and_scatters() {
    // Gathers rows of the operand by index, like an embedding lookup.
    let rows = GatherSpec {
        offset_dims: list(&[2]),
        collapsed_slice_dims: list(&[0]),
        start_index_map: list(&[0]),
        index_vector_dim: 2,
        slice_sizes: list(&[1, 16]),
        ..GatherSpec::default()
    };
    let gather = |spec: &GatherSpec| OpKind::Gather(Box::new(spec.clone()));
    check(gather(&rows), "100x16xf32 8x4x1xi32", "8x4x16xf32");
    check(gather(&rows), "100x16xf32 8x4xi32", "8x4x16xf32");
    check(gather(&rows), "100x16xf32 8x4x2xi32", "has 2 components, but is mapped to 1 operand dimensions");
    check(gather(&rows), "100x16xf32 8x4x1xf32", "must be integers");
    check(gather(&rows), "100x8xf32 8x4x1xi32", "slice sizes");
    check(
        gather(&GatherSpec { offset_dims: list(&[3]), ..rows.clone() }),
        "100x16xf32 8x4x1xi32",
        "less than the rank",
    );
    check(
        gather(&GatherSpec { offset_dims: list(&[]), ..rows }),
        "100x16xf32 8x4x1xi32",
        "do not add up to its rank",
    );
    let batched = GatherSpec {
        collapsed_slice_dims: list(&[1]),
        operand_batching_dims: list(&[0]),
        start_indices_batching_dims: list(&[0]),
        start_index_map: list(&[1]),
        index_vector_dim: 2,
        slice_sizes: list(&[1, 1]),
        ..GatherSpec::default()
    };
    check(gather(&batched), "8x16xf32 8x3x1xi32", "8x3xf32");
    check(gather(&batched), "8x16xf32 7x3x1xi32", "batching dimensions of stablehlo.gather differ");

    let scatter = |spec: &ScatterSpec| OpKind::Scatter(Box::new(spec.clone()));
    let rows = ScatterSpec {
        update_window_dims: list(&[1]),
        inserted_window_dims: list(&[0]),
        scatter_dims_to_operand_dims: list(&[0]),
        index_vector_dim: 1,
        ..ScatterSpec::default()
    };
    check(scatter(&rows), "100x16xf32 8x1xi32 8x16xf32", "100x16xf32");
    check(scatter(&rows), "100x16xf32 8x1xi32 8x10xf32", "100x16xf32");
    check(scatter(&rows), "100x16xf32 8x1xi32 8x17xf32", "does not fit the input");
    check(scatter(&rows), "100x16xf32 8x1xi32 7x16xf32", "does not fit the input");
    check(scatter(&rows), "100x16xf32 8x1xi32", "n inputs");
    check(scatter(&rows), "4x2xf32 4x2xi32 3x1xi32 3x2xf32 3x2xi32", "4x2xf32 4x2xi32");
}

#[test]
fn control_and_tuples() {
    check(OpKind::While, "2xf32 i32", "2xf32 i32");
    check(OpKind::OptimizationBarrier, "2xf32 token", "2xf32 !stablehlo.token");
    check(OpKind::AfterAll, "token token", "!stablehlo.token");
    check(OpKind::Tuple, "2xf32 i32", "tuple<2xf32, i32");
    check(OpKind::PartitionId, "", "ui32");
    check(OpKind::Return, "2xf32", "");
    check(OpKind::Call { callee: "f".into() }, "2xf32", "there is no function @f");
    check(OpKind::Case, "i32", "region 0 of stablehlo.case does not end with a return");
    check(OpKind::If, "i32", "must be i1");
    let mut module = Module::new();
    let body = region(&mut module, "");
    let outer = region(&mut module, "4xbf16");
    let value = arg(&module, outer, 0);
    crate::testing::ret(&mut module, body, &[value]);
    assert_eq!(infer_in(&mut module, &OpKind::If, "i1", &[body, body]), "4xbf16");
}

#[test]
fn collectives() {
    let spec = |groups: Vec<Vec<i64>>| {
        Box::new(CollectiveSpec { groups: groups.into(), ..CollectiveSpec::default() })
    };
    let pairs = || spec(vec![vec![0, 1], vec![2, 3]]);
    check(OpKind::AllGather { dim: 1, spec: pairs() }, "4x4xf32", "4x8xf32");
    check(OpKind::AllGather { dim: 2, spec: pairs() }, "4x4xf32", "is out of range");
    check(OpKind::AllGather { dim: 1, spec: spec(vec![]) }, "4x4xf32", "cannot be inferred");
    check(OpKind::ReduceScatter { dim: 0, spec: pairs() }, "4x4xf32", "2x4xf32");
    check(OpKind::ReduceScatter { dim: 0, spec: pairs() }, "5x4xf32", "is not divisible by 2");
    check(OpKind::AllReduce(pairs()), "4xf32 i32", "4xf32 i32");
    let exchange = |n| OpKind::AllToAll { split_dim: 0, concat_dim: 1, split_count: n, spec: pairs() };
    check(exchange(2), "4x4xf32", "2x8xf32");
    check(exchange(4), "4x4xf32", "its groups have 2 devices");
    check(OpKind::CollectivePermute(spec(vec![vec![0, 1]])), "4xf32", "4xf32");
    // Replica groups with a channel: all partitions of each replica participate, so the group size is unknown.
    let replicas = || Box::new(CollectiveSpec { channel: Some(Channel::between_devices(1)), ..*pairs() });
    check_written(OpKind::AllGather { dim: 1, spec: replicas() }, "4x4xf32", "4x32xf32", "");
    check_written(OpKind::AllGather { dim: 1, spec: spec(vec![]) }, "4x4xf32", "4x32xf32", "");
    check_written(
        OpKind::AllGather { dim: 1, spec: pairs() },
        "4x4xf32",
        "4x6xf32",
        "size 6 of dimension 1 is not a multiple of 4",
    );
}

#[test]
fn free_result_types() {
    check(OpKind::Convert, "2xf32", "cannot be inferred");
    check_written(OpKind::Convert, "2xf32", "2xi8", "");
    check_written(OpKind::Convert, "2xf32", "3xi8", "convert of tensor<2xf32> gives tensor<3xi8>");
    check_written(OpKind::BitcastConvert, "2xf32", "2xi32", "");
    check_written(OpKind::BitcastConvert, "2xf32", "2x4xi8", "");
    check_written(OpKind::BitcastConvert, "2x4xi8", "2xf32", "");
    check_written(OpKind::BitcastConvert, "2xf32", "2x3xi8", "bitcast_convert");
    check_written(OpKind::Reshape, "2x6xf32", "3x4xf32", "");
    check_written(OpKind::Reshape, "2x6xf32", "?x4xf32", "whose shape is dynamic");
    check_written(OpKind::Reshape, "2x6xf32", "3x5xf32", "reshape of");
    check_written(OpKind::Iota { dim: 1 }, "", "3x4xi32", "");
    check_written(OpKind::Iota { dim: 2 }, "", "3x4xi32", "dimension 2 of iota");
    check_written(OpKind::Iota { dim: 0 }, "", "3xi1", "i1");
    let broadcast = |d: &[u32]| OpKind::BroadcastInDim { dims: list(d) };
    check_written(broadcast(&[1]), "4xf32", "3x4xf32", "");
    check_written(broadcast(&[1, 0]), "1x3xf32", "3x4xf32", "");
    check_written(
        broadcast(&[0]),
        "4xf32",
        "3x4xf32",
        "dimension 0 of size 4 cannot be broadcast to result dimension 0 of size 3",
    );
    check_written(broadcast(&[0, 0]), "1x1xf32", "3x4xf32", "is repeated");
    check_written(broadcast(&[2]), "4xf32", "3x4xf32", "must be less than the rank");
    check_written(OpKind::Constant(Dense::splat(&[0; 4])), "", "3xf32", "");
    check_written(OpKind::Constant(Dense::splat(&[0; 2])), "", "3xf32", "2 bytes per element");
    check_written(OpKind::Constant(Dense::elements(vec![0; 12])), "", "3xf32", "");
    check_written(OpKind::Constant(Dense::elements(vec![0; 8])), "", "3xf32", "expected 12");
    check_written(OpKind::Constant(Dense::elements(vec![])), "", "0xf32", "");
    let rng = || OpKind::RngBitGenerator { algorithm: RngAlgorithm::ThreeFry };
    check_written(rng(), "2xui64", "2xui64 8xui32", "");
    check_written(rng(), "2xui64", "3xui64 8xui32", "its state result is");
    check_written(rng(), "2xui64", "2xui64", "has 1 results");
    check_written(OpKind::Unary(UnaryOp::Tanh), "2xf32", "2xf32 2xf32", "has 2 results, expected 1");
    check_written(OpKind::Unary(UnaryOp::Tanh), "!quant", "!quant2", "");
}
