// SPDX-License-Identifier: Apache-2.0
//
// Ways of the dynamic linker to the driver.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/elf_walk.h"
#include "tests/contract/guard/ledger_view.h"
#include "tests/contract/guard/plugin.h"

namespace aliquot::guardkit::checks {
namespace {

/// What the guard must stand in front of: guard.md's list is abi/cuda.h's, one line a name.
constexpr const char* kMustHook[] = {
#define HOOKED(name) #name,
#include "tests/contract/guard/hooked.inc"
#undef HOOKED
};

template <class Function>
Function plugin_function(void* plugin, const char* name) {
    void* const address = ::dlsym(plugin, name);
    CHECK_NE(static_cast<const void*>(address), static_cast<const void*>(nullptr));
    return reinterpret_cast<Function>(address);
}

void* open_plugin(int flags) {
    const std::string path = environment("ALIQUOT_GUARD_KIT_PLUGIN");
    void* const plugin = ::dlopen(path.c_str(), RTLD_NOW | flags);
    if (plugin == nullptr) fail(__FILE__, __LINE__, ::dlerror());  // NOLINT(concurrency-mt-unsafe)
    return plugin;
}

void plugin_is_counted(void* plugin) {
    const auto allocate = plugin_function<decltype(&plugin_allocate)>(plugin, "plugin_allocate");
    const auto release = plugin_function<decltype(&plugin_free)>(plugin, "plugin_free");
    start_cuda();
    const std::uint64_t before = counted();
    unsigned long long pointer = 0;
    CHECK_OK(allocate(&pointer, 64 * kMi));
    CHECK_EQ(counted(), before + 64 * kMi);
    CHECK_OK(release(pointer));
    CHECK_EQ(counted(), before);
    CHECK_EQ(allocate(&pointer, 5 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
}

/// A lookup must end at the guard for what it hooks and at the driver otherwise.
void check_lookup(const char* name, const void* got) {
    const void* const drivers = walk_for("libcuda.so", name);
    const bool hooked = walk_for(guard_object().c_str(), name) != nullptr;
    if (drivers == nullptr) {
        CHECK_EQ(got, drivers);  // not of this driver: nobody may pretend
    } else if (hooked) {
        if (!is_guards(got)) fail(__FILE__, __LINE__, std::string(name) + " is not the guard's");
    } else if (got != drivers) {
        fail(__FILE__, __LINE__, std::string(name) + " is not the driver's");
    }
}

}  // namespace

void everything_on_the_list_is_hooked() {
    (void)cuda_library();
    for (const char* name : kMustHook) {
        if (walk_for("libcuda.so", name) == nullptr) continue;
        if (!is_guards(::dlsym(cuda_library(), name)))
            fail(__FILE__, __LINE__, std::string(name) + " goes past the guard");
    }
}

void dlsym_of_every_entry_point() {
    for (const SymbolRow& row : symbol_rows())
        check_lookup(row.exported, ::dlsym(cuda_library(), row.exported));
    // The driver may have more than we know.
    for (const LoadedSymbol& symbol : symbols_of("libcuda.so"))
        if (symbol.function)
            check_lookup(symbol.name.c_str(), ::dlsym(cuda_library(), symbol.name.c_str()));
}

void dlvsym_of_every_entry_point() {
    for (const SymbolRow& row : symbol_rows()) {
        const void* const got = ::dlvsym(cuda_library(), row.exported, "LIBCUDA_1");
        // The library has no versions: the linker takes what there is, or says no.
        if (got != nullptr) check_lookup(row.exported, got);
    }
    // libc has versions, and they must stay what they are.
    const void* const old = ::dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_2.2.5");
    const void* const newer = ::dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_2.14");
    CHECK_NE(old, static_cast<const void*>(nullptr));
    CHECK_NE(newer, static_cast<const void*>(nullptr));
    CHECK_NE(old, newer);
    CHECK_EQ(static_cast<const void*>(::dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_9.9")),
             static_cast<const void*>(nullptr));
    CHECK_EQ(static_cast<const void*>(::dlvsym(RTLD_DEFAULT, "cuInit", "GLIBC_2.2.5")),
             static_cast<const void*>(nullptr));
}

void an_absent_driver_stays_absent() {
    // Nothing here has loaded the driver: a program that tests for it must not find the guard's.
    for (const char* name : {"cuInit", "cuMemAlloc_v2", "cuGetProcAddress_v2", "cuGetProcAddress",
                             "nvmlInit_v2", "nvmlDeviceGetMemoryInfo", "cuLaunchKernel"}) {
        CHECK_EQ(static_cast<const void*>(::dlsym(RTLD_DEFAULT, name)),
                 static_cast<const void*>(nullptr));
        CHECK_EQ(static_cast<const void*>(::dlsym(RTLD_NEXT, name)),
                 static_cast<const void*>(nullptr));
        void* const self = ::dlopen(nullptr, RTLD_NOW);
        CHECK_EQ(static_cast<const void*>(::dlsym(self, name)), static_cast<const void*>(nullptr));
        ::dlclose(self);
    }
    CHECK_EQ(static_cast<const void*>(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)),
             static_cast<const void*>(nullptr));
}

void a_driver_opened_for_all_is_found_by_default() {
    CHECK_NE(static_cast<const void*>(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)),
             static_cast<const void*>(nullptr));
    for (const char* name : kMustHook) check_lookup(name, ::dlsym(RTLD_DEFAULT, name));
    check_lookup("cuDeviceGetCount", ::dlsym(RTLD_DEFAULT, "cuDeviceGetCount"));
}

void other_names_are_none_of_ours() {
    void* const self = ::dlopen(nullptr, RTLD_NOW);
    void* const other = ::dlopen("libm.so.6", RTLD_NOW);
    for (void* handle : {cuda_library(), self, RTLD_DEFAULT, RTLD_NEXT, other}) {
        for (const char* name :
             {"cu", "nv", "c", "", "cudaMalloc", "cublasCreate_v2", "cudnnCreate", "curandGenerate",
              "nvtxMarkA", "nvmlNoSuchThing", "cuNoSuchThing", "cuMemAlloc_v9", "cuInitialise"}) {
            (void)::dlerror();  // NOLINT(concurrency-mt-unsafe)
            CHECK_EQ(static_cast<const void*>(::dlsym(handle, name)),
                     static_cast<const void*>(nullptr));
            const char* const text = ::dlerror();  // NOLINT(concurrency-mt-unsafe)
            CHECK_THAT(text != nullptr && std::strstr(text, name) != nullptr);
        }
    }
    // A library that has no such symbol says so, whatever the guard exports.
    for (const char* name : {"cuInit", "cuMemAlloc_v2", "nvmlInit_v2", "nvmlDeviceGetMemoryInfo"})
        CHECK_EQ(static_cast<const void*>(::dlsym(other, name)), static_cast<const void*>(nullptr));
    CHECK_NE(static_cast<const void*>(::dlsym(other, "cos")), static_cast<const void*>(nullptr));
}

void next_is_seen_from_the_caller() {
    void* const plugin = open_plugin(RTLD_LOCAL);
    const auto next = plugin_function<decltype(&plugin_next_getpid)>(plugin, "plugin_next_getpid");
    const auto pid = static_cast<int>(::getpid());
    CHECK_EQ(next(), pid);
    CHECK_EQ(next(), pid);
    // Behind the plug-in comes the driver it is linked with: asked twice, the same, and callable.
    const auto look = plugin_function<decltype(&plugin_next)>(plugin, "plugin_next");
    void* const first = look("cuMemAlloc_v2");
    void* const second = look("cuMemAlloc_v2");
    CHECK_NE(static_cast<const void*>(first), static_cast<const void*>(nullptr));
    CHECK_EQ(static_cast<const void*>(first), static_cast<const void*>(second));
    check_lookup("cuMemAlloc_v2", first);
    check_lookup("cuDeviceGetCount", look("cuDeviceGetCount"));
    CHECK_EQ(static_cast<const void*>(look("cuNoSuchThing")), static_cast<const void*>(nullptr));
    for (const char* name : {"malloc", "puts", "dlopen"}) {
        const void* const found = ::dlsym(RTLD_NEXT, name);
        CHECK_NE(found, static_cast<const void*>(nullptr));
        CHECK_EQ(found, static_cast<const void*>(::dlsym(RTLD_NEXT, name)));
    }
}

void a_plugin_linked_with_the_driver_is_counted() { plugin_is_counted(open_plugin(RTLD_LOCAL)); }
void a_deeply_bound_plugin_is_counted() { plugin_is_counted(open_plugin(RTLD_DEEPBIND)); }
void a_lazily_bound_plugin_is_counted() {
    const std::string path = environment("ALIQUOT_GUARD_KIT_PLUGIN");
    void* const plugin = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK_NE(static_cast<const void*>(plugin), static_cast<const void*>(nullptr));
    plugin_is_counted(plugin);
}

void the_driver_by_any_file_name() {
    const std::string folder = environment("ALIQUOT_GUARD_KIT_DRIVER_FOLDER");
    for (const std::string& name : {folder + "/libcuda.so.1", folder + "/libcuda.so"}) {
        void* const library = ::dlopen(name.c_str(), RTLD_NOW);
        if (library == nullptr) skip(name + " is not there");
        check_lookup("cuMemAlloc_v2", ::dlsym(library, "cuMemAlloc_v2"));
        check_lookup("cuGetProcAddress_v2", ::dlsym(library, "cuGetProcAddress_v2"));
    }
}

void the_driver_closed_and_opened_again() {
    for (int i = 0; i < 50; ++i) {
        void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
        if (library == nullptr) skip("no libcuda.so.1 here");
        check_lookup("cuMemAlloc_v2", ::dlsym(library, "cuMemAlloc_v2"));
        check_lookup("cuDeviceGet", ::dlsym(library, "cuDeviceGet"));
        CHECK_EQ(::dlclose(library), 0);
    }
    start_cuda();
    CHECK_LE(memory_view().total, 4 * kGi);
}

void lookups_from_many_threads_at_first_use() {
    std::atomic<int> ready{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    constexpr int kThreads = 8;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            ++ready;
            while (ready < kThreads) std::this_thread::yield();
            void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
            void* const address = ::dlsym(library, "cuMemAlloc_v2");
            const auto init = reinterpret_cast<decltype(&cuInit)>(::dlsym(library, "cuInit"));
            if (address == nullptr || init == nullptr || init(0) != CUDA_SUCCESS) ++wrong;
            if (!is_guards(address)) ++wrong;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(wrong.load(), 0);
}

void nvml_lookups_end_at_the_guard_or_at_nvml() {
    unsigned hooked_ones = 0;
    for (const LoadedSymbol& symbol : [] {
             (void)nvml_library();
             return symbols_of("libnvidia-ml.so");
         }()) {
        if (!symbol.function) continue;
        const void* const got = ::dlsym(nvml_library(), symbol.name.c_str());
        const bool hooked = walk_for(guard_object().c_str(), symbol.name.c_str()) != nullptr;
        hooked_ones += hooked ? 1 : 0;
        if (hooked ? !is_guards(got) : got != symbol.address)
            fail(__FILE__, __LINE__, symbol.name + " is answered wrongly");
    }
    CHECK_GE(hooked_ones, 5U);
}

namespace {

/// Memory by a handle of the driver, found as programs do, is counted and stops at the limit.
void handle_is_counted(void* library) {
    const auto find = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (function == nullptr) fail(__FILE__, __LINE__, std::string("no ") + name);
    };
    decltype(&cuInit) init = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
    decltype(&cuCtxSetCurrent) set_current = nullptr;
    decltype(&cuMemAlloc_v2) allocate = nullptr;
    decltype(&cuMemFree_v2) release = nullptr;
    find(init, "cuInit");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(set_current, "cuCtxSetCurrent");
    find(allocate, "cuMemAlloc_v2");
    find(release, "cuMemFree_v2");
    CHECK_OK(init(0));
    CUcontext context = nullptr;
    CHECK_OK(retain(&context, 0));
    CHECK_OK(set_current(context));
    const std::uint64_t before = counted();
    CUdeviceptr pointer = 0;
    CHECK_OK(allocate(&pointer, 64 * kMi));
    CHECK_EQ(counted(), before + 64 * kMi);
    CHECK_OK(release(pointer));
    CHECK_EQ(counted(), before);
    CHECK_EQ(allocate(&pointer, 5 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
}

/// A copy of the driver's file under a name that says nothing.
std::string copied_driver() {
    const std::string folder = environment("ALIQUOT_GUARD_KIT_DRIVER_FOLDER");
    std::ifstream from(folder + "/libcuda.so.1", std::ios::binary);
    char name[] = "/tmp/guard-kit-XXXXXX";
    const int file = ::mkstemp(name);
    if (!from || file < 0) skip("no copy of the driver can be made");
    std::ofstream(name, std::ios::binary) << from.rdbuf();
    ::close(file);
    return name;
}

void* open_and_remove(const std::string& path) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ::unlink(path.c_str());
    if (library == nullptr) fail(__FILE__, __LINE__, ::dlerror());  // NOLINT(concurrency-mt-unsafe)
    return library;
}

}  // namespace

void a_namespace_of_its_own_is_counted() {
    void* const library = ::dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) skip("the driver cannot be loaded in another namespace");
    handle_is_counted(library);
}

void a_plugin_in_a_namespace_of_its_own_is_counted() {
    void* const plugin = ::dlmopen(LM_ID_NEWLM, environment("ALIQUOT_GUARD_KIT_PLUGIN").c_str(),
                                   RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) skip("the plug-in cannot be loaded in another namespace");
    plugin_is_counted(plugin);
}

void other_libraries_keep_their_namespaces() {
    void* const library = ::dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    CHECK_NE(static_cast<const void*>(library), static_cast<const void*>(nullptr));
    Lmid_t space = LM_ID_BASE;
    CHECK_EQ(::dlinfo(library, RTLD_DI_LMID, &space), 0);
    CHECK_NE(space, LM_ID_BASE);
    CHECK_EQ(static_cast<const void*>(::dlmopen(LM_ID_NEWLM, "/no/such/file", RTLD_NOW)),
             static_cast<const void*>(nullptr));
    const char* const text = ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    CHECK_THAT(text != nullptr && std::strstr(text, "/no/such/file") != nullptr);
}

void a_copy_of_the_driver_is_counted() { handle_is_counted(open_and_remove(copied_driver())); }

void a_second_copy_of_the_driver_is_counted() {
    start_cuda();
    handle_is_counted(open_and_remove(copied_driver()));
}

void a_local_plugin_finds_the_guard_by_default() {
    void* const plugin = open_plugin(RTLD_LOCAL);
    const auto find = plugin_function<decltype(&plugin_default)>(plugin, "plugin_default");
    for (const char* name : kMustHook) {
        if (walk_for("libcuda.so", name) == nullptr) continue;
        if (!is_guards(find(name)))
            fail(__FILE__, __LINE__, std::string(name) + " goes past the guard");
    }
    CHECK_EQ(static_cast<const void*>(find("cuNoSuchThing")), static_cast<const void*>(nullptr));
    // Elsewhere in the program it stays unseen.
    CHECK_EQ(static_cast<const void*>(::dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")),
             static_cast<const void*>(nullptr));
}

void a_driver_two_versions_ahead_is_not_held_back() {
    (void)cuda_library();
    const auto ask = CU(cuGetProcAddress_v2);
    const auto bare = BARE(cuGetProcAddress_v2);
    int ahead = 0;
    int ours = 0;
    for (const SymbolRow& row : symbol_rows()) {
        for (const int version : {13000, 13010, 13020}) {
            for (const cuuint64_t flags : {0, 1, 2, 4, 6}) {
                void* got = nullptr;
                void* drivers = nullptr;
                void* known = nullptr;
                CUdriverProcAddressQueryResult got_status = 7;
                CUdriverProcAddressQueryResult status = 7;
                const CUresult result = ask(row.base, &got, version, flags, &got_status);
                CHECK_EQ(result, bare(row.base, &drivers, version, flags, &status));
                CHECK_EQ(got_status, status);
                if (result != CUDA_SUCCESS || drivers == nullptr) continue;
                CHECK_OK(bare(row.base, &known, 13000, flags & 3, &status));
                const bool newer = known != drivers;
                if (newer) CHECK_EQ(static_cast<const void*>(got), drivers);
                if (!newer && version > 13000) {
                    void* usual = nullptr;
                    CHECK_OK(ask(row.base, &usual, 13000, flags & 3, &status));
                    CHECK_EQ(static_cast<const void*>(got), static_cast<const void*>(usual));
                }
                ahead += newer ? 1 : 0;
                ours += is_guards(got) ? 1 : 0;
            }
        }
    }
    CHECK_GT(ahead, 0);
    CHECK_GT(ours, 0);
    // A name that our table has not at all.
    void* got = nullptr;
    CHECK_OK(ask("cuMemAllocTomorrow", &got, 13020, 0, nullptr));
    CHECK_THAT(got != nullptr && !is_guards(got));
    start_cuda();
    CHECK_THAT((LedgerView::read().remarks() & abi::kRemarkUnknownEntry) != 0);
}

void reading_the_tables_is_a_known_way_around() {
    start_cuda();
    const std::uint64_t before = counted();
    CHECK_THAT(!is_guards(bare_entry("cuMemAlloc_v2")));
    CUdeviceptr pointer = 0;
    CHECK_OK(BARE(cuMemAlloc_v2)(&pointer, 64 * kMi));
    CHECK_EQ(counted(), before);
    CHECK_OK(BARE(cuMemFree_v2)(pointer));
}

}  // namespace aliquot::guardkit::checks
