// SPDX-License-Identifier: Apache-2.0
#include "guard/forks.h"

#include <dlfcn.h>

#include <atomic>

#include "guard/loader.h"

// Of glibc; pthread_atfork() is no more than a call of it, but would make a program with musl fail.
extern "C" __attribute__((weak)) int __register_atfork(  // NOLINT(bugprone-reserved-identifier)
    void (*)(), void (*)(), void (*)(), void*);

namespace aliquot::guard {

void watch_forks() {
    static std::atomic<bool> watched{false};
    if (watched.load(std::memory_order_acquire)) return;
    // Two threads at once both do it, so that neither goes on before it is done: twice does no harm.
    using Handler = void (*)();
    if (__register_atfork != nullptr) {
        __register_atfork(nullptr, nullptr, begin_anew, nullptr);
    } else if (loader().dlsym != nullptr) {
        // musl has no such name; glibc's own pthread_atfork() is not in the library.
        void* found = loader().dlsym(RTLD_DEFAULT, "pthread_atfork");
        if (found != nullptr)
            reinterpret_cast<int (*)(Handler, Handler, Handler)>(found)(nullptr, nullptr,
                                                                        begin_anew);
    }
    watched.store(true, std::memory_order_release);
}

}  // namespace aliquot::guard
