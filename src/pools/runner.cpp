// SPDX-License-Identifier: Apache-2.0
#include "pools/runner.h"

#include "base/sentence.h"
#include "base/text.h"
#include "document/write.h"
#include "k8s/names.h"
#include "k8s/quantity.h"
#include "pools/listener_metrics.h"

namespace aliquot::pools {
namespace {

using document::append;
using document::make_mapping;
using document::only_if;
using document::Value;

constexpr std::size_t kLongestScaleSet = 45;
constexpr unsigned kMostRunners = 10'000;
constexpr const char* kTemplateFolder = "/home/runner/pod-template";

Error refused(const std::string& what) { return {ErrorCode::kInvalidInput, what}; }

Result<Done> check_options(const RunnerOptions& options, const std::string& name) {
    if (name.size() > kLongestScaleSet || !k8s::is_dns_label(name)) {
        return refused("the scale set's name '" + one_line(name, 60) +
                       "' is not a name of at most 45 lower case letters, digits and '-'");
    }
    if (!options.config_url.starts_with("https://") || options.config_url.size() > 512) {
        return refused("the URL '" + one_line(options.config_url, 80) +
                       "' is not one of a repository, an organisation or an enterprise; expected "
                       "https://github.com/OWNER/REPOSITORY");
    }
    if (!k8s::is_dns_subdomain(options.secret)) {
        return refused("'" + one_line(options.secret, 80) + "' is not a name of a Secret");
    }
    if (options.min_runners > options.max_runners || options.max_runners > kMostRunners) {
        return refused(
            "minimum " + std::to_string(options.min_runners) + " and maximum " +
            std::to_string(options.max_runners) +
            " of runners: expected a minimum that is not above the maximum, and at most " +
            std::to_string(kMostRunners));
    }
    if (!options.gate_image.empty() && !options.runner_holds_gpu) {
        // Init containers of a template take the place of those that the hooks need themselves.
        return refused(
            "a gate in the pod of a job would break it: the container hooks have init containers "
            "of their own there; expected --runner-holds-gpu, or aliquot gate watch on the nodes");
    }
    for (const std::string& label : options.labels) {
        if (label.empty() || label.size() > 255) return refused("a label has 1 to 255 characters");
    }
    for (const auto* const amount :
         {&options.cpu_limit, &options.cpu_request, &options.memory_limit, &options.memory_request,
          &options.cache_size}) {
        const auto value = k8s::quantity_value(*amount);
        if (!value || *value <= 0) {
            return refused("'" + one_line(*amount, 40) +
                           "' is not an amount, expected one as 4 or 16Gi");
        }
    }
    return Done{};
}

/// What does not fit on a node of the pool would wait for ever.
std::vector<std::string> misfits(const Pool& pool, const RunnerOptions& options) {
    std::vector<std::string> warnings;
    const auto look = [&](const char* resource, const std::string& wanted) {
        const auto found = pool.node.amounts.find(resource);
        const auto amount = k8s::quantity_value(wanted);
        if (found == pool.node.amounts.end() || !amount || *amount <= found->second) return;
        warnings.push_back("a job requests " + wanted + " of " + resource + ", a node of pool " +
                           pool.name + " (" +
                           (pool.instances.empty() ? "its node.resources" : pool.instances[0]) +
                           ") has less for pods: it would wait forever");
    };
    look("cpu", options.cpu_request);
    look("memory", options.memory_request);
    const auto devices = pool.node.amounts.find(options.resource);
    if (!pool.node.amounts.empty() &&
        (devices == pool.node.amounts.end() || devices->second < options.amount)) {
        warnings.push_back("a job requests " + std::to_string(options.amount) + " of " +
                           options.resource + ", a node of pool " + pool.name + " has fewer");
    }
    return warnings;
}

Value job_container(const RunnerOptions& options) {
    const std::string count = std::to_string(options.amount);
    const std::vector<Value> mounts{make_mapping({{"name", "cache"}, {"mountPath", "/cache"}}),
                                    make_mapping({{"name", "shm"}, {"mountPath", "/dev/shm"}})};
    Value container = make_mapping(
        {{"name", "$job"},
         {"resources",
          make_mapping({{"limits", make_mapping({{options.resource, count},
                                                 {"cpu", options.cpu_limit},
                                                 {"memory", options.memory_limit}})},
                        {"requests", make_mapping({{options.resource, count},
                                                   {"cpu", options.cpu_request},
                                                   {"memory", options.memory_request}})}})},
         {"env", std::vector{make_mapping({{"name", "CCACHE_DIR"}, {"value", "/cache/ccache"}}),
                             make_mapping({{"name", "CCACHE_MAXSIZE"}, {"value", "10G"}}),
                             make_mapping({{"name", "SCCACHE_DIR"}, {"value", "/cache/sccache"}}),
                             make_mapping({{"name", "GIT_CACHE_DIR"}, {"value", "/cache/git"}})}}});
    append(container, "volumeMounts", mounts);
    return container;
}

Value job_template(const Pool& pool, const RunnerOptions& options) {
    Value selector = make_mapping();
    for (const auto& [key, value] : pool.node.labels) append(selector, key, value);
    append(selector, std::string(kPoolLabel), pool.name);
    const auto toleration = [](const k8s::Taint& taint) {
        return make_mapping({{"key", taint.key},
                             {"operator", taint.value.empty() ? "Exists" : "Equal"},
                             {"value", only_if(!taint.value.empty(), taint.value)},
                             {"effect", taint.effect}});
    };
    const Value cache =
        options.cache_claim.empty()
            ? make_mapping({{"name", "cache"},
                            {"emptyDir", make_mapping({{"sizeLimit", options.cache_size}})}})
            : make_mapping(
                  {{"name", "cache"},
                   {"persistentVolumeClaim", make_mapping({{"claimName", options.cache_claim}})}});
    const std::vector<Value> volumes{
        cache,
        make_mapping({{"name", "shm"},
                      {"emptyDir", make_mapping({{"medium", "Memory"}, {"sizeLimit", "2Gi"}})}})};
    return make_mapping(
        {{"metadata",
          make_mapping(
              {{"annotations",
                make_mapping({{"karpenter.sh/do-not-disrupt", "true"},
                              {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}})}})},
         {"spec",
          make_mapping({{"nodeSelector", selector},
                        {"tolerations", document::make_sequence(pool.node.taints, toleration)},
                        {"containers", std::vector{job_container(options)}},
                        {"volumes", volumes}})}});
}

/// The gate stands before the runner registers at GitHub: a GPU that is not clean costs a try of the pod and no job.
Value gate_container(const RunnerOptions& options) {
    return make_mapping(
        {{"name", "gate"},
         {"image", options.gate_image},
         {"command", std::vector<std::string>{"aliquot", "gate", "before", "--record",
                                              "/tmp/gate.json", "--settle", "30000"}},
         {"resources",
          make_mapping(
              {{"limits", make_mapping({{options.resource, std::to_string(options.amount)}})}})}});
}

/// Job and runner are one container, which has the GPU.
Value values_with_gpu(const Pool& pool, const RunnerOptions& options, const std::string& name) {
    const Value pod = job_template(pool, options);
    Value spec = *pod.find("spec");
    for (auto& [key, value] : spec.entries) {
        if (key.scalar != "containers") continue;
        Value runner = make_mapping({{"name", "runner"},
                                     {"image", options.runner_image},
                                     {"command", std::vector<std::string>{"/home/runner/run.sh"}}});
        for (const auto& [field, of_job] : value.items.at(0).entries) {
            if (field.scalar != "name") append(runner, field.scalar, of_job);
        }
        value.items = {runner};
    }
    if (!options.gate_image.empty()) {
        append(spec, "initContainers", std::vector{gate_container(options)});
    }
    return make_mapping(
        {{"githubConfigUrl", options.config_url},
         {"githubConfigSecret", options.secret},
         {"runnerScaleSetName", name},
         {"scaleSetLabels", options.labels},
         {"minRunners", options.min_runners},
         {"maxRunners", options.max_runners},
         {"listenerMetrics", listener_metrics()},
         {"template", make_mapping({{"metadata", *pod.find("metadata")}, {"spec", spec}})}});
}

Value values_of(const RunnerOptions& options, const std::string& name) {
    const std::string map = name + "-job-template";
    const Value runner = make_mapping(
        {{"name", "runner"},
         {"image", options.runner_image},
         {"command", std::vector<std::string>{"/home/runner/run.sh"}},
         {"env", std::vector{make_mapping({{"name", "ACTIONS_RUNNER_CONTAINER_HOOK_TEMPLATE"},
                                           {"value", std::string(kTemplateFolder) + "/job.yaml"}}),
                             make_mapping({{"name", "ACTIONS_RUNNER_USE_KUBE_SCHEDULER"},
                                           {"value", document::make_string("true")}})}},
         {"resources",
          make_mapping({{"requests", make_mapping({{"cpu", "200m"}, {"memory", "512Mi"}})},
                        {"limits", make_mapping({{"memory", "1Gi"}})}})},
         {"volumeMounts",
          std::vector{make_mapping(
              {{"name", "pod-template"}, {"mountPath", kTemplateFolder}, {"readOnly", true}})}}});
    return make_mapping(
        {{"githubConfigUrl", options.config_url},
         {"githubConfigSecret", options.secret},
         {"runnerScaleSetName", name},
         {"scaleSetLabels", options.labels},
         {"minRunners", options.min_runners},
         {"maxRunners", options.max_runners},
         {"listenerMetrics", listener_metrics()},
         {"containerMode", make_mapping({{"type", "kubernetes-novolume"}})},
         {"template",
          make_mapping(
              {{"spec", make_mapping({{"containers", std::vector{runner}},
                                      {"volumes", std::vector{make_mapping(
                                                      {{"name", "pod-template"},
                                                       {"configMap",
                                                        make_mapping({{"name", map}})}})}}})}})}});
}

}  // namespace

Result<RunnerFiles> runner_files(const Pool& pool, const RunnerOptions& options) {
    const std::string name = options.name.empty() ? pool.name : options.name;
    if (auto checked = check_options(options, name); !checked) return std::move(checked).error();
    RunnerFiles files;
    files.values =
        options.runner_holds_gpu ? values_with_gpu(pool, options, name) : values_of(options, name);
    files.warnings = misfits(pool, options);
    if (options.runner_holds_gpu && options.min_runners != 0) {
        files.warnings.push_back("idle runners hold a GPU each: " +
                                 counted(options.min_runners, "GPU") + " without work");
    }
    if (!options.runner_holds_gpu)
        files.objects.push_back(make_mapping(
            {{"apiVersion", "v1"},
             {"kind", "ConfigMap"},
             {"metadata", make_mapping({{"name", name + "-job-template"}})},
             {"data",
              make_mapping({{"job.yaml", document::to_yaml(job_template(pool, options))}})}}));
    if (!options.cache_claim.empty()) {
        files.objects.push_back(make_mapping(
            {{"apiVersion", "v1"},
             {"kind", "PersistentVolumeClaim"},
             {"metadata", make_mapping({{"name", options.cache_claim}})},
             {"spec",
              make_mapping(
                  {{"accessModes", std::vector<std::string>{"ReadWriteMany"}},
                   {"resources",
                    make_mapping(
                        {{"requests", make_mapping({{"storage", options.cache_size}})}})}})}}));
    }
    return files;
}

std::string test_workflow(const std::vector<std::string>& labels, std::string_view image) {
    return concat(
        {"name: GPU\non: [push]\njobs:\n  gpu:\n    runs-on: [", join(labels),
         "]\n    container: ", image,
         "\n    steps:\n"
         "    - name: driver\n      run: nvidia-smi\n"
         "    - name: compiler\n      run: nvcc --version\n"
         "    - name: PyTorch\n"
         "      run: |\n"
         "        python3 - <<'END'\n"
         "        import torch\n"
         "        print(torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0))\n"
         "        a = torch.randn(1000, 1000, device='cuda')\n"
         "        assert torch.isfinite(a @ a).all()\n"
         "        torch.cuda.synchronize()\n"
         "        END\n"});
}

std::vector<std::string> explain_waiting(const RunnerFigures& figures) {
    std::vector<std::string> why;
    const unsigned waiting =
        figures.assigned > figures.running ? figures.assigned - figures.running : 0;
    if (waiting == 0) return {"no job waits for a runner"};
    if (!figures.listens) {
        return {
            "no listener runs for the scale set: GitHub's jobs are not seen; look at the pods of "
            "the controller's namespace"};
    }
    if (figures.busy >= figures.max_runners) {
        why.push_back("all " + std::to_string(figures.max_runners) +
                      " runners are busy: maxRunners is reached");
    }
    if (figures.pods_failed != 0) {
        why.push_back(counted(figures.pods_failed, "runner pod") +
                      " failed and is made anew with growing pauses");
    }
    if (figures.pods_pending != 0) {
        why.push_back(
            counted(figures.pods_pending, "job pod") + " without a node" +
            (figures.pending_reason.empty() ? "" : ": " + one_line(figures.pending_reason, 200)));
        if (figures.nodes_starting != 0) {
            why.push_back(counted(figures.nodes_starting, "node") + " of the pool starts");
        } else if (figures.nodes >= figures.nodes_at_most) {
            why.push_back("the pool has its " + std::to_string(figures.nodes_at_most) +
                          " nodes: max is reached");
        }
    }
    if (why.empty() && figures.registered < figures.assigned) {
        why.push_back(std::to_string(figures.registered) + " of " +
                      std::to_string(figures.assigned) +
                      " runners are registered at GitHub: the others start");
    }
    if (why.empty()) {
        why.emplace_back(
            "a runner is idle: GitHub has not given it the job yet, or runs-on names a "
            "label that the scale set has not");
    }
    return why;
}

}  // namespace aliquot::pools
