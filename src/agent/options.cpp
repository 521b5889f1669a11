// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <filesystem>
#include <sstream>

#include "agent/option_reader.h"
#include "command_line/command.h"

namespace aliquot::agent {
namespace {

using sharing::AllocationPolicy;
using sharing::DeviceIdStrategy;
using sharing::DeviceListStrategy;
using sharing::DiscoveryStrategy;
using sharing::MigStrategy;
using Environment = std::map<std::string, std::string>;

const Words<MigStrategy>& mig_strategies() {
    static const Words<MigStrategy> words{{"none", MigStrategy::kNone},
                                          {"single", MigStrategy::kSingle},
                                          {"mixed", MigStrategy::kMixed}};
    return words;
}
const Words<DeviceListStrategy>& list_strategies() {
    static const Words<DeviceListStrategy> words{
        {"envvar", DeviceListStrategy::kEnvvar},
        {"volume-mounts", DeviceListStrategy::kVolumeMounts},
        {"cdi-annotations", DeviceListStrategy::kCdiAnnotations},
        {"cdi-cri", DeviceListStrategy::kCdiCri}};
    return words;
}
const Words<DeviceIdStrategy>& id_strategies() {
    static const Words<DeviceIdStrategy> words{{"uuid", DeviceIdStrategy::kUuid},
                                               {"index", DeviceIdStrategy::kIndex}};
    return words;
}
const Words<DiscoveryStrategy>& discovery_strategies() {
    static const Words<DiscoveryStrategy> words{{"auto", DiscoveryStrategy::kAuto},
                                                {"nvml", DiscoveryStrategy::kNvml},
                                                {"tegra", DiscoveryStrategy::kTegra}};
    return words;
}
const Words<AllocationPolicy>& policies() {
    static const Words<AllocationPolicy> words{{"distributed", AllocationPolicy::kDistributed},
                                               {"packed", AllocationPolicy::kPacked}};
    return words;
}

void add_nvidia_options(Reader& reader, Options& options) {
    sharing::Flags& flags = options.flags;
    reader.word("--mig-strategy", {"MIG_STRATEGY"}, "none, single or mixed", mig_strategies(),
                flags.mig_strategy);
    reader.word("--fail-on-init-error", {"FAIL_ON_INIT_ERROR"},
                "exit when the driver cannot be used at start (default true)", booleans(),
                flags.fail_on_init_error);
    reader.text("--driver-root,--nvidia-driver-root", {"NVIDIA_DRIVER_ROOT"},
                "host path of the driver installation (default /)", flags.nvidia_driver_root);
    reader.text("--dev-root,--nvidia-dev-root", {"NVIDIA_DEV_ROOT"},
                "host path under which dev/nvidia* lie (default: driver root)",
                flags.nvidia_dev_root);
    reader.text("--container-driver-root,--driver-root-ctr-path",
                {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
                "where the driver root is mounted in this container (default /driver-root)",
                flags.plugin.container_driver_root);
    reader.word("--pass-device-specs", {"PASS_DEVICE_SPECS"},
                "answer Allocate with device nodes too (default false)", booleans(),
                flags.plugin.pass_device_specs);
    reader.add("--device-list-strategy", {"DEVICE_LIST_STRATEGY"},
               "envvar, volume-mounts, cdi-annotations, cdi-cri; a comma list (default envvar)",
               [&flags](const std::string& name, const std::string& text) {
                   std::vector<DeviceListStrategy> strategies;
                   for (const std::string& word : split(text)) {
                       strategies.push_back(word_value(list_strategies(), name, word));
                   }
                   if (strategies.empty())
                       throw command_line::UsageError(name, "names no strategy");
                   flags.plugin.device_list_strategy = std::move(strategies);
               });
    reader.word("--device-id-strategy", {"DEVICE_ID_STRATEGY"}, "uuid or index (default uuid)",
                id_strategies(), flags.plugin.device_id_strategy);
    reader.word("--shared-devices-allocation-policy", {"SHARED_DEVICES_ALLOCATION_POLICY"},
                "distributed or packed (default distributed)", policies(),
                flags.plugin.shared_devices_allocation_policy);
    reader.text("--cdi-annotation-prefix", {"CDI_ANNOTATION_PREFIX"}, "default cdi.k8s.io/",
                flags.plugin.cdi_annotation_prefix);
    reader.text("--nvidia-cdi-hook-path,--nvidia-ctk-path",
                {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
                "accepted; our CDI file needs no hook program", flags.plugin.nvidia_ctk_path);
    reader.word("--gdrcopy-enabled", {"GDRCOPY_ENABLED"}, "tell containers to use GDRCopy",
                booleans(), flags.gdrcopy_enabled);
    reader.word("--gds-enabled", {"GDS_ENABLED"}, "tell containers to use GPUDirect Storage",
                booleans(), flags.gds_enabled);
    reader.word("--mofed-enabled", {"MOFED_ENABLED"}, "tell containers to use MOFED", booleans(),
                flags.mofed_enabled);
    reader.text("--mps-root", {"MPS_ROOT"}, "host path for MPS (default /run/nvidia/mps)",
                flags.mps_root);
    reader.word("--device-discovery-strategy", {"DEVICE_DISCOVERY_STRATEGY"}, "auto or nvml",
                discovery_strategies(), flags.device_discovery_strategy);
    reader.add("--imex-channel-ids", {"IMEX_CHANNEL_IDS"}, "0 or nothing",
               [&options](const std::string& name, const std::string& text) {
                   if (text != "0")
                       throw command_line::UsageError(name, "'" + text + "': only 0 is valid");
                   options.imex_channel_ids = std::vector<unsigned>{0};
               });
    reader.word("--imex-required", {"IMEX_REQUIRED"}, "IMEX channels must exist", booleans(),
                options.imex_required);
    static std::string accepted;  // named by manifests for NVIDIA's plugin; nothing of ours to set
    reader.text("--cdi-feature-flags", {"CDI_FEATURE_FLAGS"}, "accepted, not used", accepted);
    reader.text("--cdi-disable-hooks", {"CDI_DISABLE_HOOKS"}, "accepted, not used", accepted);
    reader.text("--kubelet-socket", {"KUBELET_SOCKET"},
                "kubelet's registration socket (default " + options.kubelet.kubelet_socket + ")",
                options.kubelet.kubelet_socket);
    reader.text("--config-file", {"CONFIG_FILE"}, "NVIDIA's version: v1 file, with our extensions",
                options.config_file);
}

void add_own_options(Reader& reader, Options& options) {
    reader.text("--root", {}, "prefix of every host path, to run beside others (default /)",
                options.root);
    reader.add("--compat", {}, "nvidia: read the file as leniently as NVIDIA's plugin does",
               [&options](const std::string& name, const std::string& text) {
                   options.compatibility = word_value<sharing::Compatibility>(
                       {{"strict", sharing::Compatibility::kStrict},
                        {"nvidia", sharing::Compatibility::kNvidia}},
                       name, text);
               });
    reader.add("--registration", {}, "register (default) or registry (plugins_registry directory)",
               [&options](const std::string& name, const std::string& text) {
                   options.registration = word_value<kubelet::Registration>(
                       {{"register", kubelet::Registration::kRegister},
                        {"registry", kubelet::Registration::kRegistry}},
                       name, text);
               });
    reader.text("--plugins-registry", {}, "kubelet's plugins_registry directory",
                options.kubelet.plugins_registry);
    reader.text("--cdi-directory", {}, "where the CDI file goes (default /var/run/cdi)",
                options.cdi_directory);
    reader.text("--state-directory", {}, "where the last good configuration is kept",
                options.state_directory);
    reader.text(
        "--guard-library", {"ALIQUOT_GUARD_LIBRARY"},
        "libaliquot-guard.so for containers with limits (default: ../lib beside this program)",
        options.guard_library);
    reader.text("--http-listen", {}, "unix:PATH, a loopback ADDRESS:PORT, or off",
                options.http_listen);
    reader.text(
        "--probe-listen", {"ALIQUOT_PROBE_LISTEN"},
        "where kubelet asks /live, /ready and /startup: ADDRESS:PORT, :PORT, or off (default)",
        options.probe_listen);
    reader.add(
        "--keep-capabilities", {}, "do not drop Linux capabilities",
        [&options](const std::string& name, const std::string& text) {
            options.keep_capabilities = word_value(booleans(), name, text);
        },
        true);
    reader.boolean("--clean-up",
                   "only remove what agents have left on this host, and end; none may run",
                   options.clean_up);
    reader.add("--log-format", {}, "text (default) or json",
               [&options](const std::string& name, const std::string& text) {
                   options.log_format = word_value<log::Format>(
                       {{"text", log::Format::kText}, {"json", log::Format::kJson}}, name, text);
               });
    reader.add("--log-level", {}, "debug, info (default), warning, error, off",
               [&options](const std::string& name, const std::string& text) {
                   options.log_level = word_value<log::Level>({{"debug", log::Level::kDebug},
                                                               {"info", log::Level::kInfo},
                                                               {"warning", log::Level::kWarning},
                                                               {"error", log::Level::kError},
                                                               {"off", log::Level::kOff}},
                                                              name, text);
               });
    reader.milliseconds("--probe-interval-ms", "between questions to each GPU (default 2000)",
                        options.probe_interval);
    reader.milliseconds("--driver-deadline-ms", "for one call into the driver (default 5000)",
                        options.driver_deadline);
    reader.milliseconds("--config-interval-ms", "between looks at the file (default 1000)",
                        options.config_interval);
}

std::string variable(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
}

}  // namespace

std::variant<Options, EarlyExit> read_options(int argc, const char* const* argv,
                                              const Environment& environment) {
    Options options;
    command_line::Command app(
        "Offers this node's NVIDIA GPUs, whole or in shares, to kubelet.\n\n"
        "A flag wins over its [VARIABLE], that over the file, that over the default.\n"
        "DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS choose the Xids that count.\n"
        "Signals: SIGHUP reads the file again, SIGTERM and SIGINT end the agent.",
        "aliquot-agent");
    app.set_version_flag("--version", std::string("aliquot-agent ") + ALIQUOT_VERSION);
    app.footer(
        "aliquot-agent --config-file /etc/aliquot/sharing.yaml --device-list-strategy cdi-cri");
    Reader reader(app, environment);
    add_nvidia_options(reader, options);
    add_own_options(reader, options);
    add_label_options(reader, options);
    add_telemetry_options(reader, options.telemetry);
    add_cluster_options(reader, options.cluster);
    add_claim_options(reader, options.claims);
    using Kind = command_line::Parsed::Kind;
    command_line::Parsed parsed = app.parse(argc, argv);
    if (parsed.kind == Kind::kRun) {
        try {
            reader.finish();
        } catch (const command_line::UsageError& problem) {
            parsed = {.kind = Kind::kWrong, .text = problem.what(), .unwanted = {}};
        }
    }
    if (parsed.kind == Kind::kWrong) {
        return EarlyExit{.text = "aliquot-agent: " + parsed.text + "; see aliquot-agent --help\n",
                         .exit_code = 2,
                         .to_stderr = true};
    }
    if (parsed.kind != Kind::kRun) return EarlyExit{.text = parsed.text};
    options.disabled_health_checks = variable(environment, "DP_DISABLE_HEALTHCHECKS");
    options.enabled_health_checks = variable(environment, "DP_ENABLE_HEALTHCHECKS");
    options.cluster.in_a_pod = !variable(environment, "KUBERNETES_SERVICE_HOST").empty();
    options.cluster.node_named = !options.telemetry.node.empty();
    if (!options.config_file.empty())
        options.config_file = std::filesystem::absolute(options.config_file).native();
    return options;
}

}  // namespace aliquot::agent
