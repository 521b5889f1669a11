// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "cluster_jobs/workload.h"
#include "controller/fit_question.h"
#include "controller/placement_options.h"
#include "document/value.h"
#include "kube_client/store.h"

namespace aliquot::controller {

struct KueueCaches;

/// Answers Kueue's admission checks of controller aliquot.dev/placement by the placement's books: those of Workloads that
/// have quota as soon as they have it, in the order of their creation; those that wait for quota ahead, while there is room
/// for them beside all others, so that Kueue admits them in one step. A thread of its own from start() to stop(), and some
/// that write.
class AdmissionChecks {
public:
    /// Nothing: the books do not know in time.
    using Ask = std::function<std::optional<std::vector<FitAnswer>>(
        const FitInquiry& inquiry, std::chrono::milliseconds patience)>;
    struct Options {
        /// How long quota may be reserved without an answer of the books before we say yes: fails open.
        std::chrono::seconds patience{10};
    };

    /// ask    nullptr: nobody keeps books
    /// jobs   Jobs with their status; outlives it
    AdmissionChecks(PlacementWorld world, Options options, Ask ask, const kube_client::Store& jobs);
    ~AdmissionChecks();
    AdmissionChecks(const AdmissionChecks&) = delete;
    AdmissionChecks& operator=(const AdmissionChecks&) = delete;

    /// kueue   outlives it; start() once
    void start(const KueueCaches& kueue);
    void stop();
    /// A Workload has changed. Before start(), too.
    void note(const kube_client::ObjectKey& workload);
    /// When those that wait will likely start, by uid of the Workload.
    void expect(std::map<std::string, std::chrono::system_clock::time_point> likely);
    /// Whether jobs are being admitted just now: writes that can wait should.
    [[nodiscard]] bool is_crowded() const;
    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    using Steady = std::chrono::steady_clock;
    /// A Workload whose check is ours to answer.
    struct Waiting {
        document::Value head;  // its metadata: what is written goes by it
        std::string uid;
        std::string created;
        std::int32_t priority = 0;
        std::vector<std::string> checks;
        FitQuestion question;        // of one without quota: only while it is among the first
        kube_client::ObjectKey job;  // whose pods they will be; without a name: of something else
        Steady::time_point since;    // it has quota
        Steady::time_point not_before;  // what was written is to be seen by then
        bool is_ready = false;          // of one without quota: it says Ready
    };
    using ByKey = std::map<kube_client::ObjectKey, Waiting>;
    struct Promise {
        FitQuestion question;
        Steady::time_point until;
        kube_client::ObjectKey job;
    };

    void run(const std::stop_token& stop);
    std::set<kube_client::ObjectKey> wait_for_news(const std::stop_token& stop);
    void follow_kueue(const std::stop_token& stop);
    void keep_active(const std::stop_token& stop);
    void take_all();
    void take(const kube_client::ObjectKey& key);
    static Waiting head_of(const document::Value& workload);
    /// With its question. likely: flavours of one without quota
    void fill(Waiting& one, const document::Value& workload,
              const std::vector<std::string>& likely) const;
    /// The first of those without quota, each with its question.
    std::vector<ByKey::value_type*> first_ahead();
    static Waiting& keep(ByKey& list, const kube_client::ObjectKey& key, Waiting made,
                         Steady::time_point now);
    void drop_old_promises(Steady::time_point now);
    [[nodiscard]] bool has_come_true(const Promise& promise) const;
    void answer_reserved(Steady::time_point now, const std::stop_token& stop);
    void answer_some(const std::vector<ByKey::value_type*>& some, Steady::time_point now,
                     const std::stop_token& stop);
    [[nodiscard]] std::optional<cluster_jobs::CheckAnswer> judge(const Waiting& one,
                                                                 const FitAnswer* answer,
                                                                 Steady::time_point now);
    void answer_ahead(Steady::time_point now, const std::stop_token& stop);
    [[nodiscard]] FitInquiry beside_promises(const std::vector<ByKey::value_type*>& some) const;
    void promise(const kube_client::ObjectKey& key, const Waiting& one, Steady::time_point now);
    void write(const kube_client::ObjectKey& key, Waiting& one,
               const cluster_jobs::CheckAnswer& answer, Steady::time_point now,
               const std::stop_token& stop);
    [[nodiscard]] cluster_jobs::CheckAnswer again_later(const Waiting& one,
                                                        const FitAnswer& answer);

    const PlacementWorld world_;
    const Options options_;
    const Ask ask_;
    const kube_client::Store& jobs_;
    const KueueCaches* kueue_ = nullptr;

    mutable std::mutex mutex_;  // guards what follows, up to the thread's own
    std::condition_variable_any changed_;
    std::set<kube_client::ObjectKey> news_;
    std::map<std::string, std::chrono::system_clock::time_point> likely_;

    // Of the thread.
    std::vector<std::string> our_checks_;
    std::map<std::string, document::Value> flavors_;
    /// By ClusterQueue, of those where admission cannot choose.
    std::map<std::string, std::vector<std::string>> only_flavors_;
    std::string followed_text_;  // all of these
    bool knows_all_ = false;     // news are enough from now on
    ByKey reserved_;
    ByKey ahead_;
    std::map<kube_client::ObjectKey, Promise> promised_;
    Steady::time_point followed_;
    Steady::time_point dropped_;
    Steady::time_point answered_ahead_;

    std::atomic<Steady::time_point> admitted_at_{Steady::time_point{}};
    std::atomic<std::uint64_t> ready_{0};
    std::atomic<std::uint64_t> retries_{0};
    std::atomic<std::uint64_t> ready_ahead_{0};
    std::atomic<std::uint64_t> open_{0};  // said yes without knowing
    std::atomic<std::uint64_t> failures_{0};

    ThreadPool writers_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::controller
