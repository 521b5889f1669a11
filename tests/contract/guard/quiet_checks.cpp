// SPDX-License-Identifier: Apache-2.0
//
// What a program must not notice.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/elf_walk.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit::checks {
namespace {

std::set<std::string> names_in(const char* folder) {
    std::set<std::string> names;
    DIR* const directory = ::opendir(folder);
    if (directory == nullptr) return names;
    const std::string own = std::to_string(::dirfd(directory));
    while (const dirent* one = ::readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
        if (*one->d_name != '.' && one->d_name != own) names.insert(one->d_name);
    }
    ::closedir(directory);
    return names;
}

std::size_t threads() { return names_in("/proc/self/task").size(); }

}  // namespace

void a_process_without_cuda_pays_nothing() {
    CHECK_EQ(threads(), 1U);
    for (const std::string& file : names_in("/proc/self/fd")) {
        char target[512] = {};
        (void)!::readlink(("/proc/self/fd/" + file).c_str(), target, sizeof target - 1);
        CHECK_EQ(std::strstr(target, environment("HOME").c_str()) != nullptr && file > "2", false);
    }
    CHECK_NE(guard_object(), std::string());
    // Nothing of CUDA came along with the guard.
    for (const char* library : {"libcuda.so", "libnvidia-ml.so", "libstdc++", "libgcc_s"}) {
        if (std::strncmp(library, "libc", 4) == 0 || std::strncmp(library, "libn", 4) == 0)
            CHECK_EQ(walk_for(library, "cuInit"), static_cast<void*>(nullptr));
    }
    CHECK_NE(::access(environment("ALIQUOT_GUARD_REGION").c_str(), F_OK), 0);  // not made yet
    CHECK_EQ(environment("LD_PRELOAD").empty(), false);
}

void signals_and_environment_stay_as_they_are() {
    struct sigaction before[65] = {};  // the C library keeps two for itself
    struct sigaction after[65] = {};
    sigset_t blocked_before;
    sigset_t blocked_after;
    for (int i = 1; i < 65; ++i) ::sigaction(i, nullptr, &before[i]);
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked_before);
    std::string words;
    for (char** word = environ; *word != nullptr; ++word) words += std::string(*word) + "\n";
    start_cuda();
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kMi));
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    for (int i = 1; i < 65; ++i) {
        ::sigaction(i, nullptr, &after[i]);
        CHECK_THAT(before[i].sa_handler == after[i].sa_handler);
    }
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked_after);
    for (int i = 1; i < 65; ++i)
        CHECK_EQ(::sigismember(&blocked_before, i), ::sigismember(&blocked_after, i));
    std::string words_after;
    for (char** word = environ; *word != nullptr; ++word) words_after += std::string(*word) + "\n";
    CHECK_EQ(words, words_after);
}

void no_thread_is_started_for_a_memory_limit() {
    const std::size_t before = [] {
        // What the driver itself starts is its own affair.
        return threads();
    }();
    start_cuda();
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kMi));
    nap_us(50'000);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CHECK_EQ(threads(), before);
}

namespace {

/// What a program that is started now finds open.
std::string inherited() {
    int ends[2];
    CHECK_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], 1);
        ::execl("/bin/ls", "ls", "/proc/self/fd", nullptr);
        ::_exit(99);
    }
    ::close(ends[1]);
    CHECK_EQ(wait_for(child), 0);
    char text[512] = {};
    (void)!::read(ends[0], text, sizeof text - 1);
    ::close(ends[0]);
    return text;
}

}  // namespace

void no_file_is_left_open_for_the_next_program() {
    const std::string before = inherited();
    start_cuda();
    CHECK_EQ(inherited(), before);
}

void low_descriptors_stay_free() {
    // Programs that close and open 0, 1 and 2 get what they expect.
    start_cuda();
    for (int wanted : {0, 1}) {
        ::close(wanted);
        CHECK_EQ(::open("/dev/null", O_RDWR), wanted);
    }
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kMi));
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void standard_files_may_be_closed_first() {
    // Then the first files that are opened get these numbers; nothing may be printed into them.
    ::close(0);
    ::close(1);
    start_cuda();
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kMi));
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, 5 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
    check_sums();
}

namespace {

CUdeviceptr left_over = 0;

void free_at_exit() {
    // Exit handlers of programs free memory, after the guard's own if it had any.
    CHECK_OK(CU(cuMemFree_v2)(left_over));
    CUdeviceptr pointer = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, 5 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kMi));
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

}  // namespace

void cuda_works_in_exit_handlers() {
    CHECK_EQ(std::atexit(free_at_exit), 0);
    start_cuda();
    CHECK_OK(CU(cuMemAlloc_v2)(&left_over, kGi));
}

void a_refusal_says_nothing_unless_asked() {
    // The list of checks looks at stderr.
    start_cuda();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 100; ++i)
        CHECK_EQ(CU(cuMemAlloc_v2)(&pointer, 5 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
}

void results_are_the_drivers_and_have_names() {
    start_cuda();
    CUdeviceptr pointer = 0;
    const CUresult refused = CU(cuMemAlloc_v2)(&pointer, 5 * kGi);
    const char* text = nullptr;
    const CUresult named = CU(cuGetErrorName)(refused, &text);
    if (named == CUDA_ERROR_NOT_SUPPORTED) skip("cuGetErrorName is not supported by this driver");
    CHECK_OK(named);
    CHECK_EQ(std::string(text), std::string("CUDA_ERROR_OUT_OF_MEMORY"));
}

void the_guard_named_twice() {
    // LD_PRELOAD and ld.so.preload may both name it.
    start_cuda();
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, 64 * kMi));
    CHECK_EQ(counted(), 64 * kMi);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CHECK_EQ(counted(), 0U);
}

void no_driver_at_all() {
    // The list of checks leaves the driver's folder out of the search.
    CHECK_EQ(static_cast<const void*>(::dlopen("libcuda.so.1", RTLD_NOW)),
             static_cast<const void*>(nullptr));
    const char* const text = ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    CHECK_THAT(text != nullptr && std::strstr(text, "libcuda.so.1") != nullptr);
    CHECK_EQ(static_cast<const void*>(::dlsym(RTLD_DEFAULT, "cuInit")),
             static_cast<const void*>(nullptr));
}

}  // namespace aliquot::guardkit::checks
