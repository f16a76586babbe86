#include "lent_tensors.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <string.h>

#include "sparse.h"

namespace opbridge::simulated {
namespace {

using c10::StorageImpl;

// Memory that belongs to another storage, and keeps that alive.
c10::DataPtr borrowed(void* address, const c10::Storage& owner, c10::Device device) {
  c10::Storage kept = owner;
  const auto let_go = [](void* held) {
    c10::intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl*>(held)).reset();
  };
  return {address, kept.unsafeReleaseStorageImpl(), let_go, device};
}

c10::Storage storage_of(c10::DataPtr data, size_t bytes, c10::Allocator* allocator) {
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), bytes, std::move(data), allocator,
                                          allocator != nullptr);
}

at::Tensor tensor_like(const at::Tensor& tensor, c10::Storage storage, c10::DispatchKey key) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), tensor.dtype());
  c10::TensorImpl& impl = *made.unsafeGetTensorImpl();
  impl.set_storage_offset(tensor.storage_offset());
  impl.set_sizes_and_strides(tensor.sizes(), tensor.strides());
  if (tensor.is_conj()) impl._set_conj(true);
  if (tensor.is_neg()) impl._set_neg(true);
  return made;
}

}  // namespace

c10::Storage LentTensors::lend(const c10::Storage& storage) {
  for (const LentStorage& known : storages_)
    if (known.own.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return known.lent;
  auto lent = storage_of(borrowed(in_window(storage.data()), storage, c10::Device(c10::DeviceType::CPU)),
                         storage.nbytes(), c10::GetCPUAllocator());
  storages_.push_back({storage, lent});
  return lent;
}

at::Tensor LentTensors::lend(const at::Tensor& tensor, bool to_be_written) {
  const auto part = [&](const at::Tensor& one) { return lend(one, to_be_written); };
  at::Tensor lent = tensor.layout() == at::kStrided ? tensor_like(tensor, lend(tensor.storage()), c10::DispatchKey::CPU)
                                                    : sparse_like(tensor, c10::Device(c10::DeviceType::CPU), part);
  tensors_.push_back({tensor, lent, to_be_written});
  return lent;
}

void LentTensors::settle() {
  for (const LentStorage& pair : storages_) {
    if (pair.lent.data() == in_window(pair.own.data()) && pair.lent.nbytes() == pair.own.nbytes()) continue;
    StorageImpl& own = *pair.own.unsafeGetStorageImpl();
    const c10::Storage grown = storage_of(
        pair.lent.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU))),
        pair.lent.nbytes(), nullptr);
    own.set_data_ptr_noswap(borrowed(on_device(grown.data()), grown, own.device()));
    own.set_nbytes(grown.nbytes());
  }
  for (const Lent& pair : tensors_) {
    if (pair.own.layout() != at::kStrided) {
      if (pair.to_be_written) set_parts(pair.own, pair.lent, [&](const at::Tensor& part) { return give(part); });
      continue;
    }
    c10::TensorImpl& own = *pair.own.unsafeGetTensorImpl();
    if (own.sizes() != pair.lent.sizes() || own.strides() != pair.lent.strides())
      own.set_sizes_and_strides(pair.lent.sizes(), pair.lent.strides());
    if (pair.to_be_written) mark_written(pair.own);
  }
}

c10::Storage LentTensors::taken_over(const c10::Storage& made) {
  for (const LentStorage& known : storages_)
    if (known.lent.unsafeGetStorageImpl() == made.unsafeGetStorageImpl()) return known.own;
  c10::Storage own;
  if (made.nbytes() == 0) {
    own = storage_of(c10::DataPtr(nullptr, device_), 0, &device_memory());
  } else if (is_in_window(made.data_ptr())) {
    own = storage_of(borrowed(on_device(made.data()), made, device_), made.nbytes(), &device_memory());
  } else {
    // The tensor may come from a library with a separate allocator, or from another thread.
    const c10::DeviceGuard guard(device_);
    own = storage_of(device_memory().allocate(made.nbytes()), made.nbytes(), &device_memory());
    memcpy(in_window(own.data()), made.data(), made.nbytes());
  }
  if (made.nbytes() > 0) mark_written(own.data(), own.nbytes());
  storages_.push_back({own, made});
  return own;
}

at::Tensor LentTensors::give(const at::Tensor& result) {
  if (!result.defined() || result.device().type() == kDevice) return result;
  for (const Lent& pair : tensors_)
    if (pair.lent.is_same(result)) return pair.own;
  TORCH_CHECK_NOT_IMPLEMENTED(result.layout() != at::kMkldnn, "the simulated ", kName, " has no ", result.layout(),
                              " tensors; move the input to the CPU first, by .cpu()");
  if (result.layout() != at::kStrided)
    return sparse_like(result, device_, [&](const at::Tensor& part) { return give(part); });
  return tensor_like(result, taken_over(result.storage()), kKey);
}

}  // namespace opbridge::simulated
