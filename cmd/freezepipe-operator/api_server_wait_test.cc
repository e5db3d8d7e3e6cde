#include "cmd/freezepipe-operator/api_server_wait.h"

#include <gtest/gtest.h>

#include "operator/kube/fake_api_server.h"

namespace freezepipe::operator_program {
namespace {

const kube::ObjectKey kSecret{.ns = "freezepipe-system", .name = "freezepipe-ca"};

TEST(WaitForApiServer, GoesOnWhenItIsBack_ThoughThereIsNoSecretYet) {
  const auto server = std::make_shared<kube::FakeApiServer>();
  server->SetAway(true);
  int pauses = 0;
  EXPECT_TRUE(WaitForApiServer(server, kSecret, [&](kube::Duration) {
    if (++pauses == 3) server->SetAway(false);
    return true;
  }));
  EXPECT_EQ(pauses, 3);
}

TEST(WaitForApiServer, EndsWhenItIsToldTo) {
  const auto server = std::make_shared<kube::FakeApiServer>();
  server->SetAway(true);
  EXPECT_FALSE(WaitForApiServer(server, kSecret, [](kube::Duration) { return false; }));
}

}  // namespace
}  // namespace freezepipe::operator_program
