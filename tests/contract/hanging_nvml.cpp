// SPDX-License-Identifier: Apache-2.0
//
// The simulated libnvidia-ml.so.1 with one function that never returns for one GPU. It stands before
// the library that HangControl names and hands each call on.
#include "tests/contract/hanging_nvml.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace {

using Word = void*;
using Forwarded = unsigned (*)(Word, Word, Word, Word, Word, Word);

struct Seen {
    std::mutex mutex;
    std::map<Word, unsigned> gpu_of;  // of handles of GPUs and of event sets
};

Seen& seen() {
    static Seen* const all = new Seen;  // calls that hang may outlast main()
    return *all;
}

aliquot::contract::HangControl& control() {
    static auto* const one = new aliquot::contract::HangControl;
    return *one;
}

void* target(const char* name) {
    void* const library = control().library;
    return library == nullptr ? nullptr : ::dlsym(library, name);
}

bool is_about(unsigned gpu, const char* name, Word first) {
    if (std::strcmp(name, "nvmlDeviceGetHandleByIndex_v2") == 0) {
        return reinterpret_cast<std::uintptr_t>(first) == gpu;
    }
    const std::lock_guard lock(seen().mutex);
    const auto found = seen().gpu_of.find(first);
    return found != seen().gpu_of.end() && found->second == gpu;
}

void note(const char* name, Word first, Word second, Word third) {
    const std::lock_guard lock(seen().mutex);
    if (std::strcmp(name, "nvmlDeviceGetHandleByIndex_v2") == 0) {
        seen().gpu_of[*static_cast<Word*>(second)] =
            static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(first));
    }
    if (std::strcmp(name, "nvmlDeviceRegisterEvents") == 0) {
        const auto device = seen().gpu_of.find(first);
        if (device != seen().gpu_of.end()) seen().gpu_of[third] = device->second;
    }
}

unsigned forward(const char* name, Word a, Word b, Word c, Word d, Word e, Word f) {
    const char* const wanted = control().function;
    if (wanted != nullptr && std::strcmp(wanted, name) == 0 && is_about(control().gpu, name, a)) {
        ++control().hanging;
        while (control().function == wanted) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        --control().hanging;
    }
    const auto call = reinterpret_cast<Forwarded>(target(name));
    if (call == nullptr) return 13;  // NVML_ERROR_FUNCTION_NOT_FOUND
    const unsigned answer = call(a, b, c, d, e, f);
    if (answer == 0) note(name, a, b, c);
    return answer;
}

}  // namespace

extern "C" {

aliquot::contract::HangControl* hang_control() { return &control(); }

const char* nvmlErrorString(unsigned code) {
    const auto call = reinterpret_cast<const char* (*)(unsigned)>(target("nvmlErrorString"));
    return call == nullptr ? "?" : call(code);
}

#define ALIQUOT_FORWARDED(name)                                     \
    unsigned name(Word a, Word b, Word c, Word d, Word e, Word f) { \
        return forward(#name, a, b, c, d, e, f);                    \
    }
ALIQUOT_HANGING_FUNCTIONS(ALIQUOT_FORWARDED)
ALIQUOT_OTHER_FUNCTIONS(ALIQUOT_FORWARDED)
#undef ALIQUOT_FORWARDED
}
