// A protoc plugin: writes the custom resource's CRD, reference page and validation schema from the
// .proto file that declares it.

#include <absl/strings/str_cat.h>
#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/compiler/plugin.h>
#include <google/protobuf/io/coded_stream.h>

#include <memory>

#include "proto/schema/crd.h"
#include "proto/schema/open_api.h"
#include "proto/schema/reference_page.h"
#include "proto/schema/yaml_text.h"

namespace freezepipe::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::compiler::GeneratorContext;

constexpr char kNote[] = "; change that, then build the target update-generated.\n";

class SchemaGenerator : public google::protobuf::compiler::CodeGenerator {
 public:
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }

  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& /*parameter*/,
                GeneratorContext* context, std::string* error) const override {
    for (int i = 0; i < file->message_type_count(); ++i) {
      const auto* message = file->message_type(i);
      if (!message->options().HasExtension(v1alpha1::resource)) continue;
      *error = FaultIn(message);
      if (!error->empty()) return false;
      GenerateFor(message, context);
    }
    return true;
  }

 private:
  static void GenerateFor(const Descriptor* resource, GeneratorContext* context) {
    const auto& options = resource->options().GetExtension(v1alpha1::resource);
    const std::string note = absl::StrCat("Generated from proto/", resource->file()->name(), kNote);
    Write(absl::StrCat(options.group(), "_", options.plural(), ".yaml"),
          absl::StrCat("# ", note, YamlText(CustomResourceDefinition(resource))), context);
    Write("manifest.md", ReferencePage(resource), context);
    Write("manifest_schema.cc",
          absl::StrCat("// ", note,
                       "#include \"proto/schema/manifest_schema.h\"\n\n"
                       "namespace freezepipe {\n\n"
                       "std::string_view ManifestSchemaText() {\n  return R\"schema(",
                       ValidationSchema(resource).dump(1),
                       ")schema\";\n}\n\n}  // namespace freezepipe\n"),
          context);
  }

  static void Write(const std::string& name, const std::string& text, GeneratorContext* context) {
    const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> out(context->Open(name));
    google::protobuf::io::CodedOutputStream(out.get()).WriteString(text);
  }
};

}  // namespace
}  // namespace freezepipe::schema

int main(int argc, char* argv[]) {
  const freezepipe::schema::SchemaGenerator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
