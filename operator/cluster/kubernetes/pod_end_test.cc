#include "operator/cluster/kubernetes/pod_end.h"

#include <gtest/gtest.h>

namespace freezepipe::cluster {
namespace {

using kube::Json;

std::string WhyOf(const Json& status) {
  const auto end = EndOf({{"status", status}});
  if (!end) return "runs";
  return (end->clean ? "clean: " : "not clean: ") + end->why;
}

Json Exited(int code, const std::string& reason) {
  const Json ended = {{"exitCode", code}, {"reason", reason}};
  return {{"phase", "Failed"}, {"containerStatuses", {{{"state", {{"terminated", ended}}}}}}};
}

TEST(PodEnd, IsSaidInWords) {
  EXPECT_EQ(WhyOf({}), "runs");
  EXPECT_EQ(WhyOf({{"phase", "Running"}}), "runs");
  EXPECT_EQ(WhyOf({{"phase", "Succeeded"}}), "clean: exited with status 0");
  EXPECT_EQ(WhyOf(Exited(1, "Error")), "not clean: exited with status 1");
  EXPECT_EQ(WhyOf(Exited(137, "OOMKilled")), "not clean: exited with status 137 (OOMKilled)");
  EXPECT_EQ(WhyOf({{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "no memory"}}),
            "not clean: Evicted: no memory");
  EXPECT_EQ(WhyOf({{"phase", "Failed"}}), "not clean: failed");
}

TEST(PodEnd, NamesAnInitContainerThatFailed) {
  const Json fetched = {{"name", "check"}, {"state", {{"terminated", {{"exitCode", 0}}}}}};
  const Json failed = {{"name", "fetch"}, {"state", {{"terminated", {{"exitCode", 6}}}}}};
  EXPECT_EQ(WhyOf({{"phase", "Failed"}, {"initContainerStatuses", {fetched, failed}}}),
            "not clean: init container fetch exited with status 6");
}

}  // namespace
}  // namespace freezepipe::cluster
