// `opbridge_jax_handler`: what XLA calls for every operator.  Compiled once for each version of jaxlib.
//
// A call in a program has a text that says which operator it is, with which attributes and for which element types, and
// a digest of the text, which is quicker to look up.  A program that was exported, or kept on disk, holds nothing else
// of this process, so that any process which loads the same library can run it.
//
// This is written on the C interface of XLA's headers: it takes the arrays as they are, which their C++ one takes apart
// and checks in a time that shows in small calls.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
// After Python.h, which decides feature macros.
#include <opbridge/abi.h>
#include <xla/ffi/api/c_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../invoke.h"
#include "../target.h"

namespace opbridge {
namespace {

// resolve(call, device) -> capsule; set once, when the module is connected.
PyObject* resolver;

// The description of a call in a program.
struct Call {
  int64_t digest;
  std::string_view text;
};

// Returns the message of the Python exception that is set.  The name of its class would not help readers of XLA's
// message.
std::string python_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* text = value ? PyObject_Str(value) : nullptr;
  const char* bytes = text ? PyUnicode_AsUTF8(text) : nullptr;
  const std::string said = bytes ? bytes : "the operator cannot be had in this process";
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return said;
}

// The operators that programs on one kind of device have called.
class Targets {
 public:
  explicit Targets(const char* device) : device_(device) {}

  std::shared_ptr<Target> find(const Call& call) {
    // A thread usually repeats its calls, and finds them here without a lock.
    thread_local std::array<Remembered, 64> remembered;
    Remembered& last = remembered[static_cast<uint64_t>(call.digest) % remembered.size()];
    const uint64_t now = version_.load(std::memory_order_acquire);
    if (last.digest != call.digest || last.version != now || last.owner != this)
      last = {this, now, call.digest, known(call)};
    return last.target;
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    known_.clear();
    version_.fetch_add(1, std::memory_order_release);
  }

 private:
  // The Target of one text; valid while its owner's version is the one that it was asked of.
  struct Remembered {
    const Targets* owner = nullptr;
    uint64_t version = 0;
    int64_t digest = 0;
    std::shared_ptr<Target> target;
  };

  std::shared_ptr<Target> known(const Call& call) {
    uint64_t version;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(call.digest); found != known_.end()) return found->second;
      version = version_.load(std::memory_order_relaxed);
    }
    // Not under the lock: the thread that holds the GIL may be waiting for it.
    std::shared_ptr<Target> target = resolved(call.text);
    const std::lock_guard lock(mutex_);
    // Forgotten meanwhile, it may be of an operator that was defined anew: it serves this call only.
    if (version != version_.load(std::memory_order_relaxed)) return target;
    if (known_.size() >= kMost) known_.clear();
    return known_.emplace(call.digest, std::move(target)).first->second;
  }

  // Python makes what was dropped again, so this only keeps attributes that change all the time from filling memory.
  static constexpr size_t kMost = 4096;

  std::shared_ptr<Target> resolved(std::string_view text) const {
    const struct Gil {
      PyGILState_STATE state = PyGILState_Ensure();
      ~Gil() { PyGILState_Release(state); }
    } gil;
    PyObject* capsule =
        PyObject_CallFunction(resolver, "s#s", text.data(), static_cast<Py_ssize_t>(text.size()), device_);
    if (!capsule) throw std::runtime_error(python_error());
    auto* owner = static_cast<std::shared_ptr<Target>*>(PyCapsule_GetPointer(capsule, kTargetCapsule));
    std::shared_ptr<Target> target = owner ? *owner : nullptr;
    Py_DECREF(capsule);
    if (!target) throw std::runtime_error(python_error());
    return target;
  }

  const char* const device_;
  std::atomic<uint64_t> version_{0};
  std::mutex mutex_;
  std::unordered_map<int64_t, std::shared_ptr<Target>> known_;
};

// Never destroyed: XLA's threads may still run while the process ends.
Targets& on_cpu = *new Targets("cpu");
Targets& on_cuda = *new Targets("cuda");

const char* type_name(XLA_FFI_DataType type) {
  switch (type) {
    case XLA_FFI_DataType_PRED:
      return "bool";
    case XLA_FFI_DataType_U8:
      return "uint8";
    case XLA_FFI_DataType_S8:
      return "int8";
    case XLA_FFI_DataType_U16:
      return "uint16";
    case XLA_FFI_DataType_S16:
      return "int16";
    case XLA_FFI_DataType_U32:
      return "uint32";
    case XLA_FFI_DataType_S32:
      return "int32";
    case XLA_FFI_DataType_U64:
      return "uint64";
    case XLA_FFI_DataType_S64:
      return "int64";
    case XLA_FFI_DataType_F16:
      return "float16";
    case XLA_FFI_DataType_BF16:
      return "bfloat16";
    case XLA_FFI_DataType_F32:
      return "float32";
    case XLA_FFI_DataType_F64:
      return "float64";
    case XLA_FFI_DataType_C64:
      return "complex64";
    case XLA_FFI_DataType_C128:
      return "complex128";
    default:
      throw std::runtime_error("a buffer has an element type that kernels do not take");
  }
}

// The buffers of a call as the C call takes them.
class Parameters {
 public:
  explicit Parameters(const XLA_FFI_CallFrame& frame) {
    for (int64_t i = 0; i < frame.args.size; ++i) add(frame.args.args[i]);
    for (int64_t i = 0; i < frame.rets.size; ++i) add(frame.rets.rets[i]);
  }
  void run(Target& target, void* stream) {
    target.run(static_cast<int>(data_.size()), data_.data(), ndims_.data(), shapes_.data(), types_.data(), stream);
  }

 private:
  void add(const void* pointer) {
    const auto& buffer = *static_cast<const XLA_FFI_Buffer*>(pointer);
    data_.push_back(buffer.data);
    ndims_.push_back(static_cast<int>(buffer.rank));
    shapes_.push_back(buffer.dims);
    types_.push_back(type_name(buffer.dtype));
  }

  Small<void*, 8> data_;
  Small<int, 8> ndims_;
  Small<int64_t*, 8> shapes_;
  Small<const char*, 8> types_;
};

// JAX reads a message as UTF-8, which a kernel's words need not be.
std::string readable(std::string text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead < 0xe0 ? 0 : lead < 0xf0 ? 3 : 4;
    size_t valid = 1;
    while (valid < length && i + valid < text.size() && (text[i + valid] & 0xc0) == 0x80) ++valid;
    if (length == 0 || valid < length || lead >= 0xf5) {
      text[i] = '?';
      valid = 1;
    }
    i += valid;
  }
  return text;
}

XLA_FFI_Error* failure(const XLA_FFI_Api& api, const std::string& message) {
  XLA_FFI_Error_Create_Args args{XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message.c_str(),
                                 XLA_FFI_Error_Code_INTERNAL};
  return api.XLA_FFI_Error_Create(&args);
}

// Before it calls a handler, XLA asks which version of the interface it was compiled for.
void describe(XLA_FFI_Metadata& metadata) {
  XLA_FFI_Metadata described{};
  described.struct_size = metadata.struct_size;
  described.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
  metadata = described;
}

void* stream_of(const XLA_FFI_CallFrame& frame) {
  XLA_FFI_Stream_Get_Args args{XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, frame.ctx, nullptr};
  if (XLA_FFI_Error* error = frame.api->XLA_FFI_Stream_Get(&args)) {
    XLA_FFI_Error_Destroy_Args destroyed{XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
    frame.api->XLA_FFI_Error_Destroy(&destroyed);
    throw std::runtime_error("XLA has no stream for the operator to run on");
  }
  return args.stream;
}

// XLA sorts attributes by name.
Call call_of(const XLA_FFI_CallFrame& frame) {
  const XLA_FFI_Attrs& attrs = frame.attrs;
  if (attrs.size != 2 || attrs.types[0] != XLA_FFI_AttrType_STRING || attrs.types[1] != XLA_FFI_AttrType_SCALAR)
    throw std::runtime_error("the program was made by an opbridge that this one does not understand; make it again");
  const auto& text = *static_cast<const XLA_FFI_ByteSpan*>(attrs.attrs[0]);
  const auto& digest = *static_cast<const XLA_FFI_Scalar*>(attrs.attrs[1]);
  return {*static_cast<const int64_t*>(digest.value), {text.ptr, text.len}};
}

XLA_FFI_Error* handle(Targets& targets, bool has_stream, XLA_FFI_CallFrame* frame) {
  for (const auto* extension = frame->extension_start; extension; extension = extension->next) {
    if (extension->type != XLA_FFI_Extension_Metadata) continue;
    describe(*reinterpret_cast<const XLA_FFI_Metadata_Extension*>(extension)->metadata);
    return nullptr;
  }
  try {
    Parameters parameters(*frame);
    parameters.run(*targets.find(call_of(*frame)), has_stream ? stream_of(*frame) : nullptr);
    return nullptr;
  } catch (const std::exception& error) {
    return failure(*frame->api, readable(error.what()));
  }
}

XLA_FFI_Error* handle_on_cpu(XLA_FFI_CallFrame* frame) { return handle(on_cpu, false, frame); }
XLA_FFI_Error* handle_on_cuda(XLA_FFI_CallFrame* frame) { return handle(on_cuda, true, frame); }

// connect(resolve) -> the handler of each platform
PyObject* connect(PyObject*, PyObject* resolve) {
  Py_XSETREF(resolver, Py_NewRef(resolve));
  PyObject* cpu = PyCapsule_New(reinterpret_cast<void*>(handle_on_cpu), nullptr, nullptr);
  PyObject* cuda = PyCapsule_New(reinterpret_cast<void*>(handle_on_cuda), nullptr, nullptr);
  PyObject* handlers = cpu && cuda ? Py_BuildValue("{sOsO}", "cpu", cpu, "CUDA", cuda) : nullptr;
  Py_XDECREF(cpu);
  Py_XDECREF(cuda);
  return handlers;
}

PyObject* forget(PyObject*, PyObject*) {
  on_cpu.forget();
  on_cuda.forget();
  return Py_NewRef(Py_None);
}

PyMethodDef functions[] = {
    {"connect", connect, METH_O,
     "connect(resolve): the handler of each platform; resolve(call, device) makes a Target's capsule."},
    {"forget", forget, METH_NOARGS, "Asks for every Target anew."},
    {}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "opbridge_jax_handler", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace opbridge

PyMODINIT_FUNC PyInit_opbridge_jax_handler() { return PyModule_Create(&opbridge::definition); }
