// SPDX-License-Identifier: Apache-2.0
// Everything that doctor reads from others: the first byte says what the rest is (facts as JSON, a
// tar file, TOML, one file of a host). Whatever it is, every check gives an answer.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "bundle/bundle.h"
#include "bundle/redact.h"
#include "doctor/judge.h"
#include "doctor/report.h"
#include "document/json.h"
#include "document/path.h"
#include "document/toml.h"

namespace {

using namespace aliquot::doctor;
namespace bundle = aliquot::bundle;
namespace document = aliquot::document;

constexpr std::array<const char*, 12> kFiles{
    "cmd/dmesg.txt",        "cmd/nvml.json",   "cmd/nvidia-smi.txt",
    "cmd/lspci.txt",        "cmd/modinfo.txt", "k8s/pods.json",
    "k8s/nodes.json",       "k8s/events.json", "/etc/containerd/config.toml",
    "/etc/cdi/nvidia.yaml", "logs/a/b/c.log",  "/proc/driver/nvidia/version"};

void judge_all(const Tree& tree) {
    for (const auto kind : {Target::Kind::kHost, Target::Kind::kCluster}) {
        const Report report = judge(facts_of(tree, {kind, ""}));
        std::ostringstream out;
        print_text(out, report, {});
        // What we print must be what others can read.
        if (!document::parse_json(document::to_json(to_value(report)))) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    Tree tree;
    switch (data[0]) {
        case 'j': {
            const auto read = bundle::facts_from_json(text);
            if (!read) return 0;
            if (!(bundle::facts_from_json(bundle::facts_to_json(*read)))) std::abort();
            judge_all(bundle::redacted(*read));
            return 0;
        }
        case 't': {
            const auto read = bundle::from_tar(text);
            if (read) judge_all(*read);
            return 0;
        }
        case 'm':
            (void)aliquot::document::parse_toml(text);
            return 0;
        default:
            tree.add_text(kFiles.at(data[0] % kFiles.size()), std::string(text));
            tree.add("/sys/bus/pci/devices", {.kind = Entry::Kind::kDirectory});
            judge_all(tree);
            return 0;
    }
}
