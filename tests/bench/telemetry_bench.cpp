// SPDX-License-Identifier: Apache-2.0
//
// What telemetry costs: the built agent on a simulated node with GPUs that many pods share, its
// memory and processor time, and how long /metrics takes to answer. With --churn pods come and go
// all the time, so that growth shows.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "guard_region/fake_tenant.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"
#include "sim/proc/process_tree.h"

namespace {

using namespace aliquot;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr char kResource[] = "nvidia.com/gpu";

struct Options {
    std::string agent = ALIQUOT_BIN_DIR "/aliquot-agent";
    std::string model = "a100-40";
    unsigned gpus = 8;
    unsigned pods = 64;
    unsigned seconds = 30;
    unsigned scrapes = 300;
    double churn = 0;    // pods replaced in a second
    std::string memory;  // limit of a share; empty: none
    bool idle = false;   // pods hold no GPU memory
    bool json = false;
};

[[noreturn]] void give_up(const std::string& why) {
    std::cerr << "telemetry_bench: " << why << "\n";
    std::exit(3);
}

struct Got {
    double ms = 0;
    std::size_t bytes = 0;  // of the body
};

/// GET over a connection of its own, as curl would.
Got get(unsigned port, const std::string& path, const std::string& more_headers = {}) {
    const auto begin = Clock::now();
    const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        give_up("nobody listens on port " + std::to_string(port));
    }
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more_headers +
                                "Connection: close\r\n\r\n";
    if (::send(connection, request.data(), request.size(), MSG_NOSIGNAL) < 0)
        give_up("cannot send");
    std::string answer;
    std::string chunk(65'536, '\0');
    for (ssize_t read = 0; (read = ::recv(connection, chunk.data(), chunk.size(), 0)) > 0;) {
        answer.append(chunk, 0, static_cast<std::size_t>(read));
    }
    ::close(connection);
    if (!answer.starts_with("HTTP/1.1 200")) give_up(path + ": " + answer.substr(0, 200));
    const std::size_t body = answer.find("\r\n\r\n");
    return {.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count(),
            .bytes = answer.size() - body - 4};
}

double at(std::vector<double> sorted, double quantile) {
    if (sorted.empty()) return 0;
    std::ranges::sort(sorted);
    const auto place = static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1));
    return sorted[place];
}

/// A number of /proc/PID/status, in KiB.
std::uint64_t status_kib(pid_t pid, const std::string& name) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1));
    }
    return 0;
}

std::uint64_t read_bytes(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/io");
    std::string word;
    std::uint64_t bytes = 0;
    file >> word >> bytes;  // "rchar: 4711"
    return bytes;
}

double cpu_seconds(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream rest(text.substr(text.rfind(')') + 2));
    std::string word;
    double ticks = 0;
    for (int field = 3; field <= 15 && rest >> word; ++field) {
        if (field == 14 || field == 15) ticks += std::stod(word);
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// The node with its pods.
class World {
public:
    explicit World(const Options& options) : options_(options) {
        auto node = sim::Node::create(directory_.path() / "driver",
                                      {.gpus = {{.model = options.model, .count = options.gpus}}},
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        if (!node) give_up(node.error().message);
        node_.emplace(*std::move(node));
        const unsigned replicas = (options.pods + options.gpus - 1) / options.gpus + 1;
        auto written = root_.write_atomically(
            "/etc/config.yaml",
            "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, "
            "replicas: " +
                std::to_string(replicas) +
                (options.memory.empty() ? "" : ", memory: " + options.memory) + "}\n");
        if (!written || !kubelet_.start() || !tree_.begin()) give_up("cannot make the node");
        start_agent(replicas * options.gpus);
        for (unsigned i = 0; i < options.pods; ++i) add_pod();
    }
    ~World() {
        if (agent_) agent_->terminate(10s);
        for (auto& pod : pods_) pod.process.terminate(1s);
    }

    [[nodiscard]] pid_t agent() const { return agent_->pid(); }
    [[nodiscard]] unsigned port() const { return port_; }

    void replace_oldest() {
        Pod oldest = std::move(pods_.front());
        pods_.pop_front();
        oldest.process.terminate(1s);
        tree_.remove_pod(oldest.uid);
        kubelet_.remove(oldest.uid);
        add_pod();
    }

private:
    struct Pod {
        std::string uid;
        os::Process process;
        std::unique_ptr<guard_region::FakeTenant> guard;  // of a share with a limit
    };

    /// Empty: the share has no limit.
    [[nodiscard]] std::string ledger_of(const grant::Grant& grant) const {
        for (const auto& mount : grant.mounts) {
            if (mount.container_path == abi::kGuardDirectory) {
                return root_.resolve(mount.host_path) / abi::kLedgerFile;
            }
        }
        return {};
    }

    void start_agent(unsigned devices) {
        auto process = os::Process::start(
            {.argv = {options_.agent, "--root", directory_.path().native(), "--driver-root",
                      "/driver", "--metrics-listen", "127.0.0.1:0", "--node-name", "bench",
                      "--config-file", "/etc/config.yaml", "--log-format", "json",
                      "--guard-library", ALIQUOT_LIB_DIR "/libaliquot-guard.so"},
             .environment = os::current_environment(),
             .output_path = (directory_.path() / "agent.log").native()});
        if (!process) give_up(process.error().message);
        agent_.emplace(*std::move(process));
        if (!kubelet_.wait_allocatable(kResource, devices, 60s))
            give_up("the agent does not serve");
        for (int i = 0; i < 500 && port_ == 0; ++i) {
            std::ifstream log(directory_.path() / "agent.log");
            for (std::string line; std::getline(log, line);) {
                const std::size_t mark = line.find("\"port\":");
                if (!line.contains("metrics.served") || mark == std::string::npos) continue;
                std::from_chars(line.data() + mark + 7, line.data() + line.size(), port_);
            }
            std::this_thread::sleep_for(10ms);
        }
        if (port_ == 0) give_up("the agent does not say where /metrics is");
    }

    void add_pod() {
        char uid[40];
        std::snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012u", ++made_);
        const std::string name = "worker-" + std::to_string(made_);
        auto grants =
            kubelet_.admit({.uid = uid,
                            .pod_namespace = "team-" + std::to_string(made_ % 8),
                            .name = name,
                            .containers = {{.name = "main", .limits = {{kResource, 1}}}}});
        if (!grants) give_up(grants.error().message);
        auto environment = os::current_environment();
        environment["ALIQUOT_GUARD_REGION"] = ledger_of(grants->at(0).grant);
        auto process =
            os::Process::start({.argv = {"/bin/sleep", "infinity"}, .environment = environment});
        if (!process) give_up(process.error().message);
        const std::string id = grants->at(0).devices.at(kResource).at(0);
        std::unique_ptr<guard_region::FakeTenant> guard;
        if (const std::string ledger = ledger_of(grants->at(0).grant); !ledger.empty()) {
            guard = std::make_unique<guard_region::FakeTenant>(ledger);
        }
        if (guard && !options_.idle) {
            guard->join(0, static_cast<std::uint32_t>(process->pid()));
            guard->use(0, id.substr(0, id.find("::")), 100ULL << 20U);
        }
        for (const sim::GpuView& gpu : node_->gpus()) {
            if (options_.idle || !id.starts_with(gpu.uuid)) continue;
            auto placed = node_->set_process(gpu.index, static_cast<std::uint32_t>(process->pid()),
                                             (200ULL + made_ % 8 * 50) << 20U, 5 + made_ % 8);
            if (!placed) give_up(placed.error().message);
        }
        const bool shown =
            tree_.start_container(
                {.pod_namespace = "team-" + std::to_string(made_ % 8), .name = name, .uid = uid},
                "main") &&
            tree_.add_process(uid, "main", process->pid());
        if (!shown) give_up("cannot show a process");
        pods_.push_back({.uid = uid, .process = *std::move(process), .guard = std::move(guard)});
    }

    Options options_;
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::optional<sim::Node> node_;
    sim::Kubelet kubelet_{root_, {}};
    sim::ProcessTree tree_{root_, {.others = false}};
    std::optional<os::Process> agent_;
    unsigned port_ = 0;
    std::deque<Pod> pods_;
    unsigned made_ = 0;
};

/// Time and memory over the run; the last third is compared with the first.
struct Course {
    double cpu_percent = 0;  // of a core
    double read_kib = 0;     // in a second, from files
    std::uint64_t resident_kib = 0;
    std::uint64_t peak_kib = 0;
    std::int64_t growth_kib = 0;  // between the third minute (or third) and the end
};

Course run_for(World& world, const Options& options) {
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::seconds(options.seconds);
    const double cpu = cpu_seconds(world.agent());
    const std::uint64_t read = read_bytes(world.agent());
    const auto settled = begin + std::min<Clock::duration>(180s, (end - begin) / 3);
    std::uint64_t first = 0;
    auto next_change = begin;
    while (Clock::now() < end) {
        std::this_thread::sleep_for(100ms);
        if (options.churn > 0 && Clock::now() >= next_change) {
            world.replace_oldest();
            next_change += std::chrono::duration_cast<Clock::duration>(
                std::chrono::duration<double>(1 / options.churn));
        }
        if (first == 0 && Clock::now() >= settled) first = status_kib(world.agent(), "VmRSS");
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::uint64_t last = status_kib(world.agent(), "VmRSS");
    return {.cpu_percent = (cpu_seconds(world.agent()) - cpu) / seconds * 100,
            .read_kib = static_cast<double>(read_bytes(world.agent()) - read) / 1024 / seconds,
            .resident_kib = last,
            .peak_kib = status_kib(world.agent(), "VmHWM"),
            .growth_kib = static_cast<std::int64_t>(last) - static_cast<std::int64_t>(first)};
}

std::vector<double> scrape(unsigned port, unsigned count, const std::string& headers,
                           std::size_t& bytes) {
    std::vector<double> times;
    for (unsigned i = 0; i < count; ++i) {
        const Got got = get(port, "/metrics", headers);
        times.push_back(got.ms);
        bytes = got.bytes;
        // Spread over snapshots, so that making the text counts as often as it happens.
        std::this_thread::sleep_for(7ms);
    }
    return times;
}

int measure(const Options& options) {
    World world(options);
    std::this_thread::sleep_for(3s);  // the first looks
    const Course course = run_for(world, options);
    std::size_t plain_bytes = 0;
    std::size_t gzip_bytes = 0;
    const auto plain = scrape(world.port(), options.scrapes, "", plain_bytes);
    const auto zipped =
        scrape(world.port(), options.scrapes, "Accept-Encoding: gzip\r\n", gzip_bytes);
    const Got state = get(world.port(), "/api/v1/state");
    const nlohmann::ordered_json json{{"gpus", options.gpus},
                                      {"pods", options.pods},
                                      {"seconds", options.seconds},
                                      {"residentKiB", course.resident_kib},
                                      {"peakKiB", course.peak_kib},
                                      {"growthKiB", course.growth_kib},
                                      {"cpuPercent", course.cpu_percent},
                                      {"readKiBPerSecond", course.read_kib},
                                      {"scrapeP50Ms", at(plain, 0.5)},
                                      {"scrapeP99Ms", at(plain, 0.99)},
                                      {"scrapeBytes", plain_bytes},
                                      {"gzipP50Ms", at(zipped, 0.5)},
                                      {"gzipP99Ms", at(zipped, 0.99)},
                                      {"gzipBytes", gzip_bytes},
                                      {"stateBytes", state.bytes}};
    if (options.json) {
        std::cout << json.dump(2) << "\n";
    } else {
        for (const auto& [name, value] : json.items()) std::cout << name << "  " << value << "\n";
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app(
        "Measures the agent's telemetry on a simulated node.\n"
        "Example: telemetry_bench --seconds 1800 --churn 1");
    app.add_option("--agent", options.agent, "the agent to measure");
    app.add_option("--model", options.model, "GPU model of the simulated node");
    app.add_option("--gpus", options.gpus)->check(CLI::Range(1, 16));
    app.add_option("--pods", options.pods)->check(CLI::Range(1, 500));
    app.add_option("--seconds", options.seconds, "how long to watch")->check(CLI::Range(1, 86'400));
    app.add_option("--scrapes", options.scrapes)->check(CLI::Range(1, 100'000));
    app.add_option("--churn", options.churn, "pods replaced in a second")->check(CLI::Range(0, 20));
    app.add_option("--memory", options.memory, "limit of a share: 1Gi; empty: none");
    app.add_flag("--idle", options.idle, "pods hold no GPU memory");
    app.add_flag("--json", options.json);
    CLI11_PARSE(app, argc, argv);
    return measure(options);
}
