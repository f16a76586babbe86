// Tensors of a device as tensors of the CPU on the same memory, for the time of one call, and the results back.
#ifndef OPBRIDGE_TORCH_DEVICE_LENT_TENSORS_H
#define OPBRIDGE_TORCH_DEVICE_LENT_TENSORS_H

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "memory.h"

namespace opbridge::simulated {

// Tensors of the device as tensors of the CPU over the same bytes, for one call of a CPU kernel.
class LentTensors {
 public:
  explicit LentTensors(c10::Device device) : device_(device) {}

  // Maps a tensor for the CPU; a sparse tensor with its parts.
  at::Tensor lend(const at::Tensor& tensor, bool to_be_written = false);
  // Converts the result of a CPU kernel: a mapped tensor, a view of one, or a new tensor.
  at::Tensor give(const at::Tensor& result);
  // Takes over what the kernel did to tensors that it was to write: other sizes, and more memory for them.
  void settle();

 private:
  // Both tensors are kept: the kernel may resize the one, and the other then follows.
  struct Lent {
    at::Tensor own, lent;
    bool to_be_written;
  };
  // One for each storage, so that tensors that share memory share it after mapping, too.
  struct LentStorage {
    c10::Storage own, lent;
  };

  c10::Storage lend(const c10::Storage& storage);
  c10::Storage taken_over(const c10::Storage& made);

  const c10::Device device_;
  c10::SmallVector<Lent, 4> tensors_;
  c10::SmallVector<LentStorage, 4> storages_;
};

}  // namespace opbridge::simulated

#endif
