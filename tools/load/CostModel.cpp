//===- CostModel.cpp ---------------------------------------------------------===//

#include "tools/load/CostModel.h"

#include "runtime/base/Json.h"

#include <array>
#include <cmath>

namespace fusec::load {

double CostModel::seconds(const runtime::Step &step) const {
  double context = 0;
  for (const runtime::Step::Item &item : step.items)
    context += static_cast<double>(item.end());
  return seconds(static_cast<double>(step.tokens), context);
}

CostModel CostModel::example() {
  constexpr double parameters = 8e9, bytesPerSecond = 3.3e12, flopsPerSecond = 400e12, kvBytes = 128 * 1024;
  return {2 * parameters / bytesPerSecond, 2 * parameters / flopsPerSecond, kvBytes / bytesPerSecond};
}

Result<CostModel> CostModel::read(const std::filesystem::path &path) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json file, readJsonFile(path));
  CostModel model;
  struct Field {
    const char *name;
    double *value;
  };
  for (Field field : {Field{"fixed_seconds", &model.fixed}, Field{"seconds_per_token", &model.perToken},
                      Field{"seconds_per_context_token", &model.perContextToken}}) {
    Result<double> value = jsonFloat(file, field.name);
    if (!value)
      return value.status().withContext(path.string());
    if (!(*value >= 0 && *value < 1e6))
      return invalidArgument(path.string() + ": " + field.name + ": expected 0 or more seconds, found " +
                             std::to_string(*value));
    *field.value = *value;
  }
  return model;
}

namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

/// Gauss-Jordan over the unknowns in use; an unknown whose pivot vanishes is 0.
Vector solve(Matrix a, Vector b, const std::array<bool, 3> &use) {
  for (int i = 0; i < 3; ++i) {
    if (!use[i] || std::abs(a[i][i]) < 1e-12)
      continue;
    for (int row = 0; row < 3; ++row) {
      double factor = row == i || !use[row] ? 0 : a[row][i] / a[i][i];
      for (int column = 0; column < 3; ++column)
        a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  }
  Vector x{};
  for (int i = 0; i < 3; ++i)
    x[i] = use[i] && std::abs(a[i][i]) >= 1e-12 ? b[i] / a[i][i] : 0;
  return x;
}

} // namespace

Result<CostModel> CostModel::fit(std::span<const StepSample> samples) {
  if (samples.size() < 3)
    return invalidArgument("cost model: expected at least 3 measured steps, found " + std::to_string(samples.size()));
  Vector scale{1, 1, 1}; // Columns of like size keep the equations well conditioned.
  for (const StepSample &sample : samples) {
    scale[1] = std::max(scale[1], sample.tokens);
    scale[2] = std::max(scale[2], sample.context);
  }
  Matrix a{};
  Vector b{};
  for (const StepSample &sample : samples) {
    if (!(sample.seconds > 0))
      return invalidArgument("cost model: expected steps that take time, found " + std::to_string(sample.seconds));
    Vector row{1, sample.tokens / scale[1], sample.context / scale[2]};
    double weight = 1 / (sample.seconds * sample.seconds);
    for (int i = 0; i < 3; ++i) {
      b[i] += weight * row[i] * sample.seconds;
      for (int j = 0; j < 3; ++j)
        a[i][j] += weight * row[i] * row[j];
    }
  }
  std::array<bool, 3> use{true, true, true};
  Vector x = solve(a, b, use);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i)
      use[i] &= x[i] > 0;
    x = solve(a, b, use);
  }
  for (double &value : x)
    value = std::max(value, 0.0);
  return CostModel{x[0], x[1] / scale[1], x[2] / scale[2]};
}

std::string CostModel::json() const {
  return nlohmann::json{
      {"fixed_seconds", fixed}, {"seconds_per_token", perToken}, {"seconds_per_context_token", perContextToken}}
      .dump();
}

} // namespace fusec::load
