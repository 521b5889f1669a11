// SPDX-License-Identifier: Apache-2.0
#include "sim/node/identity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <string>

#include "base/number.h"
#include "base/text.h"
#include "sim/node/engine.h"
#include "sim/node/mig.h"
#include "sim/node/model.h"
#include "sim/node/shared_state.h"
#include "sim/node/topology.h"
#include "sim/node/usage.h"

namespace aliquot::sim {
namespace {

constexpr unsigned kMostPerRequest = 16;
constexpr std::uint64_t kSerialRange = 1'000'000'000;

/// One step of a small generator whose every output is used once ("splitmix64").
std::uint64_t next_random(std::uint64_t& seed) {
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

std::string uuid_from(std::uint64_t high, std::uint64_t low) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "GPU-%08x-%04x-4%03x-%04x-%012llx",
                  static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                  static_cast<unsigned>(high & 0xfff),
                  static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                  static_cast<unsigned long long>(low & 0xffffffffffff));
    return text.data();
}

/// It becomes part of file names, so it must be nothing but numbers and points.
bool is_driver_version(std::string_view text) {
    if (text.empty() || text.size() > 20) return false;
    bool digit_before = false;
    for (const char c : text) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit && (c != '.' || !digit_before)) return false;
        digit_before = digit;
    }
    return digit_before && text.contains('.');
}

/// Number of single-character edits from one word to the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] =
                std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

const Model* find_model_as_written(std::string_view text) {
    const std::string wanted = lower(text);
    for (const Model& model : models()) {
        const std::string product = lower(model.product);
        if (wanted == model.name || wanted == product) return &model;
        if (product.starts_with("nvidia ") && wanted == product.substr(7)) return &model;
    }
    return nullptr;
}

Error unknown_model(std::string_view text) {
    const std::string wanted = lower(text).substr(0, 64);
    const Model* nearest = nullptr;
    std::size_t least = 4;  // farther away is no misspelling
    std::string all;
    for (const Model& model : models()) {
        all += (all.empty() ? "" : ", ") + std::string(model.name);
        const std::size_t edits = model.name.starts_with(wanted) && !wanted.empty()
                                      ? 0
                                      : edits_between(wanted, model.name);
        if (edits < least && edits < model.name.size()) {
            least = edits;
            nearest = &model;
        }
    }
    return {ErrorCode::kInvalidInput,
            "there is no GPU model '" + std::string(text.substr(0, 64)) + "'" +
                (nearest != nullptr ? "; did you mean " + std::string(nearest->name) + "?" : "") +
                " Known are: " + all};
}

Error bad_count(std::string_view text) {
    return {ErrorCode::kInvalidInput, "'" + std::string(text.substr(0, 64)) +
                                          "': the number after ':' must be 1 to " +
                                          std::to_string(kMostPerRequest)};
}

/// Fills in one GPU; everything in it is 0 before.
void describe(GpuState& gpu, const Model& model, const Place& place, std::uint64_t& random) {
    gpu.model.assign(model.name);
    const std::uint64_t high = next_random(random);
    gpu.uuid.assign(uuid_from(high, next_random(random)));
    const std::uint64_t serial = next_random(random) % kSerialRange;
    if (!model.geforce()) gpu.serial.assign("132" + std::to_string(kSerialRange + serial));
    gpu.pci_domain = place.domain;
    gpu.pci_bus = place.bus;
    gpu.numa_node = place.numa_node;
    gpu.persistence = model.geforce() ? 0 : 1;
    gpu.ecc_pending = model.ecc == Ecc::kOn ? 1 : 0;
    gpu.power_limit_milliwatts = model.power_default_watts * 1000;
    gpu.load_changed_us = epoch_us();
    gpu.sums.since_ns = monotonic_ns();
}

/// Cuts the GPUs that one entry of NodeOptions::mig means.
Result<Done> cut_as_asked(State& state, std::string_view text) {
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) {
        const auto gpu = parse_number<unsigned>(text.substr(0, equals));
        if (!gpu || *gpu >= state.gpu_count) {
            return Error{ErrorCode::kInvalidInput,
                         "MIG layout '" + std::string(text.substr(0, 64)) +
                             "': expected LAYOUT or GPU=LAYOUT with a GPU that the node has"};
        }
        return cut_gpu(state, *gpu, text.substr(equals + 1));
    }
    bool any = false;
    for (unsigned gpu = 0; gpu < state.gpu_count; ++gpu) {
        if (find_model(state.gpus[gpu].model.view())->mig_devices == 0) continue;
        any = true;
        if (auto cut = cut_gpu(state, gpu, text); !cut) return cut;
    }
    if (any) return Done{};
    return Error{ErrorCode::kInvalidInput, "MIG layout '" + std::string(text.substr(0, 64)) +
                                               "': none of the node's GPUs has MIG"};
}

}  // namespace

Result<GpuRequest> parse_gpu_request(std::string_view text) {
    const auto colon = text.rfind(':');
    const Model* const model = find_model_as_written(text.substr(0, colon));
    if (model == nullptr) return unknown_model(text.substr(0, colon));
    GpuRequest request{.model = std::string(model->name)};
    if (colon == std::string_view::npos) return request;
    request.count = parse_number<unsigned>(text.substr(colon + 1)).value_or(0);
    if (request.count == 0 || request.count > kMostPerRequest) return bad_count(text);
    return request;
}

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (const Model& model : models()) names.emplace_back(model.name);
    return names;
}

Result<std::unique_ptr<State>> state_for(const NodeOptions& options) {
    if (!is_driver_version(options.driver_version)) {
        return Error{ErrorCode::kInvalidInput,
                     "driver version '" + options.driver_version.substr(0, 64) +
                         "' is none: expected numbers and points, as 580.65.06"};
    }
    if (options.cuda_version < 1000 || options.cuda_version > 99990) {
        return Error{ErrorCode::kInvalidInput,
                     "CUDA version " + std::to_string(options.cuda_version) +
                         " is none: expected 1000 * major + 10 * minor, as 13000"};
    }
    auto state = std::make_unique<State>();
    state->magic = kStateMagic;
    state->version = kStateVersion;
    state->size = sizeof(State);
    state->cuda_version = options.cuda_version;
    state->processors = options.processors;
    state->time_slice_ns = kTimeSliceNs;
    state->created_us = epoch_us();
    state->clock_offset_us = state->created_us - monotonic_ns() / 1000;
    state->driver_version.assign(options.driver_version);
    std::uint64_t random = options.seed;
    unsigned group = 0;
    for (const GpuRequest& request : options.gpus) {
        const Model* const model = find_model(request.model);
        if (model == nullptr) return unknown_model(request.model);
        if (request.count == 0 || request.count > kMostPerRequest)
            return bad_count(request.model + ":" + std::to_string(request.count));
        if (state->gpu_count + request.count > kMaxGpus) {
            return Error{ErrorCode::kInvalidInput,
                         "a simulated node has at most " + std::to_string(kMaxGpus) + " GPUs"};
        }
        const auto places = places_of(*model, group, request.count);
        for (unsigned i = 0; i < request.count; ++i) {
            GpuState& gpu = state->gpus[state->gpu_count];
            gpu.group = group;
            gpu.index_in_group = i;
            gpu.group_size = request.count;
            gpu.minor = state->gpu_count;
            describe(gpu, *model, places[i], random);
            state->samples[state->gpu_count].newest =
                driver_us(*state, gpu.sums.since_ns) / kSamplingPeriodUs;
            ++state->gpu_count;
        }
        ++group;
    }
    for (const std::string& layout : options.mig) {
        if (auto cut = cut_as_asked(*state, layout); !cut) return std::move(cut).error();
    }
    return state;
}

}  // namespace aliquot::sim
