// Axes of different sizes change places, of sizes that they divide and of others, and parts of axes: new blocks are put
// together from pieces of old ones.
sdy.mesh @mesh = <["a"=4, "b"=2]>
func.func @main(
    %x: tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>},
    %y: tensor<515x509xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>},
    %z: tensor<33x2x511x13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}, {}, {}, {}]>},
    %r: tensor<300001xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>},
    %h: tensor<511x515xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2}, {"b", "a":(2)2}]>}) ->
    (tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>},
     tensor<515x509xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>},
     tensor<33x2x511x13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"a", "b"}, {}]>},
     tensor<300001xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}]>},
     tensor<511x515xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a":(2)2}, {"a":(1)2}]>}) {
  %0 = stablehlo.negate %x : tensor<512x512xf32>
  %1 = stablehlo.negate %y : tensor<515x509xf32>
  %2 = stablehlo.negate %z : tensor<33x2x511x13xf32>
  %3 = stablehlo.negate %r : tensor<300001xf32>
  %4 = stablehlo.negate %h : tensor<511x515xbf16>
  return %0, %1, %2, %3, %4 : tensor<512x512xf32>, tensor<515x509xf32>, tensor<33x2x511x13xf32>, tensor<300001xf32>, tensor<511x515xbf16>
}
