//! Exchanges of parts of blocks, of which each device sends and keeps other positions.

use crate::support::only;

/// Picks an element of a table by the number of the device.
fn pick(name: &str, table: &str) -> String {
    format!(
        "%t{name} = stablehlo.constant dense<{table}> : tensor<4xi32>
        %s{name} = stablehlo.dynamic_slice %t{name}, %d, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
        %{name} = stablehlo.reshape %s{name} : (tensor<1xi32>) -> tensor<i32>"
    )
}

const DEVICE: &str = "%u = stablehlo.replica_id : tensor<ui32>
        %d = stablehlo.convert %u : (tensor<ui32>) -> tensor<i32>";

#[test]
fn a_slice_is_sent_to_the_devices_of_its_blocks() {
    let original = "func.func @main(%x: tensor<8x3xf32>) -> tensor<4x3xf32> {
        %0 = stablehlo.slice %x [2:6, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>
        %1 = stablehlo.tanh %0 : tensor<4x3xf32>
        return %1 : tensor<4x3xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<1x3xf32> {{
        {DEVICE}
        %z = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        {}
        {}
        {}
        %0 = stablehlo.dynamic_slice %x, %sent, %z, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %1 = \"stablehlo.collective_permute\"(%0) <{{source_target_pairs = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
        %2 = stablehlo.dynamic_slice %x, %kept, %z, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %m = stablehlo.compare EQ, %received, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %3 = stablehlo.select %m, %1, %2 : tensor<i1>, tensor<1x3xf32>
        %4 = stablehlo.tanh %3 : tensor<1x3xf32>
        return %4 : tensor<1x3xf32> }}",
        pick("sent", "[0, 0, 1, 0]"),
        pick("kept", "[0, 1, 0, 0]"),
        pick("received", "[1, 0, 0, 1]")
    );
    let wrong = [
        ("dense<[0, 0, 1, 0]>", "dense<[0, 1, 1, 0]>"),
        ("dense<[0, 1, 0, 0]>", "dense<[0, 1, 1, 0]>"),
        ("dense<[1, 0, 0, 1]>", "dense<[0, 0, 0, 1]>"),
        ("[[1, 0], [2, 3]]", "[[2, 0], [1, 3]]"),
        ("[[1, 0], [2, 3]]> : tensor<2x2xi64>", "[[1, 0]]> : tensor<1x2xi64>"),
        ("select %m, %1, %2", "select %m, %2, %1"),
    ];
    only(original, &local, &["ab,-"], &["ab,-"], &wrong);
}

#[test]
fn pieces_of_two_tensors_are_a_concatenation() {
    // The rows of the first devices are from both tensors.
    let original = "func.func @main(%x: tensor<2x3xf32>, %y: tensor<6x3xf32>) -> tensor<8x3xf32> {
        %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
        return %0 : tensor<8x3xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<2x3xf32>, %y: tensor<6x3xf32>) -> tensor<4x3xf32> {{
        {DEVICE}
        %z = stablehlo.constant dense<0> : tensor<i32>
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        {}
        {}
        %0 = stablehlo.pad %x, %c, low = [0, 0], high = [6, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<8x3xf32>
        %1 = stablehlo.dynamic_slice %0, %first, %z, sizes = [4, 3] : (tensor<8x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
        %2 = stablehlo.pad %y, %c, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<6x3xf32>, tensor<f32>) -> tensor<8x3xf32>
        %3 = stablehlo.dynamic_slice %2, %first, %z, sizes = [4, 3] : (tensor<8x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
        %i = stablehlo.iota dim = 0 : tensor<4x3xi32>
        %b = stablehlo.broadcast_in_dim %bound, dims = [] : (tensor<i32>) -> tensor<4x3xi32>
        %m = stablehlo.compare LT, %i, %b, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
        %4 = stablehlo.select %m, %1, %3 : tensor<4x3xi1>, tensor<4x3xf32>
        return %4 : tensor<4x3xf32> }}",
        pick("first", "[0, 0, 4, 4]"),
        pick("bound", "[2, 2, 0, 0]")
    );
    let wrong = [
        ("[0, 0, 4, 4]", "[0, 4, 0, 4]"),
        ("[2, 2, 0, 0]", "[2, 1, 0, 0]"),
        ("[2, 2, 0, 0]", "[3, 2, 0, 0]"),
        ("low = [2, 0], high = [0, 0]", "low = [1, 0], high = [1, 0]"),
        ("compare LT", "compare LE"),
    ];
    only(original, &local, &["-,-", "-,-"], &["a,-"], &wrong);
}
