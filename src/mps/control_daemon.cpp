// SPDX-License-Identifier: Apache-2.0
// The life of a control daemon: up, watched, down. How it is started stands in daemon_start.cpp.
#include "mps/control_daemon.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX

#include <algorithm>

#include "base/log.h"

namespace aliquot::mps {

std::string_view to_text(Phase phase) {
    switch (phase) {
        case Phase::kStarting:
            return "starting";
        case Phase::kWaiting:
            return "waiting";
        case Phase::kServing:
            return "serving";
        case Phase::kFailed:
            return "failed";
        case Phase::kStopping:
            return "stopping";
    }
    return "";
}

ControlDaemon::ControlDaemon(const Surroundings& surroundings, gpu::Uuid gpu,
                             std::optional<Limits> limits)
    : around_(surroundings),
      gpu_(std::move(gpu)),
      directories_(directories_of(surroundings.options.mps_root, gpu_)),
      wanted_(limits) {
    status_.gpu = gpu_;
    status_.since = std::chrono::system_clock::now();
    status_.phase = limits ? Phase::kStarting : Phase::kStopping;
    status_.reason = limits ? "MPS control daemon is starting" : "MPS is being taken down";
    if (limits) status_.limits = *limits;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ControlDaemon::~ControlDaemon() { ask_to_leave(); }

void ControlDaemon::ask_to_leave() {
    thread_.request_stop();
    wake_.notify();
}

void ControlDaemon::serve(const Limits& limits) {
    {
        const std::scoped_lock lock(mutex_);
        if (wanted_ == limits) return;
        wanted_ = limits;
    }
    wake_.notify();
}

void ControlDaemon::end() {
    {
        const std::scoped_lock lock(mutex_);
        if (!wanted_) return;
        wanted_.reset();
    }
    wake_.notify();
}

void ControlDaemon::terminate(std::uint32_t client) {
    constexpr std::size_t kMost = 64;
    {
        const std::scoped_lock lock(mutex_);
        if (to_terminate_.size() == kMost) return;
        to_terminate_.push_back(client);
    }
    wake_.notify();
}

Status ControlDaemon::status() const {
    const std::scoped_lock lock(mutex_);
    return status_;
}

std::optional<Limits> ControlDaemon::wanted() const {
    const std::scoped_lock lock(mutex_);
    return wanted_;
}

void ControlDaemon::publish(Phase phase, std::string reason) {
    bool phase_changed = false;
    {
        const std::scoped_lock lock(mutex_);
        phase_changed = status_.phase != phase;
        if (!phase_changed && status_.reason == reason && status_.daemon == daemon_.pid) return;
        if (phase_changed) status_.since = std::chrono::system_clock::now();
        status_.phase = phase;
        status_.reason = reason;
        status_.daemon = daemon_.pid;
        status_.private_shm = private_shm_;
        if (phase != Phase::kServing && phase != Phase::kStopping) {
            status_.servers.clear();
            status_.clients.clear();
        }
    }
    if (phase == Phase::kServing) {
        log::info("mps.serving", {{"gpu", gpu_.text}, {"daemon", daemon_.pid}});
    } else if (phase_changed || phase == Phase::kFailed) {
        log::warning("mps.not_serving",
                     {{"gpu", gpu_.text}, {"phase", to_text(phase)}, {"why", reason}});
    }
    around_.changed();
}

void ControlDaemon::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (!wanted()) {
            if (!wind_down()) continue;
            const std::scoped_lock lock(mutex_);
            if (wanted_) continue;  // wanted again just now
            finished_ = true;
            break;
        }
        const auto up = bring_up(stop);
        if (stop.stop_requested()) break;
        if (up) {
            watch(stop);
        } else {
            pause_after(up.error());
        }
    }
    if (!finished_) leave();
    around_.changed();
}

/// kConflict means processes that will leave; everything else is a failure.
void ControlDaemon::pause_after(const Error& problem) {
    if (problem.code == ErrorCode::kConflict) {
        publish(Phase::kWaiting, problem.message);
        wake_.wait(around_.options.recheck);
        return;
    }
    constexpr unsigned kMostDoublings = 16;
    publish(Phase::kFailed, problem.message);
    const auto pause = around_.options.first_pause * (1U << std::min(failures_, kMostDoublings));
    ++failures_;
    wake_.wait(std::min(pause, around_.options.longest_pause));
}

Result<Done> ControlDaemon::bring_up(const std::stop_token& stop) {
    if (auto ready = make_control(); !ready) return ready;
    if (!runs() && !adopt()) {
        if (auto started = start(stop); !started) {
            stop_daemon();
            return started;
        }
    }
    if (auto exclusive = make_exclusive(); !exclusive) return exclusive;
    const auto limits = wanted();
    if (!limits) return Done{};
    applied_.reset();
    if (auto applied = apply_limits(*limits); !applied) return applied;
    if (auto seen = look(); !seen) return seen;
    serving_since_ = Clock::now();
    publish(Phase::kServing, "");
    return Done{};
}

void ControlDaemon::watch(const std::stop_token& stop) {
    const EndWatch end(daemon_);
    unsigned silent = 0;
    while (!stop.stop_requested()) {
        if (child_) child_->poll();
        if (!runs()) return note_end();
        const auto limits = wanted();
        if (!limits) return;
        if (Clock::now() - serving_since_ >= around_.options.good_run) failures_ = 0;
        auto good = look();
        if (good) good = make_exclusive();
        if (good) good = apply_limits(*limits);
        if (good) {
            silent = 0;
            const auto now = status();
            const auto faulty =
                std::ranges::find(now.servers, ServerState::kFault, &Status::Server::state);
            if (faulty == now.servers.end()) {
                publish(Phase::kServing, "");
            } else {
                publish(Phase::kFailed, "MPS server " + std::to_string(faulty->pid) +
                                            " is in state FAULT after an error of one of its "
                                            "clients; it takes no new ones until all have ended");
            }
        } else if (runs()) {
            // Its GPU may be lost, which is told elsewhere; only a daemon that is mute is at fault.
            constexpr unsigned kMostSilent = 2;
            publish(Phase::kFailed, "MPS control daemon: " + good.error().message);
            if (!control_->default_thread_percentage() && ++silent >= kMostSilent) {
                stop_daemon();
                return note_end();
            }
            if (silent > 0) continue;
        }
        wake_.wait(around_.options.probe_interval, &end);
    }
}

void ControlDaemon::note_end() {
    std::string how = "ended";
    if (child_) {
        if (const auto exit = child_->poll()) {
            how = exit->signal != 0 ? "was killed by signal " + std::to_string(exit->signal)
                                    : "ended with code " + std::to_string(exit->code);
        }
    }
    log::error("mps.daemon_ended", {{"gpu", gpu_.text}, {"daemon", daemon_.pid}, {"how", how}});
    forget_daemon();
    publish(Phase::kFailed, "MPS control daemon " + how + " and is started again");
    if (Clock::now() - serving_since_ >= around_.options.good_run) failures_ = 0;
    if (failures_++ == 0) return;  // the first time: at once
    constexpr unsigned kMostDoublings = 16;
    const auto pause = around_.options.first_pause * (1U << std::min(failures_, kMostDoublings));
    wake_.wait(std::min(pause, around_.options.longest_pause));
}

/// Asks who the servers and clients are. What it learns is in status().
Result<Done> ControlDaemon::look() {
    std::vector<std::uint32_t> ending;
    {
        const std::scoped_lock lock(mutex_);
        ending.swap(to_terminate_);
    }
    const auto servers = control_->servers();
    if (!servers) return servers.error();
    std::vector<Status::Server> states;
    servers_.clear();
    for (const std::uint32_t server : *servers) {
        const auto state = control_->server_state(server);
        states.push_back({server, state ? *state : ServerState::kUnknown});
        if (const auto facts = look_at_process(static_cast<pid_t>(server))) {
            servers_.push_back(facts->id);
        }
    }
    std::vector<Client> clients;
    if (!servers->empty()) {
        const auto rows = control_->clients();
        if (!rows) return rows.error();
        for (const ClientRow& row : *rows) {
            const auto same = [&](const Client& known) { return known.pid == row.pid; };
            if (std::ranges::any_of(clients, same)) continue;  // one row a device
            clients.push_back({.pid = row.pid,
                               .server = row.server,
                               .command = row.command,
                               .pod = pod_of_process(static_cast<pid_t>(row.pid))});
        }
    }
    for (const std::uint32_t pid : ending) {
        const auto client = std::ranges::find(clients, pid, &Client::pid);
        if (client == clients.end()) continue;
        const auto ended = control_->terminate_client(client->server, pid);
        log::warning("mps.client_terminated",
                     {{"gpu", gpu_.text},
                      {"pid", pid},
                      {"outcome", ended ? "done" : ended.error().message}});
    }
    bool changed = false;
    {
        const std::scoped_lock lock(mutex_);
        changed = status_.servers != states || status_.clients != clients;
        status_.servers = std::move(states);
        status_.clients = std::move(clients);
    }
    if (changed) around_.changed();
    return Done{};
}

/// Returns true when nothing is left of MPS on this GPU; else it has waited a while.
bool ControlDaemon::wind_down() {
    if (const auto ready = make_control(); ready && !runs()) adopt();
    if (runs() && control_) {
        if (const auto seen = look(); seen) {
            const auto clients = status().clients;
            if (!clients.empty()) {
                std::vector<std::uint32_t> pids;
                for (const Client& client : clients) pids.push_back(client.pid);
                publish(Phase::kStopping,
                        "MPS ends on this GPU when its clients have ended: " + names_of(pids));
                wake_.wait(around_.options.recheck);
                return false;
            }
        }
        stop_daemon();
    }
    auto undone = clear_leftovers();
    if (undone) undone = restore_mode();
    if (undone) undone = around_.journal.remove(gpu_);
    if (!undone) {
        publish(Phase::kStopping, undone.error().message);
        wake_.wait(around_.options.recheck);
        return false;
    }
    remove_directories(around_.root, directories_);
    log::info("mps.removed", {{"gpu", gpu_.text}});
    return true;
}

/// The agent ends: what has clients goes on without us.
void ControlDaemon::leave() {
    const bool alive = runs();
    const auto clients = alive && control_
                             ? control_->clients()
                             : Result<std::vector<ClientRow>>(std::vector<ClientRow>{});
    if (alive && (!clients || !clients->empty())) {
        log::info("mps.left_running", {{"gpu", gpu_.text}, {"daemon", daemon_.pid}});
        if (child_) child_->release();
        return;
    }
    if (alive) stop_daemon();
    if (!around_.journal.find(gpu_)) return;
    auto undone = clear_leftovers();
    if (undone) undone = restore_mode();
    if (undone) undone = around_.journal.remove(gpu_);
    if (!undone) {
        log::warning("mps.not_undone", {{"gpu", gpu_.text}, {"why", undone.error().message}});
        return;
    }
    remove_directories(around_.root, directories_);
}

void ControlDaemon::stop_daemon() {
    if (daemon_.pid <= 0) return;
    const EndWatch end(daemon_);
    const auto ended_within = [&](std::chrono::milliseconds limit) {
        const auto until = Clock::now() + limit;
        while (runs() && Clock::now() < until) {
            if (child_) child_->poll();
            wake_.wait(std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()),
                       &end);
        }
        if (child_) child_->poll();
        return !runs();
    };
    if (runs() && control_) (void)control_->quit(std::chrono::seconds(1));
    if (!ended_within(around_.options.end_limit)) ::kill(daemon_.pid, SIGTERM);
    if (!ended_within(around_.options.end_limit)) ::kill(daemon_.pid, SIGKILL);
    (void)ended_within(around_.options.end_limit);
    forget_daemon();
}

void ControlDaemon::forget_daemon() {
    if (daemon_.pid > 0) group_ = daemon_.pid;
    child_.reset();
    daemon_ = {};
    applied_.reset();
}

}  // namespace aliquot::mps
