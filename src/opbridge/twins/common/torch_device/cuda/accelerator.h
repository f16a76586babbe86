// What PyTorch asks of a simulated cuda that is not the only accelerator of its process.
#ifndef OPBRIDGE_TORCH_DEVICE_CUDA_ACCELERATOR_H
#define OPBRIDGE_TORCH_DEVICE_CUDA_ACCELERATOR_H

namespace opbridge::simulated {

// PyTorch knows one accelerator, and where a device of a plugin's is registered (torch_npu's name for one), it is that.
// cuda counts as another all the same: gradients on it then look for streams that only the first one has, and PyTorch
// ends with `opt_ready_stream && opt_parent_stream INTERNAL ASSERT FAILED`.  The work of a simulated device is done
// when a call returns, so that it needs no streams there: beside another device it says that it is no accelerator.
void be_no_accelerator_beside_another();

}  // namespace opbridge::simulated

#endif
