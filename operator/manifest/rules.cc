#include "operator/manifest/rules.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <map>
#include <regex>

#include "freezepipe/v1alpha1/schema.pb.h"

namespace freezepipe {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using v1alpha1::FreezeLogEntry;
using v1alpha1::FreezePolicy;

using Twin = std::function<bool(const Message&)>;

/// A twin of a rule on messages of type M.
template <typename M>
Twin On(bool (*holds)(const M&)) {
  return [holds](const Message& message) { return holds(static_cast<const M&>(message)); };
}

bool InOrder(const v1alpha1::FreezeSpec& spec) {
  const auto falls = [](const FreezeLogEntry& a, const FreezeLogEntry& b) {
    return b.boundary() < a.boundary() || b.chosen_at() < a.chosen_at() ||
           b.frozen_at() < a.frozen_at();
  };
  return std::adjacent_find(spec.manual().begin(), spec.manual().end(), falls) ==
         spec.manual().end();
}

const std::map<std::string, Twin, std::less<>>& Twins() {
  using namespace v1alpha1;  // NOLINT: the types of one table
  static const auto* const kTwins = new std::map<std::string, Twin, std::less<>>{
      {"stages-fit-workers", On<FreezePipeJobSpec>([](const auto& s) {
         return s.pipeline().stages() * std::max(s.pipeline().replicas(), 1) <= s.worker().count();
       })},
      {"replicas-fit-workers", On<FreezePipeJobSpec>([](const auto& s) {
         return s.pipeline().replicas() <= s.worker().count();
       })},
      {"micro-batches-fit-batch", On<FreezePipeJobSpec>([](const auto& s) {
         return s.pipeline().micro_batches() <= s.training().batch_size();
       })},
      {"hidden-sizes-are-mlp", On<ZooSpec>([](const auto& s) {
         return s.hidden_sizes().empty() || s.name() == ZooModel::mlp;
       })},
      {"mean-for-each-std",
       On<DatasetSpec>([](const auto& s) { return s.mean_size() >= s.std_size(); })},
      {"std-for-each-mean",
       On<DatasetSpec>([](const auto& s) { return s.std_size() >= s.mean_size(); })},
      {"nesterov-needs-momentum",
       On<OptimizerSpec>([](const auto& s) { return !s.nesterov() || s.momentum() > 0; })},
      {"step-needs-step-size", On<LearningRateScheduleSpec>([](const auto& s) {
         return s.type() != LearningRateSchedule::Step || s.step_size() > 0;
       })},
      {"replicas-divide-micro-batches", On<PipelineSpec>([](const auto& s) {
         return s.replicas() == 0 || s.micro_batches() % s.replicas() == 0;
       })},
      {"manual-needs-log", On<FreezeSpec>([](const auto& s) {
         return s.policy() != FreezePolicy::Manual || !s.manual().empty();
       })},
      {"manual-needs-policy", On<FreezeSpec>([](const auto& s) {
         return s.policy() == FreezePolicy::Manual || s.manual().empty();
       })},
      {"manual-in-order", On<FreezeSpec>(InOrder)},
      {"chosen-before-frozen",
       On<FreezeLogEntry>([](const auto& e) { return e.chosen_at() <= e.frozen_at(); })},
      {"schedule-order", On<FreezeScheduleSpec>([](const auto& s) { return s.start() < s.end(); })},
  };
  return *kTwins;
}

/// True if one path leads to or through the other's place.
bool Overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.substr(0, a.size()) == a &&
         (b.size() == a.size() || b[a.size()] == '.' || b[a.size()] == '[');
}

class RuleCheck {
 public:
  explicit RuleCheck(const std::vector<ManifestFault>& known) : known_(known) {}

  void Visit(const Message& message, const std::string& path) {
    const auto* descriptor = message.GetDescriptor();
    if (descriptor->file()->package() != "freezepipe.v1alpha1") return;
    for (const auto& rule : descriptor->options().GetRepeatedExtension(v1alpha1::rules)) {
      Check(rule, message, path);
    }
    const auto* reflection = message.GetReflection();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const std::string inner = absl::StrCat(path, path.empty() ? "" : ".", field->json_name());
      if (field->is_repeated()) {
        for (int j = 0; j < reflection->FieldSize(message, field); ++j) {
          Visit(reflection->GetRepeatedMessage(message, field, j),
                absl::StrCat(inner, "[", j, "]"));
        }
      } else if (reflection->HasField(message, field)) {
        Visit(reflection->GetMessage(message, field), inner);
      }
    }
  }

  std::vector<ManifestFault> TakeFaults() { return std::move(faults_); }

 private:
  void Check(const v1alpha1::CelRule& rule, const Message& message, const std::string& path) {
    if (rule.transition()) return;
    if (ReadsFaultyValue(rule.rule(), path)) return;
    const auto twin = Twins().find(rule.id());
    // A test sees to it that each rule has a twin; without one the API server alone would check it.
    if (twin == Twins().end() || twin->second(message)) return;
    faults_.push_back({path + rule.field_path(), rule.message()});
  }

  bool ReadsFaultyValue(const std::string& cel, const std::string& path) const {
    static const std::regex kRead(R"(\bself((\.\w+)+))");
    for (auto it = std::sregex_iterator(cel.begin(), cel.end(), kRead);
         it != std::sregex_iterator(); ++it) {
      const std::string read = path + (*it)[1].str();
      const bool faulty =
          std::any_of(known_.begin(), known_.end(),
                      [&](const ManifestFault& fault) { return Overlap(fault.path, read); });
      if (faulty) return true;
    }
    return false;
  }

  const std::vector<ManifestFault>& known_;
  std::vector<ManifestFault> faults_;
};

}  // namespace

std::vector<ManifestFault> CheckRules(const v1alpha1::FreezePipeJob& job,
                                      const std::vector<ManifestFault>& known) {
  RuleCheck check(known);
  check.Visit(job, "");
  return check.TakeFaults();
}

std::vector<std::string> NativeRuleIds() {
  std::vector<std::string> ids;
  for (const auto& [id, unused] : Twins()) ids.push_back(id);
  return ids;
}

}  // namespace freezepipe
