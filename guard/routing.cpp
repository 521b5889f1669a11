// SPDX-License-Identifier: Apache-2.0
#include "guard/routing.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

#include "guard/exports.h"
#include "guard/loader.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

// NOLINTBEGIN(bugprone-macro-parentheses): rows of tables
/// All names one after the other, so that the table below needs no address: every address is a page
/// that the loader would have to write in each program that is started.
constexpr char kNames[] =
#define CUDA_SYMBOL(base, version, per_thread, exported) #base "\0" #exported "\0"
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    ;
struct Symbol {
    std::uint16_t base;      // in kNames
    std::uint16_t exported;  // in kNames
    std::uint16_t version;
    bool per_thread;
};
static_assert(sizeof kNames <= 0x10000);
constexpr std::size_t kSymbolCount = 0
#define CUDA_SYMBOL(base, version, per_thread, exported) +1
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    ;
struct Table {
    Symbol symbols[kSymbolCount];
};
constexpr Table make_table() {
    Table table = {{
#define CUDA_SYMBOL(base, version, per_thread, exported) {0, 0, version, per_thread != 0},
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    }};
    std::size_t at = 0;
    for (Symbol& symbol : table.symbols) {
        symbol.base = static_cast<std::uint16_t>(at);
        while (kNames[at] != '\0') ++at;
        symbol.exported = static_cast<std::uint16_t>(++at);
        while (kNames[at] != '\0') ++at;
        ++at;
    }
    return table;
}
// NOLINTEND(bugprone-macro-parentheses)
constexpr Table kTable = make_table();
const char* base_of(const Symbol& symbol) { return kNames + symbol.base; }

/// Where each of these names begins; they are sorted.
template <std::size_t Count>
struct Starts {
    std::uint16_t at[Count] = {};
};
template <std::size_t Count, std::size_t N>
constexpr Starts<Count> starts_of(const char (&names)[N]) {
    static_assert(N <= 0x10000);
    Starts<Count> starts;
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < N; ++i)
        if (i == 0 || names[i - 1] == '\0') starts.at[count++] = static_cast<std::uint16_t>(i);
    return starts;
}
constexpr auto kHookStarts = starts_of<names_in(kCudaHooks)>(kCudaHooks);
constexpr auto kNvmlHookStarts = starts_of<names_in(kNvmlHooks)>(kNvmlHooks);

constexpr int compare(const char* a, const char* b) {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}
template <std::size_t N>
constexpr bool sorted(const char* names, const Starts<N>& starts) {
    for (std::size_t i = 1; i < N; ++i)
        if (compare(names + starts.at[i - 1], names + starts.at[i]) >= 0) return false;
    return true;
}
static_assert(sorted(kCudaHooks, kHookStarts) && sorted(kNvmlHooks, kNvmlHookStarts));

/// Which of the names it is; N: none.
template <std::size_t N>
std::size_t find_in(const char* names, const Starts<N>& starts, const char* symbol) {
    std::size_t low = 0;
    std::size_t high = N;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const int order = std::strcmp(names + starts.at[middle], symbol);
        if (order == 0) return middle;
        (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return N;
}

/// Its place behind those of the calls; nullptr: it is no hook.
void** place_of(const char* symbol) {
    const std::size_t cuda = find_in(kCudaHooks, kHookStarts, symbol);
    if (cuda < names_in(kCudaHooks))
        return reinterpret_cast<void**>(&g_driver) + names_in(kCudaCalls) + cuda;
    const std::size_t nvml = find_in(kNvmlHooks, kNvmlHookStarts, symbol);
    if (nvml == names_in(kNvmlHooks)) return nullptr;
    return reinterpret_cast<void**>(&g_nvml) + names_in(kNvmlCalls) + nvml;
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool present(Family family) { return family == Family::kCuda ? find_driver() : find_nvml(); }

void* real_of(const Hook& hook) {
    void* real = __atomic_load_n(hook.real, __ATOMIC_ACQUIRE);
    return is_absent(real) ? nullptr : real;
}

}  // namespace

Hook find_hook(const char* symbol) {
    void** const place = place_of(symbol);
    if (place == nullptr) return {};
    const Family family = symbol[0] == 'c' ? Family::kCuda : Family::kNvml;
    return {.family = family, .ours = exported_by_guard(symbol), .real = place};
}

namespace {

/// Of a symbol without a hook nobody looks.
bool driver_has(const char* symbol) {
    void** const place = place_of(symbol);
    return place == nullptr || !is_absent(__atomic_load_n(place, __ATOMIC_ACQUIRE));
}

/// A program that asks by a weak name whether there is a driver sees what it would see without us.
__attribute__((constructor)) void leave_weak_names_unbound() {
    unbind_weak_references([](const char* name) { return place_of(name) != nullptr; });
}

}  // namespace

const char* route(const char* base, int version, std::uint64_t flags) {
    std::size_t low = 0;
    std::size_t high = kSymbolCount;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (std::strcmp(base_of(kTable.symbols[middle]), base) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const char* legacy = nullptr;
    const char* per_thread = nullptr;
    for (; low < kSymbolCount; ++low) {
        const Symbol& symbol = kTable.symbols[low];
        if (std::strcmp(base_of(symbol), base) != 0) break;
        const char* const exported = kNames + symbol.exported;
        if (symbol.version <= version && driver_has(exported))
            (symbol.per_thread ? per_thread : legacy) = exported;
    }
    const bool wants_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    return wants_per_thread && per_thread != nullptr ? per_thread : legacy;
}

bool concerns_us(const char* base) {
    static constexpr const char* kBeginnings[] = {
        "cuMem",       "cuArray",  "cuMipmapped", "cuLaunch",   "cuGraph",
        "cuMulticast", "cuStream", "cuCtx",       "cuGreenCtx", "cuDevicePrimaryCtx"};
    for (const char* beginning : kBeginnings)
        if (std::strncmp(base, beginning, std::strlen(beginning)) == 0) return true;
    return false;
}

namespace {

struct Answer {
    void* pointer;
    std::uint64_t is_answer;
};
constexpr Answer kAskTheLoader = {nullptr, 0};

void* ask(void* handle, const char* name, const char* version) {
    return version == nullptr ? loader().dlsym(handle, name)
                              : loader().dlvsym(handle, name, version);
}

/// RTLD_NEXT: as the loader says, but through us where that is the driver.
Answer answer_for_next(const Hook& hook) {
    const bool there = present(hook.family) && real_of(hook) != nullptr;
    return there ? Answer{hook.ours, 1} : kAskTheLoader;
}

/// A name for which there is no hook: of a driver that is not the one behind the hooks (a copy under
/// another name, or in another namespace), the answer is that one's, so that all goes one way.
Answer answer_for_other_driver(void* handle, const char* name) {
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !wants_guarding()) return kAskTheLoader;
    void* found = loader().dlsym(handle, name);
    if (found == nullptr || !is_driver(found)) return kAskTheLoader;
    if (!find_driver()) adopt(Family::kCuda, handle);
    const auto* first = reinterpret_cast<const void*>(g_driver.cuInit);
    if (driver_handle() == nullptr || same_object(found, first)) return kAskTheLoader;
    void* real = loader().dlsym(driver_handle(), name);
    return real == nullptr ? kAskTheLoader : Answer{real, 1};
}

/// A handle of the object that an address lies in; nullptr: there is none.
void* handle_of(const void* address) {
    Dl_info info = {};
    if (loader().dladdr == nullptr || loader().dladdr(address, &info) == 0) return nullptr;
    return loader().dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

extern "C" {

/// What dlsym and dlvsym answer for a name that may be the driver's. boot_*.S.
/// caller   where the question comes from
__attribute__((visibility("hidden"))) Answer guard_symbol(void* handle, const char* name,
                                                          const char* version, const void* caller) {
    const bool cuda = name[0] == 'c' && is_upper(name[2]);
    if (!cuda && !(std::strncmp(name, "nvml", 4) == 0 && is_upper(name[4]))) return kAskTheLoader;
    const Hook hook = find_hook(name);
    if (!hook) return cuda ? answer_for_other_driver(handle, name) : kAskTheLoader;
    if (handle == RTLD_NEXT) return answer_for_next(hook);
    void* found = ask(handle, name, version);
    const bool everywhere = found == nullptr && handle == RTLD_DEFAULT;
    if (everywhere && wants_guarding()) found = find_for(caller, name);
    // Not there: the loader says so itself, and to whom.
    if (found == nullptr || found == hook.ours) return kAskTheLoader;
    if (!present(hook.family)) {
        if (!(cuda ? is_driver(found) || lies_in(found, "libcuda.")
                   : lies_in(found, "libnvidia-ml.")))
            return {found, 1};
        adopt(hook.family, handle == RTLD_DEFAULT ? handle_of(found) : handle);
    }
    // Of another library with such a name: ours to answer only if that is a driver, too.
    if (real_of(hook) != found && !(cuda && wants_guarding() && is_driver(found)))
        return {found, 1};
    if (!everywhere) ask(handle, name, version);  // for dlerror(): the last question was this one
    return {hook.ours, 1};
}

/// What dlmopen answers. A namespace of its own, in which the driver would be without the guard, is
/// not made: the file is opened where the guard is.
__attribute__((visibility("hidden"))) Answer guard_open_namespace(long space, const char* file,
                                                                  int flags) {
    if (!wants_guarding()) return kAskTheLoader;
    void* handle = loader().dlmopen(space, file, flags);
    if (handle == nullptr) return kAskTheLoader;  // the loader says so itself
    if (!namespace_has_driver(handle)) return {handle, 1};
    loader().dlclose(handle);
    return {loader().dlopen(file, flags & ~(RTLD_DEEPBIND | RTLD_GLOBAL)), 1};
}

/// What dlopen is to open with instead of RTLD_DEEPBIND. A library opened like that would find the
/// driver, and the C library's dlsym, before ours.
__attribute__((visibility("hidden"))) int guard_open_flags(const char*, int flags) {
    return wants_guarding() ? flags & ~RTLD_DEEPBIND : flags;
}
}

}  // namespace aliquot::guard
