// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/telemetry_node.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <thread>

#include "telemetry/json.h"
#include "tests/e2e/agent_process.h"

namespace aliquot::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPatience = 120s;  // the machine may be busy
constexpr std::size_t kMostAnswer = 16U << 20U;

/// One request on a socket of its own; what came after the headers, when that was a success.
std::optional<std::string> ask(int family, const sockaddr* address, socklen_t size,
                               const std::string& path) {
    const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return std::nullopt;
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string answer;
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n";
    if (::connect(socket, address, size) == 0 &&
        ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size())) {
        std::array<char, 65536> buffer{};
        ssize_t length = 0;
        while (answer.size() < kMostAnswer &&
               (length = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0) {
            answer.append(buffer.data(), static_cast<std::size_t>(length));
        }
    }
    ::close(socket);
    const auto body = answer.find("\r\n\r\n");
    if (body == std::string::npos || !answer.substr(0, 16).contains(" 200 ")) return std::nullopt;
    return answer.substr(body + 4);
}

std::optional<std::string> ask_unix(const fs::path& place, const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (place.native().size() >= sizeof address.sun_path) return std::nullopt;
    std::strncpy(address.sun_path, place.c_str(), sizeof address.sun_path - 1);
    return ask(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, path);
}

std::optional<std::string> ask_port(unsigned port, const std::string& path) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ask(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address, path);
}

std::string uid_of(unsigned number) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "0e1eb4a3-9c52-4a6e-8d0f-%012x", number);
    return text.data();
}

/// How much a pod wants at a moment of its own script, 0 to 1.
double wanted_at(const MeteredPod& pod, SteadyTime at) {
    if (at < pod.begun) return 0;
    double wanted = 0;
    for (const sim::LoadPhase& phase : pod.script.phases) {
        if (at - pod.begun >= phase.at) wanted = phase.sm_percent / 100.0;
    }
    return wanted;
}

}  // namespace

TelemetryNode::TelemetryNode(Kind kind) : kind_(std::move(kind)) {
    // Containers that are not root come through this directory.
    fs::permissions(directory_.path(), fs::perms::others_exec, fs::perm_options::add);
    sim::NodeOptions options{.gpus = {{.model = kind_.model, .count = kGpus}}};
    if (!kind_.layout.empty()) options.mig = {kind_.layout};
    auto node =
        sim::Node::create(directory_.path() / "driver", options,
                          ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
    EXPECT_TRUE(node) << node.error().message;
    node_.emplace(*std::move(node));
    EXPECT_TRUE(root_.write_atomically("/etc/aliquot/config.yaml", kind_.config));
    kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
    EXPECT_TRUE(kubelet_->start());
    tree_ = std::make_unique<sim::ProcessTree>(root_, sim::ProcessTreeOptions{});
    EXPECT_TRUE(tree_->begin());
}

TelemetryNode::~TelemetryNode() {
    if (testing::Test::HasFailure()) std::cerr << "agent's log:\n" << log() << "\n";
    pods_.clear();
    mps_clients_.clear();
    if (agent_) agent_->terminate(60s);
    for (const auto& gpu : node_->gpus()) {
        std::ifstream file(
            root_.resolve("/run/nvidia/mps/" + gpu.uuid + "/pipe/nvidia-cuda-mps-control.pid"));
        pid_t daemon = 0;
        if (file >> daemon && daemon > 0) ::kill(-daemon, SIGKILL);
    }
}

void TelemetryNode::start() {
    start_agent();
    if (!kind_.mps) return;
    for (const auto& gpu : node_->gpus()) {
        auto client = sim::mps::Client::connect(
            root_.resolve("/run/nvidia/mps/" + gpu.uuid + "/pipe").native(), "first");
        ASSERT_TRUE(client) << client.error().message;
        mps_clients_.push_back(*std::move(client));
    }
}

void TelemetryNode::start_agent() {
    auto process = start_agent_on(
        directory_.path(), {"--metrics-listen", "127.0.0.1:0", "--metrics-interval-ms", "500",
                            "--node-name", "node-1", "--config-file", "/etc/aliquot/config.yaml"});
    ASSERT_TRUE(process) << process.error().message;
    agent_.emplace(*std::move(process));
    ASSERT_TRUE(kubelet_->wait_allocatable(kind_.resource, kind_.devices, kPatience)) << log();
    ASSERT_TRUE(wait_until([](const telemetry::Snapshot& state) {
        return state.devices.size() == kGpus && state.devices.back().read_at.has_value();
    }));
}

void TelemetryNode::kill_agent() {
    ::kill(agent_->pid(), SIGKILL);
    (void)agent_->wait(kPatience);
    agent_.reset();
    port_ = 0;
    start_agent();
}

void TelemetryNode::find_place(const std::vector<std::string>& ids, MeteredPod& pod) const {
    ASSERT_EQ(ids.size(), 1U);
    const std::string uuid = ids.front().substr(0, ids.front().find("::"));
    for (const auto& gpu : node_->gpus()) {
        if (gpu.uuid == uuid) {
            pod.gpu = gpu.index;
            return;
        }
        for (const auto& device : gpu.mig_devices) {
            if (device.uuid != uuid) continue;
            pod.gpu = gpu.index;
            pod.where = device.instance;
            return;
        }
    }
    FAIL() << "no GPU is called " << ids.front();
}

void TelemetryNode::add_pod(const std::string& name) {
    MeteredPod pod{.uid = uid_of(++admitted_), .name = name};
    sim::PodRequest request{.uid = pod.uid, .pod_namespace = "load", .name = name};
    request.containers.push_back({.name = "main", .limits = {{kind_.resource, 1}}});
    const auto grants = kubelet_->admit(request);
    ASSERT_TRUE(grants) << grants.error().message;
    find_place(grants->front().devices.at(kind_.resource), pod);
    ASSERT_TRUE(tree_->start_container({"load", name, pod.uid}, "main"));
    pod.process = std::make_unique<contract::Sleeper>();
    ASSERT_TRUE(tree_->add_process(pod.uid, "main", static_cast<pid_t>(pod.process->pid())));
    pods_.push_back(std::move(pod));
}

void TelemetryNode::run(const std::vector<std::string>& scripts) {
    tree_->refresh();
    // From then on what they do is theirs.
    ASSERT_TRUE(wait_until([this](const telemetry::Snapshot& state) {
        std::set<std::string> held;
        for (const auto& device : state.devices) {
            for (const auto& part : device.parts) {
                for (const auto& tenant : part.tenants) {
                    if (!tenant.ids.empty() && !tenant.ended) held.insert(tenant.owner.pod);
                }
            }
        }
        return std::ranges::all_of(
            pods_, [&held](const MeteredPod& pod) { return held.contains(pod.name); });
    })) << "pods without a row";
    std::map<unsigned, std::size_t> on_gpu;
    for (MeteredPod& pod : pods_) {
        ASSERT_NO_FATAL_FAILURE(begin(pod, scripts[on_gpu[pod.gpu]++ % scripts.size()]));
    }
}

void TelemetryNode::begin(MeteredPod& pod, const std::string& text) {
    const auto script = sim::parse_load_script(text);
    ASSERT_TRUE(script) << script.error().message;
    pod.script = *script;
    const auto begun =
        node_->run_script(pod.gpu, pod.process->pid(), pod.script, pod.where,
                          kind_.mps ? sim::ProcessKind::kMpsClient : sim::ProcessKind::kCompute);
    ASSERT_TRUE(begun) << begun.error().message;
    pod.begun = *begun;
}

void TelemetryNode::start_pod(const std::string& name, const std::string& script) {
    ASSERT_NO_FATAL_FAILURE(add_pod(name));
    ASSERT_NO_FATAL_FAILURE(begin(pods_.back(), script));
}

void TelemetryNode::end_pod(const std::string& name) {
    const auto pod = std::ranges::find(pods_, name, &MeteredPod::name);
    ASSERT_NE(pod, pods_.end()) << name;
    pod->process->end();
    tree_->remove_pod(pod->uid);
    kubelet_->remove(pod->uid);
    pods_.erase(pod);
}

telemetry::Snapshot TelemetryNode::wait_for_the_end() {
    SteadyTime end{};
    for (const MeteredPod& pod : pods_) {
        end = std::max(end, pod.begun + pod.script.phases.back().at);
    }
    std::this_thread::sleep_until(end + 200ms);  // the last sampling period has ended, too
    const auto ended = std::chrono::system_clock::now();
    const std::uint64_t before = state().sequence;
    // One look was perhaps under way, and on a busy machine looks at single GPUs fail.
    telemetry::Snapshot last;
    EXPECT_TRUE(wait_until([&](const telemetry::Snapshot& state) {
        last = state;
        return state.sequence >= before + 2 &&
               std::ranges::all_of(state.devices, [ended](const telemetry::Device& device) {
                   return device.read_at.value_or(telemetry::Moment{}) > ended;
               });
    }));
    return last;
}

void TelemetryNode::remove_pods() {
    for (MeteredPod& pod : pods_) {
        pod.process->end();
        tree_->remove_pod(pod.uid);
        kubelet_->remove(pod.uid);
    }
    pods_.clear();
}

double TelemetryNode::scripted_seconds(const MeteredPod& pod) const {
    std::vector<const MeteredPod*> sharers;
    std::set<SteadyTime> changes;
    for (const MeteredPod& other : pods_) {
        if (other.gpu != pod.gpu || other.where != pod.where) continue;
        sharers.push_back(&other);
        for (const auto& phase : other.script.phases) changes.insert(other.begun + phase.at);
    }
    double seconds = 0;
    for (auto change = changes.begin(); change != changes.end(); ++change) {
        const auto next = std::next(change);
        if (next == changes.end()) break;  // the last phase of each is idle
        double all = 0;
        for (const MeteredPod* const sharer : sharers) all += wanted_at(*sharer, *change);
        const double share = wanted_at(pod, *change) / std::max(all, 1.0);
        seconds += share * std::chrono::duration<double>(*next - *change).count();
    }
    return seconds;
}

std::optional<std::string> TelemetryNode::get(const std::string& path) {
    if (port_ == 0) {
        const auto page = ask_unix(root_.resolve("/run/aliquot/agent.sock"), "/status");
        constexpr std::string_view kName = "\"metricsPort\":";
        const auto place = page ? page->find(kName) : std::string::npos;
        if (place == std::string::npos) return std::nullopt;
        port_ =
            static_cast<unsigned>(std::strtoul(page->c_str() + place + kName.size(), nullptr, 10));
        if (port_ == 0) return std::nullopt;
    }
    return ask_port(port_, path);
}

telemetry::Snapshot TelemetryNode::state() {
    const auto text = get("/api/v1/state");
    if (!text) return {};
    auto state = telemetry::parse_state(*text);
    EXPECT_TRUE(state) << state.error().message;
    return state ? *std::move(state) : telemetry::Snapshot{};
}

std::string TelemetryNode::metrics() { return get("/metrics").value_or(""); }

bool TelemetryNode::wait_until(const std::function<bool(const telemetry::Snapshot&)>& so) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
        if (so(state())) return true;
        std::this_thread::sleep_for(50ms);  // polls: another process does it
    }
    return false;
}

std::string TelemetryNode::log() const {
    std::ifstream file(directory_.path() / "agent.log");
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace aliquot::e2e
