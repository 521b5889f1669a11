// SPDX-License-Identifier: Apache-2.0
#include "kube_client/store.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace aliquot::kube_client {
namespace {

constexpr std::size_t kKeptPlain = 1000;
constexpr std::size_t kWordMost = 65'535;

/// The beginning of a packed object. Behind it: namespace, name, uid, version, packed text.
struct BlockHead {
    std::uint32_t text_size = 0;
    std::uint32_t packed_size = 0;
    std::uint16_t namespace_size = 0;
    std::uint16_t name_size = 0;
    std::uint16_t uid_size = 0;
    std::uint16_t version_size = 0;
};

struct Block {
    explicit Block(const char* bytes) {
        BlockHead head;
        std::memcpy(&head, bytes, sizeof head);
        const char* at = bytes + sizeof head;
        const auto cut = [&at](std::size_t size) {
            const std::string_view part(at, size);
            at += size;
            return part;
        };
        namespace_name = cut(head.namespace_size);
        name = cut(head.name_size);
        uid = cut(head.uid_size);
        version = cut(head.version_size);
        packed = cut(head.packed_size);
        text_size = head.text_size;
    }
    std::string_view namespace_name, name, uid, version, packed;
    std::size_t text_size = 0;
};

bool fits(const Object& object) {
    return object.json.size() < UINT32_MAX / 2 && object.namespace_name.size() <= kWordMost &&
           object.name.size() <= kWordMost && object.uid.size() <= kWordMost &&
           object.resource_version.size() <= kWordMost;
}

std::unique_ptr<char[]> make_block(const Object& object, std::string_view packed) {
    const BlockHead head{
        .text_size = static_cast<std::uint32_t>(object.json.size()),
        .packed_size = static_cast<std::uint32_t>(packed.size()),
        .namespace_size = static_cast<std::uint16_t>(object.namespace_name.size()),
        .name_size = static_cast<std::uint16_t>(object.name.size()),
        .uid_size = static_cast<std::uint16_t>(object.uid.size()),
        .version_size = static_cast<std::uint16_t>(object.resource_version.size())};
    const std::string_view parts[] = {object.namespace_name, object.name, object.uid,
                                      object.resource_version, packed};
    std::size_t size = sizeof head;
    for (const std::string_view part : parts) size += part.size();
    std::unique_ptr<char[]> block(new char[size]);
    std::memcpy(block.get(), &head, sizeof head);
    char* at = block.get() + sizeof head;
    for (const std::string_view part : parts) at += part.copy(at, part.size());
    return block;
}

std::size_t hash_of(std::string_view namespace_name, std::string_view name) {
    const std::hash<std::string_view> hash;
    return hash(namespace_name) * 31 + hash(name);
}

}  // namespace

Store::KeyView Store::Slot::key() const {
    if (plain) return {plain->namespace_name, plain->name};
    const Block block(packed.get());
    return {block.namespace_name, block.name};
}

Store::Head Store::Slot::head() const {
    if (plain) return {plain->uid, plain->resource_version};
    const Block block(packed.get());
    return {std::string(block.uid), std::string(block.version)};
}

std::size_t Store::Hash::operator()(const KeyView& key) const {
    return hash_of(key.namespace_name, key.name);
}
std::size_t Store::Hash::operator()(const Slot& slot) const { return (*this)(slot.key()); }
bool Store::Equal::operator()(const Slot& one, const Slot& other) const {
    return (*this)(one.key(), other);
}
bool Store::Equal::operator()(const KeyView& key, const Slot& slot) const {
    const KeyView other = slot.key();
    return key.name == other.name && key.namespace_name == other.namespace_name;
}
bool Store::Equal::operator()(const Slot& slot, const KeyView& key) const {
    return (*this)(key, slot);
}

Store::Store(std::vector<Index> indexes) : indexes_(std::move(indexes)), words_(indexes_.size()) {}

Store::Slot Store::slot_of(StoredObject object) {
    if (slots_.size() < kKeptPlain || !fits(*object)) return {std::move(object), nullptr};
    return {nullptr, make_block(*object, packer_.pack(object->json))};
}

StoredObject Store::object_of(const Slot& slot) const {
    if (slot.plain) return slot.plain;
    const Block block(slot.packed.get());
    // Our own bytes can be unpacked.
    return std::make_shared<const Object>(
        Object{.json = packer_.unpack(block.packed, block.text_size).value_or(""),
               .namespace_name = std::string(block.namespace_name),
               .name = std::string(block.name),
               .uid = std::string(block.uid),
               .resource_version = std::string(block.version)});
}

StoredObject Store::find(const ObjectKey& key) const {
    const std::shared_lock lock(mutex_);
    const auto found = slots_.find(KeyView{key.namespace_name, key.name});
    return found == slots_.end() ? nullptr : object_of(*found);
}

std::optional<Store::Head> Store::head(const ObjectKey& key) const {
    const std::shared_lock lock(mutex_);
    const auto found = slots_.find(KeyView{key.namespace_name, key.name});
    if (found == slots_.end()) return std::nullopt;
    return found->head();
}

std::vector<StoredObject> Store::all() const {
    const std::shared_lock lock(mutex_);
    std::vector<StoredObject> found;
    found.reserve(slots_.size());
    for (const Slot& slot : slots_) found.push_back(object_of(slot));
    return found;
}

std::vector<ObjectKey> Store::keys() const {
    const std::shared_lock lock(mutex_);
    std::vector<ObjectKey> found;
    found.reserve(slots_.size());
    for (const Slot& slot : slots_) {
        const KeyView key = slot.key();
        found.push_back({std::string(key.namespace_name), std::string(key.name)});
    }
    return found;
}

void Store::visit(const std::function<void(const Object& object)>& look) const {
    const std::shared_lock lock(mutex_);
    for (const Slot& slot : slots_) look(*object_of(slot));
}

std::vector<StoredObject> Store::by_index(std::string_view index, std::string_view word) const {
    const std::shared_lock lock(mutex_);
    const auto at = std::ranges::find(indexes_, index, &Index::name);
    if (at == indexes_.end()) return {};
    const Words& words = words_[static_cast<std::size_t>(at - indexes_.begin())];
    const auto found = words.find(std::string(word));
    if (found == words.end()) return {};
    std::vector<StoredObject> objects;
    for (const Slot* slot : found->second) objects.push_back(object_of(*slot));
    return objects;
}

std::size_t Store::size() const {
    const std::shared_lock lock(mutex_);
    return slots_.size();
}

void Store::enter(const Slot& slot, const Object& object) {
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
        for (auto& word : indexes_[i].words(object)) words_[i][std::move(word)].insert(&slot);
    }
}

void Store::leave(const Slot& slot, const Object& object) {
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
        for (const auto& word : indexes_[i].words(object)) {
            const auto found = words_[i].find(word);
            if (found == words_[i].end()) continue;
            found->second.erase(&slot);
            if (found->second.empty()) words_[i].erase(found);
        }
    }
}

StoredObject Store::put(StoredObject object, bool want_before) {
    StoredObject before;
    const std::unique_lock lock(mutex_);
    const auto found = slots_.find(KeyView{object->namespace_name, object->name});
    if (found != slots_.end()) {
        if (want_before || !indexes_.empty()) before = object_of(*found);
        if (!indexes_.empty()) leave(*found, *before);
        Slot slot = slot_of(object);
        found->plain = std::move(slot.plain);
        found->packed = std::move(slot.packed);
        enter(*found, *object);
        return want_before ? before : nullptr;
    }
    const auto at = slots_.insert(slot_of(object)).first;
    enter(*at, *object);
    return nullptr;
}

StoredObject Store::erase(const ObjectKey& key) {
    const std::unique_lock lock(mutex_);
    const auto found = slots_.find(KeyView{key.namespace_name, key.name});
    if (found == slots_.end()) return nullptr;
    StoredObject before = object_of(*found);
    leave(*found, *before);
    slots_.erase(found);
    return before;
}

}  // namespace aliquot::kube_client
