// Instructions that the twin does not have: a call of one does not compile, and says why.
#ifndef OPBRIDGE_ASCEND_REFUSED_H
#define OPBRIDGE_ASCEND_REFUSED_H

#include <stdint.h>

#include "qualifiers.h"

namespace AscendC {
namespace detail {

template <class...>
constexpr bool never = false;

}  // namespace detail

#define OPBRIDGE_ASCEND_REFUSED(Name)                                                                            \
  template <class... Arguments>                                                                                  \
  void Name(Arguments&&...) {                                                                                    \
    static_assert(detail::never<Arguments...>,                                                                   \
                  "opbridge's Ascend twin has no " #Name                                                         \
                  " yet; docs/ascend-support.md lists what it has.  Compute it by instructions that are there"); \
  }

OPBRIDGE_ASCEND_REFUSED(CastDeq)
OPBRIDGE_ASCEND_REFUSED(AddReluCast)
OPBRIDGE_ASCEND_REFUSED(SubReluCast)
OPBRIDGE_ASCEND_REFUSED(MulCast)
OPBRIDGE_ASCEND_REFUSED(AddDeqRelu)
OPBRIDGE_ASCEND_REFUSED(VecPadding)
OPBRIDGE_ASCEND_REFUSED(BilinearInterpolation)
OPBRIDGE_ASCEND_REFUSED(Interleave)
OPBRIDGE_ASCEND_REFUSED(DeInterleave)
OPBRIDGE_ASCEND_REFUSED(Subs)
OPBRIDGE_ASCEND_REFUSED(Divs)
OPBRIDGE_ASCEND_REFUSED(Ands)
OPBRIDGE_ASCEND_REFUSED(Ors)
OPBRIDGE_ASCEND_REFUSED(Mull)
OPBRIDGE_ASCEND_REFUSED(Prelu)
OPBRIDGE_ASCEND_REFUSED(Truncate)
OPBRIDGE_ASCEND_REFUSED(ConfusionTranspose)
OPBRIDGE_ASCEND_REFUSED(LogSoftMax)
OPBRIDGE_ASCEND_REFUSED(SoftmaxFlash)
OPBRIDGE_ASCEND_REFUSED(SoftmaxFlashV3)
OPBRIDGE_ASCEND_REFUSED(AdjustSoftMaxRes)
OPBRIDGE_ASCEND_REFUSED(BatchNorm)
OPBRIDGE_ASCEND_REFUSED(DeepNorm)
OPBRIDGE_ASCEND_REFUSED(GroupNorm)
OPBRIDGE_ASCEND_REFUSED(Normalize)
OPBRIDGE_ASCEND_REFUSED(LayerNormGrad)
OPBRIDGE_ASCEND_REFUSED(LayerNormGradBeta)
OPBRIDGE_ASCEND_REFUSED(WelfordUpdate)
OPBRIDGE_ASCEND_REFUSED(WelfordFinalize)
OPBRIDGE_ASCEND_REFUSED(AscendQuant)
OPBRIDGE_ASCEND_REFUSED(AscendDequant)
OPBRIDGE_ASCEND_REFUSED(AscendAntiQuant)
OPBRIDGE_ASCEND_REFUSED(ReduceXorSum)
OPBRIDGE_ASCEND_REFUSED(DropOut)
OPBRIDGE_ASCEND_REFUSED(Digamma)
OPBRIDGE_ASCEND_REFUSED(Where)
OPBRIDGE_ASCEND_REFUSED(Pad)
OPBRIDGE_ASCEND_REFUSED(LoadDataWithSparse)
OPBRIDGE_ASCEND_REFUSED(LoadImageToLocal)
OPBRIDGE_ASCEND_REFUSED(MmadWithSparse)
OPBRIDGE_ASCEND_REFUSED(BroadCastVecToMM)
OPBRIDGE_ASCEND_REFUSED(Gemm)
OPBRIDGE_ASCEND_REFUSED(Conv2D)
OPBRIDGE_ASCEND_REFUSED(SetFixPipeConfig)
OPBRIDGE_ASCEND_REFUSED(SetFixpipeNz2ndFlag)
OPBRIDGE_ASCEND_REFUSED(SetFixpipePreQuantFlag)
OPBRIDGE_ASCEND_REFUSED(SetLoadDataBoundary)
OPBRIDGE_ASCEND_REFUSED(SetLoadDataRepeat)
OPBRIDGE_ASCEND_REFUSED(SetLoadDataPaddingValue)
OPBRIDGE_ASCEND_REFUSED(SetHF32Mode)
OPBRIDGE_ASCEND_REFUSED(SetMMLayoutTransform)
OPBRIDGE_ASCEND_REFUSED(InitDetermineComputeWorkspace)
OPBRIDGE_ASCEND_REFUSED(WaitPreBlock)
OPBRIDGE_ASCEND_REFUSED(NotifyNextBlock)
OPBRIDGE_ASCEND_REFUSED(SetNextTaskStart)
OPBRIDGE_ASCEND_REFUSED(WaitPreTaskEnd)
OPBRIDGE_ASCEND_REFUSED(DumpAccChkPoint)
OPBRIDGE_ASCEND_REFUSED(ICachePreLoad)
OPBRIDGE_ASCEND_REFUSED(DataCachePreload)
OPBRIDGE_ASCEND_REFUSED(Trap)
OPBRIDGE_ASCEND_REFUSED(SetPadValue)
OPBRIDGE_ASCEND_REFUSED(LoadDataUnzip)
OPBRIDGE_ASCEND_REFUSED(LoadUnzipIndex)
OPBRIDGE_ASCEND_REFUSED(SetFixPipeClipRelu)
OPBRIDGE_ASCEND_REFUSED(SetFixPipeAddr)
OPBRIDGE_ASCEND_REFUSED(InitConstValue)
OPBRIDGE_ASCEND_REFUSED(SetAippFunctions)
OPBRIDGE_ASCEND_REFUSED(SetHF32TransMode)
OPBRIDGE_ASCEND_REFUSED(SetMMRowMajor)
OPBRIDGE_ASCEND_REFUSED(SetMMColumnMajor)
OPBRIDGE_ASCEND_REFUSED(SetCtrlSpr)
OPBRIDGE_ASCEND_REFUSED(GetCtrlSpr)
OPBRIDGE_ASCEND_REFUSED(ResetCtrlSpr)
OPBRIDGE_ASCEND_REFUSED(GetProgramCounter)
OPBRIDGE_ASCEND_REFUSED(GetArchVersion)
OPBRIDGE_ASCEND_REFUSED(GetICachePreloadStatus)
OPBRIDGE_ASCEND_REFUSED(CheckLocalMemoryIA)
OPBRIDGE_ASCEND_REFUSED(SetStoreAtomicConfig)
OPBRIDGE_ASCEND_REFUSED(GetStoreAtomicConfig)
OPBRIDGE_ASCEND_REFUSED(GetReduceMaxMinCount)
OPBRIDGE_ASCEND_REFUSED(Async)
OPBRIDGE_ASCEND_REFUSED(Fill)
OPBRIDGE_ASCEND_REFUSED(TransData)
OPBRIDGE_ASCEND_REFUSED(PrintTimeStamp)
OPBRIDGE_ASCEND_REFUSED(MetricsProfStart)
OPBRIDGE_ASCEND_REFUSED(MetricsProfStop)
OPBRIDGE_ASCEND_REFUSED(Conv3D)
OPBRIDGE_ASCEND_REFUSED(Rint)
OPBRIDGE_ASCEND_REFUSED(IsNan)
OPBRIDGE_ASCEND_REFUSED(IsInf)
OPBRIDGE_ASCEND_REFUSED(IsFinite)
OPBRIDGE_ASCEND_REFUSED(LogicalNot)
OPBRIDGE_ASCEND_REFUSED(LogicalAnd)
OPBRIDGE_ASCEND_REFUSED(LogicalOr)
OPBRIDGE_ASCEND_REFUSED(LogicalXor)
OPBRIDGE_ASCEND_REFUSED(BitwiseNot)
OPBRIDGE_ASCEND_REFUSED(BitwiseAnd)
OPBRIDGE_ASCEND_REFUSED(BitwiseOr)
OPBRIDGE_ASCEND_REFUSED(BitwiseXor)
OPBRIDGE_ASCEND_REFUSED(Hypot)
OPBRIDGE_ASCEND_REFUSED(SinCos)
OPBRIDGE_ASCEND_REFUSED(Clamp)
OPBRIDGE_ASCEND_REFUSED(Quantize)
OPBRIDGE_ASCEND_REFUSED(Dequantize)
OPBRIDGE_ASCEND_REFUSED(AntiQuantize)
#undef OPBRIDGE_ASCEND_REFUSED

// Classes, of which no object can be made.
#define OPBRIDGE_ASCEND_REFUSED_CLASS(Name)                                                                   \
  struct Name {                                                                                               \
    template <class Nothing = void>                                                                           \
    Name() {                                                                                                  \
      static_assert(detail::never<Nothing>,                                                                   \
                    "opbridge's Ascend twin has no " #Name " yet; docs/ascend-support.md lists what it has"); \
    }                                                                                                         \
  };

OPBRIDGE_ASCEND_REFUSED_CLASS(ListTensorDesc)
OPBRIDGE_ASCEND_REFUSED_CLASS(GroupBarrier)
OPBRIDGE_ASCEND_REFUSED_CLASS(Hccl)
#undef OPBRIDGE_ASCEND_REFUSED_CLASS

#define OPBRIDGE_ASCEND_REFUSED_TEMPLATE(Name, ...)                                                         \
  template <__VA_ARGS__>                                                                                    \
  struct Name {                                                                                             \
    static_assert(detail::never<First>,                                                                     \
                  "opbridge's Ascend twin has no " #Name " yet; docs/ascend-support.md lists what it has"); \
  };

OPBRIDGE_ASCEND_REFUSED_TEMPLATE(TensorTrait, class First, auto position = TPosition::MAX, class Layout = void)
OPBRIDGE_ASCEND_REFUSED_TEMPLATE(TBufPool, TPosition position, uint32_t buffers = 4, class First = void)
#undef OPBRIDGE_ASCEND_REFUSED_TEMPLATE

}  // namespace AscendC
#endif
