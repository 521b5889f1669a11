// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/memory_cage.h"

#include <unistd.h>

#include <fstream>

namespace aliquot::e2e {
namespace {

namespace fs = std::filesystem;

bool write(const fs::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    return out.good();
}

std::size_t number_in(const fs::path& file) {
    std::size_t number = 0;
    std::ifstream(file) >> number;
    return number;
}

}  // namespace

MemoryCage::MemoryCage(std::size_t bytes) : bytes_(bytes) {
    const std::string name = "aliquot-cage-" + std::to_string(::getpid());
    const fs::path root = "/sys/fs/cgroup";
    for (const auto& [place, limit] :
         {std::pair{root / "memory", "memory.limit_in_bytes"}, {root, "memory.max"}}) {
        std::error_code problem;
        if (!fs::is_directory(place, problem)) continue;
        const fs::path made = place / name;
        if (!fs::create_directory(made, problem)) continue;
        if (fs::exists(made / limit, problem) && write(made / limit, std::to_string(bytes))) {
            write(made / "memory.swap.max", "0");
            folder_ = made;
            return;
        }
        fs::remove(made, problem);
    }
}

MemoryCage::~MemoryCage() {
    if (is_real()) ::rmdir(folder_.c_str());  // a cgroup's files are not removed one by one
}

std::vector<std::string> MemoryCage::inside(const std::vector<std::string>& argv) const {
    if (!is_real()) return argv;
    std::vector<std::string> words{"/bin/sh", "-c", R"(echo $$ >"$0/cgroup.procs" && exec "$@")",
                                   folder_.native()};
    words.insert(words.end(), argv.begin(), argv.end());
    return words;
}

std::size_t MemoryCage::peak(int pid) const {
    for (const char* name : {"memory.max_usage_in_bytes", "memory.peak"}) {
        if (is_real() && fs::exists(folder_ / name)) return number_in(folder_ / name);
    }
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string word;
    std::size_t kib = 0;
    while (status >> word) {
        if (word == "VmHWM:" && status >> kib) return kib << 10U;
    }
    return 0;
}

}  // namespace aliquot::e2e
