// Reverse and forward mode from one set of formulas.
#ifndef OPBRIDGE_NATIVE_TORCH_AUTOGRAD_H
#define OPBRIDGE_NATIVE_TORCH_AUTOGRAD_H

#include <ATen/ops/_fw_primal.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "../gil.h"
#include "formula.h"

namespace opbridge::torch_adapter {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// Where in a node's outputs the tensors of each argument stand.  An absent tensor still has its slot, so that slots do
// not move between calls.
struct Slots {
  std::vector<size_t> first, count;  // by argument index
  size_t total = 0;

  Slots(const OpPlan& plan, const std::vector<c10::IValue>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue& value = arguments[i];
      first.push_back(total);
      count.push_back(!plan.args[i].is_tensor() ? 0 : value.isList() ? value.toListRef().size() : 1);
      total += count.back();
    }
  }
};

inline std::string no_derivative(const Definition& definition, const std::string& argument) {
  return definition.full_name + " has no derivative for '" + argument +
         "'; add one under `derivatives:` (or a `backward:`), or pass a tensor that does not require grad";
}

// Saves the tensors that the formulas read, and no others; other arguments are kept as they came.
struct FormulaNode final : torch::autograd::Node {
  FormulaNode(const Definition& definition, const std::vector<c10::IValue>& arguments)
      : definition_(definition), arguments_(arguments), slots_(definition.plan, arguments) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (!definition.plan.args[i].is_tensor() || arguments_[i].isNone()) continue;
      if (definition.saved_arg[i])
        each_tensor(arguments_[i], [&](const at::Tensor& t) { saved_.emplace_back(t, false); });
      else
        arguments_[i] = c10::IValue();
    }
    for (size_t i = 0; i < arguments_.size(); ++i) keeps_.push_back(kept(arguments_[i]));
    // The saved variables alone keep the tensors, so that freeing a graph frees its memory.
    for (size_t i = 0; i < arguments_.size(); ++i)
      if (keeps_[i]) arguments_[i] = arguments_[i].isTensor() ? c10::IValue() : c10::IValue(int64_t(slots_.count[i]));
  }

  void save_results(const Results& results) {
    for (size_t i = 0; i < results.size(); ++i)
      if (definition_.saved_out[i]) saved_results_.emplace_back(results[i].toTensor(), true);
  }

  variable_list apply(variable_list&& incoming) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    variable_list gradients(slots_.total);
    bool any = false;
    for (const at::Tensor& grad : incoming) any |= grad.defined();
    if (!any) return gradients;
    for (size_t i = 0; i < incoming.size(); ++i)
      if (!incoming[i].defined() && !input_metadata(i).is_nested_tensor() && known_[i])
        incoming[i] = input_metadata(i).zeros_like();

    std::vector<c10::IValue> arguments = arguments_;
    size_t next = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!keeps_[i]) continue;
      if (arguments[i].isNone()) {
        arguments[i] = saved_[next++].unpack();
        continue;
      }
      std::vector<at::Tensor> items(slots_.count[i]);
      for (at::Tensor& item : items) item = saved_[next++].unpack();
      arguments[i] = items;
    }
    std::vector<at::Tensor> results(definition_.plan.outs.size());
    next = 0;
    for (size_t i = 0; i < results.size(); ++i)
      if (definition_.saved_out[i]) results[i] = saved_results_[next++].unpack(getptr());

    std::vector<char> covered(definition_.plan.args.size());
    for (const FormulaPlan& formula : definition_.plan.formulas) {
      bool wanted = false;
      for (const int64_t target : formula.targets) {
        covered[target] = 1;
        wanted |= needed(target);
      }
      if (!wanted) continue;
      const auto values = FormulaMachine(definition_, formula, {arguments, incoming, results}).run();
      for (size_t k = 0; k < values.size(); ++k) {
        const int64_t target = formula.targets[k];
        if (values[k].size() != slots_.count[target])
          throw Failure(kernel_error, "the derivative of " + definition_.full_name + " gives " +
                                          std::to_string(values[k].size()) + " gradients for the " +
                                          std::to_string(slots_.count[target]) + " tensors of '" +
                                          definition_.plan.args[target].name + "'");
        for (size_t item = 0; item < values[k].size(); ++item) gradients[slots_.first[target] + item] = values[k][item];
      }
    }
    for (size_t i = 0; i < covered.size(); ++i)
      if (!covered[i] && definition_.plan.args[i].is_tensor() && needed(static_cast<int64_t>(i)))
        throw Failure(unsupported_error, no_derivative(definition_, definition_.plan.args[i].name));
    return gradients;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (SavedVariable& variable : saved_) variable.reset_data();
    for (SavedVariable& variable : saved_results_) variable.reset_data();
  }

  std::string name() const override {
    std::string camel;
    bool upper = true;
    for (const char c : definition_.plan.name) {
      if (c == '_')
        upper = true;
      else {
        camel += upper ? static_cast<char>(std::toupper(c)) : c;
        upper = false;
      }
    }
    return camel + "Backward";
  }

  std::vector<char> known_;  // which of the outputs a gradient can come for

 private:
  static bool kept(const c10::IValue& value) {
    if (value.isTensor()) return true;
    bool any = false;
    if (value.isList()) each_tensor(value, [&](const at::Tensor&) { any = true; });
    return any;
  }

  bool needed(int64_t argument) const {
    for (size_t item = 0; item < slots_.count[argument]; ++item)
      if (task_should_compute_output(slots_.first[argument] + item)) return true;
    return false;
  }

  const Definition& definition_;
  std::vector<c10::IValue> arguments_;
  Slots slots_;
  std::vector<char> keeps_;
  std::vector<SavedVariable> saved_, saved_results_;
  std::mutex mutex_;
};

// What the tensors of a call require in addition to the value, found in one pass over them.
struct Demand {
  bool gradient = false, tangent = false;

  Demand() = default;
  Demand(const Definition& definition, const c10::IValue* values) {
    const bool recording = c10::GradMode::is_enabled();
    for (size_t i = 0; i < definition.plan.args.size(); ++i) {
      if (!definition.plan.args[i].is_tensor()) continue;
      each_tensor(values[i], [&](const at::Tensor& t) {
        gradient |= recording && t.requires_grad();
        tangent |= t._fw_grad(0).defined();
      });
    }
  }
};

// The tangents of the outputs.  A backward formula is linear in the gradient it is given, so its own derivative with
// respect to that gradient, applied to the inputs' tangents, is the forward derivative.
inline std::vector<at::Tensor> tangents_of(const Definition& definition, const std::vector<c10::IValue>& arguments,
                                           const Results& results) {
  const OpPlan& plan = definition.plan;
  // Below a level of torch.func no tensor shows whether an outer level wants a gradient.
  bool record = c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerBackMode);
  const auto primal = [](const at::Tensor& t) { return t._fw_grad(0).defined() ? t._fw_primal(0) : t; };
  std::vector<c10::IValue> primals;
  for (const c10::IValue& value : arguments) {
    primals.push_back(map_tensors(value, primal));
    each_tensor(value, [&](const at::Tensor& t) {
      record |= t.requires_grad() || (t._fw_grad(0).defined() && t._fw_grad(0).requires_grad());
    });
  }
  record &= c10::GradMode::is_enabled();

  const at::AutoGradMode recording(true);
  std::vector<at::Tensor> probes, saved_results;
  variable_list sources;
  for (const c10::IValue& result : results) {
    const at::Tensor out = primal(result.toTensor());
    saved_results.push_back(out);
    probes.push_back(at::zeros_like(out));
    if (!differentiable_type(out)) continue;
    probes.back().requires_grad_();
    sources.push_back(probes.back());
  }

  variable_list values, directions;
  const Slots slots(plan, arguments);
  std::vector<char> covered(plan.args.size());
  const auto tangent_at = [&](int64_t argument, size_t item) -> at::Tensor {
    const c10::IValue& value = arguments[argument];
    const c10::IValue& one = value.isList() ? value.toListRef()[item] : value;
    const at::Tensor t = one.isNone() ? at::Tensor() : one.toTensor();
    return t.defined() ? t._fw_grad(0) : at::Tensor();
  };
  const auto moves = [&](int64_t argument) {
    for (size_t item = 0; item < slots.count[argument]; ++item)
      if (plan.args[argument].is_tensor() && tangent_at(argument, item).defined()) return true;
    return false;
  };
  for (const FormulaPlan& formula : plan.formulas) {
    bool wanted = false;
    for (const int64_t target : formula.targets) {
      covered[target] = 1;
      wanted |= moves(target);
    }
    if (!wanted) continue;
    const auto gradients = FormulaMachine(definition, formula, {primals, probes, saved_results}).run();
    for (size_t k = 0; k < gradients.size(); ++k)
      for (size_t item = 0; item < gradients[k].size(); ++item) {
        const at::Tensor direction = tangent_at(formula.targets[k], item);
        if (!direction.defined() || !gradients[k][item].defined() || !gradients[k][item].requires_grad()) continue;
        values.push_back(at::sum_to(gradients[k][item], direction.sym_sizes()).to(direction.scalar_type()));
        directions.push_back(direction);
      }
  }
  for (size_t i = 0; i < covered.size(); ++i)
    if (!covered[i] && plan.args[i].is_tensor() && moves(static_cast<int64_t>(i)))
      throw Failure(unsupported_error, no_derivative(definition, plan.args[i].name));

  variable_list found(sources.size());
  if (!values.empty()) {
    // PyTorch's engine refuses to run under Python's lock, which torch.compile holds as it traces.
    std::optional<WithoutGil> no_gil;
    if (PyGILState_Check()) no_gil.emplace();
    found = torch::autograd::grad(values, sources, directions, /*retain_graph=*/true, /*create_graph=*/record,
                                  /*allow_unused=*/true);
  }
  std::vector<at::Tensor> tangents(results.size());
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!probes[i].requires_grad()) continue;
    tangents[i] = found[next].defined() ? found[next] : at::zeros_like(probes[i]);
    if (!record && tangents[i].requires_grad()) tangents[i] = tangents[i].detach();
    ++next;
  }
  return tangents;
}

inline torch::autograd::Edge edge_of(const at::Tensor& t) {
  return t.defined() && t.requires_grad() ? torch::autograd::impl::gradient_edge(t) : torch::autograd::Edge();
}

inline bool returned(const OpPlan& plan, int64_t argument) {
  for (const OutPlan& out : plan.outs)
    if (out.alias_arg == argument) return true;
  return false;
}

// Runs `forward(results)` (everything below autograd) and records what the demand asks for.
template <class Forward>
void differentiate(const Definition& definition, Demand demand, std::vector<c10::IValue> arguments, Results& results,
                   Forward&& forward) {
  const OpPlan& plan = definition.plan;
  if (definition.mutates) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!plan.args[i].has(kMutable)) continue;
      if ((demand.gradient || demand.tangent) && !returned(plan, static_cast<int64_t>(i)))
        throw Failure(unsupported_error,
                      definition.full_name + " writes to '" + plan.args[i].name +
                          "' without returning it, so no gradient can follow; call it under torch.no_grad()");
      each_tensor(arguments[i], [&](const at::Tensor& t) { torch::autograd::check_inplace(t, demand.gradient); });
      // A formula means the value the argument had before the call.
      if (definition.saved_arg[i])
        arguments[i] = map_tensors(arguments[i], [](const at::Tensor& t) { return t.clone(); });
    }
  }

  NodePtr<FormulaNode> node;
  if (demand.gradient) {
    node = make_node<FormulaNode>(definition, arguments);
    torch::autograd::edge_list edges;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue& value = arguments[i];
      if (!plan.args[i].is_tensor()) continue;
      if (value.isNone()) {
        edges.emplace_back();
      } else if (value.isTensor()) {
        edges.push_back(edge_of(value.toTensor()));
      } else {
        for (const c10::IValue& item : value.toListRef())
          edges.push_back(item.isNone() ? torch::autograd::Edge() : edge_of(item.toTensor()));
      }
    }
    node->set_next_edges(std::move(edges));
  }

  forward(results);

  if (node) {
    for (size_t i = 0; i < results.size(); ++i) {
      const at::Tensor& out = results[i].toTensor();
      if (!differentiable_type(out)) {
        node->add_input_metadata(torch::autograd::Node::undefined_input());
        node->known_.push_back(0);
        continue;
      }
      node->known_.push_back(1);
      if (plan.outs[i].alias_arg >= 0)
        torch::autograd::impl::rebase_history(
            out, torch::autograd::Edge(node, static_cast<uint32_t>(node->add_input_metadata(out))));
      else
        torch::autograd::set_history(out, node);
    }
    node->save_results(results);
  }
  if (demand.tangent) {
    const std::vector<at::Tensor> tangents = tangents_of(definition, arguments, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!tangents[i].defined()) continue;
      const at::Tensor& out = results[i].toTensor();
      // A tensor keeps the tangent it has: views of it share that tangent's memory.
      if (plan.outs[i].alias_arg >= 0 && out._fw_grad(0).defined())
        out._fw_grad(0).copy_(tangents[i]);
      else
        out._set_fw_grad(tangents[i], 0, plan.outs[i].alias_arg >= 0);
    }
  }
}

// The kernel of the Autograd keys.
inline void run_autograd(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                         Stack* stack) {
  const size_t first = stack->size() - definition.plan.args.size();
  const Demand demand(definition, stack->data() + first);
  const auto below = [&] {
    const at::AutoDispatchBelowAutograd guard;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  };
  if (!demand.gradient && !demand.tangent && !definition.mutates) return below();

  Results results;
  differentiate(definition, demand, {stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end()}, results,
                [&](Results& out) {
                  below();
                  out.assign(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
                });
  stack->resize(first);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

// The kernel of the ADInplaceOrView key, registered for operators that write to an argument.
inline void run_version_bump(const Definition& definition, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                             Stack* stack) {
  const size_t first = stack->size() - definition.plan.args.size();
  std::vector<c10::IValue> written;
  for (size_t i = 0; i < definition.plan.args.size(); ++i)
    if (definition.plan.args[i].has(kMutable)) written.push_back((*stack)[first + i]);
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
  for (const c10::IValue& value : written)
    each_tensor(value, [](const at::Tensor& t) { torch::autograd::increment_version(t); });
}

}  // namespace opbridge::torch_adapter

#endif
