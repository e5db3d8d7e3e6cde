#pragma once

#include <map>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "tests/training/job_run.h"

namespace freezepipe::training {

struct PlainResult {
  std::map<int, double> losses;  // by steps done
  Weights weights;
  std::vector<double> step_seconds;
};

/// The same job as a plain LibTorch loop in this process: the whole network, gradients accumulated
/// over the micro-batches, the workers' own optimizer (held to torch::optim by its test), and the
/// layers of the freeze log taken out when their time comes. What every pipeline must equal bit for
/// bit.
PlainResult TrainPlainly(v1alpha1::FreezePipeJobSpec spec,
                         const std::vector<v1alpha1::FreezeLogEntry>& log = {});

}  // namespace freezepipe::training
