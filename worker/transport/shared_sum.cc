#include "worker/transport/shared_sum.h"

#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace freezepipe::worker {

SharedSum::SharedSum(Group& group, int64_t count, at::ScalarType type) : group_(group) {
  const int64_t bytes = count * static_cast<int64_t>(at::elementSize(type));
  const auto mine = SharedBlock::Create(2 * bytes);
  const SharedAddress address = mine->address();
  const auto addresses =
      group.AllGather(at::tensor({address.process, address.descriptor}, at::kLong));
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto* values = addresses.const_data_ptr<int64_t>() + 2 * rank;
    const auto block = rank == group.rank()
                           ? mine
                           : SharedBlock::Open({.process = values[0], .descriptor = values[1]});
    if (block == nullptr) throw TransportError("a replica's shared memory is gone");
    for (int place = 0; place < 2; ++place) {
      places_[place].push_back(at::from_blob(
          static_cast<char*>(block->data()) + place * bytes, {count}, [block](void*) {},
          at::TensorOptions().dtype(type)));
    }
  }
  group.Barrier();  // nobody goes on, or away, before all have opened its block
}

Handle SharedSum::Publish() { return group_.AllReduce(at::zeros({1}, at::kLong)); }

void SharedSum::SumInto(const at::Tensor& result, int64_t begin) const {
  const auto part = [&](int rank) { return places_[turn_][rank].narrow(0, begin, result.numel()); };
  at::Tensor flat = result.view({-1});
  at::add_out(flat, part(0), part(1));
  for (int rank = 2; rank < group_.size(); ++rank) flat.add_(part(rank));
}

}  // namespace freezepipe::worker
