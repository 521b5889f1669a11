// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/move_lease.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/sentence.h"
#include "base/time_text.h"
#include "os/host_name.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;
using kube_client::Outcome;
using kube_client::Reason;
using std::chrono::hours;
using std::chrono::seconds;

constexpr char kLeaseName[] = "aliquot-moves";
constexpr char kMovesAnnotation[] = "aliquot.dev/moves";
constexpr seconds kLeaseHolds{60};
constexpr unsigned kMostLeaseTries = 5;
constexpr std::size_t kMostCountedMoves = 10'000;  // that are read

}  // namespace

MoveLease::State MoveLease::read(const std::string& json, Time now) {
    const Json root = parse_json<Json>(json);
    State state;
    const Json& annotations = member(member(root, "metadata"), "annotations");
    const Json times = parse_json<Json>(text_at(annotations, kMovesAnnotation));
    for (const Json& one : times.is_array() ? times : Json::array()) {
        const auto at = one.is_string() ? parse_rfc3339(one.get<std::string>()) : std::nullopt;
        if (at && now - *at < hours(1) && state.moves.size() < kMostCountedMoves)
            state.moves.push_back(*at);
    }
    std::sort(state.moves.begin(), state.moves.end());
    const Json& spec = member(root, "spec");
    const auto renewed = parse_rfc3339(text_at(spec, "renewTime"));
    state.holder = text_at(spec, "holderIdentity");
    if (renewed) {
        const auto duration = std::clamp(number_at<int>(spec, "leaseDurationSeconds"), 0, 3600);
        state.held_until = *renewed + seconds(duration);
    }
    return state;
}

/// The Lease as it is to be; what others keep in it stays.
std::string MoveLease::written(const std::string& json, const State& state) const {
    Json root = parse_json<Json>(json);
    if (!root.is_object()) root = Json::object();
    root["apiVersion"] = "coordination.k8s.io/v1";
    root["kind"] = "Lease";
    root["metadata"]["name"] = kLeaseName;
    root["metadata"]["namespace"] = options_.name_space;
    Json times = Json::array();
    for (const Time at : state.moves) times.push_back(rfc3339(at));
    root["metadata"]["annotations"][kMovesAnnotation] = dumped(times);
    Json& spec = root["spec"];
    spec["holderIdentity"] = state.holder;
    spec["renewTime"] = rfc3339_micro(state.held_until - kLeaseHolds);
    spec["leaseDurationSeconds"] = kLeaseHolds.count();
    return dumped(root);
}

Outcome<std::string> MoveLease::change(const Edit& edit) {
    const kube_client::ObjectKey key{options_.name_space, kLeaseName};
    const kube_client::WriteOptions write{.call = call_of(words_)};
    for (unsigned tries = 1;; ++tries) {
        const auto found = api_.get(kube_client::resources::leases(), key, call_of(words_));
        if (!found && !found.failure().is(Reason::kNotFound)) return found.failure();
        const std::string json = found ? found->json : std::string();
        State state = read(json, options_.now());
        if (std::string why = edit(state); !why.empty()) return why;
        const std::string body = written(json, state);
        const auto done =
            found ? api_.replace(kube_client::resources::leases(), key, body, write)
                  : api_.create(kube_client::resources::leases(), options_.name_space, body, write);
        if (done) return std::string();
        const bool again =
            done.failure().is(Reason::kConflict) || done.failure().is(Reason::kAlreadyExists);
        if (!again || tries >= kMostLeaseTries) return done.failure();
    }
}

Outcome<std::vector<MoveLease::Time>> MoveLease::moves() {
    const auto found = api_.get(kube_client::resources::leases(), {options_.name_space, kLeaseName},
                                call_of(words_));
    if (found) return read(found->json, options_.now()).moves;
    if (found.failure().is(Reason::kNotFound)) return std::vector<Time>();
    return found.failure();
}

/// Not empty: somebody else holds it.
std::string MoveLease::take(State& state) const {
    const Time now = options_.now();
    if (!state.holder.empty() && state.holder != options_.identity && state.held_until > now) {
        return one_line(state.holder, 128) + " moves pods now; if it has died, others may from " +
               rfc3339(state.held_until) + " on";
    }
    state.holder = options_.identity;
    state.held_until = now + kLeaseHolds;
    return {};
}

Outcome<std::string> MoveLease::hold() {
    return change([this](State& state) { return take(state); });
}

Outcome<std::string> MoveLease::spend(unsigned most) {
    return change([&](State& state) {
        if (std::string other = take(state); !other.empty()) return other;
        if (state.moves.size() >= most) {
            const Time next = state.moves[state.moves.size() - most] + hours(1);
            return counted(state.moves.size(), "pod") +
                   " were moved within the last hour, and --moves-per-hour is " +
                   std::to_string(most) + "; the next may go at " + rfc3339(next);
        }
        state.moves.push_back(options_.now());
        return std::string();
    });
}

void MoveLease::let_go() {
    // If it cannot be written, it is over in a minute.
    (void)change([this](State& state) {
        if (state.holder != options_.identity) return std::string("it is another's");
        state.holder.clear();
        state.held_until = options_.now();
        return std::string();
    });
}

std::string identity_of_this_run() {
    const char* const user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe)
    return std::string(user == nullptr ? "somebody" : user) + "@" + os::host_name("localhost") +
           ", process " + std::to_string(::getpid());
}

}  // namespace aliquot::cli
