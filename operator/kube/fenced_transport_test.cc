#include "operator/kube/fenced_transport.h"

#include <gtest/gtest.h>

#include "operator/kube/client.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

TEST(FencedTransport, WhoDoesntLeadReadsAndWritesNothing) {
  bool leads = true;
  auto server = std::make_shared<FakeApiServer>();
  Client client(std::make_shared<FencedTransport>(server, [&] { return leads; }), {});
  const ObjectKey first = {.ns = "train", .name = "a"};
  ASSERT_TRUE(client.Create(kPods, Pod("a")).ok());

  leads = false;
  const size_t before = server->Requests().size();
  EXPECT_TRUE(absl::IsCancelled(client.Create(kPods, Pod("b")).status()));
  EXPECT_TRUE(absl::IsCancelled(
      client.PatchStatus(kPods, first, {{"status", {{"phase", "Failed"}}}}).status()));
  EXPECT_TRUE(absl::IsCancelled(client.Delete(kPods, first)));
  EXPECT_EQ(server->Requests().size(), before) << "the API server hears nothing of it";
  EXPECT_TRUE(client.Get(kPods, first).ok());
  EXPECT_EQ(client.List(kPods, {})->items.size(), 1u);
}

}  // namespace
}  // namespace freezepipe::kube
