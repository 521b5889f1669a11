// SPDX-License-Identifier: Apache-2.0
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigwait() is POSIX
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "cmd/aliquot-fleet/commands.h"
#include "command_line/command.h"
#include "kube_client/connect.h"
#include "os/root.h"
#include "sim/apiserver/api_server.h"
#include "sim/fleet/kubelets.h"
#include "sim/fleet/scheduler.h"
#include "sim/node/options.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;
namespace fleet = sim::fleet;

constexpr unsigned kMostNodes = 20'000;
constexpr std::size_t kMostConfigBytes = 1U << 20U;

struct ClusterOptions {
    unsigned nodes = 3;
    std::vector<std::string> gpus;
    std::string config;
    unsigned zones = 0;
    std::string state;
    std::string kubeconfig;
    std::string listen = "127.0.0.1:0";
    bool no_scheduler = false;
    unsigned binds_per_second = 0;
    unsigned heartbeat = 10;
};

int exit_code_of(const Error& error) {
    return error.code == ErrorCode::kInvalidInput ? kUsage : kCouldNotRun;
}

/// SIGINT, SIGTERM and SIGHUP, blocked for this thread and all later ones.
class Ending {
public:
    Ending() {
        ::sigemptyset(&set_);
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set_, number);
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~Ending() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    void wait() const {
        int number = 0;
        ::sigwait(&set_, &number);
    }
    [[nodiscard]] bool came() const {
        const timespec now{};
        return ::sigtimedwait(&set_, nullptr, &now) > 0;
    }

private:
    sigset_t set_{};
    sigset_t before_{};
};

Result<sharing::Config> read_sharing(const std::string& file, Context& context) {
    if (file.empty()) return sharing::Config{};
    const auto text = os::Root().read(fs::absolute(file).native(), kMostConfigBytes);
    if (!text) return text.error();
    auto read = sharing::read_config(file, *text, sharing::Compatibility::kStrict);
    for (const auto& finding : read.findings) {
        if (!read.config)
            return Error{ErrorCode::kInvalidInput, finding.message + " (" + file + ")"};
        context.err << "aliquot: " << finding.message << '\n';
    }
    if (!read.config) return Error{ErrorCode::kInvalidInput, file + ": no sharing configuration"};
    return *std::move(read.config);
}

/// The kinds of nodes, in turns: node 0 is of the first, node 1 of the second, ...
Result<std::vector<fleet::NodeShape>> shapes_of(const ClusterOptions& options, Context& context) {
    auto sharing = read_sharing(options.config, context);
    if (!sharing) return sharing.error();
    std::vector<fleet::NodeShape> shapes;
    for (const std::string& text : options.gpus) {
        auto request = sim::parse_gpu_request(text);
        if (!request) return request.error();
        shapes.push_back({.model = request->model, .gpus = request->count, .sharing = *sharing});
    }
    return shapes;
}

fs::path state_directory(const std::string& option) {
    if (!option.empty()) return fs::absolute(option);
    return "/tmp/aliquot-cluster-" + std::to_string(::getuid());
}

/// The parts of one run; taken down in the reverse order.
class Run {
public:
    Run(const ClusterOptions& options, Context& context) : options_(options), context_(context) {}

    Result<Done> start(const std::vector<fleet::NodeShape>& shapes, const Ending& ending) {
        std::string kubeconfig = options_.kubeconfig;
        if (kubeconfig.empty()) {
            auto started = sim::ApiServer::start(
                {.https_address = options_.listen, .directory = state_directory(options_.state)});
            if (!started) return started.error();
            server_ = *std::move(started);
            kubeconfig = server_->kubeconfig_file();
        }
        auto connected =
            kube_client::connect({.kubeconfig = kubeconfig, .burst = 10'000, .per_second = 10'000});
        if (!connected) return connected.error();
        connection_ = *std::move(connected);
        kubelets_ = std::make_unique<fleet::Kubelets>(
            *connection_.api,
            fleet::KubeletOptions{.heartbeat = std::chrono::seconds(options_.heartbeat)});
        unsigned gpus = 0;
        for (unsigned i = 0; i < options_.nodes && !ending.came(); ++i) {
            const fleet::NodeShape& shape = shapes[i % shapes.size()];
            auto node = fleet::LightNode::make("node-" + std::to_string(i), shape);
            if (!node) return node.error();
            const std::string zone =
                options_.zones == 0 ? "" : "zone-" + std::to_string(i % options_.zones);
            if (auto added = kubelets_->add(*std::move(node), zone); !added) return added;
            gpus += shape.gpus;
        }
        kubelets_->start();
        if (!options_.no_scheduler) {
            scheduler_ = std::make_unique<fleet::Scheduler>(
                *connection_.api,
                fleet::SchedulerOptions{.binds_per_second = options_.binds_per_second});
            scheduler_->start();
        }
        context_.out << "cluster of " << options_.nodes << " nodes with " << gpus
                     << " GPUs is up; to see it from another shell:\n  export KUBECONFIG="
                     << kubeconfig << "\nCtrl-C ends it\n"
                     << std::flush;
        return Done{};
    }

private:
    const ClusterOptions& options_;
    Context& context_;
    std::unique_ptr<sim::ApiServer> server_;
    kube_client::Connection connection_;
    std::unique_ptr<fleet::Kubelets> kubelets_;
    std::unique_ptr<fleet::Scheduler> scheduler_;
};

void run_cluster(const ClusterOptions& options, Context& context) {
    if (options.nodes == 0 || options.nodes > kMostNodes) {
        return fail(context, kUsage,
                    "--nodes " + std::to_string(options.nodes) + ": expected 1 to " +
                        std::to_string(kMostNodes));
    }
    const auto shapes = shapes_of(options, context);
    if (!shapes) return fail(context, exit_code_of(shapes.error()), shapes.error().message);
    const Ending ending;
    Run run(options, context);
    if (const auto started = run.start(*shapes, ending); !started)
        return fail(context, exit_code_of(started.error()), started.error().message);
    ending.wait();
}

}  // namespace

void add_cluster_command(command_line::Command& program, Context& context) {
    auto* const sim = program.add_subcommand("sim", "Run simulated GPU nodes on this machine");
    sim->require_subcommand(1);
    auto* const command = sim->add_subcommand(
        "cluster",
        "Run a simulated Kubernetes cluster: API server, scheduler, GPU nodes without containers");
    const auto options = std::make_shared<ClusterOptions>();
    command->add_option("--nodes", options->nodes, "Number of nodes")->capture_default_str();
    command
        ->add_option(
            "--gpu", options->gpus,
            "GPU model and count of a node, as h100-80:8; if repeated, the nodes alternate")
        ->required()
        ->take_all()
        ->allow_extra_args(false)
        ->type_name("MODEL[:N]");
    command->add_option("--config", options->config, "Sharing configuration of all nodes")
        ->type_name("FILE");
    command->add_option("--zones", options->zones, "Spread the nodes over this many zones; 0: none")
        ->capture_default_str();
    command->add_option("--state", options->state, "Directory for the kubeconfig")
        ->type_name("DIR");
    command->add_option("--listen", options->listen, "Address of the API server (TLS)")
        ->capture_default_str()
        ->type_name("HOST:PORT");
    command
        ->add_option("--kubeconfig", options->kubeconfig,
                     "Run the nodes against this API server instead of a simulated one")
        ->type_name("FILE");
    command->add_flag("--no-scheduler", options->no_scheduler,
                      "Leave binding to a kube-scheduler of your own");
    command
        ->add_option("--binds-per-second", options->binds_per_second,
                     "Limit of the scheduler; 0: none")
        ->capture_default_str();
    command
        ->add_option("--heartbeat", options->heartbeat,
                     "Seconds between renewals of a node's Lease; 0: no Leases")
        ->capture_default_str();
    command->footer("aliquot sim cluster --nodes 1000 --gpu h100-80:8");
    command->callback([options, &context] { run_cluster(*options, context); });
}

}  // namespace aliquot::cli
