// Atomic mode outlives the kernel.
extern "C" __global__ __aicore__ void atomic_mode_kernel(GM_ADDR x) {
  SetAtomicAdd<float>();
}

extern "C" void atomic_mode() { run(atomic_mode_kernel, "atomic_mode", 1); }

// Reported:
// ascend-twin: atomic_mode: the kernel ends in atomic mode [atomic-left-on]
//   where   block 0
//   hint    call SetAtomicNone() after the last atomic store: the mode outlives the kernel
