// SPDX-License-Identifier: Apache-2.0
#include "kube_client/stub_api.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/number.h"

namespace aliquot::kube_client {
namespace {

using Json = nlohmann::json;

std::string status(int code, std::string_view reason) {
    return dumped(
        Json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", "stub"}});
}

Reply refuse(int code, std::string_view reason) {
    return {.status = code, .body = status(code, reason)};
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%' || i + 2 >= text.size()) {
            plain += text[i];
            continue;
        }
        plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
    }
    return plain;
}

std::vector<std::string> split(std::string_view text, char sign) {
    std::vector<std::string> parts;
    while (true) {
        const auto at = text.find(sign);
        parts.push_back(decoded(text.substr(0, at)));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

}  // namespace

StubApi::Place StubApi::place_of(const std::string& path) {
    Place place;
    const auto mark = path.find('?');
    if (mark != std::string::npos) {
        for (const auto& pair : split(path.substr(mark + 1), '&')) {
            const auto equals = pair.find('=');
            place.query[pair.substr(0, equals)] = pair.substr(equals + 1);
        }
    }
    const auto parts = split(path.substr(1, mark == std::string::npos ? mark : mark - 1), '/');
    std::size_t at = parts[0] == "api" ? 2 : 3;
    for (std::size_t i = 0; i < at; ++i) place.collection += "/" + parts[i];
    if (parts.size() > at + 2 && parts[at] == "namespaces") {
        place.key.namespace_name = parts[at + 1];
        at += 2;
    }
    place.collection += "/" + parts[at];
    if (parts.size() > at + 1) place.key.name = parts[at + 1];
    if (parts.size() > at + 2) place.subresource = parts[at + 2];
    return place;
}

std::string StubApi::keep(const std::string& collection, const ObjectKey& key,
                          const std::string& json, const char* event) {
    Json object = Json::parse(json);
    Stored& stored = collections_[collection][key];
    stored.version = ++version_;
    if (stored.uid.empty()) stored.uid = "uid-" + std::to_string(++uids_);
    object["metadata"]["name"] = key.name;
    if (!key.namespace_name.empty()) object["metadata"]["namespace"] = key.namespace_name;
    object["metadata"]["uid"] = stored.uid;
    object["metadata"]["resourceVersion"] = std::to_string(version_);
    stored.json = dumped(object);
    history_.push_back({version_, collection, key,
                        dumped(Json{{"type", event}, {"object", std::move(object)}}) + "\n"});
    changed_.notify_all();
    return stored.json;
}

void StubApi::put(const std::string& collection, const ObjectKey& key, const std::string& fields) {
    const std::scoped_lock lock(mutex_);
    const bool known = collections_[collection].contains(key);
    keep(collection, key, fields, known ? "MODIFIED" : "ADDED");
}

void StubApi::erase(const std::string& collection, const ObjectKey& key) {
    const std::scoped_lock lock(mutex_);
    Collection& objects = collections_[collection];
    const auto found = objects.find(key);
    if (found == objects.end()) return;
    keep(collection, key, found->second.json, "DELETED");
    objects.erase(key);
}

void StubApi::compact() {
    const std::scoped_lock lock(mutex_);
    compacted_ = version_;
    history_.clear();
    pictures_.clear();
    changed_.notify_all();
}

std::map<ObjectKey, std::string> StubApi::versions(const std::string& collection) const {
    const std::scoped_lock lock(mutex_);
    std::map<ObjectKey, std::string> result;
    const auto found = collections_.find(collection);
    if (found == collections_.end()) return result;
    for (const auto& [key, stored] : found->second) {
        result[key] = stored.uid + "@" + std::to_string(stored.version);
    }
    return result;
}

std::optional<std::string> StubApi::json(const std::string& collection,
                                         const ObjectKey& key) const {
    const std::scoped_lock lock(mutex_);
    const auto objects = collections_.find(collection);
    if (objects == collections_.end()) return {};
    const auto found = objects->second.find(key);
    if (found == objects->second.end()) return {};
    return found->second.json;
}

Reply StubApi::list(const Place& place) {
    const Collection* objects = &collections_[place.collection];
    const auto limit = place.query.contains("limit")
                           ? parse_number<std::size_t>(place.query.at("limit")).value_or(0)
                           : 0;
    ObjectKey last;
    std::uint64_t version = version_;
    if (place.query.contains("continue")) {
        const auto parts = split(place.query.at("continue"), '|');
        version = parse_number<std::uint64_t>(parts[0]).value_or(0);
        last = {parts[1], parts[2]};
        const auto picture = pictures_.find(version);
        if (picture == pictures_.end()) return refuse(410, "Expired");
        objects = &picture->second;
    }
    std::string items;
    std::string next;
    std::size_t count = 0;
    for (auto at = objects->upper_bound(last); at != objects->end(); ++at) {
        if (!place.key.namespace_name.empty() &&
            at->first.namespace_name != place.key.namespace_name) {
            continue;
        }
        items += (items.empty() ? "" : ",") + at->second.json;
        if (++count == limit && std::next(at) != objects->end()) {
            pictures_.try_emplace(version, *objects);
            if (pictures_.size() > 5) pictures_.erase(pictures_.begin());
            next = std::to_string(version) + "|" + at->first.namespace_name + "|" + at->first.name;
            break;
        }
    }
    return {.status = 200,
            .body = R"({"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":")" +
                    std::to_string(version) + R"(","continue":")" + next + R"("},"items":[)" +
                    items + "]}"};
}

Reply StubApi::store(const Place& place, const std::string& body, bool must_be_new) {
    Json object = Json::parse(body);
    ObjectKey key = place.key;
    Json& metadata = object["metadata"];
    if (metadata.contains("generateName") && !metadata.contains("name")) {
        metadata["name"] = metadata.value("generateName", "") + std::to_string(version_ + 1);
    }
    if (key.name.empty()) key.name = metadata.value("name", "");
    Collection& objects = collections_[place.collection];
    const auto found = objects.find(key);
    if (must_be_new && found != objects.end()) return refuse(409, "AlreadyExists");
    if (!must_be_new && found == objects.end()) return refuse(404, "NotFound");
    const std::string version = object["metadata"].value("resourceVersion", "");
    if (!must_be_new && !version.empty() && version != std::to_string(found->second.version)) {
        return refuse(409, "Conflict");
    }
    return {
        .status = must_be_new ? 201 : 200,
        .body = keep(place.collection, key, dumped(object), must_be_new ? "ADDED" : "MODIFIED")};
}

namespace {

/// The conditions of a status, which a strategic merge patch changes one by one.
Json conditions_of(const Json& object) {
    const auto status = object.find("status");
    if (status == object.end() || !status->is_object() || !status->contains("conditions"))
        return Json::array();
    return (*status)["conditions"];
}

Json merged_conditions(Json conditions, const Json& patch) {
    for (const Json& one : patch) {
        const std::string type = one.value("type", "");
        const auto same = [&](const Json& other) { return other.value("type", "") == type; };
        const auto found = std::find_if(conditions.begin(), conditions.end(), same);
        if (one.value("$patch", "") == "delete") {
            if (found != conditions.end()) conditions.erase(found);
        } else if (found != conditions.end()) {
            found->merge_patch(one);
        } else {
            conditions.push_back(one);
        }
    }
    return conditions;
}

}  // namespace

Reply StubApi::merge(const Place& place, const std::string& body) {
    Collection& objects = collections_[place.collection];
    const auto found = objects.find(place.key);
    if (found == objects.end()) return refuse(404, "NotFound");
    Json object = Json::parse(found->second.json);
    const Json patch = Json::parse(body);
    const Json conditions = merged_conditions(conditions_of(object), conditions_of(patch));
    object.merge_patch(patch);
    if (!conditions.empty()) object["status"]["conditions"] = conditions;
    // A patch with a version is bound to it, as on a real server.
    if (object["metadata"].value("resourceVersion", "") != std::to_string(found->second.version)) {
        return refuse(409, "Conflict");
    }
    return {.status = 200, .body = keep(place.collection, place.key, dumped(object), "MODIFIED")};
}

Reply StubApi::drop(const Place& place) {
    Collection& objects = collections_[place.collection];
    const auto found = objects.find(place.key);
    if (found == objects.end()) return refuse(404, "NotFound");
    keep(place.collection, place.key, found->second.json, "DELETED");
    objects.erase(place.key);
    return {.status = 200, .body = R"({"kind":"Status","status":"Success"})"};
}

Reply StubApi::carry_out(const Request& request) {
    const Place place = place_of(request.path);
    const std::scoped_lock lock(mutex_);
    if (request.method == "POST") return store(place, request.body, true);
    if (request.method == "PUT") return store(place, request.body, false);
    if (request.method == "PATCH") return merge(place, request.body);
    if (request.method == "DELETE") return drop(place);
    if (place.key.name.empty()) return list(place);
    const Collection& objects = collections_[place.collection];
    const auto found = objects.find(place.key);
    if (found == objects.end()) return refuse(404, "NotFound");
    return {.status = 200, .body = found->second.json};
}

Outcome<Reply> StubApi::exchange(const Request& request) {
    if (before) {
        if (auto instead = before(request)) return *std::move(instead);
    }
    Outcome<Reply> reply = carry_out(request);
    if (after) after(request, reply);
    return reply;
}

/// Reads the stub's history from a version on; and suffers its fate.
class StubApi::Stream final : public ByteStream {
public:
    Stream(StubApi& api, Place place, std::uint64_t from, Fate fate)
        : api_(api), place_(std::move(place)), from_(from), fate_(fate) {}

    Outcome<Read> read(std::chrono::milliseconds timeout, std::stop_token stop) override {
        if (broken_) return lost();
        std::unique_lock lock(api_.mutex_);
        if (from_ < api_.compacted_) {  // what comes next is forgotten
            fate_.kind = Fate::Kind::kErrorGone;
            return suffer();
        }
        const bool due = fate_.kind != Fate::Kind::kNone && seen_ >= fate_.after_events;
        if (due) return suffer();
        if (!api_.changed_.wait_for(lock, stop, timeout, [this] {
                return from_ < api_.compacted_ || next() != nullptr;
            })) {
            if (!stop.stop_requested()) return Read{};
            return Failure{.reason = Reason::kStopped, .message = "stub: stopped"};
        }
        if (from_ < api_.compacted_) return Read{};  // the next call tells
        return Read{.bytes = take()};
    }

private:
    static Failure lost() {
        return {.reason = Reason::kUnreachable, .message = "stub: the stream broke"};
    }
    const Happened* next() const {
        auto at = std::ranges::upper_bound(api_.history_, from_, {}, &Happened::version);
        for (; at != api_.history_.end(); ++at) {
            if (at->collection == place_.collection &&
                (place_.key.namespace_name.empty() ||
                 at->key.namespace_name == place_.key.namespace_name)) {
                return &*at;
            }
        }
        return nullptr;
    }
    std::string take() {
        const Happened* const happened = next();
        if (happened == nullptr) return {};
        from_ = happened->version;
        ++seen_;
        return happened->line;
    }
    Outcome<Read> suffer() {
        const Fate::Kind kind = std::exchange(fate_.kind, Fate::Kind::kNone);
        switch (kind) {
            case Fate::Kind::kErrorGone:
                broken_ = true;
                return Read{.bytes =
                                R"({"type":"ERROR","object":)" + status(410, "Expired") + "}\n"};
            case Fate::Kind::kEnd:
                return Read{.ended = true};
            case Fate::Kind::kSwap: {
                const std::string first = take();
                const std::string second = take();
                return Read{.bytes = second + first};
            }
            case Fate::Kind::kTwice: {
                const std::string line = take();
                return Read{.bytes = line + line};
            }
            case Fate::Kind::kGarbage:
                broken_ = true;
                return Read{.bytes = "<html>504</html>\n"};
            case Fate::Kind::kHalf: {
                broken_ = true;
                const std::string line = take();
                return Read{.bytes = line.substr(0, line.size() / 2)};
            }
            default:
                broken_ = true;
                return lost();
        }
    }

    StubApi& api_;
    const Place place_;
    std::uint64_t from_;
    Fate fate_;
    unsigned seen_ = 0;
    bool broken_ = false;
};

Outcome<std::unique_ptr<ByteStream>> StubApi::open(const Request& request) {
    if (before) {
        if (auto instead = before(request)) {
            if (!*instead) return std::move(*instead).failure();
            return failure_of((*instead)->status, (*instead)->body, request.what);
        }
    }
    Fate mine;
    if (fate) mine = fate();
    Place place = place_of(request.path);
    const auto from = parse_number<std::uint64_t>(place.query["resourceVersion"]).value_or(0);
    const std::scoped_lock lock(mutex_);
    if (mine.kind == Fate::Kind::kRefusedGone || from < compacted_) {
        return failure_of(410, status(410, "Expired"), request.what);
    }
    return std::unique_ptr<ByteStream>(
        std::make_unique<Stream>(*this, std::move(place), from, mine));
}

}  // namespace aliquot::kube_client
