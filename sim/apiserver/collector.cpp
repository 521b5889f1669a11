// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/collector.h"

#include <algorithm>

#include "sim/apiserver/removal.h"
#include "sim/apiserver/server_context.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

std::string key_of(const Value& object) {
    return Call::key_of(object.at_path("metadata.namespace").text(),
                        object.at_path("metadata.name").text());
}

std::set<std::string> owner_uids(const Value& object) {
    std::set<std::string> uids;
    for (const Value& owner : object.at_path("metadata.ownerReferences").items()) {
        uids.insert(owner.at("uid").text());
    }
    return uids;
}

bool has_finalizer(const Value& object, std::string_view name) {
    return std::ranges::any_of(object.at_path("metadata.finalizers").items(),
                               [&](const Value& one) { return one.text() == name; });
}

}  // namespace

Collector::Collector(ServerContext& context) : context_(context), thread_([this] { run(); }) {}

Collector::~Collector() {
    {
        const std::lock_guard lock(guard_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Collector::push(Task task) {
    tasks_.push_back(std::move(task));
    changed_.notify_all();
}

void Collector::written(const Resource& resource, const Value& object) {
    const Place place{resource.storage, key_of(object)};
    const std::set<std::string> uids = owner_uids(object);
    const bool ends = !object.at_path("metadata.deletionTimestamp").is_null();
    const std::string& uid = object.at_path("metadata.uid").text();
    const std::lock_guard lock(guard_);
    const auto known = owners_.find(place);
    if (known != owners_.end() && known->second != uids) {
        for (const std::string& owner : known->second) dependents_[owner].erase(place);
        owners_.erase(known);
    }
    if (!uids.empty()) {
        for (const std::string& owner : uids) dependents_[owner].insert(place);
        owners_[place] = uids;
    }
    if (!ends) return;
    if (resource.storage == "/namespaces") push({Task::Kind::kNamespace, uid, place});
    if (has_finalizer(object, "foregroundDeletion")) {
        waiting_[uid] = place;
        push({Task::Kind::kForeground, uid, place});
    }
    if (has_finalizer(object, "orphan")) push({Task::Kind::kOrphan, uid, place});
}

void Collector::removed(const Resource& resource, const Value& object) {
    const Place place{resource.storage, key_of(object)};
    const std::lock_guard lock(guard_);
    for (const std::string& owner : owner_uids(object)) {
        dependents_[owner].erase(place);
        const auto waiting = waiting_.find(owner);
        if (waiting != waiting_.end()) push({Task::Kind::kForeground, owner, waiting->second});
    }
    owners_.erase(place);
    waiting_.erase(object.at_path("metadata.uid").text());
    const std::string& uid = object.at_path("metadata.uid").text();
    if (dependents_.contains(uid)) push({Task::Kind::kOwnerGone, uid, place});
    const std::string& name_space = object.at_path("metadata.namespace").text();
    if (ending_.contains(name_space)) {
        push({Task::Kind::kNamespace, "", {"/namespaces", name_space}});
    }
}

bool Collector::settle(std::chrono::milliseconds patience) {
    std::unique_lock lock(guard_);
    return changed_.wait_for(lock, patience, [this] { return tasks_.empty() && !busy_; });
}

void Collector::run() {
    std::unique_lock lock(guard_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        if (stopping_) return;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        perform(task);
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

std::set<Collector::Place> Collector::dependents_of(const std::string& owner) const {
    const std::lock_guard lock(guard_);
    const auto found = dependents_.find(owner);
    return found == dependents_.end() ? std::set<Place>{} : found->second;
}

void Collector::perform(const Task& task) {
    switch (task.kind) {
        case Task::Kind::kOwnerGone:
            drop_dependents(task.uid, false);
            return;
        case Task::Kind::kForeground: {
            drop_dependents(task.uid, true);
            if (!has_blocking_dependents(task.uid)) finish(task.place, "foregroundDeletion");
            return;
        }
        case Task::Kind::kOrphan:
            orphan_dependents(task.uid);
            finish(task.place, "orphan");
            return;
        case Task::Kind::kNamespace:
            empty_namespace(task.place.second);
            return;
    }
}

void Collector::remove(const Place& place, const std::string& policy) {
    const EntryPtr entry = context_.store.get(place.first, place.second);
    if (entry == nullptr) return;
    const ResourcePtr resource = context_.resources.find_kind(entry->object.at("apiVersion").text(),
                                                              entry->object.at("kind").text());
    if (resource == nullptr) return;
    static const HttpRequest kNoRequest;
    Call call{context_, kNoRequest, {}, resource};
    call.verb = "delete";
    call.name = entry->object.at_path("metadata.name").text();
    call.name_space = entry->object.at_path("metadata.namespace").text();
    RemovalOptions options;
    options.policy = policy;
    options.uid = entry->object.at_path("metadata.uid").text();
    static_cast<void>(bool(remove_object(call, options)));
}

void Collector::drop_dependents(const std::string& owner, bool foreground) {
    for (const Place& place : dependents_of(owner)) {
        const EntryPtr entry = context_.store.get(place.first, place.second);
        if (entry == nullptr) continue;
        // One that another living object owns too only loses this owner.
        bool others = false;
        for (const std::string& uid : owner_uids(entry->object)) {
            if (uid == owner) continue;
            const std::lock_guard lock(guard_);
            others = others || dependents_.contains(uid);
        }
        if (others && !foreground) {
            Value object = entry->object;
            std::erase_if(object["metadata"]["ownerReferences"].items(),
                          [&](const Value& one) { return one.at("uid").text() == owner; });
            const EntryPtr now = context_.store.update(place.first, place.second, std::move(object),
                                                       entry->revision);
            const ResourcePtr resource = context_.resources.find_kind(
                entry->object.at("apiVersion").text(), entry->object.at("kind").text());
            if (now != nullptr && resource != nullptr) written(*resource, now->object);
            continue;
        }
        if (entry->object.at_path("metadata.deletionTimestamp").is_null()) {
            remove(place, foreground ? "Foreground" : "Background");
        }
    }
    const std::lock_guard lock(guard_);
    const auto found = dependents_.find(owner);
    if (found != dependents_.end() && found->second.empty()) dependents_.erase(found);
}

void Collector::orphan_dependents(const std::string& owner) {
    for (const Place& place : dependents_of(owner)) {
        const EntryPtr entry = context_.store.get(place.first, place.second);
        if (entry == nullptr) continue;
        Value object = entry->object;
        std::erase_if(object["metadata"]["ownerReferences"].items(),
                      [&](const Value& one) { return one.at("uid").text() == owner; });
        if (object.at_path("metadata.ownerReferences").empty()) {
            object.erase_path("metadata.ownerReferences");
        }
        const EntryPtr now =
            context_.store.update(place.first, place.second, std::move(object), entry->revision);
        if (now == nullptr) continue;
        const std::lock_guard lock(guard_);
        dependents_[owner].erase(place);
        owners_[place].erase(owner);
    }
}

bool Collector::has_blocking_dependents(const std::string& owner) {
    const std::set<Place> left = dependents_of(owner);
    return std::ranges::any_of(left, [&](const Place& place) {
        const EntryPtr entry = context_.store.get(place.first, place.second);
        if (entry == nullptr) return false;
        return std::ranges::any_of(
            entry->object.at_path("metadata.ownerReferences").items(), [&](const Value& one) {
                return one.at("uid").text() == owner && one.at("blockOwnerDeletion").boolean();
            });
    });
}

void Collector::finish(const Place& place, std::string_view finalizer) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr entry = context_.store.get(place.first, place.second);
        if (entry == nullptr || !has_finalizer(entry->object, finalizer)) return;
        const ResourcePtr resource = context_.resources.find_kind(
            entry->object.at("apiVersion").text(), entry->object.at("kind").text());
        Value object = entry->object;
        std::erase_if(object["metadata"]["finalizers"].items(),
                      [&](const Value& one) { return one.text() == finalizer; });
        const bool over = object.at_path("metadata.finalizers").empty();
        if (over) object.erase_path("metadata.finalizers");
        const EntryPtr now =
            context_.store.update(place.first, place.second, std::move(object), entry->revision);
        if (now == nullptr) continue;
        if (!over) return;
        const EntryPtr last = context_.store.remove(place.first, place.second, now->revision);
        if (last != nullptr && resource != nullptr)
            after_removal(context_, *resource, last->object);
        return;
    }
}

void Collector::empty_namespace(const std::string& name) {
    const EntryPtr entry = context_.store.get("/namespaces", name);
    if (entry == nullptr || entry->object.at_path("metadata.deletionTimestamp").is_null()) return;
    {
        const std::lock_guard lock(guard_);
        ending_.insert(name);
    }
    std::size_t left = 0;
    for (const ResourcePtr& one : context_.resources.all()) {
        if (!one->namespaced || !one->has_verb("list") || !one->storage_version) continue;
        const auto page = context_.store.list(one->storage, name + "/", 0, "", 0);
        if (!page) continue;
        for (const EntryPtr& object : page->entries) {
            const std::string key = key_of(object->object);
            if (object->object.at_path("metadata.deletionTimestamp").is_null()) {
                remove({one->storage, key}, "Background");
            }
            left += context_.store.get(one->storage, key) == nullptr ? 0 : 1;
        }
    }
    if (left > 0 || !entry->object.at_path("metadata.finalizers").empty()) return;
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr now = context_.store.get("/namespaces", name);
        if (now == nullptr) break;
        const EntryPtr last = context_.store.remove("/namespaces", name, now->revision);
        if (last == nullptr) continue;
        const ResourcePtr resource = context_.resources.find("", "v1", "namespaces");
        after_removal(context_, *resource, last->object);
        break;
    }
    const std::lock_guard lock(guard_);
    ending_.erase(name);
}

}  // namespace aliquot::sim::apiserver
