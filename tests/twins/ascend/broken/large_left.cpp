// Two left matrices, each as large as L0A.
extern "C" __global__ __aicore__ void large_left_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::A2, 1> queue;
  pipe.InitBuffer(queue, 2, 64 * 1024);
}

extern "C" void large_left() { run(large_left_kernel, "large_left", 1); }

// Reported:
// ascend-twin: large_left: 2 buffers of 65536 bytes do not fit into L0A [local-budget]
//   where   broken/large_left.cpp:5, InitBuffer of A2, block 0
//   memory  0 of the 65536 bytes of Ascend910B are in use
//   hint    use smaller tiles or fewer buffers; OPBRIDGE_ASCEND_SOC names another chip
