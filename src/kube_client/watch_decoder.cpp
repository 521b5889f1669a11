// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kube_client/object_reader.h"
#include "kube_client/watch.h"

namespace aliquot::kube_client {
namespace {

std::optional<WatchEvent::Type> type_of(std::string_view word) {
    if (word == "MODIFIED") return WatchEvent::Type::kModified;
    if (word == "ADDED") return WatchEvent::Type::kAdded;
    if (word == "DELETED") return WatchEvent::Type::kDeleted;
    if (word == "BOOKMARK") return WatchEvent::Type::kBookmark;
    return {};
}

Failure malformed(std::string_view what) {
    return {.reason = Reason::kMalformed, .message = "watch: " + std::string(what)};
}

/// What one line says: the event's type and where its object is.
struct Line {
    std::string_view type;
    ObjectHead head;
    bool has_object = false;
};

simdjson::error_code read_line(simdjson::ondemand::document& document, Line& line) {
    simdjson::ondemand::object root;
    if (const auto error = document.get_object().get(root)) return error;
    for (auto field : root) {
        simdjson::ondemand::raw_json_string key;
        if (const auto error = field.key().get(key)) return error;
        if (key == "type") {
            if (const auto error = field.value().get_string().get(line.type)) return error;
        } else if (key == "object") {
            simdjson::ondemand::object object;
            if (const auto error = field.value().get_object().get(object)) return error;
            if (const auto error = read_head(object, line.head)) return error;
            line.has_object = true;
        }
    }
    return simdjson::SUCCESS;
}

}  // namespace

// Bytes lie in [begin_, end_) of a block with simdjson's padding behind; a line is parsed in place.
struct WatchDecoder::State {
    explicit State(std::size_t most) : most_line_bytes(most) {}

    Outcome<Done> push(std::string_view bytes, std::vector<WatchEvent>& events, bool keep_managed);
    void append(std::string_view bytes);
    Outcome<Done> decode(std::size_t size, std::vector<WatchEvent>& events, bool keep_managed);

    const std::size_t most_line_bytes;
    std::vector<char> block;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t searched = 0;  // no line end in [begin, searched)
    bool failed = false;
    simdjson::ondemand::parser parser;
};

void WatchDecoder::State::append(std::string_view bytes) {
    if (begin == end) begin = end = searched = 0;
    if (end + bytes.size() + simdjson::SIMDJSON_PADDING > block.size()) {
        if (begin > 0) {
            std::memmove(block.data(), block.data() + begin, end - begin);
            end -= begin;
            searched -= begin;
            begin = 0;
        }
        const std::size_t needed = end + bytes.size() + simdjson::SIMDJSON_PADDING;
        if (needed > block.size()) block.resize(std::max(needed, block.size() * 2));
    }
    std::memcpy(block.data() + end, bytes.data(), bytes.size());
    end += bytes.size();
}

Outcome<Done> WatchDecoder::State::decode(std::size_t size, std::vector<WatchEvent>& events,
                                          bool keep_managed) {
    const char* const text = block.data() + begin;
    if (std::string_view(text, size).find_first_not_of(" \t\r") == std::string_view::npos) {
        return Done{};
    }
    simdjson::ondemand::document document;
    Line line;
    auto error = parser.iterate(text, size, block.size() - begin).get(document);
    if (error == simdjson::SUCCESS) error = read_line(document, line);
    if (error != simdjson::SUCCESS) {
        return malformed("a line is not an event: " + std::string(simdjson::error_message(error)));
    }
    if (!line.has_object) return malformed("an event has no object");
    if (line.type == "ERROR") return failure_of(0, line.head.raw, "watch");
    const auto type = type_of(line.type);
    if (!type) return Done{};  // a kind of event that is not invented yet
    if (*type == WatchEvent::Type::kBookmark) {
        line.head.object.json.clear();
    } else if (line.head.object.name.empty()) {
        return malformed("an object has no name");
    } else if (keep_managed || line.head.managed_fields.empty()) {
        line.head.object.json.assign(line.head.raw);
    } else {
        line.head.object.json = without_field(line.head.raw, line.head.managed_fields);
    }
    // A bookmark's object is small and all the server's own: the annotation's name is enough.
    const bool last_of_first = *type == WatchEvent::Type::kBookmark &&
                               line.head.raw.contains("\"k8s.io/initial-events-end\"");
    events.push_back({.type = *type,
                      .object = std::move(line.head.object),
                      .initial_events_end = last_of_first});
    return Done{};
}

Outcome<Done> WatchDecoder::State::push(std::string_view bytes, std::vector<WatchEvent>& events,
                                        bool keep_managed) {
    if (failed) return malformed("bytes after the end");
    append(bytes);
    while (searched < end) {
        const void* const found = std::memchr(block.data() + searched, '\n', end - searched);
        if (found == nullptr) {
            searched = end;
            break;
        }
        const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - block.data());
        auto decoded = decode(at - begin, events, keep_managed);
        begin = searched = at + 1;
        if (decoded) continue;
        failed = true;
        return decoded;
    }
    if (end - begin > most_line_bytes) {
        failed = true;
        return malformed("a line is longer than " + std::to_string(most_line_bytes) + " bytes");
    }
    return Done{};
}

WatchDecoder::WatchDecoder(std::size_t most_line_bytes)
    : state_(std::make_unique<State>(most_line_bytes)) {}
WatchDecoder::~WatchDecoder() = default;
WatchDecoder::WatchDecoder(WatchDecoder&&) noexcept = default;
WatchDecoder& WatchDecoder::operator=(WatchDecoder&&) noexcept = default;

Outcome<Done> WatchDecoder::push(std::string_view bytes, std::vector<WatchEvent>& events) {
    return state_->push(bytes, events, keep_managed_fields);
}

Watch::Watch(std::unique_ptr<ByteStream> stream, std::size_t most_event_bytes)
    : stream_(std::move(stream)), decoder_(most_event_bytes) {}

Outcome<Watch::Batch> Watch::next(std::chrono::milliseconds timeout, std::stop_token stop) {
    if (failure_) return *failure_;
    if (ended_) return Batch{.events = {}, .ended = true};
    auto read = stream_->read(timeout, std::move(stop));
    if (!read) {
        // A caller who gives up may come back; anything else is the last word of the stream.
        if (!read.failure().is(Reason::kStopped)) failure_ = read.failure();
        return std::move(read).failure();
    }
    Batch batch;
    batch.ended = ended_ = read->ended;
    if (auto pushed = decoder_.push(read->bytes, batch.events); !pushed) {
        failure_ = std::move(pushed).failure();
        batch.ended = false;
        if (batch.events.empty()) return *failure_;
    }
    return batch;
}

}  // namespace aliquot::kube_client
