// The kernel says itself what it expects.
extern "C" __global__ __aicore__ void assertion_kernel(GM_ADDR x) { ASSERT(GetBlockNum() > 1 && "two blocks at least"); }

extern "C" void assertion() { run(assertion_kernel, "assertion", 1); }

// Reported:
// ascend-twin: assertion: ASSERT(GetBlockNum() > 1 && "two blocks at least") does not hold [assertion]
//   where   broken/assertion.cpp:2, block 0
//   hint    check the kernel's inputs: its own assertion failed
