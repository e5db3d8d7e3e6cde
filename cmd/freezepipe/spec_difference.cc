#include "cmd/freezepipe/spec_difference.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <vector>

namespace freezepipe::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

/// The innermost message that holds the last field of a path, and that field's value there as text.
std::string ValueAt(const Message* message,
                    const std::vector<MessageDifferencer::SpecificField>& path, bool old) {
  for (size_t i = 0; i < path.size(); ++i) {
    const FieldDescriptor* field = path[i].field;
    const auto* reflection = message->GetReflection();
    const int index = !field->is_repeated() ? -1 : old ? path[i].index : path[i].new_index;
    const bool absent = field->is_repeated()
                            ? index < 0 || index >= reflection->FieldSize(*message, field)
                            : field->has_presence() && !reflection->HasField(*message, field);
    if (absent) return "nothing";
    if (i + 1 == path.size()) {
      std::string text;
      google::protobuf::TextFormat::Printer printer;
      printer.SetSingleLineMode(true);
      printer.PrintFieldValueToString(*message, field, index, &text);
      return text;
    }
    message = field->is_repeated() ? &reflection->GetRepeatedMessage(*message, field, index)
                                   : &reflection->GetMessage(*message, field);
  }
  return "";
}

/// Keeps the first difference.
class FirstDifference : public MessageDifferencer::Reporter {
 public:
  void ReportAdded(const Message& before, const Message& now, const Path& path) override {
    Keep(before, now, path);
  }
  void ReportDeleted(const Message& before, const Message& now, const Path& path) override {
    Keep(before, now, path);
  }
  void ReportModified(const Message& before, const Message& now, const Path& path) override {
    Keep(before, now, path);
  }

  const std::optional<std::string>& text() const { return text_; }

 private:
  using Path = std::vector<MessageDifferencer::SpecificField>;

  void Keep(const Message& before, const Message& now, const Path& path) {
    if (text_) return;
    std::string name = "spec";
    for (const auto& step : path) {
      absl::StrAppend(&name, ".", step.field->json_name());
      if (step.field->is_repeated()) absl::StrAppend(&name, "[", step.index, "]");
    }
    text_ = absl::StrCat(name, " changed from ", ValueAt(&before, path, true), " to ",
                         ValueAt(&now, path, false));
  }

  std::optional<std::string> text_;
};

/// The fields that the weights at a step, and the checkpointed windows, depend on.
v1alpha1::FreezePipeJobSpec WhatDecidesTheWeights(const v1alpha1::FreezePipeJobSpec& spec) {
  v1alpha1::FreezePipeJobSpec kept;
  *kept.mutable_model() = spec.model();
  *kept.mutable_dataset() = spec.dataset();
  *kept.mutable_training() = spec.training();
  kept.mutable_pipeline()->set_micro_batches(spec.pipeline().micro_batches());
  kept.mutable_freeze()->set_windows_per_epoch(spec.freeze().windows_per_epoch());
  return kept;
}

}  // namespace

std::optional<std::string> WhyNotResumable(const v1alpha1::FreezePipeJobSpec& before,
                                           const v1alpha1::FreezePipeJobSpec& now) {
  FirstDifference difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesTo(&difference);
  differencer.Compare(WhatDecidesTheWeights(before), WhatDecidesTheWeights(now));
  return difference.text();
}

}  // namespace freezepipe::cli
