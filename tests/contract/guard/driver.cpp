// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/driver.h"

#include <dlfcn.h>

#include <cctype>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/contract/guard/elf_walk.h"

namespace aliquot::guardkit {

void* (*linked_entry)(const char* exported) = nullptr;

namespace {

Route chosen = Route::kDlsym;
std::mutex mutex;

std::map<std::string, void*>& found_entries() {
    static auto& entries = *new std::map<std::string, void*>;
    return entries;
}

using GetProc = decltype(&cuGetProcAddress_v2);

void* by_get_proc(const char* exported, bool per_thread) {
    const auto get = reinterpret_cast<GetProc>(::dlsym(cuda_library(), "cuGetProcAddress_v2"));
    const SymbolRow* const row = row_of(exported);
    if (get == nullptr || row == nullptr) return nullptr;
    const cuuint64_t flags = per_thread || row->per_thread != 0
                                 ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                 : CU_GET_PROC_ADDRESS_DEFAULT;
    void* address = nullptr;
    CUdriverProcAddressQueryResult status = 0;
    if (get(row->base, &address, row->version, flags, &status) != CUDA_SUCCESS) return nullptr;
    return address;
}

void* by_route(const char* exported) {
    switch (chosen) {
        case Route::kDlsym:
            return ::dlsym(cuda_library(), exported);
        case Route::kGetProc:
            return by_get_proc(exported, false);
        case Route::kPerThread:
            return by_get_proc(exported, true);
        case Route::kLinked:
            return linked_entry == nullptr ? nullptr : linked_entry(exported);
    }
    return nullptr;
}

nvmlMemory_t bare_memory(unsigned gpu) {
    nvmlMemory_t memory{};
    CHECK_OK(BARE_NVML(nvmlDeviceGetMemoryInfo)(bare_device(gpu), &memory));
    return memory;
}

}  // namespace

void set_route(Route wanted) { chosen = wanted; }
Route route() { return chosen; }

void* cuda_library() {
    static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) skip("no libcuda.so.1 here");
    return library;
}

void* nvml_library() {
    static void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) skip("no libnvidia-ml.so.1 here");
    return library;
}

void* entry(const char* exported) {
    const std::lock_guard lock(mutex);
    void*& address = found_entries()[exported];
    if (address == nullptr) address = by_route(exported);
    if (address == nullptr)
        fail(__FILE__, __LINE__, std::string("the driver gives no ") + exported);
    return address;
}

void* bare_entry(const char* exported) {
    (void)cuda_library();
    const std::lock_guard lock(mutex);
    void*& address = found_entries()[std::string("bare ") + exported];
    if (address == nullptr) address = walk_for("libcuda.so", exported);
    if (address == nullptr)
        fail(__FILE__, __LINE__, std::string("the driver's tables have no ") + exported);
    return address;
}

void* nvml_entry(const char* exported) {
    void* const address = ::dlsym(nvml_library(), exported);
    if (address == nullptr) fail(__FILE__, __LINE__, std::string("NVML gives no ") + exported);
    return address;
}

void* bare_nvml_entry(const char* exported) {
    (void)nvml_library();
    const std::lock_guard lock(mutex);
    void*& address = found_entries()[std::string("bare ") + exported];
    if (address == nullptr) address = walk_for("libnvidia-ml.so", exported);
    if (address == nullptr)
        fail(__FILE__, __LINE__, std::string("NVML's tables have no ") + exported);
    return address;
}

std::string guard_object() {
    const std::string preloaded = environment("ALIQUOT_GUARD_KIT_PRELOADED");
    if (preloaded.empty()) return {};
    const std::size_t slash = preloaded.rfind('/');
    return slash == std::string::npos ? preloaded : preloaded.substr(slash + 1);
}

bool is_guards(const void* address) {
    const std::string guard = guard_object();
    return !guard.empty() && object_of(address).ends_with(guard);
}

const std::vector<SymbolRow>& symbol_rows() {
    static const std::vector<SymbolRow> rows = {
#define CUDA_SYMBOL(base, version, per_thread, exported) {#base, version, per_thread, #exported},
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    };
    return rows;
}

const SymbolRow* row_of(const char* exported) {
    for (const SymbolRow& row : symbol_rows()) {
        if (std::strcmp(row.exported, exported) == 0) return &row;
    }
    return nullptr;
}

CUcontext start_cuda(int ordinal) {
    CHECK_OK(CU(cuInit)(0));
    CUdevice device = -1;
    CHECK_OK(CU(cuDeviceGet)(&device, ordinal));
    CUcontext context = nullptr;
    CHECK_OK(CU(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK_OK(CU(cuCtxSetCurrent)(context));
    return context;
}

nvmlDevice_t bare_device(unsigned gpu) {
    static const nvmlReturn_t ready = BARE_NVML(nvmlInit_v2)();
    CHECK_OK(ready);
    nvmlDevice_t device = nullptr;
    CHECK_OK(BARE_NVML(nvmlDeviceGetHandleByIndex_v2)(gpu, &device));
    return device;
}

std::uint64_t physical_used(unsigned gpu) { return bare_memory(gpu).used; }
std::uint64_t physical_total(unsigned gpu) { return bare_memory(gpu).total; }
std::uint64_t physical_base(unsigned gpu) {
    static std::map<unsigned, std::uint64_t> bases;
    const auto at = bases.find(gpu);
    if (at != bases.end()) return at->second;
    return bases[gpu] = physical_used(gpu);
}

void gpu_uuid(unsigned gpu, unsigned char* bytes) {
    char text[96] = {};
    CHECK_OK(BARE_NVML(nvmlDeviceGetUUID)(bare_device(gpu), text, sizeof text));
    unsigned digits = 0;
    std::memset(bytes, 0, 16);
    for (const char* at = std::strchr(text, '-'); at != nullptr && *at != '\0'; ++at) {
        if (std::isxdigit(static_cast<unsigned char>(*at)) == 0 || digits == 32) continue;
        const int value =
            std::isdigit(static_cast<unsigned char>(*at)) != 0 ? *at - '0' : (*at | 32) - 'a' + 10;
        bytes[digits / 2] = static_cast<unsigned char>(bytes[digits / 2] << 4 | value);
        ++digits;
    }
    CHECK_EQ(digits, 32U);
}

View memory_view() {
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(CU(cuMemGetInfo_v2)(&free, &total));
    return {.free = free, .total = total};
}

}  // namespace aliquot::guardkit
