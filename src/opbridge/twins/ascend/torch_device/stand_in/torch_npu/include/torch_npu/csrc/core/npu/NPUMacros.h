// Stands for torch_npu's header of this name.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUMACROS_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUMACROS_H

#define C10_NPU_API
#define TORCH_NPU_API

#endif
