// SPDX-License-Identifier: Apache-2.0
//
// A layout in words, made all at once.
#include <algorithm>
#include <string>
#include <utility>

#include "base/number.h"
#include "base/sentence.h"
#include "sim/node/mig.h"
#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

/// An instance that is asked for; without `start` it may stand anywhere.
struct Wanted {
    const GpuProfile* profile = nullptr;
    std::optional<unsigned> start;
};

Error malformed(std::string_view item, const std::string& why) {
    return {ErrorCode::kInvalidInput,
            "MIG layout '" + std::string(item.substr(0, 64)) + "': " + why};
}

Result<Done> read_item(const Model& model, std::string_view item, std::vector<Wanted>& wanted) {
    const auto star = item.find('*');
    unsigned count = 1;
    if (star != std::string_view::npos) {
        const auto given = parse_number<unsigned>(item.substr(star + 1));
        if (!given || *given == 0 || *given > kMaxGpuInstances) {
            return malformed(item, "expected a count of 1 to 15 after '*'");
        }
        count = *given;
    }
    std::string_view name = item.substr(0, star);
    Wanted one;
    if (const auto at = name.find('@'); at != std::string_view::npos) {
        one.start = parse_number<unsigned>(name.substr(at + 1));
        if (!one.start || count != 1) {
            return malformed(item, "expected PROFILE, PROFILE*COUNT or PROFILE@START");
        }
        name = name.substr(0, at);
    }
    one.profile = find_gpu_profile(model, name);
    if (one.profile == nullptr) {
        std::string known = listed(gpu_profiles(model), [](const GpuProfile& profile) {
            return std::string(profile.name);
        });
        return malformed(item, std::string(model.name) + " has no such profile; it has " +
                                   (known.empty() ? "no MIG" : known));
    }
    if (one.start && !one.profile->starts_at(*one.start)) {
        return malformed(item, "no " + std::string(one.profile->name) + " can begin there");
    }
    for (unsigned i = 0; i < count; ++i) wanted.push_back(one);
    return Done{};
}

/// Finds a start for each; larger ones are first, so few tries are needed.
bool place(std::vector<Wanted>& wanted, std::size_t from, unsigned taken) {
    if (from == wanted.size()) return true;
    Wanted& one = wanted[from];
    const auto asked = one.start;
    const unsigned room = ((1U << one.profile->size) - 1);
    for (unsigned start = 0; start < 8; ++start) {
        if (asked ? *asked != start : !one.profile->starts_at(start)) continue;
        if ((taken & room << start) != 0) continue;
        one.start = start;
        if (place(wanted, from + 1, taken | room << start)) return true;
    }
    one.start = asked;
    return false;
}

/// No profile more often than it may be, the media engines only once.
bool allowed(const std::vector<Wanted>& wanted) {
    unsigned media = 0;
    for (const Wanted& one : wanted) {
        const auto same = std::ranges::count(wanted, one.profile, &Wanted::profile);
        if (static_cast<unsigned>(same) > one.profile->most) return false;
        if (one.profile->media()) ++media;
    }
    return media <= 1;
}

}  // namespace

Result<Done> cut_gpu(State& state, unsigned gpu, std::string_view layout) {
    const Model& model = *find_model(state.gpus[gpu].model.view());
    if (gpu_profiles(model).empty()) {
        return Error{ErrorCode::kUnsupported, "GPU " + std::to_string(gpu) + " (" +
                                                  std::string(model.product) + ") has no MIG"};
    }
    drop_dead_processes(state);
    if (!processes_on(state, gpu).empty()) {
        return Error{ErrorCode::kConflict,
                     "GPU " + std::to_string(gpu) + " is in use by a process: end it first"};
    }
    std::vector<Wanted> wanted;
    std::string_view rest = layout;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        if (auto read = read_item(model, rest.substr(0, comma), wanted); !read) return read;
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
        if (wanted.size() > kMaxGpuInstances) break;
    }
    std::ranges::stable_sort(wanted, std::ranges::greater{},
                             [](const Wanted& one) { return one.profile->size; });
    const Error no_room{ErrorCode::kConflict, "MIG layout '" + std::string(layout.substr(0, 128)) +
                                                  "' does not fit on a " +
                                                  std::string(model.product)};
    if (wanted.size() > kMaxGpuInstances || !place(wanted, 0, 0) || !allowed(wanted)) {
        return no_room;
    }
    std::ranges::sort(wanted, {}, [](const Wanted& one) {
        return std::pair(0U - one.profile->size, *one.start);  // large ones first
    });
    reset_mig(state, gpu);
    state.gpus[gpu].mig_pending = 1;
    state.gpus[gpu].mig_current = 1;
    for (const Wanted& one : wanted) {
        const auto made = create_gpu_instance(state, gpu, one.profile->id, one.start);
        if (made.answer != MigAnswer::kDone) return no_room;
        const auto full = full_compute_profile(model, *one.profile);
        (void)create_compute_instance(state, gpu, made.id, full.id, std::nullopt);
    }
    return Done{};
}

}  // namespace aliquot::sim
