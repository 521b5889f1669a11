// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"

namespace aliquot {

using Json = nlohmann::json;

/// A simulated node in a simulated cluster: its kubelet, an API server, and the built agent that
/// speaks to both with the rights that an installation gives it, and no others.
class ClusterNode : public ::testing::Test {
protected:
    /// Of the API server.
    [[nodiscard]] virtual std::set<std::string> disabled_features() const { return {}; }
    static constexpr char kGpu[] = "nvidia.com/gpu";
    static constexpr char kNode[] = "/api/v1/nodes/gpu-1";
    static constexpr std::chrono::seconds kPatience{60};

    void SetUp() override;
    void TearDown() override;

    void make_gpus(const std::string& model, unsigned count);
    /// With whatever follows `--cluster on ...`.
    void start_agent(const std::vector<std::string>& more = {});

    /// A request as the administrator; what is not a success fails the test.
    Json ask(std::string_view method, std::string_view target, const Json& body = nullptr,
             std::string_view type = "application/json");
    Json node() { return ask("GET", kNode); }
    /// null: removed.
    void label(const std::string& key, const Json& value);
    void configure(const Json& data);
    Json condition(std::string_view type);
    std::string annotation(const std::string& key);
    bool has_event(std::string_view reason);
    bool has_taint(std::string_view key);

    testing::AssertionResult soon(const std::function<bool()>& so);
    testing::AssertionResult offers(const std::string& resource, unsigned devices);
    Result<std::vector<sim::ContainerGrant>> admit(const std::string& name,
                                                   const std::string& resource);
    [[nodiscard]] std::string agent_log() const;

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::optional<sim::Node> gpus_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::unique_ptr<sim::ApiServer> api_;
    std::optional<os::Process> agent_;
    std::map<std::string, std::string> environment_ = os::current_environment();  // of the agent
};

}  // namespace aliquot
