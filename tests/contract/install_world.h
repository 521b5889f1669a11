// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "install/apply.h"
#include "install/render.h"
#include "kube_client/connect.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"

namespace aliquot::install {

inline const std::string kSpace(kNamespace);

/// An API server to install into: "Simulated", with roles, made for each test; or "Real", the one of
/// ALIQUOT_TEST_KUBECONFIG, which must be there for this alone.
class InstallContract : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override;
    void TearDown() override;

    static bool real() { return GetParam() == "Real"; }
    kube_client::Api& api() { return *connection_.api; }

    /// The namespace with what a controller would put there, and a ConfigMap that holds it.
    void prepare();
    /// Like uninstall, but the namespace stays: a server alone never ends to remove one.
    void clear();

    /// Empty: it is there already.
    std::optional<kube_client::Object> make(const kube_client::Resource& resource,
                                            const std::string& space, const std::string& json);
    ApplyResult install(const Values& values = {}, const ApplyOptions& options = {});

    /// As somebody else.
    kube_client::Connection with_token(const std::string& token);
    /// A token of a service account; bound to a pod when one is named.
    std::string token_of(const std::string& account, const kube_client::Object* pod = nullptr);

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
    std::string kubeconfig_;
    kube_client::Connection connection_;
    unsigned tokens_ = 0;
};

/// {"apiVersion":"v1","kind":"Node",...}
std::string node_json(const std::string& name);

}  // namespace aliquot::install
