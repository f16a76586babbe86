// Instructions that the twin does not have: a call of one does not compile, and says why.
#ifndef OPBRIDGE_ASCEND_REFUSED_H
#define OPBRIDGE_ASCEND_REFUSED_H

namespace AscendC {
namespace detail {

template <class...>
constexpr bool never = false;

}  // namespace detail

#define OPBRIDGE_ASCEND_REFUSED(Name)                                                                    \
  template <class... Arguments>                                                                          \
  void Name(Arguments&&...) {                                                                            \
    static_assert(detail::never<Arguments...>,                                                           \
                  "opbridge's Ascend twin has no " #Name                                                 \
                  " yet; docs/ascend.md lists what it has.  Compute it by instructions that are there"); \
  }

OPBRIDGE_ASCEND_REFUSED(CastDeq)
OPBRIDGE_ASCEND_REFUSED(AddReluCast)
OPBRIDGE_ASCEND_REFUSED(SubReluCast)
OPBRIDGE_ASCEND_REFUSED(MulCast)
OPBRIDGE_ASCEND_REFUSED(AddDeqRelu)
OPBRIDGE_ASCEND_REFUSED(VecPadding)
OPBRIDGE_ASCEND_REFUSED(BilinearInterpolation)
OPBRIDGE_ASCEND_REFUSED(RpSort16)
OPBRIDGE_ASCEND_REFUSED(MrgSort4)
OPBRIDGE_ASCEND_REFUSED(ProposalConcat)
OPBRIDGE_ASCEND_REFUSED(ProposalExtract)
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
OPBRIDGE_ASCEND_REFUSED(IBSet)
OPBRIDGE_ASCEND_REFUSED(IBWait)
OPBRIDGE_ASCEND_REFUSED(InitDetermineComputeWorkspace)
OPBRIDGE_ASCEND_REFUSED(WaitPreBlock)
OPBRIDGE_ASCEND_REFUSED(NotifyNextBlock)
OPBRIDGE_ASCEND_REFUSED(SetNextTaskStart)
OPBRIDGE_ASCEND_REFUSED(WaitPreTaskEnd)
OPBRIDGE_ASCEND_REFUSED(DumpTensor)
OPBRIDGE_ASCEND_REFUSED(DumpAccChkPoint)
OPBRIDGE_ASCEND_REFUSED(ICachePreLoad)
OPBRIDGE_ASCEND_REFUSED(DataCachePreload)
OPBRIDGE_ASCEND_REFUSED(Trap)
#undef OPBRIDGE_ASCEND_REFUSED

}  // namespace AscendC
#endif
