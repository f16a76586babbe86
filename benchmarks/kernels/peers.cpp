// leaky_relu as one writes it for PyTorch by hand, in each of the ways PyTorch offers, and what their parts cost.
#include <torch/extension.h>

namespace {

template <class F>
at::Tensor map_floats(const at::Tensor& like, const F& f) {
  at::Tensor out = at::empty_like(like);
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, out.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = f(i);
  });
  return out;
}

at::Tensor forward(const at::Tensor& x, double slope) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.is_contiguous(), "expected contiguous floats");
  const float* from = x.const_data_ptr<float>();
  const float below = static_cast<float>(slope);
  return map_floats(x, [=](int64_t i) { return from[i] > 0 ? from[i] : from[i] * below; });
}

at::Tensor backward(const at::Tensor& grad, const at::Tensor& x, double slope) {
  TORCH_CHECK(grad.is_contiguous() && x.is_contiguous(), "expected contiguous floats");
  const float* of_grad = grad.const_data_ptr<float>();
  const float* from = x.const_data_ptr<float>();
  const float below = static_cast<float>(slope);
  return map_floats(x, [=](int64_t i) { return from[i] > 0 ? of_grad[i] : of_grad[i] * below; });
}

using Forward = at::Tensor(const at::Tensor&, double);

// PyTorch's tutorial on C++ operators: an autograd::Function on the Autograd key, which calls the operator again below.
struct LeakyRelu : torch::autograd::Function<LeakyRelu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, double slope) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x});
    context->saved_data["slope"] = slope;
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("bench_peers::leaky_relu_autograd", "").typed<Forward>();
    return op.call(x, slope);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    return {::backward(grads[0], context->get_saved_variables()[0], context->saved_data["slope"].toDouble()),
            at::Tensor()};
  }
};

at::Tensor differentiable(const at::Tensor& x, double slope) { return LeakyRelu::apply(x, slope); }

at::Tensor give_back(const at::Tensor& x) { return x; }

at::Tensor add_nothing(const at::Tensor& x, const at::Tensor&, double) { return x; }

template <class F>
double seconds_each(int64_t times, const F& f) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < times; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

double seconds_of_empty(int64_t times) {
  return seconds_each(times, [] { at::empty({4}, at::kFloat); });
}

double seconds_of_dispatch(int64_t times, const at::Tensor& x) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("bench_peers::give_back", "")
                             .typed<at::Tensor(const at::Tensor&)>();
  return seconds_each(times, [&] { op.call(x); });
}

double seconds_of_registering(int64_t count) {
  static int64_t libraries = 0;
  const std::string name = "bench_peers_" + std::to_string(libraries++);
  // Never freed: operators outlive the measurement.
  auto* library = new torch::Library(torch::Library::DEF, name, std::nullopt, __FILE__, __LINE__);
  int64_t next = 0;
  return count * seconds_each(count, [&] {
           const std::string op = "op_" + std::to_string(next++);
           library->def((op + "(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor").c_str());
           library->impl(op.c_str(), torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(add_nothing)));
         });
}

}  // namespace

TORCH_LIBRARY(bench_peers, m) {
  m.def("leaky_relu(Tensor x, float slope=0.01) -> Tensor");
  m.def("leaky_relu_autograd(Tensor x, float slope=0.01) -> Tensor");
  m.def("give_back(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(bench_peers, CPU, m) {
  m.impl("leaky_relu", forward);
  m.impl("leaky_relu_autograd", forward);
  m.impl("give_back", give_back);
}

TORCH_LIBRARY_IMPL(bench_peers, Autograd, m) { m.impl("leaky_relu_autograd", differentiable); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", forward);
  m.def("backward", backward);
  m.def("seconds_of_empty", seconds_of_empty);
  m.def("seconds_of_dispatch", seconds_of_dispatch);
  m.def("seconds_of_registering", seconds_of_registering);
}
