#include "cmd/freezepipe-operator/await_authority.h"

#include <gtest/gtest.h>

#include "operator/kube/fake_api_server.h"

namespace freezepipe::operator_program {
namespace {

const kube::ObjectKey kSecret{.ns = "freezepipe-system", .name = "freezepipe-ca"};

TEST(AwaitAuthority, GoesOnWhenTheApiServerIsBack_ThoughThereIsNoSecretYet) {
  const auto server = std::make_shared<kube::FakeApiServer>();
  server->SetAway(true);
  int pauses = 0;
  const auto authority = AwaitAuthority(server, kSecret, [&](kube::Duration) {
    if (++pauses == 3) server->SetAway(false);
    return true;
  });
  EXPECT_TRUE(authority.ok()) << authority.status();
  EXPECT_EQ(pauses, 3);
}

TEST(AwaitAuthority, EndsWhenItIsToldTo) {
  const auto server = std::make_shared<kube::FakeApiServer>();
  server->SetAway(true);
  const auto authority = AwaitAuthority(server, kSecret, [](kube::Duration) { return false; });
  EXPECT_TRUE(absl::IsCancelled(authority.status())) << authority.status();
}

}  // namespace
}  // namespace freezepipe::operator_program
