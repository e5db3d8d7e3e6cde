#include "operator/coordinator/memory.h"

#include <utility>

#include "operator/coordinator/window_record.h"

namespace freezepipe::coordinator {
namespace {

int LastStep(const v1alpha1::Memory& memory) {
  return memory.windows().empty() ? 0 : memory.windows().rbegin()->step();
}

int LastStep(const SessionState& state) {
  return state.windows.empty() ? 0 : state.windows.back().step;
}

}  // namespace

void RememberWindow(SessionState& state) {
  auto order = state.NewOrder();
  auto& remember = *order.mutable_remember();
  remember.set_after_step(state.windows.back().step - 1);
  *remember.mutable_memory()->add_windows() = ToRecord(state.windows.back());
  for (const int worker : state.Needed()) state.Send(worker, order);
}

void RememberAll(SessionState& state, int worker) {
  auto order = state.NewOrder();
  auto& memory = *order.mutable_remember()->mutable_memory();
  if (state.description) *memory.mutable_description() = *state.description;
  *memory.mutable_profile() = *state.profile;
  memory.set_baseline_work_seconds(state.baseline.work_seconds);
  memory.set_baseline_step_seconds(state.baseline.step_seconds);
  for (const auto& window : state.windows) *memory.add_windows() = ToRecord(window);
  state.Send(worker, std::move(order));
}

void RememberIfBehind(SessionState& state, int worker) {
  if (!state.profile || !state.Needed().contains(worker)) return;
  const auto& memory = state.workers.at(worker).hello.memory();
  const bool has_all = memory.has_profile() && LastStep(memory) == LastStep(state) &&
                       memory.windows_size() == static_cast<int>(state.windows.size());
  if (!has_all) RememberAll(state, worker);
}

void TakeDescription(SessionState& state) {
  for (const auto& [worker, known] : state.workers) {
    if (state.described()) return;
    if (known.hello.memory().has_description()) state.Describe(known.hello.memory().description());
  }
}

void TakeMemory(SessionState& state) {
  const v1alpha1::Memory* newest = nullptr;
  for (const auto& [worker, known] : state.workers) {
    const auto& memory = known.hello.memory();
    if (!memory.has_profile() || memory.profile().layers_size() != state.layers()) continue;
    if (!newest || LastStep(memory) > LastStep(*newest)) newest = &memory;
  }
  if (!newest) return;
  state.profile = newest->profile();
  state.baseline = {newest->baseline_work_seconds(), newest->baseline_step_seconds()};
  state.windows.clear();
  for (const auto& record : newest->windows()) state.windows.push_back(FromRecord(record));
  state.collector.SkipTo(LastStep(*newest));
}

}  // namespace freezepipe::coordinator
