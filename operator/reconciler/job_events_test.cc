#include "operator/reconciler/job_events.h"

#include <gtest/gtest.h>

namespace freezepipe::reconciler {
namespace {

using kube::EventText;
using v1alpha1::JobEvent;

TEST(JobEvents, TellWhichDeviceAWorkerTrainsOn) {
  JobEvent event;
  event.mutable_worker_started()->set_worker(3);
  event.mutable_worker_started()->set_device("cuda:0");
  EXPECT_EQ(ToEventText(event), (EventText{EventText::Type::kNormal, "WorkerStarted", "Start",
                                           "worker 3 trains on cuda:0"}));
}

TEST(JobEvents, AStateWithoutCopyIsAWarning) {
  JobEvent event;
  event.mutable_restored()->set_step(0);
  event.mutable_restored()->set_steps_lost(7);
  event.mutable_restored()->set_source("Initial");
  const auto text = ToEventText(event);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->type, EventText::Type::kWarning);
  EXPECT_EQ(text->reason, "StartedOver");
}

TEST(JobEvents, WhatHappensAllTheTimeIsNone) {
  JobEvent event;
  event.mutable_window_done();
  EXPECT_FALSE(ToEventText(event));
}

}  // namespace
}  // namespace freezepipe::reconciler
