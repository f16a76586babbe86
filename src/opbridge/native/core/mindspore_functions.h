// What the module offers to frameworks/mindspore and frameworks/jax; docstrings are in module.cpp.
#ifndef OPBRIDGE_NATIVE_CORE_MINDSPORE_FUNCTIONS_H
#define OPBRIDGE_NATIVE_CORE_MINDSPORE_FUNCTIONS_H

#include "python.h"

namespace opbridge {

PyObject* publish_target(PyObject* module, PyObject* capsule);
PyObject* withdraw_target(PyObject* module, PyObject* number);
PyObject* infer_target(PyObject* module, PyObject* args);

void add_rule_operator_type(PyObject* module);
void add_primitive_table_type(PyObject* module);

}  // namespace opbridge

#endif
