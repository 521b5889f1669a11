// SPDX-License-Identifier: Apache-2.0
//
// What following a large cluster costs: watch events decoded and applied for each second of one
// core, and the memory of a cache of 100,000 pods.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>

#include "kube_client/informer.h"
#include "kube_client/page.h"

namespace {

using namespace aliquot::kube_client;
using namespace std::chrono_literals;

/// 64 hexadecimal digits that look like chance.
std::string chance(std::uint64_t seed) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(64, '0');
    for (char& c : text) {
        seed = seed * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        c = kDigits[seed >> 60U];
    }
    return text;
}

/// A pod as a Deployment's pods look on a real server, about 4 KB with its managedFields. Names of
/// volumes, ids, addresses and times are each pod's own.
std::string pod(unsigned number, std::uint64_t version, bool managed) {
    const std::string id = std::to_string(number);
    const std::string mark = chance(number);
    const std::string volume = "kube-api-access-" + mark.substr(0, 5);
    const std::string ip =
        "10.244." + std::to_string(number % 200) + "." + std::to_string(number / 200 % 250);
    const std::string started = "2026-11-21T22:" + std::to_string(10 + number % 50) + ":" +
                                std::to_string(10 + number / 50 % 50) + "Z";
    std::string json =
        R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"trainer-7d9c5b8f6d-)" + id +
        R"(","generateName":"trainer-7d9c5b8f6d-","namespace":"team-)" +
        std::to_string(number % 50) + R"(","uid":")" + mark.substr(40, 8) + R"(-5d1c-4c7e-9a44-)" +
        std::string(12 - std::min<std::size_t>(12, id.size()), '0') + id +
        R"(","resourceVersion":")" + std::to_string(version) +
        R"(","creationTimestamp":"2026-11-21T22:00:00Z","labels":{"app":"trainer","pod-template-hash":"7d9c5b8f6d","team":"vision"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"trainer-7d9c5b8f6d","uid":"0c9d3a2e-1f1d-4b8e-8a39-9f6f0f1f2f3f","controller":true,"blockOwnerDeletion":true}])";
    if (managed) {
        json +=
            R"(,"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-21T22:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:team":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0c9d3a2e-1f1d-4b8e-8a39-9f6f0f1f2f3f\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"trainer\"}":{".":{},"f:args":{},"f:env":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:nvidia.com/gpu":{}}},"f:terminationMessagePath":{},"f:volumeMounts":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{},"f:volumes":{}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-21T22:00:10Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}},"subresource":"status"}])";
    }
    json +=
        R"(},"spec":{"volumes":[{"name":")" + volume +
        R"(","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"trainer","image":"registry.example/trainer:1.4.2","args":["--epochs","30"],"env":[{"name":"MODE","value":"fast"}],"resources":{"limits":{"cpu":"8","memory":"32Gi","nvidia.com/gpu":"1"},"requests":{"cpu":"8","memory":"32Gi","nvidia.com/gpu":"1"}},"volumeMounts":[{"name":")" +
        volume +
        R"(","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"node-)" +
        std::to_string(number % 1000) +
        R"(","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":")" +
        started +
        R"("},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":")" +
        started +
        R"("},{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":")" +
        started + R"("}],"hostIP":"10.0.0.7","podIP":")" + ip + R"(","podIPs":[{"ip":")" + ip +
        R"("}],"startTime":")" + started +
        R"(","containerStatuses":[{"name":"trainer","state":{"running":{"startedAt":")" + started +
        R"("}},"lastState":{},"ready":true,"restartCount":0,"image":"registry.example/trainer:1.4.2","imageID":"registry.example/trainer@sha256:9b2c0f7b8f1f6f1a3e0d6e2f8a5c4b3a2918f7e6d5c4b3a29181716151413121","containerID":"containerd://)" +
        mark + R"(","started":true}],"qosClass":"Guaranteed"}})";
    return json;
}

void decode_events(benchmark::State& state) {
    const bool managed = state.range(0) != 0;
    std::string lines;
    constexpr unsigned kEvents = 2000;
    for (unsigned i = 0; i < kEvents; ++i) {
        lines += R"({"type":"MODIFIED","object":)" + pod(i, i + 1, managed) + "}\n";
    }
    Store store;
    std::uint64_t events = 0;
    for (auto unused : state) {
        WatchDecoder decoder;
        decoder.keep_managed_fields = false;
        std::vector<WatchEvent> batch;
        for (std::size_t at = 0; at < lines.size(); at += 16'384) {
            batch.clear();
            if (!decoder.push(std::string_view(lines).substr(at, 16'384), batch)) {
                throw std::runtime_error("the stream is not read");
            }
            for (auto& event : batch) {
                store.put(std::make_shared<const Object>(std::move(event.object)));
            }
            events += batch.size();
        }
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(events));
    state.SetBytesProcessed(static_cast<std::int64_t>(lines.size()) *
                            static_cast<std::int64_t>(state.iterations()));
    state.counters["bytes/event"] = static_cast<double>(lines.size()) / kEvents;
}
BENCHMARK(decode_events)->ArgName("managedFields")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

std::uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t pages = 0;
    std::uint64_t resident = 0;
    file >> pages >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A server with very many pods, made as they are asked for.
class PodApi final : public Api {
public:
    explicit PodApi(unsigned count) : count_(count) {}
    Outcome<Reply> exchange(const Request& request) override {
        const auto mark = request.path.find("continue=");
        const unsigned from =
            mark == std::string::npos
                ? 0
                : static_cast<unsigned>(std::stoul(request.path.substr(mark + 9)));
        const unsigned to = std::min(count_, from + 500);
        std::string body =
            R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" +
            std::to_string(count_ + 1) + "\"";
        if (to < count_) body += R"(,"continue":")" + std::to_string(to) + "\"";
        body += R"(},"items":[)";
        for (unsigned i = from; i < to; ++i) body += (i == from ? "" : ",") + pod(i, i + 1, true);
        return Reply{.status = 200, .body = body + "]}"};
    }
    Outcome<std::unique_ptr<ByteStream>> open(const Request& request) override {
        return Failure{.reason = Reason::kUnreachable, .message = request.what};
    }

private:
    const unsigned count_;
};

void hold_pods(benchmark::State& state) {
    constexpr unsigned kPods = 100'000;
    InformerOptions options{.longest_wait = 60s};
    options.first_wait = 60s;
    if (state.range(0) != 0) {
        options.projection =
            keep_fields({"metadata.labels", "metadata.ownerReferences", "spec.nodeName",
                         "spec.containers.name", "spec.containers.resources", "status.phase"});
    }
    for (auto unused : state) {
        PodApi api(kPods);
        ::malloc_trim(0);
        const auto before = resident_bytes();
        Informer informer(api, resources::pods(), options);
        informer.start();
        if (!informer.wait_synced(600s) || informer.store().size() != kPods) {
            throw std::runtime_error("the list is not read");
        }
        ::malloc_trim(0);
        state.counters["MB"] = static_cast<double>(resident_bytes() - before) / 1e6;
    }
}
BENCHMARK(hold_pods)
    ->ArgName("projected")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
