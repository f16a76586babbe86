// A kernel's attributes from MindSpore's block, for a library that runs under MindSpore without opbridge.
//
// Goes before every other header: MindSpore's strings are the old ones, whatever the kernel is compiled with.
#ifndef OPBRIDGE_NATIVE_STANDALONE_ATTRIBUTES_H
#define OPBRIDGE_NATIVE_STANDALONE_ATTRIBUTES_H

#undef _GLIBCXX_USE_CXX11_ABI
#define _GLIBCXX_USE_CXX11_ABI 0

#include <compat/custom_aot_extra.h>
#include <opbridge/foreign.h>

#include <cstring>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "storage.h"

namespace opbridge::standalone {

// An attribute of the schema, in the order of the kernel's C++ parameters.
struct Attribute {
  const char* name;
  bool has_default = false;
  ob_arg fallback = none();  // its value where nobody gives one
};

inline const char* const dtype_names[] = {
#define OB_DTYPE_NAME(code, name, bytes) #name,
    OB_FOR_EACH_DTYPE(OB_DTYPE_NAME)
#undef OB_DTYPE_NAME
};

// Reads attributes by the types that the kernel takes; what it returns points into it.
class Reader {
 public:
  explicit Reader(AotExtra& extra) : extra_(extra) {}

  ob_arg read(const Attribute& attribute, const ob_param& param) {
    if (!extra_.HasAttr(attribute.name)) {
      if (attribute.has_default) return attribute.fallback;
      if (param.flags & OB_PARAM_OPTIONAL) return none();
      throw std::runtime_error(std::string("attribute '") + attribute.name +
                               "' is missing; give the operator one with add_prim_attr or in its reg_info");
    }
    try {
      return value(attribute.name, param.type);
    } catch (const std::exception& error) {
      const std::string said(error.what(), std::strcspn(error.what(), "\n"));
      throw std::runtime_error(std::string("attribute '") + attribute.name + "' is not " + expected(param.type) +
                               ", which the kernel takes there (" + said + ")");
    }
  }

 private:
  static const char* expected(int32_t kind) {
    static const char* const words[] = {"a number",
                                        "a tensor",
                                        "tensors",
                                        "a bool",
                                        "an int",
                                        "a float",
                                        "a string",
                                        "a list of ints",
                                        "a list of floats",
                                        "a list of ints that are 0 or 1",
                                        "the name of a dtype, such as 'float32',"};
    return words[kind];
  }

  ob_arg value(const char* name, int32_t kind) {
    switch (kind) {
      case OB_ARG_BOOL:
        return integer(extra_.Attr<bool>(name), OB_ARG_BOOL);
      case OB_ARG_INT:
        return integer(extra_.Attr<int64_t>(name));
      case OB_ARG_FLOAT:
        return number(name);
      case OB_ARG_STRING:
        return storage_.text(extra_.Attr<std::string>(name));
      case OB_ARG_INTS:
        return storage_.integers(extra_.Attr<std::vector<int64_t>>(name));
      case OB_ARG_FLOATS:
        return storage_.reals(numbers(name));
      case OB_ARG_BOOLS: {
        const std::vector<int64_t> values = extra_.Attr<std::vector<int64_t>>(name);
        return storage_.bools({values.begin(), values.end()});
      }
      case OB_ARG_DTYPE:
        return integer(dtype(extra_.Attr<std::string>(name)), OB_ARG_DTYPE);
      default:
        return number(name);
    }
  }

  // MindSpore tells 2 from 2.0, and a block does not say which it holds.
  ob_arg number(const char* name) {
    try {
      return real(extra_.Attr<float>(name));
    } catch (const std::exception&) {
      return integer(extra_.Attr<int64_t>(name));
    }
  }

  std::vector<double> numbers(const char* name) {
    try {
      const std::vector<float> values = extra_.Attr<std::vector<float>>(name);
      return {values.begin(), values.end()};
    } catch (const std::exception&) {
      const std::vector<int64_t> values = extra_.Attr<std::vector<int64_t>>(name);
      return {values.begin(), values.end()};
    }
  }

  static int64_t dtype(const std::string& name) {
    for (int64_t code = 0; code < OB_DTYPE_COUNT; ++code)
      if (name == dtype_names[code]) return code;
    throw std::runtime_error("it is '" + name + "'");
  }

  AotExtra& extra_;
  Storage storage_;
};

// The blocks that an Init of this library was handed: how a kernel tells MindSpore's from what other hosts pass.
class Blocks {
 public:
  static Blocks& all() {
    static auto& blocks = *new Blocks;  // MindSpore lets go of blocks after a process has begun to end
    return blocks;
  }
  void add(const void* extra, const ob_foreign_call* call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_[extra] = call;
  }
  void remove(const void* extra) {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.erase(extra);
  }
  const ob_foreign_call* find(const void* extra) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = calls_.find(extra);
    return found == calls_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, const ob_foreign_call*> calls_;
};

// Kept by MindSpore for as long as it has the kernel.  What is wrong is said by the kernel's call: of an Init that
// fails MindSpore tells Python nothing but that it failed.
class KernelAttributes final : public AotKernelData {
 public:
  KernelAttributes(AotExtra& extra, const ob_signature& signature, const Attribute* attributes, int32_t count)
      : extra_(&extra), reader_(extra) {
    try {
      for (int32_t p = 0; p < signature.n_params; ++p) {
        if (signature.params[p].role != OB_PARAM_ATTR) continue;
        const auto place = static_cast<int32_t>(args_.size());
        if (place == count) throw std::runtime_error("the library was made for a kernel with fewer attributes");
        args_.push_back(reader_.read(attributes[place], signature.params[p]));
      }
    } catch (const std::exception& error) {
      error_ = error.what();
    }
    call_ = {args_.data(), static_cast<int32_t>(args_.size()), error_.empty() ? nullptr : error_.c_str()};
    Blocks::all().add(extra_, &call_);
  }
  ~KernelAttributes() override { Blocks::all().remove(extra_); }

 private:
  const void* extra_;
  Reader reader_;
  std::vector<ob_arg> args_;
  std::string error_;
  ob_foreign_call call_;
};

}  // namespace opbridge::standalone

extern "C" {
extern ob_foreign_lookup ob_find_foreign_call;
__attribute__((visibility("hidden"))) ob_foreign_lookup ob_find_foreign_call = [](const void* extra) {
  return opbridge::standalone::Blocks::all().find(extra);
};
}

#define OB_MINDSPORE_EXPORT extern "C" __attribute__((visibility("default")))

// <name>Init of a kernel on kernel.h, which may turn out not to be there, as within an #if; `attributes`: an array of
// Attribute in the order of the C++ parameters.
#define OB_MINDSPORE_INIT(name, attributes, count)                                                                    \
  extern "C" __attribute__((weak)) const ob_signature name##_ob_signature;                                            \
  OB_MINDSPORE_EXPORT int name##Init(int*, int64_t**, const char**, AotExtra* extra) {                                \
    extra->SetKernelData(new opbridge::standalone::KernelAttributes(*extra, name##_ob_signature, attributes, count)); \
    return 0;                                                                                                         \
  }

#endif
