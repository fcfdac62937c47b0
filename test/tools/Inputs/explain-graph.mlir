// Two layers: a gated network, and a costly map of its input that two later ops read. One tensor is
// called what could end a script element.
#row = affine_map<(t, c) -> (t, c)>
func.func @main(%x0: !fuse.tensor<[ragged(T), 64], f32> {fuse.name = "x"}) -> !fuse.tensor<[ragged(T), 64], f32> {
  %gatew0 = fuse.weight ["blk.0.gate"] : !fuse.tensor<[96, 64], f32, q8_0> loc("blk.0.gate")
  %gate0 = fuse.linear %x0, %gatew0 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32> loc("blk.0.gate")
  %upw0 = fuse.weight ["blk.0.up"] : !fuse.tensor<[96, 64], f32, q8_0> loc("blk.0.up")
  %up0 = fuse.linear %x0, %upw0 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32> loc("blk.0.up")
  %h0 = fuse.swiglu %gate0, %up0 : !fuse.tensor<[ragged(T), 96], f32> loc("blk.0.swiglu")
  %dw0 = fuse.weight ["blk.0.down"] : !fuse.tensor<[64, 96], f32, q8_0> loc("blk.0.down")
  %d0 = fuse.linear %h0, %dw0 : !fuse.tensor<[ragged(T), 96], f32>, !fuse.tensor<[64, 96], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32> loc("blk.0.down")
  %wave0 = fuse.map(%x0 : !fuse.tensor<[ragged(T), 64], f32>) maps [#row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %s0 = math.sin %a : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    fuse.yield %s11 : f32
  } loc("blk.0.wave")
  %r0 = fuse.map(%d0, %wave0 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [#row, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    fuse.yield %s : f32
  } loc("blk.0.sum")
  %x1 = fuse.map(%r0, %wave0 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [#row, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    fuse.yield %s : f32
  } loc("blk.0.product")
  %gatew1 = fuse.weight ["blk.1.gate"] : !fuse.tensor<[96, 64], f32, q8_0> loc("blk.1.gate")
  %gate1 = fuse.linear %x1, %gatew1 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32> loc("blk.1.gate")
  %upw1 = fuse.weight ["blk.1.up"] : !fuse.tensor<[96, 64], f32, q8_0> loc("blk.1.up")
  %up1 = fuse.linear %x1, %upw1 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32> loc("blk.1.up")
  %h1 = fuse.swiglu %gate1, %up1 : !fuse.tensor<[ragged(T), 96], f32> loc("blk.1.swiglu")
  %dw1 = fuse.weight ["</script><b>"] : !fuse.tensor<[64, 96], f32, q8_0> loc("</script><b>")
  %d1 = fuse.linear %h1, %dw1 : !fuse.tensor<[ragged(T), 96], f32>, !fuse.tensor<[64, 96], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32> loc("</script><b>")
  %wave1 = fuse.map(%x1 : !fuse.tensor<[ragged(T), 64], f32>) maps [#row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %s0 = math.sin %a : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    fuse.yield %s11 : f32
  } loc("blk.1.wave")
  %r1 = fuse.map(%d1, %wave1 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [#row, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    fuse.yield %s : f32
  } loc("blk.1.sum")
  %x2 = fuse.map(%r1, %wave1 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [#row, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    fuse.yield %s : f32
  } loc("blk.1.product")
  return %x2 : !fuse.tensor<[ragged(T), 64], f32>
}
