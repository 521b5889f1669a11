// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "http/certificate.h"
#include "kube_client/api.h"
#include "kube_client/election.h"

namespace aliquot::controller {

struct PoolOptions {
    bool enabled = false;
    std::string name_space;  // of placeholder pods
};

/// What the role works with; all of it must outlive the role.
struct PoolWorld {
    kube_client::Api& api;
    const kube_client::Elector& elector;
    std::function<http::Instant()> now;
    /// Why pods of a namespace may not start now; empty text, or no function: they may.
    std::function<std::string(const std::string& name_space)> held{};
};

}  // namespace aliquot::controller
