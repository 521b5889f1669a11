// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kube_client/failure.h"
#include "kube_client/object.h"

namespace aliquot::kube_client {

/// The body of an answer, as it comes.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    struct Read {
        std::string bytes;
        bool ended = false;  // the server ended it in order; nothing more will come
    };
    /// Waits for bytes. Empty and not ended: none came within `timeout`. A Failure (kUnreachable:
    /// broken, dead or read too slowly) is the last thing it says. For one thread at a time.
    virtual Outcome<Read> read(std::chrono::milliseconds timeout, std::stop_token stop) = 0;
};

struct WatchEvent {
    enum class Type : std::uint8_t { kAdded, kModified, kDeleted, kBookmark };
    Type type = Type::kAdded;
    /// Of a bookmark only the resource_version counts.
    Object object;
    bool initial_events_end = false;  // the bookmark after the initial events
};

/// Cuts the lines of a watch stream into events. Pure: bytes in, events out. Not thread-safe.
class WatchDecoder {
public:
    explicit WatchDecoder(std::size_t most_line_bytes = 16U << 20U);
    ~WatchDecoder();
    WatchDecoder(WatchDecoder&&) noexcept;
    WatchDecoder& operator=(WatchDecoder&&) noexcept;

    /// Appends the events of all lines that are whole. Failure: the server's ERROR event (its
    /// Status; kGone and kExpired mean: list again), or kMalformed. Events before it are in
    /// `events`, nothing may be pushed after it.
    /// managedFields are cut out of the objects where `keep_managed_fields` is false.
    Outcome<Done> push(std::string_view bytes, std::vector<WatchEvent>& events);

    bool keep_managed_fields = true;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// One stream of changes. For one thread at a time.
class Watch {
public:
    explicit Watch(std::unique_ptr<ByteStream> stream,
                   std::size_t most_event_bytes = std::size_t{16} << 20U);

    struct Batch {
        std::vector<WatchEvent> events;
        bool ended = false;  // in order: go on with a new watch at the last resourceVersion
    };
    /// Waits for events. Empty and not ended: none came within `timeout`. When a stream fails after
    /// some events these come first and the Failure with the next call.
    Outcome<Batch> next(std::chrono::milliseconds timeout, std::stop_token stop = {});

    /// Whether metadata.managedFields stays in the objects. Default: yes.
    void keep_managed_fields(bool keep) { decoder_.keep_managed_fields = keep; }

private:
    std::unique_ptr<ByteStream> stream_;
    WatchDecoder decoder_;
    std::optional<Failure> failure_;
    bool ended_ = false;
};

}  // namespace aliquot::kube_client
