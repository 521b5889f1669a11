// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/sentence.h"
#include "cli/answer.h"
#include "cli/files/config_claims.h"
#include "cli/files/config_command.h"
#include "cli/host/node_offer.h"
#include "command_line/command.h"
#include "dra/places.h"
#include "k8s/memory_amount.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
    OfferOptions node;
    std::string dra;  // empty: extended resources
    std::string format = "text";
};

/// "8Gi and 50 % compute, 4Gi and 25 % compute".
std::string unequal_text(const std::vector<grant::Limits>& shares) {
    std::string text;
    for (const grant::Limits& share : shares) {
        text += text.empty() ? "" : ", ";
        if (share.memory_bytes) text += k8s::bytes_text(*share.memory_bytes) + " and ";
        text += std::to_string(share.compute_percent.value_or(100)) + " % compute";
    }
    return text;
}

/// What everybody who shares by MPS must know.
constexpr std::array<std::string_view, 2> kMpsFacts{
    "limits are per process, not per pod: a pod with three processes may use three times its share",
    "faults are shared: a fatal error of one client (an illegal access, say) ends all clients of "
    "that GPU; the next ones find it working again"};

bool has_mps(const sharing::Resource& resource) {
    return std::ranges::any_of(resource.gpus, &sharing::OfferedGpu::by_mps);
}

bool has_guard(const sharing::Resource& resource) {
    return std::ranges::any_of(resource.gpus, [](const sharing::OfferedGpu& gpu) {
        return !gpu.by_mps() && gpu.limits.any();
    });
}

/// "16Gi in 4 shares of 4Gi and 25 % compute".
std::string share_text(const sharing::OfferedGpu& gpu, bool shared) {
    std::string text = k8s::bytes_text(gpu.device_memory_bytes());
    if (!shared) return text + ", whole";
    text += " in " + counted(gpu.replicas, "share");
    if (!gpu.shares.empty()) return text + ": " + unequal_text(gpu.shares);
    if (gpu.limits.memory_bytes) text += " of " + k8s::bytes_text(*gpu.limits.memory_bytes);
    if (gpu.limits.compute_percent) {
        text += gpu.limits.memory_bytes ? " and " : " of ";
        text += std::to_string(*gpu.limits.compute_percent) + " % compute";
    }
    if (gpu.limits.weight) text += ", weight " + std::to_string(*gpu.limits.weight);
    if (!gpu.limits.memory_bytes) text += ", memory not limited";
    return text;
}

void print_text(std::ostream& out, const gpu::Inventory& inventory, const sharing::Offer& offer) {
    out << counted(inventory.gpus.size(), "GPU") << ", driver " << inventory.driver_version << '\n';
    for (const sharing::Resource& resource : offer.resources) {
        const std::size_t count = resource.devices().size();
        out << '\n' << resource.name << ": " << count << '\n';
        for (const sharing::OfferedGpu& gpu : resource.gpus) {
            out << "  GPU " << gpu.index_text() << "  "
                << (gpu.mig ? gpu.mig->profile + " of " : std::string{}) << gpu.gpu.model << "  "
                << share_text(gpu, resource.shared) << "  " << gpu.uuid().text;
            const gpu::Health& health =
                gpu.mig && gpu.gpu.health.ok() ? gpu.mig->health : gpu.gpu.health;
            if (!health.ok()) out << "  unhealthy: " << health.reason;
            out << '\n';
        }
        out << "  pods ask for it by resources.limits: {" << resource.name << ": 1}\n";
        if (resource.fail_requests_greater_than_one) {
            out << "  a container that asks for more than 1 is refused\n";
        }
        if (has_guard(resource)) {
            out << "  limits are kept by the guard in each container; it holds programs, not "
                   "attackers\n";
        }
        if (!has_mps(resource)) continue;
        out << "  by MPS: kernels of different containers run at the same time\n";
        for (const std::string_view fact : kMpsFacts) out << "    " << fact << '\n';
        if (std::ranges::any_of(resource.gpus,
                                [](const auto& gpu) { return !gpu.shares.empty(); })) {
            out << "    the largest share is enforced by the MPS server; a smaller one by "
                   "variables "
                   "that its container could unset\n";
        }
    }
    if (offer.resources.empty()) out << "\nno GPU can be offered\n";
    if (!offer.remarks.empty()) out << '\n';
    for (const std::string& remark : offer.remarks) out << "remark: " << remark << '\n';
}

template <class T>
Json optional_json(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

/// null for a GPU.
Json mig_json(const sharing::OfferedGpu& gpu) {
    if (!gpu.mig) return nullptr;
    return {{"index", gpu.mig->index},
            {"profile", gpu.mig->profile},
            {"gpu", gpu.gpu.uuid.text},
            {"gpuInstance", gpu.mig->gpu_instance},
            {"computeInstance", gpu.mig->compute_instance}};
}

Json to_json(const gpu::Inventory& inventory, const sharing::Offer& offer) {
    Json resources = Json::array();
    for (const sharing::Resource& resource : offer.resources) {
        Json gpus = Json::array();
        for (const sharing::OfferedGpu& gpu : resource.gpus) {
            gpus.push_back(
                {{"index", gpu.gpu.index},
                 {"uuid", gpu.uuid().text},
                 {"model", gpu.gpu.model},
                 {"mig", mig_json(gpu)},
                 {"memoryBytes", gpu.device_memory_bytes()},
                 {"healthy", gpu.healthy()},
                 {"replicas", gpu.replicas},
                 {"memoryBytesPerReplica", optional_json(gpu.limits.memory_bytes)},
                 {"computePercentPerReplica", optional_json(gpu.limits.compute_percent)}});
            if (gpu.limits.weight) gpus.back()["weightPerReplica"] = *gpu.limits.weight;
            for (const grant::Limits& share : gpu.shares) {
                gpus.back()["shares"].push_back(
                    {{"memoryBytes", optional_json(share.memory_bytes)},
                     {"computePercent", optional_json(share.compute_percent)}});
            }
        }
        resources.push_back(
            {{"name", resource.name},
             {"count", resource.devices().size()},
             {"shared", resource.shared},
             {"failRequestsGreaterThanOne", resource.fail_requests_greater_than_one},
             {"podLimits", {{resource.name, "1"}}},
             {"gpus", std::move(gpus)}});
        if (!has_mps(resource)) continue;
        resources.back()["mechanism"] = grant::node_text(grant::Mechanism::kMps);
        for (const std::string_view fact : kMpsFacts) resources.back()["facts"].push_back(fact);
    }
    return {{"driverVersion", inventory.driver_version},
            {"gpus", inventory.gpus.size()},
            {"resources", std::move(resources)},
            {"remarks", offer.remarks}};
}

void explain(Context& context, const ExplainOptions& words) {
    const auto node = look_at_node_offer(context, words.node);
    if (!node) return;
    const std::string& format = words.format;
    const bool by_claims = !words.dra.empty();
    dra::PlaceFacts places;
    if (by_claims) {
        places = dra::read_places(os::Root(host_of(words.node.driver)), node->inventory);
        if (words.dra == kDynamicMig) add_cuts(node->inventory, places);
    }
    if (format == "text" && by_claims) {
        context.out << claims_text(*node, places, claim_mode(words.dra));
        return;
    }
    if (format == "text") return print_text(context.out, node->inventory, node->offer);
    if (by_claims) {
        const Json answer = claims_json(*node, places, claim_mode(words.dra));
        return print_answer(context.out, "ClaimOffer", answer, format);
    }
    print_answer(context.out, "SharingOffer", to_json(node->inventory, node->offer), format);
}

}  // namespace

void add_config_explain(command_line::Command& config, Context& context) {
    command_line::Command* command = config.add_subcommand(
        "explain", "Show which resources this node would offer with a sharing configuration");
    command->footer(
        "aliquot config explain sharing.yaml\n"
        "aliquot config explain sharing.yaml --node-state /tmp/node   # a simulated node\n"
        "aliquot config explain sharing.yaml --dra fixed\n"
        "aliquot config explain configmap.yaml --key a100 -o json");
    auto words = std::make_shared<ExplainOptions>();
    add_offer_options(*command, words->node, FileArgument::kRequired);
    command
        ->add_option("--dra", words->dra,
                     "What it would hand out by ResourceClaims instead, as aliquot-agent --dra",
                     "MODE (whole, fixed, consumable, dynamic-mig)")
        ->one_of({"whole", "fixed", "consumable", std::string(kDynamicMig)});
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { explain(context, *words); });
}

}  // namespace aliquot::cli
