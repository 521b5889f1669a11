// SPDX-License-Identifier: Apache-2.0
#include "kube_client/curl_transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "kube_client/url.h"

namespace aliquot::kube_client {
namespace {

constexpr std::size_t kMostWarnings = 20;
constexpr std::size_t kLongestWarning = 1024;

/// The text of `299 - "it is \"old\""`.
std::string warning_text(std::string_view value) {
    const auto begin = value.find('"');
    if (begin == std::string_view::npos) return {};
    std::string text;
    for (std::size_t i = begin + 1;
         i < value.size() && value[i] != '"' && text.size() < kLongestWarning; ++i) {
        if (value[i] == '\\' && i + 1 < value.size()) ++i;
        text += value[i];
    }
    return text;
}

curl_blob blob_of(const std::string& text) {
    // COPY: a connection that is kept may outlive the http_request.
    return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
}

bool never_sent(CURLcode code) {
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_SSL_CONNECT_ERROR ||
           code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_SSL_CACERT_BADFILE || code == CURLE_PROXY;
}

bool is_hopeless(CURLcode code) {
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT ||
           code == CURLE_UNSUPPORTED_PROTOCOL;
}

}  // namespace

CurlTransfer::CurlTransfer(HttpRequest http_request, const Destination& destination,
                           const TransportOptions& options, bool stream, Transport::Time until)
    : letter_(std::move(http_request)),
      destination_(destination),
      options_(options),
      stream_(stream),
      until_(until) {}

CurlTransfer::~CurlTransfer() {
    if (easy_ != nullptr) curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
    curl_slist_free_all(connect_to_);
}

bool CurlTransfer::prepare() {
    easy_ = curl_easy_init();
    if (easy_ == nullptr) return false;
    curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, words_.data());
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy_, CURLOPT_PIPEWAIT, 1L);  // rather share a connection than open one more
    set_address();
    set_headers();
    set_security();

    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, letter_.method.c_str());
    if (!letter_.body.empty()) {
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(letter_.body.size()));
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, letter_.body.c_str());
    }
    if (!stream_) curl_easy_setopt(easy_, CURLOPT_ACCEPT_ENCODING, "gzip");

    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_, CURLOPT_SOCKOPTFUNCTION, &CurlTransfer::on_socket);
    curl_easy_setopt(easy_, CURLOPT_SOCKOPTDATA, this);

    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now());
    const auto wait = std::max(left, std::chrono::milliseconds(1));
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(std::min(wait, options_.connect_limit).count()));
    if (!stream_) curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(wait.count()));
    return true;
}

void CurlTransfer::set_address() {
    const auto place = parse_url(destination_.url);
    std::string base = destination_.url;
    if (place && !destination_.tls_server_name.empty()) {
        // libcurl takes the name for TLS from the URL: so the URL has that name, and the connection
        // goes where it should.
        const std::string port = std::to_string(place->port);
        base = place->scheme + "://" + destination_.tls_server_name + ":" + port + place->path;
        const std::string route =
            destination_.tls_server_name + ":" + port + ":" + place->authority_host() + ":" + port;
        connect_to_ = curl_slist_append(connect_to_, route.c_str());
        curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_);
        const std::string host = "Host: " + place->authority_host() + ":" + port;
        headers_ = curl_slist_append(headers_, host.c_str());
    }
    curl_easy_setopt(easy_, CURLOPT_URL, (base + letter_.path).c_str());
    curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
    if (!destination_.proxy_url.empty()) {
        curl_easy_setopt(easy_, CURLOPT_PROXY, destination_.proxy_url.c_str());
        curl_easy_setopt(easy_, CURLOPT_NOPROXY, "");
    } else if (place && place->is_loopback()) {
        curl_easy_setopt(easy_, CURLOPT_PROXY, "");  // whatever the environment says
    }
}

void CurlTransfer::set_headers() {
    for (const auto& [name, value] : letter_.headers) {
        headers_ = curl_slist_append(headers_, (name + ": " + value).c_str());
    }
    if (letter_.identity && !letter_.identity->bearer_token.empty()) {
        const std::string line = "Authorization: Bearer " + letter_.identity->bearer_token;
        headers_ = curl_slist_append(headers_, line.c_str());
    }
    headers_ = curl_slist_append(headers_, "Expect:");  // no 100-continue: one more way to wait
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
}

void CurlTransfer::set_security() {
    curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, destination_.insecure ? 0L : 1L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, destination_.insecure ? 0L : 2L);
    if (!letter_.identity) return;
    const Identity& identity = *letter_.identity;
    if (!identity.ca_pem.empty()) {
        curl_blob blob = blob_of(identity.ca_pem);
        curl_easy_setopt(easy_, CURLOPT_CAINFO_BLOB, &blob);
    }
    if (!identity.client_certificate_pem.empty()) {
        curl_blob certificate = blob_of(identity.client_certificate_pem);
        curl_blob key = blob_of(identity.client_key_pem);
        curl_easy_setopt(easy_, CURLOPT_SSLCERTTYPE, "PEM");
        curl_easy_setopt(easy_, CURLOPT_SSLCERT_BLOB, &certificate);
        curl_easy_setopt(easy_, CURLOPT_SSLKEYTYPE, "PEM");
        curl_easy_setopt(easy_, CURLOPT_SSLKEY_BLOB, &key);
    }
}

int CurlTransfer::on_socket(void* self, curl_socket_t socket, curlsocktype /*purpose*/) {
    const auto limit = static_cast<CurlTransfer*>(self)->options_.silence_limit;
    const auto user_timeout = static_cast<unsigned>(limit.count());
    const int on = 1;
    const int idle = 15;  // seconds, then a probe each `step`
    const int step = 5;
    // Best effort: a socket that is no TCP refuses, and works without.
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &step, sizeof step);
    ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, sizeof user_timeout);
    return CURL_SOCKOPT_OK;
}

std::size_t CurlTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<CurlTransfer*>(self)->body({data, size * count});
}

std::size_t CurlTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<CurlTransfer*>(self)->header({data, size * count});
    return size * count;
}

std::size_t CurlTransfer::body(std::string_view bytes) {
    std::unique_lock lock(mutex_);
    if (letter_.sink != nullptr && state_.status >= 200 && state_.status < 300) {
        lock.unlock();  // it takes its time, and belongs to this thread
        auto taken = letter_.sink->take(bytes);
        if (taken) return bytes.size();
        refused_ = std::move(taken).failure();
        return 0;
    }
    const Limits& limits = options_.limits;
    const std::size_t most = stream_ ? limits.unread_bytes : limits.answer_bytes;
    if (state_.answer.body.size() + bytes.size() > most) {
        too_much_ = true;
        return 0;
    }
    state_.answer.body.append(bytes);
    if (stream_) changed_.notify_all();
    return bytes.size();
}

void CurlTransfer::header(std::string_view line) {
    line = trim(line);
    const std::scoped_lock lock(mutex_);
    if (line.starts_with("HTTP/")) {  // a new head: of a proxy, of 100 Continue, or the real one
        state_.answer.retry_after.reset();
        state_.answer.warnings.clear();
        return;
    }
    if (line.empty()) {
        long status = 0;
        curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
        if (status < 200) return;
        state_.status = state_.answer.status = static_cast<int>(status);
        state_.begun = true;
        changed_.notify_all();
        return;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view name = line.substr(0, colon);
    std::string_view value = trim(line.substr(colon + 1));
    if (equals_folded(name, "retry-after")) {
        if (const auto seconds = take_number<unsigned>(value)) {
            state_.answer.retry_after = std::chrono::seconds(std::min(*seconds, 3600U));
        }
    } else if (equals_folded(name, "warning") && state_.answer.warnings.size() < kMostWarnings) {
        state_.answer.warnings.push_back(warning_text(value));
    }
}

TransportError CurlTransfer::transport_error(CURLcode code) const {
    TransportError result;
    result.sent = !never_sent(code);
    result.hopeless = is_hopeless(code);
    Failure& failure = result.failure;
    failure.reason = Reason::kUnreachable;
    const std::string words = words_[0] != '\0' ? words_.data() : curl_easy_strerror(code);
    failure.message = letter_.what + ": " + destination_.url + ": " + words;
    if (refused_) {
        failure = *refused_;
        result.hopeless = true;
    } else if (too_much_) {
        failure.message =
            letter_.what + ": " +
            (stream_ ? "the stream was read too slowly: more than "
                     : "the answer is longer than ") +
            std::to_string(stream_ ? options_.limits.unread_bytes : options_.limits.answer_bytes) +
            " bytes" + (stream_ ? " wait" : "");
        result.hopeless = !stream_;
    } else if (code == CURLE_PEER_FAILED_VERIFICATION) {
        failure.message += " (does certificate-authority belong to this server?)";
    }
    return result;
}

void CurlTransfer::finish(CURLcode code) {
    const std::scoped_lock lock(mutex_);
    if (code != CURLE_OK) state_.failure = transport_error(code);
    state_.done = true;
    changed_.notify_all();
}

void CurlTransfer::stopped() {
    const std::scoped_lock lock(mutex_);
    if (!state_.done) {
        state_.failure = TransportError{
            .failure = {.reason = Reason::kStopped, .message = letter_.what + ": stopped"}};
    }
    state_.done = true;
    changed_.notify_all();
}

std::string CurlTransfer::take_body() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(state_.answer.body, {});
}

CurlTransfer::State CurlTransfer::take_state() {
    const std::scoped_lock lock(mutex_);
    return std::move(state_);
}

}  // namespace aliquot::kube_client
