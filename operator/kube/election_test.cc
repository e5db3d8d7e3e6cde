#include "operator/kube/election.h"

#include <gtest/gtest.h>

namespace freezepipe::kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const WallTime kWall{hours(500'000)};

/// Two candidates and the lease they share, each with a clock of its own.
class ElectionTest : public testing::Test {
 protected:
  /// Reads, and writes the claim if there is one. True if this leads afterwards.
  bool Try(Election& candidate, TimePoint now) {
    candidate.Observe(lease_.is_null() ? nullptr : &lease_, now);
    const auto claim = candidate.Claim(now, kWall + renewals_++ * seconds(1));
    if (claim) {
      lease_ = {{"spec", LeaseSpecJson(*claim)}};
      candidate.Won(*claim, now);
    }
    return candidate.Term(now).has_value();
  }

  LeaseSpec Lease() { return ReadLease(lease_); }

  Election a_{"a", seconds(15), seconds(10)};
  Election b_{"b", seconds(15), seconds(10)};
  Json lease_;
  int renewals_ = 0;
  TimePoint now_{seconds(1000)};
};

TEST_F(ElectionTest, TheFirstCreatesItWithTermZero) {
  EXPECT_TRUE(Try(a_, now_));
  EXPECT_EQ(a_.Term(now_), 0);
  EXPECT_EQ(Lease().holder, "a");
  EXPECT_EQ(Lease().duration_seconds, 15);
  EXPECT_EQ(Lease().acquired, Lease().renewed);
  EXPECT_FALSE(Try(b_, now_));
}

TEST_F(ElectionTest, RenewalKeepsTermAndTimeOfAcquisition) {
  Try(a_, now_);
  const LeaseSpec first = Lease();
  EXPECT_TRUE(Try(a_, now_ + seconds(2)));
  EXPECT_EQ(Lease().transitions, first.transitions);
  EXPECT_EQ(Lease().acquired, first.acquired);
  EXPECT_NE(Lease().renewed, first.renewed);
}

TEST_F(ElectionTest, AnotherWaitsTheWholeDurationSinceTheLastChangeItSaw) {
  Try(a_, now_);
  EXPECT_FALSE(Try(b_, now_));
  Try(a_, now_ + seconds(9));
  EXPECT_FALSE(Try(b_, now_ + seconds(10)));
  EXPECT_FALSE(Try(b_, now_ + seconds(10) + milliseconds(14'999)));
  EXPECT_TRUE(Try(b_, now_ + seconds(25)));
  EXPECT_EQ(b_.Term(now_ + seconds(25)), 1);
}

TEST_F(ElectionTest, ClocksThatDifferByAnHourChangeNothing) {
  const TimePoint bs_now = now_ + hours(1);
  Try(a_, now_);
  EXPECT_FALSE(Try(b_, bs_now));
  EXPECT_FALSE(Try(b_, bs_now + seconds(14)));
  EXPECT_TRUE(Try(b_, bs_now + seconds(15)));
}

TEST_F(ElectionTest, NotRenewedInTimeIsLostBeforeAnotherMayTakeIt) {
  Try(a_, now_);
  EXPECT_TRUE(a_.Term(now_ + milliseconds(9'999)));
  EXPECT_FALSE(a_.Term(now_ + seconds(10)));
  EXPECT_TRUE(a_.Lost(now_ + seconds(10)));
  // Also if nobody took it: what it missed meanwhile it can't know.
  a_.Observe(&lease_, now_ + seconds(11));
  EXPECT_EQ(a_.Claim(now_ + seconds(11), kWall), std::nullopt);
}

TEST_F(ElectionTest, TakenOverIsLostAtOnce) {
  Try(a_, now_);
  Try(b_, now_);
  Try(b_, now_ + seconds(15));
  EXPECT_FALSE(Try(a_, now_ + seconds(1)));
  EXPECT_TRUE(a_.Lost(now_ + seconds(1)));
  EXPECT_EQ(a_.holder(), "b");
}

TEST_F(ElectionTest, AReleasedLeaseIsFreeAfterItsSecond) {
  Try(a_, now_);
  Try(b_, now_);
  const auto released = a_.Release(now_, kWall);
  ASSERT_TRUE(released);
  EXPECT_FALSE(a_.Term(now_));
  EXPECT_EQ(released->holder, "");
  EXPECT_EQ(released->duration_seconds, 1);
  lease_ = {{"spec", LeaseSpecJson(*released)}};
  EXPECT_TRUE(lease_["spec"]["holderIdentity"].is_null());
  EXPECT_TRUE(Try(b_, now_ + seconds(1)));
  EXPECT_EQ(b_.Term(now_ + seconds(1)), 1);
}

TEST_F(ElectionTest, ATermIsRaisedByTheNextRenewal) {
  Try(a_, now_);
  a_.Raise(7);
  EXPECT_EQ(a_.Term(now_), 0) << "it isn't written yet";
  EXPECT_TRUE(Try(a_, now_ + seconds(2)));
  EXPECT_EQ(a_.Term(now_ + seconds(2)), 7);
  EXPECT_TRUE(Try(a_, now_ + seconds(4)));
  EXPECT_EQ(Lease().transitions, 7);
  Try(b_, now_ + seconds(4));
  EXPECT_TRUE(Try(b_, now_ + seconds(19)));
  EXPECT_EQ(b_.Term(now_ + seconds(19)), 8);
}

TEST_F(ElectionTest, OnlyWhoLeadsReleases) {
  Try(a_, now_);
  Try(b_, now_);
  EXPECT_EQ(b_.Release(now_, kWall), std::nullopt);
  EXPECT_EQ(a_.Release(now_ + seconds(10), kWall), std::nullopt);
}

TEST_F(ElectionTest, TermsGrowAlsoWhenTheLeaseIsDeleted) {
  Try(a_, now_);
  Try(b_, now_);
  Try(b_, now_ + seconds(15));
  EXPECT_EQ(b_.Term(now_ + seconds(15)), 1);
  Election c("c", seconds(15), seconds(10));
  Try(c, now_ + seconds(15));
  lease_ = Json();
  // The leader puts it back with its own term...
  EXPECT_TRUE(Try(b_, now_ + seconds(16)));
  EXPECT_EQ(Lease().transitions, 1);
  EXPECT_FALSE(Lease().acquired.empty());
  // ...and another that finds it gone takes the next.
  lease_ = Json();
  EXPECT_TRUE(Try(c, now_ + seconds(17)));
  EXPECT_EQ(c.Term(now_ + seconds(17)), 2);
}

}  // namespace
}  // namespace freezepipe::kube
