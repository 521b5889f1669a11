// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/scripted_plugin.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "api/kubelet/pluginregistration.grpc.pb.h"

namespace aliquot::contract {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kCancelLook = std::chrono::milliseconds(20);

grpc::Status failed(const std::string& text) { return {grpc::StatusCode::UNKNOWN, text}; }

std::vector<std::string> copied(const google::protobuf::RepeatedPtrField<std::string>& ids) {
    return {ids.begin(), ids.end()};
}

}  // namespace

class ScriptedPlugin::Implementation final : public v1beta1::DevicePlugin::Service {
public:
    /// The service of plugins_registry on the same socket.
    class Registry final : public pluginregistration::Registration::Service {
    public:
        explicit Registry(Implementation& owner) : owner_(owner) {}

        grpc::Status GetInfo(grpc::ServerContext* /*context*/,
                             const pluginregistration::InfoRequest* /*request*/,
                             pluginregistration::PluginInfo* info) override {
            const std::lock_guard lock(owner_.mutex);
            info->set_type(owner_.type);
            info->set_name(owner_.resource);
            info->add_supported_versions("v1beta1");
            return grpc::Status::OK;
        }
        grpc::Status NotifyRegistrationStatus(
            grpc::ServerContext* /*context*/, const pluginregistration::RegistrationStatus* status,
            pluginregistration::RegistrationStatusResponse* /*answer*/) override {
            const std::lock_guard lock(owner_.mutex);
            owner_.seen.notified_registered = status->plugin_registered();
            owner_.seen.notified_error = status->error();
            owner_.changed.notify_all();
            return grpc::Status::OK;
        }

    private:
        Implementation& owner_;
    };

    grpc::Status GetDevicePluginOptions(grpc::ServerContext* /*context*/,
                                        const v1beta1::Empty* /*request*/,
                                        v1beta1::DevicePluginOptions* answer) override {
        const std::lock_guard lock(mutex);
        if (!script.options_error.empty()) return failed(script.options_error);
        answer->set_get_preferred_allocation_available(script.preferred_allocation);
        answer->set_pre_start_required(script.pre_start_required);
        return grpc::Status::OK;
    }

    grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
                              grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
        std::unique_lock lock(mutex);
        ++seen.streams;
        changed.notify_all();
        std::uint64_t sent = 0;
        while (!stopping && !context->IsCancelled()) {
            if (sent == version) {
                changed.wait_for(lock, kCancelLook);
                continue;
            }
            sent = version;
            v1beta1::ListAndWatchResponse list;
            for (const auto& device : devices) add(device, list);
            lock.unlock();
            const bool written = writer->Write(list);
            lock.lock();
            if (!written) break;
        }
        --seen.streams;
        changed.notify_all();
        return grpc::Status::OK;
    }

    grpc::Status GetPreferredAllocation(grpc::ServerContext* /*context*/,
                                        const v1beta1::PreferredAllocationRequest* request,
                                        v1beta1::PreferredAllocationResponse* answer) override {
        const std::lock_guard lock(mutex);
        const auto& asked = request->container_requests(0);
        ++seen.preferences;
        seen.last_available = copied(asked.available_deviceids());
        seen.last_must_include = copied(asked.must_include_deviceids());
        if (!script.prefer_error.empty()) return failed(script.prefer_error);
        auto ids = seen.last_available;
        const auto size = static_cast<unsigned>(asked.allocation_size());
        if (script.prefer) {
            ids = script.prefer(ids, seen.last_must_include, size);
        } else {
            ids.resize(std::min<std::size_t>(ids.size(), size));
        }
        answer->add_container_responses()->mutable_deviceids()->Add(ids.begin(), ids.end());
        return grpc::Status::OK;
    }

    grpc::Status Allocate(grpc::ServerContext* /*context*/, const v1beta1::AllocateRequest* request,
                          v1beta1::AllocateResponse* answer) override {
        const std::lock_guard lock(mutex);
        ++seen.allocations;
        if (!script.allocate_error.empty()) return failed(script.allocate_error);
        if (script.answer_nothing) return grpc::Status::OK;
        for (const auto& container : request->container_requests()) {
            auto& granted = *answer->add_container_responses();
            auto& environment = *granted.mutable_envs();
            for (const auto& id : container.devices_ids()) environment["DEVICES"] += id + ";";
            for (const auto& [name, value] : script.grant.environment) environment[name] = value;
            for (const auto& mount : script.grant.mounts) {
                auto& entry = *granted.add_mounts();
                entry.set_container_path(mount.container_path);
                entry.set_host_path(mount.host_path);
                entry.set_read_only(mount.read_only);
            }
            for (const auto& name : script.grant.cdi_devices) {
                granted.add_cdi_devices()->set_name(name);
            }
        }
        return grpc::Status::OK;
    }

    grpc::Status PreStartContainer(grpc::ServerContext* /*context*/,
                                   const v1beta1::PreStartContainerRequest* /*request*/,
                                   v1beta1::PreStartContainerResponse* /*answer*/) override {
        const std::lock_guard lock(mutex);
        ++seen.pre_starts;
        return script.pre_start_error.empty() ? grpc::Status::OK : failed(script.pre_start_error);
    }

    static void add(const grant::Device& device, v1beta1::ListAndWatchResponse& to) {
        auto& entry = *to.add_devices();
        entry.set_id(device.id);
        entry.set_health(device.healthy ? "Healthy" : "Unhealthy");
        if (device.numa_node) entry.mutable_topology()->add_nodes()->set_id(*device.numa_node);
    }

    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    Script script;
    Seen seen;
    std::vector<grant::Device> devices;
    std::uint64_t version = 1;  // of `devices`
    bool stopping = false;
    std::string resource;
    std::string type;
    Registry registry{*this};
    std::unique_ptr<grpc::Server> server;
};

ScriptedPlugin::ScriptedPlugin() : implementation_(std::make_unique<Implementation>()) {}
ScriptedPlugin::~ScriptedPlugin() { stop(); }

bool ScriptedPlugin::start(const std::string& socket, const std::string& resource,
                           const std::string& type) {
    auto& plugin = *implementation_;
    plugin.stopping = false;
    plugin.resource = resource;
    plugin.type = type;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(&plugin);
    builder.RegisterService(&plugin.registry);
    plugin.server = builder.BuildAndStart();
    return plugin.server != nullptr;
}

void ScriptedPlugin::stop() {
    auto& plugin = *implementation_;
    if (!plugin.server) return;
    {
        const std::lock_guard lock(plugin.mutex);
        plugin.stopping = true;
        plugin.changed.notify_all();
    }
    plugin.server->Shutdown(std::chrono::system_clock::now());
    plugin.server.reset();
}

void ScriptedPlugin::script(const Script& script) {
    const std::lock_guard lock(implementation_->mutex);
    implementation_->script = script;
}

void ScriptedPlugin::set_devices(std::vector<grant::Device> devices) {
    const std::lock_guard lock(implementation_->mutex);
    implementation_->devices = std::move(devices);
    ++implementation_->version;
    implementation_->changed.notify_all();
}

ScriptedPlugin::Seen ScriptedPlugin::seen() const {
    const std::lock_guard lock(implementation_->mutex);
    return implementation_->seen;
}

bool ScriptedPlugin::wait(const std::function<bool(const Seen&)>& condition) const {
    std::unique_lock lock(implementation_->mutex);
    return implementation_->changed.wait_for(lock, kPatience,
                                             [&] { return condition(implementation_->seen); });
}

std::string ScriptedPlugin::register_with(const std::string& kubelet_socket,
                                          const std::string& endpoint, const std::string& resource,
                                          const std::string& version) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
        "unix:" + kubelet_socket, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::RegisterRequest request;
    request.set_version(version);
    request.set_endpoint(endpoint);
    request.set_resource_name(resource);
    request.mutable_options()->set_get_preferred_allocation_available(true);
    v1beta1::Empty answer;
    const auto status = stub->Register(&context, request, &answer);
    return status.ok() ? "" : "error: " + status.error_message();
}

}  // namespace aliquot::contract
