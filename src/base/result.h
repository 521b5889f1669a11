// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace aliquot {

/// What the caller can do about a failure. base/error_map.cpp turns it into gRPC, HTTP, exit codes.
enum class ErrorCode : std::uint8_t {
    kInvalidInput,  // the caller's data is wrong; the same call will fail again
    kNotFound,      // the named thing does not exist
    kConflict,      // the world is busy or has changed; look again, then decide anew
    kUnsupported,   // this GPU, driver or cluster cannot do it
    kPermission,    // a human must grant something
    kUnavailable,   // the other side is away; retry with back-off
    kInternal,      // a bug of ours
};

struct Error {
    ErrorCode code = ErrorCode::kInternal;
    std::string message;  // one line that names its subject: "GPU-3f2a: MIG mode is off"

    /// Adds what was being done: "apply partition plan: GPU-3f2a: MIG mode is off".
    [[nodiscard]] Error during(std::string_view activity) && {
        return {code, std::string(activity) + ": " + std::move(message)};
    }
};

/// A value, or the reason why there is none. Dropping one is a compiler warning.
/// Reading the wrong side is our bug and throws std::bad_variant_access, which nobody catches.
template <class T>
class [[nodiscard]] Result {
    static_assert(!std::is_same_v<T, Error> && !std::is_reference_v<T>);

public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*explicit*)
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*explicit*)

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }

    const Error& error() const& { return std::get<1>(state_); }
    Error error() && { return std::get<1>(std::move(state_)); }

private:
    std::variant<T, Error> state_;
};

/// The value of calls that only succeed or fail: `return Done{};`
struct Done {};

}  // namespace aliquot
