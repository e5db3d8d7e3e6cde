#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "worker/transport/group.h"

namespace freezepipe::worker {

/// Where another process of this machine finds a block: an open file of a process.
struct SharedAddress {
  int64_t process = 0;
  int64_t descriptor = 0;
};

/// Memory that two processes of one machine see. Anonymous: the kernel frees it with its last user,
/// however that one ends.
class SharedBlock {
 public:
  /// At least `bytes`, in use. Throws TransportError.
  static std::shared_ptr<SharedBlock> Create(size_t bytes);
  /// Null if there is no such block for this process to see.
  static std::shared_ptr<SharedBlock> Open(const SharedAddress& address);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  void* data() const;
  size_t capacity() const;
  SharedAddress address() const;
  /// Tells this block from others that once had the same address.
  int64_t identity() const;
  /// The side that created it marks it; the side that opened it gives it back.
  bool in_use() const;
  void SetInUse(bool in_use);

 private:
  SharedBlock(int descriptor, void* start, size_t bytes)
      : descriptor_(descriptor), start_(start), bytes_(bytes) {}

  const int descriptor_;  // -1 on the side that opened it
  void* const start_;
  const size_t bytes_;
};

/// The sending side: copies tensors into blocks, and uses a block again once its receiver has
/// dropped the tensor. There are as many blocks as tensors were ever on their way or in use at
/// once.
class SharedSender {
 public:
  /// `dense`: on the CPU. Throws TransportError.
  SharedAddress Put(const at::Tensor& dense);

 private:
  std::vector<std::shared_ptr<SharedBlock>> blocks_;
};

/// The receiving side: tensors that lie in the sender's blocks, without a copy. A tensor may
/// outlive this and the sender.
class SharedReceiver {
 public:
  /// Throws TransportError where the sender is gone.
  at::Tensor Take(const SharedAddress& address, at::IntArrayRef sizes, at::IntArrayRef strides,
                  at::ScalarType type);

 private:
  std::map<int64_t, std::shared_ptr<SharedBlock>> blocks_;  // by descriptor
};

/// Which of the peers (ranks of `group`) can see blocks of this process. All of them must ask at
/// the same time, each naming this one. Throws TransportError.
std::set<int> PeersSharingMemory(Group& group, const std::vector<int>& peers);

}  // namespace freezepipe::worker
