#include "operator/coordinator/checkpointing.h"

#include <utility>

#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/recovery.h"
#include "operator/coordinator/session_limits.h"
#include "operator/coordinator/window_record.h"

namespace freezepipe::coordinator {
namespace {

v1alpha1::CompleteCheckpoint MakeOrder(const SessionState& state, const WrittenCheckpoint& done) {
  v1alpha1::CompleteCheckpoint order;
  auto& index = *order.mutable_index();
  index.set_step(done.step);
  const auto& names = state.setup.layer_names;
  index.mutable_layers()->Assign(names.begin(), names.end());
  index.mutable_freeze_log()->Assign(done.freeze_log.begin(), done.freeze_log.end());
  for (const auto& window : state.windows) {
    if (window.step <= done.step) *index.add_windows() = ToRecord(window);
  }
  order.set_keep(state.setup.spec.checkpoint().keep());
  order.set_export_weights(state.setup.export_weights &&
                           done.step >= state.setup.shape.total_steps);
  return order;
}

void SendCompletion(SessionState& state, const Completion& completion) {
  auto order = state.NewOrder();
  *order.mutable_complete_checkpoint() = completion.order;
  state.Send(completion.worker, std::move(order));
}

std::optional<int> AttachedMember(const SessionState& state) {
  for (const int worker : state.Members()) {
    if (state.workers.at(worker).attached) return worker;
  }
  return std::nullopt;
}

/// The lead, or while it is gone another that is there. One after the other is completed by the
/// same: an older one, completed late, would take the newer away.
std::optional<int> ChooseWorker(const SessionState& state) {
  if (!state.completions.empty()) return state.completions.begin()->second.worker;
  if (state.current && state.workers.at(LeadOf(*state.current)).alive) {
    return LeadOf(*state.current);
  }
  return AttachedMember(state);
}

}  // namespace

void OnCheckpointWritten(SessionState& state, const v1alpha1::CheckpointWritten& written) {
  for (const auto& entry : written.freeze_log()) ConfirmFreeze(state, entry);
  const auto done = state.checkpoints.Add(written);
  if (!done) return;
  const auto worker = ChooseWorker(state);
  if (!worker) {
    state.checkpoints.GiveUp(done->step);
    return;
  }
  Completion completion{.order = MakeOrder(state, *done),
                        .worker = *worker,
                        .bytes = done->bytes,
                        .since = state.now};
  SendCompletion(state, completion);
  state.completions[done->step] = std::move(completion);
}

void RepeatCompletions(SessionState& state, int worker) {
  for (const auto& [step, completion] : state.completions) {
    if (completion.worker == worker) SendCompletion(state, completion);
  }
}

void OnCheckpointCompleted(SessionState& state, const v1alpha1::CheckpointCompleted& said) {
  const auto found = state.completions.find(said.step());
  if (found == state.completions.end()) return;
  auto event = state.NewEvent();
  event.mutable_checkpoint_done()->set_step(said.step());
  event.mutable_checkpoint_done()->set_bytes(found->second.bytes);
  state.completions.erase(found);
  state.checkpoints.AddComplete(said.step());
  state.status.set_checkpoint_step(*state.checkpoints.newest());
  state.Say(std::move(event));
  ContinueRecovery(state);
  ContinueFinishing(state);
}

void EnforceCompletions(SessionState& state) {
  for (const auto& [step, completion] : state.completions) {
    if (state.now - completion.since >= kCompletionLimit) state.Kill(completion.worker);
  }
}

void HandCompletionsOn(SessionState& state, int lost) {
  const std::optional<int> other = AttachedMember(state);
  const bool was_member = state.Members().contains(lost);
  for (auto next = state.completions.begin(); next != state.completions.end();) {
    const auto item = next++;
    auto& [step, completion] = *item;
    if (completion.worker != lost) continue;
    // The restart for a member that was too slow writes it anew; for others there is none.
    const bool again = state.now - completion.since >= kCompletionLimit && was_member;
    if (again || !other) {
      state.checkpoints.GiveUp(step);
      state.completions.erase(item);
    } else {
      completion.worker = *other;
      if (!was_member) completion.since = state.now;
      SendCompletion(state, completion);
    }
  }
}

}  // namespace freezepipe::coordinator
