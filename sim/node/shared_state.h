// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "sim/node/state.h"

namespace aliquot::sim {

std::uint64_t monotonic_ns();
std::uint64_t epoch_us();

/// node.state mapped into this process. Thread-safe; works in a child too after fork().
class SharedState {
public:
    /// Maps an existing file and checks all of it that later code relies on.
    /// errors   kNotFound: no file; kPermission; kInvalidInput: not a state file of this version
    static Result<std::unique_ptr<SharedState>> open(const std::filesystem::path& file);

    /// Makes a file with `content` (its mutex is set up here) under the name `file`, at once.
    /// errors   kConflict: there is one already; kPermission, kUnavailable
    static Result<Done> create(const std::filesystem::path& file, const State& content);

    /// Whether `file` begins as a state file of any version: then destroy() may remove it.
    static bool begins_as_one(const std::filesystem::path& file);

    ~SharedState();
    SharedState(const SharedState&) = delete;
    SharedState& operator=(const SharedState&) = delete;

    /// Holds the lock of the node while it lives. Takes over from a holder that was killed.
    /// Empty after five seconds: whoever holds the lock is stopped, or the file is damaged.
    class Access {
    public:
        explicit Access(State* state) : state_(state) {}
        ~Access();
        Access(Access&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
        Access& operator=(Access&&) = delete;
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;
        State* operator->() const { return state_; }
        State& operator*() const { return *state_; }

    private:
        State* state_;
    };
    std::optional<Access> lock();

    /// The state without its lock, for single words that are read as atomics.
    [[nodiscard]] State& content() const { return *state_; }

    /// What announce() counts. Read it before looking at the state, then wait for it to change.
    [[nodiscard]] std::uint32_t change() const;
    /// Tells all sleepers in all processes to look again.
    void announce();
    /// Sleeps until change() is not `seen`, at most `limit` and never more than a second (should a
    /// process be killed between changing the state and announcing it, sleepers look anyway).
    void wait_change(std::uint32_t seen, std::chrono::nanoseconds limit) const;

    /// The node was taken down. Without lock.
    [[nodiscard]] bool destroyed() const;
    /// Takes it down: every process that has it mapped sees its GPUs as lost. Does not need the
    /// lock, so that it always works.
    void destroy();
    /// Making the node made its directory.
    [[nodiscard]] bool made_directory() const { return state_->directory_made != 0; }

private:
    explicit SharedState(State* state) : state_(state) {}
    State* state_;
};

}  // namespace aliquot::sim
