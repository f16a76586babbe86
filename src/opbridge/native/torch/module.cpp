// The PyTorch adapter: compiled once per PyTorch version, it registers any operator from its plan.  No operator ever
// includes a PyTorch header.
#include <Python.h>
#include <structmember.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>

#include <unordered_map>

#include "aten.h"
#include "aten_binding.h"
#include "python.h"
#include "transforms.h"

namespace opbridge::torch_adapter {
namespace {

// What the dispatcher calls for a key; it looks the definition up anew, since that may have been replaced.
template <class Run>
struct Functor final : c10::OperatorKernel {
  Functor(Entry* entry, Run run) : entry_(entry), run_(run) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    const Definition& definition = entry_->now();
    if (stack->size() < definition.plan.args.size())
      throw Failure(call_error, definition.full_name + " was defined again with another schema during the call");
    run_(definition, op, keys, stack);
  }

 private:
  Entry* entry_;
  Run run_;
};

// From values on the stack to results on the stack.
template <class Run>
void on_values(const Definition& definition, Stack* stack, Run&& run) {
  const size_t first = stack->size() - definition.plan.args.size();
  Results results;
  run(stack->data() + first, results);
  stack->resize(first);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

template <class Run>
void implement(Entry& entry, c10::DispatchKey key, Run run) {
  if (entry.kernels.count(key)) return;
  auto functor = std::make_unique<Functor<Run>>(&entry, run);
  entry.kernels.emplace(
      key, c10::Dispatcher::singleton().registerImpl(entry.handle->operator_name(), key,
                                                     c10::KernelFunction::makeFromBoxedFunctor(std::move(functor)),
                                                     std::nullopt, nullptr, "opbridge"));
}

template <Device device>
void on_device(const Definition& definition, const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
  on_values(definition, stack,
            [&](const c10::IValue* values, Results& results) { run_kernel(definition, device, values, results); });
}

void on_meta(const Definition& definition, const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
  on_values(definition, stack,
            [&](const c10::IValue* values, Results& results) { run_meta(definition, values, results); });
}

void on_autograd(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  run_autograd(definition, op, keys, stack);
}

void on_write(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  run_version_bump(definition, op, keys, stack);
}

void on_autocast(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  run_autocast(definition, op, stack);
}

// Where no other kernel applies.  With no tensor among its arguments an operator has no device to dispatch on, and
// makes its outputs on the CPU.
void on_elsewhere(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const size_t first = stack->size() - definition.plan.args.size();
  for (size_t i = 0; i < definition.plan.args.size(); ++i)
    each_tensor((*stack)[first + i],
                [&](const at::Tensor& t) { refuse_place(definition, definition.plan.args[i], t); });
  on_device<kCpu>(definition, op, keys, stack);
}

// Below it is PyTorch's own operator, and with it all of PyTorch: gradients, batching, compilation.
void on_any_device(const Definition& definition, const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
  const Forward& forward = *definition.forward;
  const size_t first = stack->size() - definition.plan.args.size();
  Stack values;
  for (size_t i = 0; i < forward.order.size(); ++i) {
    const int64_t ours = forward.order[i];
    values.push_back(ours == Forward::kDefault ? *forward.to.schema().arguments()[i].default_value()
                                               : (*stack)[first + static_cast<size_t>(ours)]);
  }
  stack->resize(first);
  forward.to.callBoxed(values);
  for (c10::IValue& result : values) stack->push_back(std::move(result));
}

void on_vmap(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  BatchRule(definition, op, stack).run();
}

void implement_own(Entry& entry) {
  const Definition& definition = entry.now();
  bool any_tensor = false;
  for (const ArgPlan& arg : definition.plan.args) any_tensor |= arg.is_tensor();
  implement(entry, c10::DispatchKey::CPU, on_device<kCpu>);
  implement(entry, c10::DispatchKey::CUDA, on_device<kCuda>);
  implement(entry, c10::DispatchKey::PrivateUse1, on_device<kNpu>);
  implement(entry, c10::DispatchKey::Meta, on_meta);
  implement(entry, c10::DispatchKey::CompositeExplicitAutograd, on_elsewhere);
  if (!any_tensor) return;
  implement(entry, c10::DispatchKey::Autograd, on_autograd);
  implement(entry, c10::DispatchKey::FuncTorchBatched, on_vmap);
  for (const auto key :
       {c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA, c10::DispatchKey::AutocastPrivateUse1})
    implement(entry, key, on_autocast);
  if (definition.mutates) implement(entry, c10::DispatchKey::ADInplaceOrView, on_write);
}

// A mere name: PyTorch looks below it for everything, and would otherwise take batches apart before it does.
void implement_name(Entry& entry) {
  implement(entry, c10::DispatchKey::CompositeImplicitAutograd, on_any_device);
  implement(entry, c10::DispatchKey::FuncTorchBatched, on_any_device);
}

// What the plan has no rule for is left to PyTorch's operator.
void on_meta_or_below(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                      Stack* stack) {
  definition.plan.says_outputs() ? on_meta(definition, op, keys, stack) : on_any_device(definition, op, keys, stack);
}

void on_autograd_or_below(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                          Stack* stack) {
  if (!definition.plan.formulas.empty()) return on_autograd(definition, op, keys, stack);
  op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

void on_vmap_or_below(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                      Stack* stack) {
  const bool below = !definition.plan.batch_declared &&
                     definition.forward->to.hasKernelForDispatchKey(c10::DispatchKey::FuncTorchBatched);
  below ? on_any_device(definition, op, keys, stack) : on_vmap(definition, op, keys, stack);
}

// Registers rules on top of a PyTorch operator.  Under its own name, only the rules are registered; under another name,
// everything without a rule calls the PyTorch operator.
void implement_rules(Entry& entry) {
  const Definition& definition = entry.now();
  const c10::OperatorHandle& to = definition.forward->to;
  const bool renamed = definition.rulers == Rulers::RulesByName;
  const bool graded = !definition.plan.formulas.empty();
  const auto when = [&](bool wanted, c10::DispatchKey key, auto run) {
    wanted ? implement(entry, key, run) : static_cast<void>(entry.kernels.erase(key));
  };
  for (const auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA, c10::DispatchKey::PrivateUse1})
    when(renamed && to.hasComputedKernelForDispatchKey(key), key, on_any_device);
  when(definition.plan.says_outputs() || (renamed && to.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)),
       c10::DispatchKey::Meta, on_meta_or_below);
  when(graded || renamed, c10::DispatchKey::Autograd, on_autograd_or_below);
  when(graded && definition.mutates, c10::DispatchKey::ADInplaceOrView, on_write);
  when(definition.plan.batch_declared || renamed, c10::DispatchKey::FuncTorchBatched, on_vmap_or_below);
}

void implement_all(Entry& entry) {
  const Rulers rulers = entry.now().rulers;
  if (std::exchange(entry.rulers, rulers) != rulers) entry.kernels.clear();  // the schema keeps the operator alive
  if (rulers == Rulers::Plan) return implement_own(entry);
  rulers == Rulers::Operator ? implement_name(entry) : implement_rules(entry);
}

std::unordered_map<std::string, Entry>& entries() {
  static auto* const table = new std::unordered_map<std::string, Entry>;  // never torn down: PyTorch may outlive us
  return *table;
}

Rulers rulers(const Definition& definition, const std::string& forward) {
  const OpPlan& plan = definition.plan;
  if (!plan.says_outputs() && plan.formulas.empty() && !plan.batch_declared) return Rulers::Operator;
  return forward == definition.full_name ? Rulers::RulesOnIt : Rulers::RulesByName;
}

std::unique_ptr<Definition> make_definition(OpPlan plan, PyObject* find_kernel) {
  auto definition = std::make_unique<Definition>();
  definition->full_name = plan.full_name();
  for (const ArgPlan& arg : plan.args) definition->mutates |= arg.has(kMutable);
  definition->saved_arg.assign(plan.args.size(), 0);
  definition->saved_out.assign(plan.outs.size(), 0);
  for (const int64_t i : plan.saved_args) definition->saved_arg[i] = 1;
  for (const int64_t i : plan.saved_outs) definition->saved_out[i] = 1;
  definition->plan = std::move(plan);
  Py_INCREF(find_kernel);
  definition->find_kernel = find_kernel;
  return definition;
}

// Returns nothing if another library has registered the schema.
std::optional<c10::RegistrationHandleRAII> register_schema(const std::string& schema, const Definition& definition) {
  if (definition.rulers == Rulers::RulesOnIt) return std::nullopt;
  std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag};
  if (definition.forward) tags = definition.forward->to.getTags().vec();
  return c10::Dispatcher::singleton().registerDef(torch::jit::parseSchema(schema), "opbridge", std::move(tags));
}

void define_first(std::unique_ptr<Definition> definition) {
  const OpPlan& plan = definition->plan;
  // PyTorch's errors, such as a name that is taken, are thrown here, before an entry exists.
  auto schema = register_schema(plan.schema, *definition);
  Entry& entry = entries()[definition->full_name];
  entry.schema = std::move(schema);
  entry.handle = std::make_unique<c10::OperatorHandle>(
      c10::Dispatcher::singleton().findSchemaOrThrow(plan.qualified_name().c_str(), plan.overload.c_str()));
  entry.definition.store(definition.release(), std::memory_order_release);
  implement_all(entry);
}

// Swaps what the operator does; the old schema's text where that changed.
std::string define_again(Entry& entry, std::unique_ptr<Definition> definition) {
  std::string old = entry.now().plan.schema;
  const bool same = old == definition->plan.schema;
  if (!same) {
    // The kernels stay: PyTorch would free the operator with its last registration, and compiled programs that hold the
    // overload would still call it.
    entry.schema.reset();
    try {
      entry.schema = register_schema(definition->plan.schema, *definition);
    } catch (...) {
      entry.schema = register_schema(old, entry.now());
      throw;
    }
    ++entry.generation;
  }
  entry.definition.store(definition.release(), std::memory_order_release);
  implement_all(entry);
  return same ? std::string() : old;
}

std::string define(std::unique_ptr<Definition> definition) {
  const auto found = entries().find(definition->full_name);
  if (found != entries().end()) return define_again(found->second, std::move(definition));
  define_first(std::move(definition));
  return {};
}

// define(plan: bytes, index: int, find_kernel, forward=None) -> str
// `forward`: name and overload of a PyTorch operator, and for each of its arguments the index of ours, or -1.
PyObject* py_define(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject* bytes = nullptr;
  long long index = 0;
  PyObject* find_kernel = nullptr;
  PyObject* forward = Py_None;
  if (!PyArg_ParseTuple(args, "SLO|O", &bytes, &index, &find_kernel, &forward)) return nullptr;
  PlanReader plan(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
  auto definition = make_definition(plan.read(index), find_kernel);
  if (forward != Py_None) {
    const auto [name, order] = pybind11::handle(forward).cast<std::pair<std::string, std::vector<int64_t>>>();
    definition->forward = Forward{find_operator(name), order};
    definition->rulers = rulers(*definition, name);
  }
  const std::string old = define(std::move(definition));
  return PyUnicode_FromStringAndSize(old.data(), static_cast<Py_ssize_t>(old.size()));
  END_HANDLE_TH_ERRORS
}

void callable_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<CallableObject*>(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->general);
  Py_CLEAR(self->translate);
  Py_CLEAR(self->names);
  type->tp_free(object);
  Py_DECREF(type);
}

int callable_traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<CallableObject*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->general);
  Py_VISIT(self->translate);
  return 0;
}

PyMemberDef callable_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallableObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CallableObject, weakrefs), READONLY, nullptr},
    {"general", T_OBJECT_EX, offsetof(CallableObject, general), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot callable_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(callable_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(callable_traverse)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, callable_members},
                                {0, nullptr}};

PyType_Spec callable_spec = {"opbridge.torch_adapter.Callable", sizeof(CallableObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC, callable_slots};

PyTypeObject* callable_type = nullptr;

// callable(full_name: str, general, translate) -> Callable
PyObject* py_callable(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* name = nullptr;
  PyObject *general = nullptr, *translate = nullptr;
  if (!PyArg_ParseTuple(args, "sOO", &name, &general, &translate)) return nullptr;
  const auto found = entries().find(name);
  if (found == entries().end()) throw Failure(call_error, std::string(name) + " is not defined");
  const std::vector<ArgPlan>& plan = found->second.now().plan.args;
  THPObjectPtr names(PyTuple_New(static_cast<Py_ssize_t>(plan.size())));
  if (!names) return nullptr;
  for (size_t i = 0; i < plan.size(); ++i) {
    PyObject* text = PyUnicode_InternFromString(plan[i].name.c_str());
    if (!text) return nullptr;
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), text);
  }
  auto* self = PyObject_GC_New(CallableObject, callable_type);
  if (!self) return nullptr;
  self->vectorcall = call;
  self->entry = &found->second;
  Py_INCREF(general);
  self->general = general;
  Py_INCREF(translate);
  self->translate = translate;
  self->generation = found->second.generation;
  self->names = names.release();
  self->weakrefs = nullptr;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(self));
  return reinterpret_cast<PyObject*>(self);
  END_HANDLE_TH_ERRORS
}

PyMethodDef methods[] = {
    {"define", py_define, METH_VARARGS, "Register an operator from its plan, or swap what it does."},
    {"callable", py_callable, METH_VARARGS, "The fast callable of a defined operator."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "opbridge_torch_adapter", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace opbridge::torch_adapter

PyMODINIT_FUNC PyInit_opbridge_torch_adapter() {
  using namespace opbridge::torch_adapter;
  THPObjectPtr errors(PyImport_ImportModule("opbridge.base.errors"));
  if (!errors) return nullptr;
  for (const auto& [name, place] : {std::pair{"CallError", &call_error},
                                    {"KernelError", &kernel_error},
                                    {"UnsupportedError", &unsupported_error}}) {
    *place = PyObject_GetAttrString(errors.get(), name);
    if (!*place) return nullptr;
  }
  callable_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&callable_spec));
  if (!callable_type) return nullptr;
  THPObjectPtr module(PyModule_Create(&module_definition));
  if (!module || PyModule_AddFunctions(module.get(), aten_functions()) < 0) return nullptr;
  return module.release();
}
