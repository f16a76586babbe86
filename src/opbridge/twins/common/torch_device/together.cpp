// What is compiled as one: PyTorch's headers take longer than all of these files, and are read once for them.
#include "device.cpp"
#include "fallback.cpp"
#include "gradients.cpp"
#include "kernels.cpp"
#include "lent_tensors.cpp"
#include "memory.cpp"
#include "module.cpp"
#include "recurrent.cpp"
#include "sparse.cpp"
#ifdef OPBRIDGE_SIMULATES_CUDA
#include "cuda/accelerator.cpp"
#include "cuda/operator_record.cpp"
#include "cuda/own_bindings.cpp"
#include "cuda/twin.cpp"
#else
#include "npu/autocast.cpp"
#include "npu/own_bindings.cpp"
#include "npu/twin.cpp"
#endif
