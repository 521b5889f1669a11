// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: an API server in memory, as far as lists, watches, leases and events need one, which
// can be told to misbehave. Not sim/apiserver: no API server swaps or repeats events, loses the answer
// to a write that it carried out or keeps objects that break its own rules, and clients must bear it.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube_client/api.h"

namespace aliquot::kube_client {

class StubApi final : public Api {
public:
    Outcome<Reply> exchange(const Request& request) override;
    Outcome<std::unique_ptr<ByteStream>> open(const Request& request) override;

    /// Called before each request is carried out; what it returns is the answer instead.
    std::function<std::optional<Outcome<Reply>>(const Request&)> before{};
    /// Called after it was carried out, with the answer that may be replaced ("it got lost").
    std::function<void(const Request&, Outcome<Reply>&)> after{};

    /// What befalls a watch stream.
    struct Fate {
        enum class Kind : std::uint8_t {
            kNone,
            kRefusedGone,  // 410 instead of a stream
            kErrorGone,    // an ERROR event with 410
            kBreak,        // the connection breaks
            kEnd,          // the stream ends in order
            kSwap,         // two events in the wrong order
            kTwice,        // an event comes twice
            kGarbage,      // a line that is none, then a break
            kHalf,         // half a line, then a break
        };
        Kind kind = Kind::kNone;
        unsigned after_events = 0;
    };
    std::function<Fate()> fate{};

    /// Creates or changes an object from outside. collection "/api/v1/pods"
    void put(const std::string& collection, const ObjectKey& key, const std::string& fields);
    void erase(const std::string& collection, const ObjectKey& key);
    /// Forgets all events so far: watches from before are answered 410.
    void compact();
    [[nodiscard]] std::map<ObjectKey, std::string> versions(const std::string& collection) const;
    [[nodiscard]] std::optional<std::string> json(const std::string& collection,
                                                  const ObjectKey& key) const;

private:
    class Stream;
    friend class Stream;
    struct Place {
        std::string collection;
        ObjectKey key;
        std::string subresource;
        std::map<std::string, std::string> query;
    };
    struct Happened {
        std::uint64_t version = 0;
        std::string collection;
        ObjectKey key;
        std::string line;
    };
    struct Stored {
        std::string json;
        std::uint64_t version = 0;
        std::string uid;
    };
    using Collection = std::map<ObjectKey, Stored>;

    static Place place_of(const std::string& path);
    Reply carry_out(const Request& request);
    Reply list(const Place& place);
    Reply store(const Place& place, const std::string& body, bool must_be_new);
    Reply merge(const Place& place, const std::string& body);
    Reply drop(const Place& place);
    std::string keep(const std::string& collection, const ObjectKey& key, const std::string& json,
                     const char* event);

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::uint64_t version_ = 100;
    std::uint64_t compacted_ = 0;
    std::uint64_t uids_ = 0;
    std::map<std::string, Collection> collections_;
    std::vector<Happened> history_;
    std::map<std::uint64_t, Collection> pictures_;  // that lists are read from, by version
};

}  // namespace aliquot::kube_client
