// The blocks themselves, for the one std::string that the including file is compiled with.  Everything here is local to
// that file: two classes of one name that differ in their strings must not meet in the linker.
#ifndef OPBRIDGE_NATIVE_CORE_AOT_BLOCK_IMPL_H
#define OPBRIDGE_NATIVE_CORE_AOT_BLOCK_IMPL_H

#include <cstring>
#include <stdexcept>
#include <string>

#include "aot_block.h"

namespace opbridge {
namespace {

// MindSpore's interfaces as the layout has them: the order of virtual functions and members is what counts.
struct BlockState {
  std::vector<size_t> workspace;
  AotData* kernel_data = nullptr;
};

// MindSpore's virtual functions in MindSpore's order: the order is the contract. For libraries with one kind of string.
class PlainExtra {
 public:
  virtual ~PlainExtra() = default;
  virtual bool HasAttr(std::string name) = 0;
  virtual bool GetAttrBool(std::string name) = 0;
  virtual int64_t GetAttrInt(std::string name) = 0;
  virtual float GetAttrFloat(std::string name) = 0;
  virtual std::string GetAttrStr(std::string name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(std::string name) = 0;
  virtual std::vector<float> GetAttrFloatVec(std::string name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::string name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(std::string name) = 0;

  BlockState state;
};

using Chars = std::vector<char>;

// The same for libraries built while MindSpore passed names as characters, so that either kind of string may call it.
class DualExtra {
 public:
  virtual ~DualExtra() = default;
  virtual bool HasAttr(std::string name) = 0;
  virtual bool HasAttr(Chars name) = 0;
  virtual bool GetAttrBool(Chars name) = 0;
  virtual int64_t GetAttrInt(Chars name) = 0;
  virtual float GetAttrFloat(Chars name) = 0;
  virtual Chars GetAttrStr(Chars name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(Chars name) = 0;
  virtual std::vector<float> GetAttrFloatVec(Chars name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(Chars name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(Chars name) = 0;

  BlockState state;
};

bool is_tensor(const ob_arg& arg) { return arg.kind == OB_ARG_TENSOR || arg.kind == OB_ARG_TENSORS; }

// The attributes of a call, by name.
class Attributes {
 public:
  void serve(const ob_call& call) { call_ = &call; }

  bool has(const std::string& name) const {
    const ob_arg* found = find(name);
    return found && found->kind != OB_ARG_NONE;
  }
  bool boolean(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind != OB_ARG_BOOL) mistyped(name, arg, "a bool");
    return arg.v.i != 0;
  }
  int64_t integer(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind != OB_ARG_INT) mistyped(name, arg, "an int");
    return arg.v.i;
  }
  float real(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind != OB_ARG_FLOAT && arg.kind != OB_ARG_INT) mistyped(name, arg, "a float");
    return arg.kind == OB_ARG_INT ? static_cast<float>(arg.v.i) : static_cast<float>(arg.v.d);
  }
  std::string text(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind == OB_ARG_DTYPE) return dtype_names[arg.v.i];
    if (arg.kind != OB_ARG_STRING) mistyped(name, arg, "a string");
    return {arg.v.s, static_cast<size_t>(arg.count)};
  }
  std::vector<int64_t> integers(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind == OB_ARG_BOOLS) return {arg.v.bools, arg.v.bools + arg.count};
    if (arg.kind != OB_ARG_INTS) mistyped(name, arg, "a list of ints");
    return {arg.v.ints, arg.v.ints + arg.count};
  }
  std::vector<float> reals(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind != OB_ARG_FLOATS && arg.kind != OB_ARG_INTS) mistyped(name, arg, "a list of floats");
    std::vector<float> values;
    for (int32_t i = 0; i < arg.count; ++i)
      values.push_back(arg.kind == OB_ARG_INTS ? static_cast<float>(arg.v.ints[i])
                                               : static_cast<float>(arg.v.floats[i]));
    return values;
  }
  std::vector<std::vector<int64_t>> integer_rows(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind != OB_ARG_INT_ROWS) mistyped(name, arg, "lists of ints");
    std::vector<std::vector<int64_t>> rows;
    each_row(arg, [&](const int64_t* begin, const int64_t* end) { rows.emplace_back(begin, end); });
    return rows;
  }
  std::vector<std::vector<float>> real_rows(const std::string& name) const {
    const ob_arg& arg = get(name);
    if (arg.kind != OB_ARG_FLOAT_ROWS) mistyped(name, arg, "lists of floats");
    std::vector<std::vector<float>> rows;
    each_row(arg, [&](const int64_t* begin, const int64_t* end) {
      std::vector<double> values(static_cast<size_t>(end - begin));
      if (begin != end) std::memcpy(values.data(), begin, values.size() * sizeof(double));
      rows.emplace_back(values.begin(), values.end());
    });
    return rows;
  }

 private:
  template <class Visit>
  static void each_row(const ob_arg& arg, Visit visit) {
    const int64_t rows = arg.v.ints[0];
    const int64_t* next = arg.v.ints + 1 + rows;
    for (int64_t i = 1; i <= rows; next += arg.v.ints[i], ++i) visit(next, next + arg.v.ints[i]);
  }

  static constexpr const char* dtype_names[] = {
#define OB_DTYPE_NAME(code, name, bytes) #name,
      OB_FOR_EACH_DTYPE(OB_DTYPE_NAME)
#undef OB_DTYPE_NAME
  };

  const ob_arg* find(const std::string& name) const {
    for (int32_t i = 0; i < call_->n_args; ++i)
      if (!is_tensor(call_->args[i]) && name == call_->arg_names[i]) return call_->args + i;
    return nullptr;
  }

  const ob_arg& get(const std::string& name) const {
    const ob_arg* found = find(name);
    if (found && found->kind != OB_ARG_NONE) return *found;
    if (found) throw std::runtime_error("attribute '" + name + "' is None; ask HasAttr before reading it");
    std::string have;
    for (int32_t i = 0; i < call_->n_args; ++i)
      if (!is_tensor(call_->args[i])) have += (have.empty() ? "" : ", ") + std::string(call_->arg_names[i]);
    throw std::runtime_error("it reads attribute '" + name + "', and the schema has " +
                             (have.empty() ? "no attributes" : "only " + have));
  }

  [[noreturn]] static void mistyped(const std::string& name, const ob_arg& arg, const char* wanted) {
    static const char* const kinds[] = {
        "None",    "a tensor",      "tensors",        "a bool",           "an int",
        "a float", "a string",      "a list of ints", "a list of floats", "a list of bools",
        "a dtype", "lists of ints", "lists of floats"};
    throw std::runtime_error("it reads attribute '" + name + "' as " + wanted + ", but the call has " +
                             kinds[arg.kind]);
  }

  const ob_call* call_ = nullptr;
};

// What both blocks share; `Extra` is the interface the kernel sees.
template <class Extra>
class Block : public AotBlock, public Extra {
 public:
  ~Block() override { delete this->state.kernel_data; }
  void serve(const ob_call& call) final { attributes_.serve(call); }
  void* extra() final { return static_cast<Extra*>(this); }
  const std::vector<size_t>& workspace() const final { return this->state.workspace; }

 protected:
  Attributes attributes_;
};

// Answers a PlainExtra's questions from the attributes of the call.
class PlainBlock final : public Block<PlainExtra> {
  bool HasAttr(std::string name) override { return attributes_.has(name); }
  bool GetAttrBool(std::string name) override { return attributes_.boolean(name); }
  int64_t GetAttrInt(std::string name) override { return attributes_.integer(name); }
  float GetAttrFloat(std::string name) override { return attributes_.real(name); }
  std::string GetAttrStr(std::string name) override { return attributes_.text(name); }
  std::vector<int64_t> GetAttrIntVec(std::string name) override { return attributes_.integers(name); }
  std::vector<float> GetAttrFloatVec(std::string name) override { return attributes_.reals(name); }
  std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::string name) override {
    return attributes_.integer_rows(name);
  }
  std::vector<std::vector<float>> GetAttrFloat2DVec(std::string name) override { return attributes_.real_rows(name); }
};

// Answers a DualExtra's questions from the attributes of the call.
class DualBlock final : public Block<DualExtra> {
  static std::string text(const Chars& name) { return {name.begin(), name.end()}; }

  bool HasAttr(std::string name) override { return attributes_.has(name); }
  bool HasAttr(Chars name) override { return attributes_.has(text(name)); }
  bool GetAttrBool(Chars name) override { return attributes_.boolean(text(name)); }
  int64_t GetAttrInt(Chars name) override { return attributes_.integer(text(name)); }
  float GetAttrFloat(Chars name) override { return attributes_.real(text(name)); }
  Chars GetAttrStr(Chars name) override {
    const std::string value = attributes_.text(text(name));
    return {value.begin(), value.end()};
  }
  std::vector<int64_t> GetAttrIntVec(Chars name) override { return attributes_.integers(text(name)); }
  std::vector<float> GetAttrFloatVec(Chars name) override { return attributes_.reals(text(name)); }
  std::vector<std::vector<int64_t>> GetAttrInt2DVec(Chars name) override {
    return attributes_.integer_rows(text(name));
  }
  std::vector<std::vector<float>> GetAttrFloat2DVec(Chars name) override { return attributes_.real_rows(text(name)); }
};

std::unique_ptr<AotBlock> make_block(bool dual_abi) {
  if (dual_abi) return std::make_unique<DualBlock>();
  return std::make_unique<PlainBlock>();
}

}  // namespace
}  // namespace opbridge

#endif
