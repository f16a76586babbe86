// One part of the kernel is for the core with the matrix unit, the other for those beside it.
extern "C" __global__ __aicore__ void two_parts_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  if ASCEND_IS_AIC {
    CrossCoreSetFlag<0, PIPE_FIX>(1);
  }
  if ASCEND_IS_AIV {
    Duplicate(buffer.Get<float>(), 1.0f, 16);
  }
}

extern "C" void two_parts() { run(two_parts_kernel, "two_parts", 1); }

// Reported:
// ascend-twin: two_parts: the kernel has a part of its own for cores with a matrix unit [bad-parameter]
//   where   broken/two_parts.cpp:7, CrossCoreSetFlag on PIPE_FIX, block 0
//   expected KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) or _1_1, which says how many vector cores go with one
//   hint    split the instruction, or correct the parameter
