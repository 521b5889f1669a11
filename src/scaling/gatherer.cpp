// SPDX-License-Identifier: Apache-2.0
#include "scaling/gatherer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>

#include "base/log.h"
#include "http/libcurl.h"
#include "telemetry/json.h"

namespace aliquot::scaling {
namespace {

constexpr std::string_view kPath = "/api/v1/state";
constexpr long kMostIdleConnections = 256;

/// "https://name:9400" in parts.
struct Place {
    std::string scheme;
    std::string host;  // IPv6 in brackets
    std::string port;
};

Result<Place> read_place(const std::string& text) {
    Place place{.scheme = "http"};
    std::string_view rest = text;
    for (const std::string_view scheme : {"http", "https"}) {
        const std::string start = std::string(scheme) + "://";
        if (!rest.starts_with(start)) continue;
        place.scheme = scheme;
        rest.remove_prefix(start.size());
        break;
    }
    while (rest.ends_with('/')) rest.remove_suffix(1);
    const std::size_t colon = rest.rfind(':');
    const auto refused = [&] {
        return Error{ErrorCode::kInvalidInput,
                     "'" + text +
                         "' is not an agent; expected HOST:PORT, http://HOST:PORT or "
                         "https://HOST:PORT"};
    };
    if (colon == std::string_view::npos || colon == 0) return refused();
    place.host = rest.substr(0, colon);
    place.port = rest.substr(colon + 1);
    const bool digits = !place.port.empty() && place.port.size() <= 5 &&
                        place.port.find_first_not_of("0123456789") == std::string::npos;
    const bool bracketed = place.host.starts_with('[') && place.host.ends_with(']');
    if (!digits || place.host.find_first_of("/@?# \t") != std::string::npos ||
        (place.host.contains(':') && !bracketed)) {
        return refused();
    }
    return place;
}

/// All addresses of a name, each once, IPv6 in brackets.
Result<std::vector<std::string>> addresses_of(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); code != 0) {
        return Error{ErrorCode::kUnavailable, host + ": " + ::gai_strerror(code)};
    }
    std::vector<std::string> found;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        std::array<char, NI_MAXHOST> room{};
        if (::getnameinfo(one->ai_addr, one->ai_addrlen, room.data(), room.size(), nullptr, 0,
                          NI_NUMERICHOST) != 0) {
            continue;
        }
        const std::string text =
            one->ai_family == AF_INET6 ? "[" + std::string(room.data()) + "]" : room.data();
        if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
    }
    ::freeaddrinfo(list);
    return found;
}

/// The bytes of one answer, as they come.
struct Body {
    std::string text;
    std::size_t most = 0;
    static std::size_t append(char* bytes, std::size_t one, std::size_t count, void* body) {
        auto* const self = static_cast<Body*>(body);
        if (self->text.size() + one * count > self->most) return 0;  // ends the transfer
        self->text.append(bytes, one * count);
        return one * count;
    }
};

}  // namespace

/// libcurl: many transfers at once on the caller's thread; connections are kept between rounds.
class Gatherer::Transfers {
public:
    explicit Transfers(const GatherOptions& options)
        : options_(options), multi_(::curl_multi_init()) {
        ::curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMostIdleConnections);
    }
    ~Transfers() { ::curl_multi_cleanup(multi_); }
    Transfers(const Transfers&) = delete;
    Transfers& operator=(const Transfers&) = delete;

    [[nodiscard]] bool works() const { return multi_ != nullptr; }

    using Done = std::function<void(const Target& target, const Result<std::string>& body)>;
    void run(const std::vector<Target>& targets, const std::stop_token& stop, const Done& done) {
        std::size_t next = 0;
        while (next < targets.size() || !running_.empty()) {
            if (stop.stop_requested()) break;
            while (running_.size() < options_.at_once && next < targets.size()) {
                begin(targets[next++], done);
            }
            int busy = 0;
            ::curl_multi_perform(multi_, &busy);
            finish(done);
            constexpr int kMostWaitMs = 200;  // so that a stop is seen
            if (!running_.empty()) ::curl_multi_poll(multi_, nullptr, 0, kMostWaitMs, nullptr);
        }
        for (auto& [easy, transfer] : running_) end(easy, *transfer);
        running_.clear();
    }

private:
    struct Transfer {
        const Target* target = nullptr;
        Body body;
        curl_slist* connect_to = nullptr;
        std::array<char, CURL_ERROR_SIZE> problem{};
    };

    void begin(const Target& target, const Done& done) {
        CURL* const easy = ::curl_easy_init();
        if (easy == nullptr) {
            done(target, Error{ErrorCode::kUnavailable, "no memory for a transfer"});
            return;
        }
        auto transfer = std::make_unique<Transfer>();
        transfer->target = &target;
        transfer->body.most = options_.most_bytes;
        set_up(easy, *transfer);
        ::curl_multi_add_handle(multi_, easy);
        running_.emplace(easy, std::move(transfer));
    }

    void set_up(CURL* easy, Transfer& transfer) const {
        ::curl_easy_setopt(easy, CURLOPT_URL, transfer.target->url.c_str());
        ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
        ::curl_easy_setopt(easy, CURLOPT_PROXY, "");
        ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        ::curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
        ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                           static_cast<long>(options_.timeout.count()));
        ::curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
        ::curl_easy_setopt(easy, CURLOPT_USERAGENT, "aliquot/" ALIQUOT_VERSION);
        ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Body::append);
        ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer.body);
        ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.problem.data());
        if (!transfer.target->connect_to.empty()) {
            transfer.connect_to = ::curl_slist_append(nullptr, transfer.target->connect_to.c_str());
            ::curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to);
        }
        if (!options_.ca_file.empty()) {
            ::curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
        }
        if (!options_.certificate_file.empty()) {
            ::curl_easy_setopt(easy, CURLOPT_SSLCERT, options_.certificate_file.c_str());
            ::curl_easy_setopt(easy, CURLOPT_SSLKEY, options_.key_file.c_str());
        }
        if (options_.any_certificate) {
            ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
            ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        }
        if (!options_.user.empty()) {
            ::curl_easy_setopt(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
            ::curl_easy_setopt(easy, CURLOPT_USERNAME, options_.user.c_str());
            ::curl_easy_setopt(easy, CURLOPT_PASSWORD, options_.password.c_str());
        }
    }

    void finish(const Done& done) {
        int left = 0;
        while (const CURLMsg* const message = ::curl_multi_info_read(multi_, &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL* const easy = message->easy_handle;
            const CURLcode code = message->data.result;
            const auto found = running_.find(easy);
            Transfer& transfer = *found->second;
            done(*transfer.target, outcome(easy, code, transfer));
            end(easy, transfer);
            running_.erase(found);
        }
    }

    [[nodiscard]] Result<std::string> outcome(CURL* easy, CURLcode code, Transfer& transfer) const {
        if (code == CURLE_WRITE_ERROR) {
            return Error{ErrorCode::kInvalidInput,
                         "more than " + std::to_string(options_.most_bytes) + " bytes"};
        }
        if (code != CURLE_OK) {
            return Error{ErrorCode::kUnavailable, transfer.problem[0] != '\0'
                                                      ? transfer.problem.data()
                                                      : ::curl_easy_strerror(code)};
        }
        long status = 0;
        ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (status == 200) return std::move(transfer.body.text);
        return Error{ErrorCode::kUnavailable, "answered " + std::to_string(status) + " to " +
                                                  std::string(kPath) + ", 200 expected"};
    }

    void end(CURL* easy, Transfer& transfer) {
        ::curl_multi_remove_handle(multi_, easy);
        ::curl_easy_cleanup(easy);
        ::curl_slist_free_all(transfer.connect_to);
    }

    const GatherOptions& options_;
    CURLM* multi_;
    std::map<CURL*, std::unique_ptr<Transfer>> running_;
};

Gatherer::Gatherer(GatherOptions options, Sink sink)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      transfers_(std::make_unique<Transfers>(options_)) {}

Gatherer::~Gatherer() = default;

Result<std::unique_ptr<Gatherer>> Gatherer::make(GatherOptions options, Sink sink) {
    if (options.agents.empty() && options.service.empty()) {
        return Error{ErrorCode::kInvalidInput, "no agents are named; expected a list or a service"};
    }
    std::vector<Target> named;
    for (const std::string& agent : options.agents) {
        const auto place = read_place(agent);
        if (!place) return place.error();
        const std::string where = place->host + ":" + place->port;
        named.push_back({.url = place->scheme + "://" + where + std::string(kPath), .name = where});
    }
    if (!options.service.empty()) {
        if (const auto place = read_place(options.service); !place) return place.error();
    }
    if (auto library = http::start_libcurl(); !library) return std::move(library).error();
    std::unique_ptr<Gatherer> made(new Gatherer(std::move(options), std::move(sink)));
    if (!made->transfers_->works()) {
        return Error{ErrorCode::kInternal, "libcurl cannot be started"};
    }
    made->named_ = std::move(named);
    return made;
}

void Gatherer::start() {
    thread_ = std::jthread([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        while (!stop.stop_requested()) {
            round(stop);
            std::unique_lock lock(mutex);
            never.wait_for(lock, stop, options_.every, [] { return false; });
        }
    });
}

void Gatherer::look_up_service(std::vector<Target>& targets) {
    if (options_.service.empty()) return;
    const Place place = *read_place(options_.service);
    if (auto found = addresses_of(place.host)) {
        addresses_ = *std::move(found);
    } else {
        // Those of the last time may still be right.
        next_.problem = found.error().message;
    }
    const std::string where = place.host + ":" + place.port;
    const std::string url = place.scheme + "://" + where + std::string(kPath);
    for (const std::string& address : addresses_) {
        std::string target = address;
        target.append(":").append(place.port);
        targets.push_back({.url = url, .connect_to = where, .name = target});
        targets.back().connect_to.append(":").append(target);
    }
}

void Gatherer::round() { round(std::stop_token()); }

void Gatherer::round(const std::stop_token& stop) {
    next_ = {.rounds = state().rounds + 1};
    std::vector<Target> targets = named_;
    look_up_service(targets);
    if (targets.size() > options_.most_agents) {
        next_.problem = std::to_string(targets.size()) + " agents, of which " +
                        std::to_string(options_.most_agents) + " are asked";
        targets.resize(options_.most_agents);
    }
    next_.agents = targets.size();
    transfers_->run(targets, stop, [this](const Target& target, const Result<std::string>& body) {
        take(target, body);
    });
    std::erase_if(well_, [&](const auto& entry) {
        return std::none_of(targets.begin(), targets.end(),
                            [&](const Target& target) { return target.name == entry.first; });
    });
    const std::scoped_lock lock(mutex_);
    state_ = next_;
}

void Gatherer::take(const Target& target, const Result<std::string>& body) {
    std::string problem;
    if (!body) {
        problem = body.error().message;
    } else if (const auto snapshot = telemetry::parse_state(*body); !snapshot) {
        problem = snapshot.error().message;
    } else {
        sink_(*snapshot, std::chrono::system_clock::now());
    }
    const auto [entry, fresh] = well_.try_emplace(target.name, problem.empty());
    const bool changed = !fresh && entry->second != problem.empty();
    entry->second = problem.empty();
    if (problem.empty()) {
        ++next_.answered;
        if (changed) log::info("scaling.agent_back", {{"agent", target.name}});
        return;
    }
    next_.problem = target.name + ": " + problem;
    if (fresh || changed) {
        log::warning("scaling.agent_silent", {{"agent", target.name}, {"reason", problem}});
    }
}

Gatherer::State Gatherer::state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
}

}  // namespace aliquot::scaling
