//===- ExtensionOptions.cpp -----------------------------------------------------------------===//
#include "tools/fusec/ExtensionOptions.h"

#include "tools/fusec/ModelDigest.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace fusec {

void ExtensionOptions::declare(CLI::App &app) {
  const char *group = "Custom fusion";
  // One file per option: MODEL may follow.
  app.add_option("--fusion-rules", files.rules, "apply the rules of this .pdl file; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--load-pass-plugin", files.plugins, "add the passes of this compiled plugin; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  files.warning = [](const std::string &text) { std::fprintf(stderr, "fusec: warning: %s\n", text.c_str()); };
}

Result<std::vector<std::string>> ExtensionOptions::keyParts() const {
  std::vector<std::string> parts;
  auto add = [&](const char *kind, const std::vector<std::filesystem::path> &paths) -> Status {
    for (const std::filesystem::path &path : paths) {
      FUSEC_ASSIGN_OR_RETURN(std::string digest, digestFiles({path}));
      parts.push_back(std::string(kind) + '=' + digest);
    }
    return {};
  };
  FUSEC_RETURN_IF_ERROR(add("fusion-rules", files.rules));
  FUSEC_RETURN_IF_ERROR(add("pass-plugin", files.plugins));
  return parts;
}

Status ExtensionOptions::checkNoneFor(const std::filesystem::path &artifact) const {
  if (files.empty())
    return {};
  return invalidArgument("'" + artifact.string() + "' is an artifact, which is compiled already; " +
                         (files.rules.empty() ? "--load-pass-plugin" : "--fusion-rules") + " needs its model");
}

} // namespace fusec
