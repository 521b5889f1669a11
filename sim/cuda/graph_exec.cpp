// SPDX-License-Identifier: Apache-2.0
// Graphs that run.
#include "sim/cuda/graph_exec.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/host_calls.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/objects.h"

namespace aliquot::sim {
namespace {

constexpr int kDeepest = 16;  // of graphs in graphs

/// Appends the nodes of a graph, each after those it depends on. False: they depend on each other in
/// a circle.
bool append(const CUgraph_st& graph, CUgraphExec_st& exec, int depth) {
    if (depth > kDeepest) return false;
    std::set<CUgraphNode> done;
    std::vector<CUgraphNode> left = graph.nodes;
    while (!left.empty()) {
        std::vector<CUgraphNode> later;
        for (CUgraphNode_st* const node : left) {
            const bool free = std::ranges::all_of(
                node->dependencies, [&](CUgraphNode before) { return done.contains(before); });
            if (!free) {
                later.push_back(node);
                continue;
            }
            done.insert(node);
            exec.steps.push_back(*node);
            exec.sources.push_back(node);
            if (node->child != nullptr && !append(*node->child, exec, depth + 1)) return false;
        }
        if (later.size() == left.size()) return false;
        left = std::move(later);
    }
    return true;
}

void change_reserved(Device& device, std::uint64_t bytes, bool grow) {
    device.graph_reserved_bytes += grow ? bytes : 0 - bytes;
    device.graph_reserved_high_bytes =
        std::max(device.graph_reserved_high_bytes, device.graph_reserved_bytes);
}

/// The memory of allocation nodes is paid for when their graph is uploaded or first runs, and kept
/// until it is destroyed or trimmed. Under the device's lock.
CUresult pay(CUgraphExec_st& exec) {
    Device& device = *exec.device;
    if (exec.backed_bytes < exec.memory_bytes) {
        const std::uint64_t missing = exec.memory_bytes - exec.backed_bytes;
        const CUresult paid = device.account.grow(missing);
        if (paid != CUDA_SUCCESS) return paid;
        exec.backed_bytes += missing;
        change_reserved(device, missing, true);
    }
    return CUDA_SUCCESS;
}

CUresult back(CUgraphExec_st& exec) {
    Device& device = *exec.device;
    const std::lock_guard lock(device.mutex);
    if (const auto paid = pay(exec); paid != CUDA_SUCCESS) return paid;
    for (const CUgraphNode_st& step : exec.steps) {
        if (step.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
        const auto blocks = device.arena.blocks_at(step.address);
        if (!blocks || blocks->resident) continue;
        device.arena.set_resident(step.address, true);
        device.graph_used_bytes += blocks->span;
    }
    device.graph_used_high_bytes = std::max(device.graph_used_high_bytes, device.graph_used_bytes);
    return CUDA_SUCCESS;
}

void run_step(CUgraphExec_st& exec, CUgraphNode_st& step, CUstream_st& stream) {
    if (!step.enabled) return;
    Device* const device = exec.device;
    switch (step.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            run_kernel(stream, step.launch);
            return;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
            submit(stream, {}, step.effect);
            return;
        case CU_GRAPH_NODE_TYPE_HOST:
            add_host_call(stream, [call = step.host_call, data = step.host_data] { call(data); });
            return;
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            submit(stream, {},
                   [device, address = step.address] { (void)give_memory_at(*device, address); });
            return;
        default:
            return;
    }
}

std::mutex execs_mutex;
std::set<CUgraphExec_st*>& execs() { return immortal<std::set<CUgraphExec_st*>>(); }

}  // namespace

Instantiated instantiate(const CUgraph_st& graph, std::uint64_t flags) {
    const Current current = current_context();
    if (!current) return {current.result, nullptr};
    CUgraphExec_st* const exec = objects<CUgraphExec_st>().make();
    exec->device = current.context->device;
    exec->flags = flags;
    if (!append(graph, *exec, 0)) {
        objects<CUgraphExec_st>().destroy(exec);
        return {CUDA_ERROR_INVALID_VALUE, nullptr};
    }
    for (const CUgraphNode_st& step : exec->steps) {
        if (step.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
        exec->memory_bytes += step.bytes;
        hold_allocation(*exec->device, step.address);
    }
    const std::lock_guard lock(execs_mutex);
    execs().insert(exec);
    return {CUDA_SUCCESS, exec};
}

CUresult upload_graph(CUgraphExec_st& exec) {
    if (exec.memory_bytes == 0) return CUDA_SUCCESS;
    const std::lock_guard lock(exec.device->mutex);
    return pay(exec);
}

void forget_graph_memory(Device& device) {
    const std::lock_guard lock(execs_mutex);
    for (CUgraphExec_st* const exec : execs()) {
        if (exec->device == &device) exec->backed_bytes = 0;
    }
    const std::lock_guard device_lock(device.mutex);
    device.graph_reserved_bytes = 0;
    device.graph_used_bytes = 0;
}

CUresult launch_graph(CUgraphExec_st& exec, CUstream_st& stream) {
    if (exec.memory_bytes > 0) {
        if (const auto backed = back(exec); backed != CUDA_SUCCESS) return backed;
    }
    // Kernels in a row that compute nothing are one piece of work.
    Work plain;
    bool work = false;
    for (CUgraphNode_st& step : exec.steps) {
        if (step.type == CU_GRAPH_NODE_TYPE_KERNEL && !has_effect(*step.launch.function)) {
            if (!step.enabled) continue;
            const Work one = work_of(*exec.device, step.launch);
            plain.duration_ns += one.duration_ns;
            plain.slots = std::max(plain.slots, one.slots);
            continue;
        }
        if (plain.duration_ns > 0) submit(stream, std::exchange(plain, {}), {});
        run_step(exec, step, stream);
        work = true;
    }
    if (plain.duration_ns > 0) submit(stream, plain, {});
    if (work || plain.duration_ns > 0) exec.last_position = end_of(stream);
    return CUDA_SUCCESS;
}

void destroy_exec(CUgraphExec_st& exec) {
    {
        const std::lock_guard lock(execs_mutex);
        execs().erase(&exec);
    }
    Device& device = *exec.device;
    (void)device.queue.wait(exec.last_position);
    trim_exec(exec);
    for (const CUgraphNode_st& step : exec.steps) {
        if (step.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) drop_allocation(device, step.address);
    }
    objects<CUgraphExec_st>().destroy(&exec);
}

void trim_exec(CUgraphExec_st& exec) {
    Device& device = *exec.device;
    const std::lock_guard lock(device.mutex);
    if (exec.backed_bytes == 0 || device.contexts == 0) {
        exec.backed_bytes = 0;
        return;
    }
    std::uint64_t used = 0;
    for (const CUgraphNode_st& step : exec.steps) {
        if (step.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
        const auto blocks = device.arena.blocks_at(step.address);
        if (blocks && blocks->resident) used += blocks->span;
    }
    const std::uint64_t unused = exec.backed_bytes - std::min(exec.backed_bytes, used);
    device.account.shrink(unused);
    change_reserved(device, unused, false);
    exec.backed_bytes -= unused;
}

void trim_graph_memory(Device& device) {
    const std::lock_guard lock(execs_mutex);
    for (CUgraphExec_st* const exec : execs()) {
        if (exec->device != &device || !device.queue.reached(exec->last_position)) continue;
        trim_exec(*exec);
    }
}

}  // namespace aliquot::sim
