// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "admission/review.h"
#include "controller/counters.h"
#include "web/server.h"

namespace aliquot::controller {

/// POST /mutate/pods. Thread-safe.
class Webhook {
public:
    struct Seams {
        std::function<std::shared_ptr<const admission::Cluster>()> cluster;  // null: not known
        admission::PatchOptions options;
        Counters& counters;
    };
    explicit Webhook(Seams seams) : seams_(std::move(seams)) {}

    [[nodiscard]] web::Answer respond(const web::Request& request) const;

private:
    const Seams seams_;
};

}  // namespace aliquot::controller
