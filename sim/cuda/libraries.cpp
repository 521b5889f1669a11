// SPDX-License-Identifier: Apache-2.0
// Entry points about libraries: images that belong to no context, and their kernels.
#include <algorithm>
#include <string>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/image.h"
#include "sim/cuda/kernel.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

// A library is a module that has no context, and a kernel the function in it: their handles are the
// same addresses, so that a kernel may stand where a function is asked for, as with drivers.
CUmodule module_of(CUlibrary library) { return reinterpret_cast<CUmodule>(library); }
CUfunction function_of(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

CUresult check(CUlibrary library) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(module_of(library)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult check(CUkernel kernel) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(function_of(kernel)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult load(CUlibrary* library, const void* image) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (library == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *library = reinterpret_cast<CUlibrary>(load_image(nullptr, image));
    return CUDA_SUCCESS;
}

CUresult global(CUdeviceptr* dptr, std::size_t* bytes, CUlibrary library, const char* name) {
    if (const auto checked = check(library); checked != CUDA_SUCCESS) return checked;
    if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    const Global found = find_global(*module_of(library), name);
    if (found.result != CUDA_SUCCESS) return found.result;
    if (dptr != nullptr) *dptr = found.address;
    if (bytes != nullptr) *bytes = found.bytes;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                           unsigned int, CUlibraryOption*, void**, unsigned int) {
    called(__func__);
    return load(library, code);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option*, void**,
                               unsigned int, CUlibraryOption*, void**, unsigned int) {
    called(__func__);
    if (file == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto image = read_image(file);
    return image ? load(library, image->c_str()) : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult cuLibraryUnload(CUlibrary library) {
    called(__func__);
    if (const auto checked = check(library); checked != CUDA_SUCCESS) return checked;
    unload(*module_of(library));
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    called(__func__);
    if (const auto checked = check(library); checked != CUDA_SUCCESS) return checked;
    if (kernel == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
    CUfunc_st* const found = find_function(*module_of(library), name);
    if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
    *kernel = reinterpret_cast<CUkernel>(found);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
    called(__func__);
    if (const auto checked = check(library); checked != CUDA_SUCCESS) return checked;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module_of(library)->kernels.size());
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary library) {
    called(__func__);
    if (const auto checked = check(library); checked != CUDA_SUCCESS) return checked;
    if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmod_st& module = *module_of(library);
    for (unsigned i = 0; i < count && i < module.kernels.size(); ++i) {
        kernels[i] = reinterpret_cast<CUkernel>(find_function(module, module.kernels[i]));
    }
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    called(__func__);
    if (const auto checked = check(library); checked != CUDA_SUCCESS) return checked;
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = module_of(library);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
    called(__func__);
    return global(dptr, bytes, library, name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    called(__func__);
    if (const auto checked = check(kernel); checked != CUDA_SUCCESS) return checked;
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *function = function_of(kernel);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    called(__func__);
    if (const auto checked = check(kernel); checked != CUDA_SUCCESS) return checked;
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *library = reinterpret_cast<CUlibrary>(function_of(kernel)->module);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
    called(__func__);
    if (const auto checked = check(kernel); checked != CUDA_SUCCESS) return checked;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = function_of(kernel)->name.c_str();
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice) {
    called(__func__);
    return cuFuncGetAttribute(value, attribute, function_of(kernel));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice) {
    called(__func__);
    return cuFuncSetAttribute(function_of(kernel), attribute, value);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice) {
    called(__func__);
    return cuFuncSetCacheConfig(function_of(kernel), config);
}

}  // extern "C"
