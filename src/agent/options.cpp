// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <list>
#include <sstream>

namespace aliquot::agent {
namespace {

using sharing::AllocationPolicy;
using sharing::DeviceIdStrategy;
using sharing::DeviceListStrategy;
using sharing::DiscoveryStrategy;
using sharing::MigStrategy;
using Environment = std::map<std::string, std::string>;

template <class T>
using Words = std::vector<std::pair<std::string, T>>;

const Words<bool>& booleans() {
    static const Words<bool> words{{"true", true},   {"false", false}, {"1", true},
                                   {"0", false},     {"t", true},      {"f", false},
                                   {"T", true},      {"F", false},     {"TRUE", true},
                                   {"FALSE", false}, {"True", true},   {"False", false}};
    return words;
}
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

template <class T>
T word_value(const Words<T>& words, const std::string& name, const std::string& text) {
    std::string expected;
    for (const auto& [word, value] : words) {
        if (word == text) return value;
        if (expected.size() < 80) expected += (expected.empty() ? "" : ", ") + word;
    }
    throw CLI::ValidationError(name, "'" + text + "' is not one of " + expected);
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

/// Collects what is said by flag or, if no flag said it, by one of the variables.
class Reader {
public:
    Reader(CLI::App& app, const Environment& environment) : app_(app), environment_(environment) {}

    /// One option: `flags` as CLI11 writes them, `variables` in order of precedence.
    void add(const std::string& flags, std::vector<std::string> variables, const std::string& help,
             std::function<void(const std::string& name, const std::string& text)> set,
             bool boolean = false) {
        entries_.push_back({.set = std::move(set), .variables = std::move(variables)});
        Entry& entry = entries_.back();
        std::string text = help;
        if (!entry.variables.empty()) text += " [" + entry.variables.front() + "]";
        entry.option = app_.add_option(flags, entry.values, text);
        entry.option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        if (boolean) entry.option->expected(0, 1)->type_name("BOOL");
    }

    /// After the command line was parsed.
    void finish() {
        for (Entry& entry : entries_) {
            if (entry.option->count() > 0) {
                const std::string name = entry.option->get_name();
                std::string joined;
                for (const std::string& value : entry.values) {
                    joined += (joined.empty() ? "" : ",") + value;
                }
                entry.set(name, joined.empty() ? "true" : joined);
                continue;
            }
            for (const std::string& variable : entry.variables) {
                const auto found = environment_.find(variable);
                if (found == environment_.end() || found->second.empty()) continue;
                entry.set(variable, found->second);
                break;
            }
        }
    }

    template <class T>
    void word(const std::string& flags, std::vector<std::string> variables, const std::string& help,
              const Words<T>& words, std::optional<T>& target) {
        add(
            flags, std::move(variables), help,
            [&words, &target](const std::string& name, const std::string& text) {
                target = word_value(words, name, text);
            },
            std::is_same_v<T, bool>);
    }

    void text(const std::string& flags, std::vector<std::string> variables, const std::string& help,
              std::optional<std::string>& target) {
        add(flags, std::move(variables), help,
            [&target](const std::string&, const std::string& value) { target = value; });
    }
    void text(const std::string& flags, std::vector<std::string> variables, const std::string& help,
              std::string& target) {
        add(flags, std::move(variables), help,
            [&target](const std::string&, const std::string& value) { target = value; });
    }

    void milliseconds(const std::string& flags, const std::string& help,
                      std::chrono::milliseconds& target) {
        add(flags, {}, help, [&target](const std::string& name, const std::string& value) {
            unsigned number = 0;
            const char* const end = value.data() + value.size();
            const auto [stop, problem] = std::from_chars(value.data(), end, number);
            constexpr unsigned kMost = 24U * 3600U * 1000U;
            if (problem != std::errc{} || stop != end || number < 10 || number > kMost) {
                throw CLI::ValidationError(
                    name, "'" + value + "' is not a number of milliseconds from 10 to a day");
            }
            target = std::chrono::milliseconds(number);
        });
    }

private:
    struct Entry {
        std::function<void(const std::string&, const std::string&)> set;
        std::vector<std::string> variables;
        std::vector<std::string> values;
        CLI::Option* option = nullptr;
    };
    CLI::App& app_;
    const Environment& environment_;
    std::list<Entry> entries_;  // CLI11 keeps addresses of `values`
};

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
                   if (strategies.empty()) throw CLI::ValidationError(name, "names no strategy");
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
    reader.text("--mps-root", {"MPS_ROOT"}, "host path for MPS (accepted; MPS is not served yet)",
                flags.mps_root);
    reader.word("--device-discovery-strategy", {"DEVICE_DISCOVERY_STRATEGY"}, "auto or nvml",
                discovery_strategies(), flags.device_discovery_strategy);
    reader.add("--imex-channel-ids", {"IMEX_CHANNEL_IDS"}, "0 or nothing",
               [&options](const std::string& name, const std::string& text) {
                   if (text != "0")
                       throw CLI::ValidationError(name, "'" + text + "': only 0 is valid");
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
    reader.add(
        "--keep-capabilities", {}, "do not drop Linux capabilities",
        [&options](const std::string& name, const std::string& text) {
            options.keep_capabilities = word_value(booleans(), name, text);
        },
        true);
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

void add_label_options(Reader& reader, Options& options) {
    reader.text("--feature-file", {"GFD_OUTPUT_FILE"},
                "labels for node-feature-discovery go to this file of its features.d "
                "(default: none)",
                options.feature_file);
    reader.add("--label-profile", {"ALIQUOT_LABEL_PROFILES"},
               "labels as people set them by hand, besides: present, accelerator, model, "
               "resource, role, type; a comma list",
               [&options](const std::string& name, const std::string& text) {
                   for (const std::string& word : split(text)) {
                       const auto profile = labels::profile_of(word);
                       if (!profile) {
                           throw CLI::ValidationError(name, "'" + word +
                                                                "' is not one of present, "
                                                                "accelerator, model, resource, "
                                                                "role, type");
                       }
                       options.label_profiles.push_back(*profile);
                   }
               });
}

void add_telemetry_options(Reader& reader, TelemetryOptions& telemetry) {
    reader.text("--metrics-listen", {"ALIQUOT_METRICS_LISTEN", "DCGM_EXPORTER_LISTEN"},
                "where /metrics and /api/v1/state are served: ADDRESS:PORT, :PORT, or off "
                "(default :9400)",
                telemetry.listen);
    reader.add("--metrics-compat", {"ALIQUOT_METRICS_COMPAT"},
               "other exporters' names besides ours: classic (default), 4.9, both, off",
               [&telemetry](const std::string& name, const std::string& text) {
                   const auto compat = exposition::compat_of(text);
                   if (!compat) {
                       throw CLI::ValidationError(
                           name, "'" + text + "' is not one of classic, 4.9, both, off");
                   }
                   telemetry.style.compat = *compat;
               });
    reader.text("--metrics-web-config", {"ALIQUOT_METRICS_WEB_CONFIG"},
                "Prometheus web-config file: TLS and passwords for /metrics", telemetry.web_config);
    reader.text("--metrics-counters", {"DCGM_EXPORTER_COLLECTORS"},
                "NVIDIA's csv file of counters: only these of NVIDIA's names are served",
                telemetry.counters);
    const auto boolean = [&reader](const std::string& flag, const std::string& help, bool& target) {
        reader.add(
            flag, {}, help,
            [&target](const std::string& name, const std::string& text) {
                target = word_value(booleans(), name, text);
            },
            true);
    };
    boolean("--metrics-exported-labels",
            "rows of pods have exported_pod, ... too, for scrapes without honorLabels",
            telemetry.style.exported_labels);
    boolean("--metrics-hostname", "NVIDIA's names have the label hostname besides Hostname",
            telemetry.style.small_hostname);
    boolean("--metrics-approximate-active",
            "before Hopper DCGM_FI_PROF_GR_ENGINE_ACTIVE is made of the utilization (default true)",
            telemetry.style.approximate_active);
    boolean("--metrics-openshift",
            "accelerator_* too, for consoles of OpenShift without the GPU operator",
            telemetry.style.openshift);
    reader.add("--metrics-guards", {},
               "aliquot_guard_*: own (default; what gpu_pod_* does not tell as well), all, off",
               [&telemetry](const std::string& name, const std::string& text) {
                   const auto guards = exposition::guards_of(text);
                   if (!guards) {
                       throw CLI::ValidationError(name, "'" + text + "' is not own, all or off");
                   }
                   telemetry.style.guards = *guards;
               });
    boolean("--metrics-pod-uid", "NVIDIA's names have the label pod_uid", telemetry.style.pod_uid);
    reader.milliseconds("--metrics-interval-ms", "between looks at the GPUs (default 1000)",
                        telemetry.interval);
    reader.text("--node-name", {"NODE_NAME"}, "this node's name in Kubernetes (default: host name)",
                telemetry.node);
    reader.add("--gpu-price-per-hour", {"ALIQUOT_GPU_PRICE_PER_HOUR"},
               "what a GPU of this node costs, for the cost panels",
               [&telemetry](const std::string& name, const std::string& text) {
                   double price = 0;
                   const char* const end = text.data() + text.size();
                   const auto [stop, problem] = std::from_chars(text.data(), end, price);
                   if (problem != std::errc{} || stop != end || !(price >= 0) || price > 1e6) {
                       throw CLI::ValidationError(name,
                                                  "'" + text + "' is not a price, such as 1.20");
                   }
                   telemetry.price_per_gpu_hour = price;
               });
}

std::string variable(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
}

}  // namespace

std::variant<Options, Answer> read_options(int argc, const char* const* argv,
                                           const Environment& environment) {
    Options options;
    CLI::App app(
        "Offers this node's NVIDIA GPUs, whole or in shares, to kubelet.\n"
        "Example: aliquot-agent --config-file /etc/aliquot/sharing.yaml --device-list-strategy "
        "cdi-cri",
        "aliquot-agent");
    app.set_version_flag("--version", std::string("aliquot-agent ") + ALIQUOT_VERSION);
    app.footer(
        "A flag wins over its [VARIABLE], that over the file, that over the default.\n"
        "DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS choose the Xids that count.\n"
        "Signals: SIGHUP reads the file again, SIGTERM and SIGINT end the agent.");
    Reader reader(app, environment);
    add_nvidia_options(reader, options);
    add_own_options(reader, options);
    add_label_options(reader, options);
    add_telemetry_options(reader, options.telemetry);
    try {
        app.parse(argc, argv);
        reader.finish();
    } catch (const CLI::Success& wanted) {
        std::ostringstream text;
        app.exit(wanted, text, text);
        return Answer{.text = text.str()};
    } catch (const CLI::ParseError& problem) {
        return Answer{.text = std::string("aliquot-agent: ") + problem.what() +
                              "; see aliquot-agent --help\n",
                      .exit_code = 2,
                      .to_stderr = true};
    }
    options.disabled_health_checks = variable(environment, "DP_DISABLE_HEALTHCHECKS");
    options.enabled_health_checks = variable(environment, "DP_ENABLE_HEALTHCHECKS");
    return options;
}

}  // namespace aliquot::agent
