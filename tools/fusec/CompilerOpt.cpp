//===- CompilerOpt.cpp - fusec's mlir-opt ----------------------------------------===//
#include "ir/InitAllDialects.h"
#include "passes/Pipelines.h"
#include "passes/extend/PluginLoader.h"
#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Compiler.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace fusec {

namespace {

/// Takes every `OPTION FILE` and `OPTION=FILE` out of the arguments and returns the files.
std::vector<std::string> takeOption(std::vector<std::string> &arguments, const std::string &option) {
  std::vector<std::string> files, others;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size())
      files.push_back(arguments[++i]);
    else if (arguments[i].starts_with(option + "="))
      files.push_back(arguments[i].substr(option.size() + 1));
    else
      others.push_back(arguments[i]);
  }
  arguments = others;
  return files;
}

/// `--load-pass-plugin`: MLIR has an option of that name for plugins of its own, so ours is taken
/// out. The plugins' passes become flags.
Status loadPlugins(std::vector<std::string> &arguments) {
  for (const std::string &path : takeOption(arguments, "--load-pass-plugin"))
    FUSEC_RETURN_IF_ERROR(loadPlugin(path).status());
  return {};
}

/// `--fusion-rules`: the passes of all rule files, where the first file is named.
void expandFusionRules(std::vector<std::string> &arguments) {
  const std::string option = "--fusion-rules";
  auto first = std::find_if(arguments.begin(), arguments.end(),
                            [&](const std::string &word) { return word == option || word.starts_with(option + "="); });
  const auto place = first - arguments.begin();
  std::string files;
  for (const std::string &path : takeOption(arguments, option))
    files += (files.empty() ? "" : ",") + path;
  if (!files.empty())
    arguments.insert(arguments.begin() + place,
                     {"--fuse-apply-rules=files=" + files, "--fuse-place-hints=files=" + files});
}

/// `--fusion-plan`: what the pipelines' phases ask; null without one.
Result<std::shared_ptr<FusionControl>> readFusionPlan(std::vector<std::string> &arguments) {
  std::vector<std::string> files = takeOption(arguments, "--fusion-plan");
  if (files.empty())
    return std::shared_ptr<FusionControl>();
  FusionOptions fusion;
  fusion.planName = files.back();
  FUSEC_ASSIGN_OR_RETURN(fusion.plan, readWholeFile(files.back()));
  FUSEC_RETURN_IF_ERROR(FusionPlan::parse(fusion.plan).status().withContext(fusion.planName));
  return std::make_shared<FusionControl>(std::move(fusion));
}

int reportOptError(const Status &status) {
  llvm::errs() << "fusec: " << status.message() << "\n";
  return 1;
}

} // namespace

int optMain(const std::string &program, const std::vector<std::string> &words) {
  std::vector<std::string> arguments = words;
  if (Status loaded = loadPlugins(arguments); !loaded.ok())
    return reportOptError(loaded);
  expandFusionRules(arguments);
  Result<std::shared_ptr<FusionControl>> control = readFusionPlan(arguments);
  if (!control)
    return reportOptError(control.status());
  PipelineOptions pipeline;
  pipeline.fusion = *control;
  registerPassesAndPipelines(pipeline);
  mlir::registerTransformsPasses();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  std::vector<char *> argv = {const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  int code = mlir::asMainReturnCode(mlir::MlirOptMain(static_cast<int>(argv.size()), argv.data(),
                                                      "fusec's IR: parse, run passes, print\n", registry));
  if (Status fitted = *control ? (*control)->finish() : Status(); code == 0 && !fitted.ok())
    return reportOptError(fitted);
  return code;
}

} // namespace fusec
