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

using Device = std::pair<std::string, std::string>;  // resource, id

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
        const auto found = places.find(key_of(entry.written));
        entry.listed.reset();
        if (found == places.end()) continue;
        entry.listed = found->second;
        places.erase(found);  // the next entry that looks the same is another pod
    }
}

bool HolderJoin::wants_another_answer() const {
    return entries_ && std::ranges::any_of(*entries_, [](const Entry& entry) {
               return entry.missed && !entry.ended;
           });
}

std::vector<Holder> HolderJoin::join(const LogNames& names) const {
    std::vector<Holder> holders;
    std::set<std::size_t> joined;         // of listed_
    std::map<Device, std::string> taken;  // by the uid of its pod; "": told of, not written down
    std::set<std::string> told;           // uids of pods that kubelet tells of
    const auto add = [&](Holder holder) {
        for (const std::string& id : holder.ids) {
            taken.emplace(Device{holder.resource, id}, holder.owner.pod_uid);
        }
        holders.push_back(std::move(holder));
    };

    if (entries_) {
        for (const Entry& entry : *entries_) {
            if (!entry.listed) continue;
            const kubelet::Holder& listed = (*listed_)[*entry.listed];
            // The device went from one pod to another since the checkpoint was read.
            const PodName* const name = names.pod(entry.written.pod_uid);
            if (name != nullptr && *name != PodName{listed.pod_namespace, listed.pod}) continue;
            joined.insert(*entry.listed);
            told.insert(entry.written.pod_uid);
            add({.owner = {.pod_uid = entry.written.pod_uid,
                           .pod_namespace = listed.pod_namespace,
                           .pod = listed.pod,
                           .container = listed.container},
                 .resource = listed.resource,
                 .ids = listed.ids});
        }
    }
    if (listed_) {
        for (std::size_t i = 0; i < listed_->size(); ++i) {
            if (joined.contains(i)) continue;
            const kubelet::Holder& listed = (*listed_)[i];
            const auto uids = names.uids_of({listed.pod_namespace, listed.pod});
            add({.owner = {.pod_uid = uids.size() == 1 ? uids.front() : std::string(),
                           .pod_namespace = listed.pod_namespace,
                           .pod = listed.pod,
                           .container = listed.container},
                 .resource = listed.resource,
                 .ids = listed.ids});
        }
    }
    if (entries_) {
        for (const Entry& entry : *entries_) {
            // An init container is never told of, but its pod is.
            if (entry.listed || (entry.ended && !told.contains(entry.written.pod_uid))) continue;
            Holder holder{
                .owner = {.pod_uid = entry.written.pod_uid, .container = entry.written.container},
                .resource = entry.written.resource};
            // What is another's by now, or went from an init container to the pod's next one.
            std::ranges::copy_if(entry.written.ids, std::back_inserter(holder.ids),
                                 [&](const std::string& id) {
                                     return !taken.contains(Device{holder.resource, id});
                                 });
            if (holder.ids.empty()) continue;
            if (const PodName* const name = names.pod(holder.owner.pod_uid)) {
                holder.owner.pod_namespace = name->pod_namespace;
                holder.owner.pod = name->pod;
            }
            add(std::move(holder));
        }
    }
    std::ranges::sort(holders, {}, [](const Holder& holder) {
        return std::tie(holder.owner.pod_namespace, holder.owner.pod, holder.owner.container,
                        holder.resource, holder.owner.pod_uid);
    });
    return holders;
}

}  // namespace aliquot::pods
