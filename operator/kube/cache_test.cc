#include "operator/kube/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Type = WatchEvent::Type;

/// "+a1" for a at version 1 added, "~" updated, "-" deleted.
std::string Words(const Change& change) {
  constexpr std::string_view kSigns = "+~-";
  return kSigns[static_cast<int>(change.kind)] + KeyOf(*change.object).name +
         ResourceVersion(*change.object);
}

Json Owned(Json pod, const std::string& owner) {
  pod["metadata"]["ownerReferences"] = {{{"uid", owner}, {"controller", true}}};
  return pod;
}

class CacheTest : public testing::Test {
 protected:
  CacheTest()
      : cache_({{"owner", [](const Json& object) {
                   return std::vector<std::string>{ControllerUid(object)};
                 }}}) {
    cache_.AddHandler([this](const Change& change) { changes_.push_back(Words(change)); });
  }

  std::vector<std::string> TakeChanges() { return std::exchange(changes_, {}); }

  std::vector<std::string> Found(const std::string& owner) {
    std::vector<std::string> names;
    for (const Object& object : cache_.Find("owner", owner)) names.push_back(KeyOf(*object).name);
    return names;
  }

  Cache cache_;
  std::vector<std::string> changes_;
};

TEST_F(CacheTest, FollowsEvents) {
  cache_.Replace({Pod("a", "1", "ua")});
  cache_.Apply({Type::kAdded, Pod("b", "2", "ub")});
  cache_.Apply({Type::kModified, Pod("a", "3", "ua")});
  cache_.Apply({Type::kBookmark, Pod("", "4")});
  cache_.Apply({Type::kDeleted, Pod("b", "5", "ub")});
  EXPECT_THAT(TakeChanges(), ElementsAre("+a1", "+b2", "~a3", "-b5"));
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(ResourceVersion(*cache_.Get({"train", "a"})), "3");
  EXPECT_EQ(cache_.Get({"train", "b"}), nullptr);
  EXPECT_EQ(cache_.Get({"", "a"}), nullptr);
}

TEST_F(CacheTest, AListTellsWhatWasDeletedMeanwhile) {
  cache_.Replace({Pod("a", "1", "ua"), Pod("b", "2", "ub"), Pod("c", "3", "uc")});
  TakeChanges();
  cache_.Replace({Pod("b", "2", "ub"), Pod("c", "8", "uc"), Pod("d", "9", "ud")});
  EXPECT_THAT(TakeChanges(), ElementsAre("-a1", "~c8", "+d9"));
}

TEST_F(CacheTest, AnotherObjectOfTheSameNameIsADeletionAndAnAddition) {
  cache_.Replace({Pod("a", "1", "first")});
  cache_.Replace({Pod("a", "2", "second")});
  EXPECT_THAT(TakeChanges(), ElementsAre("+a1", "-a1", "+a2"));
  cache_.Apply({Type::kModified, Pod("a", "3", "third")});
  EXPECT_THAT(TakeChanges(), ElementsAre("-a2", "+a3"));
}

TEST_F(CacheTest, TheSameVersionAgainAndUnknownDeletionsChangeNothing) {
  cache_.Replace({Pod("a", "1", "ua")});
  TakeChanges();
  cache_.Apply({Type::kModified, Pod("a", "1", "ua")});
  cache_.Apply({Type::kDeleted, Pod("never", "2", "un")});
  EXPECT_THAT(TakeChanges(), IsEmpty());
}

TEST_F(CacheTest, ChangesCarryBothStates) {
  std::vector<Change> seen;
  cache_.AddHandler([&](const Change& change) { seen.push_back(change); });
  cache_.Replace({Pod("a", "1", "ua")});
  cache_.Apply({Type::kModified, Pod("a", "2", "ua")});
  cache_.Apply({Type::kDeleted, Pod("a", "3", "ua")});
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].before, nullptr);
  EXPECT_EQ(ResourceVersion(*seen[1].before), "1");
  EXPECT_EQ(ResourceVersion(*seen[2].before), "2");
  EXPECT_EQ(ResourceVersion(*seen[2].object), "3");
}

TEST_F(CacheTest, IndexesFollowChanges) {
  cache_.Replace({Owned(Pod("a", "1", "ua"), "x"), Owned(Pod("b", "2", "ub"), "x"),
                  Owned(Pod("c", "3", "uc"), "y")});
  EXPECT_THAT(Found("x"), ElementsAre("a", "b"));
  cache_.Apply({Type::kModified, Owned(Pod("b", "4", "ub"), "y")});
  EXPECT_THAT(Found("x"), ElementsAre("a"));
  EXPECT_THAT(Found("y"), ElementsAre("b", "c"));
  cache_.Apply({Type::kDeleted, Owned(Pod("a", "5", "ua"), "x")});
  EXPECT_THAT(Found("x"), IsEmpty());
  EXPECT_THAT(Found("z"), IsEmpty());
}

TEST_F(CacheTest, HandlersSeeTheChangeInTheCacheAndMayReadIt) {
  size_t seen = 0;
  cache_.AddHandler([&](const Change& change) {
    seen += cache_.Get(KeyOf(*change.object)) == change.object ? 1 : 0;
  });
  cache_.Replace({Pod("a", "1", "ua"), Pod("b", "2", "ub")});
  EXPECT_EQ(seen, 2u);
}

TEST_F(CacheTest, LeavesManagedFieldsOut) {
  Json pod = Pod("a", "1", "ua");
  pod["metadata"]["managedFields"] = {{{"manager", "kubectl"}}};
  cache_.Replace({pod});
  EXPECT_FALSE((*cache_.Get({"train", "a"}))["metadata"].contains("managedFields"));
}

TEST_F(CacheTest, IsSyncedAfterTheFirstListAndItsHandlers) {
  std::stop_source stop;
  std::atomic<bool> synced = false;
  cache_.AddHandler([&](const Change&) { EXPECT_FALSE(synced); });
  std::jthread waiter([&] { synced = cache_.WaitUntilSynced(stop.get_token()); });
  cache_.Replace({Pod("a", "1", "ua")});
  waiter.join();
  EXPECT_TRUE(synced);
  Cache never;
  stop.request_stop();
  EXPECT_FALSE(never.WaitUntilSynced(stop.get_token()));
}

TEST_F(CacheTest, ManyReadWhileOneWrites) {
  std::stop_source stop;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop.stop_requested()) {
        for (const Object& object : cache_.List()) EXPECT_EQ(KeyOf(*object).ns, "train");
        cache_.Find("owner", "x");
      }
    });
  }
  for (int version = 1; version <= 300; ++version) {
    cache_.Apply({Type::kModified, Owned(Pod("a", std::to_string(version), "ua"), "x")});
    if (version % 50 == 0) cache_.Replace({});
  }
  stop.request_stop();
}

}  // namespace
}  // namespace freezepipe::kube
