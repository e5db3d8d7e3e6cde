#include "operator/planner/plan_table.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "operator/planner/planner.h"

namespace freezepipe::planner {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::string text(std::snprintf(nullptr, 0, format, values...), '\0');
  std::snprintf(text.data(), text.size() + 1, format, values...);
  return text;
}

std::string LayerRange(int first, int end) {
  return end - first == 1 ? std::to_string(first) : Format("%d-%d", first, end - 1);
}

std::string NameRange(const CostModel& model, int first, int end) {
  const std::string& name = model.layers[first].name();
  return end - first == 1 ? name : name + " .. " + model.layers[end - 1].name();
}

/// Columns as wide as their widest cell; numbers to the right.
class Table {
 public:
  struct Column {
    std::string title;
    bool number;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (const auto& column : columns_) widths_.push_back(column.title.size());
  }

  void AddRow(std::vector<std::string> cells) {
    for (size_t c = 0; c < cells.size(); ++c) widths_[c] = std::max(widths_[c], cells[c].size());
    rows_.push_back(std::move(cells));
  }

  std::string Print() const {
    std::vector<std::string> titles;
    for (const auto& column : columns_) titles.push_back(column.title);
    std::string text = Line(titles);
    for (const auto& row : rows_) text += Line(row);
    return text;
  }

 private:
  std::string Line(const std::vector<std::string>& cells) const {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths_[c] - cells[c].size(), ' ');
      line += "  " + (columns_[c].number ? padding + cells[c] : cells[c] + padding);
    }
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  const std::vector<Column> columns_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

/// One boundary's paragraph: the step in a line, then a row for each stage.
std::string Describe(const CostModel& costs, const Shape& shape) {
  const CostModel model = WithReplicas(costs, shape.replicas);
  const double step = StepSeconds(model, shape.partition);
  const int micro_batches = model.micro_batches_each();
  const int stages = shape.stages();
  Table table({{"stage", true},
               {"layers", true},
               {"names", false},
               {"ms/micro-batch", true},
               {"frozen", true},
               {"share of step", true}});
  double busy = 0;
  int first = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const int end = shape.partition[stage];
    const double seconds = StageSeconds(model, first, end);
    busy += micro_batches * seconds;
    table.AddRow({std::to_string(stage), LayerRange(first, end), NameRange(model, first, end),
                  Format("%.3f", 1e3 * seconds),
                  std::to_string(std::clamp(model.boundary - first, 0, end - first)),
                  Format("%.0f %%", 100 * micro_batches * seconds / step)});
    first = end;
  }
  const std::string replicas = shape.replicas == 1 ? "" : Format(" x %d replicas", shape.replicas);
  return Format("%d of %zu layers frozen: %d stage%s%s, predicted step %.1f ms, bubble %.0f %%\n",
                model.boundary, model.layers.size(), stages, stages == 1 ? "" : "s",
                replicas.c_str(), 1e3 * step, 100 * (1 - busy / (stages * step))) +
         table.Print();
}

}  // namespace

std::string PlanTable(const v1alpha1::FreezePipeJobSpec& spec,
                      const v1alpha1::ModelProfile& profile, const std::vector<int>& boundaries) {
  const int layers = profile.layers_size();
  const CostModel unfrozen = MakeCostModel(spec, profile, 0);
  auto shape = FullShape(unfrozen, spec.pipeline(), /*replicate=*/false, spec.worker().count());
  if (!shape) {
    throw std::invalid_argument(Format("a model of %d layers can't be cut into %d stages", layers,
                                       spec.pipeline().stages()));
  }
  const Baseline baseline = MakeBaseline(WithReplicas(unfrozen, shape->replicas), shape->partition);

  std::string text;
  for (const int boundary : boundaries) {
    if (boundary < 0 || boundary >= layers) {
      throw std::invalid_argument(
          Format("boundary %d: a model of %d layers can have 0 to %d frozen", boundary, layers,
                 layers - 1));
    }
    const CostModel model = WithReplicas(MakeCostModel(spec, profile, boundary), shape->replicas);
    auto next = ChooseShape(model, spec.release(), baseline, shape->devices());
    if (boundary > 0 && next && WorthRepartition(model, *shape, *next, spec.release().min_gain())) {
      shape = std::move(next);
    }
    if (!text.empty()) text += "\n";
    text += Describe(model, *shape);
  }
  return text;
}

}  // namespace freezepipe::planner
