// Graphs: nodes, the order in which their work is done, and launches of it.
#include "graphs.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "memory.h"
#include "state.h"
#include "streams.h"

namespace opbridge_twin {

namespace {

// The nodes in an order that all edges allow; fewer than there are where they go round in a circle.
Nodes in_order(const Nodes& nodes) {
  std::set<cudaGraphNode_t> done;
  Nodes ordered;
  for (bool goes_on = true; goes_on && ordered.size() < nodes.size();) {
    goes_on = false;
    for (const auto& node : nodes) {
      const auto is_done = [&](cudaGraphNode_t before) { return done.count(before) > 0; };
      if (is_done(node.get()) || !std::all_of(node->before.begin(), node->before.end(), is_done)) continue;
      done.insert(node.get());
      ordered.push_back(node);
      goes_on = true;
    }
  }
  return ordered;
}

std::vector<Work> work_of(const Nodes& nodes) {
  std::vector<Work> work;
  for (const auto& node : nodes) work.push_back(node->work);
  return work;
}

// Has something of the runtime's asked for in a node and not done.
template <class Ask>
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                     const Ask& ask) {
  if (const cudaError_t error = ask(ob_twin_node_begins())) {
    work_of_node();
    return error;
  }
  return ob_twin_node_added(node, graph, before, count);
}

cudaError_t fill(const cudaMemsetParams& how) {
  if (how.elementSize == 1 || how.value == 0) {
    return cudaMemset2D(how.dst, how.height > 1 ? how.pitch : how.width * how.elementSize, static_cast<int>(how.value),
                        how.width * how.elementSize, how.height);
  }
  for (size_t row = 0; row < how.height; ++row) {
    for (size_t at = 0; at < how.width; ++at) {
      char* const place = static_cast<char*>(how.dst) + row * how.pitch + at * how.elementSize;
      if (const cudaError_t error = cudaMemcpy(place, &how.value, how.elementSize, cudaMemcpyDefault)) return error;
    }
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t run(const std::vector<Work>& work) {
  for (const Work& one : work) {
    if (const cudaError_t error = one()) return error;
  }
  return cudaSuccess;
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return noted(cudaErrorInvalidValue);
  const size_t room = nodes == nullptr ? 0 : std::min(*count, graph->nodes.size());
  for (size_t i = 0; i < room; ++i) nodes[i] = graph->nodes[i].get();
  *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  if (graph == nullptr) return noted(cudaErrorInvalidValue);
  *graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count) {
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return noted(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) to[i]->before.push_back(from[i]);
  return cudaSuccess;
}

cudaError_t ob_twin_node_added(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count) {
  const Work work = work_of_node();
  if (node == nullptr || graph == nullptr || (count != 0 && before == nullptr)) return noted(cudaErrorInvalidValue);
  const auto made = std::make_shared<CUgraphNode_st>(CUgraphNode_st{work, {before, before + count}});
  graph->nodes.push_back(made);
  *node = made.get();
  return cudaSuccess;
}

cudaError_t ob_twin_node_replaced(cudaGraphExec_t exec, cudaGraphNode_t node) {
  const Work work = work_of_node();
  if (node == nullptr) return noted(cudaErrorInvalidValue);
  if (exec == nullptr) {
    node->work = work;
    return cudaSuccess;
  }
  for (size_t i = 0; i < exec->nodes.size(); ++i) {
    if (exec->nodes[i].get() != node) continue;
    exec->work[i] = work;
    return cudaSuccess;
  }
  return noted(cudaErrorInvalidValue);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                  size_t count) {
  return add_node(node, graph, before, count, [](cudaStream_t) { return cudaSuccess; });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaMemcpy3DParms* how) {
  return add_node(node, graph, before, count, [=](cudaStream_t stream) { return cudaMemcpy3DAsync(how, stream); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_node(node, graph, before, count,
                  [=](cudaStream_t stream) { return cudaMemcpyAsync(to, from, bytes, kind, stream); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from,
                                               size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, ob_twin_node_begins());
  return error != cudaSuccess ? error : ob_twin_node_replaced(exec, node);
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaMemsetParams* how) {
  if (how == nullptr) return noted(cudaErrorInvalidValue);
  const cudaMemsetParams kept = *how;
  return add_node(node, graph, before, count,
                  [=](cudaStream_t stream) { return take_down(stream, [kept] { return fill(kept); }); });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                                 const cudaHostNodeParams* how) {
  if (how == nullptr || how->fn == nullptr) return noted(cudaErrorInvalidValue);
  const cudaHostNodeParams kept = *how;
  const Work work = [kept] { return (kept.fn(kept.userData), cudaSuccess); };
  return add_node(node, graph, before, count, [=](cudaStream_t stream) { return take_down(stream, work); });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                       size_t count, cudaGraph_t child) {
  if (child == nullptr) return noted(cudaErrorInvalidValue);
  const std::vector<Work> work = work_of(in_order(child->nodes));
  return add_node(node, graph, before, count,
                  [=](cudaStream_t stream) { return take_down(stream, [work] { return run(work); }); });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  if (clone == nullptr || graph == nullptr) return noted(cudaErrorInvalidValue);
  *clone = new CUgraph_st(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph == nullptr) return noted(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  OB_TWIN_REQUIRE_DEVICE();
  if (exec == nullptr || graph == nullptr) return noted(cudaErrorInvalidValue);
  const Nodes ordered = in_order(graph->nodes);
  if (ordered.size() != graph->nodes.size()) return noted(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{work_of(ordered), ordered, (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0};
  return cudaSuccess;
}

cudaError_t ob_twin_graph_update(cudaGraphExec_t exec, cudaGraph_t graph) {
  if (exec == nullptr || graph == nullptr) return noted(cudaErrorInvalidValue);
  // A GPU changes what nodes do, and not how many there are.
  if (exec->work.size() != graph->nodes.size()) return noted(cudaErrorGraphExecUpdateFailure);
  exec->nodes = in_order(graph->nodes);
  exec->work = work_of(exec->nodes);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  return exec == nullptr ? noted(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (exec == nullptr) return noted(cudaErrorInvalidValue);
  const auto launch = [work = exec->work, frees = exec->frees_at_launch] {
    const FreesAtLaunch frees_at_launch(frees);
    return run(work);
  };
  return on_stream(stream, launch);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  if (exec == nullptr) return noted(cudaErrorInvalidValue);
  delete exec;
  return cudaSuccess;
}
