// SPDX-License-Identifier: Apache-2.0
#include "kube/store.h"

#include <algorithm>
#include <mutex>

namespace aliquot::kube {
namespace {

std::size_t hash_of(std::string_view namespace_name, std::string_view name) {
    const std::hash<std::string_view> hash;
    return hash(namespace_name) * 31 + hash(name);
}

}  // namespace

std::size_t Store::Hash::operator()(const KeyView& key) const {
    return hash_of(key.namespace_name, key.name);
}
std::size_t Store::Hash::operator()(const StoredObject& object) const {
    return hash_of(object->namespace_name, object->name);
}
bool Store::Equal::operator()(const StoredObject& one, const StoredObject& other) const {
    return one->name == other->name && one->namespace_name == other->namespace_name;
}
bool Store::Equal::operator()(const KeyView& key, const StoredObject& object) const {
    return key.name == object->name && key.namespace_name == object->namespace_name;
}
bool Store::Equal::operator()(const StoredObject& object, const KeyView& key) const {
    return (*this)(key, object);
}

Store::Store(std::vector<Index> indexes) : indexes_(std::move(indexes)), words_(indexes_.size()) {}

StoredObject Store::find(const ObjectKey& key) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(KeyView{key.namespace_name, key.name});
    return found == objects_.end() ? nullptr : *found;
}

std::vector<StoredObject> Store::all() const {
    const std::shared_lock lock(mutex_);
    return {objects_.begin(), objects_.end()};
}

std::vector<StoredObject> Store::in_namespace(std::string_view name) const {
    std::vector<StoredObject> found;
    const std::shared_lock lock(mutex_);
    std::ranges::copy_if(objects_, std::back_inserter(found), [&](const StoredObject& object) {
        return object->namespace_name == name;
    });
    return found;
}

std::vector<StoredObject> Store::by_index(std::string_view index, std::string_view word) const {
    const std::shared_lock lock(mutex_);
    const auto at = std::ranges::find(indexes_, index, &Index::name);
    if (at == indexes_.end()) return {};
    const Words& words = words_[static_cast<std::size_t>(at - indexes_.begin())];
    const auto found = words.find(std::string(word));
    if (found == words.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::size_t Store::size() const {
    const std::shared_lock lock(mutex_);
    return objects_.size();
}

void Store::enter(const StoredObject& object) {
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
        for (auto& word : indexes_[i].words(*object)) words_[i][std::move(word)].insert(object);
    }
}

void Store::leave(const StoredObject& object) {
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
        for (const auto& word : indexes_[i].words(*object)) {
            const auto found = words_[i].find(word);
            if (found == words_[i].end()) continue;
            found->second.erase(object);
            if (found->second.empty()) words_[i].erase(found);
        }
    }
}

StoredObject Store::put(StoredObject object) {
    StoredObject before;
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(object);
    if (found != objects_.end()) {
        before = *found;
        leave(before);
        objects_.erase(found);
    }
    enter(object);
    objects_.insert(std::move(object));
    return before;
}

StoredObject Store::erase(const ObjectKey& key) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(KeyView{key.namespace_name, key.name});
    if (found == objects_.end()) return nullptr;
    StoredObject before = *found;
    leave(before);
    objects_.erase(found);
    return before;
}

}  // namespace aliquot::kube
