// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tests/contract/kube_world.h"

namespace aliquot::contract {

/// An API server that refuses some requests.
class RefusingApi final : public kube_client::Api {
public:
    explicit RefusingApi(kube_client::Api& api) : api_(api) {}
    kube_client::Outcome<kube_client::Reply> exchange(
        const kube_client::Request& request) override {
        if (!refuses || !refuses(request)) return api_.exchange(request);
        return kube_client::Reply{
            .status = 403,
            .body = R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,)"
                    R"("message":"exceeded quota"})"};
    }
    kube_client::Outcome<std::unique_ptr<kube_client::ByteStream>> open(
        const kube_client::Request& request) override {
        return api_.open(request);
    }
    std::function<bool(const kube_client::Request&)> refuses;

private:
    kube_client::Api& api_;
};

}  // namespace aliquot::contract
