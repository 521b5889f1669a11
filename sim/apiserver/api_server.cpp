// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/api_server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/base64.h"
#include "http/server.h"
#include "os/root.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/authority.h"
#include "sim/apiserver/collector.h"
#include "sim/apiserver/manifests.h"
#include "sim/apiserver/seed.h"
#include "sim/apiserver/server_context.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim {

using namespace apiserver;  // NOLINT: this file is their one door to the outside

namespace {

/// credentials   the lines of the user, indented by four
std::string make_kubeconfig(const std::string& url, const std::string& ca,
                            const std::string& credentials) {
    return "apiVersion: v1\nkind: Config\nclusters:\n- name: sim\n  cluster:\n    server: " + url +
           "\n    certificate-authority-data: " + encode_base64(ca) +
           "\nusers:\n- name: admin\n  user:\n" + credentials +
           "contexts:\n- name: sim\n  context:\n    cluster: sim\n    user: admin\n"
           "current-context: sim\n";
}

Result<Done> write_private(const std::string& path, const std::string& content) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return Error{ErrorCode::kPermission, path + ": " + std::strerror(errno)};
    std::string_view rest = content;
    while (!rest.empty()) {
        const ssize_t written = ::write(file, rest.data(), rest.size());
        if (written <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    ::close(file);
    if (rest.empty()) return Done{};
    return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
}

http::ServerOptions listening_on(const std::string& address) {
    using std::chrono::seconds;
    return {.address = address,
            .methods = {},
            .threads = 64,
            .most_connections = 4000,
            .most_bytes = std::size_t{4} << 30U,
            .most_body_bytes = 8U << 20U,
            .most_streams = 4000,
            .compress_from = 128U << 10U,  // as kube-apiserver
            .request_limit = seconds(30),
            .idle_limit = seconds(120)};
}

}  // namespace

namespace apiserver {

ServerContext::ServerContext(ApiServerOptions given)
    : options(std::move(given)), store(options.history_limit) {
    for (const auto& one : options.tokens) {
        tokens[one.first] = User{one.second.name, "", one.second.groups, {}};
    }
}
ServerContext::~ServerContext() = default;

}  // namespace apiserver

ApiUser service_account(const std::string& name_space, const std::string& name) {
    return {"system:serviceaccount:" + name_space + ":" + name,
            {"system:serviceaccounts", "system:serviceaccounts:" + name_space}};
}

class ApiServer::Implementation {
public:
    explicit Implementation(ApiServerOptions options) : context(std::move(options)) {}
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    ~Implementation() {
        context.stopping = true;
        context.store.interrupt();
        plain.reset();
        https.reset();
        context.collector.reset();
    }

    Result<Done> start() {
        auto authority = Authority::make();
        if (!authority) return std::move(authority).error();
        context.authority = std::move(*authority);
        admin_token = "admin-" + make_uuid();
        context.tokens[admin_token] = User{"admin", "", {"system:masters"}, {}};
        if (context.options.collect_garbage)
            context.collector = std::make_unique<Collector>(context);
        plant_first_objects(context);
        const auto handler = [this](const http::Request& request) -> http::Response {
            return answer_request(context, read_request(request));
        };
        if (!context.options.http_address.empty()) {
            auto server = http::Server::listen(listening_on(context.options.http_address), handler);
            if (!server) return std::move(server).error();
            plain = std::move(*server);
        }
        if (context.options.https_address.empty()) return Done{};
        return start_tls(handler);
    }

    std::string host_of(const std::string& address) const {
        return address.substr(0, address.rfind(':'));
    }

    ServerContext context;
    std::string admin_token;
    std::string kubeconfig;
    os::TemporaryDirectory certificates;
    std::unique_ptr<http::Server> plain, https;

private:
    Result<Done> start_tls(const http::Handler& handler) {
        std::vector<std::string> names = {"localhost", "127.0.0.1", "kubernetes",
                                          "kubernetes.default", "kubernetes.default.svc"};
        for (const std::string& name : context.options.certificate_names) names.push_back(name);
        auto pair = context.authority->issue_server("kube-apiserver", names);
        if (!pair) return std::move(pair).error();
        const std::vector<std::pair<std::string, const std::string*>> files = {
            {"tls.crt", &pair->certificate},
            {"tls.key", &pair->key},
            {"client-ca.crt", &context.authority->certificate()}};
        for (const auto& [name, text] : files) {
            auto done = write_private(certificates.path() / name, *text);
            if (!done) return done;
        }
        auto options = listening_on(context.options.https_address);
        options.access.tls = {.certificate_file = certificates.path() / "tls.crt",
                              .key_file = certificates.path() / "tls.key",
                              .client_ca_file = certificates.path() / "client-ca.crt",
                              .client_auth = http::Tls::ClientAuth::kVerifyIfGiven};
        auto server = http::Server::listen(std::move(options), handler);
        if (!server) return std::move(server).error();
        https = std::move(*server);
        auto admin = context.authority->issue_client("admin", {"system:masters"});
        if (!admin) return std::move(admin).error();
        const std::string url = "https://" + host_of(context.options.https_address) + ":" +
                                std::to_string(https->port());
        kubeconfig =
            make_kubeconfig(url, context.authority->certificate(),
                            "    client-certificate-data: " + encode_base64(admin->certificate) +
                                "\n    client-key-data: " + encode_base64(admin->key) + "\n");
        return write_files(*admin);
    }

    Result<Done> write_files(const PemPair& admin) {
        const std::string& directory = context.options.directory;
        if (directory.empty()) return Done{};
        if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
            return Error{ErrorCode::kPermission, directory + ": " + std::strerror(errno)};
        }
        const std::vector<std::pair<std::string, const std::string*>> files = {
            {"kubeconfig", &kubeconfig},
            {"ca.crt", &context.authority->certificate()},
            {"admin.crt", &admin.certificate},
            {"admin.key", &admin.key},
            {"admin.token", &admin_token}};
        for (const auto& file : files) {
            auto done = write_private(directory + "/" + file.first, *file.second);
            if (!done) return done;
        }
        return Done{};
    }
};

ApiServer::ApiServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::start(ApiServerOptions options) {
    auto implementation = std::make_unique<Implementation>(std::move(options));
    auto done = implementation->start();
    if (!done) return std::move(done).error();
    return std::unique_ptr<ApiServer>(new ApiServer(std::move(implementation)));
}

std::string ApiServer::http_url() const {
    if (implementation_->plain == nullptr) return {};
    return "http://" + implementation_->host_of(implementation_->context.options.http_address) +
           ":" + std::to_string(implementation_->plain->port());
}

std::string ApiServer::https_url() const {
    if (implementation_->https == nullptr) return {};
    return "https://" + implementation_->host_of(implementation_->context.options.https_address) +
           ":" + std::to_string(implementation_->https->port());
}

const std::string& ApiServer::ca_certificate() const {
    return implementation_->context.authority->certificate();
}
const std::string& ApiServer::admin_token() const { return implementation_->admin_token; }
const std::string& ApiServer::kubeconfig() const { return implementation_->kubeconfig; }

std::string ApiServer::kubeconfig_file() const {
    const std::string& directory = implementation_->context.options.directory;
    return directory.empty() ? "" : directory + "/kubeconfig";
}

std::string ApiServer::issue_token(const ApiUser& user) {
    std::string token = "token-" + make_uuid();
    ServerContext& context = implementation_->context;
    const std::unique_lock lock(context.tokens_guard);
    context.tokens[token] = User{user.name, "", user.groups, {}};
    return token;
}

std::string ApiServer::kubeconfig_for(const ApiUser& user) {
    return make_kubeconfig(https_url(), ca_certificate(), "    token: " + issue_token(user) + "\n");
}

Result<unsigned> ApiServer::apply(std::string_view manifests, const std::string& name_space) {
    return apply_manifests(implementation_->context, manifests, name_space);
}

void ApiServer::set_log(const std::string& name_space, const std::string& pod,
                        const std::string& container, std::string text) {
    implementation_->context.logs.put(Call::key_of(name_space, pod), container, std::move(text));
}

void ApiServer::revoke_token(const std::string& token) {
    ServerContext& context = implementation_->context;
    const std::unique_lock lock(context.tokens_guard);
    context.tokens.erase(token);
}

ApiServer::Reply ApiServer::request(std::string_view method, std::string_view target,
                                    std::string_view body, std::string_view content_type) {
    HttpRequest request = read_request_target(method, target);
    request.headers["authorization"] = "Bearer " + implementation_->admin_token;
    request.headers["content-type"] = content_type;
    request.headers["user-agent"] = "aliquot-sim/1";
    request.body = body;
    const HttpAnswer answer = answer_request(implementation_->context, request);
    return {answer.status, answer.body};
}

void ApiServer::inject(ApiFault fault) { implementation_->context.faults.inject(std::move(fault)); }
void ApiServer::clear_faults() { implementation_->context.faults.clear(); }

void ApiServer::cut_connections() {
    if (implementation_->plain != nullptr) implementation_->plain->cut_connections();
    if (implementation_->https != nullptr) implementation_->https->cut_connections();
}

void ApiServer::compact() { implementation_->context.store.compact(); }
std::uint64_t ApiServer::revision() const { return implementation_->context.store.revision(); }
unsigned ApiServer::watches(std::string_view resource) const {
    return implementation_->context.faults.watches(resource);
}
std::uint64_t ApiServer::requests() const { return implementation_->context.requests.load(); }

std::map<std::string, std::uint64_t> ApiServer::request_counts() const {
    const std::lock_guard lock(implementation_->context.counts_guard);
    return implementation_->context.counts;
}

bool ApiServer::settle(std::chrono::milliseconds patience) {
    const auto& collector = implementation_->context.collector;
    return collector == nullptr || collector->settle(patience);
}

}  // namespace aliquot::sim
