// What a graph holds: work that a stream was captured with, or that a program has added by itself.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_GRAPHS_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_GRAPHS_H

#include <memory>
#include <vector>

#include "streams.h"

// Lives as long as its graph does, or a program that was made of it.
struct CUgraphNode_st {
  opbridge_twin::Work work;
  std::vector<cudaGraphNode_t> before;
};

using Nodes = std::vector<std::shared_ptr<CUgraphNode_st>>;

// In the order in which they were added; the edges may want another.
struct CUgraph_st {
  Nodes nodes;
};

// Work in an order that all edges allow, and the nodes it is of.
struct CUgraphExec_st {
  std::vector<opbridge_twin::Work> work;
  Nodes nodes;
  bool frees_at_launch;
};

namespace opbridge_twin {

cudaError_t run(const std::vector<Work>& work);

// What was taken down since `ob_twin_node_begins`, as one.
Work work_of_node();

}  // namespace opbridge_twin
#endif
