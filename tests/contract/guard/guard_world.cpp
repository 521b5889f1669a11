// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/guard_world.h"

#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "nvml/driver.h"
#include "os/root.h"
#include "sim/node/shared_state.h"

namespace aliquot::guardkit {
namespace {

std::string named(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "guard kit: %s\n", why.c_str());
    std::_Exit(3);
}

std::string content_of(const fs::path& file) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

std::string hex_of(const std::string& uuid) {
    std::string digits;
    for (const char letter : uuid.substr(uuid.find('-') + 1))
        if (std::isxdigit(static_cast<unsigned char>(letter)) != 0) digits += letter;
    return digits;
}

void set_word(Settings& settings, const std::string& key, const std::string& value) {
    if (key == "memory") {
        settings.memory = value;
    } else if (key == "gpus") {
        settings.gpus = static_cast<unsigned>(std::stoul(value));
    } else if (key == "model") {
        settings.model = value;
    } else if (key == "driver") {
        settings.driver = value;
    } else if (key == "region") {
        settings.region = value;
    } else if (key == "fail") {
        settings.fail = value;
    } else if (key == "lines") {
        settings.lines = value;
    } else if (key == "routes") {
        settings.all_routes = value == "all";
    } else if (key == "config") {
        settings.config = true;
    } else if (key == "stranger") {
        settings.stranger = true;
    } else if (key == "turns") {
        settings.turns = true;
    } else if (key == "peak") {
        settings.peak = true;
    } else if (key == "twice") {
        settings.twice = true;
    } else {
        settings.environment[key] = value;
    }
}

}  // namespace

Settings parse_settings(const std::string& text) {
    Settings settings;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t at = word.find('=');
        set_word(settings, word.substr(0, at), at == std::string::npos ? "" : word.substr(at + 1));
    }
    return settings;
}

fs::path GuardWorld::library() {
    const std::string other = named("ALIQUOT_GUARD_KIT_LIBRARY");
    if (other == "none") return {};
    return other.empty() ? fs::path(ALIQUOT_LIB_DIR) / "libaliquot-guard.so" : fs::path(other);
}

bool GuardWorld::real_driver() { return !named("ALIQUOT_GUARD_KIT_DRIVER").empty(); }

GuardWorld::GuardWorld(const Settings& settings) : settings_(settings) {
    make_driver_folder();
    if (!real_driver()) make_node();
    if (!settings_.turns) return;
    turns().add("turns", scratch_.path() / "config");
    for (const std::uint32_t weight : {30U, 70U})
        turns().add("turns-" + std::to_string(weight), weight);
}

TurnsWorld& GuardWorld::turns() {
    if (!turns_) turns_ = std::make_unique<TurnsWorld>(scratch_.path(), gpu_uuid());
    return *turns_;
}

std::string GuardWorld::gpu_uuid() const {
    if (node_) return node_->gpus().at(0).uuid;
    const os::Root root("/");
    const auto driver =
        nvml::Driver::open(root, {.driver_root = scratch_.path() / "driver/libnvidia-ml.so.1"});
    if (!driver) give_up(driver.error().message);
    const auto found = (*driver)->enumerate();
    if (!found) give_up(found.error().message);
    if (found->gpus.empty()) give_up("no GPU");
    return found->gpus[0].uuid.text;
}

void GuardWorld::make_node() {
    auto node = sim::Node::create(
        scratch_.path() / "node", {.gpus = {{.model = settings_.model, .count = settings_.gpus}}},
        fs::path(ALIQUOT_SIM_DIR) / "libnvidia-ml.so.1", fs::path(ALIQUOT_SIM_DIR) / "nvidia-smi");
    if (!node) give_up(node.error().message);
    node_ = std::make_unique<sim::Node>(*std::move(node));
    if (settings_.stranger) {
        const auto put = node_->set_process(0, static_cast<std::uint32_t>(::getpid()),
                                            std::uint64_t{1} << 30, 0);
        if (!put) give_up(put.error().message);
    }
    // A check may give up root, and its processes still use the node.
    std::error_code ignored;
    fs::permissions(scratch_.path(), fs::perms::all, ignored);
    fs::permissions(scratch_.path() / "node", fs::perms::all, ignored);
    for (const auto& entry : fs::directory_iterator(scratch_.path() / "node", ignored))
        fs::permissions(entry.path(), fs::perms::all, ignored);
}

GuardWorld::~GuardWorld() {
    if (node_) (void)sim::Node::destroy(scratch_.path() / "node");
}

void GuardWorld::make_driver_folder() {
    const fs::path folder = scratch_.path() / "driver";
    fs::create_directories(folder);
    if (settings_.driver == "none") return;
    const std::string other = named("ALIQUOT_GUARD_KIT_DRIVER");
    const fs::path source = other.empty() ? fs::path(ALIQUOT_SIM_DIR) : fs::path(other);
    const fs::path kit = ALIQUOT_TEST_DIR;
    const fs::path cuda = settings_.driver == "plain"    ? kit / "plain-driver/libcuda.so.1"
                          : settings_.driver == "behind" ? kit / "plain-driver-behind/libcuda.so.1"
                                                         : source / "libcuda.so.1";
    fs::create_symlink(cuda, folder / "libcuda.so.1");
    fs::create_symlink(cuda, folder / "libcuda.so");
    fs::create_symlink(source / "libnvidia-ml.so.1", folder / "libnvidia-ml.so.1");
}

std::map<std::string, std::string> GuardWorld::environment() const {
    std::map<std::string, std::string> words;
    words["PATH"] = named("PATH");
    words["HOME"] = scratch_.path();
    words["LD_LIBRARY_PATH"] = scratch_.path() / "driver";
    words["ALIQUOT_SIM_STATE"] = scratch_.path() / "node";
    words["ALIQUOT_GUARD_KIT_DRIVER_FOLDER"] = scratch_.path() / "driver";
    words["ALIQUOT_GUARD_KIT_PLUGIN"] = fs::path(ALIQUOT_TEST_DIR) / "libguard-plugin.so";
    words["ALIQUOT_GUARD_KIT_GPUS"] = std::to_string(settings_.gpus);
    for (const char* const name : {"ALIQUOT_GUARD_KIT_SCALE", "ALIQUOT_GUARD_KIT_SEED"})
        if (const std::string value = named(name); !value.empty()) words[name] = value;
    if (node_ && !node_->gpus().empty())
        words["ALIQUOT_GUARD_KIT_UUIDS"] = hex_of(node_->gpus()[0].uuid);
    if (settings_.memory != "none") words["ALIQUOT_GUARD_MEMORY"] = settings_.memory;
    if (settings_.region == "file") words["ALIQUOT_GUARD_REGION"] = scratch_.path() / "region";
    if (settings_.region == "hami")
        words["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = scratch_.path() / "region";
    if (settings_.region == "missing")
        words["ALIQUOT_GUARD_REGION"] = scratch_.path() / "no/such/region";
    if (settings_.config) words["ALIQUOT_GUARD_CONFIG"] = scratch_.path() / "config";
    if (settings_.turns) words["ALIQUOT_GUARD_NODE"] = scratch_.path() / "turns";
    if (!named("ALIQUOT_GUARD_KIT_LIBRARY").empty()) {
        words["ALIQUOT_GUARD_KIT_FOREIGN"] = "1";
        std::string memory = settings_.memory;
        if (memory.ends_with("i")) memory.pop_back();
        if (memory != "none") words["CUDA_DEVICE_MEMORY_LIMIT"] = memory;
        words["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = scratch_.path() / "region";
        words["LIBCUDA_LOG_LEVEL"] = "0";
    }
    for (const auto& [name, value] : settings_.environment) words[name] = value;
    const std::string library_path = library();
    if (!library_path.empty()) {
        words["LD_PRELOAD"] = settings_.twice ? library_path + " " + library_path : library_path;
        words["ALIQUOT_GUARD_KIT_PRELOADED"] = library_path;
    }
    return words;
}

std::uint64_t GuardWorld::peak_bytes(unsigned gpu) const {
    if (!node_) return 0;
    const auto state = sim::SharedState::open(scratch_.path() / "node" / sim::kStateFile);
    if (!state) give_up(state.error().message);
    const auto locked = (*state)->lock();
    if (!locked) give_up("the node's books are locked");
    return (*locked)->memory[gpu].peak_bytes;
}

void GuardWorld::forget_region() {
    std::error_code ignored;
    for (const char* name : {"region", "config"}) fs::remove_all(scratch_.path() / name, ignored);
}

Outcome GuardWorld::run(const std::vector<std::string>& arguments, std::chrono::seconds limit,
                        const std::map<std::string, std::string>& more) {
    auto words = environment();
    for (const auto& [name, value] : more) words[name] = value;
    return run_in(arguments, limit, std::move(words));
}

Outcome GuardWorld::run_bare(const std::vector<std::string>& arguments,
                             std::chrono::seconds limit) {
    auto words = environment();
    words.erase("LD_PRELOAD");
    words.erase("ALIQUOT_GUARD_KIT_PRELOADED");
    return run_in(arguments, limit, std::move(words));
}

std::optional<Outcome> GuardWorld::run_preloaded(const std::vector<std::string>& arguments,
                                                 std::chrono::seconds limit) {
    // /etc/ld.so.preload must be there to be bound over; a copy of /etc has one without a trace.
    const fs::path copy = scratch_.path() / "etc";
    if (!fs::exists(copy)) {
        // By links where it is one file system: nothing in there is written to.
        bool copied = false;
        for (const char* way : {"-al", "-a"}) {
            os::Command command;
            command.argv = {"/bin/cp", way, "/etc", copy};
            command.environment = {{"PATH", named("PATH")}};
            command.output_path = scratch_.path() / "copying";
            auto process = os::Process::start(command);
            const auto exit = process ? process->wait(std::chrono::seconds(30)) : std::nullopt;
            copied = exit && exit->code == 0;
            if (copied) break;
            std::error_code ignored;
            fs::remove_all(copy, ignored);
        }
        if (!copied) return {};
        std::ofstream(copy / "ld.so.preload") << library().native() << '\n';
    }
    auto words = environment();
    words.erase("LD_PRELOAD");
    words.erase("ALIQUOT_GUARD_KIT_PRELOADED");
    os::Command probe;
    probe.argv = {"/bin/true"};
    probe.environment = words;
    probe.binds = {{.source = copy, .target = "/etc"}};
    auto tried = os::Process::start(probe);
    if (!tried || !tried->wait(std::chrono::seconds(10))) return {};
    return run_in(arguments, limit, std::move(words), {{.source = copy, .target = "/etc"}});
}

Outcome GuardWorld::run_in(const std::vector<std::string>& arguments, std::chrono::seconds limit,
                           std::map<std::string, std::string> environment,
                           const std::vector<os::Command::Bind>& binds) {
    const fs::path out = scratch_.path() / "out";
    const fs::path error = scratch_.path() / "error";
    std::ofstream(out).close();
    std::ofstream(error).close();
    // Both streams apart: a shell that knows nothing but to put them there.
    os::Command command;
    command.argv = {"/bin/sh",
                    "-c",
                    "o=$1; e=$2; p=$3; shift 3; "
                    "if [ -n \"$p\" ]; then LD_PRELOAD=$p; export LD_PRELOAD; fi; "
                    "exec \"$@\" </dev/null >\"$o\" 2>\"$e\"",
                    "sh",
                    out,
                    error,
                    environment["LD_PRELOAD"]};
    environment.erase("LD_PRELOAD");  // the shell itself runs without
    for (const std::string& argument : arguments) command.argv.push_back(argument);
    command.environment = std::move(environment);
    command.working_directory = scratch_.path();
    command.binds = binds;
    auto process = os::Process::start(command);
    Outcome outcome;
    if (!process) give_up(process.error().message);
    const auto exit = process->wait(limit);
    outcome.late = !exit;
    outcome.code = exit ? exit->code : process->terminate(std::chrono::milliseconds(0)).code;
    outcome.out = content_of(out);
    outcome.error = content_of(error);
    return outcome;
}

}  // namespace aliquot::guardkit
