// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "controller/binding_reviews.h"
#include "controller/extender.h"
#include "controller/fit_question.h"
#include "controller/placement_counters.h"
#include "controller/placement_informers.h"
#include "controller/placement_options.h"
#include "controller/preemptor.h"
#include "controller/released_pods.h"
#include "controller/shared_books.h"
#include "controller/volume_watch.h"
#include "kube_client/event_recorder.h"
#include "kube_client/informer.h"
#include "scheduling/gang_objects.h"
#include "scheduling/gangs.h"
#include "scheduling/moved_pods.h"

namespace aliquot::controller {

/// What the role does, on a thread of its own.
class PlacementWork {
public:
    PlacementWork(PlacementWorld dependencies, const PlacementOptions& options)
        : world_(std::move(dependencies)),
          options_(options),
          books_({.targets = options.targets}),
          bindings_({.books = books_,
                     .may_answer = [this] { return world_.elector.leads() && has_read_all_; },
                     .catch_up = [this](milliseconds patience) { return catch_up(patience); },
                     .next_generation = [this] { return ++generation_; }}),
          extender_({.books = books_, .is_synced = [this] { return has_read_all_.load(); }},
                    options.extender.client_names),
          gangs_(scheduling::gang_objects(world_.api)),
          events_(world_.api,
                  {.controller = "aliquot.dev/controller", .instance = "aliquot-controller"}),
          released_({world_.api, world_.elector, world_.now, events_, world_.monotonic},
                    options.unfit_patience),
          volumes_(world_.api, [this] { wake(); }),
          preemptor_(world_, events_, options_),
          nodes_(world_.api, kube_client::resources::nodes(), nodes_of_cluster(),
                 [this](const auto& key, const auto&, const auto&) { note(changed_nodes_, key); }),
          pods_(world_.api, kube_client::resources::pods(), pods_of_cluster(),
                [this](const auto& key, const auto&, const auto& now) {
                    if (options_.strict) bindings_.note(key, now);
                    note(changed_pods_, key);
                }) {}

    void start() {
        nodes_.start();
        pods_.start();
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    void stop() { thread_ = {}; }
    void wake() {
        {
            const std::scoped_lock lock(mutex_);
            look_ = true;
        }
        changed_.notify_all();
    }
    [[nodiscard]] bool is_synced() const { return nodes_.state().synced && pods_.state().synced; }
    [[nodiscard]] bool serves(const std::string& resource) const {
        const std::scoped_lock lock(mutex_);
        return served_.contains(resource);
    }
    [[nodiscard]] std::string metrics() const {
        return counters_.text() + (options_.strict ? bindings_.metrics() : "") +
               (options_.extender.is_on() ? extender_.metrics() : "");
    }
    BindingReviews& bindings() { return bindings_; }
    Extender& extender() { return extender_; }
    /// By any thread. Nothing: the cluster is not known yet, or the books were not free in time.
    std::optional<std::vector<FitAnswer>> ask(const FitInquiry& inquiry,
                                              std::chrono::milliseconds patience) {
        if (!has_read_all_) return std::nullopt;
        auto books = books_.within(patience);
        if (!books) return std::nullopt;
        return answer(inquiry, *books);
    }

private:
    using Decision = scheduling::Decision;
    using GangTurn = scheduling::GangTurn;
    using GpuPod = scheduling::GpuPod;
    using Steady = std::chrono::steady_clock;
    using milliseconds = std::chrono::milliseconds;

    /// A gated pod.
    struct Waiting {
        GpuPod pod;
        Steady::time_point seen;
        Steady::time_point not_before;  // after a PATCH that failed; or its volumes are not known
        std::string why;                // it waits; as last told
        std::optional<Steady::time_point> told;
    };
    /// What is written to let a pod go, and what came of it.
    struct Release {
        Waiting* waiting = nullptr;
        scheduling::Decision decision;
        kube_client::ObjectKey key;
        std::string patch;
        bool is_done = false;
        std::string failure;
    };
    /// A place in the queue: of a pod that goes alone, or of a gang.
    struct Queued {
        const GpuPod* rank = nullptr;
        Waiting* alone = nullptr;
        const GangTurn* turn = nullptr;
    };

    void note(std::set<kube_client::ObjectKey>& changed, const kube_client::ObjectKey& key) {
        {
            const std::scoped_lock lock(mutex_);
            changed.insert(key);
            ++noted_;
        }
        changed_.notify_all();
    }
    void run(const std::stop_token& stop);
    void take_news();
    /// Waits until the books know all that has been told so far; false: not in time.
    bool catch_up(milliseconds patience);
    void take_node(const kube_client::ObjectKey& key);
    void take_pod(const kube_client::ObjectKey& key);
    void look_at_volumes();
    void drop_pod(const kube_client::ObjectKey& key);
    [[nodiscard]] std::vector<Queued> queue_of(const std::vector<GangTurn>& turns);
    void place(const std::stop_token& stop);
    void place_alone(Waiting& waiting, std::map<std::string, Decision>& failed,
                     const std::stop_token& stop);
    /// What is done for a pod that has no place; empty: nothing.
    std::string preempt(const GpuPod& pod, const std::stop_token& stop);
    void place_gang(const GangTurn& turn, const std::stop_token& stop);
    bool place_together(const GangTurn& turn, const std::vector<const GpuPod*>& pods,
                        const std::stop_token& stop);
    void undo_half_placed(const std::vector<GangTurn>& turns, const std::stop_token& stop);
    void keep_nodes(const std::vector<Queued>& queue);
    std::string keep_for(const Queued& one);
    std::optional<Release> release_of(Waiting& waiting, const Decision& decision);
    void send(Release& one, const std::stop_token& stop) const;
    bool finish(const Release& one);
    bool release(Waiting& waiting, const Decision& decision, const std::stop_token& stop);
    void send_releases(const std::stop_token& stop);
    void tell_moved(const GpuPod& pod, const Decision& decision);
    void say_why(Waiting& waiting, const std::string& why);
    void say_why(const GangTurn& turn, const std::string& why);
    void tend_released(const std::stop_token& stop);
    void tend_seats();
    void tell_who_leads(const std::stop_token& stop);
    [[nodiscard]] std::map<std::string, std::string> hostnames(const Decision& decision) const;
    void gauge_gangs(const std::vector<GangTurn>& turns);
    void gauge();

    const PlacementWorld world_;
    const PlacementOptions options_;
    PlacementCounters counters_;

    mutable std::mutex mutex_;  // guards what follows, up to the thread's own
    std::condition_variable_any changed_;
    std::set<kube_client::ObjectKey> changed_nodes_;
    std::set<kube_client::ObjectKey> changed_pods_;
    std::set<std::string, std::less<>> served_;
    std::uint64_t noted_ = 0;  // pieces of news
    std::uint64_t taken_ = 0;  // of them, those that the books know
    bool look_ = true;

    SharedBooks books_;
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<bool> has_read_all_{false};  // the books know the cluster
    BindingReviews bindings_;
    Extender extender_;

    // Of the thread.
    std::map<std::string, scheduling::ServedNode> served_nodes_;
    std::map<kube_client::ObjectKey, std::string> uids_;
    std::map<std::string, Waiting> waiting_;            // by uid
    std::vector<Release> releases_;                     // of pods that have a place in the books
    std::map<std::string, Steady::time_point> let_go_;  // by uid, until the watch shows it
    std::optional<bool> told_to_lead_;  // what the label of this pod says; empty: not known
    Steady::time_point tell_not_before_;
    std::set<std::string> kept_;  // holders that nodes are kept for
    scheduling::MovedPods moved_;
    scheduling::Gangs gangs_;
    std::map<std::string, Steady::time_point> half_placed_;  // gangs by id, since when
    Steady::time_point looked_;                              // at the sizes of gangs
    Steady::time_point looked_anew_;                         // at all of them

    kube_client::EventRecorder events_;
    ReleasedPods released_;
    VolumeWatch volumes_;
    Preemptor preemptor_;
    kube_client::Informer nodes_;
    kube_client::Informer pods_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::controller
