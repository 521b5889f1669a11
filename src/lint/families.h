// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "lint/facts.h"
#include "lint/report.h"
#include "lint/set.h"

namespace aliquot::lint {

/// How a rule is written.
///
/// A family is one function in one file rules_NAME.cpp (split by noun when it grows: rules_mig_ids.cpp). It
/// is called once for each file of the run, from any thread, and reports only places of that file:
///
///   void check_jobs(const File& file, const Set& set, const Facts* facts, Report& report) {
///       for (const PodSpec& pod : file.pods) { ... report.add("JOB001", ...) ... }
///   }
///
/// - Every id it reports stands in api/findings.yaml, with at least one bad and one good case in
///   cases/ID/bad-*.yaml (.md, .txt, Dockerfile-*, a directory) and good-*. Beside a bad case stands
///   its NAME.findings: one line "LINE RULE severity" for each error and warning of the file, of
///   any rule, and for each info of this rule; of a directory "FILE:LINE RULE severity". A good case must
///   give no error and no warning at all, and nothing of its own rule. NAME.facts.json is --facts.
/// - Silence is the default: report what is surely wrong in what is written. Nothing of what is
///   missing when the pod is not whole, the object is a patch, broken or templated, or the block is
///   an excerpt. A value that is_placeholder() is right.
/// - `facts` may be nullptr: rules that need the cluster are silent then.
/// - Linear in the size of the file; begin with file.mentions() where that saves a walk.
/// - Text may be anything: no index without a check, no recursion without a limit, no std::regex.
/// - One mistake, one finding, at the place that must be changed; the message names the value found.
using Check = void (*)(const File& file, const Set& set, const Facts* facts, Report& report);

struct Family {
    std::string_view name;
    Check check = nullptr;
};

/// In the order in which they run.
std::span<const Family> families();

void check_device_plugin(const File&, const Set&, const Facts*, Report&);  // DPC
void check_wiring(const File&, const Set&, const Facts*, Report&);         // DPC016, 017, 019
void check_operator(const File&, const Set&, const Facts*, Report&);       // GOP
void check_helm(const File&, const Set&, const Facts*, Report&);           // HELM, Helm keys
void check_mig(const File&, const Set&, const Facts*, Report&);            // MIG
void check_pods(const File&, const Set&, const Facts*, Report&);           // POD
void check_deployments(const File&, const Set&, const Facts*, Report&);    // DEP
void check_jobs(const File&, const Set&, const Facts*, Report&);           // JOB
void check_cron(const File&, const Set&, const Facts*, Report&);           // CRON
void check_autoscalers(const File&, const Set&, const Facts*, Report&);    // HPA
void check_quotas(const File&, const Set&, const Facts*, Report&);         // QUO, PDB
void check_claims(const File&, const Set&, const Facts*, Report&);         // DRA
void check_claim_fields(const File&, const Set&, const Facts*, Report&);   // DRA
void check_api_versions(const File&, const Set&, const Facts*, Report&);   // API
void check_manifests(const File&, const Set&, const Facts*, Report&);      // API003
void check_metrics(const File&, const Set&, const Facts*, Report&);        // PROM
void check_images(const File&, const Set&, const Facts*, Report&);         // IMG
void check_dockerfiles(const File&, const Set&, const Facts*, Report&);    // DKF
void check_shell(const File&, const Set&, const Facts*, Report&);          // SH
void check_statements(const File&, const Set&, const Facts*, Report&);     // DOC
void check_runbooks(const File&, const Set&, const Facts*, Report&);       // DOC02x, SH02x
void check_forms(const File&, const Set&, const Facts*, Report&);          // FORM
void check_runtimes(const File&, const Set&, const Facts*, Report&);       // RUN
void check_runtime_flags(const File&, const Set&, const Facts*, Report&);  // RUN004, RUN005, CI
void check_queues(const File&, const Set&, const Facts*, Report&);         // KUE, KRP
void check_references(const File&, const Set&, const Facts*, Report&);     // REF
void check_links(const File&, const Set&, const Facts*, Report&);          // REF, DEP005
void check_compositions(const File&, const Set&, const Facts*, Report&);   // REF001
void check_label_values(const File&, const Set&, const Facts*, Report&);   // POD025
void check_command_words(const File&, const Set&, const Facts*, Report&);  // RUN005, SH014
void check_launches(const File&, const Set&, const Facts*, Report&);       // RUN006, RUN007
void check_terraform(const File&, const Set&, const Facts*, Report&);      // TF
void check_docker_builds(const File&, const Set&, const Facts*, Report&);  // DKF007, DKF008
void check_python(const File&, const Set&, const Facts*, Report&);         // PY
void check_selectors(const File&, const Set&, const Facts*, Report&);      // CEL
void check_units(const File&, const Set&, const Facts*, Report&);          // SVC

}  // namespace aliquot::lint
