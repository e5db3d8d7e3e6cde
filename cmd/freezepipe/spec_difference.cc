#include "cmd/freezepipe/spec_difference.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <vector>

namespace freezepipe::cli {
namespace {

using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

/// The field's value in the message that holds it, as text.
std::string ValueOf(const Message& message, const MessageDifferencer::SpecificField& at,
                    int index) {
  const auto* reflection = message.GetReflection();
  const bool absent = at.field->is_repeated()
                          ? index < 0 || index >= reflection->FieldSize(message, at.field)
                          : at.field->has_presence() && !reflection->HasField(message, at.field);
  if (absent) return "nothing";
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintFieldValueToString(message, at.field, at.field->is_repeated() ? index : -1, &text);
  return text;
}

/// Keeps the first difference.
class FirstDifference : public MessageDifferencer::Reporter {
 public:
  using Path = std::vector<MessageDifferencer::SpecificField>;

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
  /// `before` and `now` are the messages that hold the path's last field.
  void Keep(const Message& before, const Message& now, const Path& path) {
    if (text_) return;
    std::string name = "spec";
    for (const auto& step : path) {
      absl::StrAppend(&name, ".", step.field->json_name());
      if (step.field->is_repeated()) absl::StrAppend(&name, "[", step.index, "]");
    }
    text_ = absl::StrCat(name, " changed from ", ValueOf(before, path.back(), path.back().index),
                         " to ", ValueOf(now, path.back(), path.back().new_index));
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
