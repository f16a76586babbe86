#include <ATen/ATen.h>
#include <Python.h>
#include <torch/library.h>

#include "scale.h"

#if !MULADD_FROM_SETUP
#error "the flags of setup.py did not arrive"
#endif

// The module exists so that `from . import _C` loads this library, whose operators then register themselves.
extern "C" PyObject* PyInit__C(void) {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
  return PyModule_Create(&definition);
}

namespace {

at::Tensor mymuladd(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes(), "expected tensors of one shape, got ", a.sizes(), " and ", b.sizes());
  TORCH_CHECK(a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat, "expected tensors of floats");
  at::Tensor x = a.contiguous(), y = b.contiguous(), result = at::empty_like(x);
  const float *left = x.const_data_ptr<float>(), *right = y.const_data_ptr<float>();
  float* out = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = scaled(left[i], right[i]) + static_cast<float>(c);
  return result;
}

TORCH_LIBRARY(muladd_ext, m) { m.def("mymuladd(Tensor a, Tensor b, float c) -> Tensor"); }
TORCH_LIBRARY_IMPL(muladd_ext, CPU, m) { m.impl("mymuladd", &mymuladd); }

}  // namespace
