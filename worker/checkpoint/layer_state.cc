#include "worker/checkpoint/layer_state.h"

#include <ATen/ops/empty.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "files/durable_file.h"
#include "worker/checkpoint/or_throw.h"
#include "worker/checkpoint/safetensors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freezepipe::worker {
namespace {

using safetensors::Entry;
using safetensors::Header;
using safetensors::Layout;
using safetensors::Metadata;

constexpr char kLayer[] = "layer";
constexpr char kStep[] = "step";
constexpr char kHash[] = "xxh3";

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

std::string_view BytesOf(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

Metadata MetadataOf(const LayerState& state) {
  return {{kLayer, state.layer},
          {kStep, std::to_string(state.step)},
          {kHash, std::to_string(Hash(state))}};
}

template <typename Number>
Number Parse(const std::string& text, const char* key) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    Fail(std::string("damaged header: metadata \"") + key + "\" is not a number");
  }
  return value;
}

/// Layer state from a file's header and a way to read each tensor; checks the hash.
template <typename ReadTensor>
LayerState Assemble(const Header& header, ReadTensor read) {
  const auto metadata = [&header](const char* key) -> const std::string& {
    for (const auto& [name, value] : header.metadata) {
      if (name == key) return value;
    }
    Fail(std::string("not the state of a layer: no metadata \"") + key + '"');
  };
  LayerState state{
      .layer = metadata(kLayer), .step = Parse<int>(metadata(kStep), kStep), .tensors = {}};
  for (const Entry& entry : header.entries) state.tensors.emplace_back(entry.name, read(entry));
  if (Hash(state) != Parse<uint64_t>(metadata(kHash), kHash)) {
    Fail("damaged: the hash of layer " + state.layer + " at step " + std::to_string(state.step) +
         " is wrong");
  }
  return state;
}

void WriteLayout(const std::filesystem::path& path, const Layout& layout) {
  std::vector<std::string_view> pieces = {layout.header};
  for (const at::Tensor& tensor : layout.tensors) pieces.push_back(BytesOf(tensor));
  OrThrow(files::WriteDurably(path, pieces));
}

}  // namespace

at::Tensor Encode(const LayerState& state) {
  const Layout layout = safetensors::MakeLayout(state.tensors, MetadataOf(state));
  at::Tensor bytes = at::empty({static_cast<int64_t>(layout.file_size)}, at::kByte);
  auto* to = bytes.mutable_data_ptr<uint8_t>();
  const auto append = [&to](std::string_view piece) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  };
  append(layout.header);
  for (const at::Tensor& tensor : layout.tensors) append(BytesOf(tensor));
  return bytes;
}

LayerState Decode(const at::Tensor& bytes) {
  const at::Tensor contiguous = bytes.cpu().contiguous();
  const std::string_view all = BytesOf(contiguous);
  if (all.size() < safetensors::kPrefixSize) Fail("truncated: shorter than its header");
  const uint64_t length = safetensors::ParsePrefix(all.data(), all.size());
  const Header header = safetensors::ParseHeader(
      std::string(all.substr(safetensors::kPrefixSize, length)), all.size());
  return Assemble(header, [&](const Entry& entry) {
    at::Tensor tensor = at::empty(entry.shape, entry.type);
    if (entry.end > entry.begin) {
      std::memcpy(tensor.mutable_data_ptr(), all.data() + header.size + entry.begin,
                  entry.end - entry.begin);
    }
    return tensor;
  });
}

uint64_t Hash(const LayerState& state) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> hash(XXH3_createState(),
                                                                             XXH3_freeState);
  XXH3_64bits_reset(hash.get());
  const auto add = [&hash](const void* data, size_t size) {
    XXH3_64bits_update(hash.get(), data, size);
  };
  // Texts and shapes come with their length, so that no two states run into the same bytes.
  const auto add_text = [&add](const std::string& text) {
    const uint64_t size = text.size();
    add(&size, sizeof(size));
    add(text.data(), text.size());
  };
  for (const auto& [name, tensor] : state.tensors) {
    const at::Tensor contiguous = tensor.detach().cpu().contiguous();
    add_text(name);
    add_text(safetensors::TypeName(contiguous.scalar_type()));
    const int64_t dimensions = contiguous.dim();
    add(&dimensions, sizeof(dimensions));
    add(contiguous.sizes().data(), contiguous.sizes().size() * sizeof(int64_t));
    add(contiguous.const_data_ptr(), contiguous.nbytes());
  }
  return XXH3_64bits_digest(hash.get());
}

void WriteLayerState(const std::filesystem::path& path, const LayerState& state) {
  WriteLayout(path, safetensors::MakeLayout(state.tensors, MetadataOf(state)));
}

LayerState ReadLayerState(const std::filesystem::path& path) {
  safetensors::Reader reader(path);
  try {
    return Assemble(reader.header(), [&reader](const Entry& entry) { return reader.Read(entry); });
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    Fail(what.starts_with(path.string()) ? what : path.string() + ": " + what);
  }
}

std::vector<std::pair<std::string, at::Tensor>> ReadSafetensors(const std::filesystem::path& path) {
  safetensors::Reader reader(path);
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const Entry& entry : reader.header().entries) {
    tensors.emplace_back(entry.name, reader.Read(entry));
  }
  return tensors;
}

void WriteSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  WriteLayout(path, safetensors::MakeLayout(tensors, metadata));
}

}  // namespace freezepipe::worker
