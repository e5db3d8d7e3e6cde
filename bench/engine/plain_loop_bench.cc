// Trains a job spec (JSON on standard input) as a plain LibTorch loop on one thread and prints the
// median seconds of a step.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/training/plain_loop.h"

int main() {
  const std::string json(std::istreambuf_iterator<char>(std::cin), {});
  freezepipe::v1alpha1::FreezePipeJobSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &spec);
  if (!status.ok()) {
    std::cerr << "spec on standard input: " << status.ToString() << "\n";
    return 2;
  }
  auto seconds = freezepipe::training::TrainPlainly(spec).step_seconds;
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  std::cout << seconds[seconds.size() / 2] << "\n";
}
