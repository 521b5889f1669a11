// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kube_client/connect.h"

namespace aliquot::contract {

/// An API server to put questions to, and a namespace of its own there for each test.
class KubeWorld {
public:
    virtual ~KubeWorld() = default;
    /// Empty: it is not there, and `why_not` tells why.
    [[nodiscard]] virtual std::string kubeconfig() const = 0;
    [[nodiscard]] virtual std::string why_not() const { return {}; }
};

/// The one of ALIQUOT_TEST_KUBECONFIG.
std::unique_ptr<KubeWorld> real_kube_world();
/// A simulated one in this process.
std::unique_ptr<KubeWorld> simulated_kube_world();

using MakeKubeWorld = std::unique_ptr<KubeWorld> (*)();

struct KubeParam {
    std::string name;
    MakeKubeWorld make;
};

class KubeContract : public testing::TestWithParam<KubeParam> {
protected:
    void SetUp() override;
    void TearDown() override;

    kube_client::Api& api() { return *connection_.api; }
    [[nodiscard]] kube_client::ObjectKey key(const std::string& name) const {
        return {space_, name};
    }
    /// Makes an object that must be made.
    kube_client::Object make(const kube_client::Resource& resource, const std::string& json);
    kube_client::Object make_pod(const std::string& name, const std::string& labels = "{}");

    std::unique_ptr<KubeWorld> world_;
    kube_client::Connection connection_;
    std::string space_;
};

}  // namespace aliquot::contract
