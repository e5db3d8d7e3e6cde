#pragma once

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::worker {

/// What the session wants to be remembered, as a Remember order changes it.
void Remember(const v1alpha1::Remember& order, v1alpha1::Memory* memory);

}  // namespace freezepipe::worker
