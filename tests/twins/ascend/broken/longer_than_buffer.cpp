// One element more than the buffer has.
extern "C" __global__ __aicore__ void longer_than_buffer_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  Duplicate(buffer.Get<float>(), 1.0f, 17);
}

extern "C" void longer_than_buffer() { run(longer_than_buffer_kernel, "longer_than_buffer", 1); }

// Reported:
// ascend-twin: longer_than_buffer: write of 68 bytes out of a local tensor's bounds [out-of-bounds]
//   where   broken/longer_than_buffer.cpp:6, Duplicate on PIPE_V, block 0
//   memory  from byte 0 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   hint    compare offset and count with the tensor's size; the last tile is often shorter
