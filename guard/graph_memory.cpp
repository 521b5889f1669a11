// SPDX-License-Identifier: Apache-2.0
#include "guard/graph_memory.h"

#include "guard/exports.h"
#include "guard/figures.h"
#include "guard/graphs.h"
#include "guard/memory.h"

namespace aliquot::guard {
namespace {

/// What graphs hold of one device.
struct Books {
    std::uint64_t base;             // bytes that the driver said
    std::uint64_t started;          // bytes of all launches and uploads that wanted new memory
    std::uint64_t completed;        // and of those that have returned
    std::uint64_t mark;             // `completed` when the driver was asked
    std::uint64_t charged;          // in the ledger
    std::uint64_t again_started;    // bytes of all runs that were to find theirs
    std::uint64_t again_completed;  // and of those that have returned
    std::uint64_t again_mark;       // `again_completed` when the driver was asked
    std::uint64_t fallen;           // by which `base` has become less while such were under way
    std::uint64_t question;         // number of the last that was put to the driver
    std::uint64_t answered;         // the newest that `base` and `mark` are from
    std::uint64_t backed;           // bytes of executable graphs that have run since...
    std::uint32_t trims;            // ...this trim
};

/// Runs of an executable graph that are under way, in its record's `context`: those that are charged
/// count 1, those that were to find their memory this.
constexpr std::uint64_t kRunAgain = std::uint64_t{1} << 32;

constexpr unsigned kDeepest = 32;  // of graphs in graphs
constexpr std::size_t kFewNodes = 64;

constinit Records g_captured;                 // by stream: what its capture allocates
constinit Records g_graphs;                   // by graph and place, as seen when nodes were added
constinit Records g_execs;                    // by executable graph and place
std::atomic<std::uint32_t> g_with_memory{0};  // bit by place: graphs allocate there
std::atomic<std::uint32_t> g_trims{1};        // memory that had run may be gone since
ThreadLock g_lock;                            // for g_books; the ledger's lock may be taken inside
constinit Books g_books[abi::kRegionDevices] = {};

/// Handles are addresses of objects: their last bits are free for a place.
static_assert(abi::kRegionDevices <= 16);
template <class Handle>
std::uint64_t key_of(Handle handle, unsigned place = 0) {
    return reinterpret_cast<std::uintptr_t>(handle) + place;
}

void note_place(unsigned place) { g_with_memory.fetch_or(1U << place); }
bool is_noted(unsigned place) {
    return (g_with_memory.load(std::memory_order_relaxed) & 1U << place) != 0;
}

void add(Records& records, std::uint64_t key, std::uint64_t bytes, unsigned place) {
    if (records.update(key, [&](Record& record) { record.bytes += bytes; })) return;
    Record record;
    record.kind = Kind::kGraph;
    record.bytes = bytes;
    record.place = static_cast<std::uint8_t>(place);
    records.put(key, record);
}

/// Under the lock.
void charge(unsigned place) {
    Books& books = g_books[place];
    const std::uint64_t again = books.again_started - books.again_mark;
    const std::uint64_t most =
        books.base + (books.started - books.mark) + (again < books.fallen ? again : books.fallen);
    // A run that is under way may be in the answer already: it is not charged twice.
    const std::uint64_t known = books.charged > books.base ? books.charged : books.base;
    const std::uint64_t now = most < known ? most : known;
    if (now > books.charged)
        g_ledger.force(place, now - books.charged, Part::kTracked);
    else if (now < books.charged)
        g_ledger.shrink(place, books.charged - now, Part::kTracked);
    books.charged = now;
}

/// Under the lock: what the driver said, when so much was completed.
void take_answer(Books& books, std::uint64_t reserved, std::uint64_t completed,
                 std::uint64_t again_completed) {
    books.mark = completed;
    books.again_mark = again_completed;
    if (reserved < books.base)
        books.fallen += books.base - reserved;
    else
        books.fallen = less(books.fallen, reserved - books.base);
    if (books.again_started == books.again_mark) books.fallen = 0;
    books.base = reserved;
}

unsigned place_of_location(const CUmemLocation& location) {
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? place_of_device(location.id)
                                                        : current_place();
}

void add_nodes(CUgraph graph, GraphDemand& demand, unsigned depth);

void add_node(CUgraphNode node, GraphDemand& demand, unsigned depth) {
    int type = -1;
    if (g_driver.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return;
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        CUDA_MEM_ALLOC_NODE_PARAMS params = {};
        if (g_driver.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS) return;
        const unsigned place = place_of_location(params.poolProps.location);
        if (place != kNone) demand.bytes[place] += charged_size(params.bytesize);
    } else if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < kDeepest) {
        CUgraph child = nullptr;
        if (g_driver.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS &&
            child != nullptr)
            add_nodes(child, demand, depth + 1);
    }
}

void add_nodes(CUgraph graph, GraphDemand& demand, unsigned depth) {
    std::size_t count = 0;
    if (g_driver.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
    CUgraphNode few[kFewNodes] = {};
    const std::size_t size = count * sizeof(CUgraphNode);
    auto* nodes = few;
    if (count > kFewNodes)
        nodes = static_cast<CUgraphNode*>(
            kernel::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (nodes == nullptr) return;
    const std::size_t room = count;
    if (g_driver.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS)
        for (std::size_t i = 0; i < count && i < room; ++i) add_node(nodes[i], demand, depth);
    if (nodes != few) kernel::unmap(nodes, size);
}

}  // namespace

void note_captured_memory(CUstream stream, std::uint64_t bytes, unsigned place) {
    note_place(place);
    add(g_captured, key_of(stream), charged_size(bytes), place);
}

void note_graph_node(CUgraph graph, std::uint64_t bytes, const CUmemLocation& location) {
    const unsigned place = place_of_location(location);
    if (place == kNone) return;
    note_place(place);
    add(g_graphs, key_of(graph, place), charged_size(bytes), place);
}

void note_graph_part(CUgraph graph, CUgraph other) {
    Record record;
    for (unsigned place = 0; place < abi::kRegionDevices; ++place)
        if (is_noted(place) && g_graphs.look(key_of(other, place), record))
            add(g_graphs, key_of(graph, place), record.bytes, place);
}

void end_captured_memory(CUstream stream, CUgraph graph) {
    Record record;
    if (g_captured.take(key_of(stream), record) && graph != nullptr)
        add(g_graphs, key_of(graph, record.place), record.bytes, record.place);
}

void forget_graph(CUgraph graph) {
    Record record;
    for (unsigned place = 0; place < abi::kRegionDevices; ++place)
        if (is_noted(place)) g_graphs.take(key_of(graph, place), record);
}

GraphDemand demand_of(CUgraph graph) {
    GraphDemand demand = {};
    add_nodes(graph, demand, 0);
    Record record;
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        if (is_noted(place) && g_graphs.look(key_of(graph, place), record) &&
            record.bytes > demand.bytes[place])
            demand.bytes[place] = record.bytes;
        if (demand.bytes[place] != 0) note_place(place);
    }
    return demand;
}

bool has_graph_memory() { return g_with_memory.load(std::memory_order_relaxed) != 0; }

std::uint64_t graph_memory_of(unsigned place) {
    const ThreadLocked locked(g_lock);
    return g_books[place].charged;
}

void settle_graph_memory() {
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        const CUdevice device = is_noted(place) ? device_of_place(place) : -1;
        if (device < 0) continue;
        std::uint64_t completed = 0;
        std::uint64_t again_completed = 0;
        std::uint64_t question = 0;
        {
            const ThreadLocked locked(g_lock);
            completed = g_books[place].completed;
            again_completed = g_books[place].again_completed;
            question = ++g_books[place].question;
        }
        cuuint64_t reserved = 0;
        if (g_driver.cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                                  &reserved) != CUDA_SUCCESS)
            continue;
        const ThreadLocked locked(g_lock);
        Books& books = g_books[place];
        // An answer that another thread was slow to bring is not the state any more.
        if (question < books.answered) continue;
        books.answered = question;
        if (reserved < books.base) note_graph_trim();
        take_answer(books, reserved, completed, again_completed);
        charge(place);
    }
}

void drop_graph_memory(unsigned place) {
    note_graph_trim();
    const ThreadLocked locked(g_lock);
    Books& books = g_books[place];
    take_answer(books, 0, books.completed, books.again_completed);
    books.answered = ++books.question;
    charge(place);
}

void note_graph_trim() { g_trims.fetch_add(1); }

bool begin_exec(const GraphDemand& demand, bool backed) {
    for (unsigned place = 0; backed && place < abi::kRegionDevices; ++place) {
        const std::uint64_t bytes = demand.bytes[place];
        if (bytes == 0) continue;
        const bool granted = reserve(place, bytes);
        const ThreadLocked locked(g_lock);
        g_books[place].started += bytes;
        if (granted) {
            g_books[place].charged += bytes;
            continue;
        }
        // What was granted before on other devices goes with the next settling.
        for (unsigned i = 0; i <= place; ++i) g_books[i].completed += demand.bytes[i];
        for (unsigned i = 0; i < place; ++i) g_books[i].mark += demand.bytes[i];
        g_books[place].mark += bytes;
        for (unsigned i = 0; i < place; ++i) charge(i);
        return false;
    }
    return true;
}

void end_exec(CUgraphExec exec, const GraphDemand& demand, bool backed, bool success) {
    bool any = false;
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        const std::uint64_t bytes = demand.bytes[place];
        if (bytes == 0) continue;
        any = true;
        if (backed) {
            const ThreadLocked locked(g_lock);
            g_books[place].completed += bytes;
        }
        if (!success) continue;
        Record record;
        record.kind = Kind::kGraphExec;
        record.bytes = bytes;
        record.place = static_cast<std::uint8_t>(place);
        g_execs.put(key_of(exec, place), record);
    }
    if (any && backed) settle_graph_memory();
}

GraphDemand take_exec(CUgraphExec exec) {
    GraphDemand demand = {};
    Record record;
    for (unsigned place = 0; place < abi::kRegionDevices; ++place)
        if (is_noted(place) && g_execs.take(key_of(exec, place), record))
            demand.bytes[place] = record.bytes;
    return demand;
}

bool begin_graph(CUgraphExec exec) {
    GraphDemand demand = {};
    std::uint64_t runs[abi::kRegionDevices] = {};  // what is added to the record's
    bool any = false;
    bool fresh = false;
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        Record record;
        if (!is_noted(place) || !g_execs.look(key_of(exec, place), record)) continue;
        any = true;
        const ThreadLocked locked(g_lock);
        // One that has run keeps its memory until it is trimmed, where each has its own.
        Books& books = g_books[place];
        const bool again = record.extra == g_trims.load() && books.base >= books.backed;
        runs[place] = again ? kRunAgain : 1;
        if (again)
            books.again_started += record.bytes;
        else
            demand.bytes[place] = record.bytes;
        fresh = fresh || !again;
    }
    if (!any) return true;
    const bool granted = !fresh || begin_exec(demand, true);
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        if (runs[place] == 0) continue;
        std::uint64_t bytes = 0;
        g_execs.update(key_of(exec, place), [&](Record& record) {
            if (granted) record.context += runs[place];
            bytes = record.bytes;
        });
        if (granted || runs[place] != kRunAgain) continue;
        const ThreadLocked locked(g_lock);
        g_books[place].again_completed += bytes;
    }
    return granted;
}

void end_graph(CUgraphExec exec, bool success) {
    const std::uint32_t trims = g_trims.load();
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        if (!is_noted(place)) continue;
        std::uint64_t begun = 0;
        std::uint64_t again = 0;
        std::uint64_t first = 0;
        g_execs.update(key_of(exec, place), [&](Record& record) {
            const bool fresh = record.context % kRunAgain != 0;
            begun = fresh ? record.bytes : 0;
            again = !fresh && record.context != 0 ? record.bytes : 0;
            record.context -= fresh ? 1 : again != 0 ? kRunAgain : 0;
            if (!success) return;
            first = record.extra != trims ? record.bytes : 0;
            record.extra = trims;
        });
        const ThreadLocked locked(g_lock);
        Books& books = g_books[place];
        if (books.trims != trims) books.backed = 0;
        books.trims = trims;
        books.completed += begun;
        books.again_completed += again;
        books.backed += first;
    }
    settle_graph_memory();
}

void forget_graphs() {
    g_captured.forget();
    g_graphs.forget();
    g_execs.forget();
    g_with_memory.store(0);
    g_lock.forget();
    for (Books& books : g_books) books = Books{};
}

}  // namespace aliquot::guard
