// PyTorch's header of this name, whose class gets the is_cpu() that tensors and devices have (see
// opbridge_twin/torch.h), and converts to its dtype as it did when AT_DISPATCH_FLOATING_TYPES(x.type(), ...) was
// written.
#ifndef OPBRIDGE_TWIN_ATEN_DEPRECATED_TYPE_PROPERTIES_H
#define OPBRIDGE_TWIN_ATEN_DEPRECATED_TYPE_PROPERTIES_H

#define is_cuda()                                                                  \
  is_cpu() const { return backendToDeviceType(backend_) == c10::DeviceType::CPU; } \
  operator c10::ScalarType() const { return scalar_type_; }                        \
  bool is_cuda()
#include_next <ATen/core/DeprecatedTypeProperties.h>
#undef is_cuda

#endif
