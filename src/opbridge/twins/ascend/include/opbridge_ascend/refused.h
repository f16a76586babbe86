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

OPBRIDGE_ASCEND_REFUSED(Mmad)
OPBRIDGE_ASCEND_REFUSED(LoadData)
OPBRIDGE_ASCEND_REFUSED(Fixpipe)
OPBRIDGE_ASCEND_REFUSED(Transpose)
OPBRIDGE_ASCEND_REFUSED(TransDataTo5HD)
OPBRIDGE_ASCEND_REFUSED(Sort)
OPBRIDGE_ASCEND_REFUSED(Sort32)
OPBRIDGE_ASCEND_REFUSED(MrgSort)
OPBRIDGE_ASCEND_REFUSED(TopK)
OPBRIDGE_ASCEND_REFUSED(Gatherb)
OPBRIDGE_ASCEND_REFUSED(Sin)
OPBRIDGE_ASCEND_REFUSED(Cos)
OPBRIDGE_ASCEND_REFUSED(Tan)
OPBRIDGE_ASCEND_REFUSED(Atan)
OPBRIDGE_ASCEND_REFUSED(Tanh)
OPBRIDGE_ASCEND_REFUSED(Power)
OPBRIDGE_ASCEND_REFUSED(Erf)
OPBRIDGE_ASCEND_REFUSED(Sigmoid)
OPBRIDGE_ASCEND_REFUSED(Gelu)
OPBRIDGE_ASCEND_REFUSED(Mean)
OPBRIDGE_ASCEND_REFUSED(BroadCast)
OPBRIDGE_ASCEND_REFUSED(SoftMax)
OPBRIDGE_ASCEND_REFUSED(LayerNorm)
OPBRIDGE_ASCEND_REFUSED(CrossCoreSetFlag)
OPBRIDGE_ASCEND_REFUSED(CrossCoreWaitFlag)
OPBRIDGE_ASCEND_REFUSED(SetCmpMask)
OPBRIDGE_ASCEND_REFUSED(SetDeqScale)
#undef OPBRIDGE_ASCEND_REFUSED

}  // namespace AscendC
#endif
