// A member of the kernel's class is added to before it has a value.
class Summing {
 public:
  __aicore__ inline void Init(GM_ADDR x, uint32_t n) {
    from_.SetGlobalBuffer((__gm__ float*)x, n);
    pipe_.InitBuffer(buffer_, n * sizeof(float));
    count_ = n;
  }
  __aicore__ inline void Process() {
    auto sums = buffer_.Get<float>();
    for (uint32_t i = 0; i < count_; ++i) {
      sum_ += from_.GetValue(i);
      sums.SetValue(i, 2 * sum_);
    }
  }

 private:
  TPipe pipe_;
  TBuf<TPosition::VECCALC> buffer_;
  GlobalTensor<float> from_;
  uint32_t count_;
  float sum_;
};

extern "C" __global__ __aicore__ void unset_member_kernel(GM_ADDR x) {
  Summing kernel;
  kernel.Init(x, 8);
  kernel.Process();
}

extern "C" void unset_member() { run(unset_member_kernel, "unset_member", 1); }

// Reported:
// ascend-twin: unset_member: a number is made of a C++ variable that nothing was assigned to [unset-variable]
//   where   broken/unset_member.cpp:13, SetValue on PIPE_S, block 0
//   hint    give each variable of the kernel and of its classes a value where it is declared
