// One part of the kernel is for the core with the matrix unit, the other for those beside it.
extern "C" __global__ __aicore__ void two_parts_kernel(GM_ADDR x) {
  if ASCEND_IS_AIC {
    return;
  }
}

extern "C" void two_parts() { run(two_parts_kernel, "two_parts", 1); }

// Reported:
// ascend-twin: two_parts: the kernel asks on which of a block's cores it runs [bad-parameter]
//   where   broken/two_parts.cpp:3, ASCEND_IS_AIC or ASCEND_IS_AIV, block 0
//   expected KERNEL_TYPE_AIV_ONLY or KERNEL_TYPE_AIC_ONLY: the twin has no kernels in two parts
//   to do   split the instruction, or correct the parameter
