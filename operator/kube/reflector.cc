#include "operator/kube/reflector.h"

#include <utility>

namespace freezepipe::kube {

Reflector::Reflector(Client& client, Resource resource, Selection selection, Cache& cache,
                     ErrorHandler on_error, Random random)
    : client_(client),
      resource_(resource),
      selection_(std::move(selection)),
      cache_(cache),
      on_error_(std::move(on_error)),
      policy_(std::move(random)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void Reflector::Run(const std::stop_token& stop) {
  bool list = true;
  while (!stop.stop_requested()) {
    const ReflectorPolicy::Next next = list ? List() : Watch(stop);
    list = next.list;
    SleepFor(next.wait, stop);
  }
}

ReflectorPolicy::Next Reflector::List() {
  auto list = client_.List(resource_, selection_);
  if (list.ok()) {
    resource_version_ = list->resource_version;
    cache_.Replace(std::move(list->items));
  } else {
    on_error_(list.status());
  }
  return policy_.AfterList(list.status(), SteadyClock::now());
}

ReflectorPolicy::Next Reflector::Watch(const std::stop_token& stop) {
  const WatchOptions options = {.selection = selection_,
                                .resource_version = resource_version_,
                                .duration = policy_.WatchDuration()};
  const TimePoint begun = SteadyClock::now();
  bool brought_events = false;
  const absl::Status status = client_.Watch(resource_, options, stop, [&](WatchEvent event) {
    brought_events = true;
    resource_version_ = ResourceVersion(event.object);
    cache_.Apply(std::move(event));
  });
  const TimePoint now = SteadyClock::now();
  if (!status.ok() && !stop.stop_requested()) on_error_(status);
  return policy_.AfterWatch(
      {.status = status, .lasted = now - begun, .brought_events = brought_events}, now);
}

}  // namespace freezepipe::kube
