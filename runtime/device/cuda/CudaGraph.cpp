//===- CudaGraph.cpp - what a captured graph holds ------------------------------===//
//
// A capture of one stream is a chain, but the driver lists nodes in any order:
// they are sorted along the edges, by the driver's order where those leave a
// choice.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaStream.h"

#include <algorithm>
#include <map>

namespace fusec::runtime::cuda {

Result<std::unique_ptr<CudaGraph>> CudaGraph::instantiate(std::shared_ptr<CudaContext> context, Graph graph) {
  std::unique_ptr<CudaGraph> result(new CudaGraph(std::move(context), graph));
  const CudaDriverApi &api = *result->context->api;
  FUSEC_RETURN_IF_ERROR(
      api.check(api.cuGraphInstantiateWithFlags(&result->exec, graph, 0), "preparing a captured graph"));
  return result;
}

CudaGraph::~CudaGraph() {
  ContextScope scope(*context);
  if (exec)
    (void)context->api->cuGraphExecDestroy(exec);
  (void)context->api->cuGraphDestroy(graph);
}

Result<std::vector<GraphNode>> CudaGraph::nodesInOrder() const {
  const CudaDriverApi &api = *context->api;
  size_t numNodes = 0, numEdges = 0;
  FUSEC_RETURN_IF_ERROR(api.check(api.cuGraphGetNodes(graph, nullptr, &numNodes), "reading a captured graph"));
  FUSEC_RETURN_IF_ERROR(api.check(api.cuGraphGetEdges(graph, nullptr, nullptr, &numEdges), "reading a captured graph"));
  std::vector<GraphNode> nodes(numNodes), from(numEdges), to(numEdges), sorted;
  if (numNodes > 0)
    FUSEC_RETURN_IF_ERROR(api.check(api.cuGraphGetNodes(graph, nodes.data(), &numNodes), "reading a captured graph"));
  if (numEdges > 0)
    FUSEC_RETURN_IF_ERROR(
        api.check(api.cuGraphGetEdges(graph, from.data(), to.data(), &numEdges), "reading a captured graph"));
  std::map<GraphNode, size_t> waiting; // Edges into the node from nodes that are not sorted yet.
  std::multimap<GraphNode, GraphNode> after;
  for (size_t i = 0; i < numEdges; ++i) {
    ++waiting[to[i]];
    after.emplace(from[i], to[i]);
  }
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(sorted), [&](GraphNode n) { return waiting[n] == 0; });
  for (size_t done = 0; done < sorted.size(); ++done) {
    auto [begin, end] = after.equal_range(sorted[done]);
    for (auto edge = begin; edge != end; ++edge)
      if (--waiting[edge->second] == 0)
        sorted.push_back(edge->second);
  }
  return sorted;
}

Result<GpuGraphLaunch> CudaGraph::launchOf(GraphNode node) const {
  const CudaDriverApi &api = *context->api;
  KernelNodeParams params{};
  FUSEC_RETURN_IF_ERROR(api.check(api.cuGraphKernelNodeGetParams(node, &params), "reading a captured launch"));
  LaunchAttributeValue cluster{};
  FUSEC_RETURN_IF_ERROR(
      api.check(api.cuGraphKernelNodeGetAttribute(node, ClusterDimension, &cluster), "reading a captured launch"));
  const std::optional<CudaContext::KernelFacts> facts = context->factsOf(params.function);
  if (!facts)
    return internalError("a captured launch is of a kernel that fusec did not launch");
  GpuGraphLaunch launch;
  launch.function = facts->name;
  launch.grid = {params.gridX, params.gridY, params.gridZ};
  launch.block = {params.blockX, params.blockY, params.blockZ};
  // 0 = no cluster.
  launch.cluster = {std::max(cluster.cluster.x, 1u), std::max(cluster.cluster.y, 1u), std::max(cluster.cluster.z, 1u)};
  launch.sharedBytes = params.sharedBytes;
  if (!params.parameters && facts->parameters > 0)
    return internalError("captured launch of '" + facts->name + "': the driver shows no parameters");
  for (size_t i = 0; i < facts->parameters; ++i)
    launch.parameters.push_back(*static_cast<const uint64_t *>(params.parameters[i]));
  return launch;
}

Result<std::vector<GpuGraphLaunch>> CudaGraph::launches() const {
  ContextScope scope(*context);
  FUSEC_ASSIGN_OR_RETURN(std::vector<GraphNode> nodes, nodesInOrder());
  std::vector<GpuGraphLaunch> list;
  for (GraphNode node : nodes) {
    NodeType type{};
    FUSEC_RETURN_IF_ERROR(
        context->api->check(context->api->cuGraphNodeGetType(node, &type), "reading a captured graph"));
    if (type != KernelNode)
      continue;
    FUSEC_ASSIGN_OR_RETURN(GpuGraphLaunch launch, launchOf(node));
    list.push_back(std::move(launch));
  }
  return list;
}

} // namespace fusec::runtime::cuda
