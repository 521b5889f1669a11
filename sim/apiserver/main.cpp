// SPDX-License-Identifier: Apache-2.0
// kube-apiserver-sim: the API server as a program, for kubectl, client libraries and demonstrations.
#include <csignal>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apiserver/api_server.h"

namespace {

using aliquot::sim::ApiServer;
using aliquot::sim::ApiServerOptions;

constexpr std::string_view kHelp =
    R"(Usage: kube-apiserver-sim [options]

A simulated Kubernetes API server on loopback: nothing runs in it, all is lost at its end.

  --http ADDRESS:PORT    plain HTTP (default 127.0.0.1:0; off: none)
  --https ADDRESS:PORT   TLS with a CA of its own (default 127.0.0.1:0; off: none)
  --directory DIR        writes DIR/kubeconfig, ca.crt, admin.crt, admin.key, admin.token
  --rbac                 roles decide; without, everybody may do everything
  --token TOKEN=USER[,GROUP...]   a bearer token (may be repeated)
  --no-collector         no garbage collection, namespaces stay in Terminating
  --no-service-accounts  no service account "default" in namespaces
  --service NS/NAME=ADDRESS:PORT  where a webhook's service is found (may be repeated)
  --bookmarks MS         how often watches get a bookmark (default 60000)
  --feature-gates NAME=false  of resource.k8s.io; its fields are dropped (may be repeated)
  --help                 this text

Example:
  kube-apiserver-sim --directory /tmp/sim &
  kubectl --kubeconfig /tmp/sim/kubeconfig get namespaces

It prints one line "http=URL https=URL kubeconfig=FILE" when it is ready, and ends at SIGTERM or
SIGINT, or when its standard input closes if --until-eof is given.
)";

struct Arguments {
    ApiServerOptions options;
    bool help = false;
    bool until_eof = false;
    std::string error;
};

aliquot::sim::ApiUser read_user(std::string_view text) {
    aliquot::sim::ApiUser user;
    std::size_t comma = text.find(',');
    user.name = text.substr(0, comma);
    while (comma != std::string_view::npos) {
        text.remove_prefix(comma + 1);
        comma = text.find(',');
        user.groups.emplace_back(text.substr(0, comma));
    }
    return user;
}

Arguments read_arguments(const std::vector<std::string>& words) {
    Arguments read;
    ApiServerOptions& options = read.options;
    for (std::size_t i = 0; i < words.size() && read.error.empty(); ++i) {
        const std::string& word = words[i];
        const auto value = [&]() -> std::string {
            if (i + 1 < words.size()) return words[++i];
            read.error = word + ": expected a value";
            return {};
        };
        const auto address = [&] {
            const std::string text = value();
            return text == "off" ? std::string() : text;
        };
        const auto pair = [&] {
            const std::string text = value();
            const std::size_t equals = text.find('=');
            if (equals == std::string::npos)
                read.error = word + ": expected NAME=VALUE, found '" + text + "'";
            return std::make_pair(text.substr(0, equals), equals == std::string::npos
                                                              ? std::string()
                                                              : text.substr(equals + 1));
        };
        if (word == "--help") {
            read.help = true;
        } else if (word == "--http") {
            options.http_address = address();
        } else if (word == "--https") {
            options.https_address = address();
        } else if (word == "--directory") {
            options.directory = value();
        } else if (word == "--rbac") {
            options.rbac = true;
        } else if (word == "--token") {
            const auto token = pair();
            options.tokens[token.first] = read_user(token.second);
        } else if (word == "--no-collector") {
            options.collect_garbage = false;
        } else if (word == "--no-service-accounts") {
            options.default_service_accounts = false;
        } else if (word == "--service") {
            const auto service = pair();
            options.service_addresses[service.first] = service.second;
        } else if (word == "--bookmarks") {
            const std::string text = value();
            const int milliseconds = std::atoi(text.c_str());
            if (milliseconds < 1)
                read.error = "--bookmarks: expected milliseconds, found '" + text + "'";
            options.bookmark_interval = std::chrono::milliseconds(milliseconds);
        } else if (word == "--feature-gates") {
            const auto gate = pair();
            if (gate.second == "false") options.disabled_features.insert(gate.first);
        } else if (word == "--until-eof") {
            read.until_eof = true;
        } else {
            read.error = "unknown option '" + word + "'; see --help";
        }
    }
    return read;
}

void wait_for_end(bool until_eof, const sigset_t& signals) {
    if (until_eof) {
        while (std::getchar() != EOF) {
        }
        return;
    }
    int number = 0;
    sigwait(&signals, &number);
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments arguments = read_arguments({argv + 1, argv + argc});
    if (arguments.help) {
        std::cout << kHelp;
        return 0;
    }
    if (!arguments.error.empty()) {
        std::cerr << "kube-apiserver-sim: " << arguments.error << "\n";
        return 2;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (!arguments.until_eof) sigprocmask(SIG_BLOCK, &signals, nullptr);
    auto server = ApiServer::start(arguments.options);
    if (!server) {
        std::cerr << "kube-apiserver-sim: " << server.error().message << "\n";
        return 3;
    }
    std::cout << "http=" << (*server)->http_url() << " https=" << (*server)->https_url()
              << " kubeconfig=" << (*server)->kubeconfig_file() << std::endl;
    wait_for_end(arguments.until_eof, signals);
    return 0;
}
