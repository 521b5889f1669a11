// SPDX-License-Identifier: Apache-2.0
//
// guard-probe CHECK [dlsym|getproc|per-thread|linked]: one check in a process of its own.
// guard-probe list: their names. guard-probe worker: what checks start for a second process.
#include <cstdio>
#include <cstring>

#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit {
namespace checks {
#define CHECK(name, settings) void name();
#include "tests/contract/guard/checks.inc"
#undef CHECK
}  // namespace checks

namespace {

struct Check {
    const char* name;
    void (*run)();
};
constexpr Check kChecks[] = {
#define CHECK(name, settings) {#name, checks::name},
#include "tests/contract/guard/checks.inc"
#undef CHECK
};

bool choose_route(const char* word) {
    if (std::strcmp(word, "dlsym") == 0) {
        set_route(Route::kDlsym);
    } else if (std::strcmp(word, "getproc") == 0) {
        set_route(Route::kGetProc);
    } else if (std::strcmp(word, "per-thread") == 0) {
        set_route(Route::kPerThread);
    } else if (std::strcmp(word, "linked") == 0 && linked_entry != nullptr) {
        set_route(Route::kLinked);
    } else {
        return false;
    }
    return true;
}

}  // namespace

int run(int count, char** words) {
    const char* const name = count > 1 ? words[1] : "";
    if (count > 2 && !choose_route(words[2])) {
        std::fprintf(stderr, "guard-probe: no route '%s'\n", words[2]);
        return 2;
    }
    if (std::strcmp(name, "worker") == 0) return serve_as_worker();
    for (const Check& check : kChecks) {
        if (std::strcmp(name, "list") == 0) std::puts(check.name);
        if (std::strcmp(check.name, name) != 0) continue;
        check.run();
        return 0;
    }
    if (std::strcmp(name, "list") == 0) return 0;
    std::fprintf(stderr, "guard-probe: no check '%s'; guard-probe list names them\n", name);
    return 2;
}

}  // namespace aliquot::guardkit
