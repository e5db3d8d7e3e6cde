#include <gtest/gtest.h>

#include "operator/coordinator/simulated_job.h"

namespace freezepipe::coordinator {
namespace {

constexpr unsigned kSeeds = 300;

std::vector<v1alpha1::FreezeLogEntry> LogOf(const SimulatedJob& job) {
  return {job.status().freeze_log().begin(), job.status().freeze_log().end()};
}

SimulatedJob::Options OptionsOf(unsigned seed) {
  SimulatedJob::Options options;
  options.seed = seed;
  options.replicas = seed % 3 == 0 ? 2 : 1;
  options.workers = options.replicas * 3;
  options.checkpoint_interval = seed % 2 ? 15 : 0;
  return options;
}

void ExpectKept(const SimulatedJob& job) {
  for (const auto& breach : job.breaches()) ADD_FAILURE() << breach;
  ASSERT_TRUE(job.over());
}

TEST(JobSessionRandom, UndisturbedRunsSucceedFreezeAndRelease) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    auto options = OptionsOf(seed);
    options.disturbances = 0;
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    EXPECT_EQ(job.status().state(), v1alpha1::JobState::Succeeded) << job.status().message();
    EXPECT_GT(job.status().freeze_log_size(), 1);
    EXPECT_GT(job.repartitions(), 0);
    EXPECT_FALSE(job.released().empty());
    EXPECT_EQ(job.restores(), 0);
    EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), options.total_steps));
  }
}

// Invariants 7 to 9: whatever happens, the job ends, every layer has an owner, and the weights are
// those of an undisturbed run that follows the freeze log.
TEST(JobSessionRandom, DisturbedRunsEndInTheWeightsOfTheirFreezeLog) {
  int restores = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto options = OptionsOf(seed);
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    EXPECT_EQ(job.status().state(), v1alpha1::JobState::Succeeded) << job.status().message();
    EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), options.total_steps));
    restores += job.restores();
    if (HasFailure()) break;
  }
  EXPECT_GT(restores, static_cast<int>(kSeeds));
}

// Coordinators come and go, with the durable record alone: training does not notice.
TEST(JobSessionRandom, AnotherCoordinatorTakesOverAndTrainingGoesOn) {
  int take_overs = 0;
  int shrunk = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto options = OptionsOf(seed);
    options.disturbances = 0;
    options.take_overs = 6;
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    EXPECT_EQ(job.status().state(), v1alpha1::JobState::Succeeded) << job.status().message();
    EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), options.total_steps));
    EXPECT_EQ(job.launches(), options.workers) << "a worker was started again";
    EXPECT_EQ(job.status().restarts(), 0);
    take_overs += job.take_overs();
    shrunk += job.status().freed_workers() > 0;
    if (HasFailure()) break;
  }
  // Not where hardly ever a coordinator was there.
  EXPECT_GT(shrunk, static_cast<int>(kSeeds) * 9 / 10);
  EXPECT_GT(take_overs, static_cast<int>(kSeeds) * 3);
}

// Who is told to end, and has the time, hands over: no step is lost, without any checkpoint at
// that.
TEST(JobSessionRandom, WorkersThatTerminateHandOver) {
  int terminations = 0;
  int taken_back = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto options = OptionsOf(seed);
    options.disturbances = 0;
    options.checkpoint_interval = 0;
    options.terminations = 3;
    options.take_overs = seed % 2 ? 2 : 0;
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    EXPECT_EQ(job.status().state(), v1alpha1::JobState::Succeeded) << job.status().message();
    EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), options.total_steps));
    EXPECT_EQ(job.steps_lost(), 0);
    EXPECT_EQ(job.status().restarts(), 0);
    terminations += job.terminations();
    taken_back += job.restores();
    if (HasFailure()) break;
  }
  EXPECT_GT(terminations, static_cast<int>(kSeeds) * 2);
  EXPECT_GT(taken_back, static_cast<int>(kSeeds));
}

TEST(JobSessionRandom, TakeOversAmongOtherDisturbancesLoseNothing) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto options = OptionsOf(seed);
    options.take_overs = 4;
    options.terminations = 3;
    options.stop_midway = seed % 10 == 9;
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    if (options.stop_midway) {
      EXPECT_EQ(job.status().state(), v1alpha1::JobState::Stopped) << job.status().message();
    } else {
      EXPECT_EQ(job.status().state(), v1alpha1::JobState::Succeeded) << job.status().message();
      EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), options.total_steps));
    }
    if (HasFailure()) break;
  }
}

// Freed devices become replicas, among whatever else happens.
TEST(JobSessionRandom, JobsThatWidenLoseNothingEither) {
  int widened = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto options = OptionsOf(seed);
    options.replicas = seed % 2;  // or left to the planner
    options.workers = 4;
    options.replicate = true;
    options.disturbances = seed % 4 == 0 ? 0 : 4;
    options.terminations = seed % 4 == 0 ? 0 : 2;
    options.take_overs = seed % 4 == 0 ? 0 : 2;
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    EXPECT_EQ(job.status().state(), v1alpha1::JobState::Succeeded) << job.status().message();
    EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), options.total_steps));
    widened += job.status().stages(0).workers_size() > 1;
    if (HasFailure()) break;
  }
  EXPECT_GT(widened, static_cast<int>(kSeeds) * 9 / 10);
}

TEST(JobSessionRandom, StoppedRunsEndInACheckpoint) {
  for (unsigned seed = 0; seed < kSeeds / 4; ++seed) {
    SCOPED_TRACE(seed);
    auto options = OptionsOf(seed);
    options.stop_midway = true;
    options.disturbances = seed % 2;
    SimulatedJob job(options);
    job.Run();
    SCOPED_TRACE(job.status().ShortDebugString());
    ExpectKept(job);
    EXPECT_EQ(job.status().state(), v1alpha1::JobState::Stopped) << job.status().message();
    if (options.disturbances == 0) {
      EXPECT_EQ(job.FinalWeights(), job.Replay(LogOf(job), job.status().checkpoint_step()));
      EXPECT_GT(job.status().checkpoint_step(), options.total_steps / 2);
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace freezepipe::coordinator
