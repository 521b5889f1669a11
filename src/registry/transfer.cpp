// SPDX-License-Identifier: Apache-2.0
#include "registry/transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/text.h"
#include "http/libcurl.h"

namespace aliquot::registry {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectLimit{10'000};
constexpr long kSilenceLimitSeconds = 30;
constexpr std::size_t kMostHeaders = 200;

/// What libcurl's functions are handed.
struct Transfer {
    const Get& request;
    Got got;
    bool is_too_long = false;
    std::array<char, CURL_ERROR_SIZE> words{};
    CURL* easy = nullptr;
};

std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view part(bytes, one * count);
    long status = 0;
    ::curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer.request.sink && status == 200) {
        transfer.got.ended_by_sink = !transfer.request.sink(part);
        return transfer.got.ended_by_sink ? 0 : part.size();
    }
    transfer.is_too_long = transfer.got.body.size() + part.size() > transfer.request.most_bytes;
    if (transfer.is_too_long) return 0;
    transfer.got.body.append(part);
    return part.size();
}

std::size_t on_header(char* bytes, std::size_t one, std::size_t count, void* self) {
    auto& headers = static_cast<Transfer*>(self)->got.headers;
    const std::string_view line = trim({bytes, one * count});
    if (line.starts_with("HTTP/")) headers.clear();  // of the next answer: a proxy's came first
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || headers.size() >= kMostHeaders) return one * count;
    std::string& value = headers[lower(line.substr(0, colon))];
    value += (value.empty() ? "" : ", ") + std::string(trim(line.substr(colon + 1)));
    return one * count;
}

Error error_of(const Transfer& transfer, CURLcode code) {
    const std::string_view url = transfer.request.url;
    const std::string place(url.substr(0, url.find('?')));
    if (transfer.is_too_long) {
        return {ErrorCode::kInvalidInput, place + ": the answer is longer than " +
                                              std::to_string(transfer.request.most_bytes) +
                                              " bytes"};
    }
    const std::string words =
        transfer.words[0] != '\0' ? transfer.words.data() : ::curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
        return {ErrorCode::kPermission,
                place + ": " + words + "; name its authority by --registry-ca"};
    }
    const bool is_plain = code == CURLE_SSL_CONNECT_ERROR && words.contains("wrong version number");
    return {ErrorCode::kUnavailable,
            place + ": " + words + (is_plain ? "; --plain-http asks without TLS" : "")};
}

void set_limits(CURL* easy, const Get& request) {
    const auto left =
        std::chrono::ceil<milliseconds>(request.until - std::chrono::steady_clock::now());
    const auto wait = std::max(left, milliseconds(1));
    ::curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(wait.count()));
    ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                       static_cast<long>(std::min(wait, kConnectLimit).count()));
    ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kSilenceLimitSeconds);
}

}  // namespace

std::string Got::header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
}

Result<Got> get(const Get& request) {
    const auto started = http::start_libcurl();
    if (!started) return started.error();
    const std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> easy(::curl_easy_init(),
                                                                     ::curl_easy_cleanup);
    if (!easy) return Error{ErrorCode::kUnavailable, "libcurl: out of memory"};
    Transfer transfer{.request = request, .easy = easy.get()};
    curl_slist* fields = nullptr;
    for (const auto& [name, value] : request.headers) {
        fields = ::curl_slist_append(fields, (name + ": " + value).c_str());
    }
    const std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> kept(fields,
                                                                             ::curl_slist_free_all);
    ::curl_easy_setopt(easy.get(), CURLOPT_URL, request.url.c_str());
    ::curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(easy.get(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    ::curl_easy_setopt(easy.get(), CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    ::curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, fields);
    ::curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, transfer.words.data());
    ::curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, on_body);
    ::curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &transfer);
    ::curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, on_header);
    ::curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, &transfer);
    if (!request.ca_file.empty())
        ::curl_easy_setopt(easy.get(), CURLOPT_CAINFO, request.ca_file.c_str());
    set_limits(easy.get(), request);
    const CURLcode code = ::curl_easy_perform(easy.get());
    long status = 0;
    ::curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    transfer.got.status = static_cast<int>(status);
    if (code != CURLE_OK && !transfer.got.ended_by_sink) return error_of(transfer, code);
    return std::move(transfer.got);
}

}  // namespace aliquot::registry
