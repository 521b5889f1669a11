// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/answer.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/cluster/top_cluster.h"
#include "cli/commands.h"
#include "cli/host/top_driver.h"
#include "cli/host/top_live.h"
#include "cli/host/top_source.h"
#include "cli/terminal.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/write.h"
#include "document/yaml.h"
#include "top/print.h"

namespace aliquot::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostAgents = 1024;

struct TopOptions {
    std::vector<std::string> agents;
    std::string format = "table";
    std::string view = "pods";
    std::string sort;
    std::string filter;
    std::string ca_file;
    std::string credentials;
    DriverChoice driver;
    ClusterOptions cluster;
    double interval_s = 2;
    double timeout_s = 3;
    bool once = false;
    bool reverse = false;
    bool idle = false;
    bool all = false;
    bool ascii = false;
    bool no_mouse = false;
};

template <class T>
std::vector<std::string> texts(const std::vector<T>& names) {
    return {names.begin(), names.end()};
}

/// UTF-8 is what the locale says it is: the first of these that is set counts.
top::Charset charset_of(const TopOptions& words) {
    if (words.ascii) return top::Charset::kAscii;
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at start
        if (value == nullptr || *value == '\0') continue;
        std::string text(value);
        std::ranges::transform(text, text.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos
                   ? top::Charset::kUtf8
                   : top::Charset::kAscii;
    }
    return top::Charset::kAscii;
}

Result<top::View> view_of(const TopOptions& words) {
    top::View view{.kind = top::parse_kind(words.view).value_or(top::Kind::kPods),
                   .reverse = words.reverse,
                   .idle_only = words.idle,
                   .remainders = words.all ? top::Remainders::kShown : top::Remainders::kHidden};
    auto filter = top::Filter::parse(words.filter);
    if (!filter) return std::move(filter).error().during("--filter");
    view.filter = *std::move(filter);
    if (!words.sort.empty()) view.sort = top::parse_sort(words.sort);
    return view;
}

/// The first line of the file: "name:password".
Result<std::string> read_credentials(const std::string& path) {
    if (path.empty()) return std::string();
    std::ifstream file(path);
    std::string line;
    constexpr std::size_t kLongest = 4096;
    if (!std::getline(file, line) || line.size() > kLongest)
        return Error{ErrorCode::kInvalidInput, "--credentials " + path + ": cannot be read"};
    if (line.ends_with('\r')) line.pop_back();
    if (line.find(':') == std::string::npos)
        return Error{ErrorCode::kInvalidInput,
                     "--credentials " + path + ": its first line is not name:password"};
    return line;
}

milliseconds timeout_of(const TopOptions& words) {
    return milliseconds(static_cast<long>(words.timeout_s * 1000));
}

Result<std::unique_ptr<TopSource>> open_cluster(const TopOptions& words) {
    auto connection = kube_client::connect(
        {.kubeconfig = words.cluster.kubeconfig, .context = words.cluster.context});
    if (!connection) return std::move(connection).error();
    return make_cluster_source(*std::move(connection), timeout_of(words));
}

/// Where nothing was named: this machine's agent; without one its driver; without that the agents of
/// the cluster that kubectl would speak to.
std::unique_ptr<TopSource> usual_source(const TopOptions& words, const AskOptions& options) {
    auto agent = std::make_unique<AgentSource>(std::vector<AgentPlace>{}, options);
    const TopUpdate update = agent->poll({});
    const bool absent =
        !update.any && update.cluster.agents.size() == 1 &&
        update.cluster.agents.front().problem.find("nobody listens") != std::string::npos;
    if (!absent) return agent;
    if (auto driver = open_driver_source(words.driver)) return *std::move(driver);
    if (auto cluster = open_cluster(words)) return *std::move(cluster);
    return agent;
}

Result<std::unique_ptr<TopSource>> source_of(const TopOptions& words) {
    if (!words.cluster.kubeconfig.empty() || !words.cluster.context.empty())
        return open_cluster(words);
    std::vector<std::string> addresses = words.agents;
    if (!words.driver.node_state.empty()) {
        const std::string agent = agent_of_node(words.driver.node_state);
        if (agent.empty()) return open_driver_source(words.driver);
        addresses = {agent};
    }
    if (!words.driver.driver_root.empty()) return open_driver_source(words.driver);
    std::vector<AgentPlace> places;
    for (const std::string& text : addresses) {
        auto place = parse_agent(text);
        if (!place) return std::move(place).error();
        places.push_back(*std::move(place));
    }
    if (places.size() > kMostAgents)
        return Error{ErrorCode::kInvalidInput, std::to_string(places.size()) +
                                                   " agents; expected at most " +
                                                   std::to_string(kMostAgents)};
    auto credentials = read_credentials(words.credentials);
    if (!credentials) return std::move(credentials).error();
    const AskOptions options{.deadline = timeout_of(words),
                             .ca_file = words.ca_file,
                             .credentials = *std::move(credentials)};
    if (places.empty()) return usual_source(words, options);
    return std::unique_ptr<TopSource>(std::make_unique<AgentSource>(std::move(places), options));
}

/// One agent's own text; of several a list with an item for each.
std::string json_of(const TopUpdate& update) {
    if (update.states.size() == 1) return update.states.front();
    const auto quoted = [](const std::string& text) {
        return document::to_json(document::make_string(text));
    };
    std::string json = R"({"apiVersion":"aliquot.dev/v1","kind":"NodeStateList","items":[)";
    for (std::size_t i = 0; i < update.states.size(); ++i) {
        const top::Agent& agent = update.cluster.agents[i];
        json += (i == 0 ? "" : ",") + std::string(R"({"agent":)") + quoted(agent.address);
        if (!update.states[i].empty()) {
            json += R"(,"state":)" + update.states[i];
        } else {
            json += R"(,"problem":)" + quoted(agent.problem);
        }
        json += "}";
    }
    return json + "]}";
}

void print_yaml(Context& context, const std::string& json) {
    constexpr document::Limits kLimits{.bytes = std::size_t{64} << 20U, .nodes = 20'000'000};
    const auto tree = document::parse_yaml(json, kLimits);
    if (!tree.errors.empty() || tree.documents.empty())
        return fail(context, kCouldNotRun, "the state cannot be written as YAML; use -o json");
    context.out << document::to_yaml(tree.documents.front());
}

void print_once(Context& context, const TopOptions& words, const TopUpdate& update,
                const top::View& view) {
    if (!update.any) {
        for (const top::Agent& agent : update.cluster.agents)
            fail(context, kCouldNotRun, agent.address + ": " + agent.problem);
        return;
    }
    if (words.format == "json") {
        context.out << json_of(update) << '\n';
    } else if (words.format == "yaml") {
        print_yaml(context, json_of(update));
    } else if (words.format == "csv") {
        context.out << top::print_csv(update.cluster, view);
    } else {
        const bool wide = words.format == "wide";
        const std::size_t width =
            context.out_is_terminal && !wide ? Terminal::size(STDOUT_FILENO).width : 0;
        context.out << top::print_once(update.cluster, view, wide, width,
                                       {.charset = charset_of(words), .colour = context.colour});
    }
    // For programs: who is missing in what was printed.
    if (words.format == "json" || words.format == "yaml" || words.format == "csv") {
        for (const top::Agent& agent : update.cluster.agents) {
            if (!agent.problem.empty())
                context.err << "aliquot: " << agent.address << ": " << agent.problem << '\n';
        }
    }
}

void show(Context& context, const TopOptions& words) {
    auto view = view_of(words);
    if (!view) return fail(context, kUsage, view.error().message);
    const bool tree = words.format == "json" || words.format == "yaml";
    if (tree && (!words.filter.empty() || !words.sort.empty() || words.idle)) {
        return fail(context, kUsage,
                    "-o " + words.format +
                        " prints all that the agents say; --filter, --sort and --idle are for "
                        "table, wide and csv");
    }
    auto source = source_of(words);
    if (!source) {
        const ErrorCode code = source.error().code;
        const bool named = !words.cluster.kubeconfig.empty() || !words.cluster.context.empty();
        const bool wrong_word =
            code == ErrorCode::kInvalidInput || (named && code == ErrorCode::kNotFound);
        return fail(context, wrong_word ? kUsage : kCouldNotRun, source.error().message);
    }
    const bool live = !words.once && words.format == "table" && context.out_is_terminal;
    TopUpdate update = (*source)->poll({});
    if (!live) return print_once(context, words, update, *view);
    // Nobody there at all is said before the terminal is taken; one of many may come later.
    if (!update.any && update.cluster.agents.size() == 1)
        return print_once(context, words, update, *view);
    top::UiState ui{.view = *std::move(view),
                    .filter_text = words.filter,
                    .interval = milliseconds(static_cast<long>(words.interval_s * 1000))};
    run_live(context, **source, std::move(update), std::move(ui),
             {.style = {.charset = charset_of(words), .colour = context.colour},
              .mouse = words.no_mouse ? Mouse::kTerminals : Mouse::kOurs});
}

void add_options(command_line::Command& top, TopOptions& words) {
    command_line::Option* agent = top.add_option(
        "--agent", words.agents,
        "Node agents to ask: HOST:PORT, unix:/PATH, http(s)://HOST:PORT; several with "
        "commas or by repeating. Default: the one of this machine; without one its driver; without "
        "that the agents of the cluster");
    agent->delimiter(',')->option_text("ADDRESS");
    const DriverFlags flags =
        add_driver_flags(top, words.driver,
                         "Directory of a simulated node: its agent (aliquot up --state), else its "
                         "driver (aliquot sim up)",
                         "Ask the driver installed there, or this libnvidia-ml.so.1, directly");
    flags.node_state->excludes(agent);
    flags.driver_root->excludes(agent);
    add_cluster_flags(top, words.cluster);
    top.add_flag("--once", words.once,
                 "Print once and exit; the default when the output is a pipe");
    add_output(top, words.format, {"table", "wide"}, {"csv"}, "Output format with --once");
    top.add_option("--view", words.view, "Which view to start with",
                   "VIEW (nodes, gpus, pods, processes, tree, waste, errors)")
        ->one_of(texts(top::kind_names()));
    top.add_option("--sort", words.sort,
                   "Sort by this column: pod, ns, node, gpu, share, util, "
                   "share-util, memory, throttled, power, idle, age, ...",
                   "COLUMN")
        ->one_of(texts(top::sort_names()));
    top.add_flag("--reverse", words.reverse, "Reverse the order");
    top.add_option("--filter", words.filter,
                   "Terms that must all match; ns=, pod=, node=, gpu=, model=, command=, !not",
                   "TERMS");
    top.add_flag("--idle", words.idle, "Only pods that hold a share without using it");
    top.add_flag("--all", words.all, "Include use that belongs to no pod, so that the sums add up");
    top.add_option("--interval", words.interval_s, "Seconds between updates of the live view",
                   "SECONDS")
        ->range(0.2, 3600.0);
    top.add_option("--timeout", words.timeout_s, "How long to wait for agents", "SECONDS")
        ->range(0.1, 60.0);
    top.add_option("--ca-file", words.ca_file, "CA certificates for https agents", "FILE")
        ->existing_file();
    top.add_option("--credentials", words.credentials,
                   "File with name:password, for agents that require it", "FILE");
    top.add_flag("--ascii", words.ascii, "Draw with ASCII only");
    top.add_flag("--no-mouse", words.no_mouse, "Leave the mouse to the terminal, to select text");
}

}  // namespace

void add_top_command(command_line::Command& program, Context& context) {
    command_line::Command* top = program.add_subcommand(
        "top",
        "Show live who uses which GPU: nodes, GPUs, pods, processes\n\n"
        "Keys: arrows and Enter open, Esc goes back, s sorts, / filters, G draws graphs, w "
        "waste,\nx "
        "errors, t tree, L shows a pod's log, K ends a process, ? shows help, q quits.\n"
        "Exit code 3: no agent answers.");
    auto words = std::make_shared<TopOptions>();
    add_options(*top, *words);
    top->footer(
        "aliquot top\n"
        "aliquot top --context prod        # every agent of the cluster\n"
        "aliquot top --agent 10.0.0.1:9400,10.0.0.2:9400 --view nodes\n"
        "aliquot top --once --sort memory --filter ns=team-a\n"
        "aliquot top --once -o json        # as GET /api/v1/state\n"
        "aliquot top --node-state /tmp/node   # a simulated node");
    top->callback([words, &context] { show(context, *words); });
}

}  // namespace aliquot::cli
