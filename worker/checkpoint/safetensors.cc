#include "worker/checkpoint/safetensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace freezepipe::worker::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

using Json = nlohmann::ordered_json;

/// The reference implementation's limit.
constexpr uint64_t kLargestHeader = 100'000'000;

struct TypeRow {
  const char* name;
  at::ScalarType type;
};
constexpr TypeRow kTypes[] = {{"F64", at::kDouble},    {"F32", at::kFloat}, {"F16", at::kHalf},
                              {"BF16", at::kBFloat16}, {"I64", at::kLong},  {"I32", at::kInt},
                              {"U8", at::kByte},       {"BOOL", at::kBool}};

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

at::ScalarType TypeOf(const std::string& name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) return row.type;
  }
  Fail("type " + name + " is not supported");
}

/// Bytes of a tensor. Refuses what overflows, also in the strides of a tensor without elements.
uint64_t ByteSize(at::ScalarType type, const std::vector<int64_t>& shape) {
  int64_t bytes = static_cast<int64_t>(at::elementSize(type));
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) Fail("negative extent");
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      Fail("shape too large");
    }
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

Entry ParseEntry(const std::string& name, const Json& json) {
  Entry entry;
  try {
    entry = {.name = name,
             .type = TypeOf(json.at("dtype").get<std::string>()),
             .shape = json.at("shape").get<std::vector<int64_t>>(),
             .begin = json.at("data_offsets").at(0).get<uint64_t>(),
             .end = json.at("data_offsets").at(1).get<uint64_t>()};
    if (entry.begin > entry.end || entry.end - entry.begin != ByteSize(entry.type, entry.shape)) {
      Fail("its offsets do not match its shape");
    }
  } catch (const std::exception& error) {
    Fail("damaged header: tensor \"" + name + "\": " + error.what());
  }
  return entry;
}

/// The tensors' bytes follow each other without gap or overlap and fill the file.
void CheckOffsets(const std::vector<Entry>& entries, uint64_t data_size) {
  std::vector<const Entry*> by_offset;
  for (const Entry& entry : entries) by_offset.push_back(&entry);
  std::sort(by_offset.begin(), by_offset.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t next = 0;
  for (const Entry* entry : by_offset) {
    if (entry->begin != next) Fail("damaged header: tensor \"" + entry->name + "\" leaves a gap");
    next = entry->end;
  }
  if (next > data_size) Fail("truncated: its header promises more bytes");
  if (next < data_size) Fail("longer than its header says");
}

}  // namespace

std::string TypeName(at::ScalarType type) {
  for (const TypeRow& row : kTypes) {
    if (type == row.type) return row.name;
  }
  Fail(std::string("type ") + c10::toString(type) + " cannot be stored");
}

uint64_t ParsePrefix(const char* prefix, uint64_t file_size) {
  uint64_t length = 0;
  std::memcpy(&length, prefix, kPrefixSize);
  if (length > kLargestHeader) Fail("not a safetensors file: header length out of range");
  if (length > file_size - kPrefixSize) Fail("truncated: shorter than its header");
  return length;
}

Header ParseHeader(const std::string& text, uint64_t file_size) {
  const Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) Fail("damaged header: not a JSON object");
  Header header{.entries = {}, .metadata = {}, .size = kPrefixSize + text.size()};
  for (const auto& [name, value] : json.items()) {
    if (name != "__metadata__") {
      header.entries.push_back(ParseEntry(name, value));
      continue;
    }
    if (!value.is_object()) Fail("damaged header: metadata is not a JSON object");
    for (const auto& [key, text_value] : value.items()) {
      if (!text_value.is_string()) Fail("damaged header: metadata \"" + key + "\" is not a string");
      header.metadata.emplace_back(key, text_value.get<std::string>());
    }
  }
  CheckOffsets(header.entries, file_size - header.size);
  return header;
}

Layout MakeLayout(const NamedTensors& tensors, const Metadata& metadata) {
  struct Placed {
    const std::string* name;
    at::Tensor tensor;
    uint64_t begin = 0;
  };
  std::vector<Placed> placed;
  for (const auto& [name, tensor] : tensors) {
    placed.push_back({&name, tensor.detach().cpu().contiguous()});
  }
  std::vector<Placed*> order;
  for (Placed& one : placed) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(), [](const Placed* a, const Placed* b) {
    return a->tensor.element_size() > b->tensor.element_size();
  });
  Layout layout;
  uint64_t offset = 0;
  for (Placed* one : order) {
    one->begin = offset;
    offset += one->tensor.nbytes();
    layout.tensors.push_back(one->tensor);
  }
  Json json = Json::object();
  if (!metadata.empty()) {
    for (const auto& [key, value] : metadata) json["__metadata__"][key] = value;
  }
  for (const Placed& one : placed) {
    if (json.contains(*one.name)) Fail("two tensors of the name \"" + *one.name + "\"");
    json[*one.name] = {{"dtype", TypeName(one.tensor.scalar_type())},
                       {"shape", one.tensor.sizes().vec()},
                       {"data_offsets", {one.begin, one.begin + one.tensor.nbytes()}}};
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  layout.header.assign(reinterpret_cast<const char*>(&length), kPrefixSize);
  layout.header += text;
  layout.file_size = layout.header.size() + offset;
  return layout;
}

Reader::Reader(const std::filesystem::path& path)
    : path_(path), in_(path, std::ios::binary | std::ios::ate) {
  if (!in_) Fail(path.string() + ": missing or not readable");
  try {
    const auto size = static_cast<uint64_t>(in_.tellg());
    char prefix[kPrefixSize];
    in_.seekg(0);
    if (size < kPrefixSize || !in_.read(prefix, kPrefixSize))
      Fail("truncated: shorter than its header");
    std::string json(ParsePrefix(prefix, size), '\0');
    if (!in_.read(json.data(), static_cast<std::streamsize>(json.size()))) Fail("read failed");
    header_ = ParseHeader(json, size);
  } catch (const std::runtime_error& error) {
    Fail(path.string() + ": " + error.what());
  }
}

const Entry* Reader::Find(const std::string& name) const {
  for (const Entry& entry : header_.entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

at::Tensor Reader::Read(const Entry& entry) {
  at::Tensor tensor = at::empty(entry.shape, entry.type);
  in_.seekg(static_cast<std::streamoff>(header_.size + entry.begin));
  if (!in_.read(static_cast<char*>(tensor.mutable_data_ptr()),
                static_cast<std::streamsize>(entry.end - entry.begin))) {
    Fail(path_.string() + ": read failed");
  }
  return tensor;
}

}  // namespace freezepipe::worker::safetensors
