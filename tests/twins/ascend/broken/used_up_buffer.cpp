// A buffer that a reduction has used for itself is taken for what was in it before.
extern "C" __global__ __aicore__ void used_up_buffer_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffers[3];
  for (auto& buffer : buffers) pipe.InitBuffer(buffer, 256);
  auto ones = buffers[0].Get<float>(), twos = buffers[1].Get<float>(), sum = buffers[2].Get<float>();
  Duplicate(ones, 1.0f, 64);
  Duplicate(twos, 2.0f, 64);
  ReduceSum(sum, ones, twos, 64);
  Add(ones, ones, twos, 64);
  ones.GetValue(0);
}

extern "C" void used_up_buffer() { run(used_up_buffer_kernel, "used_up_buffer", 1); }

// Reported:
// ascend-twin: used_up_buffer: reads local memory that nothing has written [uninitialised-local]
//   where   broken/used_up_buffer.cpp:11, GetValue on PIPE_S, block 0
//   memory  first byte 0 of the 256 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   unknown since broken/used_up_buffer.cpp:9, ReduceSum on PIPE_V, which leaves it undefined
//   hint    copy or Duplicate something into the tensor first: it holds what was there before
