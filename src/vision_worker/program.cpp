// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/program.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigwait is POSIX
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "http/server.h"
#include "os/root.h"
#include "vision_worker/folder.h"
#include "vision_worker/memory_view.h"
#include "vision_worker/service.h"

namespace aliquot::vision_worker {
namespace {

constexpr int kFindings = 1;
constexpr int kUsage = 2;
constexpr int kCouldNotRun = 3;
constexpr std::chrono::hours kNobodyWaits{
    24};  // for a picture of a folder, however slow the device
constexpr std::size_t kMostModelBytes = std::size_t{2} << 30U;

int fail(const Error& error) {
    log::error("vision.failed", {{"reason", error.message}});
    return error.code == ErrorCode::kInvalidInput || error.code == ErrorCode::kUnsupported
               ? kUsage
               : kCouldNotRun;
}

sigset_t block_signals() {
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    return ending;
}

/// A server takes a quarter of the descriptors for connections at most: a thousand clients want more than the usual limit.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Pages before the model is loaded: it may take minutes.
http::Response not_yet(const http::Request& request, Stall stall) {
    if (request.path == "/healthz") {
        if (stall != Stall::kHung) return {.body = "ok\n"};
        return {.status = 503, .body = "the device does not answer\n"};
    }
    return {.status = 503,
            .content_type = "application/json; charset=utf-8",
            .body = "{\"error\":\"the model is being loaded\"}\n",
            .headers = {{"Retry-After", "1"}}};
}

/// What the server asks: the service, once it is there.
class Door {
public:
    Door(const Metrics& metrics, const os::Clock& clock, const Settings& settings)
        : metrics_(metrics), clock_(clock), run_limit_(settings.run_limit) {}
    http::Response operator()(const http::Request& request) {
        Service* const service = service_.load();
        if (service != nullptr) return (*service)(request);
        return not_yet(request, metrics_.runs.stall(clock_.now(), run_limit_));
    }
    void open(Service* service) { service_ = service; }

private:
    const Metrics& metrics_;
    const os::Clock& clock_;
    const std::chrono::milliseconds run_limit_;
    std::atomic<Service*> service_{nullptr};
};

void tell(const Engine& engine, const onnx::Runtime& runtime, Metrics& metrics,
          const Settings& settings) {
    const auto& share = engine.share();
    metrics.set_device({.provider = std::string(engine.provider()),
                        .name = share ? share->name : "CPU",
                        .library = runtime.version(),
                        .memory_bytes = share ? share->total_bytes : 0,
                        .arena_bytes = share ? engine.arena_bytes() : 0});
    for (const std::string& why : engine.refused())
        log::info("vision.provider_not_taken", {{"reason", why}});
    log::info("vision.model", {{"file", settings.model},
                               {"provider", engine.provider()},
                               {"device", share ? share->name : "CPU"},
                               {"onnxruntime", runtime.version()},
                               {"library", runtime.path()},
                               {"batch", engine.most()},
                               {"batch_by", engine.formula()},
                               {"gpu_memory_bytes", share ? share->total_bytes : 0},
                               {"gpu_arena_bytes", share ? engine.arena_bytes() : 0}});
}

/// A thread that waits for a device that does not answer cannot be joined.
void leave_if_stalled(const Pipeline& pipeline, int exit_code) {
    if (pipeline.stall() == Stall::kNone) return;
    log::error("vision.ended", {{"reason", "the device does not answer"}});
    std::_Exit(exit_code);
}

int serve(const Settings& settings, const onnx::Runtime& runtime,
          std::unique_ptr<http::Server> server, Door& door, Engine& engine, Pipeline& pipeline,
          Metrics& metrics, const sigset_t& ending) {
    Service service(engine, pipeline, metrics, settings);
    door.open(&service);
    metrics.ready = true;
    log::info("vision.ready", {{"port", server->port()}, {"onnxruntime", runtime.version()}});
    int number = 0;
    ::sigwait(&ending, &number);
    log::info("vision.ending", {{"signal", number}});
    metrics.ready = false;
    server.reset();  // what was asked is answered; nothing new is taken
    leave_if_stalled(pipeline, kCouldNotRun);
    return 0;
}

}  // namespace

int run(const Settings& settings) {
    const sigset_t ending = block_signals();
    raise_descriptor_limit();
    for (const std::string& note : settings.notes) log::info("vision.note", {{"text", note}});
    const bool serving = settings.folder.empty() && settings.bench_seconds <= 0;
    const os::SystemClock clock;
    Metrics metrics;
    Door door(metrics, clock, settings);
    std::unique_ptr<http::Server> server;
    if (serving) {
        auto listening =
            http::Server::listen(Service::server_options(settings),
                                 [&door](const http::Request& request) { return door(request); });
        if (!listening) return fail(listening.error());
        server = *std::move(listening);
        log::info("vision.listening", {{"port", server->port()}});
    }
    auto runtime = onnx::Runtime::load(onnx::library_candidates(settings.library));
    if (!runtime) return fail(runtime.error());
    auto model =
        os::Root().read(std::filesystem::absolute(settings.model).native(), kMostModelBytes);
    if (!model) return fail(std::move(model).error().during("--model"));
    auto engine = Engine::make(*runtime, *std::move(model), settings, metrics, clock);
    if (!engine) return fail(engine.error());
    tell(**engine, **runtime, metrics, settings);
    if (settings.bench_seconds > 0) {
        const auto measured = measure(settings, **engine);
        return measured ? 0 : fail(measured.error());
    }
    const int cores = settings.threads > 0 ? settings.threads : allowed_cores();
    Pipeline pipeline(**engine, metrics, clock,
                      {.threads = static_cast<unsigned>(std::max(cores, 1)),
                       .most_waiting = settings.most_waiting,
                       .batch_wait = settings.batch_wait,
                       .timeout = serving ? settings.timeout : kNobodyWaits,
                       .run_limit = settings.run_limit,
                       .image_limits = settings.image_limits});
    if (serving) {
        return serve(settings, **runtime, std::move(server), door, **engine, pipeline, metrics,
                     ending);
    }
    const auto failed = look_through(settings, **engine, pipeline);
    leave_if_stalled(pipeline, kFindings);
    if (!failed) return fail(failed.error());
    return *failed == 0 ? 0 : kFindings;
}

}  // namespace aliquot::vision_worker
