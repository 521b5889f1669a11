// SPDX-License-Identifier: Apache-2.0
//
// What changes a GPU: -pm, -c, -mig, -r.

#include "sim/node/node.h"
#include "sim/smi/arguments.h"
#include "sim/smi/show.h"
#include "sim/smi/text.h"

namespace aliquot::sim::smi {
namespace {

constexpr int kInUse = NVML_ERROR_IN_USE;

int exit_code(nvmlReturn_t code) { return code > 255 ? 255 : code; }

std::string bus_id(const Gpu& gpu) {
    return text_or(gpu.bus_id(), detail_problem, [](const std::string& text) { return text; });
}

/// Applies one change to each GPU; the tool stops at the first that refuses.
template <class Change>
Output change_all(const View& view, Change change) {
    Output output;
    for (const Gpu& gpu : view.gpus) {
        const auto [code, line] = change(gpu);
        if (code != NVML_SUCCESS) {
            output.text +=
                "Unable to change GPU " + bus_id(gpu) + ": " + view.library.error_text(code) + "\n";
            output.code = exit_code(code);
            return output;
        }
        output.text += line + "\n";
    }
    output.text += "All done.\n";
    return output;
}

}  // namespace

Output set_persistence(const View& view, const Request& request) {
    return change_all(view, [&](const Gpu& gpu) -> std::pair<nvmlReturn_t, std::string> {
        const auto before = gpu.persistence();
        if (!before.ok()) return {before.code, {}};
        const std::string wanted = request.value != 0 ? "Enabled" : "Disabled";
        if (before.value == request.value) {
            return {NVML_SUCCESS,
                    "Persistence mode is already " + wanted + " for GPU " + bus_id(gpu) + "."};
        }
        const auto code =
            SMI_CALL(view.library, nvmlDeviceSetPersistenceMode, gpu.handle(), request.value);
        return {code, wanted + " persistence mode for GPU " + bus_id(gpu) + "."};
    });
}

Output set_compute_mode(const View& view, const Request& request) {
    return change_all(view, [&](const Gpu& gpu) -> std::pair<nvmlReturn_t, std::string> {
        const auto before = gpu.compute_mode();
        if (!before.ok()) return {before.code, {}};
        const std::string wanted = upper(compute_mode_name(request.value));
        if (before.value == request.value) {
            return {NVML_SUCCESS,
                    "Compute mode is already set to " + wanted + " for GPU " + bus_id(gpu) + "."};
        }
        const auto code =
            SMI_CALL(view.library, nvmlDeviceSetComputeMode, gpu.handle(), request.value);
        return {code, "Set compute mode to " + wanted + " for GPU " + bus_id(gpu) + "."};
    });
}

Output set_mig_mode(const View& view, const Request& request) {
    Output output;
    for (const Gpu& gpu : view.gpus) {
        nvmlReturn_t activation = NVML_SUCCESS;
        const auto code = gpu.handle() == nullptr
                              ? gpu.problem()
                              : SMI_CALL(view.library, nvmlDeviceSetMigMode, gpu.handle(),
                                         request.value, &activation);
        const char* const verb = request.value != 0 ? "enable" : "disable";
        if (code != NVML_SUCCESS) {
            output.text += "Unable to " + std::string(verb) + " MIG Mode for GPU " + bus_id(gpu) +
                           ": " + view.library.error_text(code) + "\n";
            output.code = exit_code(code);
            return output;
        }
        if (activation == NVML_SUCCESS) {
            output.text += std::string(request.value != 0 ? "Enabled" : "Disabled") +
                           " MIG Mode for GPU " + bus_id(gpu) + "\n";
            continue;
        }
        output.text += "Warning: MIG mode is in pending " + std::string(verb) + " state for GPU " +
                       bus_id(gpu) + ":" + view.library.error_text(activation) + "\n";
        if (activation == NVML_ERROR_IN_USE) {
            output.text += bus_id(gpu) + " is in use: end the processes that use it" +
                           (request.value != 0 ? "" : ", destroy its MIG instances") +
                           " and reset the GPU or say it again.\n";
        }
    }
    output.text += "All done.\n";
    return output;
}

Output reset(const View& view, const Request& request) {
    if (view.directory.empty()) {
        return {"GPU reset works on simulated nodes only, and this program belongs to none.\n",
                NVML_ERROR_NOT_SUPPORTED};
    }
    auto node = Node::open(view.directory);
    if (!node) return {node.error().message + "\n", NVML_ERROR_NOT_FOUND};
    Output output;
    const auto states = node->gpus();
    for (const GpuView& state : states) {
        // A lost GPU has no handle, so the node itself is asked which one is meant.
        const std::string bus = upper(state.pci_bus_id);
        bool meant = request.gpus.empty();
        for (const std::string& name : request.gpus) {
            meant = meant || name == std::to_string(state.index) || name == state.uuid ||
                    upper(name) == bus || "0000" + upper(name) == bus;
        }
        if (!meant) continue;
        if (state.processes > 0) {
            output.text += "GPU " + bus + " could not be reset: in use by " +
                           std::to_string(state.processes) + " process(es); end them first.\n";
            output.code = kInUse;
            continue;
        }
        auto done = node->reset(state.index);
        if (!done) return {output.text + done.error().message + "\n", NVML_ERROR_NOT_FOUND};
        output.text += "GPU " + bus + " was successfully reset.\n";
    }
    if (output.text.empty()) return {"No devices were found\n", NVML_ERROR_NOT_FOUND};
    if (output.code == 0) output.text += "All done.\n";
    return output;
}

}  // namespace aliquot::sim::smi
