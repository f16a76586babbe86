// The host has not said how the product is divided.
extern "C" __global__ __aicore__ void empty_cube_tiling_kernel(GM_ADDR x) {
  using Side = MatmulType<TPosition::GM, CubeFormat::ND, half>;
  TPipe pipe;
  TCubeTiling tiling;
  Matmul<Side, Side, MatmulType<TPosition::GM, CubeFormat::ND, float>> matmul;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), matmul, &tiling);
}

extern "C" void empty_cube_tiling() { run(empty_cube_tiling_kernel, "empty_cube_tiling", 1); }

// Reported:
// ascend-twin: empty_cube_tiling: singleCoreM is 0 [bad-parameter]
//   where   broken/empty_cube_tiling.cpp:7, REGIST_MATMUL_OBJ on PIPE_S, block 0
//   expected more than 0: has the host given this tiling?
//   hint    split the instruction, or correct the parameter
