//! Attributes and constants in every spelling print as MLIR prints them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_stablehlo::{parse, print, render};

/// Returns the printed form of `{a = text}` on an operation, without the braces and the name.
fn carried(text: &str) -> String {
    let source = format!(
        "func.func @f(%x: tensor<f32>) {{\n  %0 = stablehlo.abs %x {{a = {text}}} : tensor<f32>\n  return\n}}\n"
    );
    let module =
        parse(&source).unwrap_or_else(|errors| panic!("{}", render(&errors, "input", &source, false)));
    let printed = print(&module, &Default::default());
    let value = printed.split_once("{a = ").and_then(|(_, rest)| rest.split_once("} : tensor<f32>\n"));
    value.map(|(value, _)| value.to_owned()).unwrap_or(printed)
}

#[test]
fn attributes_are_kept_in_canonical_form() {
    let cases = [
        (
            "[1 : i64, 2 : i32, 1.0 : f64, 2.5 : f32, true, {b = 2.0}]",
            "[1, 2 : i32, 1.000000e+00, 2.500000e+00 : f32, true, {b = 2.000000e+00 : f64}]",
        ),
        ("1.0", "1.000000e+00 : f64"),
        ("0.9 : f32", "0.899999976 : f32"),
        ("1.0e10 : bf16", "9.999220e+09 : bf16"),
        ("0x7FC00000 : f32", "0x7FC00000 : f32"),
        ("255 : ui8", "255 : ui8"),
        ("255 : i8", "-1 : i8"),
        ("0x10 : i32", "16 : i32"),
        ("18446744073709551615 : ui64", "18446744073709551615 : ui64"),
        ("18446744073709551615", "-1 : i64"),
        ("170141183460469231731687303715884105727 : i128", "170141183460469231731687303715884105727 : i128"),
        ("1 : i1", "true"),
        ("-5 : index", "-5 : index"),
        ("array<f32:1.0,0.5>", "array<f32: 1.000000e+00, 5.000000e-01>"),
        ("array<i8: -1, 255>", "array<i8: -1, -1>"),
        ("array<i1:true>", "array<i1: true>"),
        ("array<ui64: 18446744073709551615>", "array<ui64: 18446744073709551615>"),
        ("array<i64>", "array<i64>"),
        ("dense<[1,1]>:tensor<2xi32>", "dense<1> : tensor<2xi32>"),
        ("dense<\"0x0102\"> : tensor<2xi8>", "dense<[1, 2]> : tensor<2xi8>"),
        ("dense<0> : tensor<0x2xi64>", "dense<0> : tensor<0x2xi64>"),
        ("dense<[[],[]]> : tensor<2x0xi64>", "dense<> : tensor<2x0xi64>"),
        ("@a::@b", "@a::@b"),
        ("#stablehlo.type_extensions<bounds = [?, 4]>", "#stablehlo.bounds<?, 4>"),
        (
            "#stablehlo.result_accuracy<ulps=3, atol = 0.0,  mode=#stablehlo.result_accuracy_mode<TOLERANCE>>",
            "#stablehlo.result_accuracy<ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>",
        ),
        (
            "#stablehlo.output_operand_alias<output_tuple_indices=[0],\n  operand_index=0, operand_tuple_indices = [1]>",
            "#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = [1]>",
        ),
        ("#stablehlo<precision   DEFAULT>", "#stablehlo<precision DEFAULT>"),
        ("#stablehlo.channel_handle<handle=1,type=2>", "#stablehlo.channel_handle<handle = 1, type = 2>"),
        (
            "#stablehlo.scatter<update_window_dims=[0], index_vector_dim = 0>",
            "#stablehlo.scatter<update_window_dims = [0]>",
        ),
        (
            "#stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], \
             kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], \
             output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>",
            "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(carried(text), expected, "{text}");
    }
}

#[test]
fn constants_print_as_in_mlir() {
    let cases = [
        ("dense<18446744073709551615> : tensor<1xui64>", "dense<18446744073709551615> : tensor<1xui64>"),
        ("dense<18446744073709551615> : tensor<1xi64>", "dense<-1> : tensor<1xi64>"),
        ("dense<[255, -1]> : tensor<2xi8>", "dense<-1> : tensor<2xi8>"),
        ("dense<[3, -1, 1]> : tensor<3xi2>", "dense<[-1, -1, 1]> : tensor<3xi2>"),
        ("dense<15> : tensor<2xui4>", "dense<15> : tensor<2xui4>"),
        ("dense<1> : tensor<2xindex>", "dense<1> : tensor<2xindex>"),
        ("dense<0x7F> : tensor<1xf8E4M3FN>", "dense<0x7F> : tensor<1xf8E4M3FN>"),
        (
            "dense<[1.0, 6.0]> : tensor<2xf4E2M1FN>",
            "dense<[1.000000e+00, 6.000000e+00]> : tensor<2xf4E2M1FN>",
        ),
        (
            "dense<(1.0, -0.5)> : tensor<2xcomplex<f32>>",
            "dense<(1.000000e+00,-5.000000e-01)> : tensor<2xcomplex<f32>>",
        ),
        ("dense<[true, false]> : tensor<2xi1>", "dense<[true, false]> : tensor<2xi1>"),
        (
            "dense<[\"a\", \"b  ]\\22\"]> : tensor<2x!foo.str>",
            "dense<[\"a\", \"b  ]\\22\"]> : tensor<2x!foo.str>",
        ),
        (
            "dense<123456789012345678901234567890> : tensor<1xi128>",
            "dense<123456789012345678901234567890> : tensor<1xi128>",
        ),
        ("dense<(1,2)> : tensor<2xcomplex<i32>>", "dense<(1,2)> : tensor<2xcomplex<i32>>"),
        (
            "sparse<[[0, 1], [1, 2]],\n [1, 5]> : tensor<3x4xi32>",
            "sparse<[[0, 1], [1, 2]], [1, 5]> : tensor<3x4xi32>",
        ),
        ("dense_resource<blob> : tensor<4xf32>", "dense_resource<blob> : tensor<4xf32>"),
    ];
    for (text, expected) in cases {
        let source = format!("func.func @f() {{\n  %0 = stablehlo.constant {text}\n  return\n}}\n");
        match parse(&source) {
            Ok(module) => {
                let printed = print(&module, &Default::default());
                let line = printed.lines().find_map(|line| line.split_once("stablehlo.constant "));
                assert_eq!(line.map(|(_, value)| value), Some(expected), "{text}");
            }
            // A resource must be in the file.
            Err(errors) if text.starts_with("dense_resource") => assert_eq!(errors.len(), 1),
            Err(errors) => panic!("{}", render(&errors, "input", &source, false)),
        }
    }
}

#[test]
fn quantized_types_are_checked() {
    let cases = [
        ("i8:f32, 0.0", "the scale 0.000000e+00 is not a positive number"),
        ("i8:f16, 100000.0", "the scale 1.000000e+05 is out of range for f16"),
        ("i8<0:300>:f32, 1.0", "the range 0:300 is empty or not within -128:127"),
        ("i33:f32, 1.0", "`i33` is not an integer type of at most 32 bits"),
        ("i8:i32, 1.0", "the expressed type `i32` must be a float type"),
        ("i8:f32:-1, {1.0}", "the quantized dimension -1 is negative"),
        ("i8:f32:{0:0}, {1.0}", "the block size 0 is not positive"),
        ("i8:f32:{0:1}, {{1.0}, 1.0}", "expected lists of equal depth, found `1.0`"),
    ];
    for (text, expected) in cases {
        let source = format!("func.func @f(%x: tensor<4x!quant.uniform<{text}>>) {{\n  return\n}}\n");
        let errors = parse(&source).expect_err(text);
        assert_eq!(errors[0].message, expected, "{text}");
    }
}
