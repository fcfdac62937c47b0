//===- TargetChoice.cpp - what kernels are compiled for --------------------===//
#include "tools/fusec/TargetChoice.h"

namespace fusec {

Result<TargetChoice> parseTargetChoice(const std::string &text) {
  constexpr std::string_view portable = "sm_80";
  const size_t colon = text.find(':');
  const std::optional<TargetKind> kind = targetKindByName(std::string_view(text).substr(0, colon));
  const bool hasList = colon != std::string::npos;
  if (!kind || (hasList && *kind == TargetKind::Host))
    return invalidArgument("unknown target '" + text + "', expected host, cuda or cuda:sm_80,sm_90a");
  TargetChoice choice{*kind, {}};
  if (*kind == TargetKind::Cuda) {
    const std::string_view list = hasList ? std::string_view(text).substr(colon + 1) : portable;
    FUSEC_ASSIGN_OR_RETURN(choice.cuda, codegen::parseCudaTargets(list));
  }
  return choice;
}

} // namespace fusec
