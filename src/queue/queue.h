// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/placement.h"
#include "placement/request.h"

/// Which waiting job starts next, where, and when the others will: a pure planner without clocks or I/O. The caller
/// says what time it is; the same calls in the same order give the same plans on every machine.
namespace aliquot::queue {

using JobId = std::uint64_t;  // the caller's; unique among jobs that wait or run; not 0
using Time = std::int64_t;    // ms since a moment that the caller chose; a span: ms. 0..2^50

inline constexpr Time kNever = INT64_MAX;
inline constexpr Time kLatest = Time{1} << 50;

struct Job {
    JobId id = 0;
    std::string queue;           // of set_queue(); one that was never set has no quota and weight 1
    std::string user;            // empty: all such are one user
    std::string name;            // what its run time is predicted by, with queue, user and shape
    placement::Request request;  // of one pod
    std::uint32_t gang = 1;     // pods, which start together or not at all; 1..placement::kMostGang
    std::int32_t priority = 0;  // higher first, before any fair share
    Time submitted = 0;         // orders jobs of one user; kept when it is queued again
    Time limit = 0;             // it is ended after so long; 0: no limit
    Time expected = 0;          // what its owner says it runs; 0: predicted from history
    bool preemptible = true;    // may be ended for a queue that wants its own quota back
};

/// What a queue may use. GPU compute counts in milli: 1000 is one GPU, a share counts as its part.
struct Queue {
    std::string name;
    std::string cohort;  // queues of one cohort lend what they do not use; empty: none
    std::optional<std::int64_t> quota_milli;  // its own; nullopt: no limit
    std::optional<std::int64_t>
        borrow_milli;          // beyond its quota, from its cohort; nullopt: what is idle
    std::uint32_t weight = 1;  // of its fair share, 1..1'000'000
    Time limit = 0;            // longest run of its jobs, where a job names none; 0: none
    Time min_run = 0;          // a job is not preempted before it ran so long
};

/// The published policies, to compare with; and ours.
enum class Policy : std::uint8_t {
    kFifo,        // in order of submission; the first that does not fit holds all others
    kSjf,         // shortest prediction first, passing over what does not fit
    kSrtf,        // least remaining first, ending longer ones: needs checkpoints that cost nothing
    kQssf,        // smallest predicted GPU time first, passing over what does not fit
    kBestEffort,  // in order of submission, passing over what does not fit
    kEasy,        // in order of submission; one reservation, backfill in order of submission
    kAliquot,     // priority, fair share; reservations, backfill by shortest prediction
};

struct Options {
    Policy policy = Policy::kAliquot;
    unsigned reservations = 2;        // blocked jobs that nobody may delay by predictions, 1..16
    unsigned window = 512;            // jobs that one backfill looks at, in order; 1..100'000
    Time half_life = 7 * 86'400'000;  // of the usage that fair share counts
    bool reclaim = false;             // preempt borrowers for a queue that is below its quota
    bool learn = true;                // predict from the run times of ended jobs
    Time first_guess = 3'600'000;     // of a run without estimate, limit or history
    placement::Options placement;
};

/// A job that starts now. Its devices are taken already.
struct Start {
    JobId id = 0;
    std::vector<placement::Placement> where;  // one for each pod
    Time ends = 0;                            // as predicted
};

/// A waiting job that others must not delay: it starts at `at` unless a running job takes longer than predicted.
struct Reservation {
    JobId id = 0;
    Time at = 0;
};

struct Plan {
    std::vector<Start> starts;
    std::vector<JobId> preempts;            // to be ended by the caller, who then says requeue()
    std::vector<Reservation> reservations;  // in the order of the queue
    Time next = kNever;                     // ask again by then, also when nothing happens
};

/// When a waiting job starts, as the plan would go on if jobs took as long as is predicted.
struct Eta {
    JobId id = 0;
    std::uint32_t position = 0;  // 1: next
    Time p50 = kNever;           // as likely before as after; kNever: not with what there is
    Time p90 = kNever;           // later than this in one of ten cases
};

/// A running job that holds what another waits for.
struct Holder {
    JobId id = 0;
    std::int64_t milli = 0;
    Time ends = 0;  // as predicted
};

/// Why a job waits, and for whom.
struct Explanation {
    enum class Why : std::uint8_t {
        kRuns,         // it does not wait
        kNext,         // nothing holds it: it starts with the next plan
        kDevices,      // not enough free where it could run
        kQuota,        // of its queue or cohort
        kReservation,  // it fits, but would delay a job ahead that is promised a time
        kImpossible,   // more than there is, or than its quota: it never starts
    };
    static constexpr std::size_t kMostNamed = 10;

    JobId id = 0;
    Why why = Why::kNext;
    std::uint32_t position = 0;  // 1: next; 0: it does not wait
    std::vector<JobId> ahead;    // the first kMostNamed
    std::vector<Holder>
        holders;  // whose end gives it its place, if it were next; at most kMostNamed, by end
    std::size_t more_holders = 0;
    Time earliest = kNever;         // if it were next and nobody ended early
    Eta eta;                        // of the latest forecast(); 0: it was in none
    std::optional<JobId> promised;  // kReservation: the job that it would delay
    /// What of the same kind would start now: as many pods or GPUs as can, or a part of a GPU. nullopt: nothing.
    struct Smaller {
        std::uint32_t gang = 1;
        std::uint8_t gpus = 0;   // of each pod
        std::int32_t milli = 0;  // of each GPU
    };
    std::optional<Smaller> smaller;
};

/// How a job ended. Only a completed run teaches how long such jobs run.
enum class Outcome : std::uint8_t { kCompleted, kFailed, kCancelled };

}  // namespace aliquot::queue
