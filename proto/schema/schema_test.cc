#include <gmock/gmock.h>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "proto/schema/comments.h"
#include "proto/schema/crd.h"
#include "proto/schema/open_api.h"
#include "proto/schema/reference_page.h"
#include "proto/schema/yaml_text.h"

namespace freezepipe::schema {
namespace {

using google::protobuf::Descriptor;
using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

/// The committed schema.proto and protobuf's own files, and one file that a test writes.
class Sources : public google::protobuf::compiler::SourceTree {
 public:
  explicit Sources(std::string text) : text_(std::move(text)) {
    disk_.MapPath("", FREEZEPIPE_SOURCE_DIR "/proto");
    disk_.MapPath("", FREEZEPIPE_PROTOBUF_INCLUDE);
  }

  google::protobuf::io::ZeroCopyInputStream* Open(const std::string& filename) override {
    if (filename != "widget.proto") return disk_.Open(filename);
    return new google::protobuf::io::ArrayInputStream(text_.data(), static_cast<int>(text_.size()));
  }

 private:
  std::string text_;
  google::protobuf::compiler::DiskSourceTree disk_;
};

class Errors : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  void AddError(const std::string& file, int line, int column,
                const std::string& message) override {
    ADD_FAILURE() << file << ":" << line + 1 << ":" << column + 1 << ": " << message;
  }
};

/// A resource Widget whose WidgetSpec has the given body.
class Widget {
 public:
  explicit Widget(const std::string& body, const std::string& options = "")
      : sources_(R"(syntax = "proto3";
package widgets;
import "freezepipe/v1alpha1/schema.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
// A widget.
message Widget {
  option (freezepipe.v1alpha1.resource) = {
    group: "example.io" version: "v1" plural: "widgets" short_names: "wd"
    name: { max_length: 20 pattern: "^[a-z]+$" pattern_meaning: "letters" }
    columns: { name: "Size" type: "integer" json_path: ".spec.size" }
    example: "kind: Widget\n"
  };
  string api_version = 1;
  string kind = 2;
  google.protobuf.Struct metadata = 3;
  // What it shall be.
  WidgetSpec spec = 4 [(freezepipe.v1alpha1.field) = { required: true }];
}
message Paint {
  enum Color {
    // Like grass | leaves.
    Green = 0;
    // Like a tomato.
    Red = 1;
  }
}
// What a widget
// shall be.
message WidgetSpec {
  )" + options + body +
                 "}\n"),
        importer_(&sources_, &errors_) {
    file_ = importer_.Import("widget.proto");
  }

  const Descriptor* resource() const { return file_->FindMessageTypeByName("Widget"); }
  ordered_json spec_schema() const { return ResourceSchema(resource())["properties"]["spec"]; }

 private:
  Sources sources_;
  Errors errors_;
  google::protobuf::compiler::Importer importer_;
  const google::protobuf::FileDescriptor* file_ = nullptr;
};

constexpr char kRule[] = R"(option (freezepipe.v1alpha1.rules) =
    { id: "a" rule: "self.size > 2" message: "size must be above 2" field_path: ".size" };
)";
constexpr char kSize[] = R"(
  // Across, with pad_width
  // around it.
  optional int32 size = 1 [(freezepipe.v1alpha1.field) = { default: "3" minimum: 1 maximum: 9 unit: "mm" }];
)";

TEST(RunningTextTest, JoinsLinesAndKeepsParagraphs) {
  EXPECT_EQ(RunningText(" One\n line.\n\n Two.\n"), "One line.\n\nTwo.");
  EXPECT_EQ(RunningText(""), "");
}

TEST(ResourceSchemaTest, HasTypeDescriptionDefaultAndLimits) {
  EXPECT_EQ(Widget(kSize).spec_schema(), ordered_json::parse(R"({
    "type": "object", "description": "What it shall be.",
    "properties": {"size": {
      "type": "integer", "description": "Across, with pad_width around it. Unit: mm.",
      "minimum": 1, "maximum": 9, "default": 3}}})"));
}

TEST(ResourceSchemaTest, NamesFieldsInCamelCaseAndMapsEveryType) {
  const auto properties = Widget(R"(
  // A.
  double line_width = 1 [(freezepipe.v1alpha1.field) = { minimum: 0.5 exclusive_minimum: true required: true }];
  // B.
  bool is_round = 2;
  // C.
  Paint.Color color = 3 [(freezepipe.v1alpha1.field) = { default: "\"Green\"" }];
  // D.
  google.protobuf.Timestamp made_at = 4;
  // E.
  google.protobuf.Struct extra = 5;
  // F.
  repeated int32 holes = 6 [(freezepipe.v1alpha1.field) = { max_items: 4 item_minimum: 1 unique_items: true }];
  )")
                              .spec_schema()["properties"];
  EXPECT_EQ(properties["lineWidth"],
            ordered_json::parse(R"({"type": "number", "description": "A.", "minimum": 0.5,
                                    "exclusiveMinimum": true})"));
  EXPECT_EQ(properties["isRound"]["type"], "boolean");
  EXPECT_EQ(properties["color"], ordered_json::parse(R"({"type": "string", "description": "C.",
                                                        "enum": ["Green", "Red"], "default": "Green"})"));
  EXPECT_EQ(properties["madeAt"]["format"], "date-time");
  EXPECT_EQ(properties["extra"]["x-kubernetes-preserve-unknown-fields"], true);
  EXPECT_EQ(properties["holes"],
            ordered_json::parse(R"({"type": "array", "description": "F.", "maxItems": 4,
                                    "x-kubernetes-list-type": "set",
                                    "items": {"type": "integer", "minimum": 1,
                                              "maximum": 2147483647}})"));
}

TEST(ResourceSchemaTest, CarriesRulesAndSpellsOutTheDefaultsTheyRead) {
  const auto ruled = Widget(std::string(R"(
  // Inner.
  Inner inner = 1 [(freezepipe.v1alpha1.field) = { default: "{}" }];
  }
  // The inner part.
  message Inner {)") + kRule +
                            kSize)
                         .spec_schema()["properties"]["inner"];
  EXPECT_EQ(ruled["x-kubernetes-validations"],
            ordered_json::parse(R"([{"rule": "self.size > 2", "message": "size must be above 2",
                                     "fieldPath": ".size"}])"));
  EXPECT_EQ(ruled["default"], ordered_json::parse(R"({"size": 3})"));
  const auto plain = Widget(std::string(R"(
  // Inner.
  Inner inner = 1 [(freezepipe.v1alpha1.field) = { default: "{}" }];
  }
  // The inner part.
  message Inner {)") + kSize)
                         .spec_schema()["properties"]["inner"];
  EXPECT_EQ(plain["default"], ordered_json::object());
}

TEST(ValidationSchemaTest, IsClosedAndKnowsTheObject) {
  const auto schema = ValidationSchema(Widget(R"(
  // A.
  int32 any = 1;
  // B.
  google.protobuf.Timestamp at = 2;
  // C.
  google.protobuf.Struct extra = 3;
  )")
                                           .resource());
  EXPECT_EQ(schema["required"], ordered_json({"apiVersion", "kind", "metadata", "spec"}));
  EXPECT_EQ(schema["properties"]["apiVersion"]["enum"], ordered_json({"example.io/v1"}));
  EXPECT_EQ(schema["properties"]["kind"]["enum"], ordered_json({"Widget"}));
  EXPECT_EQ(schema["properties"]["metadata"]["required"], ordered_json({"name"}));
  EXPECT_FALSE(schema["properties"]["metadata"].contains("additionalProperties"));
  const auto& spec = schema["properties"]["spec"];
  EXPECT_EQ(spec["additionalProperties"], false);
  EXPECT_EQ(spec["properties"]["any"]["minimum"], INT32_MIN);
  EXPECT_EQ(spec["properties"]["any"]["maximum"], INT32_MAX);
  EXPECT_FALSE(spec["properties"]["any"].contains("format"));
  EXPECT_TRUE(spec["properties"]["at"].contains("pattern"));
  EXPECT_FALSE(spec["properties"]["extra"].contains("additionalProperties"));
}

struct FaultCase {
  const char* name;
  const char* body;
  const char* fault;
};

class FaultInTest : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultInTest, IsReported) {
  EXPECT_EQ(FaultIn(Widget(GetParam().body).resource()), GetParam().fault);
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultInTest,
    testing::Values(
        FaultCase{"None", kSize, ""},
        FaultCase{"FieldWithoutComment", "int32 a = 1;", "widgets.WidgetSpec.a has no comment"},
        FaultCase{"Int64", "// A.\nint64 a = 1;",
                  "widgets.WidgetSpec.a: int64 is not exact in JSON; use int32 or double"},
        FaultCase{"Map", "// A.\nmap<string, string> a = 1;",
                  "widgets.WidgetSpec.a: maps are not supported"},
        FaultCase{"MessageWithoutComment",
                  "// A.\nInner a = 1;\n}\nmessage Inner {\n// B.\nint32 b = 1;\n",
                  "widgets.Inner has no comment"},
        FaultCase{"EnumNotNested", "// A.\nSide a = 1;\n}\nenum Side {\n// L.\nLeft = 0;\n",
                  "widgets.WidgetSpec.a: its enum must be nested in a message of its own"},
        FaultCase{"EnumValueWithoutComment",
                  "// A.\nSide.Type a = 1;\n}\nmessage Side { enum Type { Left = 0; }\n",
                  "widgets.Side.Left has no comment"},
        FaultCase{"DefaultWithoutPresence",
                  "// A.\nint32 a = 1 [(freezepipe.v1alpha1.field) = { default: \"3\" }];",
                  "widgets.WidgetSpec.a: must be optional, as its default is not zero"},
        FaultCase{
            "DefaultNotJson",
            "// A.\noptional int32 a = 1 [(freezepipe.v1alpha1.field) = { default: \"three\" }];",
            "widgets.WidgetSpec.a: its default is not JSON"},
        FaultCase{"DefaultOfRequired",
                  "// A.\noptional int32 a = 1 [(freezepipe.v1alpha1.field) = { default: \"3\" "
                  "required: true }];",
                  "widgets.WidgetSpec.a: a required field has no default"},
        FaultCase{
            "RuleWithoutPath",
            "option (freezepipe.v1alpha1.rules) = { id: \"a\" rule: \"true\" message: \"m\" };\n",
            "widgets.WidgetSpec: a rule needs id, rule, message and field_path"}),
    [](const auto& info) { return info.param.name; });

TEST(CustomResourceDefinitionTest, NamesTheResource) {
  const auto crd = CustomResourceDefinition(Widget(kSize).resource());
  EXPECT_EQ(crd["metadata"]["name"], "widgets.example.io");
  EXPECT_EQ(crd["spec"]["names"],
            ordered_json::parse(R"({"kind": "Widget", "listKind": "WidgetList",
      "plural": "widgets", "singular": "widget", "shortNames": ["wd"]})"));
  EXPECT_EQ(crd["spec"]["versions"][0]["additionalPrinterColumns"][0]["jsonPath"], ".spec.size");
}

TEST(ReferencePageTest, TellsFieldsValuesAndRules) {
  const std::string page = ReferencePage(Widget(std::string(kSize) + R"(
  // Its look.
  Paint.Color color = 2 [(freezepipe.v1alpha1.field) = { default: "\"Green\"" }];
  // Free of charge.
  bool free = 3;
  )",
                                                kRule)
                                             .resource());
  EXPECT_THAT(page, HasSubstr("## `spec`\n\nWhat a widget shall be.\n"));
  EXPECT_THAT(page, HasSubstr("| Field | Type | Default | Limits | Unit | Meaning |\n"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "| `size` | integer | `3` | ≥ 1, ≤ 9 | mm | Across, with pad_width around it. |\n"));
  EXPECT_THAT(page, HasSubstr("| `color` | enum | `Green` | | | Its look. |\n"));
  EXPECT_THAT(page, HasSubstr("| `free` | boolean | `false` | | | Free of charge. |\n"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "Values of `color`:\n\n- `Green`: Like grass \\| leaves.\n- `Red`: Like a tomato.\n"));
  EXPECT_THAT(page, HasSubstr("Rules:\n\n- size must be above 2\n"));
  EXPECT_THAT(page, HasSubstr("`metadata.name` is required: letters, at most 20 characters."));
}

TEST(ReferencePageTest, LeavesOutColumnsThatSayNothing) {
  const std::string page = ReferencePage(Widget("// Its name.\nstring label = 1;\n").resource());
  EXPECT_THAT(page, HasSubstr("| Field | Type | Meaning |\n"));
  EXPECT_THAT(page, Not(HasSubstr("Unit")));
}

TEST(YamlTextTest, QuotesWhatAnyYamlWouldTakeForAnotherType) {
  EXPECT_EQ(
      YamlText({{"a", "Auto"}, {"b", "no"}, {"c", "1"}, {"d", "x: y"}, {"e", ""}, {"f", "Null"}}),
      "a: Auto\nb: \"no\"\nc: \"1\"\nd: \"x: y\"\ne: \"\"\nf: \"Null\"\n");
}

TEST(YamlTextTest, WritesNumbersThatAnyYamlReads) {
  EXPECT_EQ(
      YamlText({{"a", 1e-8}, {"b", 1.0}, {"c", -3}, {"d", true}, {"e", ordered_json::object()}}),
      "a: 1.0e-08\nb: 1.0\nc: -3\nd: true\ne: {}\n");
}

}  // namespace
}  // namespace freezepipe::schema
