// SPDX-License-Identifier: Apache-2.0
//
// Asks by weak names whether there is a driver, as a library (weak_names of one) or as the program.
// No header of CUDA here: there the names are not weak.
#include <cstdio>

extern "C" {
int cuInit(unsigned) __attribute__((weak));
int cuMemAlloc_v2(void*, unsigned long) __attribute__((weak));
int nvmlInit_v2() __attribute__((weak));
int guard_kit_no_such_name() __attribute__((weak));
void weak_names_of_library();
}

namespace {

// In data that is sealed after it is relocated, and in data that is not.
using Function = int (*)(unsigned);
Function const volatile g_sealed = cuInit;
Function volatile g_open = cuInit;

[[maybe_unused]] void tell(const char* who) {
    const auto word = [](bool bound) { return bound ? "bound" : "null"; };
    std::printf("%s: cuInit %s, cuMemAlloc_v2 %s, nvmlInit_v2 %s, other %s, in data %s %s\n", who,
                word(cuInit != nullptr), word(cuMemAlloc_v2 != nullptr),
                word(nvmlInit_v2 != nullptr), word(guard_kit_no_such_name != nullptr),
                word(g_sealed != nullptr), word(g_open != nullptr));
}

}  // namespace

#ifdef ALIQUOT_WEAK_LIBRARY
void weak_names_of_library() { tell("library"); }
#else
int main() {
    tell("program");
    weak_names_of_library();
    // What was sealed is sealed again; the rest still works.
    g_open = g_sealed;
    return cuInit != nullptr && cuInit(0) != 0 ? 1 : 0;
}
#endif
