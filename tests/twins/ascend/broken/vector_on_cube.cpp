// A vector instruction in a kernel for cores that have a matrix unit alone.
extern "C" __global__ __aicore__ void vector_on_cube_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  if ASCEND_IS_AIC {
    Duplicate(buffer.Get<float>(), 1.0f, 16);
  }
}

extern "C" void vector_on_cube() {
  opbridge_ascend::launch("vector_on_cube", 1, [] { vector_on_cube_kernel(nullptr); }, opbridge_ascend::Cores::cube);
}

// Reported:
// ascend-twin: vector_on_cube: a vector instruction on a core with a matrix unit alone [bad-parameter]
//   where   broken/vector_on_cube.cpp:7, Duplicate on PIPE_V, block 0
//   expected a kernel that is not KERNEL_TYPE_AIC_ONLY
//   hint    split the instruction, or correct the parameter
