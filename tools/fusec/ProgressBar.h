//===- ProgressBar.h - one line of progress on a terminal ------------------===//
//
//   ProgressBar bar(environment);
//   bar.update("packing weights", 0.4);
//   bar.finish();                        // or the destructor: erases the line
//
// Draws nothing when standard error is not a terminal. Redraws at most about
// ten times a second. Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/fusec/Environment.h"

#include <chrono>
#include <string>
#include <string_view>

namespace fusec {

class ProgressBar {
public:
  explicit ProgressBar(const Environment &environment);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar &) = delete;
  ProgressBar &operator=(const ProgressBar &) = delete;

  /// `fraction` in [0, 1]; values outside are clamped.
  void update(std::string_view stage, double fraction);
  void finish();

  /// The line for `columns` terminal columns, without control characters.
  static std::string render(std::string_view stage, double fraction, int columns);

private:
  bool enabled;
  int columns;
  bool drawn = false;
  std::string lastStage;
  std::chrono::steady_clock::time_point lastDraw;
};

} // namespace fusec
