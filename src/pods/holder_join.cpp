// SPDX-License-Identifier: Apache-2.0
#include "pods/holder_join.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace aliquot::pods {
namespace {

/// A container's devices of a resource: no two containers have the same, unless an ended pod is
/// still told of.
using Key = std::tuple<std::string, std::string, std::vector<std::string>>;

Key key_of(const CheckpointEntry& entry) { return {entry.container, entry.resource, entry.ids}; }
Key key_of(const kubelet::Holder& holder) {
    return {holder.container, holder.resource, holder.ids};
}

PodName name_of(const kubelet::Holder& holder) { return {holder.pod_namespace, holder.pod}; }

}  // namespace

void HolderJoin::set_entries(std::optional<std::vector<CheckpointEntry>> entries) {
    std::map<CheckpointEntry, Entry> before;
    if (entries_) {
        for (Entry& entry : *entries_) {
            CheckpointEntry key = entry.written;
            before.emplace(std::move(key), std::move(entry));
        }
    }
    entries_.reset();
    if (entries) {
        entries_.emplace();
        for (CheckpointEntry& written : *entries) {
            const auto known = before.find(written);
            entries_->push_back(known == before.end() ? Entry{.written = std::move(written)}
                                                      : known->second);
        }
    }
    match();
}

void HolderJoin::set_listed(std::vector<kubelet::Holder> listed, os::TimePoint now) {
    listed_ = std::move(listed);
    match();
    if (!entries_) return;
    for (Entry& entry : *entries_) {
        if (entry.listed) {
            // Only here: an answer of before the entry was written tells of another pod.
            if (!entry.name) entry.name = name_of((*listed_)[*entry.listed]);
            entry.missed.reset();
            entry.ended = false;
        } else if (!entry.missed) {
            entry.missed = now;
        } else if (now - *entry.missed >= settle_) {
            entry.ended = true;
        }
    }
}

void HolderJoin::forget_listed() {
    listed_.reset();
    match();
}

void HolderJoin::match() {
    if (!entries_) return;
    std::multimap<Key, std::size_t> places;
    if (listed_) {
        for (std::size_t i = 0; i < listed_->size(); ++i) places.emplace(key_of((*listed_)[i]), i);
    }
    for (Entry& entry : *entries_) {
        entry.listed.reset();
        const auto [first, last] = places.equal_range(key_of(entry.written));
        const auto found = std::find_if(first, last, [&](const auto& place) {
            return !entry.name || *entry.name == name_of((*listed_)[place.second]);
        });
        if (found == last) continue;
        entry.listed = found->second;
        places.erase(found);  // the next entry that looks the same is another pod
    }
}

/// By what name the log directories know the pod of each entry.
void HolderJoin::learn(const LogNames& names) {
    if (!entries_) return;
    bool changed = false;
    for (Entry& entry : *entries_) {
        const PodName* const name = names.pod(entry.written.pod_uid);
        if (name != nullptr && entry.name != *name) {
            entry.name = *name;
            changed = true;
        }
    }
    if (changed) match();
}

bool HolderJoin::wants_another_answer() const {
    return entries_ && std::ranges::any_of(*entries_, [](const Entry& entry) {
               return entry.missed && !entry.ended;
           });
}

/// What is put together, one holder after another.
class HolderJoin::Joined {
public:
    void add(Holder holder) {
        for (const std::string& id : holder.ids) taken_.emplace(holder.resource, id);
        if (!holder.owner.pod_uid.empty()) {
            told_.try_emplace(holder.owner.pod_uid,
                              PodName{holder.owner.pod_namespace, holder.owner.pod});
        }
        holders_.push_back(std::move(holder));
    }
    [[nodiscard]] bool is_taken(const std::string& resource, const std::string& id) const {
        return taken_.contains({resource, id});
    }
    /// The name of a pod that has been added.
    [[nodiscard]] const PodName* told(const std::string& uid) const {
        const auto found = told_.find(uid);
        return found == told_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] std::vector<Holder> sorted() && {
        std::ranges::sort(holders_, {}, [](const Holder& holder) {
            return std::tie(holder.owner.pod_namespace, holder.owner.pod, holder.owner.container,
                            holder.resource, holder.owner.pod_uid);
        });
        return std::move(holders_);
    }

private:
    std::vector<Holder> holders_;
    std::set<std::pair<std::string, std::string>> taken_;  // resource, id
    std::map<std::string, PodName> told_;                  // by uid
};

void HolderJoin::add_listed(const LogNames& names, Joined& joined) const {
    if (!listed_) return;
    std::vector<std::string> uids(listed_->size());
    if (entries_) {
        for (const Entry& entry : *entries_) {
            if (!entry.listed) continue;
            uids[*entry.listed] = entry.written.pod_uid;
        }
    }
    for (std::size_t i = 0; i < listed_->size(); ++i) {
        const kubelet::Holder& listed = (*listed_)[i];
        if (uids[i].empty()) {
            const auto known = names.uids_of({listed.pod_namespace, listed.pod});
            if (known.size() == 1) uids[i] = known.front();
        }
        joined.add({.owner = {.pod_uid = uids[i],
                              .pod_namespace = listed.pod_namespace,
                              .pod = listed.pod,
                              .container = listed.container},
                    .resource = listed.resource,
                    .ids = listed.ids});
    }
}

void HolderJoin::add_written(const LogNames& names, Joined& joined) const {
    if (!entries_) return;
    for (const auto& [written, known, listed, missed, ended] : *entries_) {
        if (listed) continue;
        // An init container is never told of, but its pod is.
        const PodName* name = joined.told(written.pod_uid);
        if (name == nullptr && ended) continue;
        if (name == nullptr) name = names.pod(written.pod_uid);
        // Neither told of nor named: its pod is no more, or is only coming into being.
        if (name == nullptr && listed_) continue;
        Holder holder{.owner = {.pod_uid = written.pod_uid, .container = written.container},
                      .resource = written.resource};
        // Without what is another's by now, or went from an init container to the pod's next one.
        for (const std::string& id : written.ids) {
            if (!joined.is_taken(written.resource, id)) holder.ids.push_back(id);
        }
        if (holder.ids.empty()) continue;
        if (name != nullptr) {
            holder.owner.pod_namespace = name->pod_namespace;
            holder.owner.pod = name->pod;
        }
        joined.add(std::move(holder));
    }
}

std::vector<Holder> HolderJoin::join(const LogNames& names) {
    learn(names);
    Joined joined;
    add_listed(names, joined);
    add_written(names, joined);
    return std::move(joined).sorted();
}

}  // namespace aliquot::pods
