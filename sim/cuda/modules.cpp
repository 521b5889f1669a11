// SPDX-License-Identifier: Apache-2.0
// Entry points about modules and the functions in them.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include "base/number.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/image.h"
#include "sim/cuda/kernel.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

namespace aliquot::sim {
namespace {

constexpr std::string_view kHeader = "aliquot-kernels 1\n";
constexpr std::string_view kPtx = ".version ";
constexpr std::size_t kMostText = 1 << 16;
constexpr std::uint64_t kUnknownGlobalBytes = 4096;

std::mutex modules_mutex;

/// A line of our own image: "kernel NAME", "global NAME BYTES".
void read_line(CUmod_st& module, std::string_view line) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos) return;
    const std::string_view word = line.substr(0, space);
    std::string_view rest = line.substr(space + 1);
    if (word == "kernel") module.kernels.emplace_back(rest);
    if (word != "global") return;
    const auto split = rest.find(' ');
    std::uint64_t bytes = 0;
    if (split != std::string_view::npos) {
        std::string_view digits = rest.substr(split + 1);
        bytes = take_number<std::uint64_t>(digits).value_or(0);
        rest = rest.substr(0, split);
    }
    if (bytes > 0) module.global_bytes.emplace(rest, bytes);
}

}  // namespace

CUmod_st* load_image(CUcontext context, const void* image) {
    CUmod_st* const module = objects<CUmod_st>().make();
    module->context = context;
    const auto* const text = static_cast<const char*>(image);
    if (std::strncmp(text, kPtx.data(), kPtx.size()) == 0) {
        const std::string_view ptx(text, ::strnlen(text, kMostText));
        module->has_probe = ptx.contains(".entry " + std::string(kProbeKernel) + "(");
        return module;
    }
    if (std::strncmp(text, kHeader.data(), kHeader.size()) != 0) return module;
    module->own_format = true;
    std::string_view rest(text + kHeader.size(), ::strnlen(text + kHeader.size(), kMostText));
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        read_line(*module, rest.substr(0, end));
        rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    }
    return module;
}

std::optional<std::string> read_image(const char* file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return std::nullopt;
    std::string content{std::istreambuf_iterator<char>(stream), {}};
    if (content.empty()) return std::nullopt;
    return content;
}

CUfunc_st* find_function(CUmod_st& module, std::string_view name) {
    const std::lock_guard lock(modules_mutex);
    if (const auto found = module.functions.find(name); found != module.functions.end()) {
        return found->second;
    }
    const bool named = std::ranges::find(module.kernels, name) != module.kernels.end();
    if (module.own_format && !named) return nullptr;
    CUfunc_st* const function = objects<CUfunc_st>().make();
    function->name = name;
    function->module = &module;
    const bool computed = module.own_format || (module.has_probe && name == kProbeKernel);
    if (computed) function->kind = kernel_kind(name);
    module.functions.emplace(name, function);
    return function;
}

Global find_global(CUmod_st& module, std::string_view name) {
    const std::lock_guard lock(modules_mutex);
    std::uint64_t bytes = kUnknownGlobalBytes;
    if (module.own_format) {
        const auto found = module.global_bytes.find(name);
        if (found == module.global_bytes.end()) return {CUDA_ERROR_NOT_FOUND, 0, 0};
        bytes = found->second;
    }
    const CUcontext context = module.context != nullptr ? module.context : thread_state.current;
    if (context == nullptr) return {CUDA_ERROR_INVALID_CONTEXT, 0, 0};
    auto& address = module.global_addresses[std::string(name)];
    if (address == 0) {
        const Granted granted =
            take_memory(*context->device, {.bytes = bytes, .owner = context->id});
        if (granted.result != CUDA_SUCCESS) return {granted.result, 0, 0};
        address = granted.address;
    }
    return {CUDA_SUCCESS, address, bytes};
}

void unload(CUmod_st& module) {
    const std::lock_guard lock(modules_mutex);
    for (const auto& [name, function] : module.functions) objects<CUfunc_st>().destroy(function);
    for (const auto& [name, address] : module.global_addresses) {
        if (Device* const device = Driver::get().device_of(address)) {
            (void)give_memory_at(*device, address);
        }
    }
    objects<CUmod_st>().destroy(&module);
}

}  // namespace aliquot::sim

using namespace aliquot::sim;

namespace {

CUresult load(CUmodule* module, const void* image) {
    const Current current = current_context();
    if (!current) return current.result;
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = load_image(current.context, image);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* file) {
    called(__func__);
    if (module == nullptr || file == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto image = read_image(file);
    return image ? load(module, image->c_str()) : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    called(__func__);
    return load(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                            void**) {
    called(__func__);
    return load(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    called(__func__);
    return load(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(module)) return CUDA_ERROR_INVALID_HANDLE;
    unload(*module);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (function == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
    if (!valid(module)) return CUDA_ERROR_INVALID_HANDLE;
    CUfunc_st* const found = find_function(*module, name);
    if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
    *function = found;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(module)) return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module->kernels.size());
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule module) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(module)) return CUDA_ERROR_INVALID_HANDLE;
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && i < module->kernels.size(); ++i) {
        functions[i] = find_function(*module, module->kernels[i]);
    }
    return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(int* mode) {
    called(__func__);
    constexpr int kLazy = 2;
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = kLazy;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule module, const char* name) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    if (!valid(module)) return CUDA_ERROR_INVALID_HANDLE;
    const Global found = find_global(*module, name);
    if (found.result != CUDA_SUCCESS) return found.result;
    if (dptr != nullptr) *dptr = found.address;
    if (bytes != nullptr) *bytes = found.bytes;
    return CUDA_SUCCESS;
}

}  // extern "C"
