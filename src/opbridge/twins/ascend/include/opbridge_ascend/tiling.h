// How a kernel gets the numbers that its host has worked out, and the words that describe it to the build.
#ifndef OPBRIDGE_ASCEND_TILING_H
#define OPBRIDGE_ASCEND_TILING_H

#include <string.h>

#include "launch.h"
#include "machine.h"

namespace opbridge_ascend {

template <class Tiling>
Tiling tiling_from(const void* memory, Place at = Place::here()) {
  if (registers().checked) check_tiling(memory, sizeof(Tiling), at);
  Instruction("GET_TILING_DATA", PIPE_S, at).reads(Global{}, memory, sizeof(Tiling));
  Tiling tiling;
  memcpy(&tiling, memory, sizeof tiling);
  return tiling;
}

}  // namespace opbridge_ascend

#define REGISTER_TILING_DEFAULT(Tiling) using REGISTER_TILING_DEFAULT_names_the_struct = Tiling
// Says to the vendor's build what GET_TILING_DATA_WITH_STRUCT says again.
#define REGISTER_TILING_FOR_TILINGKEY(expression, Tiling) static_assert(sizeof(Tiling) > 0, "a struct of " expression)
#define GET_TILING_DATA(name, address) \
  auto name = ::opbridge_ascend::tiling_from<REGISTER_TILING_DEFAULT_names_the_struct>(address)
#define GET_TILING_DATA_WITH_STRUCT(Tiling, name, address) auto name = ::opbridge_ascend::tiling_from<Tiling>(address)
#define GET_TILING_DATA_MEMBER(Tiling, member, name, address) \
  auto name = ::opbridge_ascend::tiling_from<Tiling>(address).member
// The copy is as long as the thing: a tiling struct, or an array in one.
#define COPY_TILING_WITH_STRUCT(Type, from, to) memcpy(static_cast<void*>(to), (const void*)(from), sizeof(Type))
#define COPY_TILING_WITH_ARRAY(Type, size, from, to) \
  memcpy(static_cast<void*>(to), (const void*)(from), sizeof(Type) * (size))
#define TILING_KEY_IS(key) (::opbridge_ascend::tiling_key() == static_cast<uint64_t>(key))

// Which cores a kernel runs on, and how many vector cores go with a cube core.
enum KernelTaskType {
  KERNEL_TYPE_AIV_ONLY,
  KERNEL_TYPE_AICORE,
  KERNEL_TYPE_MIX_AIV_1_0,
  KERNEL_TYPE_AIC_ONLY,
  KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1,
  KERNEL_TYPE_MIX_AIC_1_2,
};
namespace opbridge_ascend {

constexpr Cores cores_of(KernelTaskType type) {
  switch (type) {
    case KERNEL_TYPE_AIV_ONLY:
    case KERNEL_TYPE_MIX_AIV_1_0:
      return Cores::vector;
    case KERNEL_TYPE_AIC_ONLY:
    case KERNEL_TYPE_MIX_AIC_1_0:
      return Cores::cube;
    case KERNEL_TYPE_MIX_AIC_1_2:
      return Cores::mixed;
    case KERNEL_TYPE_MIX_AIC_1_1:
      return Cores::mixed_with_one;
    default:
      return Cores::unsaid;
  }
}

}  // namespace opbridge_ascend

// How many cores a block has follows from it, which is read from the kernel's text before it runs.
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert((type) <= KERNEL_TYPE_MIX_AIC_1_2, "a type of kernels")
#define KERNEL_TASK_TYPE(key, type) KERNEL_TASK_TYPE_DEFAULT(type)

namespace AscendC {

// The twin has no workspace of the system's, so all of it is the user's.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
inline void SetSysWorkspace(GM_ADDR) {}
inline void SetSysWorkspaceForce(GM_ADDR) {}
// Kernels ask whether there is one, and give up where there is none.
inline GM_ADDR GetSysWorkSpacePtr() {
  static uint8_t none = 0;
  return &none;
}

}  // namespace AscendC

using AscendC::GetSysWorkSpacePtr;
#endif
