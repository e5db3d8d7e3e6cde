#include "operator/coordinator/describing.h"

#include <limits>
#include <string>

#include "operator/coordinator/finishing.h"

namespace freezepipe::coordinator {
namespace {

std::string FaultsOf(const v1alpha1::JobDescription& description) {
  std::string faults;
  for (const auto& fault : description.faults()) {
    if (!faults.empty()) faults += "; ";
    faults += fault.path() + ": " + fault.message();
  }
  return faults;
}

}  // namespace

void AskForDescription(SessionState& state) {
  if (state.described() || state.describing_worker) return;
  for (const auto& [worker, known] : state.workers) {
    if (!known.attached || known.released_at) continue;
    state.describing_worker = worker;
    state.describing_since = state.now;
    auto order = state.NewOrder();
    order.mutable_describe();
    state.Send(worker, std::move(order));
    return;
  }
}

void OnDescribed(SessionState& state, int worker, const v1alpha1::JobDescription& description) {
  // Also said unasked, by a worker that can't begin.
  if (!description.faults().empty()) {
    Conclude(state, v1alpha1::JobState::Failed, "InvalidSpec: " + FaultsOf(description));
    return;
  }
  if (state.describing_worker != worker) return;
  state.describing_worker.reset();
  state.Describe(description);
  for (const auto& [other, known] : state.workers) {
    if (known.attached) SendDescriptionToRemember(state, other);
  }
}

void OnDescriberAway(SessionState& state, int worker) {
  if (state.describing_worker != worker) return;
  state.describing_worker.reset();
  AskForDescription(state);
}

void SendDescriptionToRemember(SessionState& state, int worker) {
  if (!state.description) return;
  auto order = state.NewOrder();
  *order.mutable_remember()->mutable_memory()->mutable_description() = *state.description;
  // No window is replaced.
  order.mutable_remember()->set_after_step(std::numeric_limits<int>::max());
  state.Send(worker, std::move(order));
}

}  // namespace freezepipe::coordinator
