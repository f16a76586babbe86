// Stands for torch_npu's header of this name.
#pragma once

#define C10_NPU_API
#define TORCH_NPU_API
