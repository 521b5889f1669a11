// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bundle/tree.h"

namespace aliquot::bundle {

/// For tests: an entry of every kind, a name that tar has to cut, bytes that are no text.
inline Tree small_tree() {
    Tree tree;
    tree.complete = true;
    tree.taken_s = 1795262400;
    tree.add_text("/proc/modules", "nouveau 1 0 - Live 0x0\n");
    tree.add("/dev/nvidia0", {.kind = Entry::Kind::kDevice});
    tree.add("/dev/kmsg", {.kind = Entry::Kind::kUnreadable, .content = "EACCES"});
    tree.add("/sys/bus/pci/devices/0000:01:00.0/driver",
             {.kind = Entry::Kind::kLink, .content = "../drivers/nouveau"});
    tree.add_text("/sys/firmware/efi/efivars/SecureBoot-x", std::string("\x06\0\0\0\xff", 5));
    tree.add_text("cmd/dmesg.txt", "NVRM: hello\n");
    tree.add_text("k8s/nodes.json", "{\"items\":[]}");
    tree.add_text("/usr/lib/modules/" + std::string(120, 'k') + "/nvidia.ko", "");
    return tree;
}

}  // namespace aliquot::bundle
