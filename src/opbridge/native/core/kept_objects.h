#ifndef OPBRIDGE_NATIVE_CORE_KEPT_OBJECTS_H
#define OPBRIDGE_NATIVE_CORE_KEPT_OBJECTS_H

#include "../invoke.h"
#include "python.h"

namespace opbridge {

// Python objects a call holds until it returns.
class KeptObjects {
 public:
  KeptObjects() = default;
  KeptObjects(const KeptObjects&) = delete;
  KeptObjects& operator=(const KeptObjects&) = delete;
  ~KeptObjects() {
    for (size_t i = 0; i < objects_.size(); ++i) Py_DECREF(objects_.data()[i]);
  }
  PyObject* keep(Ref object) {
    objects_.push_back(object.get());
    return object.release();
  }

 private:
  Small<PyObject*, 8> objects_;
};

}  // namespace opbridge

#endif
