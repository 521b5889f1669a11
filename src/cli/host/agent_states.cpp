// SPDX-License-Identifier: Apache-2.0
#include "cli/host/agent_states.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/number.h"
#include "http/libcurl.h"

namespace aliquot::cli {
namespace {

constexpr std::string_view kPage = "/api/v1/state";
constexpr std::string_view kUsualPort = "9400";
constexpr std::size_t kMostStateBytes = std::size_t{16} << 20U;
constexpr long kMostConnections = 64;
constexpr std::size_t kLongestAddress = 512;

Error no_address(std::string_view text, const char* why) {
    return {ErrorCode::kInvalidInput,
            "'" + std::string(text) + "' is not an agent address" + why +
                "; expected HOST:PORT, unix:/run/aliquot/agent.sock, or http(s)://HOST:PORT"};
}

bool is_port(std::string_view text) { return parse_number<std::uint16_t>(text).value_or(0) > 0; }

bool is_host_text(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']' || c == '%';
    });
}

/// "HOST:PORT" with the usual port where none is given; empty: it is none.
std::optional<std::string> host_and_port(std::string_view text) {
    if (!is_host_text(text)) return std::nullopt;
    const std::size_t bracket = text.rfind(']');
    const std::size_t colon = text.rfind(':');
    const bool literal = text.front() == '[';
    if (literal != (bracket != std::string_view::npos)) return std::nullopt;
    if (!literal && std::ranges::count(text, ':') > 1) return std::nullopt;
    const bool has_port = colon != std::string_view::npos && (!literal || colon == bracket + 1);
    if (!has_port) {
        if (literal && bracket + 1 != text.size()) return std::nullopt;
        return std::string(text) + ":" + std::string(kUsualPort);
    }
    if (colon == 0 || !is_port(text.substr(colon + 1))) return std::nullopt;
    return std::string(text);
}

std::size_t take(char* bytes, std::size_t /*one*/, std::size_t count, void* into) {
    auto& body = *static_cast<std::string*>(into);
    if (body.size() + count > kMostStateBytes) return 0;  // curl ends the transfer
    body.append(bytes, count);
    return count;
}

/// One transfer that can be begun again and again.
struct Call {
    CURL* easy = nullptr;
    std::string body;
    std::array<char, CURL_ERROR_SIZE> words{};
    bool running = false;
    std::optional<CURLcode> outcome;
};

}  // namespace

Result<AgentPlace> parse_agent(std::string_view text) {
    AgentPlace place{.name = std::string(text)};
    if (text.size() > kLongestAddress) return no_address(text.substr(0, 40), ": it is too long");
    if (text.starts_with("unix:")) {
        place.socket = text.substr(5);
        if (!place.socket.starts_with('/')) return no_address(text, ": the path is not absolute");
        place.url = "http://localhost" + std::string(kPage);
        return place;
    }
    const bool tls = text.starts_with("https://");
    if (tls || text.starts_with("http://")) {
        std::string_view rest = text.substr(tls ? 8 : 7);
        while (rest.ends_with('/')) rest.remove_suffix(1);
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::string_view host = rest.substr(0, slash);
        if (host.find('@') != std::string_view::npos)
            return no_address("http(s)://...", ": a name and password belong into --credentials");
        if (!is_host_text(host) || rest.find_first_of("?# \t\r\n") != std::string_view::npos)
            return no_address(text, "");
        place.url = (tls ? "https://" : "http://") + std::string(rest);
        if (!rest.substr(slash).ends_with(kPage)) place.url += kPage;
        return place;
    }
    const auto host = host_and_port(text);
    if (!host) return no_address(text, "");
    place.url = "http://" + *host + std::string(kPage);
    return place;
}

class AgentStates::Implementation {
public:
    Implementation(std::vector<AgentPlace> places, AskOptions options)
        : places_(std::move(places)), options_(std::move(options)), calls_(places_.size()) {
        if (library_) multi_ = ::curl_multi_init();
        if (multi_ == nullptr) return;
        ::curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, kMostConnections);
        for (std::size_t i = 0; i < places_.size(); ++i) prepare(calls_[i], places_[i]);
    }
    ~Implementation() {
        for (Call& call : calls_) {
            if (call.running) ::curl_multi_remove_handle(multi_, call.easy);
            ::curl_easy_cleanup(call.easy);
        }
        ::curl_multi_cleanup(multi_);
    }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    std::vector<Result<std::string>> ask(const std::stop_token& stop) {
        if (!library_) return {places_.size(), library_.error()};
        const auto end = std::chrono::steady_clock::now() + options_.deadline;
        for (Call& call : calls_) begin(call);
        for (;;) {
            int left = 0;
            if (::curl_multi_perform(multi_, &left) != CURLM_OK) break;
            collect();
            const auto now = std::chrono::steady_clock::now();
            if (left == 0 || now >= end || stop.stop_requested()) break;
            const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
            constexpr long kGlance = 100;  // how soon a stop is seen
            ::curl_multi_poll(multi_, nullptr, 0,
                              static_cast<int>(std::clamp(wait.count(), 1L, kGlance)), nullptr);
        }
        std::vector<Result<std::string>> answers;
        for (std::size_t i = 0; i < calls_.size(); ++i)
            answers.push_back(answer_of(calls_[i], places_[i]));
        return answers;
    }

    [[nodiscard]] const std::vector<AgentPlace>& places() const { return places_; }

private:
    void prepare(Call& call, const AgentPlace& place) const {
        call.easy = ::curl_easy_init();
        if (call.easy == nullptr) return;
        const auto set = [&](CURLoption option, auto value) {
            ::curl_easy_setopt(call.easy, option, value);
        };
        set(CURLOPT_URL, place.url.c_str());
        if (!place.socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, place.socket.c_str());
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_PROXY, "");
        set(CURLOPT_ACCEPT_ENCODING, "");
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.deadline.count()));
        set(CURLOPT_WRITEFUNCTION, &take);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&call.body));
        set(CURLOPT_ERRORBUFFER, call.words.data());
        set(CURLOPT_USERAGENT, "aliquot/" ALIQUOT_VERSION);
        if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
        if (!options_.credentials.empty()) {
            set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
            set(CURLOPT_USERPWD, options_.credentials.c_str());
        }
    }

    void begin(Call& call) {
        call.body.clear();
        call.words[0] = '\0';
        call.outcome.reset();
        call.running =
            call.easy != nullptr && ::curl_multi_add_handle(multi_, call.easy) == CURLM_OK;
    }

    void collect() {
        int more = 0;
        while (const CURLMsg* message = ::curl_multi_info_read(multi_, &more)) {
            if (message->msg != CURLMSG_DONE) continue;
            const auto call = std::ranges::find(calls_, message->easy_handle, &Call::easy);
            if (call != calls_.end()) call->outcome = message->data.result;
        }
    }

    Result<std::string> answer_of(Call& call, const AgentPlace& place) {
        if (call.running) ::curl_multi_remove_handle(multi_, call.easy);
        call.running = false;
        const std::string who = "node agent at " + place.name + ": ";
        if (!call.outcome || *call.outcome == CURLE_OPERATION_TIMEDOUT) {
            return Error{ErrorCode::kUnavailable, who + "no answer within " + seconds()};
        }
        if (*call.outcome != CURLE_OK) return failure_of(call, who);
        long status = 0;
        ::curl_easy_getinfo(call.easy, CURLINFO_RESPONSE_CODE, &status);
        if (status == 200) return std::move(call.body);
        if (status == 401 || status == 403) {
            return Error{ErrorCode::kPermission,
                         who + "answers " + std::to_string(status) +
                             ": it wants a name and password; see --credentials"};
        }
        if (status == 404) {
            return Error{ErrorCode::kUnsupported,
                         who + "has no " + std::string(kPage) +
                             ": it is not this program's agent, or an older one"};
        }
        return Error{ErrorCode::kUnavailable, who + "answers " + std::to_string(status)};
    }

    static Result<std::string> failure_of(const Call& call, const std::string& who) {
        long number = 0;
        ::curl_easy_getinfo(call.easy, CURLINFO_OS_ERRNO, &number);
        switch (*call.outcome) {
            case CURLE_COULDNT_CONNECT:
                if (number == EACCES || number == EPERM) {
                    return Error{ErrorCode::kPermission,
                                 who + "may not be asked by this user; run as root"};
                }
                if (number == ENOENT || number == ECONNREFUSED || number == 0) {
                    return Error{ErrorCode::kNotFound, who + "nobody listens there"};
                }
                break;
            case CURLE_COULDNT_RESOLVE_HOST:
                return Error{ErrorCode::kUnavailable, who + "no such host"};
            case CURLE_WRITE_ERROR:
                return Error{ErrorCode::kUnavailable, who + "answers more than 16 MiB"};
            case CURLE_PEER_FAILED_VERIFICATION:
                return Error{ErrorCode::kPermission,
                             who + "its certificate is not vouched for; see --ca-file"};
            default:
                break;
        }
        const std::string words = call.words[0] != '\0'
                                      ? std::string(call.words.data())
                                      : std::string(::curl_easy_strerror(*call.outcome));
        return Error{ErrorCode::kUnavailable, who + words};
    }

    [[nodiscard]] std::string seconds() const {
        std::string text = std::to_string(static_cast<double>(options_.deadline.count()) / 1000);
        text.erase(text.find_last_not_of('0') + 1);
        if (text.ends_with('.')) text.pop_back();
        return text + " s";
    }

    const Result<Done> library_ = http::start_libcurl();
    std::vector<AgentPlace> places_;
    AskOptions options_;
    std::vector<Call> calls_;
    CURLM* multi_ = nullptr;
};

AgentStates::AgentStates(std::vector<AgentPlace> places, AskOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(places), std::move(options))) {}

AgentStates::~AgentStates() = default;

std::vector<Result<std::string>> AgentStates::ask(const std::stop_token& stop) {
    return implementation_->ask(stop);
}

const std::vector<AgentPlace>& AgentStates::places() const { return implementation_->places(); }

}  // namespace aliquot::cli
