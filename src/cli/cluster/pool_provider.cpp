// SPDX-License-Identifier: Apache-2.0
// aliquot pool provider: machines of one's own as node groups of Cluster Autoscaler.
#include "cli/cluster/pool_provider.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigwait is POSIX

#include <memory>
#include <ostream>

#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "node_groups/server.h"

namespace aliquot::cli {
namespace {

struct ProviderWords {
    std::string file;
    node_groups::ServerOptions options;
    std::string certificate;
    std::string key;
    std::string client_authority;
};

void provide(Context& context, ProviderWords& words) {
    const auto input = read_input(words.file);
    if (!input) return fail(context, kUsage, input.error().message);
    auto groups = node_groups::read_groups(input->name, input->text);
    if (!groups) {
        context.err << groups.error().message << '\n';
        context.exit_code = kUsage;
        return;
    }
    if (words.certificate.empty() != words.key.empty() ||
        (!words.certificate.empty() && words.client_authority.empty())) {
        return fail(context, kUsage, "--tls-cert, --tls-key and --client-ca go together");
    }
    if (!words.certificate.empty()) {
        words.options.tls = http::Tls{.certificate_file = words.certificate,
                                      .key_file = words.key,
                                      .client_ca_file = words.client_authority,
                                      .client_auth = http::Tls::ClientAuth::kVerify};
    }
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    const auto server = node_groups::Server::start(*std::move(groups), words.options);
    if (!server) {
        const bool wrong = server.error().code == ErrorCode::kInvalidInput;
        return fail(context, wrong ? kUsage : kCouldNotRun, server.error().message);
    }
    context.out << "serving on port " << (*server)->port() << std::endl;
    int number = 0;
    ::sigwait(&ending, &number);
}

}  // namespace

void add_pool_provider(command_line::Command& pool, Context& context) {
    command_line::Command* command = pool.add_subcommand(
        "provider",
        "Serve machines of your own as node groups of Cluster Autoscaler (externalgrpc), "
        "turned on and\noff by commands: wake-on-LAN, IPMI, a script");
    command->footer(
        "aliquot pool provider lab.yaml --state /var/lib/aliquot/lab.json\n"
        "aliquot pool provider lab.yaml --listen :8086 --tls-cert tls.crt --tls-key tls.key "
        "--client-ca ca.crt");
    const auto words = std::make_shared<ProviderWords>();
    command->add_option("FILE", words->file, "Pools and their machines", " ")->required();
    command->add_option("--listen", words->options.listen, "Address to listen on",
                        "ADDRESS (127.0.0.1:8086)");
    command->add_option("--state", words->options.state_file,
                        "File that remembers across restarts which machines are on", "FILE");
    command->add_option("--tls-cert", words->certificate, "Certificate of the server", "FILE");
    command->add_option("--tls-key", words->key, "Its key", "FILE");
    command->add_option("--client-ca", words->client_authority, "CA of the clients' certificates",
                        "FILE");
    command->callback([words, &context] { provide(context, *words); });
}

}  // namespace aliquot::cli
