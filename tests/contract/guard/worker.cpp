// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/spin.h"

namespace aliquot::guardkit {
namespace {

constexpr int kPatienceMs = 20'000;
constexpr int kExitNoNamespace = 76;

void apply(const std::vector<std::string>& changes) {
    for (const std::string& change : changes) {
        const std::size_t at = change.find('=');
        // NOLINTBEGIN(concurrency-mt-unsafe): one thread
        if (at == std::string::npos) {
            ::unsetenv(change.c_str());
        } else {
            ::setenv(change.substr(0, at).c_str(), change.c_str() + at + 1, 1);
        }
        // NOLINTEND(concurrency-mt-unsafe)
    }
}

[[noreturn]] void become_worker(const Worker::Options& options, int input, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(input, 3);
    ::dup2(output, 4);
    ::fcntl(3, F_SETFD, 0);
    ::fcntl(4, F_SETFD, 0);
    apply(options.environment);
    char program[] = "/proc/self/exe";
    char verb[] = "worker";
    char way[] = "dlsym";
    char* arguments[] = {program, verb, way, nullptr};
    if (options.new_pid_namespace) {
        if (::unshare(CLONE_NEWPID) != 0) ::_exit(kExitNoNamespace);
        const pid_t inside = ::fork();
        if (inside < 0) ::_exit(kExitNoNamespace);
        if (inside > 0) {
            ::close(3);
            ::close(4);
            int status = 0;
            ::waitpid(inside, &status, 0);
            ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    ::execv(program, arguments);
    ::_exit(98);
}

class Server {
public:
    /// The answer to one line.
    std::string answer(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        std::uint64_t bytes = 0;
        words >> verb >> bytes;
        if (verb == "init") return init();
        if (verb == "alloc") return std::to_string(allocate(bytes));
        if (verb == "fill") return fill(bytes);
        if (verb == "free") return std::to_string(release_last());
        if (verb == "freeall") return release_all();
        if (verb == "view") return view();
        if (verb == "fork") return leave_child();
        if (verb == "close") return close_descriptors();
        if (verb == "churn") return churn(bytes);
        if (verb == "launch") return std::to_string(launch(bytes));
        if (verb == "sync") return std::to_string(CU(cuCtxSynchronize)());
        return "what?";
    }

private:
    static std::string init() {
        const CUresult result = CU(cuInit)(0);
        if (result != 0) return std::to_string(result);
        CUcontext context = nullptr;
        const CUresult retained = CU(cuDevicePrimaryCtxRetain)(&context, 0);
        if (retained != 0) return std::to_string(retained);
        return std::to_string(CU(cuCtxSetCurrent)(context));
    }
    CUresult allocate(std::uint64_t bytes) {
        CUdeviceptr pointer = 0;
        const CUresult result = CU(cuMemAlloc_v2)(&pointer, bytes);
        if (result == 0) pointers_.push_back(pointer);
        return result;
    }
    std::string fill(std::uint64_t bytes) {
        long long times = 0;
        while (times < 1'000'000 && allocate(bytes) == 0) ++times;
        return std::to_string(times);
    }
    CUresult release_last() {
        if (pointers_.empty()) return 1;
        const CUresult result = CU(cuMemFree_v2)(pointers_.back());
        pointers_.pop_back();
        return result;
    }
    std::string release_all() {
        CUresult worst = 0;
        while (!pointers_.empty()) {
            if (const CUresult result = release_last(); result != 0) worst = result;
        }
        return std::to_string(worst);
    }
    static std::string view() {
        std::size_t free = 0;
        std::size_t total = 0;
        const CUresult result = CU(cuMemGetInfo_v2)(&free, &total);
        return std::to_string(result) + " " + std::to_string(free) + " " + std::to_string(total);
    }
    /// By the system call alone: no handler of pthread_atfork hears of it.
    static std::string leave_child() {
        const long child = ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            ::close(3);
            ::close(4);
            ::alarm(30);  // should nobody end it
            for (;;) ::pause();
        }
        return std::to_string(child);
    }
    static std::string close_descriptors() {
        for (int file = 5; file < 4096; ++file) ::close(file);
        return "0";
    }
    static std::string churn(std::uint64_t bytes) {
        const auto allocate = CU(cuMemAlloc_v2);
        const auto release = CU(cuMemFree_v2);
        CUcontext context = nullptr;
        CU(cuCtxGetCurrent)(&context);
        const auto use = CU(cuCtxSetCurrent);
        std::thread([=] {
            use(context);
            for (;;) {
                CUdeviceptr pointer = 0;
                if (allocate(&pointer, bytes) == 0) release(pointer);
            }
        }).detach();
        return "0";
    }

    CUresult launch(std::uint64_t nanoseconds) {
        if (spin_ == nullptr) {
            CUmodule module = nullptr;
            CUresult result = CU(cuModuleLoadData)(&module, kSimulatedSpin);
            if (result != CUDA_SUCCESS) result = CU(cuModuleLoadData)(&module, kSpin);
            if (result != CUDA_SUCCESS) return result;
            result = CU(cuModuleGetFunction)(&spin_, module, "spin");
            if (result != CUDA_SUCCESS) return result;
        }
        void* arguments[] = {&nanoseconds};
        return CU(cuLaunchKernel)(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
    }

    std::vector<CUdeviceptr> pointers_;
    CUfunction spin_ = nullptr;
};

}  // namespace

int serve_as_worker() {
    Server server;
    FILE* const input = ::fdopen(3, "r");
    if (input == nullptr) return kExitFailed;
    char line[256];
    while (std::fgets(line, sizeof line, input) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        const std::string text = server.answer(line) + "\n";
        if (::write(4, text.data(), text.size()) != static_cast<ssize_t>(text.size())) break;
    }
    return 0;
}

Worker Worker::start(const Options& options) {
    int to[2];
    int from[2];
    CHECK_EQ(::pipe2(to, O_CLOEXEC), 0);
    CHECK_EQ(::pipe2(from, O_CLOEXEC), 0);
    // Out of the way of 3 and 4, where the worker has its pipes.
    for (int* file : {&to[0], &to[1], &from[0], &from[1]}) {
        const int moved = ::fcntl(*file, F_DUPFD_CLOEXEC, 100);
        ::close(*file);
        *file = moved;
    }
    const pid_t child = ::fork();
    CHECK_GE(child, 0);
    if (child == 0) become_worker(options, to[0], from[1]);
    ::close(to[0]);
    ::close(from[1]);
    Worker worker;
    worker.pid_ = child;
    worker.to_ = to[1];
    worker.from_ = from[0];
    if (options.new_pid_namespace) {
        nap_us(20'000);
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child && WIFEXITED(status) &&
            WEXITSTATUS(status) == kExitNoNamespace) {
            skip("no pid namespaces here");
        }
    }
    return worker;
}

Worker::Worker(Worker&& other) noexcept : pid_(other.pid_), to_(other.to_), from_(other.from_) {
    other.pid_ = -1;
    other.to_ = -1;
    other.from_ = -1;
}

Worker::~Worker() {
    kill();
    if (to_ >= 0) ::close(to_);
    if (from_ >= 0) ::close(from_);
}

std::string Worker::ask(const std::string& line) {
    const std::string text = line + "\n";
    CHECK_EQ(::write(to_, text.data(), text.size()), static_cast<long>(text.size()));
    std::string answer;
    for (;;) {
        pollfd one{.fd = from_, .events = POLLIN, .revents = 0};
        if (::poll(&one, 1, kPatienceMs) != 1)
            fail(__FILE__, __LINE__, "a process gave no answer to: " + line);
        char letter = 0;
        if (::read(from_, &letter, 1) != 1)
            fail(__FILE__, __LINE__, "a process died over: " + line);
        if (letter == '\n') return answer;
        answer += letter;
    }
}

long long Worker::number(const std::string& line) {
    return std::strtoll(ask(line).c_str(), nullptr, 10);
}

void Worker::send_signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

void Worker::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
}

int Worker::finish() {
    ::close(to_);
    to_ = -1;
    const int code = wait_for(pid_);
    if (code >= 0) pid_ = -1;
    return code;
}

int wait_for(pid_t child) {
    int status = 0;
    for (int i = 0; i < kPatienceMs; ++i) {
        const pid_t got = ::waitpid(child, &status, WNOHANG);
        if (got == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (got < 0) return -1;
        nap_us(1000);
    }
    return -1;
}

int in_child(void (*body)()) {
    const pid_t child = ::fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        body();
        std::fflush(nullptr);
        ::_exit(0);
    }
    const int code = wait_for(child);
    if (code < 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    return code;
}

}  // namespace aliquot::guardkit
