// Drives JobSession through the scenarios of tests/sessions; their form is told in
// tests/sessions/README.md.
#include "operator/coordinator/job_session.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "proto/defaults.h"

namespace freezepipe::coordinator {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kFolder = FREEZEPIPE_SOURCE_DIR "/tests/sessions";

Json ToJson(const YAML::Node& node) {
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& item : node) object[item.first.as<std::string>()] = ToJson(item.second);
    return object;
  }
  if (node.IsSequence()) {
    Json array = Json::array();
    for (const auto& item : node) array.push_back(ToJson(item));
    return array;
  }
  if (!node.IsScalar()) return nullptr;
  if (int number = 0; YAML::convert<int>::decode(node, number)) return number;
  if (double number = 0; YAML::convert<double>::decode(node, number)) return number;
  if (bool flag = false; YAML::convert<bool>::decode(node, flag)) return flag;
  return node.as<std::string>();
}

template <typename Message>
Message ToProto(const Json& json) {
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(json.dump(), &message);
  if (!status.ok()) throw std::runtime_error(json.dump() + ": " + status.ToString());
  return message;
}

Json FromProto(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return Json::parse(text);
}

JobSetup MakeSetup(const Json& job) {
  JobSetup setup;
  setup.spec = ToProto<v1alpha1::FreezePipeJobSpec>(job.at("spec"));
  ApplyDefaults(&setup.spec);
  if (job.contains("layers")) {
    const int layers = job["layers"];
    for (int i = 0; i < layers; ++i) setup.layer_names.push_back("layer" + std::to_string(i));
    setup.shape = {layers, job.at("totalSteps"), job.at("stepsPerEpoch"), 10};
  }
  setup.term = job.value("term", 1);
  setup.checkpoint_directory = job.value("checkpointDirectory", "checkpoints");
  if (job.contains("record")) setup.record = ToProto<v1alpha1::FreezePipeJobStatus>(job["record"]);
  if (job.contains("resume")) {
    const auto index = ToProto<v1alpha1::CheckpointIndex>(job["resume"]);
    setup.resume.emplace();
    setup.resume->step = index.step();
    setup.resume->freeze_log.assign(index.freeze_log().begin(), index.freeze_log().end());
    setup.resume->older_checkpoints = job.value("olderCheckpoints", std::vector<int>());
  }
  return setup;
}

/// A profile of equal layers.
Json Profile(int layers) {
  Json layer = {{"forwardSeconds", 0.01}, {"backwardSeconds", 0.02}, {"parameterBytes", "1000"}};
  return {{"profile", {{"layers", Json(layers, layer)}}}};
}

Json Describe(const Action& action) {
  if (const auto* send = std::get_if<SendOrder>(&action)) {
    Json json = FromProto(send->order);
    json["to"] = send->worker;
    return json;
  }
  if (const auto* launch = std::get_if<LaunchWorker>(&action)) return {{"launch", launch->worker}};
  if (const auto* kill = std::get_if<KillWorker>(&action)) return {{"kill", kill->worker}};
  if (const auto* record = std::get_if<Record>(&action)) {
    return {{"record", FromProto(record->status)}};
  }
  if (const auto* notice = std::get_if<Notice>(&action))
    return {{"notice", FromProto(notice->event)}};
  return {{"over", true}};
}

/// Whether everything that `wanted` says holds of `found`: objects may say more, arrays and values
/// may not. A null says that it isn't there.
bool Matches(const Json& wanted, const Json& found) {
  if (wanted.is_object()) {
    if (!found.is_object()) return false;
    return std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& item) {
      const auto there = found.find(item.key());
      if (item.value().is_null()) return there == found.end();
      return there != found.end() && Matches(item.value(), *there);
    });
  }
  if (wanted.is_array()) {
    return found.is_array() &&
           std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                      [](const Json& a, const Json& b) { return Matches(a, b); });
  }
  // 64-bit integers are strings in proto JSON.
  if (wanted.is_number() && found.is_string()) return wanted.dump() == found.get<std::string>();
  return wanted == found;
}

std::string Lines(const std::vector<Json>& actions) {
  std::string lines;
  for (const Json& action : actions) lines += "  " + action.dump() + "\n";
  return lines.empty() ? "  nothing\n" : lines;
}

class Scenario {
 public:
  explicit Scenario(const std::string& name) : Scenario(name, Json()) {}

  void Play() {
    for (const Json& step : steps_) {
      PlayStep(step);
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  Scenario(const std::string& name, const Json& job_of_later) {
    const Json file = ToJson(YAML::LoadFile((kFolder / (name + ".yaml")).string()));
    const Json job = job_of_later.is_null() ? file.value("job", Json()) : job_of_later;
    if (file.contains("after")) {
      Scenario before(file.at("after").get<std::string>(), job);
      *this = std::move(before);
    } else {
      session_ = std::make_unique<JobSession>(MakeSetup(job));
      layers_ = job.value("layers", 0);
    }
    for (const Json& step : file.at("steps")) steps_.push_back(step);
  }

  void PlayStep(const Json& step) {
    if (step.contains("repeat")) {
      for (int i = 0; i < step.at("repeat").get<int>(); ++i) {
        for (const Json& inner : step.at("steps")) PlayStep(inner);
      }
      return;
    }
    now_ += step.value("after", 0.0);
    std::vector<Json> orders;
    std::vector<Json> notices;
    std::vector<Json> remembers;
    for (const Event& event : EventsOf(step)) {
      for (const Action& action : session_->Handle(event, now_)) {
        if (const auto* record = std::get_if<Record>(&action)) last_record_ = record->number;
        const auto* send = std::get_if<SendOrder>(&action);
        auto& kind = std::holds_alternative<Notice>(action)          ? notices
                     : send != nullptr && send->order.has_remember() ? remembers
                                                                     : orders;
        kind.push_back(Describe(action));
      }
    }
    SCOPED_TRACE("step " + step.dump());
    if (step.contains("expect")) ExpectOrders(step.at("expect"), orders);
    if (step.contains("remembers")) ExpectOrders(step.at("remembers"), remembers);
    if (step.contains("notices")) ExpectNotices(step.at("notices"), notices);
    if (step.contains("status")) {
      const Json status = FromProto(session_->status());
      EXPECT_TRUE(Matches(step.at("status"), status)) << status.dump();
    }
  }

  static void ExpectOrders(const Json& wanted, const std::vector<Json>& found) {
    const bool same = std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(), Matches);
    EXPECT_TRUE(same) << "the session asked for\n" << Lines(found);
  }

  /// In this order, with others between.
  static void ExpectNotices(const Json& wanted, const std::vector<Json>& found) {
    auto next = wanted.begin();
    for (const Json& notice : found) {
      if (next != wanted.end() && Matches(*next, notice.at("notice"))) ++next;
    }
    EXPECT_TRUE(next == wanted.end()) << "the session said\n" << Lines(found);
  }

  static std::vector<int> WorkersOf(const Json& json) {
    if (json.is_array()) return json.get<std::vector<int>>();
    return {json.get<int>()};
  }

  std::vector<Event> EventsOf(const Json& step) const {
    if (step.contains("start")) return {JobStarted{}};
    if (step.contains("tick")) return {Tick{}};
    if (step.contains("giveUp")) return {GiveUp{step["giveUp"]}};
    if (step.contains("stop")) return {StopRequested{}};
    if (step.contains("recorded")) return {Recorded{last_record_}};
    if (step.contains("recordFailed")) return {RecordFailed{last_record_, step["recordFailed"]}};

    std::vector<Event> events;
    for (const char* kind : {"attach", "said", "lost", "gone"}) {
      if (!step.contains(kind)) continue;
      for (const int worker : WorkersOf(step.at(kind))) {
        events.push_back(EventOf(kind, worker, step));
      }
    }
    if (events.empty()) throw std::runtime_error("no event in " + step.dump());
    return events;
  }

  Event EventOf(const std::string& kind, int worker, const Json& step) const {
    if (kind == "lost") return StreamLost{worker};
    if (kind == "gone") {
      return WorkerGone{worker, step.value("why", "killed by signal 9"),
                        step.value("disrupted", false)};
    }
    if (kind == "attach") {
      Json hello = step.value("hello", Json::object());
      hello["worker"] = worker;
      if (!hello.contains("incarnation")) hello["incarnation"] = "first";
      hello["host"] = "host" + std::to_string(worker);
      return WorkerAttached{ToProto<v1alpha1::Hello>(hello)};
    }
    const Json message =
        step.contains("profile") ? Json{{"profile", Profile(layers_)}} : step.at("message");
    return WorkerSaid{worker, ToProto<v1alpha1::WorkerMessage>(message)};
  }

  std::unique_ptr<JobSession> session_;
  int layers_ = 0;
  std::vector<Json> steps_;
  Seconds now_ = 0;
  int last_record_ = 0;
};

std::vector<std::string> AllScenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class JobSessionScenario : public testing::TestWithParam<std::string> {};

TEST_P(JobSessionScenario, AsTold) { Scenario(GetParam()).Play(); }

INSTANTIATE_TEST_SUITE_P(Sessions, JobSessionScenario, testing::ValuesIn(AllScenarios()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace freezepipe::coordinator
