//===- ServerPool.cpp ----------------------------------------------------------===//
#include "tools/load/ServerPool.h"

#include <charconv>
#include <string>

namespace fusec::load {

namespace {

Result<int64_t> labelOf(std::string_view labels, std::string_view name) {
  const std::string start = std::string(name) + "=\"";
  const size_t at = labels.find(start);
  int64_t value = 0;
  if (at != std::string_view::npos) {
    const char *begin = labels.data() + at + start.size();
    std::from_chars(begin, labels.data() + labels.size(), value);
  }
  if (value <= 0)
    return corruptData("cache_config_info: expected " + std::string(name) + " above 0 in '" + std::string(labels) +
                       "'");
  return value;
}

} // namespace

Result<ServerPool> readServerPool(std::string_view metrics) {
  const size_t at = metrics.find("cache_config_info{"); // Comments have a blank after the name.
  if (at == std::string_view::npos)
    return notFound("cache_config_info: the metrics do not have it");
  const std::string_view line = metrics.substr(at, metrics.find('\n', at) - at);
  ServerPool pool;
  FUSEC_ASSIGN_OR_RETURN(pool.pageTokens, labelOf(line, "block_size"));
  FUSEC_ASSIGN_OR_RETURN(pool.pages, labelOf(line, "num_gpu_blocks"));
  return pool;
}

} // namespace fusec::load
