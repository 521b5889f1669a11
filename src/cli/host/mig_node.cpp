// SPDX-License-Identifier: Apache-2.0
// The node that `aliquot mig` looks at and changes.
#include <algorithm>
#include <thread>

#include "base/number.h"
#include "base/sentence.h"
#include "catalog/gpu_models.h"
#include "cli/files/config_command.h"
#include "cli/host/mig_command.h"
#include "dra/held_devices.h"
#include "kubelet/pod_resources.h"
#include "mig/board.h"
#include "nvml/driver.h"
#include "pods/claim_state.h"

namespace aliquot::cli {
namespace {

constexpr const char* kPodResources = "/var/lib/kubelet/pod-resources/kubelet.sock";

/// Whom kubelet has given which device. No kubelet at the usual place is no error; one that is there
/// and does not say is: a pod may hold an instance on which no process runs yet.
Result<Done> ask_kubelet(dra::HeldDevices& held, const MigNode& node, const MigOptions& words) {
    const bool named = !words.pod_resources.empty();
    const os::Root here("/");
    const os::Root& root = named ? here : *node.root;
    const std::string socket =
        named ? std::filesystem::absolute(words.pod_resources).string() : kPodResources;
    if (!root.exists(socket)) {
        if (!named) return Done{};
        return Error{ErrorCode::kNotFound, "there is no socket " + socket};
    }
    constexpr std::chrono::milliseconds kPatience{3000};
    constexpr std::chrono::milliseconds kPause{300};  // kubelet limits all its askers together
    constexpr unsigned kTries = 5;
    kubelet::PodResources pods(root, socket);
    auto holders = pods.list(kPatience);
    for (unsigned i = 1; i < kTries && !holders; ++i) {
        std::this_thread::sleep_for(kPause);
        holders = pods.list(kPatience);
    }
    if (!holders) {
        return Error{ErrorCode::kUnavailable,
                     "kubelet does not say which pods hold GPUs: " + holders.error().message};
    }
    for (const kubelet::Holder& holder : *holders) held.take(holder);
    return Done{};
}

/// Whom devices were given. Claims are also written down, by kubelet and by our agent: they hold a
/// GPU before kubelet lists their pod, and while it does not run.
void find_holders(MigNode& node, const MigOptions& words) {
    if (words.pod_resources == "none") return;
    dra::HeldDevices held;
    held.take_notes(*node.root, {});
    if (const auto written = pods::read_claim_state(*node.root); written) {
        for (const pods::ClaimHold& hold : *written) held.take(hold);
    } else {
        held.take_problem(written.error().message);
    }
    if (const auto asked = ask_kubelet(held, node, words); !asked) {
        held.take_problem(asked.error().message);
    }
    node.held = held.uuids();
    node.remark = held.problem();
}

const gpu::Gpu* find_gpu(const gpu::Inventory& inventory, const std::string& word) {
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text == word || std::to_string(gpu.index) == word) return &gpu;
    }
    return nullptr;
}

/// Whether the node has every GPU that the words name; complaints go to err.
bool has_named_gpus(Context& context, const MigOptions& words, const MigNode& node) {
    for (const std::string& word : words.gpus) {
        if (find_gpu(node.inventory, word) != nullptr) continue;
        fail(context, kUsage, "there is no GPU '" + word + "' on this node");
        return false;
    }
    return true;
}

/// The GPUs that the words name; all that have MIG when they say so or there is only one.
std::optional<std::vector<const gpu::Gpu*>> chosen_gpus(Context& context, const MigOptions& words,
                                                        const MigNode& node) {
    std::vector<const gpu::Gpu*> chosen;
    if (!has_named_gpus(context, words, node)) return std::nullopt;
    for (const std::string& word : words.gpus) {
        const gpu::Gpu* const gpu = find_gpu(node.inventory, word);
        if (!gpu->mig_capable) {
            fail(context, kFindings,
                 "GPU " + word + " (" + gpu->model +
                     ") has no MIG; time-slicing or MPS can share it");
            return std::nullopt;
        }
        if (std::ranges::find(chosen, gpu) == chosen.end()) chosen.push_back(gpu);
    }
    if (!chosen.empty()) return chosen;
    for (const gpu::Gpu& gpu : node.inventory.gpus) {
        if (gpu.mig_capable) chosen.push_back(&gpu);
    }
    if (chosen.empty()) {
        fail(context, kFindings, "no GPU of this node has MIG; time-slicing or MPS can share them");
        return std::nullopt;
    }
    if (chosen.size() == 1 || words.all) return chosen;
    fail(context, kUsage,
         std::to_string(chosen.size()) +
             " GPUs have MIG: say which by --gpu-index or --uuid, or --all");
    return std::nullopt;
}

/// The configuration that the words select; complaints go to err.
std::optional<mig::NamedConfig> selected_config(Context& context, const MigOptions& words) {
    const auto input = read_input(words.file);
    if (!input) {
        fail(context, kUsage, input.error().message);
        return std::nullopt;
    }
    const auto read = mig::read_config(input->text);
    if (!read.problems.empty()) {
        for (const mig::Problem& problem : read.problems) {
            context.err << mig::to_text(input->name, problem) << '\n';
        }
        context.exit_code = kUsage;
        return std::nullopt;
    }
    const auto& configs = read.config.configs;
    if (words.select.empty() && configs.size() == 1) return configs.front();
    if (const mig::NamedConfig* const found = read.config.find(words.select)) return *found;
    std::string names = listed(configs, [](const mig::NamedConfig& config) { return config.name; });
    fail(context, kUsage,
         input->name +
             (words.select.empty() ? ": select a configuration by --select: "
                                   : ": has no configuration '" + words.select + "', but ") +
             names);
    return std::nullopt;
}

mig::GpuSpec spec_for(const gpu::Gpu& gpu, bool enabled, mig::LayoutSpec spec) {
    return {.gpu = gpu.uuid,
            .index = gpu.index,
            .enabled = enabled,
            .spec = std::move(spec),
            .known_geometry = mig::known_geometry(gpu)};
}

}  // namespace

Result<MigNode> open_mig_node(const MigOptions& words) {
    MigNode node;
    node.root = std::make_unique<os::Root>(host_of(words.driver));
    auto driver = nvml::Driver::open(*node.root, driver_options(words.driver));
    if (!driver) return std::move(driver).error();
    node.partitioner = driver->get();
    node.owner = std::move(*driver);
    auto inventory = node.owner->enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return std::move(inventory).error();
    node.inventory = std::move(*inventory);
    find_holders(node, words);
    return node;
}

std::optional<std::vector<mig::GpuSpec>> specs_of(Context& context, const MigOptions& words,
                                                  const MigNode& node) {
    std::vector<mig::GpuSpec> specs;
    if (words.file.empty() == words.want.empty()) {
        fail(context, kUsage, "no layout given: expected either --want, or --config and --select");
        return std::nullopt;
    }
    if (!words.want.empty()) {
        const bool off = words.want == "off";
        auto spec =
            off ? Result<mig::LayoutSpec>(mig::LayoutSpec{}) : mig::parse_layout_spec(words.want);
        if (!spec) {
            fail(context, kUsage, spec.error().message);
            return std::nullopt;
        }
        const auto gpus = chosen_gpus(context, words, node);
        if (!gpus) return std::nullopt;
        for (const gpu::Gpu* const gpu : *gpus) specs.push_back(spec_for(*gpu, !off, *spec));
        return specs;
    }
    const auto config = selected_config(context, words);
    if (!config || !has_named_gpus(context, words, node)) return std::nullopt;
    const auto targets = mig::targets_of(*config, mig::boards_of(*node.root, node.inventory));
    if (!targets) {
        fail(context, kFindings, targets.error().message);
        return std::nullopt;
    }
    for (const mig::Target& target : *targets) {
        const gpu::Gpu* const gpu = node.inventory.find(target.board.gpu);
        const bool named =
            words.gpus.empty() || std::ranges::any_of(words.gpus, [&](const std::string& word) {
                return find_gpu(node.inventory, word) == gpu;
            });
        if (named) specs.push_back(spec_for(*gpu, target.enabled, target.spec));
    }
    return specs;
}

std::optional<mig::LayoutSpec> offline_spec(Context& context, const MigOptions& words,
                                            const catalog::GpuModel& model) {
    if (words.file.empty() == words.want.empty()) {
        fail(context, kUsage, "no layout given: expected either --want, or FILE and --select");
        return std::nullopt;
    }
    if (!words.want.empty()) {
        auto spec = words.want == "off" ? Result<mig::LayoutSpec>(mig::LayoutSpec{})
                                        : mig::parse_layout_spec(words.want);
        if (spec) return std::move(*spec);
        fail(context, kUsage, spec.error().message);
        return std::nullopt;
    }
    const auto config = selected_config(context, words);
    if (!config) return std::nullopt;
    // Without a node there are no indices: the last rule for this kind of board.
    for (auto rule = config->rules.rbegin(); rule != config->rules.rend(); ++rule) {
        const bool fits = rule->filter.empty() ||
                          std::ranges::any_of(rule->filter, [&](const mig::DeviceFilter& filter) {
                              constexpr unsigned kDeviceShift = 16;
                              const std::uint32_t device = filter.id >> kDeviceShift;
                              return std::ranges::any_of(model.pci_ids, [&](std::string_view id) {
                                  return take_number<std::uint32_t>(id, 16) == device;
                              });
                          });
        if (fits) return rule->spec;
    }
    fail(context, kFindings,
         "configuration " + config->name + " has no rule for " + std::string(model.name));
    return std::nullopt;
}

}  // namespace aliquot::cli
