// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/soak_node.h"

#include <csignal>
#include <fstream>
#include <future>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace aliquot::soak {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kSettle = std::chrono::seconds(60);  // for files that go a moment later
constexpr auto kLook = milliseconds(2);
constexpr std::string_view kConfig =
    "version: v1\n"
    "sharing:\n"
    "  timeSlicing:\n"
    "    resources:\n"
    "      - name: nvidia.com/gpu\n"
    "        replicas: 4\n";

std::size_t entries_of(const fs::path& directory) {
    std::error_code problem;
    const fs::directory_iterator entries(directory, problem);
    if (problem) return 0;
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::set<std::string> names_in(const fs::path& directory) {
    std::set<std::string> names;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(directory, problem)) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

Leaks held_by(const std::string& process) {
    const fs::path folder = fs::path("/proc") / process;
    return {.descriptors = entries_of(folder / "fd"), .threads = entries_of(folder / "task")};
}

void must(const Result<Done>& done, const std::string& activity) {
    if (!done) throw Broken(activity + ": " + done.error().message);
}

}  // namespace

SoakNode::SoakNode(std::string agent, std::uint64_t seed)
    : agent_(std::move(agent)), random_(seed) {
    auto node = sim::Node::create(temporary_.path() / "driver",
                                  {.gpus = {{.model = "a2", .count = kGpus}}, .seed = seed},
                                  ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
    if (!node) throw Broken("make the node: " + node.error().message);
    node_.emplace(*std::move(node));
    must(root_.write_atomically("/etc/aliquot/config.yaml", kConfig), "write the configuration");
    kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{.seed = seed});
    must(kubelet_->start(), "start kubelet");
}

void SoakNode::start_agent() {
    auto environment = os::current_environment();
    auto process = os::Process::start(
        {.argv = {agent_, "--metrics-listen", "off", "--root", temporary_.path().string(),
                  "--driver-root", "/driver", "--config-file", "/etc/aliquot/config.yaml",
                  "--device-list-strategy", "envvar,cdi-cri"},
         .environment = std::move(environment),
         .working_directory = temporary_.path().string(),
         .output_path = (temporary_.path() / "agent.log").string()});
    if (!process) throw Broken("start the agent: " + process.error().message);
    process_.emplace(*std::move(process));
}

void SoakNode::begin_event(Event event) {
    check_registrations();  // of the event before, which had until now
    kubelet_restarted_ = event == Event::kKubeletRestart;
    registrations_ = kubelet_->registrations();
}

void SoakNode::kill_agent() {
    begin_event(Event::kAgentKill);
    if (random(3) == 0 && allocated() < kDevices) {
        auto request = next_pod();
        auto answer = std::async(std::launch::async, [&] { return kubelet_->admit(request); });
        if (random(2) == 0) std::this_thread::yield();
        process_->signal(SIGKILL);
        take(request, answer.get(), true);
    } else {
        process_->signal(SIGKILL);
    }
    if (!process_->wait(kPatience)) throw Broken("the agent outlived SIGKILL");
    if (random(2) == 0) remove_one();
}

void SoakNode::end_agent() {
    const auto exit = process_->terminate(kPatience);
    if (exit.code != 0) throw Broken("the agent ended with code " + std::to_string(exit.code));
    const auto sockets = names_in(root_.resolve("/var/lib/kubelet/device-plugins"));
    if (sockets.contains("nvidia-gpu.sock")) throw Broken("the agent left its socket");
    const auto files = names_in(root_.resolve("/var/run/cdi"));
    if (!files.empty()) throw Broken("the agent left CDI files: " + joined(files));
}

void SoakNode::restart_kubelet() {
    begin_event(Event::kKubeletRestart);
    const unsigned how = random(3);
    if (how == 0) kubelet_->kill();
    if (how != 0) kubelet_->stop();
    if (random(2) == 0) remove_one();  // a pod that ends while nobody looks
    if (how == 2) {
        // Another process: it knows the pods by its checkpoint and by who asks again.
        registrations_ = 0;
        kubelet_.reset();
        kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{.seed = random_()});
    }
    must(kubelet_->start(), "start kubelet again");
    admit_again();
}

void SoakNode::admit_again() {
    for (const auto& [uid, pod] : pods_) {
        const auto again = kubelet_->admit(pod.request);
        if (!again) throw Broken("pod " + uid + " after a restart: " + again.error().message);
        for (std::size_t i = 0; i < pod.grants.size(); ++i) {
            if (again->at(i).grant == pod.grants[i].grant &&
                again->at(i).devices == pod.grants[i].devices) {
                continue;
            }
            throw Broken("pod " + uid + ": its grant changed over a restart of kubelet");
        }
    }
    kubelet_->forget_unknown_pods();
}

sim::PodRequest SoakNode::next_pod() {
    const unsigned free = kDevices - allocated();
    const unsigned count = std::min(free, 1 + random(3));
    const std::string name = "pod-" + std::to_string(++admitted_);
    sim::PodRequest request{.uid = name, .name = name, .init_containers = {}, .containers = {}};
    request.containers.push_back({.name = "main", .limits = {{kGpu, count}}});
    if (random(4) == 0) {
        request.init_containers.push_back({.name = "prepare", .limits = {{kGpu, 1}}});
    }
    return request;
}

void SoakNode::take(sim::PodRequest request, Result<std::vector<sim::ContainerGrant>> answer,
                    bool may_fail) {
    if (!answer) {
        if (may_fail) return;
        throw Broken("admit " + request.uid + ": " + answer.error().message);
    }
    const Pod pod{.request = request, .grants = *std::move(answer)};
    check_grant(pod);
    pods_.emplace(request.uid, pod);
}

void SoakNode::admit_one(bool may_fail) {
    if (allocated() == kDevices) return;
    auto request = next_pod();
    auto answer = kubelet_->admit(request);
    take(std::move(request), std::move(answer), may_fail);
}

void SoakNode::remove_one() {
    if (pods_.empty()) return;
    const auto victim = std::next(pods_.begin(), random(static_cast<unsigned>(pods_.size())));
    kubelet_->remove(victim->first);
    pods_.erase(victim);
}

void SoakNode::change_pods() {
    for (unsigned i = 1 + random(4); i > 0; --i) {
        if (random(32) < allocated()) {
            remove_one();
        } else {
            admit_one(false);
        }
    }
    // More than there is must be refused, and must change nothing.
    if (random(8) != 0) return;
    sim::PodRequest greedy{
        .uid = "greedy", .name = "greedy", .init_containers = {}, .containers = {}};
    greedy.containers.push_back({.name = "main", .limits = {{kGpu, kDevices - allocated() + 1}}});
    if (kubelet_->admit(greedy)) throw Broken("more devices were granted than there are");
}

milliseconds SoakNode::wait_for_all() {
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
    while (true) {
        const auto registrations = kubelet_->registrations();  // first: the view is not older
        const auto view = kubelet_->resources()[kGpu];
        if (registrations > registrations_ && view.streams == 1 && view.connected &&
            view.allocatable == kDevices) {
            return std::chrono::duration_cast<milliseconds>(elapsed());
        }
        if (elapsed() > kPatience) {
            throw Broken("devices lost: capacity " + std::to_string(view.capacity) +
                         ", allocatable " + std::to_string(view.allocatable) + " of " +
                         std::to_string(kDevices) + ", " + std::to_string(view.streams) +
                         " streams, " + std::to_string(registrations - registrations_) +
                         " registrations since the event");
        }
        std::this_thread::sleep_for(kLook);  // polls: four things at once, one in another process
    }
}

unsigned SoakNode::allocated() const {
    unsigned count = 0;
    for (const auto& [uid, pod] : pods_) {
        std::set<std::string> ids;
        for (const auto& grant : pod.grants) {
            for (const auto& [resource, held] : grant.devices) ids.insert(held.begin(), held.end());
        }
        count += static_cast<unsigned>(ids.size());
    }
    return count;
}

/// The environment names exactly the GPUs of the devices that kubelet chose.
void SoakNode::check_grant(const Pod& pod) const {
    for (const auto& container : pod.grants) {
        std::set<std::string> wanted;
        for (const auto& id : container.devices.at(kGpu))
            wanted.insert(id.substr(0, id.find("::")));
        const auto visible = container.grant.environment.find("NVIDIA_VISIBLE_DEVICES");
        std::set<std::string> got;
        if (visible != container.grant.environment.end()) {
            std::string rest = visible->second;
            for (std::size_t comma = 0; comma != std::string::npos;) {
                comma = rest.find(',');
                got.insert(rest.substr(0, comma));
                rest.erase(0, comma == std::string::npos ? comma : comma + 1);
            }
        }
        if (got == wanted && container.grant.cdi_devices.size() == wanted.size()) continue;
        throw Broken("pod " + pod.request.uid + " was given " + joined(wanted) + " but sees " +
                     joined(got) + " and " + std::to_string(container.grant.cdi_devices.size()) +
                     " CDI devices");
    }
}

void SoakNode::check() {
    const auto holders = kubelet_->holders();
    std::map<std::string, std::string> expected;
    for (const auto& [uid, pod] : pods_) {
        for (const auto& grant : pod.grants) {
            for (const auto& id : grant.devices.at(kGpu)) {
                const auto [place, is_new] = expected.try_emplace(id, uid + "/" + grant.name);
                const bool same_pod = place->second.starts_with(uid + "/");
                if (!is_new && !same_pod) {
                    throw Broken("device " + id + " is held by " + place->second + " and " + uid);
                }
                place->second = uid + "/" + grant.name;  // init containers come first
            }
        }
    }
    if (holders != expected) {
        throw Broken("kubelet's books differ: " + std::to_string(holders.size()) +
                     " devices held, expected " + std::to_string(expected.size()));
    }
    const auto view = kubelet_->resources()[kGpu];
    if (view.capacity != kDevices) throw Broken("capacity is " + std::to_string(view.capacity));
    if (!view.connected) throw Broken("the agent is not connected");
    check_registrations();
    check_files();
}

/// One restart of kubelet is one registration: each further one takes the devices away for a moment.
/// After a kill of the agent kubelet may hang up on the new agent by mistake, which then registers again.
void SoakNode::check_registrations() const {
    if (!kubelet_restarted_ || registrations() == 1) return;
    throw Broken("the agent registered " + std::to_string(registrations()) +
                 " times after one restart of kubelet");
}

void SoakNode::check_files() const {
    const std::set<std::string> sockets_wanted = {"DEPRECATION", "kubelet.sock",
                                                  "kubelet_internal_checkpoint", "nvidia-gpu.sock"};
    const auto deadline = std::chrono::steady_clock::now() + kSettle;
    while (true) {
        const auto sockets = names_in(root_.resolve("/var/lib/kubelet/device-plugins"));
        const auto cdi = names_in(root_.resolve("/var/run/cdi"));
        if (sockets == sockets_wanted && cdi.size() == 1) return;
        if (std::chrono::steady_clock::now() > deadline) {
            throw Broken("files left over: " + joined(sockets) + "; CDI: " + joined(cdi));
        }
        std::this_thread::sleep_for(milliseconds(5));  // polls: other processes make these files
    }
}

Leaks SoakNode::agent_holds() const { return held_by(std::to_string(process_->pid())); }
Leaks SoakNode::we_hold() { return held_by("self"); }

std::string SoakNode::agent_log() const {
    constexpr std::streamoff kTail = 4000;
    std::ifstream file(temporary_.path() / "agent.log", std::ios::ate);
    const std::streamoff size = file.tellg();
    file.seekg(std::max<std::streamoff>(0, size - kTail));
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace aliquot::soak
