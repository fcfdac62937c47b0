//===- ArtifactWriter.cpp ----------------------------------------------------------------===//
#include "codegen/artifact/ArtifactWriter.h"

#include "codegen/artifact/ManifestWriter.h"
#include "codegen/artifact/WeightWriter.h"
#include "ir/plan/PlanDialect.h"
#include "models/import/ChatTemplateImport.h"
#include "models/import/TokenizerImport.h"

#include <fstream>
#include <future>

namespace fusec::codegen {

namespace {

using Ranges = llvm::DenseMap<mlir::Operation *, WeightRange>;

Status writeFile(const std::filesystem::path &path, const std::string &text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  return stream ? Status() : resourceExhausted("cannot write '" + path.string() + "'");
}

Result<Ranges> writeWeights(const std::filesystem::path &file, plan::ProgramOp program, const models::Model &model,
                            const std::function<void(double)> &progress) {
  FUSEC_ASSIGN_OR_RETURN(WeightWriter writer, WeightWriter::create(file));
  std::vector<plan::BufferOp> stored;
  for (auto buffer : program.getOps<plan::BufferOp>())
    if (buffer.getKind() == plan::BufferKind::Weight || buffer.getKind() == plan::BufferKind::Constant)
      stored.push_back(buffer);
  // The next one is packed while one is written.
  auto pack = [&](size_t i) {
    return std::async(std::launch::async, [&stored, &model, i] { return storedBytesOf(stored[i], model); });
  };
  Ranges ranges;
  std::future<Result<std::vector<std::byte>>> next;
  for (size_t i = 0; i < stored.size(); ++i) {
    Result<std::vector<std::byte>> bytes = i == 0 ? storedBytesOf(stored[i], model) : next.get();
    if (i + 1 < stored.size())
      next = pack(i + 1);
    if (!bytes)
      return bytes.status();
    FUSEC_ASSIGN_OR_RETURN(WeightRange range, writer.append(*bytes));
    ranges[stored[i]] = range;
    if (progress)
      progress(static_cast<double>(i + 1) / static_cast<double>(stored.size()));
  }
  FUSEC_RETURN_IF_ERROR(writer.finish());
  return ranges;
}

} // namespace

Status writeModelText(const std::filesystem::path &directory, const models::Model &model) {
  auto tokenizer = model.gguf() ? models::importTokenizer(*model.gguf()) : models::importTokenizer(model.path());
  if (!tokenizer)
    return tokenizer.status().withContext("tokenizer of '" + model.path().string() + "'");
  FUSEC_RETURN_IF_ERROR(writeFile(directory / "tokenizer.json", tokenizer->dump()));
  FUSEC_ASSIGN_OR_RETURN(std::optional<std::string> chat, models::importChatTemplate(model));
  return chat ? writeFile(directory / "chat_template.jinja", *chat) : Status();
}

namespace {

int64_t storedBytes(const models::Model &model) {
  int64_t total = 0;
  for (const models::Weight &weight : model.weights())
    total += static_cast<int64_t>(weight.data.size());
  return total;
}

} // namespace

Status writeArtifact(const std::filesystem::path &directory, const models::Model &model,
                     llvm::ArrayRef<TargetPlan> targets, const ArtifactOptions &options) {
  auto program = *mlir::ModuleOp(targets.front().module).getOps<plan::ProgramOp>().begin();
  FUSEC_ASSIGN_OR_RETURN(Ranges ranges, writeWeights(directory / "weights.bin", program, model, options.progress));
  auto manifest = manifestOf(model.config(), storedBytes(model), targets, ranges, options);
  return writeFile(directory / "manifest.json", manifest.dump(1));
}

} // namespace fusec::codegen
