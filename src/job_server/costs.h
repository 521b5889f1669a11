// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/forecast.h"
#include "cost/recorder.h"
#include "cost_store/accounts.h"
#include "job_server/keeper.h"
#include "job_server/use_look.h"

namespace aliquot::job_server {

struct CostsOptions {
    std::string where;  // as cost_store::Store::open() takes it
    cost::PriceFile prices;
    cost::Machine machine;  // gpu and gpus are told by the devices
    std::vector<Device> devices;
    std::uint32_t cpu_milli = 0;
    std::uint32_t memory_mib = 0;
    std::function<UseLook()> look;  // empty: nothing is measured
    std::chrono::milliseconds look_every{15'000};
    cost_store::Retention keep;
};

/// Writes what jobs of this machine hold and use into accounts. A job is found again by its number and try: so a server that
/// starts anew goes on where the last one has ended, and the time between is a gap. Thread-safe.
class Costs {
public:
    /// errors   of Store::open()
    static Result<std::unique_ptr<Costs>> open(CostsOptions options);
    ~Costs();

    /// A job has begun, ended, or was found again: what Keeper::Options::told calls.
    void told(const Record& record);
    /// Why a budget does not let it start; empty: it may. What Keeper::Options::held calls.
    [[nodiscard]] std::string held(const Record& record) const;
    /// earlier   seconds that runs like it took
    [[nodiscard]] cost::Forecast forecast(const jobs::Request& request,
                                          std::vector<std::int64_t> earlier) const;
    [[nodiscard]] cost_store::Accounts& accounts() { return *accounts_; }

private:
    explicit Costs(CostsOptions options) : options_(std::move(options)) {}
    void look(cost_store::Accounts& accounts);
    [[nodiscard]] cost::NodeSight sight(cost::TimeMs now) const;
    [[nodiscard]] const Device* find(const std::string& uuid) const;

    using Holdings = std::vector<std::pair<std::string, cost::Holding>>;  // by key of the recorder
    struct Held {
        std::string device;
        std::uint32_t share = 0;
        bool alone = false;  // nobody else can have a share of it
        pid_t runner = 0;    // whose children its processes are
    };
    [[nodiscard]] Holdings holdings_of(const Record& record) const;
    /// What of this try is not held any more.
    std::vector<std::string> keep(const Record& record, const Holdings& holdings);
    /// all   what was used of its device
    static cost::Use use_of(const Held& held, const cost::Use& all, const UseLook& look);

    const CostsOptions options_;
    std::mutex mutex_;                                // guards what follows
    std::map<std::string, Held> held_;                // by key of the recorder
    std::unique_ptr<cost_store::Accounts> accounts_;  // last: its thread calls look()
};

/// CPU, in thousandths, and memory of this machine.
std::uint32_t machine_cpu_milli();
std::uint32_t machine_memory_mib();
/// "g5.xlarge" where the machine's own description says so (EC2); empty: it does not.
std::string machine_type();

/// Whether a process is one of this process's children, theirs included; by /proc. `most` steps up at most.
bool is_below(std::uint32_t pid, std::uint32_t ancestor, unsigned most = 64);

}  // namespace aliquot::job_server
