// SPDX-License-Identifier: Apache-2.0
//
// nvidia-smi of a simulated node: a client of libnvidia-ml.so.1 and of nothing else (but for -r).
#include <sys/auxv.h>

#include <cstdio>
#include <thread>

#include "sim/smi/fields.h"
#include "sim/smi/show.h"

namespace aliquot::sim::smi {
namespace {

constexpr int kLibraryMissing = NVML_ERROR_LIBRARY_NOT_FOUND;
constexpr int kMalformed = 2;

Output cannot_start(const DriverLibrary& library, nvmlReturn_t code) {
    if (code == NVML_ERROR_DRIVER_NOT_LOADED) {
        return {
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Is the "
            "driver, or the simulated node, there?\n",
            code};
    }
    return {"Failed to initialize NVML: " + library.error_text(code) + "\n",
            code > 255 ? 255 : code};
}

View look(const DriverLibrary& library, const Request& request, const std::string& program) {
    View view{.library = library, .directory = node_directory(program)};
    std::vector<char> version(NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE + 1, '\0');
    (void)SMI_CALL(library, nvmlSystemGetDriverVersion, version.data(),
                   static_cast<unsigned>(version.size() - 1));
    view.driver_version = version.data();
    (void)SMI_CALL(library, nvmlSystemGetCudaDriverVersion_v2, &view.cuda_version);
    unsigned count = 0;
    (void)SMI_CALL(library, nvmlDeviceGetCount_v2, &count);
    view.attached = count;
    for (unsigned index = 0; index < count; ++index) {
        Gpu gpu(library, index);
        bool wanted = request.gpus.empty();
        for (const std::string& name : request.gpus) wanted = wanted || gpu.is_named(name);
        if (wanted) view.gpus.push_back(gpu);
    }
    return view;
}

bool changes_mig(const MigRequest& request) {
    return request.action >= MigRequest::Action::kCreateGpuInstances;
}

Output show(const View& view, const Request& request, bool first_round) {
    using Kind = Request::Kind;
    switch (request.kind) {
        case Kind::kTable:
            return {show_table(view)};
        case Kind::kList:
            return {show_list(view)};
        case Kind::kDetails:
            return {request.xml ? show_xml(view) : show_details(view, request)};
        case Kind::kQueryGpu:
            return show_query(view, request, first_round);
        case Kind::kQueryProcesses:
            return show_process_query(view, request, first_round);
        case Kind::kMonitorGpus:
            return {show_gpu_monitor(view, request, first_round)};
        case Kind::kMonitorProcesses:
            return {show_process_monitor(view, first_round)};
        case Kind::kNvlink:
            return {show_nvlink(view)};
        case Kind::kVersion:
            return {show_version(view)};
        case Kind::kTopology:
            return {show_topology(view)};
        case Kind::kSetPersistence:
            return set_persistence(view, request);
        case Kind::kSetComputeMode:
            return set_compute_mode(view, request);
        case Kind::kSetMigMode:
            return set_mig_mode(view, request);
        case Kind::kMig:
            return changes_mig(request.mig) ? change_mig(view, request) : show_mig(view, request);
        default:
            return {};
    }
}

Output round(const DriverLibrary& library, const Request& request, const std::string& program,
             bool first) {
    const View view = look(library, request, program);
    if (view.gpus.empty()) return {"No devices were found\n", NVML_ERROR_NOT_FOUND};
    const Output missing = name_missing(view);
    Output output = show(view, request, first);
    if (output.code == 0) {
        output.code = missing.code;
        output.text = missing.text + output.text;
    }
    return output;
}

int leave(const Output& output) {
    std::fputs(output.text.c_str(), stdout);
    std::fflush(stdout);
    return output.code;
}

int run(const std::string& program, const std::vector<std::string>& arguments) {
    const auto request = parse_request(arguments);
    if (!request) return leave({request.error().message + "\n", kMalformed});
    if (request->kind == Request::Kind::kHelp) return leave({help_text()});
    if (request->kind == Request::Kind::kHelpQuery) return leave({field_help()});
    if (request->kind == Request::Kind::kHelpProcessQuery) return leave({process_field_help()});
    if (!request->file.empty() && std::freopen(request->file.c_str(), "w", stdout) == nullptr) {
        std::fprintf(stderr, "Unable to open %s for writing.\n", request->file.c_str());
        return kMalformed;
    }
    const auto library = DriverLibrary::open(program);
    if (!library) {
        return leave(
            {"NVIDIA-SMI couldn't find libnvidia-ml.so.1, neither where the loader looks nor "
             "in a lib directory above this program.\n",
             kLibraryMissing});
    }
    const nvmlReturn_t started = library->init();
    if (started != NVML_SUCCESS) return leave(cannot_start(*library, started));
    if (request->kind == Request::Kind::kReset) {
        return leave(reset({.library = *library, .directory = node_directory(program)}, *request));
    }
    for (unsigned done = 1;; ++done) {
        const int code = leave(round(*library, *request, program, done == 1));
        const bool again =
            request->interval.count() > 0 && (request->rounds == 0 || done < request->rounds);
        if (!again || code == kMalformed) return code;
        std::this_thread::sleep_for(request->interval);
    }
}

}  // namespace
}  // namespace aliquot::sim::smi

int main(int argc, char** argv) {
    // The path the kernel was given: unlike argv[0] it is complete, unlike /proc/self/exe it keeps
    // links.
    const auto* const path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return aliquot::sim::smi::run(path != nullptr ? path : "nvidia-smi", arguments);
}
