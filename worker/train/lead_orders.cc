#include "worker/train/lead_orders.h"

#include <algorithm>

namespace freezepipe::worker {

void LeadOrders::ScheduleFreeze(const v1alpha1::FreezeLogEntry& entry) {
  const std::lock_guard lock(mutex_);
  entry_ = entry;
}

void LeadOrders::Switch(int generation) {
  const std::lock_guard lock(mutex_);
  generation_ = switching_to_ = generation;
}

void LeadOrders::Stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
}

void LeadOrders::Clear() {
  const std::lock_guard lock(mutex_);
  entry_.reset();
  generation_ = switching_to_ = 0;
  stop_ = false;
}

int LeadOrders::switching_to() const {
  const std::lock_guard lock(mutex_);
  return switching_to_;
}

bool LeadOrders::stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void LeadOrders::PutInto(StepHeader* header) {
  const std::lock_guard lock(mutex_);
  if (entry_) {
    const int64_t late = std::max<int64_t>(0, header->step - entry_->chosen_at());
    header->new_boundary = entry_->boundary();
    header->chosen_at = entry_->chosen_at() + late;
    header->frozen_at = entry_->frozen_at() + late;
    entry_.reset();
  }
  if (generation_ > header->generation) {
    header->generation = generation_;
  } else if (stop_) {
    header->stop = 1;
  }
  generation_ = 0;
}

}  // namespace freezepipe::worker
