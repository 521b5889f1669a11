// SPDX-License-Identifier: Apache-2.0
// aliquot gate watch: gates each GPU of a node when its job has ended, and keeps jobs off the node while one is not clean.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait is POSIX
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "base/sentence.h"
#include "base/time_text.h"
#include "cli/host/gate_command.h"
#include "cli/host/gpu_holders.h"
#include "command_line/command.h"
#include "gate/observe.h"
#include "gate/watch.h"
#include "kubelet/pod_resources.h"
#include "nvml/driver.h"
#include "nvml/meters.h"
#include "os/root.h"
#include "pods/device_holds.h"

namespace aliquot::cli {
namespace {

constexpr std::chrono::seconds kPause{2};
constexpr const char* kKubeletDevices = "/var/lib/kubelet/device-plugins";
constexpr const char* kHoldersSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";

class NodeGate {
public:
    NodeGate(Context& context, const GateOptions& words, const gate::RunOptions& options,
             nvml::Driver& driver, nvml::Meters& meters, const os::Root& host)
        : context_(context),
          words_(words),
          options_(options),
          driver_(driver),
          meters_(meters),
          host_(host),
          kubelet_(host, kHoldersSocket),
          holds_(host, clock_, {},
                 [this](std::chrono::milliseconds timeout) { return kubelet_.pods(timeout); }) {}

    void look() {
        const auto inventory = driver_.enumerate(gpu::Links::kLeaveOut);
        if (!inventory) return complain(inventory.error().message);
        inventory_ = *inventory;
        std::vector<std::string> gpus;
        for (const auto& gpu : inventory_.gpus) gpus.push_back(gpu.uuid.text);
        const auto due = watch_.due(gpus, held(), clock_.now());
        if (!due.empty()) look_at(due);
        tell();
    }
    /// What it has taken stays taken.
    [[nodiscard]] bool is_dirty() const { return !watch_.leftovers().empty(); }

private:
    /// uuids of GPUs that somebody has, or of which nobody can say that they are free.
    std::set<std::string> held() {
        auto holds = holds_.look();
        // A folder that is not mounted looks like a kubelet that has given nothing to anybody.
        if (!host_.exists(kKubeletDevices)) {
            holds.problem = std::string(kKubeletDevices) +
                            " is not seen from here: nobody can say which GPUs are free";
        }
        auto holders = holders_of(inventory_, holds, pods::read_claim_state(host_));
        blind_ = !holders.problem.empty();
        if (blind_) complain(holders.problem);
        return std::move(holders.uuids);
    }
    void look_at(const std::vector<std::string>& due) {
        const auto base = watch_.base_of(due);
        std::set<std::uint32_t> approved;
        const gate::World world{
            .observe =
                [&] {
                    return gate::observe(driver_, meters_, due,
                                         std::chrono::milliseconds(words_.deadline_ms));
                },
            .signal =
                [&](std::uint32_t pid, int number) {
                    if (pid <= 1 || pid == static_cast<std::uint32_t>(::getpid())) return;
                    if (!approved.contains(pid)) {
                        // Whoever got the GPU meanwhile was written down by kubelet before its process began.
                        const auto now_held = held();
                        if (std::ranges::any_of(due, [&](const std::string& uuid) {
                                return now_held.contains(uuid);
                            })) {
                            return;
                        }
                        approved.insert(pid);
                    }
                    ::kill(static_cast<pid_t>(pid), number);
                },
            .clock = clock_};
        const auto verdict = gate::run(world, base.empty() ? nullptr : &base, options_);
        if (!verdict) return complain(verdict.error().message);
        for (const auto pid : verdict->ended) say("ended process " + std::to_string(pid));
        // A GPU that got a job while we looked is that job's: what it does there is no leftover.
        const auto now_held = held();
        std::vector<std::string> free;
        for (const std::string& uuid : due) {
            if (!now_held.contains(uuid)) free.push_back(uuid);
        }
        watch_.note(free, verdict->state, verdict->leftovers, clock_.now());
    }
    void tell() {
        const auto leftovers = watch_.leftovers();
        const std::string words = listed(leftovers, &gate::Leftover::message, "; ");
        if (words != told_) say(words.empty() ? "all free GPUs are clean" : words);
        told_ = words;
        // Who sees nothing takes no taint away.
        if (words_.quarantine.empty() || (blind_ && leftovers.empty())) return;
        if (!leftovers.empty() && quarantined_ != words) {
            if (quarantine(context_, words_, leftovers)) quarantined_ = words;
        } else if (leftovers.empty() && quarantined_ != "") {
            if (end_quarantine(context_, words_)) quarantined_ = std::string();
        }
    }
    void say(const std::string& words) {
        context_.out << rfc3339(std::chrono::system_clock::now()) << ' ' << words << std::endl;
    }
    void complain(const std::string& problem) {
        if (problem == complained_) return;
        complained_ = problem;
        context_.err << "aliquot: " << problem << std::endl;
    }

    Context& context_;
    const GateOptions& words_;
    const gate::RunOptions options_;
    nvml::Driver& driver_;
    nvml::Meters& meters_;
    const os::Root& host_;
    os::SystemClock clock_;
    kubelet::PodResources kubelet_;
    pods::HoldReader holds_;
    gpu::Inventory inventory_;
    gate::Watch watch_;
    std::string told_ = "-";
    std::string complained_;
    bool blind_ = false;  // nobody can say which GPUs are free
    /// What the node is tainted for; "": it is not; not known at first, when a former watch may have left its taint.
    std::optional<std::string> quarantined_;
};

void watch_node(Context& context, const GateOptions& words, bool once) {
    const auto options = run_options(context, words);
    if (!options) return;
    const os::Root host(host_of(words.driver));
    const auto driver_words = driver_options(words.driver);
    const auto driver = nvml::Driver::open(host, driver_words);
    if (!driver) return fail(context, kCouldNotRun, driver.error().message);
    const auto meters = nvml::Meters::open(host, driver_words);
    if (!meters) return fail(context, kCouldNotRun, meters.error().message);
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    NodeGate node(context, words, *options, **driver, **meters, host);
    const timespec pause{.tv_sec = kPause.count(), .tv_nsec = 0};
    do {
        node.look();
        if (once) {
            if (node.is_dirty()) context.exit_code = kFindings;
            return;
        }
    } while (::sigtimedwait(&ending, nullptr, &pause) < 0);
}

}  // namespace

void add_gate_watch(command_line::Command& gate, const std::shared_ptr<GateOptions>& words,
                    Context& context) {
    command_line::Command* command = gate.add_subcommand(
        "watch",
        "Check each GPU of this node whenever its job has ended, for as long as it runs\n\nA GPU "
        "that kubelet has given to a pod is left alone. While one is not clean, the node is "
        "tainted "
        "(--quarantine);\nthe taint is removed once all are clean.");
    command->footer(
        "aliquot gate watch --end-orphans --quarantine gpu-1\n"
        "aliquot gate watch --once");
    const auto once = std::make_shared<bool>(false);
    add_driver_flags(*command, words->driver);
    add_gate_options(*command, *words);
    command->add_flag("--once", *once, "Check once and exit, with code 1 if a GPU is not clean");
    add_cluster_flags(*command, words->cluster);
    command->callback([words, once, &context] { watch_node(context, *words, *once); });
}

}  // namespace aliquot::cli
