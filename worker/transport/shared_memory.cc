#include "worker/transport/shared_memory.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <random>
#include <string>

namespace freezepipe::worker {
namespace {

/// At the start of every block; the data follow, aligned as tensors are.
struct alignas(64) Head {
  int64_t identity = 0;
  std::atomic<uint32_t> in_use{1};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

constexpr int kProbeTag = 91;
constexpr int kVerdictTag = 92;

TransportError LastError(const std::string& what) {
  return TransportError("shared memory: " + what + ": " + std::strerror(errno));
}

}  // namespace

std::shared_ptr<SharedBlock> SharedBlock::Create(size_t bytes) {
  const int descriptor = memfd_create("freezepipe", MFD_CLOEXEC);
  if (descriptor < 0) throw LastError("memfd_create");
  const size_t whole = sizeof(Head) + bytes;
  void* start = MAP_FAILED;
  if (ftruncate(descriptor, static_cast<off_t>(whole)) == 0) {
    start = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (start == MAP_FAILED) {
    const auto error = LastError("a block of " + std::to_string(bytes) + " bytes");
    close(descriptor);
    throw error;
  }
  std::random_device random;
  new (start) Head{.identity = static_cast<int64_t>(random()) << 32 | random()};
  return std::shared_ptr<SharedBlock>(new SharedBlock(descriptor, start, whole));
}

std::shared_ptr<SharedBlock> SharedBlock::Open(const SharedAddress& address) {
  const auto path =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat file {};
  void* start = MAP_FAILED;
  if (fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) &&
      static_cast<size_t>(file.st_size) > sizeof(Head)) {
    start = mmap(nullptr, file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  if (start == MAP_FAILED) return nullptr;
  return std::shared_ptr<SharedBlock>(new SharedBlock(-1, start, file.st_size));
}

SharedBlock::~SharedBlock() {
  munmap(start_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

void* SharedBlock::data() const { return static_cast<char*>(start_) + sizeof(Head); }
size_t SharedBlock::capacity() const { return bytes_ - sizeof(Head); }
SharedAddress SharedBlock::address() const {
  return {.process = getpid(), .descriptor = descriptor_};
}
int64_t SharedBlock::identity() const { return static_cast<Head*>(start_)->identity; }
bool SharedBlock::in_use() const {
  return static_cast<Head*>(start_)->in_use.load(std::memory_order_acquire) != 0;
}
void SharedBlock::SetInUse(bool in_use) {
  static_cast<Head*>(start_)->in_use.store(in_use ? 1 : 0, std::memory_order_release);
}

SharedAddress SharedSender::Put(const at::Tensor& dense) {
  const size_t bytes = dense.nbytes();
  std::shared_ptr<SharedBlock> block;
  for (const auto& candidate : blocks_) {
    if (candidate->capacity() >= bytes && !candidate->in_use()) {
      block = candidate;
      break;
    }
  }
  if (block == nullptr) block = blocks_.emplace_back(SharedBlock::Create(bytes));
  block->SetInUse(true);
  std::memcpy(block->data(), dense.const_data_ptr(), bytes);
  return block->address();
}

at::Tensor SharedReceiver::Take(const SharedAddress& address, at::IntArrayRef sizes,
                                at::IntArrayRef strides, at::ScalarType type) {
  auto& block = blocks_[address.descriptor];
  if (block == nullptr) block = SharedBlock::Open(address);
  if (block == nullptr) throw TransportError("the sender's shared memory is gone");
  return at::from_blob(
      block->data(), sizes, strides, [block](void*) { block->SetInUse(false); },
      at::TensorOptions().dtype(type));
}

std::set<int> PeersSharingMemory(Group& group, const std::vector<int>& peers) {
  const auto probe = SharedBlock::Create(1);
  const auto address = probe->address();
  const auto mine = at::tensor({address.process, address.descriptor, probe->identity()}, at::kLong);
  const auto exchange = [&](int tag, const std::vector<at::Tensor>& sent) {
    std::vector<at::Tensor> received;
    std::vector<Handle> handles;
    for (size_t i = 0; i < peers.size(); ++i) {
      handles.push_back(group.Send(sent[i], peers[i], tag));
      received.push_back(at::empty_like(sent[i]));
      handles.push_back(group.Receive(received.back(), peers[i], tag));
    }
    for (auto& handle : handles) handle.Wait();
    return received;
  };
  std::vector<at::Tensor> verdicts;
  for (const auto& theirs : exchange(kProbeTag, std::vector<at::Tensor>(peers.size(), mine))) {
    const auto* values = theirs.const_data_ptr<int64_t>();
    // A process of the same number elsewhere has no block of this identity.
    const auto block = SharedBlock::Open({.process = values[0], .descriptor = values[1]});
    const bool seen = block != nullptr && block->identity() == values[2];
    verdicts.push_back(at::tensor({int64_t{seen}}, at::kLong));
  }
  std::set<int> sharing;
  const auto answers = exchange(kVerdictTag, verdicts);
  for (size_t i = 0; i < peers.size(); ++i) {
    if (answers[i].const_data_ptr<int64_t>()[0] != 0) sharing.insert(peers[i]);
  }
  return sharing;
}

}  // namespace freezepipe::worker
