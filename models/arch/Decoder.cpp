//===- Decoder.cpp - llama-like decoders as a composition of fuse ops --------===//
#include "models/arch/Decoder.h"

#include "ir/fuse/FuseDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace fusec::fuse;

namespace fusec::models {
namespace {

/// Writes the graph of one model; one method per part of the network.
class DecoderBuilder {
public:
  DecoderBuilder(MLIRContext &context, const Model &model, StorageType cacheType, GraphResult result)
      : model(model), config(model.config()), cacheType(cacheType), result(result), builder(&context),
        f32(builder.getF32Type()), i32(builder.getI32Type()), tokenDim(Dim::dynamic(DimKind::Ragged, &context, "T")),
        rowDim(Dim::dynamic(DimKind::Symbolic, &context, "R")),
        sequenceDim(Dim::dynamic(DimKind::Symbolic, &context, "S")),
        contextDim(Dim::dynamic(DimKind::Paged, &context, "C")) {}

  OwningOpRef<ModuleOp> build() {
    Location loc = named(config.name.empty() ? "model" : config.name);
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    createFunction(loc);
    frequencies = ropeFrequencies();
    Value x = GatherOp::create(builder, named("token_embd.weight"), tensor({tokenDim, Dim::fixed(config.hidden)}),
                               weight("token_embd.weight"), tokens);
    for (int64_t layer = 0; layer < config.layers; ++layer)
      x = decoderLayer(x, layer);
    func::ReturnOp::create(builder, loc, returned(x));
    return module;
  }

private:
  Location named(StringRef name) { return NameLoc::get(builder.getStringAttr(name)); }
  GraphTensorType tensor(ArrayRef<Dim> dims, Type element = {}) {
    return GraphTensorType::get(builder.getContext(), dims, element ? element : f32);
  }

  void createFunction(Location loc) {
    SmallVector<std::pair<std::string, Type>> args = {{"tokens", tensor({tokenDim}, i32)},
                                                      {"positions", tensor({tokenDim}, i32)},
                                                      {"sequences", tensor({tokenDim}, i32)},
                                                      {"output_rows", tensor({rowDim}, i32)}};
    // No storage stands for the element type itself.
    std::optional<StorageType> storage;
    if (cacheType != StorageType::F32)
      storage = cacheType;
    Dim cached[] = {sequenceDim, contextDim, Dim::fixed(config.kvHeads), Dim::fixed(config.headDim)};
    Type cache = GraphTensorType::get(builder.getContext(), cached, f32, storage);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      args.emplace_back("k." + std::to_string(layer), cache);
      args.emplace_back("v." + std::to_string(layer), cache);
    }
    SmallVector<Type> types;
    for (auto &[name, type] : args)
      types.push_back(type);
    const bool isHidden = result == GraphResult::Hidden;
    Type returned = tensor({rowDim, Dim::fixed(isHidden ? config.hidden : config.vocab)});
    auto function = func::FuncOp::create(builder, loc, "step", builder.getFunctionType(types, returned));
    function.setResultAttr(0, "fuse.name", builder.getStringAttr(isHidden ? "hidden" : "logits"));
    for (auto [i, arg] : llvm::enumerate(args))
      function.setArgAttr(i, "fuse.name", builder.getStringAttr(arg.first));
    Block *entry = function.addEntryBlock();
    builder.setInsertionPointToEnd(entry);
    tokens = entry->getArgument(0);
    positions = entry->getArgument(1);
    sequences = entry->getArgument(2);
    outputRows = entry->getArgument(3);
    caches = entry->getArguments().drop_front(4);
  }

  Value ropeFrequencies() {
    std::vector<float> single = rotaryFrequencies(config.rope);
    std::vector<double> values(single.begin(), single.end());
    auto count = static_cast<int64_t>(values.size());
    auto attr = DenseElementsAttr::get(RankedTensorType::get({count}, builder.getF64Type()), ArrayRef<double>(values));
    return ConstantOp::create(builder, named("rope.frequencies"), tensor({Dim::fixed(count)}, builder.getF64Type()),
                              "rope.frequencies", attr);
  }

  /// A reference to a stored tensor; the model was checked to have it.
  Value weight(const std::string &name) {
    const Weight *stored = model.find(name);
    assert(stored && "openModel guarantees every weight of the architecture");
    SmallVector<Dim> dims;
    for (int64_t extent : stored->shape)
      dims.push_back(Dim::fixed(extent));
    auto type = GraphTensorType::get(builder.getContext(), dims, f32, stored->type);
    return WeightOp::create(builder, named(stored->fileName), type, builder.getStrArrayAttr({name}));
  }

  /// y = x W^T (+ b); the location is the weight's name in the file.
  Value linear(Value x, const std::string &name) {
    Value w = weight(name + ".weight");
    Value bias = model.find(name + ".bias") ? weight(name + ".bias") : Value();
    SmallVector<Dim> dims(cast<GraphTensorType>(x.getType()).getDims());
    dims.back() = cast<GraphTensorType>(w.getType()).getDim(0);
    return LinearOp::create(builder, w.getLoc(), tensor(dims), x, w, bias);
  }

  Value norm(Value x, const std::string &name) {
    Value w = weight(name);
    return RMSNormOp::create(builder, w.getLoc(), x.getType(), x, w, builder.getF64FloatAttr(config.normEps));
  }

  Value add(Value a, Value b, Location loc) {
    auto type = cast<GraphTensorType>(a.getType());
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    auto op = MapOp::create(builder, loc, type, ValueRange{a, b}, builder.getAffineMapArrayAttr({identity, identity}));
    Block &body = op.getBody().emplaceBlock();
    body.addArguments({f32, f32}, {loc, loc});
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    Value sum = arith::AddFOp::create(inside, loc, body.getArgument(0), body.getArgument(1));
    YieldOp::create(inside, loc, sum);
    return op;
  }

  Value heads(Value x, int64_t count) {
    AffineExpr t = builder.getAffineDimExpr(0), h = builder.getAffineDimExpr(1), d = builder.getAffineDimExpr(2);
    AffineMap split = AffineMap::get(3, 0, {t, h * config.headDim + d}, builder.getContext());
    return ViewOp::create(builder, x.getLoc(), tensor({tokenDim, Dim::fixed(count), Dim::fixed(config.headDim)}), x,
                          AffineMapAttr::get(split));
  }

  Value rope(Value x) {
    auto pairing = config.rope.pairing == RopePairing::HalfSplit ? Pairing::Half : Pairing::Interleaved;
    return RopeOp::create(builder, x.getLoc(), x.getType(), x, positions, frequencies,
                          PairingAttr::get(builder.getContext(), pairing));
  }

  Value append(Value rows, Value cache) {
    return KVAppendOp::create(builder, rows.getLoc(), rows, cache, sequences, positions);
  }

  Value attention(Value x, int64_t layer, const std::string &block) {
    Value q = rope(heads(linear(x, block + "attn_q"), config.heads));
    Value k = rope(heads(linear(x, block + "attn_k"), config.kvHeads));
    Value v = heads(linear(x, block + "attn_v"), config.kvHeads);
    Value keys = append(k, caches[2 * layer]), values = append(v, caches[2 * layer + 1]);
    bool windowed = config.slidingWindow && layer >= config.slidingWindowFirstLayer;
    IntegerAttr window = windowed ? builder.getI64IntegerAttr(*config.slidingWindow) : IntegerAttr();
    double scale = 1.0 / std::sqrt(static_cast<double>(config.headDim));
    Type type = tensor({tokenDim, Dim::fixed(config.heads * config.headDim)});
    Value o = AttentionOp::create(builder, named(block + "attention"), type, q, keys, values, positions, sequences,
                                  builder.getF64FloatAttr(scale), window);
    return linear(o, block + "attn_output");
  }

  Value feedForward(Value x, const std::string &block) {
    Value gate = linear(x, block + "ffn_gate"), up = linear(x, block + "ffn_up");
    Value hidden = SwigluOp::create(builder, named(block + "swiglu"), gate.getType(), gate, up);
    return linear(hidden, block + "ffn_down");
  }

  Value decoderLayer(Value x, int64_t layer) {
    std::string block = "blk." + std::to_string(layer) + ".";
    x = add(x, attention(norm(x, block + "attn_norm.weight"), layer, block), named(block + "attn_residual"));
    return add(x, feedForward(norm(x, block + "ffn_norm.weight"), block), named(block + "ffn_residual"));
  }

  Value returned(Value x) {
    Value rows =
        GatherOp::create(builder, named("output_rows"), tensor({rowDim, Dim::fixed(config.hidden)}), x, outputRows);
    Value y = norm(rows, "output_norm.weight");
    if (result == GraphResult::Hidden)
      return y;
    return linear(y, config.tied ? "token_embd" : "output");
  }

  const Model &model;
  const ModelConfig &config;
  const StorageType cacheType;
  const GraphResult result;
  OpBuilder builder;
  Type f32, i32;
  Dim tokenDim, rowDim, sequenceDim, contextDim;
  Value tokens, positions, sequences, outputRows, frequencies;
  ValueRange caches;
};

} // namespace

OwningOpRef<ModuleOp> buildGraph(MLIRContext &context, const Model &model, StorageType cacheType, GraphResult result) {
  return DecoderBuilder(context, model, cacheType, result).build();
}

} // namespace fusec::models
