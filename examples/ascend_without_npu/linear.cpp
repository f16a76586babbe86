// out = x @ weight + bias: each core multiplies its part of the product, as the tiling of the host divides it.
#include <opbridge/kernel.h>

#include "lib/matmul_intf.h"
#include "tiling/tiling_api.h"

using namespace AscendC;

template <class T>
__global__ __aicore__ void linear_kernel(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR out, TCubeTiling tiling) {
  if (GetBlockIdx() >= tiling.usedCoreNum) return;
  const int32_t down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
  const int32_t row = GetBlockIdx() % down * tiling.singleCoreM;
  const int32_t column = GetBlockIdx() / down * tiling.singleCoreN;
  GlobalTensor<T> left, right, to;
  GlobalTensor<float> addend;
  left.SetGlobalBuffer((__gm__ T*)x, tiling.M * tiling.Ka);
  right.SetGlobalBuffer((__gm__ T*)weight, tiling.Kb * tiling.N);
  addend.SetGlobalBuffer((__gm__ float*)bias, tiling.N);
  to.SetGlobalBuffer((__gm__ T*)out, tiling.M * tiling.N);

  TPipe pipe;
  using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, T>;
  Matmul<Matrix, Matrix, Matrix, MatmulType<TPosition::GM, CubeFormat::ND, float>> matmul;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), matmul, &tiling);
  matmul.SetTensorA(left[row * tiling.Ka]);
  matmul.SetTensorB(right[column]);
  matmul.SetBias(addend[column]);
  const int32_t rows = tiling.M - row, columns = tiling.N - column;
  matmul.SetTail(rows < tiling.singleCoreM ? rows : tiling.singleCoreM,
                 columns < tiling.singleCoreN ? columns : tiling.singleCoreN);
  matmul.IterateAll(to[row * tiling.N + column]);
  matmul.End();
}

template <class T>
void linear(ob::In<T> x, ob::In<T> weight, ob::In<float> bias, ob::Out<T> out, int64_t blocks, ob::Context context) {
  using matmul_tiling::CubeFormat;
  using Position = matmul_tiling::TPosition;
  constexpr auto type = sizeof(T) == 2 ? matmul_tiling::DataType::DT_FLOAT16 : matmul_tiling::DataType::DT_FLOAT;
  matmul_tiling::MultiCoreMatmulTiling api;
  api.SetDim(2 * blocks);  // two vector cores per block
  api.SetAType(Position::GM, CubeFormat::ND, type);
  api.SetBType(Position::GM, CubeFormat::ND, type);
  api.SetCType(Position::GM, CubeFormat::ND, type);
  api.SetBiasType(Position::GM, CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
  api.SetOrgShape(x.size(0), weight.size(1), x.size(1));
  api.SetShape(x.size(0), weight.size(1), x.size(1));
  api.SetBias(true);
  TCubeTiling tiling;
  if (api.GetTiling(tiling) != 0) return;
  linear_kernel<T><<<blocks, nullptr, context.stream()>>>((GM_ADDR)x.data(), (GM_ADDR)weight.data(),
                                                          (GM_ADDR)bias.data(), (GM_ADDR)out.data(), tiling);
}
OB_KERNEL(linear, half, float)
