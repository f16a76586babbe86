// DataCopy moves whole blocks of 32 bytes only.
extern "C" __global__ __aicore__ void part_of_a_block_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(buffer, 128);
  DataCopy(buffer.Get<float>(), all, 9);
}

extern "C" void part_of_a_block() { run(part_of_a_block_kernel, "part_of_a_block", 1); }

// Reported:
// ascend-twin: part_of_a_block: bytes to copy is 36 [bad-parameter]
//   where   broken/part_of_a_block.cpp:8, DataCopy on PIPE_MTE2, block 0
//   expected a multiple of 32; DataCopyPad copies any number
//   hint    split the instruction, or correct the parameter
