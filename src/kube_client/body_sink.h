// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kube_client/failure.h"

namespace aliquot::kube_client {

/// Takes the body of an answer as it comes, so that it need not be kept. Used by one thread at a time.
class BodySink {
public:
    virtual ~BodySink() = default;
    /// A Failure ends the transfer, and is what the caller hears.
    virtual Outcome<Done> take(std::string_view bytes) = 0;
};

}  // namespace aliquot::kube_client
