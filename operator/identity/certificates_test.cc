#include "operator/identity/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::identity {
namespace {

using testing::HasSubstr;

const kube::WallTime kNow = std::chrono::system_clock::now();

std::string Fault(const PemIdentity& authority, kube::WallTime now = kNow) {
  const absl::Status status = CheckAuthority(authority, now);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  return std::string(status.message());
}

TEST(Certificates, AnAuthorityIsGoodForNearlyTenYears) {
  const PemIdentity authority = MakeAuthority(kNow).value();
  EXPECT_TRUE(CheckAuthority(authority, kNow).ok());
  EXPECT_TRUE(CheckAuthority(authority, kNow + std::chrono::hours(9 * 365 * 24)).ok());
  EXPECT_THAT(Fault(authority, kNow + std::chrono::hours(11 * 365 * 24)), HasSubstr("expired"));
}

TEST(Certificates, WhatIsNoAuthorityIsSaid) {
  const PemIdentity one = MakeAuthority(kNow).value();
  const PemIdentity other = MakeAuthority(kNow).value();
  EXPECT_NE(one.certificate, other.certificate);
  EXPECT_THAT(Fault({.certificate = "", .key = one.key}), HasSubstr("certificate can't be read"));
  EXPECT_THAT(Fault({.certificate = one.certificate, .key = "x"}), HasSubstr("key can't be read"));
  EXPECT_THAT(Fault({.certificate = one.certificate, .key = other.key}),
              HasSubstr("isn't the certificate's"));
  EXPECT_THAT(Fault(IssueLeaf(one, {"a.example"}, kNow, std::chrono::hours(1)).value()),
              HasSubstr("isn't an authority's"));
}

TEST(Certificates, WithoutAnAuthorityThereIsNoLeaf) {
  EXPECT_FALSE(IssueLeaf({}, {"a.example"}, kNow, std::chrono::hours(1)).ok());
}

}  // namespace
}  // namespace freezepipe::identity
