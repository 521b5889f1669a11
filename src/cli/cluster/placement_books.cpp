// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/placement_books.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "base/time_text.h"
#include "k8s/node.h"
#include "scheduling/gang_objects.h"
#include "scheduling/plan.h"
#include "scheduling/volumes.h"

namespace aliquot::cli {
namespace {

constexpr unsigned kMostPages = 400;  // of 500 objects

/// Calls `take` with each object. False: it was said why not.
template <class Take>
bool each_object(Context& context, kube_client::Api& api, const ClusterOptions& words,
                 const kube_client::Resource& resource, const std::string& field_selector,
                 const Take& take) {
    const kube_client::ListOptions options{.field_selector = field_selector,
                                           .keep_managed_fields = false};
    std::string token;
    for (unsigned pages = 0; pages < kMostPages; ++pages) {
        const auto page = api.list_page(resource, options, token, call_of(words));
        if (!page) {
            fail(context, page.failure());
            return false;
        }
        for (const kube_client::Object& one : page->items) take(one.json);
        token = page->next;
        if (token.empty()) return true;
    }
    fail(context, kCouldNotRun, "there are more than 200,000 " + resource.plural);
    return false;
}

/// Reads every object; false: it may not, or cannot.
template <class Take>
bool read_all(kube_client::Api& api, const ClusterOptions& words,
              const kube_client::Resource& resource, const Take& take) {
    const auto page = api.list(resource, {.keep_managed_fields = false}, call_of(words));
    if (!page) return false;
    for (const kube_client::Object& one : page->items) take(one.json);
    return true;
}

/// What the claims of waiting pods mean, or of bound ones too. Who may not read volumes sees the pods as if they had
/// none.
void add_volume_rules(kube_client::Api& api, const ClusterOptions& words, VolumesOf of,
                      PlacementPicture& picture) {
    const auto asked = [of](const scheduling::GpuPod& pod) {
        const bool counts = pod.waits() || (of == VolumesOf::kWaitingAndBound && !pod.node.empty());
        return counts && !pod.claims.empty();
    };
    if (std::none_of(picture.pods.begin(), picture.pods.end(), asked)) return;
    scheduling::Volumes volumes;
    const bool all = read_all(api, words, kube_client::resources::volume_claims(),
                              [&](const std::string& json) {
                                  if (auto read = k8s::parse_volume_claim(json))
                                      volumes.set_claim(*std::move(read));
                              }) &&
                     read_all(api, words, kube_client::resources::persistent_volumes(),
                              [&](const std::string& json) {
                                  if (auto read = k8s::parse_persistent_volume(json))
                                      volumes.set_volume(*std::move(read));
                              }) &&
                     read_all(api, words, kube_client::resources::storage_classes(),
                              [&](const std::string& json) {
                                  if (auto read = k8s::parse_storage_class(json))
                                      volumes.set_class(*std::move(read));
                              });
    picture.knows_volumes = all;
    if (!all) return;
    for (scheduling::GpuPod& pod : picture.pods) {
        if (!asked(pod)) continue;
        pod.volumes = volumes.rules_of(pod);
        picture.gangs.set_pod(pod);
    }
}

}  // namespace

PlacementPicture::PlacementPicture(kube_client::Api& api) : gangs(scheduling::gang_objects(api)) {}

std::string GangPicture::why() const {
    if (turn.ask.empty()) return turn.name + ": " + turn.why;
    if (has_room()) return turn.name + ": there is room for it, the controller places it next";
    if (decision.kind == scheduling::Decision::Kind::kNotServed)
        return turn.name +
               ": no agent of Aliquot serves what it asks for; the controller lets it go";
    return turn.name + ": " + decision.why;
}

std::optional<GangPicture> gang_of(PlacementPicture& picture, const scheduling::GpuPod& pod,
                                   std::size_t misses) {
    for (scheduling::GangTurn& turn : picture.gangs.turns_of(pod)) {
        const bool is_its = std::any_of(turn.waiting.begin(), turn.waiting.end(),
                                        [&](const auto* one) { return one->uid == pod.uid; });
        if (!is_its || turn.id.empty()) continue;
        GangPicture made{.turn = std::move(turn)};
        if (made.turn.ask.empty()) return made;
        const auto ask = picture.books.ask_of(made.turn, made.turn.ask);
        made.decision = picture.books.what_if_gang(ask);
        if (misses > 0 && !made.has_room())
            made.misses = picture.books.gang_misses(ask, made.decision, misses);
        return made;
    }
    return std::nullopt;
}

std::optional<PlacementPicture> read_placement(Context& context, kube_client::Api& api,
                                               const ClusterOptions& words, VolumesOf of) {
    PlacementPicture picture(api);
    const auto take_node = [&](const std::string& json) {
        const auto node = k8s::parse_node(json);
        auto served = node ? scheduling::read_served_node(*node) : std::nullopt;
        if (!served) {
            if (node) picture.books.set_labels(node->name, scheduling::topology_of(node->labels));
            return;
        }
        picture.nodes[served->name] = *served;
        picture.books.set_node(*std::move(served));
    };
    if (!each_object(context, api, words, kube_client::resources::nodes(), "", take_node))
        return std::nullopt;
    const auto take_pod = [&](const std::string& json) {
        auto pod = scheduling::read_gpu_pod(json);
        if (!pod) return;
        picture.gangs.set_pod(*pod);
        if (pod->is_over) return;
        if (!pod->devices.empty())
            picture.pods.push_back(*std::move(pod));
        else
            picture.books.set_pod(*pod);  // others may want to be near it, or not
    };
    if (!each_object(context, api, words, kube_client::resources::pods(), "status.phase!=Failed",
                     take_pod))
        return std::nullopt;
    std::sort(picture.pods.begin(), picture.pods.end(), scheduling::comes_before);
    add_volume_rules(api, words, of, picture);
    for (const scheduling::GpuPod& pod : picture.pods) {
        const auto plan = pod.plan.empty() ? std::nullopt : scheduling::parse_plan(pod.plan);
        if (plan && !pod.is_gated) {
            scheduling::GpuPod before = pod;
            before.node.clear();
            picture.books.adopt(before, plan->targets);
        }
        picture.books.set_pod(pod);
    }
    return picture;
}

std::string age_of(const std::string& created, std::chrono::system_clock::time_point now) {
    const auto since = parse_rfc3339(created);
    if (!since) return {};
    const auto seconds = std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(now - *since).count(), 0);
    constexpr std::int64_t kMinute = 60;
    constexpr std::int64_t kHour = 60 * kMinute;
    constexpr std::int64_t kDay = 24 * kHour;
    if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
    if (seconds < 2 * kHour) return std::to_string(seconds / kMinute) + "m";
    if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + "h";
    return std::to_string(seconds / kDay) + "d";
}

std::string units_text(const scheduling::DeviceUnits& units) {
    std::string text;
    for (const auto& [resource, gpus] : units) {
        for (const auto& [gpu, count] : gpus) {
            text += (text.empty() ? "" : ", ") + gpu;
            if (count > 1) text += " x" + std::to_string(count);
        }
    }
    return text;
}

}  // namespace aliquot::cli
