// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::http {
namespace {

constexpr std::size_t kMostFields = 100;

constexpr std::string_view kOptionalSpace = " \t";

Reading refuse(int status, std::string reason) {
    return {.state = Reading::State::kRefused, .status = status, .reason = std::move(reason)};
}

bool is_token(std::string_view text) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_digit(c) || is_letter(c) || kMarks.contains(c);
    });
}

/// Cuts off `text` what stands before the separator; all of it when there is none.
std::string_view take(std::string_view& text, std::string_view separator) {
    const std::size_t at = text.find(separator);
    const std::string_view taken = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + separator.size());
    return taken;
}

/// Whether a comma-separated list has the word, in any case.
bool lists(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        if (lower(trim(take(list, ","), kOptionalSpace)) == word) return true;
    }
    return false;
}

/// "GET /metrics?x=1 HTTP/1.1", cut into its parts.
struct RequestLine {
    std::string_view method;
    std::string_view target;
    unsigned minor = 1;
    int refused = 0;  // a status
};

RequestLine read_request_line(std::string_view line) {
    RequestLine read;
    read.method = take(line, " ");
    read.target = take(line, " ");
    if (!is_token(read.method) || read.target.empty() || line.contains(' ')) {
        read.refused = 400;
    } else if (line == "HTTP/1.0") {
        read.minor = 0;
    } else if (line != "HTTP/1.1") {
        read.refused = line.starts_with("HTTP/") ? 505 : 400;
    }
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!read.target.starts_with(scheme)) continue;
        read.target.remove_prefix(scheme.size());
        const std::size_t slash = read.target.find('/');
        read.target = slash == std::string_view::npos ? "/" : read.target.substr(slash);
    }
    if (read.refused == 0 && !read.target.starts_with('/') && read.target != "*") {
        read.refused = 400;
    }
    return read;
}

bool has_control(std::string_view value) {
    return std::any_of(value.begin(), value.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    });
}

/// A status, or 0.
int read_fields(std::string_view fields, Request& request) {
    std::size_t count = 0;
    while (!fields.empty()) {
        std::string_view line = take(fields, "\r\n");
        if (++count > kMostFields) return 431;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return 400;
        const std::string_view value = trim(line.substr(colon + 1), kOptionalSpace);
        if (has_control(value)) return 400;
        std::string name = lower(line.substr(0, colon));
        const auto [entry, added] = request.headers.try_emplace(std::move(name), value);
        if (added) continue;
        // One request must not be two to whoever stands between.
        if (entry->first == "content-length" || entry->first == "host" ||
            entry->first == "authorization") {
            return 400;
        }
        entry->second.append(", ").append(value);
    }
    return 0;
}

/// A status, or 0.
int read_framing(const Request& request, unsigned minor, Head& head) {
    if (minor == 1 && request.header("host").empty() && !request.headers.contains("host")) {
        return 400;
    }
    if (request.headers.contains("transfer-encoding")) return 411;
    if (const auto length = request.headers.find("content-length");
        length != request.headers.end()) {
        const std::string& digits = length->second;
        if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return 400;
        const auto bytes = parse_number<std::size_t>(digits);
        if (!bytes) return 413;
        head.body_bytes = *bytes;
    }
    const std::string_view connection = request.header("connection");
    head.keep_alive = minor == 1 ? !lists(connection, "close") : lists(connection, "keep-alive");
    head.takes_chunks = minor == 1;
    head.expects_continue = minor == 1 && lower(request.header("expect")) == "100-continue";
    return 0;
}

std::string_view phrase_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 411:
            return "Length Required";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 415:
            return "Unsupported Media Type";
        case 422:
            return "Unprocessable Content";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Answer";
    }
}

std::string http_date() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 40> text{};
    const std::size_t size =
        std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return {text.data(), size};
}

}  // namespace

std::string_view Request::parameter(std::string_view name) const {
    const auto found = std::find_if(query.begin(), query.end(),
                                    [&](const auto& pair) { return pair.first == name; });
    return found == query.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view Request::header(std::string_view lower_case_name) const {
    const auto found = headers.find(std::string(lower_case_name));
    return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

std::string percent_decoded(std::string_view text, Plus plus) {
    std::string made;
    made.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
            hex_value(text[i + 2]) >= 0) {
            made += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        } else {
            made += text[i] == '+' && plus == Plus::kIsSpace ? ' ' : text[i];
        }
    }
    return made;
}

void read_target(std::string_view target, Request& request) {
    request.target = target;
    target = target.substr(0, target.find('#'));
    request.path = percent_decoded(take(target, "?"), Plus::kIsItself);
    while (!target.empty()) {
        std::string_view pair = take(target, "&");
        if (pair.empty()) continue;
        std::string name = percent_decoded(take(pair, "="), Plus::kIsSpace);
        request.query.emplace_back(std::move(name), percent_decoded(pair, Plus::kIsSpace));
    }
}

Reading read_head(std::string_view bytes) {
    std::size_t skipped = 0;
    while (skipped < 8 && bytes.substr(skipped).starts_with("\r\n")) skipped += 2;
    std::string_view rest = bytes.substr(skipped);
    // A TLS greeting or other bytes that will never be a request: no need to wait for more.
    if (!rest.empty() && rest.front() != '\r' && !is_token(rest.substr(0, 1))) {
        return refuse(400, "this is no HTTP request");
    }
    const std::size_t line_end = rest.find("\r\n");
    if (line_end == std::string_view::npos || line_end > kMostTargetBytes) {
        if (rest.size() <= kMostTargetBytes) return {};
        return refuse(414, "the first line has more than 8192 bytes");
    }
    const std::size_t end = rest.find("\r\n\r\n");
    if (end == std::string_view::npos ? rest.size() > kMostHeadBytes : end > kMostHeadBytes) {
        return refuse(431, "the headers have more than 16384 bytes");
    }
    if (end == std::string_view::npos) return {};

    Reading made{.state = Reading::State::kComplete};
    made.head.head_bytes = skipped + end + 4;
    const RequestLine line = read_request_line(rest.substr(0, line_end));
    if (line.refused == 505) return refuse(505, "this server speaks HTTP/1.1");
    if (line.refused != 0) return refuse(line.refused, "the first line is no HTTP request");
    Request& request = made.head.request;
    request.method = line.method;
    const std::string_view fields =
        end == line_end ? std::string_view{} : rest.substr(line_end + 2, end - line_end - 2);
    int refused = read_fields(fields, request);
    if (refused == 0) refused = read_framing(request, line.minor, made.head);
    if (refused == 411) return refuse(411, "a body needs Content-Length");
    if (refused == 431) return refuse(431, "more than 100 headers");
    if (refused == 413) return refuse(413, "the body is too large");
    if (refused != 0) return refuse(refused, "the headers are broken");
    read_target(line.target, request);
    return made;
}

std::string write_head(const ResponseHead& head,
                       const std::vector<std::pair<std::string, std::string>>& extra) {
    std::string text = "HTTP/1.1 " + std::to_string(head.status) + " ";
    text.append(phrase_of(head.status)).append("\r\nDate: ").append(http_date());
    const bool bodiless = head.status == 204 || head.status == 304 || head.status < 200;
    if (!bodiless) {
        if (!head.content_type.empty() && !has_control(head.content_type)) {
            text.append("\r\nContent-Type: ").append(head.content_type);
        }
        if (head.length == ResponseHead::Length::kKnown) {
            text.append("\r\nContent-Length: ").append(std::to_string(head.body_bytes));
        } else if (head.length == ResponseHead::Length::kChunks) {
            text.append("\r\nTransfer-Encoding: chunked");
        }
    }
    if (head.gzip) text.append("\r\nContent-Encoding: gzip");
    if (head.varies) text.append("\r\nVary: Accept-Encoding");
    text.append(head.close ? "\r\nConnection: close" : "\r\nConnection: keep-alive");
    for (const auto& [name, value] : extra) {
        if (is_token(name) && !has_control(value)) {
            text.append("\r\n").append(name).append(": ").append(value);
        }
    }
    return text.append("\r\n\r\n");
}

}  // namespace aliquot::http
