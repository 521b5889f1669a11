// SPDX-License-Identifier: Apache-2.0
#include "kube_client/election.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/json_value.h"
#include "base/log.h"
#include "base/time_text.h"

namespace aliquot::kube_client {
namespace {

using Json = nlohmann::json;

constexpr auto kLongestRelease = std::chrono::seconds(5);

Json spec_of(const Json& root) {
    const auto spec = root.find("spec");
    return spec != root.end() && spec->is_object() ? *spec : Json::object();
}

std::int64_t whole_seconds(std::chrono::milliseconds duration) {
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count());
}

}  // namespace

std::string unique_identity(std::string_view host) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::random_device random;
    std::string identity = std::string(host) + "_";
    for (int i = 0; i < 16; ++i) identity += kHex[random() & 15U];
    return identity;
}

Elector::Elector(Api& api, os::Clock& clock, ElectionOptions options, ElectionCallbacks callbacks)
    : api_(api), clock_(clock), options_(std::move(options)), callbacks_(std::move(callbacks)) {}

bool Elector::leads() const { return clock_.now() < until_.load(); }

std::chrono::milliseconds Elector::left() const {
    const auto left = std::chrono::floor<std::chrono::milliseconds>(until_.load() - clock_.now());
    return std::max(left, std::chrono::milliseconds(0));
}

std::optional<Call> Elector::call(std::stop_token stop) const {
    const auto time = left();
    if (time.count() == 0) return {};
    return Call{.deadline = time, .stop = std::move(stop)};
}

std::string Elector::leader() const {
    const std::scoped_lock lock(mutex_);
    return leader_;
}

Elector::Record Elector::read(const Object& lease) {
    const Json root = parse_json<Json>(lease.json);
    if (!root.is_object()) return {};
    const Json spec = spec_of(root);
    return {.holder = text_at(spec, "holderIdentity"),
            .duration = std::chrono::seconds(std::clamp<std::int64_t>(
                number_at<std::int64_t>(spec, "leaseDurationSeconds"), 0, 86'400)),
            .acquired = text_at(spec, "acquireTime"),
            .renewed = text_at(spec, "renewTime"),
            .transitions = static_cast<std::uint64_t>(
                std::max<std::int64_t>(0, number_at<std::int64_t>(spec, "leaseTransitions")))};
}

/// The lease as we want it; what others keep in it stays.
std::string Elector::written(const std::string& json, LeaseWrite write) const {
    Json root = json.empty() ? Json::object() : parse_json<Json>(json);
    if (!root.is_object()) root = Json::object();
    root["apiVersion"] = "coordination.k8s.io/v1";
    root["kind"] = "Lease";
    root["metadata"]["name"] = options_.lease.name;
    root["metadata"]["namespace"] = options_.lease.namespace_name;
    root["metadata"].erase("managedFields");
    Json spec = spec_of(root);
    const std::string now = rfc3339_micro(std::chrono::system_clock::now());
    const bool ours = text_at(spec, "holderIdentity") == options_.identity;
    if (write == LeaseWrite::kRelease) {
        spec["holderIdentity"] = "";
        spec["leaseDurationSeconds"] = 1;
    } else {
        if (!ours) {
            spec["acquireTime"] = now;
            spec["leaseTransitions"] =
                number_at<std::int64_t>(spec, "leaseTransitions") + (json.empty() ? 0 : 1);
        }
        spec["holderIdentity"] = options_.identity;
        spec["leaseDurationSeconds"] = whole_seconds(options_.lease_duration);
    }
    spec["renewTime"] = now;
    root["spec"] = std::move(spec);
    return dumped(root);
}

void Elector::observe(const Object& lease) {
    lease_ = lease;
    Record record = read(lease);
    if (record_ == record) return;
    const bool other_leader = !record_ || record_->holder != record.holder;
    record_ = std::move(record);
    // When the answer is here, not when it was asked for: that is the later, so the safer one.
    changed_at_ = clock_.now();
    if (!other_leader) return;
    {
        const std::scoped_lock lock(mutex_);
        leader_ = record_->holder;
    }
    if (callbacks_.leader_changed) callbacks_.leader_changed(record_->holder);
}

bool Elector::is_free() const {
    if (record_->holder.empty() || record_->holder == options_.identity) return true;
    const auto duration =
        record_->duration.count() > 0 ? record_->duration : options_.lease_duration;
    return clock_.now() >= changed_at_ + duration;
}

/// No question may take longer than we lead, nor than one round should.
Call Elector::bounded(const std::stop_token& stop) const {
    const auto lead = left();
    const auto most = lead.count() > 0 ? lead : options_.renew_deadline;
    return {.deadline = std::max(most, std::chrono::milliseconds(1)), .stop = stop};
}

void Elector::hold(os::TimePoint since, const Object& lease) {
    observe(lease);
    told_.clear();
    epoch_.store(record_->transitions);
    until_.store(since + options_.renew_deadline);
    if (announced_ || !leads()) return;
    announced_ = true;
    log::info("kube.leading", {{"lease", to_text(options_.lease)},
                               {"identity", options_.identity},
                               {"epoch", record_->transitions}});
    if (callbacks_.started) callbacks_.started();
}

void Elector::lapse() {
    until_.store(os::TimePoint{});
    if (!announced_) return;
    announced_ = false;
    log::warning("kube.not_leading",
                 {{"lease", to_text(options_.lease)}, {"identity", options_.identity}});
    if (callbacks_.stopped) callbacks_.stopped();
}

/// True: there is a lease to decide by.
bool Elector::look(const std::stop_token& stop) {
    auto lease = api_.get(resources::leases(), options_.lease, bounded(stop));
    if (lease) {
        observe(*lease);
        return true;
    }
    lease_.reset();
    if (lease.failure().is(Reason::kNotFound)) return make(stop);
    tell(lease.failure());
    return false;
}

/// Once, until it is another: who may not have the lease, or has no namespace for it, never leads and seems well.
void Elector::tell(const Failure& failure) {
    if (failure.message == told_) return;
    told_ = failure.message;
    log::warning("kube.election", {{"lease", to_text(options_.lease)}, {"reason", told_}});
}

/// False in any case: what we made we hold already.
bool Elector::make(const std::stop_token& stop) {
    record_.reset();
    const auto since = clock_.now();
    auto made = api_.create(resources::leases(), options_.lease.namespace_name,
                            written("", LeaseWrite::kHold), {.call = bounded(stop)});
    if (made) hold(since, *made);
    if (!made && !made.failure().is(Reason::kAlreadyExists)) tell(made.failure());
    return false;
}

/// Writes our name into the lease that we know. False: it has changed, look again.
bool Elector::take(const std::stop_token& stop) {
    const auto since = clock_.now();
    auto taken = api_.replace(resources::leases(), options_.lease,
                              written(lease_->json, LeaseWrite::kHold), {.call = bounded(stop)});
    if (taken) {
        hold(since, *taken);
        return true;
    }
    lease_.reset();
    const bool look_again = taken.failure().is(Reason::kConflict);
    if (!look_again) tell(taken.failure());
    return !look_again;
}

os::TimePoint Elector::step(const std::stop_token& stop) {
    const auto began = clock_.now();
    if (announced_ && !leads()) lapse();
    // A leader knows its lease and renews it at once; all others look first.
    const bool renew = announced_ && lease_ && record_ && record_->holder == options_.identity;
    const bool settled = renew && take(stop);
    if (!settled && !stop.stop_requested() && look(stop)) {
        if (record_->holder != options_.identity && announced_) lapse();
        if (is_free()) (void)take(stop);
    }
    if (announced_ && !leads()) lapse();
    const auto next = began + options_.retry;
    return announced_ ? std::min(next, until_.load()) : next;
}

void Elector::release() {
    const bool held = announced_;
    lapse();
    if (!held || !lease_ || !record_ || record_->holder != options_.identity) return;
    (void)api_.replace(resources::leases(), options_.lease,
                       written(lease_->json, LeaseWrite::kRelease),
                       {.call = {.deadline = kLongestRelease}});
    lease_.reset();
}

void Elector::run(std::stop_token stop) {
    while (!stop.stop_requested()) {
        const auto next = step(stop);
        if (!clock_.sleep_until(next, stop)) break;
    }
    release();
}

}  // namespace aliquot::kube_client
