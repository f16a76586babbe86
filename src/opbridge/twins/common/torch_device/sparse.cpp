#include "sparse.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

#include "row.h"

namespace opbridge::simulated {
namespace {

template <class Impl>
Impl& impl_of(const at::Tensor& tensor) {
  return *static_cast<Impl*>(tensor.unsafeGetTensorImpl());
}

}  // namespace

at::Tensor sparse_like(const at::Tensor& tensor, c10::Device device, ForPart part) {
  const bool here = device.type() == kDevice;
  at::Tensor made;
  if (tensor.layout() == at::kSparse) {
    made = at::detail::make_tensor<at::SparseTensorImpl>(
        c10::DispatchKeySet(here ? kSparseKey : c10::DispatchKey::SparseCPU), tensor.dtype());
  } else {
    made = at::detail::make_tensor<at::SparseCsrTensorImpl>(
        c10::DispatchKeySet(here ? kSparseCsrKey : c10::DispatchKey::SparseCsrCPU), device, tensor.layout(),
        tensor.dtype());
  }
  set_parts(made, tensor, part);
  return made;
}

void set_parts(const at::Tensor& tensor, const at::Tensor& like, ForPart part) {
  if (like.layout() == at::kSparse) {
    const auto& from = impl_of<at::SparseTensorImpl>(like);
    auto& to = impl_of<at::SparseTensorImpl>(tensor);
    to.raw_resize_(from.sparse_dim(), from.dense_dim(), from.sizes());
    to.set_indices_and_values_unsafe(part(from.indices()), part(from.values()));
    to.set_coalesced(from.coalesced());
  } else {
    auto& from = impl_of<at::SparseCsrTensorImpl>(like);
    impl_of<at::SparseCsrTensorImpl>(tensor).set_member_tensors(
        part(from.compressed_indices()), part(from.plain_indices()), part(from.values()), from.sizes());
  }
}

}  // namespace opbridge::simulated
