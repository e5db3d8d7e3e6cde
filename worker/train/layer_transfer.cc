#include "worker/train/layer_transfer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace freezepipe::worker {
namespace {

constexpr int kMoveTag = 1000;

int SizeTag(const LayerMove& move) { return kMoveTag + 2 * move.layer; }
int BytesTag(const LayerMove& move) { return SizeTag(move) + 1; }

}  // namespace

std::map<int, LayerState> MoveLayers(Group& group, const std::vector<LayerMove>& moves,
                                     const std::map<int, LayerState>& held,
                                     int64_t* bytes_received) {
  std::map<int, at::Tensor> encoded;
  std::vector<Handle> sends;
  for (const auto& move : moves) {
    if (move.from != group.rank()) continue;
    auto [place, fresh] = encoded.try_emplace(move.layer);
    if (fresh) place->second = Encode(held.at(move.layer));
    sends.push_back(
        group.Send(at::full({1}, place->second.numel(), at::kLong), move.to, SizeTag(move)));
    sends.push_back(group.Send(place->second, move.to, BytesTag(move)));
  }
  std::map<int, LayerState> received;
  for (const auto& move : moves) {
    if (move.to != group.rank()) continue;
    auto size = at::empty({1}, at::kLong);
    group.Receive(size, move.from, SizeTag(move)).Wait();
    auto bytes = at::empty({size.item<int64_t>()}, at::kByte);
    group.Receive(bytes, move.from, BytesTag(move)).Wait();
    *bytes_received += bytes.numel();
    received[move.layer] = Decode(bytes);
  }
  for (auto& send : sends) send.Wait();
  return received;
}

}  // namespace freezepipe::worker
