#include "proto/activation_caching.h"

#include <cstdlib>

namespace freezepipe {

int64_t CacheBytes(const std::string& limit) {
  char* suffix = nullptr;
  const int64_t number = std::strtoll(limit.c_str(), &suffix, 10);
  const std::string units = "KMGT";
  const size_t unit = *suffix == '\0' ? std::string::npos : units.find(*suffix);
  return unit == std::string::npos ? number : number << (10 * (unit + 1));
}

int Views(const v1alpha1::FreezePipeJobSpec& spec) {
  const auto& augmentation = spec.dataset().augmentation();
  const bool random =
      augmentation.random_crop_padding() > 0 || augmentation.random_horizontal_flip();
  return random ? spec.freeze().cache().views() : 1;
}

int AugmentationEpoch(const v1alpha1::FreezePipeJobSpec& spec, int boundary, int epoch) {
  const int views = spec.freeze().cache().views();
  return boundary > 0 && views > 0 ? epoch % views : epoch;
}

}  // namespace freezepipe
