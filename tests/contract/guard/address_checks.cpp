// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress, both versions: how the CUDA runtime and nearly every framework find the driver.
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/elf_walk.h"
#include "tests/contract/guard/kinds.h"

namespace aliquot::guardkit::checks {
namespace {

using Status = CUdriverProcAddressQueryResult;
constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct Answer {
    CUresult result = -1;
    void* address = nullptr;
    Status status = -1;
};

void* const kUntouched = reinterpret_cast<void*>(0x5a5a);

Answer ask(decltype(&cuGetProcAddress_v2) get, const char* name, int version, cuuint64_t flags) {
    Answer answer{.result = -1, .address = kUntouched, .status = 77};
    answer.result = get(name, &answer.address, version, flags, &answer.status);
    return answer;
}
Answer ask(const char* name, int version, cuuint64_t flags = 0) {
    return ask(CU(cuGetProcAddress_v2), name, version, flags);
}
Answer ask_bare(const char* name, int version, cuuint64_t flags = 0) {
    return ask(BARE(cuGetProcAddress_v2), name, version, flags);
}

/// Which of the driver's exports, and which of the guard's, lie at an address.
class Names {
public:
    Names() {
        (void)cuda_library();
        for (const LoadedSymbol& symbol : symbols_of("libcuda.so"))
            drivers_[symbol.address].insert(symbol.name);
        for (const LoadedSymbol& symbol : symbols_of(guard_object().c_str()))
            guards_[symbol.name] = symbol.address;
    }
    /// What the guard must give out where the driver gives out `address`.
    [[nodiscard]] bool is_right(const void* got, void* address) const {
        const auto at = drivers_.find(address);
        if (at == drivers_.end()) return got == address;
        bool any_hooked = false;
        for (const std::string& name : at->second) {
            const auto guard = guards_.find(name);
            if (guard == guards_.end()) continue;
            any_hooked = true;
            if (got == guard->second) return true;
            // Two names of one function in the driver need not be one in the guard, and an export
            // of the guard may be reached by an alias: it must be the guard's then.
            if (is_guards(got)) return true;
        }
        return !any_hooked && got == address;
    }

private:
    std::map<void*, std::set<std::string>> drivers_;
    std::map<std::string, void*> guards_;
};

void same_as_bare(const Names& names, const char* name, int version, cuuint64_t flags) {
    const Answer bare = ask_bare(name, version, flags);
    const Answer got = ask(name, version, flags);
    const std::string what =
        std::string(name) + " at " + std::to_string(version) + " flags " + std::to_string(flags);
    if (got.result != bare.result || got.status != bare.status) {
        fail(__FILE__, __LINE__,
             what + ": result " + shown(got.result) + " status " + shown(got.status) +
                 " instead of " + shown(bare.result) + " and " + shown(bare.status));
    }
    if (bare.result != CUDA_SUCCESS || bare.address == nullptr || bare.address == kUntouched) {
        if (got.address != bare.address) fail(__FILE__, __LINE__, what + ": another address");
        return;
    }
    if (!names.is_right(got.address, bare.address))
        fail(__FILE__, __LINE__, what + ": goes to the wrong function");
}

std::set<std::string> base_names() {
    std::set<std::string> names;
    for (const SymbolRow& row : symbol_rows()) names.insert(row.base);
    return names;
}

}  // namespace

void addresses_before_init() {
    // The runtime asks for everything before it says cuInit.
    const Answer alloc = ask("cuMemAlloc", 3020);
    CHECK_EQ(alloc.result, CUDA_SUCCESS);
    CHECK_THAT(is_guards(alloc.address));
    const Answer init = ask("cuInit", 2000);
    CHECK_EQ(init.result, CUDA_SUCCESS);
    CHECK_OK(reinterpret_cast<decltype(&cuInit)>(init.address)(0));
}

void allocating_before_init_is_the_drivers_to_answer() {
    CUdeviceptr pointer = 0;
    const CUresult bare = BARE(cuMemAlloc_v2)(&pointer, kMi);
    CHECK_NE(bare, CUDA_SUCCESS);
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, kMi), bare);
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_EQ(CU(cuMemGetInfo_v2)(&free, &total), BARE(cuMemGetInfo_v2)(&free, &total));
    CHECK_EQ(CU(cuMemFree_v2)(4096), BARE(cuMemFree_v2)(4096));
    CHECK_EQ(CU(cuCtxSynchronize)(), BARE(cuCtxSynchronize)());
}

void no_context_is_the_drivers_to_answer() {
    CHECK_OK(CU(cuInit)(0));
    CUdeviceptr pointer = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, kMi), BARE(cuMemAlloc_v2)(&pointer, kMi));
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_EQ(CU(cuMemGetInfo_v2)(&free, &total), BARE(cuMemGetInfo_v2)(&free, &total));
    CHECK_EQ(CU(cuMemAllocAsync)(&pointer, kMi, nullptr),
             BARE(cuMemAllocAsync)(&pointer, kMi, nullptr));
    CHECK_EQ(CU(cuCtxSynchronize)(), BARE(cuCtxSynchronize)());
}

void the_probe_with_an_empty_name() {
    for (const int version : {0, 11030, 12000, 13000}) {
        const Answer bare = ask_bare("", version);
        const Answer got = ask("", version);
        CHECK_EQ(got.result, bare.result);
        CHECK_EQ(static_cast<const void*>(got.address), static_cast<const void*>(bare.address));
        CHECK_EQ(got.status, bare.status);
    }
}

void missing_arguments_are_the_drivers_to_answer() {
    void* address = nullptr;
    Status status = 0;
    const auto bare = BARE(cuGetProcAddress_v2);
    const auto get = CU(cuGetProcAddress_v2);
    CHECK_EQ(get(nullptr, &address, 12000, 0, &status), bare(nullptr, &address, 12000, 0, &status));
    CHECK_EQ(get("cuMemAlloc", nullptr, 12000, 0, &status),
             bare("cuMemAlloc", nullptr, 12000, 0, &status));
    CHECK_OK(get("cuMemAlloc", &address, 12000, 0, nullptr));
    CHECK_THAT(is_guards(address));
    CHECK_EQ(get("cuMemAlloc", &address, 12000, 99, &status),
             bare("cuMemAlloc", &address, 12000, 99, &status));
}

void asking_for_the_resolver_itself() {
    const Answer first = ask("cuGetProcAddress", 11030);
    const Answer second = ask("cuGetProcAddress", 12000);
    CHECK_EQ(first.result, CUDA_SUCCESS);
    CHECK_EQ(second.result, CUDA_SUCCESS);
    CHECK_THAT(is_guards(first.address));
    CHECK_THAT(is_guards(second.address));
    CHECK_NE(static_cast<const void*>(first.address), static_cast<const void*>(second.address));
    // And what those two give out.
    void* address = nullptr;
    CHECK_OK(reinterpret_cast<decltype(&cuGetProcAddress)>(first.address)("cuMemFree", &address,
                                                                          11030, 0));
    CHECK_THAT(is_guards(address));
    Status status = 9;
    CHECK_OK(reinterpret_cast<decltype(&cuGetProcAddress_v2)>(second.address)(
        "cuMemGetInfo", &address, 12000, 0, &status));
    CHECK_THAT(is_guards(address));
    CHECK_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
}

void too_old_and_too_new_versions() {
    const Names names;
    for (const char* name : {"cuMemAlloc", "cuMemAllocAsync", "cuLaunchKernelEx", "cuGraphLaunch",
                             "cuMemCreate", "cuDeviceGetCount", "cuNoSuchThing", "cuMemAlloc_v2"}) {
        for (const int version : {-1, 0, 1, 1999, 2000, 3010, 11010, 13000, 13010, 99990})
            for (const cuuint64_t flags : {0UL, 1UL, 2UL, 3UL})
                same_as_bare(names, name, version, flags);
    }
}

void the_first_version_of_the_resolver() {
    const Names names;
    const auto bare = BARE(cuGetProcAddress);
    const auto get = CU(cuGetProcAddress);
    for (const std::string& name : base_names()) {
        for (const int version : {2000, 3020, 7000, 11030, 12000, 13000}) {
            for (const cuuint64_t flags : {0UL, 2UL}) {
                void* expected = kUntouched;
                void* got = kUntouched;
                const CUresult result = bare(name.c_str(), &expected, version, flags);
                CHECK_EQ(get(name.c_str(), &got, version, flags), result);
                if (result == CUDA_SUCCESS ? !names.is_right(got, expected) : got != expected)
                    fail(__FILE__, __LINE__, name + " goes to the wrong function");
            }
        }
    }
}

void every_name_at_every_version() {
    const Names names;
    std::set<int> versions = {2000, 13090};
    for (const SymbolRow& row : symbol_rows()) {
        versions.insert(row.version);
        versions.insert(row.version - 10);
        versions.insert(row.version + 10);
    }
    // Every minor release that there was or could have been.
    for (int major = 2; major <= 13; ++major)
        for (int minor = 0; minor <= 9; ++minor) versions.insert(major * 1000 + minor * 10);
    const int driver_version = [] {
        int version = 0;
        CHECK_OK(BARE(cuDriverGetVersion)(&version));
        return version;
    }();
    for (const std::string& name : base_names()) {
        for (const int version : versions) {
            if (version > driver_version + 200) continue;
            for (const cuuint64_t flags : {0UL, 1UL, 2UL})
                same_as_bare(names, name.c_str(), version, flags);
        }
    }
}

void the_lookups_of_the_runtime() {
    // Before anything else, one probe; then each name at the version that its ABI came with, some
    // of them for the per-thread default stream.
    const Names names;
    same_as_bare(names, "", 0, 0);
    unsigned asked = 0;
    for (const SymbolRow& row : symbol_rows()) {
        same_as_bare(names, row.base, row.version, row.per_thread != 0 ? kPerThread : 0);
        ++asked;
    }
    CHECK_GE(asked, 440U);
    static const CUuuid kTables[] = {
        {{'\xf8', '\xcf', '\xf9', '\x51', '\x21', '\x46', '\x8b', '\x4e', '\xb9', '\xe2', '\xfb',
          '\x46', '\x9e', '\x7c', '\x0d', '\xd9'}},
        {{'\x6b', '\xd5', '\xfb', '\x6c', '\x5b', '\xf4', '\xe7', '\x4a', '\x89', '\x87', '\xd9',
          '\x39', '\x12', '\xfd', '\x9d', '\xf9'}},
        {{'\xa0', '\x94', '\x79', '\x8c', '\x2e', '\x74', '\x2e', '\x74', '\x93', '\xf2', '\x08',
          '\x00', '\x20', '\x0c', '\x0a', '\x66'}}};
    for (const CUuuid& id : kTables) {
        const void* expected = nullptr;
        const void* got = nullptr;
        const CUresult result = BARE(cuGetExportTable)(&expected, &id);
        CHECK_EQ(CU(cuGetExportTable)(&got, &id), result);
        CHECK_EQ(got, expected);
    }
}

void the_per_thread_stream_is_kept() {
    const Answer legacy = ask("cuLaunchKernel", 7000, 0);
    const Answer per_thread = ask("cuLaunchKernel", 7000, kPerThread);
    CHECK_EQ(per_thread.result, CUDA_SUCCESS);
    CHECK_NE(static_cast<const void*>(legacy.address),
             static_cast<const void*>(per_thread.address));
    CHECK_EQ(static_cast<const void*>(per_thread.address),
             static_cast<const void*>(::dlsym(cuda_library(), "cuLaunchKernel_ptsz")));
    // Copies and fills are time of the device: they are met too, and keep their stream.
    struct Form {
        const char* name;
        const char* exported;
    };
    for (const Form& form :
         {Form{"cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptds"},
          Form{"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2_ptsz"},
          Form{"cuMemsetD8", "cuMemsetD8_v2_ptds"}, Form{"cuMemcpy", "cuMemcpy_ptds"}}) {
        const Answer got = ask(form.name, 7000, kPerThread);
        const void* const expected = ::dlsym(cuda_library(), form.exported);
        CHECK_EQ(static_cast<const void*>(got.address), expected);
        CHECK_EQ(is_guards(expected), true);
    }
}

void the_per_thread_allocation_is_counted() {
    start_cuda();
    const auto allocate = CU(cuMemAllocAsync);
    const Answer answer = ask("cuMemAllocAsync", 11020, kPerThread);
    CHECK_EQ(answer.result, CUDA_SUCCESS);
    CHECK_NE(static_cast<const void*>(answer.address), reinterpret_cast<const void*>(allocate));
    const std::uint64_t before = counted();
    CUdeviceptr pointer = 0;
    const auto per_thread = reinterpret_cast<decltype(&cuMemAllocAsync)>(answer.address);
    const CUresult result = per_thread(&pointer, 64 * kMi, nullptr);
    skip_when_unsupported(result, "cuMemAllocAsync");
    CHECK_OK(result);
    CHECK_GE(counted(), before + 64 * kMi);
    CHECK_EQ(per_thread(&pointer, 5 * kGi, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
}

void versions_between_two_interfaces() {
    // Asked at 12.1, the interface of 12.2 would be another one.
    const Names names;
    for (const char* name : {"cuMemPrefetchAsync", "cuMemAdvise", "cuGraphAddNode",
                             "cuStreamGetCaptureInfo", "cuCtxCreate", "cuGraphInstantiate",
                             "cuStreamBeginCapture", "cuCtxDestroy", "cuCtxSynchronize"}) {
        for (int version = 2000; version <= 13000; version += 10)
            same_as_bare(names, name, version, 0);
    }
}

void the_interface_of_32_bits() {
    start_cuda();
    const Answer alloc = ask("cuMemAlloc", 2000);
    CHECK_EQ(alloc.result, CUDA_SUCCESS);
    CHECK_EQ(static_cast<const void*>(alloc.address),
             static_cast<const void*>(::dlsym(cuda_library(), "cuMemAlloc")));
    const std::uint64_t before = counted();
    struct {
        CUdeviceptr_v1 pointer = 0;
        unsigned guard = 0x5a5a5a5a;
    } out;
    const CUresult result =
        reinterpret_cast<decltype(&cuMemAlloc)>(alloc.address)(&out.pointer, unsigned{4 * kMi});
    skip_when_unsupported(result, "cuMemAlloc of CUDA 2");
    CHECK_OK(result);
    CHECK_EQ(out.guard, 0x5a5a5a5aU);
    CHECK_EQ(counted(), before + 4 * kMi);
    CHECK_OK(CU(cuMemFree)(out.pointer));
    CHECK_EQ(counted(), before);
    struct {
        unsigned value[2] = {0, 0};
        unsigned guard = 0x5a5a5a5a;
    } info;
    CHECK_OK(CU(cuMemGetInfo)(&info.value[0], &info.value[1]));
    CHECK_EQ(info.guard, 0x5a5a5a5aU);
    CHECK_EQ(std::uint64_t{info.value[1]}, kGi);  // the limit that the list of checks asks for
    CHECK_LE(info.value[0], info.value[1]);
    info.value[1] = 7;
    CHECK_OK(CU(cuDeviceTotalMem)(info.value, 0));
    CHECK_EQ(std::uint64_t{info.value[0]}, kGi);
    CHECK_EQ(info.value[1], 7U);
    CHECK_OK(CU(cuMemGetInfo)(nullptr, info.value));
    CHECK_OK(CU(cuMemGetInfo)(info.value, nullptr));
}

void a_driver_behind_the_table_answers_what_it_has() {
    start_cuda();
    const auto ask = CU(cuGetProcAddress_v2);
    const auto ours = [&](const char* name, int version) {
        void* got = nullptr;
        CUdriverProcAddressQueryResult status = 7;
        CHECK_OK(ask(name, &got, version, 0, &status));
        CHECK_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
        CHECK_THAT(is_guards(got));
        return got;
    };
    // The interface of before, through us: for the later one there is nothing behind our name.
    CHECK_EQ(reinterpret_cast<decltype(&cuCtxSynchronize)>(ours("cuCtxSynchronize", 13000))(),
             CUDA_SUCCESS);
    CHECK_EQ(ours("cuMemPrefetchAsync", 12080), ours("cuMemPrefetchAsync", 8000));
    CHECK_EQ(ours("cuCtxCreate", 12080), ours("cuCtxCreate", 11040));
    void* got = &got;
    CHECK_EQ(ask("cuGraphAddNode", &got, 12080, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

}  // namespace aliquot::guardkit::checks
