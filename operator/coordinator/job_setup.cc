#include "operator/coordinator/job_setup.h"

namespace freezepipe::coordinator {

JobSetup MakeJobSetup(const v1alpha1::FreezePipeJobSpec& spec,
                      const v1alpha1::JobDescription& description) {
  JobSetup setup;
  setup.spec = spec;
  for (const auto& layer : description.layers()) setup.layer_names.push_back(layer.name());
  setup.shape.layers = description.layers_size();
  setup.shape.steps_per_epoch = description.steps_per_epoch();
  setup.shape.total_steps = description.steps_per_epoch() * spec.training().epochs();
  setup.shape.classes = description.classes();
  return setup;
}

}  // namespace freezepipe::coordinator
