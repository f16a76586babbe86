// How the library of an operator project serves its callers: in two phases as hosts of aclnn call it, and at once for
// opbridge's operators.
#ifndef OPBRIDGE_ASCEND_HOST_OPAPI_H
#define OPBRIDGE_ASCEND_HOST_OPAPI_H

#include <deque>
#include <memory>

#include "entry.h"
#include "tensors.h"

namespace opbridge_ascend {

// The kernel as it was built for one combination of element types.
struct BuiltKernel {
  std::vector<int32_t> types;  // of ge, of the inputs and then the outputs
  const char* library;         // a file next to the library of the host functions
};

struct ProjectOperator {
  const char* type;
  const char* launch;  // the function that starts the kernel
  std::vector<const char*> parameters;
  uint32_t (*start)(void* launch, uint32_t blocks, void* const* addresses);
  std::vector<BuiltKernel> kernels;
};

// One call, as far as it is known: operands and attributes in the order of the definition, then the plan.
class OperatorCall {
 public:
  explicit OperatorCall(const ProjectOperator& of) : of_(of) {}

  // For an omitted operand, `data` is null and `given` false.
  void input(bool given, const void* data, const int64_t* sizes, size_t rank, int32_t type);
  void output(void* data, const int64_t* sizes, size_t rank, int32_t type);
  void attribute(int64_t value) { numbers("int", {value}, {static_cast<double>(value)}); }
  void attribute(bool value) { numbers("bool", {value}, {static_cast<double>(value)}); }
  void attribute(double value) { numbers("float", {static_cast<int64_t>(value)}, {value}); }
  void attribute(const char* text);
  void attribute(const char* kind, const int64_t* values, size_t count);
  void attribute(const double* values, size_t count);

  // Asks the tiling function; 0, or a status of aclnn, and `error` says why.
  aclnnStatus plan();
  uint64_t workspace() const { return plan_.workspace; }
  // Starts the kernel, with at least that much workspace.
  aclnnStatus run(void* workspace, uint64_t bytes);

  std::string error;

 private:
  struct Operand {
    bool given;
    void* data;
    std::vector<int64_t> sizes;
    int32_t type;
  };
  struct Value {
    const char* kind;
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::string text;
  };
  void numbers(const char* kind, std::vector<int64_t> integers, std::vector<double> reals);
  aclnnStatus fails(aclnnStatus status, const std::string& message);
  const BuiltKernel* kernel();
  std::string types() const;

  const ProjectOperator& of_;
  // Stay where they are while more come.
  std::deque<Operand> inputs_, outputs_;
  std::deque<Value> values_;
  const BuiltKernel* kernel_ = nullptr;
  ob_ascend_plan plan_{};
};

// The phases.  Whatever fails is said by aclGetRecentErrMsg.
class TwoPhases {
 public:
  TwoPhases(const ProjectOperator& of, const char* name) : name_(name), call_(std::make_unique<OperatorCall>(of)) {}

  TwoPhases& required(const char* name, const aclTensor* tensor);
  TwoPhases& optional(const char* name, const aclTensor* tensor);
  TwoPhases& output(const char* name, const aclTensor* tensor);
  template <class T>
  TwoPhases& attribute(T value) {
    call_->attribute(value);
    return *this;
  }
  TwoPhases& attribute(const aclIntArray* values);
  TwoPhases& attribute(const aclFloatArray* values);
  TwoPhases& attribute(const aclBoolArray* values);
  aclnnStatus plan(uint64_t* workspace, aclOpExecutor** executor);

 private:
  void check(const char* name, const aclTensor* tensor);
  void fails(aclnnStatus status, const std::string& message);

  const char* name_;
  std::unique_ptr<OperatorCall> call_;
  aclnnStatus status_ = ACLNN_SUCCESS;
  std::string message_;
};

aclnnStatus run_planned(const char* name, void* workspace, uint64_t bytes, aclOpExecutor* executor);

}  // namespace opbridge_ascend
#endif
