#include "ms_extension/api.h"

class LeakyRelu : public ms::pynative::PyboostRunner {
 public:
  using PyboostRunner::PyboostRunner;

  void LaunchKernel() override {
    const auto* x = static_cast<const float*>(inputs()[0].GetDataPtr());
    auto* out = static_cast<float*>(outputs()[0].GetDataPtr());
    for (size_t i = 0; i < inputs()[0].numel(); ++i) out[i] = x[i] > 0 ? x[i] : slope * x[i];
  }

  static ms::Tensor run(const ms::Tensor& x, double slope) {
    auto out = ms::Tensor(x.data_type(), x.shape());
    auto runner = std::make_shared<LeakyRelu>("LeakyRelu");
    runner->slope = static_cast<float>(slope);
    runner->Run({x}, {out});
    return out;
  }

 private:
  float slope = 0;
};

PYBIND11_MODULE(MS_EXTENSION_NAME, m) {
  m.def("leaky_relu", [](const ms::Tensor& x, double slope) {
    return ms::pynative::PyboostRunner::Call<1>(LeakyRelu::run, x, slope);
  });
}
