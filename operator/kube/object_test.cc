#include "operator/kube/object.h"

#include <gtest/gtest.h>

#include "operator/kube/resource.h"
#include "operator/kube/time.h"

namespace freezepipe::kube {
namespace {

TEST(Object, ReadsMetadata) {
  const Json pod = Json::parse(R"({"metadata": {
      "namespace": "train", "name": "a", "uid": "u", "resourceVersion": "7",
      "labels": {"freezepipe.io/job": "j"},
      "ownerReferences": [{"uid": "x"}, {"uid": "y", "controller": true}]}})");
  EXPECT_EQ(KeyOf(pod), (ObjectKey{"train", "a"}));
  EXPECT_EQ(Uid(pod), "u");
  EXPECT_EQ(ResourceVersion(pod), "7");
  EXPECT_EQ(Label(pod, "freezepipe.io/job"), "j");
  EXPECT_EQ(Label(pod, "other"), "");
  EXPECT_EQ(ControllerUid(pod), "y");
}

TEST(Object, WhatIsMissingOrOfAnotherTypeReadsAsEmpty) {
  EXPECT_EQ(KeyOf(Json()), (ObjectKey{"", ""}));
  EXPECT_EQ(Uid(Json::parse(R"({"metadata": {"uid": 7}})")), "");
  EXPECT_EQ(ControllerUid(Json::object()), "");
}

TEST(Object, KeysAsText) {
  EXPECT_EQ(KeyText({"train", "a"}), "train/a");
  EXPECT_EQ(ParseKey("train/a"), (ObjectKey{"train", "a"}));
  EXPECT_EQ(ParseKey(KeyText({"", "node"})), (ObjectKey{"", "node"}));
}

TEST(Object, TextReplacesWhatIsNotUtf8) {
  EXPECT_EQ(JsonText({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST(Resource, Paths) {
  constexpr Resource kPods{"", "v1", "pods"};
  constexpr Resource kJobs{"freezepipe.io", "v1alpha1", "freezepipejobs"};
  constexpr Resource kNodes{"", "v1", "nodes", /*namespaced=*/false};
  EXPECT_EQ(CollectionPath(kPods, "train"), "/api/v1/namespaces/train/pods");
  EXPECT_EQ(CollectionPath(kPods, ""), "/api/v1/pods");
  EXPECT_EQ(ObjectPath(kJobs, {"train", "a"}, "status"),
            "/apis/freezepipe.io/v1alpha1/namespaces/train/freezepipejobs/a/status");
  EXPECT_EQ(ObjectPath(kNodes, {"", "n1"}), "/api/v1/nodes/n1");
}

TEST(Resource, QueryEncodesValuesAndLeavesOutEmptyOnes) {
  EXPECT_EQ(QueryText({{"labelSelector", "a=b,c in (d)"}, {"continue", ""}, {"limit", "5"}}),
            "?labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=5");
  EXPECT_EQ(QueryText({{"continue", ""}}), "");
}

TEST(Time, MicroTime) {
  EXPECT_EQ(MicroTime(WallTime(std::chrono::microseconds(1'700'000'000'000'001))),
            "2023-11-14T22:13:20.000001Z");
}

}  // namespace
}  // namespace freezepipe::kube
