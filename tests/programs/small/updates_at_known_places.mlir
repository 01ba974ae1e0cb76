// Updates at places that the program says, of blocks that are not even, along two dimensions, with a stride, from the last
// place on, of a part that devices have whole, and by regions whose operands have an order.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<50x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %c: tensor<20x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %d: tensor<13x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %far = stablehlo.constant dense<40> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %b, %far, %one : (tensor<61x9xf32>, tensor<50x7xf32>, tensor<i32>, tensor<i32>) -> tensor<61x9xf32>
  %at = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %1 = "stablehlo.scatter"(%a, %at, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.subtract %y, %x : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<61x9xf32>, tensor<2xi32>, tensor<50x7xf32>) -> tensor<61x9xf32>
  %i = stablehlo.iota dim = 0 : tensor<20xi32>
  %three = stablehlo.constant dense<3> : tensor<20xi32>
  %2 = stablehlo.multiply %three, %i : tensor<20xi32>
  %ones = stablehlo.constant dense<1> : tensor<20xi32>
  %3 = stablehlo.add %2, %ones : tensor<20xi32>
  %4 = stablehlo.reshape %3 : (tensor<20xi32>) -> tensor<20x1xi32>
  %5 = "stablehlo.scatter"(%a, %4, %c) <{indices_are_sorted = true, unique_indices = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.multiply %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<61x9xf32>, tensor<20x1xi32>, tensor<20x9xf32>) -> tensor<61x9xf32>
  %six = stablehlo.constant dense<6> : tensor<1xi32>
  %6 = "stablehlo.scatter"(%a, %six, %d) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<61x9xf32>, tensor<1xi32>, tensor<13x9xf32>) -> tensor<61x9xf32>
  %7 = "stablehlo.scatter"(%a, %six, %d) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<61x9xf32>, tensor<1xi32>, tensor<13x9xf32>) -> tensor<61x9xf32>
  %8 = stablehlo.slice %a [0:55, 0:9] : (tensor<61x9xf32>) -> tensor<55x9xf32>
  %9 = "stablehlo.scatter"(%a, %six, %8) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<61x9xf32>, tensor<1xi32>, tensor<55x9xf32>) -> tensor<61x9xf32>
  return %0, %1, %5, %6, %7, %9 : tensor<61x9xf32>, tensor<61x9xf32>, tensor<61x9xf32>, tensor<61x9xf32>, tensor<61x9xf32>, tensor<61x9xf32>
}
