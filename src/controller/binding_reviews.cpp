// SPDX-License-Identifier: Apache-2.0
#include "controller/binding_reviews.h"

#include "base/log.h"
#include "scheduling/plan.h"

namespace aliquot::controller {
namespace {

using admission::BindingAnswer;
using admission::BindingQuestion;
using scheduling::GpuPod;
using scheduling::Seat;

/// An API server waits a second; what is not known by then is allowed.
constexpr std::chrono::milliseconds kReviewPatience{300};

constexpr std::array<double, 7> kReviewBounds{0.00001, 0.0001, 0.001, 0.01, 0.1, 0.3, 1};
constexpr std::array<std::string_view, 9> kReviewWords{"stamped",     "denied",     "let_through",
                                                       "no_gpu",      "not_served", "unknown",
                                                       "not_leading", "busy",       "dry_run"};

/// Whether it waits for a Binding.
bool is_pending(const GpuPod& pod) {
    return pod.node.empty() && !pod.is_over && !pod.is_leaving && !pod.is_gated &&
           !pod.is_gated_else;
}

}  // namespace

BindingReviews::BindingReviews(World world) : world_(std::move(world)), took_(kReviewBounds) {}

void BindingReviews::note(const kube_client::ObjectKey& key,
                          const kube_client::StoredObject& object) {
    auto read = object ? scheduling::read_gpu_pod(object->json)
                       : Result<GpuPod>(Error{ErrorCode::kNotFound, ""});
    const bool pending = read && is_pending(*read);
    std::shared_ptr<const GpuPod> pod;
    if (pending && !read->devices.empty()) pod = std::make_shared<const GpuPod>(*read);
    const std::scoped_lock lock(mutex_);
    if (read && !read->node.empty()) seated_.erase(read->uid);
    if (!pending) {
        pending_.erase(key);
        return;
    }
    const auto known = pending_.find(key);
    if (known == pending_.end() && pending_.size() >= kMostPending) return;
    Pending& one = pending_[key];
    if (one.uid != read->uid) {
        one = {.uid = read->uid, .pod = {}, .denials = {}};
        if (pod) log::debug("placement.awaits_binding", {{"pod", read->full_name()}});
    }
    one.pod = std::move(pod);
    if (awaited_ > 0) noted_.notify_all();
}

BindingReviews::Known BindingReviews::find(const BindingQuestion& question) const {
    const std::scoped_lock lock(mutex_);
    return find_locked(question);
}

/// A pod that the watch may tell of in this moment.
BindingReviews::Known BindingReviews::await(const BindingQuestion& question) {
    std::unique_lock lock(mutex_);
    Known known = find_locked(question);
    if (known.is_known || awaited_ >= kMostAwaited) return known;
    ++awaited_;
    (void)noted_.wait_for(lock, kNewsPatience, [&] {
        known = find_locked(question);
        return known.is_known;
    });
    --awaited_;
    return known;
}

BindingReviews::Known BindingReviews::find_locked(const BindingQuestion& question) const {
    const auto found = pending_.find({question.name_space, question.name});
    // Without the uid anybody who reaches us could book for a pod whose name is guessed.
    if (found == pending_.end() || found->second.uid != question.uid) return {};
    return {.is_known = true, .pod = found->second.pod};
}

BindingAnswer BindingReviews::counted(Outcome outcome) {
    ++outcomes_[static_cast<std::size_t>(outcome)];
    return {};
}

admission::Review BindingReviews::review(std::string_view body) {
    const auto begin = Steady::now();
    auto review = admission::review_binding(
        body, [this](const BindingQuestion& question) { return answer(question); });
    took_.add(Steady::now() - begin);
    return review;
}

BindingAnswer BindingReviews::answer(const BindingQuestion& question) {
    if (question.dry_run) return counted(Outcome::kDryRun);
    Known known = find(question);
    if (known.is_known && known.pod == nullptr) return counted(Outcome::kNoGpu);
    if (!world_.may_answer()) return counted(Outcome::kNotLeading);
    if (!known.is_known) known = await(question);
    if (!known.is_known) return counted(Outcome::kUnknown);
    if (known.pod == nullptr) return counted(Outcome::kNoGpu);
    auto given = seat(question, *known.pod);
    if (!given) return counted(Outcome::kBusy);
    switch (given->kind) {
        case Seat::Kind::kNotServed:
            return counted(Outcome::kNotServed);
        case Seat::Kind::kNoRoom:
            return deny(question, given->why);
        case Seat::Kind::kGiven:
            break;
    }
    return stamp(question, *known.pod, std::move(given->units));
}

/// Empty: it is not known in time.
std::optional<Seat> BindingReviews::seat(const BindingQuestion& question, const GpuPod& pod) {
    for (const bool is_sure : {false, true}) {
        // Pods that have ended may be news to the books yet: nobody is refused for those.
        if (is_sure && !world_.catch_up(kReviewPatience)) return std::nullopt;
        auto books = world_.books.within(kReviewPatience);
        if (!books) return std::nullopt;
        const Seat seat = books->bind(pod, question.node);
        if (is_sure || seat.kind != Seat::Kind::kNoRoom) return seat;
    }
    return std::nullopt;
}

BindingAnswer BindingReviews::stamp(const BindingQuestion& question, const GpuPod& pod,
                                    scheduling::DeviceUnits units) {
    const scheduling::Plan plan{.generation = world_.next_generation(),
                                .asked = pod.devices,
                                .targets = {{.node = question.node, .units = std::move(units)}}};
    {
        const std::scoped_lock lock(mutex_);
        seated_[pod.uid] = {.key = {question.name_space, question.name}, .at = world_.now()};
    }
    BindingAnswer answer = counted(Outcome::kStamped);
    answer.annotations[scheduling::kPlanAnnotation] = to_json(plan);
    return answer;
}

BindingAnswer BindingReviews::deny(const BindingQuestion& question, const std::string& why) {
    unsigned denials = kMostDenials + 1;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = pending_.find({question.name_space, question.name});
        if (found != pending_.end() && found->second.uid == question.uid) {
            auto& by_node = found->second.denials;
            if (by_node.contains(question.node) || by_node.size() < kMostDeniedNodes)
                denials = ++by_node[question.node];
        }
    }
    const std::string what = question.node + " " + why;
    if (denials > kMostDenials) {
        log::warning("placement.binding_let_through",
                     {{"pod", question.name_space + "/" + question.name}, {"reason", what}});
        return counted(Outcome::kLetThrough);
    }
    log::info("placement.binding_denied", {{"pod", question.name_space + "/" + question.name},
                                           {"reason", what},
                                           {"denials", denials}});
    BindingAnswer answer = counted(Outcome::kDenied);
    answer.allowed = false;
    answer.message = what;
    return answer;
}

std::vector<BindingReviews::Seated> BindingReviews::lapsed() {
    const auto now = world_.now();
    std::vector<Seated> lapsed;
    const std::scoped_lock lock(mutex_);
    for (auto one = seated_.begin(); one != seated_.end();) {
        if (now - one->second.at < kSeatHolds) {
            ++one;
            continue;
        }
        lapsed.push_back({.key = one->second.key, .uid = one->first});
        one = seated_.erase(one);
    }
    return lapsed;
}

bool BindingReviews::has_seated() const {
    const std::scoped_lock lock(mutex_);
    return !seated_.empty();
}

std::string BindingReviews::metrics() const {
    std::string out;
    metrics::Text text(out);
    text.family("aliquot_placement_bindings_total",
                "Bindings of pods that an API server asked about, by answer.", "counter");
    for (std::size_t i = 0; i < kOutcomes; ++i)
        text.row("").label("how", kReviewWords[i]).is(outcomes_[i].load());
    text.family("aliquot_placement_binding_seconds", "How long the answer took.", "histogram");
    took_.write(text);
    return out;
}

}  // namespace aliquot::controller
