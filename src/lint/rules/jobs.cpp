// SPDX-License-Identifier: Apache-2.0
// Jobs: JOB001 to JOB003.
#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/rules/job_rules.h"
#include "lint/words.h"

namespace aliquot::lint {

void check_restart_policy(const File& file, const Object& object, const PodSpec& pod,
                          std::string_view rule, Report& report) {
    if (pod.node == nullptr || is_placeholder(pod.restart_policy)) return;
    const Value::Entry* entry = entry_at(*pod.node, "restartPolicy");
    if (entry == nullptr) {
        if (object.templated) return;
        if (pod.node->find("<<") != nullptr) return;
        const bool named = !object.name.empty() ||
                           at_path(*object.node, "metadata.generateName") != nullptr ||
                           object.inner;
        if (!named && file.is_prose()) return;  // a sketch: it could not be applied either
        const Mark mark =
            pod.node->entries.empty() ? pod.node->mark : pod.node->entries.front().first.mark;
        auto finding = report.add(rule, mark,
                                  "the pods of " + object.kind + " " + object.name +
                                      " have no restartPolicy, and the default Always is refused");
        finding.expected("Never or OnFailure").fix("restartPolicy: Never");
        if (!begins_line(file, mark)) return;
        finding.edit(file, mark, 0, "restartPolicy: Never\n" + std::string(mark.column - 1, ' '));
        return;
    }
    if (pod.restart_policy != "Always") return;
    auto finding = report.add(
        rule, entry->second.mark,
        "the restartPolicy of " + object.kind + " " + object.name + " is Always, which is refused");
    finding.expected("Never or OnFailure").fix("restartPolicy: OnFailure");
    const std::size_t length = written_length(file, entry->second);
    if (length > 0) finding.edit(file, entry->second.mark, length, "OnFailure");
}

namespace {

void check_limits(const Object& object, const PodSpec& pod, Report& report) {
    const GpuNeed need = gpu_need(pod);
    const Value* spec = object.node->find("spec");
    if (need.value == nullptr || spec == nullptr || object.templated) return;
    const Value::Entry* entry = entry_at(*object.node, "spec");
    const bool deadline = spec->find("activeDeadlineSeconds") != nullptr ||
                          pod.node->find("activeDeadlineSeconds") != nullptr;
    const bool cleanup = spec->find("ttlSecondsAfterFinished") != nullptr;
    if (!deadline) {
        report.add("JOB002", entry->first.mark,
                   "Job " + object.name + " has " +
                       (cleanup ? "no activeDeadlineSeconds"
                                : "neither activeDeadlineSeconds nor ttlSecondsAfterFinished") +
                       ": a hang holds " + number_text(need.amount) + " of " + need.value->name +
                       " forever");
    }
    if (spec->find("backoffLimit") == nullptr && spec->find("podFailurePolicy") == nullptr) {
        report.add("JOB003", entry->first.mark,
                   "Job " + object.name + " has no backoffLimit: it is tried 7 times");
    }
}

}  // namespace

void check_jobs(const File& file, const Set& /*set*/, const Facts* /*facts*/, Report& report) {
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        if (object == nullptr || object->role != Role::kObject || object->kind != "Job") continue;
        if (object->group() != "batch" || pod.path != "spec.template.spec") continue;
        if (object->broken || !pod.whole) continue;
        check_restart_policy(file, *object, pod, "JOB001", report);
        check_limits(*object, pod, report);
    }
}

}  // namespace aliquot::lint
