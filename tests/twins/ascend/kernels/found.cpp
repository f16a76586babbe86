// Kernels in the ways in which public ones are written; each returns what a host can check.
#define __aicore__ [aicore]
#include "ascendc/basic_api/kernel_operator.h"
#include "kernel_utils.h"
#include "lib/matmul_intf.h"
#include "platform/platform_ascendc.h"
#include "register/tilingdata_base.h"

BEGIN_TILING_DATA_DEF(FoundTiling)
TILING_DATA_FIELD_DEF(uint32_t, length)
TILING_DATA_FIELD_DEF(float, factor)
END_TILING_DATA_DEF

constexpr MatmulConfig kConfig = GetNormalConfig();
using Left = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, float, true, LayoutMode::NONE, true>;

class Scale {
 public:
  // The tiling is no const, and no name of the interface is made visible.
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, FoundTiling* tiling) {
    ASSERT(AscendC::GetBlockNum() != 0 && "block dim can not be zero!");
    tiling_ = tiling;
    from_.SetGlobalBuffer((__gm__ float*)x, tiling->length);
    to_.SetGlobalBuffer((__gm__ float*)y, tiling->length);
    pipe_.InitBuffer(buffer_, AlignUp(tiling->length, AscendC::B32_DATA_NUM_PER_BLOCK) * AscendC::B32_BYTE_SIZE);
  }
  __aicore__ inline void Run() {
    auto local = buffer_.Get<float>();
    const uint32_t bytes = min(tiling_->length, 1000) * AscendC::B32_BYTE_SIZE;
    DataCopyPad(local, from_, {1, static_cast<uint16_t>(bytes), 0, 0}, {});
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::SetVectorMask<float>(AscendC::FULL_MASK, AscendC::FULL_MASK);
    Muls<float, false>(local, local, tiling_->factor, AscendC::MASK_PLACEHOLDER,
                       DivCeil(tiling_->length, AscendC::ONE_REPEAT_FLOAT_SIZE), {1, 1, 8, 8});
    AscendC::PipeBarrier<PIPE_ALL>();
    if (likely(bytes > 0)) DataCopyPad(to_, local, {1, bytes, 0, 0, 0});
  }

 private:
  FoundTiling* tiling_ = nullptr;
  AscendC::TPipe pipe_;
  AscendC::TBuf<> buffer_;
  AscendC::GlobalTensor<float> from_, to_;

  static uint32_t AlignUp(uint32_t value, uint32_t to) { return AscendC::Ceil(value, to) * to; }
  template <class A>
  static uint32_t DivCeil(A value, uint32_t by) {
    return AscendC::DivCeil(value, by);
  }
};

// What the build knows by the operator's name in a project.
REGISTER_TILING_DEFAULT(FoundTiling);

extern "C" __global__ __aicore__ void hypot(GM_ADDR x, GM_ADDR y, uint32_t blockDim, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  if ASCEND_IS_AIV {
    if (GetSysWorkSpacePtr() == nullptr || blockDim == 0) return;
    Scale scale;
    scale.Init(x, y, &data);
    if (AscendC::GetBlockIdx() == 0) scale.Run();
  }
}

#define FOUND_KERNEL(T)                                                      \
  extern "C" __global__ __aicore__ void first_of_##T(GM_ADDR x, GM_ADDR y) { \
    AscendC::GlobalTensor<T> from, to;                                       \
    from.SetGlobalBuffer((__gm__ T*)x);                                      \
    to.SetGlobalBuffer((__gm__ T*)y);                                        \
    to.SetValue(0, max(from.GetValue(0), from.GetValue(1)));                 \
  }
#define FOUND_LAUNCH(T) first_of_##T<<<1, nullptr, nullptr>>>((GM_ADDR)x, (GM_ADDR)y)
FOUND_KERNEL(float)
FOUND_KERNEL(int32_t)

extern "C" uint32_t vector_cores() { return platform_ascendc::PlatformAscendCManager::GetInstance()->GetCoreNumAiv(); }

// Who uses the namespace of Matmul sees the rest through it.
namespace through_matmul {
using namespace matmul;
static_assert(Ceil(65, TOTAL_VEC_LOCAL_SIZE / 2944) == 2, "184 KiB");
}  // namespace through_matmul

extern "C" void first_of_floats(void* x, void* y) { FOUND_LAUNCH(float); }
extern "C" void first_of_numbers(void* x, void* y) { FOUND_LAUNCH(int32_t); }
