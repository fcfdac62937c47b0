//===- KernelTable.cpp - what the kernels of a target use ------------------===//
#include "codegen/cuda/KernelTable.h"

#include "codegen/cuda/KernelCompiler.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Json.h"

#include <cstdio>

namespace fusec::codegen {

namespace {

/// Every member with its key: the one list that writing and reading share.
template <class Row, class F> void forEachMember(Row &row, F f) {
  f("entry", row.entry);
  f("family", row.family);
  f("rung", row.rung);
  f("threads", row.threads);
  f("registers", row.registers);
  f("spill_bytes", row.spillBytes);
  f("stack_bytes", row.stackBytes);
  f("static_shared", row.staticShared);
  f("dynamic_shared", row.dynamicShared);
  f("barriers", row.barriers);
  f("blocks_per_multiprocessor", row.blocks);
  f("occupancy", row.occupancy);
  f("occupancy_limit", row.limit);
  f("cubin_bytes", row.cubinBytes);
  f("tokens", row.tokens);
  f("predicted_bytes", row.predictedBytes);
  f("counted_bytes", row.countedBytes);
  f("requested_bytes", row.requestedBytes);
  f("conflict_factor", row.conflictFactor);
}

template <class T> Status store(Result<T> value, T &into) {
  if (value)
    into = std::move(*value);
  return value.status();
}

/// Reads the member of a type's own kind; null and absent are the same.
Status read(const nlohmann::json &object, const char *key, std::string &into) {
  return store(jsonString(object, key), into);
}
Status read(const nlohmann::json &object, const char *key, int64_t &into) { return store(jsonInt(object, key), into); }
Status read(const nlohmann::json &object, const char *key, double &into) { return store(jsonFloat(object, key), into); }
template <class T> Status read(const nlohmann::json &object, const char *key, std::optional<T> &into) {
  if (!jsonFind(object, key))
    return {};
  into.emplace();
  return read(object, key, *into);
}

template <class T> nlohmann::ordered_json jsonOf(const T &value) { return value; }
template <class T> nlohmann::ordered_json jsonOf(const std::optional<T> &value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

Result<KernelTableRow> readRow(const nlohmann::json &object) {
  KernelTableRow row;
  Status status;
  forEachMember(row, [&](const char *key, auto &member) {
    if (status.ok())
      status = read(object, key, member);
  });
  if (!status.ok())
    return status.withContext("kernel '" + row.entry + "'");
  return row;
}

/// "-" for what is not known.
template <class T> std::string cell(const char *format, const std::optional<T> &value) {
  char text[32];
  if (!value)
    return "-";
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

/// Counted over predicted bytes.
std::optional<double> ratioOf(const KernelTableRow &row) {
  if (!row.countedBytes || row.predictedBytes.value_or(0) <= 0)
    return std::nullopt;
  return static_cast<double>(*row.countedBytes) / static_cast<double>(*row.predictedBytes);
}

} // namespace

Status writeKernelTable(const std::filesystem::path &folder, const KernelTable &table) {
  return writeFileAtomically(folder / kernelTableName, kernelTableJson(table));
}

KernelTableRow kernelTableRow(const CudaKernel &kernel) {
  const KernelResources &used = kernel.resources;
  KernelTableRow row;
  row.entry = kernel.source.entry;
  row.family = kernel.source.family;
  row.rung = static_cast<int64_t>(kernel.rung);
  row.threads = kernel.source.threads;
  row.registers = used.registers;
  row.spillBytes = used.spillStores + used.spillLoads;
  row.stackBytes = used.stackBytes;
  row.staticShared = used.sharedBytes;
  row.dynamicShared = kernel.source.sharedBytes;
  row.barriers = used.barriers;
  row.blocks = kernel.occupancy.blocks;
  row.occupancy = kernel.occupancy.fraction;
  row.limit = kernel.occupancy.limit;
  row.cubinBytes = static_cast<int64_t>(kernel.code.cubin.size());
  return row;
}

std::string kernelTableJson(const KernelTable &table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const KernelTableRow &row : table.rows) {
    nlohmann::ordered_json object;
    forEachMember(row, [&](const char *key, const auto &member) { object[key] = jsonOf(member); });
    rows.push_back(std::move(object));
  }
  const nlohmann::ordered_json all = {
      {"target", table.target}, {"compiler", table.compiler}, {"kernels", std::move(rows)}};
  return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<KernelTable> readKernelTable(const std::filesystem::path &file) {
  auto parse = [&]() -> Result<KernelTable> {
    FUSEC_ASSIGN_OR_RETURN(nlohmann::json all, readJsonFile(file));
    KernelTable table;
    FUSEC_ASSIGN_OR_RETURN(table.target, jsonString(all, "target"));
    FUSEC_ASSIGN_OR_RETURN(table.compiler, jsonString(all, "compiler"));
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *rows, jsonArray(all, "kernels"));
    for (const nlohmann::json &object : *rows) {
      FUSEC_ASSIGN_OR_RETURN(KernelTableRow row, readRow(object));
      table.rows.push_back(std::move(row));
    }
    return table;
  };
  Result<KernelTable> table = parse();
  return table ? std::move(table) : table.status().withContext("'" + file.string() + "'");
}

std::string kernelTableText(const KernelTable &table) {
  std::string text = table.target + ", compiled by " + table.compiler + "\n\n";
  auto line = [&text](const char *entry, const char *family, const auto &...cells) {
    char part[64];
    std::snprintf(part, sizeof part, "%-18s %-12s", entry, family);
    text += part;
    ((std::snprintf(part, sizeof part, " %*s", cells.second, std::string(cells.first).c_str()), text += part), ...);
    text += '\n';
  };
  using Cell = std::pair<std::string, int>;
  line("kernel", "family", Cell("regs", 5), Cell("spills", 6), Cell("stack", 6), Cell("shared", 7), Cell("threads", 8),
       Cell("blocks/SM", 9), Cell("occupancy", 9), Cell("limited by", 14), Cell("tokens", 6), Cell("predicted B", 12),
       Cell("counted B", 12), Cell("ratio", 6), Cell("requested B", 12), Cell("conflicts", 9));
  for (const KernelTableRow &row : table.rows)
    line(row.entry.c_str(), row.family.c_str(), Cell(std::to_string(row.registers), 5),
         Cell(std::to_string(row.spillBytes), 6), Cell(std::to_string(row.stackBytes), 6),
         Cell(std::to_string(row.staticShared + row.dynamicShared), 7), Cell(std::to_string(row.threads), 8),
         Cell(std::to_string(row.blocks), 9), Cell(cell("%.0f %%", std::optional(100 * row.occupancy)), 9),
         Cell(row.limit, 14), Cell(cell("%ld", row.tokens), 6), Cell(cell("%ld", row.predictedBytes), 12),
         Cell(cell("%ld", row.countedBytes), 12), Cell(cell("%.3f", ratioOf(row)), 6),
         Cell(cell("%ld", row.requestedBytes), 12), Cell(cell("%.2f", row.conflictFactor), 9));
  return text;
}

} // namespace fusec::codegen
