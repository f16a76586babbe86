// More than the unified buffer holds.
extern "C" __global__ __aicore__ void large_buffers_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> queue;
  pipe.InitBuffer(queue, 2, 100 * 1024);
}

extern "C" void large_buffers() { run(large_buffers_kernel, "large_buffers", 1); }

// Reported:
// ascend-twin: large_buffers: 2 buffers of 102400 bytes do not fit into the unified buffer [local-budget]
//   where   broken/large_buffers.cpp:5, InitBuffer of VECIN, block 0
//   memory  0 of the 196608 bytes of Ascend910B are in use
//   hint    use smaller tiles or fewer buffers; OPBRIDGE_ASCEND_SOC names another chip
