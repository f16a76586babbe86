// Where the load begins, nobody has said: the offset is -1.
class Loading {
 public:
  __aicore__ inline void Init(GM_ADDR x) {
    from_.SetGlobalBuffer((__gm__ float*)x, 64);
    pipe_.InitBuffer(buffer_, 64);
  }
  __aicore__ inline void Process() { DataCopy(buffer_.Get<float>(), from_[offset_], 16); }

 private:
  TPipe pipe_;
  TBuf<TPosition::VECCALC> buffer_;
  GlobalTensor<float> from_;
  int32_t offset_;
};

extern "C" __global__ __aicore__ void unset_offset_kernel(GM_ADDR x) {
  Loading kernel;
  kernel.Init(x);
  kernel.Process();
}

extern "C" void unset_offset() { run(unset_offset_kernel, "unset_offset", 1); }

// Reported:
// ascend-twin: unset_offset: read of 64 bytes out of a global tensor's bounds [out-of-bounds]
//   where   broken/unset_offset.cpp:8, DataCopy on PIPE_MTE2, block 0
//   address 0x…, byte -4 of the 256 bytes of GmAlloc's memory
//   hint    compare offset and count with the tensor's size; the last tile is often shorter
