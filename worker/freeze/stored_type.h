#pragma once

#include <ATen/core/Tensor.h>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

/// What a frozen layer's output of this type is kept as: the type asked for where that takes fewer
/// bytes, else its own.
at::ScalarType StoredType(v1alpha1::CacheType::Type asked, at::ScalarType own);

/// The output in its own type, with the values that it would be kept with.
at::Tensor RoundToStored(v1alpha1::CacheType::Type asked, const at::Tensor& output);

}  // namespace freezepipe::worker
