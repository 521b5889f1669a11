// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/attack_node.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "abi/region.h"
#include "os/exchange.h"
#include "tests/other_user.h"

namespace aliquot::attack {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kRunSize[] = "size=8m";

void open_to_all(const fs::path& directory) {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        std::error_code problem;
        const auto all = fs::is_directory(entry.path(), problem)
                             ? fs::perms::all
                             : fs::perms::group_read | fs::perms::group_write |
                                   fs::perms::others_read | fs::perms::others_write;
        fs::permissions(entry.path(), all, fs::perm_options::add, problem);
    }
    fs::permissions(directory, fs::perms::all);
}

fs::path path_of(const os::Root& root, const grant::Grant& grant, const std::string& place) {
    for (const auto& mount : grant.mounts) {
        if (mount.container_path == place) return root.resolve(mount.host_path);
    }
    return {};
}

}  // namespace

void AttackNode::SetUp() {
    if (!may_become_nobody()) GTEST_SKIP() << "only root makes containers of other users";
    // Of this thread and what it starts.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        GTEST_SKIP() << "no mounts are allowed here";
    }
    const fs::path run = directory_.path() / "run";
    fs::create_directories(run);
    const fs::path proc = directory_.path() / "proc";
    fs::create_directories(proc);
    if (::mount("none", run.c_str(), "tmpfs", 0, kRunSize) != 0 ||
        ::mount("/proc", proc.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
        GTEST_SKIP() << "no mounts are allowed here";
    }
    mounted_ = true;
    fs::permissions(directory_.path(), fs::perms::owner_all | fs::perms::others_exec);
    auto node =
        sim::Node::create(directory_.path() / "driver", {.gpus = {{.model = "a2", .count = gpus_}}},
                          ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
    ASSERT_TRUE(node) << node.error().message;
    node_.emplace(*std::move(node));
    fs::create_directories(file(""));
    fs::permissions(file(""), fs::perms::all);
    kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
    ASSERT_TRUE(kubelet_->start());
}

void AttackNode::TearDown() {
    if (HasFailure()) {
        std::cerr << "agent's log:\n"
                  << std::ifstream(directory_.path() / "agent.log").rdbuf() << "\n";
    }
    if (agent_) agent_->terminate(60s);
    kubelet_.reset();
    for (const char* const place : {"run", "proc"}) {
        if (mounted_) ::umount2((directory_.path() / place).c_str(), MNT_DETACH);
    }
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
        eventually([&] { return ::rmdir(group->c_str()) == 0 || errno != EBUSY; });
    }
}

void AttackNode::start_agent(const std::string& guard) {
    ASSERT_TRUE(root_.write_atomically(
        "/etc/config.yaml",
        "version: v1\nsharing:\n  guard: " + guard +
            "\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: " +
            std::to_string(replicas_) + ", " + share_ + "}\n"));
    auto process = os::Process::start(
        {.argv = {ALIQUOT_BIN_DIR "/aliquot-agent", "--root", directory_.path().native(),
                  "--driver-root", "/driver", "--metrics-listen", "off", "--config-file",
                  "/etc/config.yaml", "--guard-library", ALIQUOT_LIB_DIR "/libaliquot-guard.so"},
         .environment = os::current_environment(),
         .output_path = (directory_.path() / "agent.log").native()});
    ASSERT_TRUE(process) << process.error().message;
    agent_.emplace(*std::move(process));
    ASSERT_TRUE(kubelet_->wait_allocatable(kGpu, gpus_ * replicas_, 60s));
}

/// In each hierarchy in which this user may make groups, as kubelet's cgroupfs driver names them.
void AttackNode::make_groups(Container& container, const std::string& uid) {
    std::string id(64, 'a');
    id.replace(0, 4, std::to_string(1000 + made_));
    const std::string ours = "aliquot-attack-" + std::to_string(::getpid());
    for (const fs::path root :
         {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
        if (!fs::exists(root / "cgroup.procs")) continue;
        fs::path group = root;
        std::error_code problem;
        for (const std::string& part : {ours, std::string("kubepods"), "pod" + uid, id}) {
            group /= part;
            if (fs::create_directory(group, problem)) groups_.push_back(group);
            if (problem) break;
        }
        if (!problem) container.groups.push_back(group);
    }
}

Result<Container> AttackNode::admit(const std::string& name) {
    Container container{.name = name};
    std::string uid = "8b0f2a6e-41d7-4c39-9a55-0de1c7f30000";
    const std::string number = std::to_string(++made_);
    uid.replace(uid.size() - number.size(), number.size(), number);
    auto grants = kubelet_->admit({.uid = uid,
                                   .pod_namespace = "ai",
                                   .name = name,
                                   .containers = {{.name = "main", .limits = {{kGpu, 1}}}}});
    if (!grants) return grants.error();
    container.grant = grants->at(0).grant;
    make_groups(container, uid);
    return container;
}

os::Process AttackNode::run_in(const Container& container, unsigned uid, const std::string& log,
                               const std::vector<std::string>& words, bool guarded) {
    open_to_all(directory_.path() / container.driver);
    auto environment = os::current_environment();
    environment["ALIQUOT_SIM_STATE"] = directory_.path() / container.driver;
    environment["LD_LIBRARY_PATH"] = ALIQUOT_SIM_DIR;
    environment["ALIQUOT_SIM_CUDA_CONTEXT_BYTES"] = "314572800";
    std::string groups;
    for (const fs::path& group : container.groups) {
        groups += (groups.empty() ? "" : ":") + group.native();
    }
    std::vector<std::string> argv{ALIQUOT_TEST_DIR "/attack_container", std::to_string(uid),
                                  path_of(root_, container.grant, abi::kGuardDirectory),
                                  path_of(root_, container.grant, "/run/aliquot/lib"),
                                  groups.empty() ? "-" : groups};
    if (guarded) {
        argv.insert(argv.end(),
                    {"/usr/bin/env", "LD_PRELOAD=/run/aliquot/lib/libaliquot-guard.so"});
    }
    argv.insert(argv.end(), words.begin(), words.end());
    auto process =
        os::Process::start({.argv = argv, .environment = environment, .output_path = file(log)});
    if (!process) throw std::runtime_error(process.error().message);
    return *std::move(process);
}

os::Process AttackNode::attack_in(const Container& container, const std::string& name, int seconds,
                                  unsigned uid) {
    auto process = run_in(container, uid, "attacker.log",
                          {ALIQUOT_TEST_DIR "/attacker", name, std::to_string(seconds), "1",
                           file("attacking").native()},
                          false);
    EXPECT_TRUE(eventually([&] { return fs::exists(file("attacking")); })) << log("attacker.log");
    return process;
}

std::string AttackNode::log(const std::string& name) const {
    std::ifstream text(file(name));
    return {std::istreambuf_iterator<char>(text), {}};
}

fs::path AttackNode::file(const std::string& name) const {
    return directory_.path() / "shared" / name;
}

void AttackNode::make(const std::string& name) const { std::ofstream(file(name)) << "now"; }

std::string AttackNode::status() const {
    const auto answer = os::exchange(
        {.argv = {ALIQUOT_BIN_DIR "/aliquot", "guard", "status", "--agent",
                  "unix:" + (directory_.path() / "run/aliquot/agent.sock").native(), "-o", "json"},
         .environment = os::current_environment()},
        "", {.deadline = 60s});
    return answer ? answer->output : answer.error().message;
}

bool AttackNode::happened(const std::string& kind, const std::string& pod) const {
    const auto seen = nlohmann::json::parse(status(), nullptr, false);
    if (!seen.is_object()) return false;
    for (const auto& event : seen["events"]) {
        if (event["kind"] == kind && event["container"] == "ai/" + pod + "/main") return true;
    }
    return false;
}

std::uint64_t AttackNode::peak() const {
    std::ifstream status("/proc/" + std::to_string(agent_->pid()) + "/status");
    std::string word;
    std::uint64_t kib = 0;
    while (status >> word) {
        if (word == "VmHWM:" && status >> kib) return kib << 10U;
    }
    return 0;
}

bool AttackNode::eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;  // the machine may be busy
    while (std::chrono::steady_clock::now() < end) {
        if (holds()) return true;
        std::this_thread::sleep_for(20ms);  // polls: other processes do it
    }
    return false;
}

}  // namespace aliquot::attack
