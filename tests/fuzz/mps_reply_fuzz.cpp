// SPDX-License-Identifier: Apache-2.0
// Whatever nvidia-cuda-mps-control, /proc or a damaged journal say is read or refused; a journal
// that is accepted can be written, and reads back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mps/journal.h"
#include "mps/process.h"
#include "mps/reply.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot::mps;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)parse_percentage(text);
    (void)parse_memory_limit(text);
    (void)parse_pids(text);
    (void)parse_server_state(text);
    (void)parse_process_table(text);
    (void)parse_stat(text);
    (void)parse_cgroup(text);
    const auto journal = parse_journal(text);
    if (!journal) return 0;
    const auto again = parse_journal(to_text(*journal));
    if (!again || !(*again == *journal)) std::abort();
    return 0;
}
