// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/up_command.h"

#include <memory>

#include "base/number.h"
#include "base/time_text.h"
#include "cli/answer.h"
#include "cmd/aliquot/up_session.h"
#include "command_line/command.h"
#include "http/address.h"
#include "k8s/names.h"

namespace aliquot::up {
namespace {

constexpr const char* kDescription =
    "Run pods on one node, without Kubernetes: a simulated GPU (or this machine's own), the agent\n"
    "and a kubelet in one process tree. Containers run their command as local processes.\n"
    "\n"
    "  aliquot up --gpu a2 --config config.yaml tts.yaml stt.yaml\n"
    "  aliquot up --gpu a100-40:2 --once -o json manifests/\n";

/// The words as they stand on the command line.
struct Words {
    UpOptions options;
    std::vector<std::string> labels;
    std::string timeout;
};

/// "90", "90s", "5m", "1h"
std::optional<std::chrono::seconds> parse_timeout(std::string_view text) {
    const auto whole = parse_number<unsigned>(text);
    const auto time = whole ? std::chrono::seconds(*whole) : parse_duration(text);
    constexpr std::chrono::seconds kMost{1'000'000};
    if (!time || *time < std::chrono::seconds(1) || *time > kMost) return std::nullopt;
    return std::chrono::floor<std::chrono::seconds>(*time);
}

/// Empty: the words are right and `options` is complete.
std::string settle(Words& words) {
    UpOptions& options = words.options;
    for (const std::string& label : words.labels) {
        const std::size_t equals = label.find('=');
        const std::string key = label.substr(0, equals);
        const std::string value =
            equals == std::string::npos ? std::string() : label.substr(equals + 1);
        if (equals == std::string::npos || !k8s::is_label_key(key) || !k8s::is_label_value(value)) {
            return "--node-label " + label + ": expected KEY=VALUE as a label of Kubernetes";
        }
        options.node_labels[key] = value;
    }
    if (!words.timeout.empty()) {
        options.timeout = parse_timeout(words.timeout);
        if (!options.timeout) {
            return "--timeout " + words.timeout + ": expected a time such as 90s, 5m or 1h";
        }
    }
    if (options.metrics_listen != "off") {
        const auto address = http::check_address(options.metrics_listen);
        if (!address) return "--metrics-listen: " + address.error().message;
    }
    return {};
}

void add_page_flags(command_line::Command& command, UpOptions& options) {
    command.add_option("--page", options.page,
                       "Where to show the web page, as 127.0.0.1:8080 (port 0: a free one); "
                       "default off",
                       "ADDRESS");
    command.add_option("--page-web-config", options.page_web_config,
                       "Prometheus web-config file: TLS and passwords for the page, needed where "
                       "other machines can reach it",
                       "FILE");
}

}  // namespace

void add_up_command(command_line::Command& program, cli::Context& context) {
    auto words = std::make_shared<Words>();
    command_line::Command* const command = program.add_subcommand("up", kDescription);
    command->footer(
        "aliquot up --gpu a2 --config examples/a2-tts-stt/config.yaml examples/a2-tts-stt --once\n"
        "aliquot up --gpu a100-40 --mig 3g.20gb*2 --config mig.yaml pods.yaml   # MIG devices\n"
        "aliquot up --gpu h100-80:8 --metrics-listen 127.0.0.1:9400 pods.yaml\n"
        "aliquot up --gpu a2 --config config.yaml --page 127.0.0.1:8080 pods.yaml   # in a "
        "browser");
    UpOptions& options = words->options;
    command
        ->add_option("--gpu", options.gpus,
                     "GPU model, MODEL[:COUNT] such as a2 or h100-80:8; repeat it for a mixed "
                     "node. 'real': the GPUs of this machine")
        ->required()
        ->type_name("MODEL[:N]")
        ->complete_by("gpu-models")
        ->allow_extra_args(false);  // one each, so that manifests may follow
    command
        ->add_option("--mig", options.mig,
                     "How simulated GPUs are cut, as 3g.20gb,1g.5gb*4; of one GPU: 1=7g.40gb; "
                     "repeat it for more. flags.migStrategy of --config says how they are offered")
        ->take_all()
        ->allow_extra_args(false)
        ->type_name("[GPU=]LAYOUT");
    command->add_option("--metrics-listen", options.metrics_listen,
                        "Where the agent serves /metrics, as 127.0.0.1:9400; default off",
                        "ADDRESS");
    add_page_flags(*command, options);
    command
        ->add_option("--config", options.config_file,
                     "Sharing configuration of the node (NVIDIA's version: v1 file); without it "
                     "GPUs are not shared")
        ->type_name("FILE");
    command
        ->add_option("manifest", options.manifests,
                     "Kubernetes manifests: files, folders, or - for standard input")
        ->required()
        ->type_name("FILE");
    command->add_flag("--once", options.once,
                      "End as soon as each pod runs, has ended, or is known to wait");
    cli::add_output(*command, options.format);
    command
        ->add_option("--timeout", words->timeout,
                     "With --once: how long the pods may take (default 60s); else: how long to run")
        ->type_name("TIME");
    command
        ->add_option("--node-label", words->labels,
                     "A label of the node, for nodeSelector and affinity; repeat it for more")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);  // one each, so that manifests may follow
    command
        ->add_option("--state", options.state,
                     "Folder for the simulated node and the logs; the logs stay there")
        ->type_name("DIR");
    command->add_flag("--keep", options.keep, "Leave node, sockets and logs where they are");
    command->callback([words, &context] {
        const std::string problem = settle(*words);
        if (!problem.empty()) {
            cli::fail(context, cli::kUsage, problem);
            return;
        }
        run_up(words->options, context);
    });
}

}  // namespace aliquot::up
