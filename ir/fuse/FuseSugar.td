//===- FuseSugar.td - named ops that importers may use ----------------------===//
//
// Each has one decomposition into primitives (passes/model/Decompose.cpp) and
// none survives it.
//
//===----------------------------------------------------------------------===//
#ifndef FUSEC_IR_FUSE_SUGAR_TD
#define FUSEC_IR_FUSE_SUGAR_TD

include "ir/fuse/FuseOps.td"

def Fuse_Pairing : I32EnumAttr<"Pairing", "which two elements a rotary embedding turns together", [
  I32EnumAttrCase<"Half", 0, "half">,
  I32EnumAttrCase<"Interleaved", 1, "interleaved">
]> {
  let cppNamespace = "::fusec::fuse";
  let genSpecializedAttr = 0;
}
def Fuse_PairingAttr : EnumAttr<Fuse_Dialect, Fuse_Pairing, "pairing">;

/// Marks what --fuse-decompose removes and --verify-fuse looks for.
def Fuse_Named : NativeOpTrait<"Named"> {
  let cppNamespace = "::fusec::fuse";
}

class Fuse_SugarOp<string mnemonic, list<Trait> traits = []>
    : Fuse_Op<mnemonic, !listconcat([Pure, Fuse_Named], traits)> {
  let hasVerifier = 1;
}

def Fuse_LinearOp : Fuse_SugarOp<"linear"> {
  let summary = "Multiplies rows by a stored matrix and adds a bias";
  let description = [{
    `y[.., n] = sum_k x[.., k] * w[n, k] (+ bias[n])`.

    Constraints:
    - C1: `w` is `[N, K]`, `x` ends in `K`, the result equals `x` with `N` last;
    - C2: `bias`, if any, is `[N]`.

    ```mlir
    %y = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[172, 64], f32, f16> -> !fuse.tensor<[ragged(T), 172], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$x, Fuse_AnyTensor:$w, Optional<Fuse_AnyTensor>:$bias);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$x `,` $w (`bias` $bias^ `:` type($bias))? attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def Fuse_RMSNormOp : Fuse_SugarOp<"rms_norm"> {
  let summary = "Scales rows by the inverse root of their mean square";
  let description = [{
    `y = x * (1 / sqrt(mean(x^2) + epsilon)) * w` over the last dimension; the
    product with `w` comes last, in the element type.

    Constraints:
    - C1: the result has the type of `x`; `w` is a vector of its last dimension;
    - C2: epsilon is not negative.

    ```mlir
    %y = fuse.rms_norm %x, %w epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32, f32> -> !fuse.tensor<[ragged(T), 64], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$x, Fuse_AnyTensor:$w, F64Attr:$epsilon);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$x `,` $w `epsilon` $epsilon attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def Fuse_RopeOp : Fuse_SugarOp<"rope"> {
  let summary = "Turns pairs of elements by an angle that grows with the position";
  let description = [{
    With `n` frequencies, the first `2n` elements of each head turn; the rest
    passes through. Pair `i` turns by `positions[t] * frequencies[i]`, computed
    in f64. `half` pairs `(i, i + n)`, `interleaved` pairs `(2i, 2i + 1)`.

    Constraints:
    - C1: `x` is `[ragged, heads, head]`; the result has its type;
    - C2: `positions` is an i32 vector over the ragged dimension;
    - C3: `frequencies` is an f64 vector of at most half the head size.

    ```mlir
    %y = fuse.rope %x, %positions, %f half : !fuse.tensor<[ragged(T), 9, 64], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[32], f64> -> !fuse.tensor<[ragged(T), 9, 64], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$x, Fuse_AnyTensor:$positions, Fuse_AnyTensor:$frequencies, Fuse_PairingAttr:$pairing);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$x `,` $positions `,` $frequencies $pairing attr-dict `:` type($x) `,` type($positions) `,` type($frequencies) `->` type($result)";
}

def Fuse_SwigluOp : Fuse_SugarOp<"swiglu", [AllTypesMatch<["gate", "up", "result"]>]> {
  let summary = "Gates one tensor by the SiLU of another";
  let description = [{
    `y = gate / (1 + exp(-gate)) * up`.

    Constraints:
    - C1: gate, up and the result have the same type.

    ```mlir
    %y = fuse.swiglu %gate, %up : !fuse.tensor<[ragged(T), 172], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$gate, Fuse_AnyTensor:$up);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($result)";
}

def Fuse_AttentionOp : Fuse_SugarOp<"attention"> {
  let summary = "Causal attention of this step's tokens over their sequences' caches";
  let description = [{
    For token `t` of sequence `b` at position `p`, over cached positions `j`:
    scores `s = scale * q . k[j]` where `j <= p` (and `j > p - window` when a
    window is given: W keys including the query itself), softmax over `j`,
    weighted sum of `v[j]`. `heads / kv_heads` query heads share a cached head.
    A row with no visible key gives zero.

    Constraints:
    - C1: `q` is `[ragged, H, D]`, `k` is `[sym, paged, KV, D]`, `v` is `[sym, paged, KV, DV]`, KV divides H;
    - C2: `positions` and `sequences` are i32 vectors over the ragged dimension;
    - C3: the result is `[ragged, H * DV]`;
    - C4: a window is positive.

    ```mlir
    %o = fuse.attention %q, %k, %v, %positions, %sequences scale 0.125
        : !fuse.tensor<[ragged(T), 9, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>,
          !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 576], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$q, Fuse_AnyTensor:$k, Fuse_AnyTensor:$v, Fuse_AnyTensor:$positions, Fuse_AnyTensor:$sequences,
                   F64Attr:$scale, OptionalAttr<I64Attr>:$window);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $positions `,` $sequences `scale` $scale (`window` $window^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($positions) `,` type($sequences) `->` type($result)
  }];
}

def Fuse_SoftmaxOp : Fuse_SugarOp<"softmax"> {
  let summary = "Normalised exponentials over the last dimension";
  let description = [{
    `y = exp(x - max x) / sum exp(x - max x)`; a row of nothing but -inf gives zeros.

    Constraints:
    - C1: the result has the type of `x`.

    ```mlir
    %y = fuse.softmax %x : !fuse.tensor<[sym(N), 7], f32> -> !fuse.tensor<[sym(N), 7], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$x);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

#endif
