// SPDX-License-Identifier: Apache-2.0
#include "bench_kubelet.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::bench {
namespace {

using Stub = v1beta1::DevicePlugin::Stub;
using TimePoint = std::chrono::steady_clock::time_point;

TimePoint now() { return std::chrono::steady_clock::now(); }

double microseconds(TimePoint from, TimePoint to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

void set_deadline(grpc::ClientContext& context, const Load& load) {
    context.set_deadline(std::chrono::system_clock::now() + load.timeout);
}

/// Takes registrations at kubelet.sock; notes when the wanted one arrived.
class RegistrationServer final : public v1beta1::Registration::Service {
public:
    RegistrationServer(const Load& load, std::filesystem::path directory)
        : load_(load), directory_(std::move(directory)) {
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix:" + (directory_ / "kubelet.sock").native(),
                                 grpc::InsecureServerCredentials());
        builder.RegisterService(this);
        server_ = builder.BuildAndStart();
    }
    ~RegistrationServer() override {
        if (server_) server_->Shutdown(std::chrono::system_clock::now());
    }
    RegistrationServer(const RegistrationServer&) = delete;
    RegistrationServer& operator=(const RegistrationServer&) = delete;

    grpc::Status Register(grpc::ServerContext* /*context*/,  // NOLINT(*naming)
                          const v1beta1::RegisterRequest* request,
                          v1beta1::Empty* /*response*/) override {
        const auto arrived = now();
        const auto socket =
            (load_.plugin_directory.empty() ? directory_.native() : load_.plugin_directory) + "/" +
            request->endpoint();
        grpc::ChannelArguments arguments;
        arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
        arguments.SetMaxReceiveMessageSize(16 << 20);
        const auto channel = grpc::CreateCustomChannel(
            "unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
        grpc::ClientContext context;
        set_deadline(context, load_);
        v1beta1::DevicePluginOptions options;
        const auto status =
            v1beta1::DevicePlugin::NewStub(channel)->GetDevicePluginOptions(&context, {}, &options);
        if (!status.ok()) return status;
        const std::scoped_lock lock(mutex_);
        if (channel_ || (!load_.resource.empty() && load_.resource != request->resource_name()))
            return grpc::Status::OK;
        arrived_ = arrived;
        channel_ = channel;
        registered_.notify_all();
        return grpc::Status::OK;
    }

    /// Empty when it took too long.
    std::shared_ptr<grpc::Channel> wait(TimePoint& arrived) {
        std::unique_lock lock(mutex_);
        registered_.wait_for(lock, load_.timeout, [this] { return channel_ != nullptr; });
        arrived = arrived_;
        return channel_;
    }

private:
    const Load& load_;
    const std::filesystem::path directory_;
    std::mutex mutex_;
    std::condition_variable registered_;
    TimePoint arrived_;
    std::shared_ptr<grpc::Channel> channel_;
    std::unique_ptr<grpc::Server> server_;
};

std::string with_places(std::string text, const std::string& directory) {
    const std::map<std::string, std::string> places{{"{socket}", directory + "/kubelet.sock"},
                                                    {"{directory}", directory}};
    for (const auto& [word, place] : places)
        for (auto at = text.find(word); at != std::string::npos; at = text.find(word))
            text.replace(at, word.size(), place);
    return text;
}

os::Command command_of(const Plugin& plugin, const Load& load, const std::string& directory) {
    os::Command command;
    for (const auto& word : plugin.argv) command.argv.push_back(with_places(word, directory));
    command.environment = os::current_environment();
    for (const auto& [name, value] : plugin.environment)
        command.environment[name] = with_places(value, directory);
    command.output_path = load.output_path.empty() ? "/dev/null" : load.output_path;
    return command;
}

std::size_t status_field(pid_t pid, std::string_view field) {
    const auto text = os::Root().read("/proc/" + std::to_string(pid) + "/status");
    if (!text) return 0;
    const auto at = text->find(field);
    return at == std::string::npos ? 0 : std::stoul(text->substr(at + field.size()));
}

std::size_t binary_size(pid_t pid) {
    std::error_code problem;
    const auto size = std::filesystem::file_size("/proc/" + std::to_string(pid) + "/exe", problem);
    return problem ? 0 : size;
}

Error failed(const Plugin& plugin, const std::string& what) {
    return {ErrorCode::kUnavailable, plugin.name + ": " + what};
}

Result<Done> allocate(Stub& stub, const Plugin& plugin, const Load& load,
                      const std::vector<std::string>& ids, Round& round) {
    for (unsigned i = 0; i < load.allocations; ++i) {
        v1beta1::AllocateRequest request;
        auto& container = *request.add_container_requests();
        for (unsigned k = 0; k < load.replicas_per_allocation; ++k)
            container.add_devices_ids(ids[(i + k) % ids.size()]);
        v1beta1::AllocateResponse response;
        grpc::ClientContext context;
        set_deadline(context, load);
        const auto before = now();
        const auto status = stub.Allocate(&context, request, &response);
        round.allocate.push_back(microseconds(before, now()));
        if (!status.ok()) return failed(plugin, "Allocate: " + status.error_message());
        if (response.container_responses_size() != 1)
            return failed(plugin, "Allocate: not one answer for one container");
    }
    std::ranges::sort(round.allocate);
    return Done{};
}

Result<Done> prefer(Stub& stub, const Plugin& plugin, const Load& load,
                    const std::vector<std::string>& ids, Round& round) {
    for (const auto size : load.sizes) {
        if (size > ids.size()) continue;
        v1beta1::PreferredAllocationRequest request;
        auto& container = *request.add_container_requests();
        container.mutable_available_deviceids()->Assign(ids.begin(), ids.end());
        container.set_allocation_size(static_cast<std::int32_t>(size));
        auto& times = round.preference[size];
        for (unsigned i = 0; i < load.preferences; ++i) {
            v1beta1::PreferredAllocationResponse response;
            grpc::ClientContext context;
            set_deadline(context, load);
            const auto before = now();
            const auto status = stub.GetPreferredAllocation(&context, request, &response);
            times.push_back(microseconds(before, now()));
            if (!status.ok())
                return failed(plugin, "GetPreferredAllocation: " + status.error_message());
        }
        std::ranges::sort(times);
    }
    return Done{};
}

}  // namespace

Result<Round> measure(const Plugin& plugin, const Load& load) {
    const os::TemporaryDirectory temporary;
    const std::string directory =
        load.directory.empty() ? temporary.path().native() : load.directory;
    RegistrationServer kubelet(load, directory);
    const auto command = command_of(plugin, load, directory);

    Round round;
    const auto started_at = now();
    auto process = os::Process::start(command);
    if (!process) return std::move(process).error().during(plugin.name);
    TimePoint registered_at;
    const auto channel = kubelet.wait(registered_at);
    if (!channel) return failed(plugin, "did not register in time");
    round.exec_to_register = microseconds(started_at, registered_at);
    round.binary_bytes = binary_size(process->pid());

    const auto stub = v1beta1::DevicePlugin::NewStub(channel);
    grpc::ClientContext listening;
    const auto asked_at = now();
    const auto reader = stub->ListAndWatch(&listening, {});
    v1beta1::ListAndWatchResponse list;
    const bool listed = reader->Read(&list);
    round.first_list = microseconds(asked_at, now());
    std::vector<std::string> ids;
    for (const auto& device : list.devices()) ids.push_back(device.id());
    round.devices = ids.size();
    round.resident_start = status_field(process->pid(), "VmRSS:");

    Result<Done> loaded = Done{};
    if (!listed || ids.empty()) loaded = failed(plugin, "lists no devices");
    if (loaded) loaded = allocate(*stub, plugin, load, ids, round);
    if (loaded) loaded = prefer(*stub, plugin, load, ids, round);
    round.resident_load = status_field(process->pid(), "VmRSS:");
    round.threads = status_field(process->pid(), "Threads:");
    listening.TryCancel();
    [[maybe_unused]] const auto ended = reader->Finish();
    process->terminate(std::chrono::milliseconds(2000));
    if (!loaded) return std::move(loaded).error();
    return round;
}

}  // namespace aliquot::bench
