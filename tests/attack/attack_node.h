// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grant/grant.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"

namespace aliquot::attack {

inline constexpr std::uint64_t kGiB = 1ULL << 30U;

/// A container: its grant, and the control groups that it is in.
struct Container {
    std::string name;
    grant::Grant grant;
    std::vector<std::filesystem::path> groups;
    std::string driver = "driver";  // its simulated driver, in the node's directory
};

/// A node whose agent keeps limits, with a /run that is small, and containers on it whose processes
/// have no rights. Skips where not root, or where namespaces are not allowed.
class AttackNode : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    void start_agent(const std::string& guard);
    /// errors   of Allocate
    Result<Container> admit(const std::string& name);
    /// Starts a program there, as user `uid`; what it prints is in log().
    os::Process run_in(const Container& container, unsigned uid, const std::string& log,
                       const std::vector<std::string>& words, bool guarded);
    /// attack NAME in a container, as user `uid`; the ready file is there when it began.
    os::Process attack_in(const Container& container, const std::string& name, int seconds,
                          unsigned uid = 65'534);

    [[nodiscard]] std::string log(const std::string& name) const;
    [[nodiscard]] std::filesystem::path file(const std::string& name) const;
    void make(const std::string& name) const;
    [[nodiscard]] std::string status() const;
    /// Whether there is such an event about that container.
    [[nodiscard]] bool happened(const std::string& kind, const std::string& pod) const;
    /// What the agent has held at most, in bytes.
    [[nodiscard]] std::uint64_t peak() const;
    static bool eventually(const std::function<bool()>& holds);

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    bool mounted_ = false;
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
    std::vector<std::filesystem::path> groups_;  // made, outermost first
    unsigned made_ = 0;
    unsigned gpus_ = 1;
    unsigned replicas_ = 4;                          // of each
    std::string share_ = "memory: 3Gi, weight: 25";  // of each, as in a configuration

private:
    void make_groups(Container& container, const std::string& uid);
};

}  // namespace aliquot::attack
