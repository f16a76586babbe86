// The words of the language that the compiler for the NPU knows by itself.
#ifndef OPBRIDGE_ASCEND_QUALIFIERS_H
#define OPBRIDGE_ASCEND_QUALIFIERS_H

#include <opbridge/half.h>
#include <stdint.h>

// The architecture that kernels ask for: Atlas A2 and A3.
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __inout_pipe__(pipe)
#define __sync_noalias__
#define __sync_alias__
#define __vector__
#define __cube__
#define __mix__(...)

#define GM_ADDR __gm__ uint8_t*

using half = ob::half;
using bfloat16_t = ob::bfloat16;

// The hardware's queues of instructions.
enum pipe_t : uint8_t {
  PIPE_S = 0,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_FIX,
  PIPE_ALL,
};

enum event_t : int32_t {
  EVENT_ID0 = 0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7,
};

using TEventID = int8_t;

namespace AscendC {

// One set of names for positions in local memory, by either of its two names.
enum class TPosition : uint8_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM, SPM, TSCM, MAX };
using QuePosition = TPosition;

}  // namespace AscendC

#endif
