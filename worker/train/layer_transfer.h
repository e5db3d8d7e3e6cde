#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "worker/checkpoint/layer_state.h"
#include "worker/transport/group.h"

namespace freezepipe::worker {

struct LayerMove {
  int layer = 0;
  int from = 0;
  int to = 0;
};

/// Carries out this rank's part of the moves, by ranks of the group: sends `held` layers, gives
/// those received. The bytes are hashed by the sender and checked on arrival. Throws
/// TransportError, std::runtime_error (hash).
std::map<int, LayerState> MoveLayers(Group& group, const std::vector<LayerMove>& moves,
                                     const std::map<int, LayerState>& held,
                                     int64_t* bytes_received);

}  // namespace freezepipe::worker
