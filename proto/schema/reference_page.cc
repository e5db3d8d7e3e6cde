#include "proto/schema/reference_page.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "proto/schema/comments.h"
#include "proto/schema/open_api.h"

namespace freezepipe::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

/// One message at the first place where the manifest has it.
struct Section {
  const Descriptor* message;
  std::string path;
};

/// Text that Markdown prints as it stands, also in a table.
std::string Plain(const std::string& text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"<", "&lt;"}, {"*", "\\*"}, {"\n\n", "<br>"}});
}

std::string Code(const std::string& text) {
  return absl::StrCat("`", absl::StrReplaceAll(text, {{"|", "\\|"}}), "`");
}

bool IsSection(const FieldDescriptor* field) {
  const auto* type = field->message_type();
  return type != nullptr && type->file() == field->file();
}

std::string PathOf(const Section& parent, const FieldDescriptor* field) {
  return absl::StrCat(parent.path, parent.path.empty() ? "" : ".", field->json_name(),
                      field->is_repeated() ? "[]" : "");
}

/// The anchor that GitHub gives a heading.
std::string Anchor(const std::string& heading) {
  std::string anchor;
  for (const char c : absl::AsciiStrToLower(heading)) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-') anchor += c;
  }
  return anchor;
}

void CollectSections(const Section& section, std::vector<Section>* sections) {
  for (const auto& known : *sections) {
    if (known.message == section.message) return;
  }
  sections->push_back(section);
  for (int i = 0; i < section.message->field_count(); ++i) {
    const auto* field = section.message->field(i);
    if (IsSection(field))
      CollectSections({field->message_type(), PathOf(section, field)}, sections);
  }
}

std::string Range(const v1alpha1::FieldSchema& schema, bool integer) {
  const auto number = [&](double value) {
    return integer ? absl::StrCat(static_cast<int64_t>(value)) : absl::StrCat(value);
  };
  std::vector<std::string> parts;
  if (schema.has_pattern_meaning()) parts.push_back(schema.pattern_meaning());
  if (schema.has_minimum()) {
    parts.push_back(
        absl::StrCat(schema.exclusive_minimum() ? "> " : "≥ ", number(schema.minimum())));
  }
  if (schema.has_maximum()) {
    parts.push_back(
        absl::StrCat(schema.exclusive_maximum() ? "< " : "≤ ", number(schema.maximum())));
  }
  if (schema.has_item_minimum()) parts.push_back("each ≥ " + number(schema.item_minimum()));
  if (schema.has_min_items())
    parts.push_back(absl::StrCat("at least ", schema.min_items(), " items"));
  if (schema.has_max_items())
    parts.push_back(absl::StrCat("at most ", schema.max_items(), " items"));
  if (schema.unique_items()) parts.push_back("no item twice");
  if (schema.min_length() == 1) parts.push_back("not empty");
  if (schema.min_length() > 1)
    parts.push_back(absl::StrCat("at least ", schema.min_length(), " characters"));
  if (schema.has_max_length())
    parts.push_back(absl::StrCat("at most ", schema.max_length(), " characters"));
  return Plain(absl::StrJoin(parts, ", "));
}

std::string TypeName(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return "integer";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "boolean";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "enum";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::EndsWith(field->message_type()->full_name(), ".Timestamp") ? "date and time"
                                                                              : "object";
    default:
      return "string";
  }
}

class Page {
 public:
  explicit Page(const Descriptor* resource) : resource_(resource) {
    CollectSections({resource, ""}, &sections_);
  }

  std::string Text() {
    WriteHead();
    for (const auto& section : sections_) {
      if (section.message != resource_) Write(section);
    }
    return std::move(text_);
  }

 private:
  void WriteHead() {
    const auto& options = resource_->options().GetExtension(v1alpha1::resource);
    absl::StrAppend(
        &text_, "# ", resource_->name(), " manifest\n\n<!-- Generated from proto/",
        resource_->file()->name(), "; change that, then build the target update-generated. -->\n\n",
        Plain(CommentOf(resource_)),
        " `kubectl apply` and `freezepipe run` take the same file; `freezepipe validate FILE` "
        "checks it against "
        "everything on this page and reports all faults at once. Names are written as they stand "
        "here; a field "
        "that this page does not name is refused.\n\nThe smallest useful manifest:\n\n```yaml\n",
        options.example(), "```\n\n", "Every manifest starts with `apiVersion: ", options.group(),
        "/", options.version(), "` and `kind: ", resource_->name(),
        "`. `metadata.name` is required: ", Range(options.name(), true),
        ". The rest of `metadata` is Kubernetes' own.\n\n");
    for (const auto& section : sections_) {
      if (section.message == resource_) continue;
      const auto depth = std::count(section.path.begin(), section.path.end(), '.');
      absl::StrAppend(&text_, std::string(2 * depth, ' '), "- ", Link(section.path), "\n");
    }
  }

  void Write(const Section& section) {
    absl::StrAppend(&text_, "\n## `", section.path, "`\n\n", Plain(CommentOf(section.message)),
                    "\n\n");
    WriteFields(section);
    for (int i = 0; i < section.message->field_count(); ++i) WriteEnum(section.message->field(i));
    WriteRules(section.message);
  }

  void WriteFields(const Section& section) {
    const std::vector<std::string> titles = {"Field",  "Type", "Default",
                                             "Limits", "Unit", "Meaning"};
    std::vector<std::vector<std::string>> rows;
    for (int i = 0; i < section.message->field_count(); ++i) {
      rows.push_back(Row(section, section.message->field(i)));
    }
    WriteRow(titles, rows);
    WriteRow(std::vector<std::string>(titles.size(), "---"), rows);
    for (const auto& row : rows) WriteRow(row, rows);
  }

  std::vector<std::string> Row(const Section& section, const FieldDescriptor* field) {
    const auto& schema = SchemaOf(field);
    const bool integer = field->cpp_type() == FieldDescriptor::CPPTYPE_INT32;
    std::string name = Code(field->json_name());
    if (IsSection(field)) name = absl::StrCat("[", name, "](#", Anchor(PathOfFirst(field)), ")");
    const std::string type =
        field->is_repeated() ? absl::StrCat("list of ", TypeName(field), "s") : TypeName(field);
    return {name,
            type,
            DefaultText(section, field),
            Range(schema, integer),
            Plain(schema.unit()),
            Plain(CommentOf(field))};
  }

  /// Columns in which no row says anything are left out.
  void WriteRow(const std::vector<std::string>& cells,
                const std::vector<std::vector<std::string>>& rows) {
    for (size_t column = 0; column < cells.size(); ++column) {
      const bool used = std::any_of(rows.begin(), rows.end(),
                                    [&](const auto& row) { return !row[column].empty(); });
      if (used) absl::StrAppend(&text_, "| ", cells[column], cells[column].empty() ? "" : " ");
    }
    text_ += "|\n";
  }

  std::string DefaultText(const Section& section, const FieldDescriptor* field) {
    const auto& schema = SchemaOf(field);
    if (schema.required()) return "*required*";
    if (IsSection(field) && !field->is_repeated()) return "";
    if (schema.has_default_()) {
      const auto value = nlohmann::ordered_json::parse(schema.default_());
      return Code(value.is_string() ? value.get<std::string>() : value.dump());
    }
    // An absent scalar without presence is zero; in the status that says nothing.
    if (field->has_presence() || field->is_repeated() || absl::StartsWith(section.path, "status"))
      return "";
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return Code("false");
    return field->cpp_type() == FieldDescriptor::CPPTYPE_STRING ? "" : Code("0");
  }

  void WriteEnum(const FieldDescriptor* field) {
    if (field->enum_type() == nullptr) return;
    absl::StrAppend(&text_, "\nValues of `", field->json_name(), "`:\n\n");
    for (int i = 0; i < field->enum_type()->value_count(); ++i) {
      const auto* value = field->enum_type()->value(i);
      absl::StrAppend(&text_, "- `", value->name(), "`: ", Plain(CommentOf(value)), "\n");
    }
  }

  void WriteRules(const Descriptor* message) {
    if (message->options().ExtensionSize(v1alpha1::rules) == 0) return;
    absl::StrAppend(&text_, "\nRules:\n\n");
    for (const auto& rule : message->options().GetRepeatedExtension(v1alpha1::rules)) {
      absl::StrAppend(&text_, "- ", Plain(rule.message()), "\n");
    }
  }

  std::string Link(const std::string& path) {
    return absl::StrCat("[`", path, "`](#", Anchor(path), ")");
  }

  /// Path of the section that tells of the field's message.
  std::string PathOfFirst(const FieldDescriptor* field) {
    for (const auto& section : sections_) {
      if (section.message == field->message_type()) return section.path;
    }
    return "";
  }

  const Descriptor* resource_;
  std::vector<Section> sections_;
  std::string text_;
};

}  // namespace

std::string ReferencePage(const Descriptor* resource) { return Page(resource).Text(); }

}  // namespace freezepipe::schema
