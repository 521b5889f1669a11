// SPDX-License-Identifier: Apache-2.0
// Entry points about functions, and how many of their blocks a device holds at once.
#include <algorithm>
#include <array>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/device_attributes.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/kernel.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr int kAttributeCount = 16;
constexpr int kRegisters = 32;  // of each thread, whatever the kernel

CUresult check(CUfunction function) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/// What is not set, by attribute.
int usual(int attribute, const Device* device) {
    const int capability =
        device == nullptr ? 80 : device->model->compute_major * 10 + device->model->compute_minor;
    switch (attribute) {
        case 0:  // most threads of a block
            return 1024;
        case 4:  // registers
            return kRegisters;
        case 5:  // versions of its code
        case 6:
            return capability;
        case 8:  // dynamic shared memory
            return 49152;
        case 9:  // carve-out: the driver decides
            return -1;
        default:
            return 0;
    }
}

CUresult blocks(int* count, CUfunction function, int threads, std::size_t shared) {
    const Current current = current_context();
    if (!current) return current.result;
    if (const auto checked = check(function); checked != CUDA_SUCCESS) return checked;
    if (count == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    constexpr int kThreadsAttribute = 39;
    constexpr int kBlocksAttribute = 106;
    constexpr int kSharedAttribute = 81;
    constexpr int kMostThreads = 1024;
    const Device& device = *current.context->device;
    const auto most = [&](int attribute) {
        return device_attribute(device, attribute).value_or(1);
    };
    if (threads > kMostThreads) {
        *count = 0;
        return CUDA_SUCCESS;
    }
    int fit = std::min(most(kThreadsAttribute) / threads, most(kBlocksAttribute));
    if (shared > 0) {
        fit = std::min(fit,
                       static_cast<int>(static_cast<std::size_t>(most(kSharedAttribute)) / shared));
    }
    *count = fit;
    return CUDA_SUCCESS;
}

CUresult best_block(int* grid, int* block, CUfunction function, int limit) {
    constexpr int kUsual = 1024;
    const Current current = current_context();
    if (!current) return current.result;
    if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *block = limit > 0 ? std::min(limit, kUsual) : kUsual;
    int fit = 0;
    const CUresult result = blocks(&fit, function, *block, 0);
    *grid = fit * static_cast<int>(current.context->device->multiprocessors);
    return result;
}

}  // namespace

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction f) {
    called(__func__);
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    if (value == nullptr || attribute < 0 || attribute >= kAttributeCount) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto set = f->attributes.find(attribute);
    const CUcontext current = thread_state.current;
    *value = set != f->attributes.end()
                 ? set->second
                 : usual(attribute, current == nullptr ? nullptr : current->device);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value) {
    called(__func__);
    constexpr std::array kSettable = {8, 9, 10, 11, 12, 13, 14, 15};
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    if (std::ranges::find(kSettable, attribute) == kSettable.end()) return CUDA_ERROR_INVALID_VALUE;
    f->attributes[attribute] = value;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction f, int config) {
    called(__func__);
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    return config >= 0 && config <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetSharedMemConfig(CUfunction f, int config) {
    called(__func__);
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    return config >= 0 && config <= 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction f) {
    called(__func__);
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = f->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction f) {
    called(__func__);
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = f->name.c_str();
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(int* state, CUfunction f) {
    called(__func__);
    constexpr int kLoaded = 1;
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *state = kLoaded;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction f) {
    called(__func__);
    return check(f);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, CUfunction f, int threads,
                                                     size_t shared) {
    called(__func__);
    return blocks(count, f, threads, shared);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, CUfunction f, int threads,
                                                              size_t shared, unsigned int) {
    called(__func__);
    return blocks(count, f, threads, shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction f,
                                          size_t (*)(int blockSize), size_t, int limit) {
    called(__func__);
    return best_block(grid, block, f, limit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction f,
                                                   size_t (*)(int blockSize), size_t, int limit,
                                                   unsigned int) {
    called(__func__);
    return best_block(grid, block, f, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction f, int blocks_wanted,
                                                 int) {
    called(__func__);
    constexpr int kSharedAttribute = 81;
    const Current current = current_context();
    if (!current) return current.result;
    if (const auto checked = check(f); checked != CUDA_SUCCESS) return checked;
    if (bytes == nullptr || blocks_wanted <= 0) return CUDA_ERROR_INVALID_VALUE;
    const int all = device_attribute(*current.context->device, kSharedAttribute).value_or(0);
    *bytes = static_cast<size_t>(all / blocks_wanted);
    return CUDA_SUCCESS;
}

}  // extern "C"
