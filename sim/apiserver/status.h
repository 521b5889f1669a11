// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

struct Cause {
    std::string reason;   // FieldValueInvalid, FieldManagerConflict, ...
    std::string message;  // "Required value"
    std::string field;    // "spec.containers[0].name"
};

/// Why a request was not done: what the wire calls a Status object.
struct Failure {
    int code = 500;
    std::string reason = "InternalError";
    std::string message;
    std::string group;  // details
    std::string kind;
    std::string name;
    std::vector<Cause> causes;
    int retry_after_seconds = 0;  // also as a Retry-After header
    std::string continue_token;   // of a 410 for an old continue token
};

/// A value, or the reason why there is none.
template <class T>
class [[nodiscard]] Outcome {
public:
    Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(*explicit*)
    Outcome(Failure failure)
        : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT(*explicit*)
    explicit operator bool() const noexcept { return state_.index() == 0; }
    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    [[nodiscard]] const Failure& failure() const& { return std::get<1>(state_); }

private:
    std::variant<T, Failure> state_;
};

/// "pods", "deployments.apps": how messages name a resource.
std::string qualified(std::string_view resource, std::string_view group);

Failure bad_request(std::string message);
Failure unauthorized();
Failure forbidden(std::string_view resource, std::string_view group, std::string_view name,
                  std::string_view why);
Failure not_found(std::string_view resource, std::string_view group, std::string_view name);
Failure page_not_found();
Failure method_not_allowed();
Failure already_exists(std::string_view resource, std::string_view group, std::string_view name);
Failure conflict(std::string_view resource, std::string_view group, std::string_view name,
                 std::string_view why);
Failure expired(std::string message);
Failure invalid(std::string_view kind, std::string_view group, std::string_view name,
                std::vector<Cause> causes);
Failure unsupported_media_type(std::string_view accepted);
Failure not_acceptable(std::string_view accepted);
Failure too_many_requests(std::string message, int retry_after_seconds);
Failure internal_error(std::string message);

/// The Status object as it is sent.
Value to_status(const Failure& failure);

/// Causes of invalid(), in the words clients know.
Cause required(std::string field, std::string detail = "");
Cause invalid_value(std::string field, const Value& value, std::string_view detail);
Cause unsupported_value(std::string field, const Value& value,
                        const std::vector<std::string>& supported);
Cause forbidden_field(std::string field, std::string_view detail);
Cause duplicate_value(std::string field, const Value& value);

}  // namespace aliquot::sim::apiserver
