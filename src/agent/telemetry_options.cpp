// SPDX-License-Identifier: Apache-2.0
#include "agent/telemetry_options.h"

#include "agent/option_reader.h"
#include "agent/options.h"
#include "base/number.h"

namespace aliquot::agent {

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
                           refuse_option(name, "'" + word +
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
                "(default 127.0.0.1:9400)",
                telemetry.listen);
    reader.add("--metrics-compat", {"ALIQUOT_METRICS_COMPAT"},
               "other exporters' names besides ours: classic (default), 4.9, both, off",
               [&telemetry](const std::string& name, const std::string& text) {
                   const auto compat = exposition::compat_of(text);
                   if (!compat) {
                       refuse_option(name, "'" + text + "' is not one of classic, 4.9, both, off");
                   }
                   telemetry.style.compat = *compat;
               });
    reader.add("--metrics-shared-rows", {"ALIQUOT_METRICS_SHARED_ROWS"},
               "a shared GPU under other exporters' names: device (default; one row with its own "
               "value), pods (a row for each container and one for the rest, which add up to it)",
               [&telemetry](const std::string& name, const std::string& text) {
                   const auto rows = exposition::shared_rows_of(text);
                   if (!rows) refuse_option(name, "'" + text + "' is not device or pods");
                   telemetry.style.shared_rows = *rows;
               });
    reader.text("--metrics-web-config", {"ALIQUOT_METRICS_WEB_CONFIG"},
                "Prometheus web-config file: TLS and passwords for /metrics", telemetry.web_config);
    reader.text("--metrics-counters", {"DCGM_EXPORTER_COLLECTORS"},
                "NVIDIA's csv file of counters: only these of NVIDIA's names are served",
                telemetry.counters);
    reader.boolean("--metrics-exported-labels",
                   "rows of pods have exported_pod, ... too, for scrapes without honorLabels",
                   telemetry.style.exported_labels);
    reader.boolean("--metrics-hostname", "NVIDIA's names have the label hostname besides Hostname",
                   telemetry.style.small_hostname);
    reader.boolean(
        "--metrics-approximate-active",
        "before Hopper DCGM_FI_PROF_GR_ENGINE_ACTIVE is made of the utilization (default true)",
        telemetry.style.approximate_active);
    reader.boolean("--metrics-openshift",
                   "accelerator_* too, for consoles of OpenShift without the GPU operator",
                   telemetry.style.openshift);
    reader.add("--metrics-guards", {},
               "aliquot_guard_*: own (default; what gpu_pod_* does not tell as well), all, off",
               [&telemetry](const std::string& name, const std::string& text) {
                   const auto guards = exposition::guards_of(text);
                   if (!guards) {
                       refuse_option(name, "'" + text + "' is not own, all or off");
                   }
                   telemetry.style.guards = *guards;
               });
    reader.boolean("--metrics-pod-uid", "NVIDIA's names have the label pod_uid",
                   telemetry.style.pod_uid);
    reader.milliseconds("--metrics-interval-ms", "between looks at the GPUs (default 1000)",
                        telemetry.interval);
    reader.text("--node-name", {"NODE_NAME"}, "this node's name in Kubernetes (default: host name)",
                telemetry.node);
    reader.add("--gpu-price-per-hour", {"ALIQUOT_GPU_PRICE_PER_HOUR"},
               "what a GPU of this node costs, for the cost panels",
               [&telemetry](const std::string& name, const std::string& text) {
                   const auto price = parse_number<double>(text);
                   if (!price || *price < 0 || *price > 1e6) {
                       refuse_option(name, "'" + text + "' is not a price, such as 1.20");
                   }
                   telemetry.price_per_gpu_hour = *price;
               });
}

}  // namespace aliquot::agent
