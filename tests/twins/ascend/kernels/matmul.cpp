// Matmul, as kernels of several cores use it: each multiplies its part, and the last parts may be smaller.
#include "lib/matmul_intf.h"
#include "tikicpulib.h"

using namespace AscendC;
using namespace matmul;

template <class T, class Out, class Bias, CubeFormat format>
__aicore__ inline void product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling, bool transpose_a,
                               bool transpose_b) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  if (GetBlockIdx() >= t.usedCoreNum) return;
  const uint32_t down = (t.M + t.singleCoreM - 1) / t.singleCoreM;
  const uint32_t row = GetBlockIdx() % down * t.singleCoreM, column = GetBlockIdx() / down * t.singleCoreN;
  GlobalTensor<T> left, right;
  GlobalTensor<Bias> addend;
  GlobalTensor<Out> to;
  left.SetGlobalBuffer((__gm__ T*)a, t.M * t.Ka);
  right.SetGlobalBuffer((__gm__ T*)b, t.Kb * t.N);
  addend.SetGlobalBuffer((__gm__ Bias*)bias, t.N);
  to.SetGlobalBuffer((__gm__ Out*)c, t.M * t.N);

  TPipe pipe;
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>,
         MatmulType<TPosition::GM, format, Out>, MatmulType<TPosition::GM, CubeFormat::ND, Bias>>
      matmul;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), matmul, &t);
  matmul.SetTensorA(transpose_a ? left[row] : left[row * t.Ka], transpose_a);
  matmul.SetTensorB(transpose_b ? right[column * t.Kb] : right[column], transpose_b);
  if (t.isBias) matmul.SetBias(addend[column]);
  const int32_t rows = t.M - row, columns = t.N - column;
  matmul.SetTail(rows < t.singleCoreM ? rows : t.singleCoreM, columns < t.singleCoreN ? columns : t.singleCoreN);
  matmul.IterateAll(to[row * t.N + column]);
  matmul.End();
}

#define PRODUCT(name, T, Out, Bias)                                                                                  \
  extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling,          \
                                             bool transpose_a, bool transpose_b) {                                   \
    product<T, Out, Bias, CubeFormat::ND>(a, b, bias, c, tiling, transpose_a, transpose_b);                          \
  }                                                                                                                  \
  extern "C" void run_##name(uint32_t blocks, void* a, void* b, void* bias, void* c, void* tiling, bool transpose_a, \
                             bool transpose_b) {                                                                     \
    ICPU_RUN_KF(name, blocks, (GM_ADDR)a, (GM_ADDR)b, (GM_ADDR)bias, (GM_ADDR)c, (GM_ADDR)tiling, transpose_a,       \
                transpose_b);                                                                                        \
  }

PRODUCT(half_float, half, float, float)
PRODUCT(half_half, half, half, float)
PRODUCT(bfloat16_float, bfloat16_t, float, float)
PRODUCT(float_float, float, float, float)
PRODUCT(int8_int32, int8_t, int32_t, int32_t)

// Each block of the product goes through the unified buffer, where a vector instruction follows: relu(a b).
extern "C" __global__ __aicore__ void with_relu(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  if (GetBlockIdx() != 0) return;
  GlobalTensor<half> left, right;
  GlobalTensor<float> to;
  left.SetGlobalBuffer((__gm__ half*)a, t.M * t.Ka);
  right.SetGlobalBuffer((__gm__ half*)b, t.Kb * t.N);
  to.SetGlobalBuffer((__gm__ float*)c, t.M * t.N);
  TPipe pipe;
  TQue<TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, t.baseM * t.baseN * sizeof(float));
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
         MatmulType<TPosition::VECIN, CubeFormat::ND, float>>
      matmul;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), matmul, &t);
  matmul.SetTensorA(left);
  matmul.SetTensorB(right);
  const uint32_t down = t.M / t.baseM;
  for (uint32_t block = 0; matmul.Iterate(); ++block) {
    auto part = queue.AllocTensor<float>();
    matmul.GetTensorC(part);
    Relu(part, part, t.baseM * t.baseN);
    queue.EnQue(part);
    auto stored = queue.DeQue<float>();
    const uint32_t row = block % down * t.baseM, column = block / down * t.baseN;
    const DataCopyParams rows{static_cast<uint16_t>(t.baseM), static_cast<uint16_t>(t.baseN * sizeof(float) / 32), 0,
                              static_cast<uint16_t>((t.N - t.baseN) * sizeof(float) / 32)};
    DataCopy(to[row * t.N + column], stored, rows);
    queue.FreeTensor(stored);
  }
  matmul.End();
}

// Sums of int8_t become halves by one factor, or by those of their columns.
extern "C" __global__ __aicore__ void quantised(GM_ADDR a, GM_ADDR b, GM_ADDR factors, GM_ADDR c, GM_ADDR tiling,
                                                uint64_t factor) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  if (GetBlockIdx() != 0) return;
  GlobalTensor<int8_t> left, right;
  GlobalTensor<uint64_t> of_columns;
  GlobalTensor<half> to;
  left.SetGlobalBuffer((__gm__ int8_t*)a, t.M * t.Ka);
  right.SetGlobalBuffer((__gm__ int8_t*)b, t.Kb * t.N);
  of_columns.SetGlobalBuffer((__gm__ uint64_t*)factors, t.N);
  to.SetGlobalBuffer((__gm__ half*)c, t.M * t.N);
  TPipe pipe;
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, int8_t>, MatmulType<TPosition::GM, CubeFormat::ND, int8_t>,
         MatmulType<TPosition::GM, CubeFormat::ND, half>>
      matmul;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), matmul, &t);
  if (factors != nullptr) matmul.SetQuantVector(of_columns);
  if (factor != 0) matmul.SetQuantScalar(factor);
  matmul.SetTensorA(left);
  matmul.SetTensorB(right);
  matmul.IterateAll(to);
  matmul.End();
}

// a in columns of fractals, and the product added to what is there.
extern "C" __global__ __aicore__ void of_fractals(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  if (GetBlockIdx() != 0) return;
  GlobalTensor<half> left, right;
  GlobalTensor<float> to;
  left.SetGlobalBuffer((__gm__ half*)a, t.M * t.Ka);
  right.SetGlobalBuffer((__gm__ half*)b, t.Kb * t.N);
  to.SetGlobalBuffer((__gm__ float*)c, t.M * t.N);
  TPipe pipe;
  Matmul<MatmulType<TPosition::GM, CubeFormat::NZ, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
         MatmulType<TPosition::GM, CubeFormat::NZ, float>>
      matmul;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), matmul);
  matmul.Init(&t);
  matmul.SetTensorA(left);
  matmul.SetTensorB(right);
  matmul.IterateAll(to, 1);
  matmul.End();
}
