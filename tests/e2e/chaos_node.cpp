// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/chaos_node.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/e2e/agent_process.h"

namespace aliquot::chaos {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kLook = milliseconds(5);
/// How soon a fault is noticed at the latest: the agent's probe interval, and the machine's noise.
constexpr auto kNotice = std::chrono::seconds(10);
constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

constexpr std::string_view kTimeSlicing =
    "version: v1\n"
    "flags:\n"
    "  migStrategy: mixed\n"
    "sharing:\n"
    "  timeSlicing:\n"
    "    resources:\n"
    "      - name: nvidia.com/gpu\n"
    "        replicas: 4\n"
    "      - name: nvidia.com/mig-1g.5gb\n"
    "        replicas: 2\n";
constexpr std::string_view kMps =
    "version: v1\n"
    "sharing:\n"
    "  mps:\n"
    "    resources:\n"
    "      - name: nvidia.com/gpu\n"
    "        replicas: 4\n";

constexpr std::array<std::string_view, 8> kLayouts{"1g.5gb*7",         "3g.20gb,2g.10gb,1g.5gb*2",
                                                   "2g.10gb*3,1g.5gb", "4g.20gb,3g.20gb",
                                                   "7g.40gb",          "3g.20gb*2",
                                                   "1g.5gb",           "2g.10gb,1g.5gb*3"};
constexpr std::array<std::uint64_t, 6> kHardwareXids{48, 74, 79, 95, 119, 140};
constexpr std::array<std::uint64_t, 4> kApplicationXids{13, 31, 43, 45};

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

void must(const Result<Done>& done, const std::string& activity) {
    if (!done) throw Broken(activity + ": " + done.error().message);
}

}  // namespace

ChaosNode::ChaosNode(Sharing sharing, std::uint64_t seed, milliseconds late)
    : sharing_(sharing), random_(seed) {
    sim::NodeOptions options{
        .gpus = {{.model = "a2", .count = 6}, {.model = "a100-40", .count = 2}}, .seed = seed};
    options.mig = {"6=3g.20gb,2g.10gb,1g.5gb*2", "7=1g.5gb*7"};
    if (sharing == Sharing::kMps) {
        options.gpus = {{.model = "l4", .count = 4}};
        options.mig.clear();
    }
    auto node =
        sim::Node::create(temporary_.path() / "driver", options,
                          ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
    if (!node) throw Broken("make the node: " + node.error().message);
    node_.emplace(*std::move(node));
    troubles_.resize(node_->gpus().size());
    must(root_.write_atomically("/etc/aliquot/config.yaml",
                                sharing == Sharing::kMps ? kMps : kTimeSlicing),
         "write the configuration");
    kubelet_ = std::make_unique<sim::Kubelet>(
        root_, sim::KubeletOptions{.reproduce_registration_race = late == milliseconds(0),
                                   .stream_end_delay = late,
                                   .seed = seed});
    must(kubelet_->start(), "start kubelet");
    start_agent();
    if (sharing == Sharing::kMps) {
        // Until its daemon serves, a GPU is not healthy.
        for (Trouble& trouble : troubles_) end(trouble);
    }
    settle();
}

ChaosNode::~ChaosNode() {
    pods_.clear();
    if (agent_) agent_->terminate(kPatience);
    for (const auto& [gpu, pid] : daemons()) ::kill(-pid, SIGKILL);  // they outlive the agent
}

void ChaosNode::start_agent() {
    auto process = e2e::start_agent_on(
        temporary_.path(),
        {"--config-file", "/etc/aliquot/config.yaml", "--device-list-strategy", "envvar,cdi-cri"});
    if (!process) throw Broken("start the agent: " + process.error().message);
    agent_.emplace(*std::move(process));
}

void ChaosNode::kill_agent() {
    const auto registrations = kubelet_->registrations();
    agent_->signal(SIGKILL);
    if (!agent_->wait(kPatience)) throw Broken("the agent outlived SIGKILL");
    // The driver tells that some instance of a GPU failed, but not which: an agent that did not see
    // the Xid takes the whole GPU for it.
    for (Trouble& trouble : troubles_) trouble.where.reset();
    start_agent();
    wait_registered(registrations);
    // What had just been mended it had to look at once more; nobody offered anything meanwhile.
    for (Trouble& trouble : troubles_) {
        if (!trouble.ended) continue;
        trouble.ended = Clock::now();
        trouble.ended_at = lived_;
    }
}

void ChaosNode::restart_kubelet() {
    const auto registrations = kubelet_->registrations();
    if (random(2) == 0) {
        kubelet_->kill();
    } else {
        kubelet_->stop();
    }
    must(kubelet_->start(), "start kubelet again");
    for (const auto& [uid, pod] : pods_) {
        const auto again = kubelet_->admit(pod.request);
        if (!again) throw Broken("pod " + uid + " after a restart: " + again.error().message);
    }
    kubelet_->forget_unknown_pods();
    wait_registered(registrations);
}

/// What the GPUs make that are not broken. kubelet itself never forgets a name.
std::set<std::string> ChaosNode::wanted_resources() const {
    std::set<std::string> names;
    for (const sim::GpuView& gpu : node_->gpus()) {
        if (troubles_[gpu.index].since) continue;
        if (!gpu.mig_enabled) names.insert("nvidia.com/gpu");
        for (const sim::MigDeviceView& device : gpu.mig_devices) {
            names.insert("nvidia.com/mig-" + device.profile);
        }
    }
    return names;
}

/// Until every resource is connected anew and nothing is unhealthy that has no reason to be. That
/// a resource is connected does not say by whom: kubelet may not have noticed yet that the agent is
/// gone, and takes the devices away when it does.
void ChaosNode::wait_registered(std::uint64_t registrations_before) {
    const auto end = Clock::now() + kPatience;
    std::string missing;
    do {
        missing.clear();
        const auto wanted = wanted_resources();
        const auto registrations = kubelet_->registrations();  // first: the view is not older
        const auto resources = kubelet_->resources();
        if (registrations < registrations_before + wanted.size()) missing = "a registration";
        for (const std::string& name : wanted) {
            const auto view = resources.find(name);
            if (view == resources.end() || !view->second.connected) {
                missing = name + " is not connected";
            } else if (view->second.streams != 1) {
                missing = name + " has " + std::to_string(view->second.streams) + " streams";
            }
        }
        for (const auto& [name, view] : resources) {
            for (const std::string& device : view.unhealthy) {
                if (!may_be_unhealthy(device)) missing = device + " of " + name + " is unhealthy";
            }
        }
        if (missing.empty()) return;
        std::this_thread::sleep_for(kLook);  // polls: another process
    } while (Clock::now() < end);
    throw Broken("not registered again: " + missing);
}

std::string ChaosNode::happen() {
    mend_what_is_due();
    const unsigned what = random(100);
    if (what < 35) return admit();
    if (what < 55) return remove();
    if (what < 68) return break_gpu();
    if (what < 76) return application_fault();
    if (what < 92) return sharing_ == Sharing::kMps ? kill_daemon() : cut_anew();
    if (what < 96) {
        restart_kubelet();
        return "kubelet restarted";
    }
    kill_agent();
    return "agent killed";
}

std::string ChaosNode::admit() {
    std::vector<std::string> open;
    for (const auto& [name, view] : kubelet_->resources()) {
        if (view.connected && view.allocatable > view.allocated) open.push_back(name);
    }
    if (open.empty()) return "no device is free";
    const std::string resource = open[random(static_cast<unsigned>(open.size()))];
    const std::string uid = "pod-" + std::to_string(++admitted_);
    Pod pod{.request = {.uid = uid, .name = uid, .init_containers = {}, .containers = {}},
            .resource = resource,
            .device = {},
            .gpu = 0,
            .where = {},
            .mig_uuid = {},
            .process = {}};
    pod.request.containers.push_back({.name = "main", .limits = {{resource, 1}}});
    const auto grants = kubelet_->admit(pod.request);
    if (!grants) {
        // A device that fails at this very moment may be refused; nothing else may.
        for (const Trouble& trouble : troubles_) {
            if (trouble.since || trouble.ended) return "refused: " + grants.error().message;
        }
        throw Broken("admit " + uid + " for " + resource + ": " + grants.error().message);
    }
    pod.device = grants->front().devices.at(resource).front();
    const std::string base = base_of(pod.device);
    const auto visible = grants->front().grant.environment.find("NVIDIA_VISIBLE_DEVICES");
    if (visible == grants->front().grant.environment.end() || visible->second != base) {
        throw Broken("pod " + uid + " holds " + base + " but does not see it");
    }
    bool exists = false;
    for (const sim::GpuView& gpu : node_->gpus()) {
        if (gpu.uuid == base) {
            exists = true;
            pod.gpu = gpu.index;
            if (gpu.mig_enabled) throw Broken("pod " + uid + " was given all of a GPU in MIG mode");
        }
        for (const sim::MigDeviceView& device : gpu.mig_devices) {
            if (device.uuid != base) continue;
            exists = true;
            pod.gpu = gpu.index;
            pod.where = device.instance;
            pod.mig_uuid = base;
        }
    }
    if (!exists) {
        // Who cuts a GPU beside the agent may be quicker than it notices.
        const auto gone = cut_away_.find(base);
        if (gone == cut_away_.end() || Clock::now() - gone->second > kNotice) {
            throw Broken("pod " + uid + " was given " + base + ", which does not exist");
        }
        kubelet_->remove(uid);
        return uid + " was given " + base + ", which has just gone";
    }
    const Trouble& trouble = troubles_[pod.gpu];
    const bool long_broken = trouble.since && Clock::now() - *trouble.since > kNotice &&
                             (!trouble.where || *trouble.where == pod.where);
    if (long_broken) throw Broken("pod " + uid + " was given a broken GPU");
    auto process = os::Process::start(
        {.argv = {"sleep", "infinity"}, .environment = os::current_environment()});
    if (!process) throw Broken("start a process: " + process.error().message);
    pod.process.emplace(*std::move(process));
    if (sharing_ != Sharing::kMps) {
        const auto used = node_->set_process(
            pod.gpu, static_cast<std::uint32_t>(pod.process->pid()), kMemory, 5, pod.where);
        // On a GPU that has just failed a program gets nothing.
        if (!used && !trouble.since)
            throw Broken("use the GPU of " + uid + ": " + used.error().message);
    }
    pods_.emplace(uid, std::move(pod));
    return uid + " got " + base;
}

std::string ChaosNode::remove() {
    if (pods_.empty()) return "no pod to end";
    const auto victim = std::next(pods_.begin(), random(static_cast<unsigned>(pods_.size())));
    const std::string uid = victim->first;
    victim->second.process->terminate(std::chrono::seconds(5));
    kubelet_->remove(uid);
    pods_.erase(victim);
    return uid + " ended";
}

std::string ChaosNode::break_gpu() {
    const unsigned gpu = random(static_cast<unsigned>(troubles_.size()));
    Trouble& trouble = troubles_[gpu];
    if (trouble.since || trouble.ended) return "GPU " + std::to_string(gpu) + " is broken already";
    const auto view = node_->gpus().at(gpu);
    std::string what;
    Result<Done> done = Done{};
    const unsigned how = random(4);
    if (how == 0) {
        done = node_->inject(gpu, sim::FaultKind::kLost, 0);
        what = "lost";
    } else if (how == 1) {
        done = node_->inject(gpu, sim::FaultKind::kCallError, 999);
        what = "call error 999";
    } else {
        const std::uint64_t xid = kHardwareXids[random(kHardwareXids.size())];
        sim::Instance where;
        if (!view.mig_devices.empty() && xid != 79 && random(2) == 0) {
            where =
                view.mig_devices[random(static_cast<unsigned>(view.mig_devices.size()))].instance;
            trouble.where = where;
        }
        done = node_->inject(gpu, sim::FaultKind::kXid, xid, where);
        what = "Xid " + std::to_string(xid) + (trouble.where ? " on a MIG device" : "");
    }
    must(done, "break GPU " + std::to_string(gpu));
    trouble.since = Clock::now();
    trouble.until = *trouble.since + milliseconds(200 + random(6000));
    return "GPU " + std::to_string(gpu) + ": " + what;
}

std::string ChaosNode::application_fault() {
    const unsigned gpu = random(static_cast<unsigned>(troubles_.size()));
    const std::uint64_t xid = kApplicationXids[random(kApplicationXids.size())];
    must(node_->inject(gpu, sim::FaultKind::kXid, xid), "inject an application's fault");
    return "GPU " + std::to_string(gpu) + ": Xid " + std::to_string(xid) + ", an application's";
}

std::string ChaosNode::cut_anew() {
    const unsigned gpu = 6 + random(2);
    if (troubles_[gpu].since || troubles_[gpu].ended) return "no cut: the GPU is broken";
    const std::string layout(kLayouts[random(kLayouts.size())]);
    const fs::path output = temporary_.path() / "mig.log";
    fs::remove(output);
    const bool cut_short = random(4) == 0;
    const auto before = node_->gpus().at(gpu).mig_devices;
    std::optional<os::Exit> exit;
    for (const bool kill : {cut_short, false}) {
        auto process = os::Process::start(
            {.argv = {ALIQUOT_BIN_DIR "/aliquot", "mig", "apply", "--want", layout, "--gpu-index",
                      std::to_string(gpu), "--leave-busy", "--no-reset", "--node-state",
                      (temporary_.path() / "driver").string(), "--pod-resources-socket",
                      root_.resolve("/var/lib/kubelet/pod-resources/kubelet.sock").string(),
                      "--state", (temporary_.path() / "mig").string()},
             .environment = os::current_environment(),
             .output_path = output.string()});
        if (!process) throw Broken("start aliquot mig apply: " + process.error().message);
        if (kill) {
            (void)process->wait(milliseconds(random(60)));
            process->signal(SIGKILL);
        }
        exit = process->wait(kPatience);
        if (!exit) throw Broken("aliquot mig apply does not end: " + text_of(output));
        if (kill) continue;
        break;
    }
    if (exit->code != 0 && exit->code != 1) {
        throw Broken("aliquot mig apply " + layout + " on GPU " + std::to_string(gpu) + ": exit " +
                     std::to_string(exit->code) + ": " + text_of(output));
    }
    for (const sim::MigDeviceView& device : before) {
        if (owner_of(device.uuid).empty()) cut_away_[device.uuid] = Clock::now();
    }
    look_at_pods();
    return "GPU " + std::to_string(gpu) + (exit->code == 0 ? " cut into " : " cannot be ") + layout;
}

std::vector<std::pair<unsigned, pid_t>> ChaosNode::daemons() const {
    std::vector<std::pair<unsigned, pid_t>> daemons;
    std::error_code problem;
    for (const auto& entry : fs::recursive_directory_iterator(temporary_.path(), problem)) {
        if (entry.path().filename() != "nvidia-cuda-mps-control.pid") continue;
        const std::string text = text_of(entry.path());
        pid_t pid = 0;
        std::from_chars(text.data(), text.data() + text.size(), pid);
        for (const sim::GpuView& gpu : node_->gpus()) {
            if (pid > 1 && entry.path().string().contains(gpu.uuid))
                daemons.emplace_back(gpu.index, pid);
        }
    }
    return daemons;
}

std::string ChaosNode::kill_daemon() {
    const auto running = daemons();
    if (running.empty()) return "no MPS daemon";
    const auto [gpu, pid] = running[random(static_cast<unsigned>(running.size()))];
    Trouble& trouble = troubles_[gpu];
    if (trouble.since || trouble.ended) return "GPU is broken already";
    ::kill(pid, SIGKILL);
    end(trouble);  // it is to come back by itself
    return "MPS daemon of GPU " + std::to_string(gpu) + " killed";
}

std::string ChaosNode::agent_log() const {
    std::string log = text_of(temporary_.path() / "agent.log");
    constexpr std::size_t kShown = 8000;
    return log.size() > kShown ? log.substr(log.size() - kShown) : log;
}

}  // namespace aliquot::chaos
