#include "operator/reconciler/backoff_limit.h"

#include <absl/strings/str_cat.h>

namespace freezepipe::reconciler {

std::optional<std::string> ExceededBackoff(const Snapshot& snapshot) {
  const int limit = snapshot.spec.run_policy().backoff_limit();
  const int lost = snapshot.status.restarts();
  if (lost <= limit) return std::nullopt;
  const std::string& last = snapshot.status.message();
  return absl::StrCat("BackoffLimitExceeded: ", lost,
                      " workers were lost, runPolicy.backoffLimit is ", limit,
                      last.empty() ? "" : absl::StrCat("; the last: ", last));
}

}  // namespace freezepipe::reconciler
