#include "targets.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include "mindspore_functions.h"
#include "python.h"

namespace opbridge {
namespace {

// Targets by the number that a primitive carries; a number is never used twice.
struct Registry {
  std::mutex mutex;
  std::unordered_map<int64_t, std::shared_ptr<Target>> targets;
  int64_t last = 0;
};

// Never destroyed: MindSpore's threads may still ask while the process ends.
Registry& registry() {
  static Registry& only = *new Registry;
  return only;
}

}  // namespace

std::shared_ptr<Target> published_target(int64_t id) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().targets.find(id);
  return found == registry().targets.end() ? nullptr : found->second;
}

PyObject* publish_target(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    const auto* target = static_cast<std::shared_ptr<Target>*>(PyCapsule_GetPointer(capsule, kTargetCapsule));
    if (!target) throw PythonError{};
    const std::lock_guard lock(registry().mutex);
    registry().targets.emplace(++registry().last, *target);
    return PyLong_FromLongLong(registry().last);
  });
}

namespace {

std::vector<int64_t> shape_of(PyObject* sizes) {
  Ref items = Ref::checked(PySequence_Fast(sizes, "infer_target takes a shape for each input"));
  std::vector<int64_t> shape;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Ref size = Ref::copy(PySequence_Fast_GET_ITEM(items.get(), i));  // its __index__ may empty the list
    shape.push_back(PyLong_AsLongLong(size.get()));
    if (PyErr_Occurred()) throw PythonError{};
  }
  return shape;
}

Ref python_of(const Target::Output& output) {
  Ref shape = Ref::checked(PyTuple_New(static_cast<Py_ssize_t>(output.shape.size())));
  for (size_t i = 0; i < output.shape.size(); ++i)
    PyTuple_SET_ITEM(shape.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(output.shape[i]));
  return Ref::checked(Py_BuildValue("(Oi)", shape.get(), static_cast<int>(output.dtype)));
}

}  // namespace

PyObject* infer_target(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *capsule, *shapes;
    if (!PyArg_ParseTuple(args, "OO:infer_target", &capsule, &shapes)) throw PythonError{};
    const auto* target = static_cast<std::shared_ptr<Target>*>(PyCapsule_GetPointer(capsule, kTargetCapsule));
    if (!target) throw PythonError{};
    Ref items = Ref::checked(PySequence_Fast(shapes, "infer_target takes a shape for each input"));
    std::vector<std::vector<int64_t>> inputs;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      inputs.push_back(shape_of(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (inputs.size() != (*target)->inputs())
      raise("CallError", "infer_target expects " + std::to_string((*target)->inputs()) + " shapes, got " +
                             std::to_string(inputs.size()));
    std::vector<Target::Output> outputs;
    try {
      outputs = (*target)->infer(inputs);
    } catch (const std::exception& error) {
      raise("CallError", error.what());
    }
    Ref found = Ref::checked(PyList_New(0));
    for (const Target::Output& output : outputs)
      if (PyList_Append(found.get(), python_of(output).get()) < 0) throw PythonError{};
    return found.release();
  });
}

PyObject* withdraw_target(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const long long id = PyLong_AsLongLong(number);
    if (id == -1 && PyErr_Occurred()) throw PythonError{};
    std::shared_ptr<Target> last_owner;  // let go of without the lock
    const std::lock_guard lock(registry().mutex);
    if (const auto found = registry().targets.find(id); found != registry().targets.end()) {
      last_owner.swap(found->second);
      registry().targets.erase(found);
    }
    return Py_NewRef(Py_None);
  });
}

}  // namespace opbridge
