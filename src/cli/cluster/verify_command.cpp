// SPDX-License-Identifier: Apache-2.0
// aliquot verify: does the cluster give what it promises?
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigwait is POSIX

#include <chrono>
#include <memory>
#include <ostream>
#include <thread>

#include "cli/answer.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "verify/verify.h"

namespace aliquot::cli {
namespace {

struct VerifyOptions {
    ClusterOptions cluster;
    verify::Options options;
    std::string format = "text";
    unsigned timeout_seconds = 300;
};

constexpr int kInterrupted = 130;  // as a shell says it of SIGINT

/// Turns SIGINT and SIGTERM into a stop request, as long as it lives. Made before any other thread.
class Ending {
public:
    Ending() {
        ::sigemptyset(&signals_);
        ::sigaddset(&signals_, SIGINT);
        ::sigaddset(&signals_, SIGTERM);
        ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
        thread_ = std::jthread([this](const std::stop_token& over) {
            const timespec pause{.tv_sec = 0, .tv_nsec = 200'000'000};
            while (!over.stop_requested()) {
                if (::sigtimedwait(&signals_, nullptr, &pause) > 0) source_.request_stop();
            }
        });
    }
    ~Ending() {
        thread_.request_stop();
        thread_.join();
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

private:
    sigset_t signals_{};
    sigset_t before_{};
    std::stop_source source_;
    std::jthread thread_;
};

void run(Context& context, VerifyOptions& words) {
    const Ending ending;
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    verify::Options options = words.options;
    if (!words.cluster.namespace_name.empty()) options.space = words.cluster.namespace_name;
    if (options.space == options.agent_namespace || options.space == "default" ||
        options.space.starts_with("kube-")) {
        return fail(context, kUsage,
                    "namespace " + options.space +
                        " is not made for tests; expected one that does not exist");
    }
    options.pod_timeout = std::chrono::seconds(words.timeout_seconds);
    options.request_deadline = call_of(words.cluster).deadline;
    const auto begin = std::chrono::steady_clock::now();
    const auto tell = [&](const verify::Step& step) {
        if (!context.err_is_terminal) return;
        context.err << "  " << verify::to_text(step.result) << "  " << step.id
                    << (step.node.empty() ? "" : " " + step.node) << '\n';
    };
    const auto report = verify::run(*connection->api, options, ending.token(), tell);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (words.format == "text") {
        verify::print_text(context.out, report, context.colour, took.count());
    } else {
        print_answer(context.out, "VerifyReport", verify::to_value(report), words.format);
    }
    if (!report.could_look) {
        context.exit_code = kCouldNotRun;
    } else if (report.stopped) {
        context.exit_code = kInterrupted;
    } else {
        context.exit_code = report.success() ? kOk : kFindings;
    }
}

}  // namespace

void add_verify_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "verify",
        "Verify with test pods that every GPU node delivers what it offers\n\n"
        "Per node and resource: a pod gets one device, sees one GPU, computes right, and is "
        "refused more\n"
        "memory than its share; a second pod beside it where the GPU is shared; the agent's "
        "metrics name\n"
        "the pod. Makes the namespace aliquot-verify and removes it, also on Ctrl-C.\n"
        "Exit code 0: verified; 1: something failed; 2: usage error; 3: could not run.");
    command->footer(
        "aliquot verify\n"
        "aliquot verify --context prod -o json\n"
        "aliquot verify --node gpu-1 --image registry.example/aliquot:0.1.0");
    auto words = std::make_shared<VerifyOptions>();
    command->add_option("--node", words->options.node, "Only this node", "NODE")
        ->complete_by("nodes");
    command->add_option(
        "--image", words->options.image,
        "Image of the test pods, which has /usr/bin/aliquot-probe; default: the agent's", "REF");
    command
        ->add_option("--timeout", words->timeout_seconds,
                     "Timeout of a test pod in seconds, including the pull of its image",
                     "SECONDS (5 to 3600)")
        ->range(5, 3600);
    command->add_option("--runtime-class", words->options.runtime_class,
                        "RuntimeClass of the test pods, where the device plugin needs one", "NAME");
    command->add_option("--run-as", words->options.user,
                        "User id in the test pods; the one of your own pods where MPS shares GPUs",
                        "UID");
    command
        ->add_option("--pod-security", words->options.pod_security,
                     "Pod Security level of the namespace, where something adds to all pods what "
                     "'restricted' refuses",
                     "LEVEL (restricted, baseline, privileged)")
        ->one_of({"restricted", "baseline", "privileged"});
    command->add_option("--agent-namespace", words->options.agent_namespace, "Where the agent runs",
                        "NAME");
    add_namespace_flag(*command, words->cluster,
                       "Namespace that is made for the test pods; default aliquot-verify");
    add_output(*command, words->format, {"text"});
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { run(context, *words); });
}

}  // namespace aliquot::cli
