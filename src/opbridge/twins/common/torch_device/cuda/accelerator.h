// What PyTorch asks of a simulated cuda that is not the only accelerator of its process.
#ifndef OPBRIDGE_TORCH_DEVICE_CUDA_ACCELERATOR_H
#define OPBRIDGE_TORCH_DEVICE_CUDA_ACCELERATOR_H

namespace opbridge::simulated {

// PyTorch supports one accelerator.  A registered plugin device, such as that of torch_npu, is this one, and yet cuda
// counts as another: gradients on it look for streams that only the first device has, and PyTorch ends with
// `opt_ready_stream && opt_parent_stream INTERNAL ASSERT FAILED`.  The work of a simulated device is complete when a
// call returns, so it needs no streams there: next to another device, it declares that it is not an accelerator.
void be_no_accelerator_beside_another();

}  // namespace opbridge::simulated

#endif
