// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace aliquot::kube_client {

/// Why the API server (or the way to it) said no. The words are those of a Status object's
/// `reason`; the last group is ours, for calls that got no answer.
enum class Reason : std::uint8_t {
    kUnknown,  // an answer without a reason that we know: look at http_status
    kBadRequest,
    kUnauthorized,
    kForbidden,
    kNotFound,
    kMethodNotAllowed,
    kNotAcceptable,
    kAlreadyExists,
    kConflict,
    kGone,     // the resourceVersion is too old (410 Gone): list again
    kExpired,  // the same, of newer servers, and of continue tokens
    kInvalid,  // `causes` name the fields
    kTooLarge,
    kUnsupportedMediaType,
    kTooManyRequests,  // `retry_after` when the server said how long
    kTimeout,
    kServerTimeout,
    kServiceUnavailable,
    kInternalError,
    kUnreachable,  // no connection, TLS refused, or it broke before the answer was whole
    kDeadline,     // our own limit of time passed
    kStopped,      // the caller's stop token
    kMalformed,    // an answer that cannot be read
    kCredentials,  // we have nothing to show: a token file or exec plugin failed
};

/// "TooManyRequests": the word of the Status object; ours are in the same style.
std::string_view to_text(Reason reason);

/// The code a program decides by: Conflict, AlreadyExists, Gone are kConflict; Forbidden is
/// kPermission; what may be different in a moment is kUnavailable.
ErrorCode code_of(Reason reason);

/// One field that was refused, or that another field manager owns.
struct Cause {
    std::string type;   // "FieldValueInvalid", "FieldManagerConflict", "DisruptionBudget"
    std::string field;  // ".spec.replicas"; may be empty
    std::string message;
};

struct Failure {
    Reason reason = Reason::kUnknown;
    int http_status = 0;  // 0: there was no answer
    /// One line: the verb, the resource and the name, then what the server said.
    std::string message;
    std::optional<std::chrono::milliseconds> retry_after{};
    std::vector<Cause> causes{};

    [[nodiscard]] bool is(Reason asked) const { return reason == asked; }
    /// A resourceVersion or continue token that the server no longer has.
    [[nodiscard]] bool is_expired() const {
        return reason == Reason::kGone || reason == Reason::kExpired;
    }
    [[nodiscard]] Error to_error() const { return {code_of(reason), message}; }
    /// Adds what was being done, in front.
    [[nodiscard]] Failure during(std::string_view activity) && {
        message.insert(0, std::string(activity) + ": ");
        return std::move(*this);
    }
};

/// A value, or a Failure. A Result with more to know about the reason; it becomes one with
/// result(), or by `return outcome.error()`.
template <class T>
class [[nodiscard]] Outcome {
    static_assert(!std::is_same_v<T, Failure> && !std::is_reference_v<T>);

public:
    // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is how it is made
    Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }

    const Failure& failure() const& { return std::get<1>(state_); }
    Failure failure() && { return std::get<1>(std::move(state_)); }
    [[nodiscard]] Error error() const { return failure().to_error(); }
    [[nodiscard]] Result<T> result() && {
        if (ok()) return std::get<0>(std::move(state_));
        return failure().to_error();
    }

private:
    std::variant<T, Failure> state_;
};

/// Reads a Status object, the body of an answer that is no success.
/// status       the HTTP status, which counts where the body says nothing
/// body         any bytes; what is no Status is quoted in the message, shortened
/// what         what was asked: "get pods default/web"
Failure failure_of(int status, std::string_view body, std::string_view what);

}  // namespace aliquot::kube_client
