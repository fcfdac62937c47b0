//===- ProgressBar.cpp - one line of progress on a terminal ----------------===//
#include "tools/fusec/ProgressBar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fusec {

ProgressBar::ProgressBar(const Environment &environment)
    : enabled(environment.stderrIsTerminal), columns(environment.terminalColumns) {}

std::string ProgressBar::render(std::string_view stage, double fraction, int columns) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  constexpr int stageWidth = 24;
  const int barWidth = std::clamp(columns - stageWidth - 8, 0, 40);
  std::string line(stage.substr(0, stageWidth));
  line.resize(stageWidth, ' ');
  if (barWidth >= 4) {
    const int filled = static_cast<int>(fraction * barWidth);
    line += '[' + std::string(filled, '=') + std::string(barWidth - filled, ' ') + ']';
  }
  char percent[8];
  std::snprintf(percent, sizeof percent, " %3d%%", static_cast<int>(fraction * 100));
  line += percent;
  return line.substr(0, static_cast<size_t>(std::max(columns - 1, 1)));
}

void ProgressBar::update(std::string_view stage, double fraction) {
  if (!enabled)
    return;
  const auto now = std::chrono::steady_clock::now();
  const bool due = !drawn || stage != lastStage || now - lastDraw > std::chrono::milliseconds(100);
  if (!due)
    return;
  std::fprintf(stderr, "\r\x1b[K%s", render(stage, fraction, columns).c_str());
  std::fflush(stderr);
  drawn = true;
  lastStage = stage;
  lastDraw = now;
}

void ProgressBar::finish() {
  if (drawn)
    std::fputs("\r\x1b[K", stderr);
  drawn = false;
}

} // namespace fusec
