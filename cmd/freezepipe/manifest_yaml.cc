#include "cmd/freezepipe/manifest_yaml.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "operator/report/json.h"

namespace freezepipe::cli {
namespace {

void Emit(const nlohmann::ordered_json& value, YAML::Emitter& out) {
  switch (value.type()) {
    case nlohmann::ordered_json::value_t::object:
      out << (value.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (const auto& [name, member] : value.items()) {
        out << YAML::Key << name << YAML::Value;
        Emit(member, out);
      }
      out << YAML::EndMap;
      break;
    case nlohmann::ordered_json::value_t::array:
      out << (value.empty() || value[0].is_primitive() ? YAML::Flow : YAML::Block)
          << YAML::BeginSeq;
      for (const auto& item : value) Emit(item, out);
      out << YAML::EndSeq;
      break;
    case nlohmann::ordered_json::value_t::string:
      // Quoted: a string "true" or "1.0" must stay one.
      out << YAML::DoubleQuoted << value.get<std::string>();
      break;
    default:
      out << value.dump();
  }
}

}  // namespace

std::string ToYaml(const v1alpha1::FreezePipeJob& job) {
  YAML::Emitter out;
  Emit(nlohmann::ordered_json::parse(report::ToJson(job, report::JsonLayout::kOneLine)), out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace freezepipe::cli
