#include "operator/coordinator/window_record.h"

namespace freezepipe::coordinator {

v1alpha1::WindowRecord ToRecord(const planner::WindowStatistics& window) {
  v1alpha1::WindowRecord record;
  record.set_step(window.step);
  record.set_loss(window.loss);
  record.set_learning_rate(window.learning_rate);
  record.mutable_values()->Assign(window.values.begin(), window.values.end());
  return record;
}

planner::WindowStatistics FromRecord(const v1alpha1::WindowRecord& record) {
  planner::WindowStatistics window;
  window.step = record.step();
  window.loss = record.loss();
  window.learning_rate = record.learning_rate();
  window.values.assign(record.values().begin(), record.values().end());
  return window;
}

}  // namespace freezepipe::coordinator
