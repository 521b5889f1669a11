// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The templates of src/install/manifests, compiled in.
namespace aliquot::install {

extern const std::string_view kNamespaceTemplate;
extern const std::string_view kAgentAccessTemplate;
extern const std::string_view kConfigTemplate;
extern const std::string_view kClaimsTemplate;
extern const std::string_view kAgentTemplate;
extern const std::string_view kControllerTemplate;
extern const std::string_view kMetricsTemplate;
extern const std::string_view kNetworkTemplate;
extern const std::string_view kPoolsTemplate;
extern const std::string_view kCleanUpTemplate;
extern const std::string_view kPrometheusRuleText;  // deploy/monitoring/prometheus-rule.yaml

}  // namespace aliquot::install
