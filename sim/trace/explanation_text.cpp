// SPDX-License-Identifier: Apache-2.0
// How an explanation is printed: as text for people, and as JSON.
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "document/json.h"
#include "sim/trace/csv.h"
#include "sim/trace/explanation.h"

namespace aliquot::sim::trace {
namespace {

using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::only_if;
using document::or_null;
using document::Value;
using placement::Breakdown;
using placement::Policy;
using placement::Request;

std::string gpus(double milli) { return decimal_text(milli / 1000.0, 3); }

std::string percent(double part) { return decimal_text(100 * part, 1) + " %"; }

std::string gpu_text(const Request& request) {
    if (request.gpus == 0) return "no GPU";
    std::string text;
    if (!request.mig_profile.empty()) {
        text = "a MIG instance " + request.mig_profile;
    } else if (request.is_share()) {
        std::vector<std::string> parts;
        if (request.milli > 0) parts.push_back(gpus(request.milli) + " GPU");
        if (request.mib > 0) parts.push_back(std::to_string(request.mib) + " MiB of a GPU");
        text = join(parts, " with ");
    } else {
        text = std::to_string(request.gpus) + (request.gpus == 1 ? " GPU" : " GPUs");
    }
    if (!request.models.empty()) text += " of " + join(request.models, " or ");
    return text;
}

/// What every score is, and in which direction it counts.
bool is_ours(Policy policy) { return policy == Policy::kAliquot; }

std::array<std::pair<const char*, std::int64_t Breakdown::*>, 6> terms() {
    return {{{"fragmentation", &Breakdown::fragmentation},
             {"packing", &Breakdown::packing},
             {"waste", &Breakdown::waste},
             {"order", &Breakdown::order},
             {"price", &Breakdown::price},
             {"power", &Breakdown::power}}};
}

constexpr std::array<const char*, 6> kTermWords{
    "free GPU that one more expected task could no longer use",
    "room for expected tasks, rare room counting more",
    "what of the GPU is likely to stay unused once it is full",
    "its place in the order of the nodes",
    "money for a node that stood empty",
    "power for a node that stood idle"};

std::string devices_text(const placement::Placement& place, const Request& request) {
    if (place.devices.empty()) return "";
    std::string text = place.devices.size() == 1 ? ", GPU" : ", GPUs";
    for (const std::uint8_t device : place.devices) text += ' ' + std::to_string(device);
    if (!request.mig_profile.empty()) text += " from slice " + std::to_string(place.mig_start);
    return text;
}

class Teller {
public:
    Teller(std::ostream& out, const Scenario& scenario, const Explanation& told)
        : out_(out), scenario_(scenario), told_(told), task_(scenario.tasks.tasks[told.row]) {}

    void tell() {
        heading();
        if (told_.chosen) {
            placed();
        } else {
            refused();
        }
    }

private:
    void heading() {
        out_ << "task " << task_.name << " (row " << told_.row << "), ";
        if (told_.arrival) {
            out_ << "arrival " << *told_.arrival << " of " << told_.arrivals;
        } else {
            out_ << "if it came after " << told_.after << " of " << told_.arrivals << " arrivals";
        }
        out_ << ", policy " << placement::to_text(told_.policy) << "\nasks for ";
        if (task_.count > 1) out_ << task_.count << " times ";
        out_ << request_text(task_.request) << '\n';
        const auto capacity = static_cast<double>(std::max<std::int64_t>(told_.capacity_milli, 1));
        const auto free = static_cast<double>(told_.free_milli);
        out_ << "cluster before: "
             << percent((static_cast<double>(told_.capacity_milli) - free) / capacity) << " of "
             << gpus(static_cast<double>(told_.capacity_milli)) << " GPUs allocated";
        if (free > 0)
            out_ << ", " << percent(told_.fragmented_milli / free) << " of the idle fragmented";
        out_ << "\n\n";
    }

    void placed() {
        const Choice& chosen = *told_.chosen;
        if (told_.waits) {
            out_
                << "waits for up to " << *told_.waits
                << " arrivals: here it would leave a part of a GPU that is likely to stay unused\n";
        }
        out_ << (told_.waits ? "best place now: " : "placed on ") << where(chosen) << '\n';
        details(chosen, nullptr);
        for (std::size_t i = 1; i < told_.places.size(); ++i) {
            const placement::Placement& place = told_.places[i];
            out_ << (i == 1 ? "the others of the gang: " : "; ") << node(place).name
                 << devices_text(place, task_.request);
        }
        if (told_.places.size() > 1) out_ << '\n';
        if (told_.alternatives.empty()) {
            out_ << "\nno other node has room for it\n";
            return;
        }
        out_ << "\nother nodes, best first\n";
        for (std::size_t i = 0; i < told_.alternatives.size(); ++i) {
            out_ << i + 1 << ". " << where(told_.alternatives[i]) << '\n';
            details(told_.alternatives[i], &chosen);
        }
    }

    [[nodiscard]] const placement::NodeSpec& node(const placement::Placement& place) const {
        return scenario_.nodes.nodes[place.node];
    }

    [[nodiscard]] std::string where(const Choice& choice) const {
        const placement::NodeSpec& spec = node(choice.place);
        return spec.name + (spec.model.empty() ? "" : " (" + spec.model + ')') +
               devices_text(choice.place, task_.request);
    }

    /// against   the chosen one, for a comparison; nullptr: this is it
    void details(const Choice& choice, const Choice* against) {
        out_ << "   free there: " << gpus(choice.before.cpu_milli) << " CPU, "
             << choice.before.memory_mib << " MiB";
        for (const placement::DeviceState& device : choice.before.devices) {
            out_ << (&device == choice.before.devices.data() ? "; GPUs " : " ");
            if (device.mig) {
                for (unsigned slice = 0; slice < 8; ++slice) {
                    out_ << (((unsigned{device.mig_mask} >> slice) & 1U) != 0 ? 'x' : '-');
                }
            } else {
                out_ << gpus(device.milli);
            }
        }
        out_ << '\n';
        cost(choice, against);
        effects(choice.effects);
    }

    /// One line for all types that lose (or win) the same.
    void effects(std::vector<Effect> left) {
        while (!left.empty()) {
            const double milli = left.front().milli;
            out_ << "   "
                 << (milli > 0 ? "makes " + gpus(milli) + " GPU unusable for tasks of "
                               : "uses " + gpus(-milli) + " GPU that is of no use to tasks of ");
            std::vector<std::string> types;
            for (const Effect& effect : left) {
                if (effect.milli != milli) continue;
                types.push_back(request_text(effect.type) + " (" + percent(effect.popularity) +
                                (types.empty() ? " of what is expected)" : ")"));
            }
            out_ << join(types, "; ") << '\n';
            std::erase_if(left, [&](const Effect& effect) { return effect.milli == milli; });
        }
    }

    void cost(const Choice& choice, const Choice* against) {
        const Breakdown& cost = choice.place.cost;
        const auto total = static_cast<double>(cost.total);
        if (!is_ours(told_.policy)) {
            out_ << "   score " << -cost.total << " (more is better)";
        } else {
            out_ << "   cost " << gpus(total) << " GPU";
        }
        if (against != nullptr && told_.policy != Policy::kRandom) {
            const auto more = static_cast<double>(cost.total - against->place.cost.total);
            if (more == 0) {
                out_ << ", the same; comes later in the order of the nodes";
            } else if (is_ours(told_.policy)) {
                out_ << ", " << gpus(std::abs(more)) << (more > 0 ? " more" : " less");
            }
        }
        out_ << '\n';
        if (!is_ours(told_.policy)) return;
        const auto all = terms();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::int64_t value = cost.*all[i].second;
            if (value == 0) continue;
            out_ << "     " << gpus(static_cast<double>(value)) << ' ' << all[i].first << ": "
                 << kTermWords[i] << '\n';
        }
    }

    void refused() {
        const placement::Refusal& why = told_.refusal;
        if (task_.count > 1) {
            out_ << "refused: only " << told_.fitting << " of " << task_.count
                 << " find a place, and a gang is placed as a whole; for the next one\n";
        } else {
            out_ << "refused: no node has room\n";
        }
        const std::string gpu =
            task_.request.is_share() ? "no GPU with so much free" : "not enough free GPUs";
        const std::array<std::pair<std::uint32_t, std::string>, 6> groups{
            {{why.model, "have no GPU of such a model, or too few GPUs at all"},
             {why.labels, "are ruled out by labels or taints"},
             {why.affinity, "have a task that it must not share a node with"},
             {why.gpu, "have " + gpu},
             {why.cpu, "have too little CPU free"},
             {why.memory, "have too little memory free"}}};
        out_ << "of " << why.nodes << " nodes\n";
        for (const auto& [count, words] : groups) {
            if (count > 0) out_ << "   " << count << ' ' << words << '\n';
        }
        if (!why.nearest_miss.empty()) out_ << "nearest: " << why.nearest_miss << '\n';
    }

    std::ostream& out_;
    const Scenario& scenario_;
    const Explanation& told_;
    const Task& task_;
};

Value request_node(const Request& request, std::uint32_t count) {
    return make_mapping(
        {{"cpu_milli", request.cpu_milli},
         {"memory_mib", request.memory_mib},
         {"num_gpu", request.gpus},
         {"gpu_milli", request.milli},
         {"gpu_memory_mib", only_if(request.mib > 0, request.mib)},
         {"mig_profile", only_if(!request.mig_profile.empty(), request.mig_profile)},
         {"gpu_spec", only_if(!request.models.empty(), join(request.models, "|"))},
         {"count", only_if(count > 1, count)}});
}

Value place_node(const Scenario& scenario, const placement::Placement& place,
                 const Request& request) {
    const placement::NodeSpec& spec = scenario.nodes.nodes[place.node];
    return make_mapping(
        {{"node", spec.name},
         {"model", spec.model},
         {"devices", make_sequence(place.devices, [](auto device) { return device; })},
         {"mig_start", only_if(!request.mig_profile.empty(), place.mig_start)}});
}

Value choice_node(const Scenario& scenario, const Choice& choice, const Request& request,
                  Policy policy) {
    Value node = place_node(scenario, choice.place, request);
    if (is_ours(policy)) {
        Value cost = make_mapping();
        for (const auto& [name, member] : terms()) append(cost, name, choice.place.cost.*member);
        append(cost, "total", choice.place.cost.total);
        append(node, "cost_milli", std::move(cost));
    } else {
        append(node, "score", -choice.place.cost.total);
    }
    append(node, "fragmentation_milli", make_number(choice.fragmentation_milli, 3));
    append(node, "effects", make_sequence(choice.effects, [](const Effect& effect) {
               return make_mapping({{"type", request_node(effect.type, 1)},
                                    {"popularity", make_number(effect.popularity, 6)},
                                    {"unusable_milli", make_number(effect.milli, 3)}});
           }));
    return node;
}

Value refusal_node(const Explanation& told) {
    const placement::Refusal& why = told.refusal;
    return make_mapping({{"nodes", why.nodes},
                         {"model", why.model},
                         {"labels", why.labels},
                         {"affinity", why.affinity},
                         {"gpu", why.gpu},
                         {"cpu", why.cpu},
                         {"memory", why.memory},
                         {"fitting", told.fitting},
                         {"nearest_miss", why.nearest_miss}});
}

}  // namespace

std::string request_text(const Request& request) {
    std::string text = gpu_text(request) + ", " + gpus(request.cpu_milli) + " CPU";
    if (request.memory_mib > 0) text += ", " + std::to_string(request.memory_mib) + " MiB";
    return text;
}

void print_explanation(std::ostream& out, const Scenario& scenario,
                       const Explanation& explanation) {
    Teller(out, scenario, explanation).tell();
}

std::string explanation_json(const Scenario& scenario, const Explanation& told) {
    const Task& task = scenario.tasks.tasks[told.row];
    const auto choice = [&](const Choice& one) {
        return choice_node(scenario, one, task.request, told.policy);
    };
    return document::to_json_line(
        make_mapping({{"task", task.name},
                      {"row", told.row},
                      {"arrival", or_null(told.arrival.has_value(), told.arrival.value_or(0))},
                      {"after", told.after},
                      {"policy", placement::to_text(told.policy)},
                      {"request", request_node(task.request, task.count)},
                      {"placed", told.chosen && !told.waits},
                      {"waits", only_if(told.waits.has_value(), told.waits.value_or(0))},
                      {"places", make_sequence(told.places,
                                               [&](const placement::Placement& place) {
                                                   return place_node(scenario, place, task.request);
                                               })},
                      {"chosen", told.chosen ? choice(*told.chosen) : Value{}},
                      {"alternatives", make_sequence(told.alternatives, choice)},
                      {"refusal", told.chosen ? Value{} : refusal_node(told)}}));
}

}  // namespace aliquot::sim::trace
