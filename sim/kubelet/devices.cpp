// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/devices.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "k8s/resource_name.h"
#include "sim/kubelet/checkpoint.h"

namespace aliquot::sim {
namespace {

constexpr std::string_view kVersion = "v1beta1";
constexpr std::string_view kCheckpointName = "/kubelet_internal_checkpoint";
constexpr std::size_t kCheckpointLimit = 64U << 20U;

}  // namespace

Devices::Devices(os::Root root, KubeletOptions options)
    : root_(std::move(root)), options_(std::move(options)), random_(options_.seed) {}

Devices::~Devices() { stop(); }

Result<Done> Devices::start() {
    const std::string& directory = options_.plugin_directory;
    if (auto made = root_.make_directories(directory, 0755); !made) return made;
    if (auto written = root_.write_atomically(directory + "/DEPRECATION", ""); !written) {
        return written;
    }
    if (auto deleted = delete_sockets(); !deleted) return deleted;
    bool changed = false;
    {
        const Lock lock(mutex_);
        read_checkpoint();
        for (const auto& uid : gone_) changed = accounts_.forget(uid) || changed;
        gone_.clear();
        running_ = true;
    }
    if (changed) write_checkpoint();
    return Done{};
}

Result<Done> Devices::delete_sockets() const {
    const std::string& directory = options_.plugin_directory;
    const auto names = root_.list(directory);
    if (!names) return names.error();
    for (const auto& name : *names) {
        const std::string path = std::string(directory).append("/").append(name);
        const auto status = root_.status(path);
        if (!status || status->kind != os::FileStatus::Kind::kSocket) continue;
        if (auto removed = root_.remove(path); !removed) return removed;
    }
    return Done{};
}

void Devices::stop() {
    std::list<std::unique_ptr<Stream>> streams;
    {
        const Lock lock(mutex_);
        running_ = false;
        for (const auto& [resource, connection] : clients_) connection->abandon();
        for (const auto& stream : streams_) stream->connection->abandon();
        streams.swap(streams_);
        clients_.clear();
        endpoints_.clear();
        changed_.notify_all();
    }
    streams.clear();  // joins
    const std::lock_guard admission(admission_mutex_);
}

Result<Done> Devices::validate(const std::string& resource,
                               const std::vector<std::string>& versions) const {
    if (std::ranges::find(versions, kVersion) == versions.end()) {
        return Error{ErrorCode::kInvalidInput,
                     "manager version, v1beta1, is not among plugin supported versions"};
    }
    if (!k8s::is_extended_resource(resource)) {
        return Error{ErrorCode::kInvalidInput,
                     "invalid name of device plugin socket: the "
                     "ResourceName \"" +
                         resource + "\" is invalid"};
    }
    return Done{};
}

Result<Done> Devices::register_plugin(const RegisterCall& call) {
    if (call.version != kVersion) {
        return Error{ErrorCode::kInvalidInput,
                     "requested API version \"" + call.version +
                         "\" is not supported by kubelet. Supported version is [\"v1beta1\"]"};
    }
    if (!k8s::is_extended_resource(call.resource)) {
        return Error{ErrorCode::kInvalidInput,
                     "the ResourceName \"" + call.resource + "\" is invalid"};
    }
    const auto socket = root_.resolve(options_.plugin_directory + "/" + call.endpoint);
    return connect(call.resource, socket.string(), call.remaining, call.stopped);
}

Result<Done> Devices::connect(const std::string& resource, const std::string& socket,
                              std::chrono::milliseconds patience, const Stopped& given_up) {
    join_ended_streams();
    const auto connection = std::make_shared<PluginConnection>(socket);
    {
        // Before the dial, so the end of an older stream finds this one: kubelet's own order.
        const Lock lock(mutex_);
        if (!running_) return Error{ErrorCode::kUnavailable, "kubelet is not running"};
        clients_[resource] = connection;
    }
    const auto fail = [&](std::string message) -> Result<Done> {
        const Lock lock(mutex_);
        const auto client = clients_.find(resource);
        if (client != clients_.end() &&
            (options_.reproduce_registration_race || client->second == connection)) {
            clients_.erase(client);
        }
        return Error{ErrorCode::kUnavailable, std::move(message)};
    };
    const Stopped stopped = [&] {
        if (given_up && given_up()) return true;
        const Lock lock(mutex_);
        return !running_;
    };
    const auto limit = std::min(patience, options_.dial_timeout);
    if (auto dialled = connection->dial(limit, stopped); !dialled) {
        return fail(dialled.error().message);
    }
    auto plugin_options = connection->options(std::min(patience, options_.call_timeout));
    if (!plugin_options) {
        return fail("failed to get device plugin options: " + plugin_options.error().message);
    }

    const Lock lock(mutex_);
    if (!running_) return Error{ErrorCode::kUnavailable, "kubelet is not running"};
    endpoints_[resource] = {.connection = connection, .options = *plugin_options};
    node_status_.insert(resource);
    ++registrations_;
    auto& stream = *streams_.emplace_back(std::make_unique<Stream>());
    stream.resource = resource;
    stream.connection = connection;
    stream.thread = std::jthread([this, &stream] { watch(stream); });
    changed_.notify_all();
    return Done{};
}

void Devices::watch(Stream& stream) {
    stream.connection->watch(
        [&](const std::vector<ListedDevice>& devices) { receive(stream.resource, devices); });
    if (options_.stream_end_delay > std::chrono::milliseconds(0)) {
        Lock lock(mutex_);
        changed_.wait_for(lock, options_.stream_end_delay, [&] { return !running_; });
    }
    close_after_stream(stream.resource, stream.connection);
    stream.ended = true;
}

void Devices::receive(const std::string& resource, const std::vector<ListedDevice>& devices) {
    {
        const Lock lock(mutex_);
        if (!running_) return;
        accounts_.replace(resource, devices);
    }
    write_checkpoint();  // first: who waits for devices may read it
    const Lock lock(mutex_);
    changed_.notify_all();
}

void Devices::close_after_stream(const std::string& resource, const Connection& ended) {
    {
        const Lock lock(mutex_);
        if (!running_) return;
        const auto client = clients_.find(resource);
        if (client == clients_.end()) return;  // kubelet then marks nothing
        if (client->second != ended && !options_.reproduce_registration_race) return;
    }
    disconnect(resource);
}

void Devices::disconnect(const std::string& resource) {
    Connection connection;
    {
        const Lock lock(mutex_);
        const auto client = clients_.find(resource);
        if (client == clients_.end()) return;
        connection = std::move(client->second);
        clients_.erase(client);
    }
    connection->close();
    mark_disconnected(resource);
}

void Devices::mark_disconnected(const std::string& resource) {
    const Lock lock(mutex_);
    if (!running_) return;
    const auto endpoint = endpoints_.find(resource);
    if (endpoint == endpoints_.end()) return;
    accounts_.mark_unhealthy(resource);
    endpoint->second.stopped = Clock::now();
    changed_.notify_all();
}

void Devices::join_ended_streams() {
    std::list<std::unique_ptr<Stream>> ended;
    const Lock lock(mutex_);
    for (auto stream = streams_.begin(); stream != streams_.end();) {
        const auto next = std::next(stream);
        if ((*stream)->ended) ended.splice(ended.end(), streams_, stream);
        stream = next;
    }
}  // their threads need no lock any more

void Devices::drop_expired(const Lock& /*held*/) {
    const auto now = Clock::now();
    for (auto endpoint = endpoints_.begin(); endpoint != endpoints_.end();) {
        const auto& stopped = endpoint->second.stopped;
        if (!stopped || now - *stopped <= options_.stop_grace) {
            ++endpoint;
            continue;
        }
        accounts_.drop(endpoint->first);
        endpoint = endpoints_.erase(endpoint);
    }
}

void Devices::write_checkpoint() {
    const std::lock_guard writing(checkpoint_mutex_);
    Checkpoint checkpoint;
    {
        const Lock lock(mutex_);
        if (!running_) return;
        checkpoint = accounts_.checkpoint();
    }
    const std::string path = options_.plugin_directory + std::string(kCheckpointName);
    const auto written = root_.write_atomically(path, to_json(checkpoint), 0600);
    if (!written) log::error("sim.kubelet.checkpoint", {{"error", written.error().message}});
}

void Devices::read_checkpoint() {
    accounts_ = DeviceAccounts{};
    stranded_.clear();
    const std::string path = options_.plugin_directory + std::string(kCheckpointName);
    const auto text = root_.read(path, kCheckpointLimit);
    if (!text) return;  // a new node
    const auto checkpoint = parse_checkpoint(*text);
    if (!checkpoint) {
        log::error("sim.kubelet.checkpoint", {{"error", checkpoint.error().message}});
        return;
    }
    accounts_.restore(*checkpoint);
    for (const auto& [resource, ids] : checkpoint->registered) {
        endpoints_[resource] = {.connection = nullptr, .options = {}, .stopped = Clock::now()};
        node_status_.insert(resource);
    }
}

std::map<std::string, ResourceView> Devices::resources() {
    const Lock lock(mutex_);
    drop_expired(lock);
    std::map<std::string, ResourceView> result;
    for (const auto& resource : node_status_) {
        auto& view = result[resource];
        const Ids& healthy = accounts_.healthy(resource);
        const Ids& unhealthy = accounts_.unhealthy(resource);
        view.allocatable = static_cast<unsigned>(healthy.size());
        view.capacity = static_cast<unsigned>(healthy.size() + unhealthy.size());
        view.allocated = static_cast<unsigned>(accounts_.in_use(resource).size());
        const auto endpoint = endpoints_.find(resource);
        view.connected = endpoint != endpoints_.end() && !endpoint->second.stopped;
        view.unhealthy.assign(unhealthy.begin(), unhealthy.end());
    }
    for (const auto& stream : streams_) {
        if (!stream->ended) ++result[stream->resource].streams;
    }
    return result;
}

bool Devices::wait_allocatable(const std::string& resource, unsigned count,
                               std::chrono::milliseconds timeout) {
    Lock lock(mutex_);
    return changed_.wait_for(lock, timeout,
                             [&] { return accounts_.healthy(resource).size() == count; });
}

std::map<std::string, std::string> Devices::holders() const {
    const Lock lock(mutex_);
    std::map<std::string, std::string> result;
    for (const auto& [uid, containers] : accounts_.pods()) {
        const auto pod = pods_.find(uid);
        for (const auto& [container, allocations] : containers) {
            // A container that goes on with an init container's devices is the holder.
            const bool is_init =
                pod != pods_.end() &&
                std::ranges::find(pod->second.init_containers, container,
                                  &ContainerRequest::name) != pod->second.init_containers.end();
            const std::string holder = std::string(uid).append("/").append(container);
            for (const auto& [resource, allocation] : allocations) {
                for (const auto& id : allocation.ids()) {
                    const auto [place, is_new] = result.try_emplace(id, holder);
                    if (!is_new && !is_init) place->second = holder;
                }
            }
        }
    }
    return result;
}

std::vector<PodHoldings> Devices::pod_holdings() const {
    const Lock lock(mutex_);
    std::vector<PodHoldings> result;
    for (const auto& [uid, pod] : pods_) {
        auto& entry = result.emplace_back(
            PodHoldings{.pod_namespace = pod.pod_namespace, .name = pod.name, .containers = {}});
        const auto held = accounts_.pods().find(uid);
        const auto add = [&](const ContainerRequest& container) {
            auto& to = entry.containers.emplace_back();
            to.name = container.name;
            if (held == accounts_.pods().end()) return;
            const auto allocations = held->second.find(container.name);
            if (allocations == held->second.end()) return;
            for (const auto& [resource, allocation] : allocations->second) {
                std::map<std::string, std::vector<std::int64_t>> nodes;
                for (const auto& [node, ids] : allocation.ids_by_numa) {
                    for (const auto& id : ids) {
                        auto& of = nodes[id];
                        if (node != kNoNumaNode) of.push_back(node);
                    }
                }
                for (auto& [id, of] : nodes) {
                    to.devices.push_back({.resource = resource, .id = id, .numa_nodes = of});
                }
            }
        };
        for (const auto& container : pod.init_containers) {
            if (container.restartable) add(container);
        }
        for (const auto& container : pod.containers) add(container);
    }
    return result;
}

std::vector<HeldDevice> Devices::allocatable_devices() const {
    const Lock lock(mutex_);
    std::vector<HeldDevice> result;
    for (const auto& resource : accounts_.resources()) {
        for (const auto& id : accounts_.healthy(resource)) {
            const auto* device = accounts_.find(resource, id);
            result.push_back({.resource = resource, .id = id, .numa_nodes = device->numa_nodes});
        }
    }
    return result;
}

}  // namespace aliquot::sim
