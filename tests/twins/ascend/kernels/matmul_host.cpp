// What a host does before: it asks for a division, and hands it over.
#include "tiling/tiling_api.h"

using namespace matmul_tiling;

extern "C" long tile(void* to, int m, int n, int k, int element_bytes, int cores, int base, bool bias) {
  const DataType type = element_bytes == 4   ? DataType::DT_FLOAT
                        : element_bytes == 1 ? DataType::DT_INT8
                                             : DataType::DT_FLOAT16;
  MultiCoreMatmulTiling api;
  api.SetDim(cores);
  api.SetAType(TPosition::GM, CubeFormat::ND, type);
  api.SetBType(TPosition::GM, CubeFormat::ND, type);
  api.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  api.SetBiasType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  api.SetOrgShape(m, n, k);
  api.SetShape(m, n, k);
  api.SetBias(bias);
  if (base > 0) api.SetFixSplit(base, base, -1);
  optiling::TCubeTiling tiling;
  const long result = api.GetTiling(tiling);
  tiling.SaveToBuffer(to, tiling.GetDataSize());
  return result;
}

extern "C" long size_of_tiling() { return static_cast<long>(optiling::TCubeTiling().GetDataSize()); }
