// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/review.h"
#include "controller/counters.h"
#include "http/message.h"

namespace aliquot::controller {

/// Answers the POST of an AdmissionReview. Thread-safe.
class Webhook {
public:
    struct Dependencies {
        std::function<std::shared_ptr<const admission::Cluster>()> cluster;  // null: not known
        admission::PatchOptions options;
        Counters& counters;
        std::vector<std::string> client_names;  // that may ask; empty: all
        /// Whether pods that ask for this resource are placed; empty: none are.
        std::function<bool(const std::string&)> serves{};
        /// Reviews of pods/binding; empty: they are allowed as they are.
        std::function<admission::Review(std::string_view)> binding{};
    };
    explicit Webhook(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

    [[nodiscard]] http::Response respond(const http::Request& request) const;
    /// The same for the gate of pods that are to be placed.
    [[nodiscard]] http::Response respond_gate(const http::Request& request) const;
    /// The same for Bindings of pods that are to be placed strictly.
    [[nodiscard]] http::Response respond_binding(const http::Request& request) const;
    /// The same for pods whose ResourceClaim is made for them.
    [[nodiscard]] http::Response respond_claim(const http::Request& request) const;

private:
    [[nodiscard]] http::Response answer(
        const http::Request& request,
        const std::function<admission::Review(std::string_view body)>& review) const;

    const Dependencies dependencies_;
};

}  // namespace aliquot::controller
