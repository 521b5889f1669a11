// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/up_session.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait() is POSIX
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/log.h"
#include "cli/answer.h"
#include "cmd/aliquot/up_page.h"
#include "findings/finding.h"
#include "os/host_name.h"
#include "sharing/config.h"
#include "sim/cluster/agent_run.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/live_view.h"
#include "sim/cluster/manifest_files.h"

namespace aliquot::up {
namespace {

namespace cluster = sim::cluster;

using namespace std::chrono_literals;

constexpr auto kTick = 50ms;
constexpr auto kGrace = 3000ms;
constexpr auto kReadyTimeout = 30s;
constexpr auto kOnceTimeout = 60s;
constexpr auto kSilence = 1s;  // a start that takes longer is worth a line
constexpr unsigned kLogLines = 5;
constexpr std::size_t kMaxConfigBytes = 1U << 20U;

/// SIGINT, SIGTERM, SIGHUP and SIGCHLD, blocked for this and every later thread, so that the loop
/// can wait for them.
class Signals {
public:
    Signals() {
        ::sigemptyset(&set_);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&set_, number);
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// Waits for one, at most `timeout`; 0: none came.
    int wait(std::chrono::milliseconds timeout) {
        const timespec time{.tv_sec = timeout.count() / 1000,
                            .tv_nsec = (timeout.count() % 1000) * 1'000'000};
        const int number = ::sigtimedwait(&set_, nullptr, &time);
        return number > 0 ? number : 0;
    }

private:
    sigset_t set_{};
    sigset_t before_{};
};

int exit_code_for(const Error& error) {
    return error.code == ErrorCode::kInvalidInput ? cli::kUsage : cli::kCouldNotRun;
}

std::string node_name() {
    std::string text = os::host_name("localhost");
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

/// The parts of one run, made in order and taken down in the reverse order.
class Session {
public:
    Session(const UpOptions& options, cli::Context& context)
        : options_(options),
          context_(context),
          shows_on_out_(!options.once && options.format == "table"),
          view_(shows_on_out_ ? context.out : context.err,
                shows_on_out_ ? context.out_is_terminal : context.err_is_terminal, context.colour) {
    }

    /// False: the exit code is set and nothing was started.
    bool read() { return read_manifests() && read_config(); }

    bool start() {
        auto host = cluster::Host::make({.gpus = options_.gpus,
                                         .mig = options_.mig,
                                         .state = options_.state,
                                         .keep = options_.keep,
                                         .config_file = options_.config_file,
                                         .program_directory = context_.program_directory});
        if (!host) return fail(host.error());
        host_ = *std::move(host);
        auto inventory = host_->look();
        if (!inventory) return fail(inventory.error());
        auto offer = sharing::make_offer(config_, *inventory);
        if (!offer) return fail(std::move(offer).error().during(options_.config_file));
        for (const std::string& remark : offer->remarks) view_.say("note: " + remark);

        cluster::Labels labels = cluster::node_labels(*inventory, *offer, node_name());
        for (const auto& label : options_.node_labels) labels[label.first] = label.second;
        kubelet_ = std::make_unique<sim::Kubelet>(
            host_->root(), sim::KubeletOptions{.reproduce_registration_race = false});
        auto listening = kubelet_->start();
        if (!listening) return fail(std::move(listening).error().during("kubelet's sockets"));
        processes_.emplace(host_->root());
        auto shown = processes_->begin();
        if (!shown) return fail(shown.error());
        if (!start_claims(labels) || !start_agent() || !start_page()) return false;
        cluster_ = std::make_unique<cluster::Cluster>(
            *host_, *kubelet_, *processes_, std::move(claims_), *std::move(offer),
            *std::move(inventory), std::move(labels), std::move(workloads_));
        if (!options_.once || host_->keeps_logs()) {  // else they are gone before they can be read
            if (!host_->node_directory().empty()) {
                view_.say("simulated node in " + host_->node_directory());
            }
            view_.say("logs in " + host_->logs().native());
        }
        return true;
    }

    void run(Signals& signals) {
        const auto begin = std::chrono::steady_clock::now();
        for (;;) {
            const auto now = std::chrono::steady_clock::now();
            auto alive = agent_->tick(now);
            if (!alive) {
                fail(alive.error());
                return;
            }
            cluster_->tick(now);
            for (const std::string& note : cluster_->take_notes()) view_.say("note: " + note);
            if (page_) page_->note(cluster_->snapshot());
            if (cluster_->is_ready() || now - begin > kSilence) view_.show(cluster_->snapshot());
            if (is_over(now, begin)) return;
            const int signal = signals.wait(kTick);
            if (signal != 0 && signal != SIGCHLD) {
                context_.exit_code = 128 + signal;
                return;
            }
        }
    }

    void stop() {
        cluster::Snapshot last;
        if (cluster_) {
            last = cluster_->snapshot();
            cluster_->stop(kGrace);
        }
        page_.reset();
        if (agent_) agent_->stop();
        if (kubelet_) kubelet_->stop();
        if (cluster_) print_result(last);
    }

private:
    bool fail(const Error& error) {
        view_.clear();
        cli::fail(context_, exit_code_for(error), error.message);
        return false;
    }

    bool read_manifests() {
        const auto texts = cluster::read_inputs(options_.manifests, options_.config_file);
        if (!texts) {
            cli::fail(context_, cli::kUsage, texts.error().message);
            return false;
        }
        cluster::Manifests manifests =
            cluster::read_manifests(*texts, !options_.config_file.empty());
        for (const cluster::Remark& problem : manifests.problems)
            context_.err << cluster::to_text(problem) << "\n";
        if (!manifests.problems.empty()) {
            context_.exit_code = cli::kUsage;
            return false;
        }
        for (const cluster::Remark& note : manifests.notes) {
            context_.err << "note: " << cluster::to_text(note) << "\n";
        }
        if (manifests.workloads.empty()) {
            cli::fail(context_, cli::kUsage, "there is no pod to run in these manifests");
            return false;
        }
        workloads_ = std::move(manifests.workloads);
        claim_objects_ = std::move(manifests.claim_objects);
        return true;
    }

    bool read_config() {
        if (options_.config_file.empty()) return true;
        const std::filesystem::path path = std::filesystem::absolute(options_.config_file);
        const os::Root root(path.parent_path());
        const auto text = root.read(path.filename().native(), kMaxConfigBytes);
        if (!text) {
            cli::fail(context_, cli::kUsage, text.error().message);
            return false;
        }
        auto read =
            sharing::read_config(options_.config_file, *text, sharing::Compatibility::kStrict);
        findings::print_text(context_.err, read.findings, context_.colour);
        if (!read.config) {
            context_.exit_code = cli::kUsage;
            return false;
        }
        config_ = *std::move(read.config);
        return true;
    }

    /// Manifests with ResourceClaims: this node hands out its GPUs by them.
    bool start_claims(const cluster::Labels& labels) {
        const bool wanted =
            !claim_objects_.empty() || std::ranges::any_of(workloads_, [](const auto& one) {
                return !one.pod.claims.empty();
            });
        if (!wanted) return true;
        node_name_ = labels.at("kubernetes.io/hostname");
        const std::string directory = host_->root().resolve("/var/lib/aliquot-up").native();
        auto claims = cluster::ClaimsOfNode::start(directory, node_name_, labels, claim_objects_);
        if (!claims) return fail(claims.error());
        claims_ = *std::move(claims);
        return true;
    }

    bool start_agent() {
        std::vector<std::string> argv{(context_.program_directory / "aliquot-agent").native(),
                                      "--root",
                                      host_->root().base().native(),
                                      "--driver-root",
                                      host_->driver_root(),
                                      "--kubelet-socket",
                                      "/var/lib/kubelet/device-plugins/kubelet.sock",
                                      "--http-listen",
                                      "unix:/run/aliquot/agent.sock",
                                      "--metrics-listen",
                                      options_.metrics_listen,
                                      "--log-format",
                                      "json"};
        if (!host_->config_path().empty()) {
            argv.insert(argv.end(), {"--config-file", host_->config_path()});
        }
        if (claims_) {
            // What is cut already stays as it is, and so does a real machine.
            const bool cuts = options_.mig.empty() && !host_->node_directory().empty();
            const char* const mode = cuts ? "dynamic-mig" : "auto";
            argv.insert(argv.end(), {"--dra", mode, "--cluster", "on", "--kubeconfig",
                                     claims_->kubeconfig(), "--node-name", node_name_});
        }
        agent_ = std::make_unique<cluster::AgentRun>(std::move(argv), host_->agent_environment(),
                                                     host_->logs() / "agent.log");
        auto started = agent_->start();
        return started ? true : fail(started.error());
    }

    /// The node's, as `aliquot doctor` in a shell of it would.
    [[nodiscard]] page::Checkup::Examine examination() const {
        doctor::LiveOptions node{.program = (context_.program_directory / "aliquot").native()};
        if (!host_->node_directory().empty()) node.root = host_->node_directory();
        return page::examination_of(std::move(node));
    }

    bool start_page() {
        if (options_.page == "off") return true;
        std::vector<std::string> files;
        for (const std::string& one : options_.manifests) {
            if (one != "-") files.push_back(one);
        }
        if (!options_.config_file.empty()) files.push_back(options_.config_file);
        auto page = UpPage::serve(options_.page, options_.page_web_config,
                                  host_->root().resolve("/run/aliquot/agent.sock").native(),
                                  lint_remarks(files), page::Checkup(examination()));
        if (!page) return fail(std::move(page).error().during("--page"));
        page_ = *std::move(page);
        view_.say("page at " + page_->url());
        return true;
    }

    /// Sets the exit code when it is.
    bool is_over(cluster::TimePoint now, cluster::TimePoint begin) {
        if (!cluster_->is_ready() && now - begin > kReadyTimeout) {
            fail(
                {ErrorCode::kUnavailable, "the agent has not registered its devices within 30 s: " +
                                              cluster::last_words(host_->logs() / "agent.log", 1)});
            return true;
        }
        if (cluster_->is_finished() || (options_.once && cluster_->is_settled(now))) return true;
        const auto limit = options_.timeout.value_or(kOnceTimeout);
        if (now - begin < limit || (!options_.once && !options_.timeout)) return false;
        if (options_.once) {
            fail({ErrorCode::kUnavailable,
                  "the pods have not settled within " + std::to_string(limit.count()) + " s"});
        }
        return true;
    }

    void print_result(const cluster::Snapshot& snapshot) {
        view_.clear();
        if (options_.format == "table") {
            context_.out << cluster::table_text(snapshot, context_.colour, 0);
        } else {
            cli::print_answer(context_.out, "SimulatedPods", cluster::to_json(snapshot),
                              options_.format);
        }
        for (const cluster::PodRow& pod : snapshot.pods) {
            if (!pod.troubled) continue;
            if (context_.exit_code == cli::kOk) context_.exit_code = cli::kFindings;
            if (pod.log.empty()) continue;
            context_.err << pod.name << ": the end of " << pod.log << ":\n"
                         << cluster::last_words(pod.log, kLogLines) << "\n";
        }
        context_.out.flush();
    }

    const UpOptions& options_;
    cli::Context& context_;
    bool shows_on_out_;
    cluster::LiveView view_;
    std::vector<cluster::Workload> workloads_;
    std::vector<document::Value> claim_objects_;
    std::string node_name_;                          // of a node with claims
    std::unique_ptr<cluster::ClaimsOfNode> claims_;  // until the cluster has it
    sharing::Config config_;
    std::unique_ptr<cluster::Host> host_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<cluster::PodProcesses> processes_;
    std::unique_ptr<cluster::AgentRun> agent_;
    std::unique_ptr<cluster::Cluster> cluster_;
    std::unique_ptr<UpPage> page_;
};

}  // namespace

void run_up(const UpOptions& options, cli::Context& context) {
    // Before the first thread: kubelet's threads must not be the ones that a signal ends.
    Signals signals;
    log::configure(log::Level::kOff, log::Format::kText);
    Session session(options, context);
    if (!session.read()) return;
    if (session.start()) session.run(signals);
    session.stop();
}

}  // namespace aliquot::up
