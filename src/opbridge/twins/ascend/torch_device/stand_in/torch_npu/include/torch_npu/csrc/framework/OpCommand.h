// Stands for torch_npu's header of this name: commands with a handler of the extension's own run at once.
//
// Commands that name one of CANN's operators, by Input, Output and Attr, do not compile: those operators are not here.
#ifndef OPBRIDGE_STAND_IN_FRAMEWORK_OPCOMMAND_H
#define OPBRIDGE_STAND_IN_FRAMEWORK_OPCOMMAND_H

#include <torch_npu/csrc/core/npu/NPUStream.h>

#include <functional>
#include <string>
#include <utility>

namespace at_npu::native {

// A call put together step by step; only `Run` does anything.
class OpCommand {
 public:
  OpCommand& Name(const std::string& name) {
    name_ = name;
    return *this;
  }
  OpCommand& SetCustomHandler(std::function<int()> handler) {
    handler_ = std::move(handler);
    return *this;
  }
  void Run() {
    TORCH_CHECK(handler_ != nullptr, "OpCommand ", name_, ": SetCustomHandler was not called");
    RunOpApi(name_, std::exchange(handler_, nullptr));
  }

  static void RunOpApi(const std::string& name, const std::function<int()>& handler, bool = false) {
    const int status = handler();
    TORCH_CHECK(status == 0, name, ": the handler returned ", status, ", and 0 means success");
  }
  static void RunOpApiV2(const std::string& name, const std::function<int()>& handler, bool synchronous = false) {
    RunOpApi(name, handler, synchronous);
  }

 private:
  std::string name_;
  std::function<int()> handler_;
};

}  // namespace at_npu::native

#endif
