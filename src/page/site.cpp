// SPDX-License-Identifier: Apache-2.0
#include "page/site.h"

#include <functional>
#include <mutex>

#include "base/number.h"
#include "base/text.h"
#include "http/address.h"
#include "page/assets.h"
#include "page/event_stream.h"

namespace aliquot::page {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};
constexpr std::size_t kMostNodesAsked = 64;
constexpr const char* kJsonType = "application/json";
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

http::Response json_answer(std::shared_ptr<const std::string> json) {
    return {.content_type = kJsonType, .shared_body = std::move(json)};
}

http::Response refused(int status, std::string words) {
    return {.status = status, .body = std::move(words) + "\n"};
}

/// Of types that a browser shows nobody: with "nosniff" it takes them for nothing else.
bool is_part(std::string_view type) {
    return type.starts_with("text/javascript") || type.starts_with("text/css") ||
           type == kJsonType || type == "text/event-stream";
}

bool is_data(std::string_view path) { return path == "events" || path.ends_with(".json"); }

/// Whether a Host field names this machine as only itself does: an IP address or localhost.
bool names_this_machine(std::string_view host) {
    if (host.starts_with('[')) return true;  // an IPv6 address
    host = host.substr(0, host.rfind(':'));
    if (host.empty() || equals_folded(host, "localhost")) return true;
    constexpr std::string_view kBelow = ".localhost";
    if (host.size() > kBelow.size() &&
        equals_folded(host.substr(host.size() - kBelow.size()), kBelow)) {
        return true;
    }
    return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Result<Reach> reach_of(std::string_view address, const http::Access& access) {
    if (http::check_local(address)) return Reach::kThisMachine;
    if (auto right = http::check_address(address); !right) return std::move(right).error();
    using Client = http::Tls::ClientAuth;
    const bool by_certificate = access.tls && !access.tls->client_ca_file.empty() &&
                                access.tls->client_auth == Client::kVerify;
    if (access.tls && (!access.users.empty() || by_certificate)) return Reach::kWhoMay;
    return Error{
        ErrorCode::kPermission,
        "the page tells which pod uses which GPU: where others than this machine can reach "
        "it, it needs TLS and passwords or client certificates, by a web configuration"};
}

/// Who watches how many streams. Thread-safe.
class Site::Streams : public std::enable_shared_from_this<Streams> {
public:
    /// A place that is given back with its last copy; null: they have all that one may have.
    std::shared_ptr<void> take(const std::string& who) {
        const std::scoped_lock lock(mutex_);
        if (!who.empty() && ++open_[who] > kMostStreamsOfOne) {
            --open_[who];
            return nullptr;
        }
        return {this, [kept = shared_from_this(), who](void*) { kept->end(who); }};
    }

private:
    void end(const std::string& who) {
        const std::scoped_lock lock(mutex_);
        const auto found = open_.find(who);
        if (found != open_.end() && --found->second == 0) open_.erase(found);
    }
    std::mutex mutex_;
    std::map<std::string, unsigned> open_;  // under mutex_
};

Site::Site(std::shared_ptr<Live> live, std::string prefix, Reach reach, Gate gate)
    : live_(std::move(live)),
      prefix_(std::move(prefix)),
      reach_(reach),
      gate_(std::move(gate)),
      streams_(std::make_shared<Streams>()) {
    auto files = std::make_shared<std::map<std::string, File, std::less<>>>();
    for (const Asset& asset : assets()) {
        files->insert_or_assign(
            std::string(asset.path),
            File{.content_type = asset.content_type,
                 .text = std::make_shared<const std::string>(asset.text),
                 .tag = '"' + std::to_string(std::hash<std::string_view>{}(asset.text)) + '"'});
    }
    files_ = std::move(files);
}

http::Response Site::operator()(const http::Request& request) const {
    http::Response response = answer(request);
    // The policy is of the document, and of what a browser might take for one.
    if (!is_part(response.content_type)) {
        response.headers.emplace_back("Content-Security-Policy", kPolicy);
        response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
    }
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
    response.headers.emplace_back("Cache-Control", "no-cache");
    return response;
}

http::Response Site::answer(const http::Request& request) const {
    if (reach_ == Reach::kThisMachine && !names_this_machine(request.header("host"))) {
        return refused(421, "this port answers to localhost and IP addresses only");
    }
    if (request.path + "/" == prefix_) {  // relative, for who is behind a proxy
        http::Response away = refused(308, "the page has a slash at its end");
        away.headers.emplace_back("Location",
                                  prefix_.substr(prefix_.rfind('/', prefix_.size() - 2) + 1));
        return away;
    }
    if (!request.path.starts_with(prefix_)) return refused(404, "the page is at " + prefix_);
    const std::string path = request.path.substr(prefix_.size());
    if (is_data(path)) {
        Pass pass = gate_ ? gate_(request) : Pass{};
        if (pass.refusal) return *std::move(pass.refusal);
        return data(request, path, pass);
    }
    return file(request, path.empty() ? "index.html" : path);
}

http::Response Site::file(const http::Request& request, const std::string& path) const {
    const auto found = files_->find(path);
    if (found == files_->end()) return refused(404, "there is no such file");
    const File& file = found->second;
    http::Response response{.content_type = std::string(file.content_type),
                            .shared_body = file.text};
    if (request.header("if-none-match") == file.tag) {
        response.status = 304;
        response.shared_body.reset();
    }
    response.headers.emplace_back("ETag", file.tag);
    return response;
}

http::Response Site::data(const http::Request& request, const std::string& path,
                          const Pass& pass) const {
    const std::string& only = pass.only;
    const auto feed = live_->visit(kPatience, only);
    if (!feed) return refused(503, "too many look at different namespaces; try again");
    if (path == "changes.json") return changes(request, *feed);
    if (path == "events") return events(request, pass);
    if (path == "shares.json") return shares(request, only);
    if (path == "history.json") {
        return {.content_type = kJsonType,
                .body = live_->history_json(std::string(request.parameter("gpu")), only)};
    }
    if (path != "snapshot.json") return refused(404, "there is no such file");
    auto text = feed->snapshot();
    if (!text.json) return refused(503, "nothing was looked at yet");
    return json_answer(std::move(text.json));
}

http::Response Site::changes(const http::Request& request, const Feed& feed) {
    const auto since = parse_number<std::uint64_t>(request.parameter("since"));
    if (!since) return refused(400, "since: expected the number of a version");
    if (request.parameter("epoch") != feed.epoch()) {
        return refused(410, "that was another server: take the snapshot");
    }
    auto text = feed.changes(*since);
    if (!text.json) return refused(410, "too long ago: take the snapshot");
    return json_answer(std::move(text.json));
}

http::Response Site::events(const http::Request& request, const Pass& pass) const {
    const auto since = parse_number<std::uint64_t>(request.parameter("since"));
    if (!since) return refused(400, "since: expected the number of a version");
    auto place = streams_->take(pass.who);
    if (!place) {
        http::Response answer =
            refused(429, "you watch this page " + std::to_string(kMostStreamsOfOne) +
                             " times already; close some of them");
        answer.headers.emplace_back("Retry-After", "30");
        return answer;
    }
    http::Response response{.content_type = "text/event-stream"};
    response.headers.emplace_back("X-Accel-Buffering", "no");
    response.stream = [live = live_, place = std::move(place),
                       reader = Reader{.only = pass.only,
                                       .epoch = std::string(request.parameter("epoch")),
                                       .since = *since},
                       longest = gate_ ? kLongestGatedStream : kLongestStream](
                          http::Stream& stream) { write_events(*live, reader, longest, stream); };
    return response;
}

http::Response Site::shares(const http::Request& request, const std::string& only) const {
    std::vector<std::string> nodes;
    for (const auto& [name, value] : request.query) {
        if (name == "node" && nodes.size() < kMostNodesAsked) nodes.push_back(value);
    }
    if (nodes.empty()) return refused(400, "node: expected the name of a node, once or more");
    return {.content_type = kJsonType, .body = live_->shares_json(nodes, only)};
}

}  // namespace aliquot::page
