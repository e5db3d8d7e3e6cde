#include "worker/train/checkpoint_keeper.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "files/checkpoint_layout.h"
#include "worker/checkpoint/checkpoint_files.h"
#include "worker/checkpoint/checkpoint_folders.h"

namespace freezepipe::worker {
namespace {

constexpr char kWeightsFile[] = "model.safetensors";

v1alpha1::WorkerMessage CarryOut(const std::filesystem::path& checkpoints,
                                 const v1alpha1::CompleteCheckpoint& order) {
  const int step = order.index().step();
  v1alpha1::WorkerMessage answer;
  try {
    CompleteCheckpoint(checkpoints, order.index(), order.keep());
    if (order.export_weights()) {
      ExportWeights(files::CheckpointFolder(checkpoints, step), checkpoints / kWeightsFile);
    }
    answer.mutable_checkpoint_completed()->set_step(step);
  } catch (const std::exception& error) {
    answer.mutable_failure()->set_reason("CheckpointError");
    answer.mutable_failure()->set_message("step " + std::to_string(step) + ": " + error.what());
  }
  return answer;
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(Say say)
    : say_(std::move(say)), thread_([this](std::stop_token stop) { Run(stop); }) {}

CheckpointKeeper::~CheckpointKeeper() { Wait(); }

void CheckpointKeeper::Complete(std::string checkpoints, v1alpha1::CompleteCheckpoint order) {
  Add([this, checkpoints = std::move(checkpoints), order = std::move(order)] {
    say_(CarryOut(checkpoints, order));
  });
}

void CheckpointKeeper::Find(std::string checkpoints) {
  Add([this, checkpoints = std::move(checkpoints)] {
    v1alpha1::WorkerMessage answer;
    *answer.mutable_checkpoint_found() = FindCheckpoint(checkpoints);
    say_(std::move(answer));
  });
}

void CheckpointKeeper::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty(); });
}

void CheckpointKeeper::Add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void CheckpointKeeper::Run(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !tasks_.empty(); })) {
    const auto& task = tasks_.front();
    lock.unlock();
    task();
    lock.lock();
    tasks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace freezepipe::worker
