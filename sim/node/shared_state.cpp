// SPDX-License-Identifier: Apache-2.0
#include "sim/node/shared_state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <string>

#include "base/descriptor.h"
#include "os/root.h"
#include "sim/node/model.h"
#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

constexpr std::int64_t kLockSeconds = 5;
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::seconds(1);

/// A file descriptor that closes itself.
Error not_a_state_file(const std::filesystem::path& file, const std::string& found) {
    return {ErrorCode::kInvalidInput,
            file.string() + " is not the state of a simulated node of this version: " + found +
                "; take the node down and make it anew"};
}

/// What must hold for a file to be used at all. What a running process may still break in it (event
/// and process tables) is checked where it is read.
std::string first_flaw(const State& state) {
    if (state.magic != kStateMagic) return "it does not begin as one";
    if (state.version != kStateVersion) {
        return "it has layout " + std::to_string(state.version) + ", expected " +
               std::to_string(kStateVersion);
    }
    if (state.size != sizeof(State)) return "its size field is " + std::to_string(state.size);
    if (state.gpu_count > kMaxGpus) return "it has " + std::to_string(state.gpu_count) + " GPUs";
    for (unsigned i = 0; i < state.gpu_count; ++i) {
        if (find_model(state.gpus[i].model.view()) == nullptr) {
            return "GPU " + std::to_string(i) + " is of an unknown model";
        }
    }
    return "";
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* limit) {
    return ::syscall(SYS_futex, word, operation, value, limit, nullptr, 0);
}

void set_up_mutex(pthread_mutex_t& mutex) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

}  // namespace

std::uint64_t monotonic_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::uint64_t epoch_us() {
    using std::chrono::microseconds;
    return static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
}

Result<std::unique_ptr<SharedState>> SharedState::open(const std::filesystem::path& file) {
    const Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (opened.get() < 0) return os::error_from_errno(errno, file.string());
    struct stat status {};
    if (::fstat(opened.get(), &status) != 0) return os::error_from_errno(errno, file.string());
    if (!S_ISREG(status.st_mode)) return not_a_state_file(file, "it is not a regular file");
    if (status.st_size != static_cast<off_t>(sizeof(State))) {
        return not_a_state_file(file, "it has " + std::to_string(status.st_size) +
                                          " bytes, expected " + std::to_string(sizeof(State)));
    }
    void* const address =
        ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, opened.get(), 0);
    if (address == MAP_FAILED) return os::error_from_errno(errno, file.string());
    std::unique_ptr<SharedState> shared(new SharedState(static_cast<State*>(address)));
    if (const std::string flaw = first_flaw(*shared->state_); !flaw.empty()) {
        return not_a_state_file(file, flaw);
    }
    return shared;
}

Result<Done> SharedState::create(const std::filesystem::path& file, const State& content) {
    const std::string temporary = file.string() + ".new";
    ::unlink(temporary.c_str());
    const auto failed = [&](int number) {
        ::unlink(temporary.c_str());
        return os::error_from_errno(number, file.string());
    };
    const Descriptor made(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (made.get() < 0) return os::error_from_errno(errno, temporary);
    if (::ftruncate(made.get(), sizeof(State)) != 0) return failed(errno);
    void* const address =
        ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
    if (address == MAP_FAILED) return failed(errno);
    auto* const state = static_cast<State*>(address);
    std::memcpy(address, &content, sizeof(State));
    set_up_mutex(state->mutex);
    ::munmap(address, sizeof(State));
    // link() and not rename(): an existing node must not be replaced.
    if (::link(temporary.c_str(), file.c_str()) != 0) return failed(errno);
    ::unlink(temporary.c_str());
    return Done{};
}

bool SharedState::begins_as_one(const std::filesystem::path& file) {
    const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::uint64_t magic = 0;
    return opened.get() >= 0 && ::read(opened.get(), &magic, sizeof(magic)) == sizeof(magic) &&
           magic == kStateMagic;
}

SharedState::~SharedState() { ::munmap(state_, sizeof(State)); }

std::optional<SharedState::Access> SharedState::lock() {
    int result = pthread_mutex_trylock(&state_->mutex);
    if (result == EBUSY) {
        timespec until{};
        ::clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += kLockSeconds;
        result = pthread_mutex_timedlock(&state_->mutex, &until);
    }
    if (result == EOWNERDEAD) {
        // The holder was killed. What it left half-done is harmless by design of State, and the
        // sums are made right.
        recount_memory(*state_);
        result = pthread_mutex_consistent(&state_->mutex);
    }
    if (result != 0) return std::nullopt;
    return Access(state_);
}

SharedState::Access::~Access() {
    if (state_ != nullptr) pthread_mutex_unlock(&state_->mutex);
}

std::uint32_t SharedState::change() const {
    return std::atomic_ref(state_->change).load(std::memory_order_acquire);
}

void SharedState::announce() {
    std::atomic_ref(state_->change).fetch_add(1, std::memory_order_acq_rel);
    futex(&state_->change, FUTEX_WAKE, INT_MAX, nullptr);
}

void SharedState::wait_change(std::uint32_t seen, std::chrono::nanoseconds limit) const {
    const auto nanoseconds = std::clamp(limit, std::chrono::nanoseconds(0), kLongestSleep).count();
    const timespec relative{.tv_sec = nanoseconds / 1'000'000'000,
                            .tv_nsec = nanoseconds % 1'000'000'000};
    futex(&state_->change, FUTEX_WAIT, seen, &relative);
}

void SharedState::destroy() {
    std::atomic_ref(state_->destroyed).store(1, std::memory_order_release);
    announce();
}

bool SharedState::destroyed() const {
    return std::atomic_ref(state_->destroyed).load(std::memory_order_acquire) != 0;
}

}  // namespace aliquot::sim
