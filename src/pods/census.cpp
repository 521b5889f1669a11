// SPDX-License-Identifier: Apache-2.0
#include "pods/census.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/latest.h"
#include "base/log.h"
#include "k8s/cgroup.h"
#include "os/process_stat.h"
#include "pods/checkpoint.h"
#include "pods/holder_join.h"
#include "pods/host_view.h"
#include "pods/log_names.h"

namespace aliquot::pods {
namespace {

constexpr std::size_t kMostStatBytes = 4096;
constexpr auto kShortestPause = std::chrono::milliseconds(1000);  // between questions to kubelet

/// What kubelet tells of a pod's devices, for naming its processes.
struct PodDevices {
    PodName name;
    std::set<std::string> containers;
};

}  // namespace

std::string_view to_text(Degraded degraded) {
    switch (degraded) {
        case Degraded::kNoHostPid:
            return "no_hostpid";
        case Degraded::kNoPodIdentity:
            return "no_pod_identity";
        case Degraded::kStaleHolders:
            return "stale_holders";
    }
    return "unknown";
}

class Census::Implementation {
public:
    Implementation(const os::Root& root, os::Clock& clock, CensusOptions options, List list)
        : root_(root),
          clock_(clock),
          options_(std::move(options)),
          list_(std::move(list)),
          names_(root, options_.pod_logs, options_.container_logs),
          join_(options_.settle),
          told_at_(clock.now()) {
        published_.publish({});
    }

    void refresh() {
        std::unique_lock lock(mutex_);
        const auto now = clock_.now();
        read_files(now);
        if (list_) {
            const bool early =
                changed_ && !failing_ && (!asked_ || now - *asked_ >= kShortestPause);
            if (early || now >= next_question_) ask(now, lock);
        }
        publish(clock_.now());
        forget_unasked(now);
    }

    void look() {
        const std::scoped_lock lock(mutex_);
        const auto now = clock_.now();
        read_files(now);
        publish(now);
    }

    [[nodiscard]] std::shared_ptr<const Holders> holders() const { return published_.get().value; }

    Belonging belonging_of(std::uint32_t pid) {
        const std::scoped_lock lock(mutex_);
        const auto now = clock_.now();
        if (!view_) look_at_processes(now);
        if (*view_ == HostView::kNone || *view_ == HostView::kOwn) return {};
        constexpr int kTries = 3;  // a pid that is given to another process while we read
        for (int i = 0; i < kTries; ++i) {
            const auto stat = read_stat(pid);
            if (!stat) return Belonging{};
            if (!*stat) return gone(pid);
            const auto known = processes_.find(pid);
            if (known != processes_.end() && is_current(known->second, **stat, now)) {
                known->second.asked = now;
                known->second.cpu_ticks = (*stat)->cpu_ticks;
                return belonging(known->second);
            }
            const auto text = root_.read(directory_of(pid) + "/cgroup", k8s::kMostCgroupBytes);
            if (!text && text.error().code == ErrorCode::kPermission) return Belonging{};
            const auto again = read_stat(pid);
            const bool same =
                again && again->has_value() && (*again)->start_ticks == (*stat)->start_ticks;
            if (!text || !same) continue;
            return belonging(remember(pid, **stat, *text, now));
        }
        return gone(pid);
    }

private:
    struct Process {
        std::uint64_t start_ticks = 0;
        std::uint64_t cpu_ticks = 0;
        std::string command;
        std::optional<k8s::CgroupPlace> place;  // empty: the host's
        os::TimePoint read;
        os::TimePoint asked;
    };

    [[nodiscard]] std::string directory_of(std::uint32_t pid) const {
        return options_.proc + "/" + std::to_string(pid);
    }

    void look_at_processes(os::TimePoint now) {
        const HostView view = look_at_proc(root_, options_.proc);
        if (view_ != view && (view == HostView::kNone || view == HostView::kOwn)) {
            log::warning("pods.no_hostpid",
                         {{"proc", options_.proc},
                          {"found", view == HostView::kNone ? "no processes" : "one container's"},
                          {"expected", "the host's processes: hostPID: true"}});
        }
        view_ = view;
        next_view_ = now + options_.stale_after;
        if (view == HostView::kNone) next_view_ = now + options_.between_lists;
    }

    void read_files(os::TimePoint now) {
        if (!view_ || now >= next_view_) look_at_processes(now);
        names_.refresh();
        changed_ |= read_checkpoint();
    }

    /// Returns whether it changed.
    bool read_checkpoint() {
        const auto status = root_.status(options_.checkpoint);
        if (!status) {
            const bool changed = checkpoint_.has_value();
            checkpoint_.reset();
            if (changed || join_.has_entries()) join_.set_entries(std::nullopt);
            return changed;
        }
        if (checkpoint_ == status->identity) return false;
        checkpoint_ = status->identity;
        const auto text = root_.read(options_.checkpoint, kMostCheckpointBytes);
        auto entries = text ? parse_checkpoint(*text) : text.error();
        if (!entries) {
            log::warning("pods.checkpoint_unread", {{"error", entries.error().message}});
            join_.set_entries(std::nullopt);
            return true;
        }
        join_.set_entries(*std::move(entries));
        return true;
    }

    /// Lets others in while kubelet answers.
    void ask(os::TimePoint now, std::unique_lock<std::mutex>& lock) {
        asked_ = now;
        changed_ = false;
        lock.unlock();
        auto listed = list_(options_.list_timeout);
        lock.lock();
        now = clock_.now();
        if (!listed) {
            if (!failing_) {
                log::warning("pods.holders_unknown", {{"error", listed.error().message}});
            }
            failing_ = true;
            next_question_ = now + options_.between_lists;
            return;
        }
        failing_ = false;
        told_at_ = now;
        join_.set_listed(*std::move(listed), now);
        next_question_ =
            now + (join_.wants_another_answer() ? options_.settle : options_.between_lists);
    }

    void publish(os::TimePoint now) {
        const bool stale = list_ ? now - told_at_ >= options_.stale_after : !join_.has_entries();
        if (list_ && stale) join_.forget_listed();

        Holders next{.list = join_.join(names_)};
        devices_.clear();
        bool nameless = now < nameless_until_;
        for (const Holder& holder : next.list) {
            nameless |= holder.owner.pod.empty() || holder.owner.pod_uid.empty();
            if (holder.owner.pod_uid.empty()) continue;
            PodDevices& pod = devices_[holder.owner.pod_uid];
            pod.name = {holder.owner.pod_namespace, holder.owner.pod};
            pod.containers.insert(holder.owner.container);
        }
        const bool blind = *view_ == HostView::kNone || *view_ == HostView::kOwn;
        if (blind || now < outside_until_) {
            next.degraded.push_back(Degraded::kNoHostPid);
        }
        if (nameless) next.degraded.push_back(Degraded::kNoPodIdentity);
        if (stale) next.degraded.push_back(Degraded::kStaleHolders);

        const auto before = published_.get().value;
        if (before->list == next.list && before->degraded == next.degraded) return;
        published_.publish(std::move(next));
    }

    /// Empty inside: there is no such process. An error: it may not be read.
    Result<std::optional<os::ProcessStat>> read_stat(std::uint32_t pid) const {
        const auto text = root_.read(directory_of(pid) + "/stat", kMostStatBytes);
        if (!text) {
            // ESRCH (kUnavailable): it ended between open() and read().
            const auto code = text.error().code;
            if (code == ErrorCode::kNotFound || code == ErrorCode::kUnavailable) {
                return std::optional<os::ProcessStat>();
            }
            return text.error();
        }
        auto stat = os::parse_stat(*text);
        if (stat && stat->has_ended()) return std::optional<os::ProcessStat>();
        if (!stat) return Error{ErrorCode::kInvalidInput, directory_of(pid) + "/stat: not a line"};
        return stat;
    }

    /// A process of the host may still be moved to where it belongs; one that took another program
    /// may just have been put there.
    [[nodiscard]] bool is_current(const Process& process, const os::ProcessStat& stat,
                                  os::TimePoint now) const {
        return process.start_ticks == stat.start_ticks && process.command == stat.command &&
               (process.place || now - process.read < options_.between_lists);
    }

    const Process& remember(std::uint32_t pid, const os::ProcessStat& stat,
                            const std::string& cgroup, os::TimePoint now) {
        if (processes_.size() >= options_.most_processes && !processes_.contains(pid)) {
            std::erase_if(processes_, [&](const auto& entry) { return entry.second.asked < now; });
            if (processes_.size() >= options_.most_processes) processes_.clear();
        }
        return processes_[pid] = {.start_ticks = stat.start_ticks,
                                  .cpu_ticks = stat.cpu_ticks,
                                  .command = stat.command,
                                  .place = k8s::place_of(cgroup),
                                  .read = now,
                                  .asked = now};
    }

    void forget_unasked(os::TimePoint now) {
        if (now < next_cleaning_) return;
        next_cleaning_ = now + options_.stale_after;
        std::erase_if(processes_, [&](const auto& entry) {
            return now - entry.second.asked > options_.stale_after;
        });
    }

    Belonging gone(std::uint32_t pid) {
        Belonging result{.kind = Belonging::Kind::kGone};
        const auto known = processes_.find(pid);
        if (known != processes_.end()) {
            result = belonging(known->second);
            result.kind = Belonging::Kind::kGone;
            processes_.erase(known);
        } else if (*view_ == HostView::kNode) {
            // The driver may number it as a machine outside of this node does.
            outside_until_ = clock_.now() + options_.between_lists;
            result.kind = Belonging::Kind::kUnknown;
        }
        return result;
    }

    Belonging belonging(const Process& process) {
        Belonging result{.kind = Belonging::Kind::kHost,
                         .start_ticks = process.start_ticks,
                         .cpu_ticks = process.cpu_ticks,
                         .command = process.command};
        if (!process.place) return result;
        result.kind = Belonging::Kind::kPod;
        result.owner = owner_of(*process.place);
        if (result.owner.pod.empty()) nameless_until_ = clock_.now() + options_.between_lists;
        return result;
    }

    Owner owner_of(const k8s::CgroupPlace& place) {
        Owner owner{.pod_uid = place.pod_uid, .container_id = place.container_id};
        const auto devices = devices_.find(place.pod_uid);
        const ContainerName* const container = names_.container(place.container_id);
        const PodName* name = names_.pod(place.pod_uid);
        if (name == nullptr && container != nullptr) name = &container->pod;
        if (name == nullptr && devices != devices_.end()) name = &devices->second.name;
        if (name != nullptr) {
            owner.pod_namespace = name->pod_namespace;
            owner.pod = name->pod;
        }
        if (container != nullptr) {
            owner.container = container->container;
            return owner;
        }
        if (devices != devices_.end()) {
            const auto& holding = devices->second.containers;
            if (holding.size() == 1) owner.container = *holding.begin();
        } else {
            owner.container = names_.only_container(place.pod_uid).value_or("");
        }
        // That container has another id: this is the pod's sandbox.
        if (names_.knows({{owner.pod_namespace, owner.pod}, owner.container})) {
            owner.container.clear();
        }
        return owner;
    }

    const os::Root& root_;
    os::Clock& clock_;
    const CensusOptions options_;
    const List list_;
    std::mutex mutex_;  // guards all that follows but what is published
    LogNames names_;
    HolderJoin join_;
    std::optional<os::FileStatus::Identity> checkpoint_;
    std::map<std::string, PodDevices> devices_;  // by uid

    os::TimePoint told_at_;  // or begun, when kubelet has not told anything yet
    std::optional<os::TimePoint> asked_;
    os::TimePoint next_question_{};
    bool failing_ = false;
    bool changed_ = false;  // the checkpoint, since kubelet was asked

    std::optional<HostView> view_;
    os::TimePoint next_view_{};
    std::unordered_map<std::uint32_t, Process> processes_;
    os::TimePoint next_cleaning_{};
    os::TimePoint nameless_until_{};  // a process of a pod without a name was seen lately
    os::TimePoint outside_until_{};   // one that is not to be seen from here

    Latest<Holders> published_;
};

Census::Census(const os::Root& root, os::Clock& clock, CensusOptions options, List list)
    : implementation_(
          std::make_unique<Implementation>(root, clock, std::move(options), std::move(list))) {}

Census::~Census() = default;

void Census::refresh() { implementation_->refresh(); }

void Census::look() { implementation_->look(); }

std::shared_ptr<const Holders> Census::holders() const { return implementation_->holders(); }

Belonging Census::belonging_of(std::uint32_t pid) { return implementation_->belonging_of(pid); }

}  // namespace aliquot::pods
