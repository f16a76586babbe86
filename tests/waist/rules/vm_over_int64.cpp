// rule_vm.h over plain numbers, behind two C functions, for test_vm.py.
#include <cstdio>

#include "rule_vm.h"

namespace {

struct Tensor {
  int64_t rank;
  const int64_t* sizes;
  int64_t dtype;
};

struct Argument {
  bool none;
  int64_t count;
  const Tensor* tensors;
  const int64_t* ints;
  const double* floats;
  const char* text;
};

struct Env {
  const Argument* arguments;

  int64_t rank(int arg, int item) const { return arguments[arg].tensors[item].rank; }
  int64_t dim(int arg, int item, int64_t k) const { return arguments[arg].tensors[item].sizes[k]; }
  int dtype(int arg, int item) const { return static_cast<int>(arguments[arg].tensors[item].dtype); }
  bool is_none(int arg) const { return arguments[arg].none; }
  int64_t length(int arg) const { return arguments[arg].count; }
  int64_t int_value(int arg) const { return arguments[arg].ints[0]; }
  double float_value(int arg) const { return arguments[arg].floats[0]; }
  bool bool_value(int arg) const { return arguments[arg].ints[0] != 0; }
  int64_t list_item(int arg, int64_t k) const { return arguments[arg].ints[k]; }
  double float_item(int arg, int64_t k) const { return arguments[arg].floats[k]; }
  bool bool_item(int arg, int64_t k) const { return arguments[arg].ints[k] != 0; }
  int dtype_value(int arg) const { return static_cast<int>(arguments[arg].ints[0]); }
  std::string_view string_value(int arg) const { return arguments[arg].text; }
};

}  // namespace

// The rank, with the sizes in `sizes` and the dtype's code in `dtype`; -1 and a message where the rule fails.
extern "C" int64_t run_rule(const int64_t* words, size_t n, const Argument* arguments, int64_t* sizes, int64_t most,
                            int64_t* dtype, char* message, size_t message_size) {
  const Env env{arguments};
  try {
    opbridge::SmallShape<int64_t> shape;
    opbridge::evaluate_shape(words, n, env, shape);
    *dtype = opbridge::evaluate_dtype<int64_t>(words, n, env);
    for (size_t i = 0; i < shape.size() && static_cast<int64_t>(i) < most; ++i) sizes[i] = shape[i];
    return static_cast<int64_t>(shape.size());
  } catch (const opbridge::RuleFailure& failure) {
    std::snprintf(message, message_size, "%s", failure.what());
    return -1;
  }
}

extern "C" int promoted(int a, int b) { return opbridge::promoted(a, b); }

extern "C" const char* dtypes() {
#define OB_DTYPE_TEXT(code, name, bytes) #name " "
  return OB_FOR_EACH_DTYPE(OB_DTYPE_TEXT);
}
