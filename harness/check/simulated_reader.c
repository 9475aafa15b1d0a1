// The readers of simulated collectors. While a reader is paused or the harness stands still, the
// collectors go on writing, and their lines are read together when that is over.
#include "check/simulated.h"

bool sim_pause_reader(struct sim *m, int instance, int64_t for_ms)
{
    int first = instance < 0 ? 0 : instance;
    int last = instance < 0 ? m->instances - 1 : instance;

    for (int i = first; i <= last; i++) {
        if (m->unread_ms[i] > m->now_ms)
            return false;
    }
    for (int i = first; i <= last; i++)
        m->unread_ms[i] = m->now_ms + for_ms;
    return true;
}

void sim_stall(struct sim *m, int64_t for_ms)
{
    int64_t now_ns = m->origin_ns + m->now_ms * NS_PER_MS;

    if (!sim_pause_reader(m, -1, for_ms))
        return;
    m->stall = (struct stall){now_ns, now_ns + for_ms * NS_PER_MS};
    m->stalls = (struct stalls){.count = 1,
        .longest_ns = for_ms * NS_PER_MS,
        .total_ns = for_ms * NS_PER_MS,
        .kept = &m->stall,
        .kept_count = 1};
    m->h.input.reader_stalls = &m->stalls;
}

int64_t sim_read_ms(const struct sim *m, const struct sim_instance *k)
{
    int64_t unread_ms = m->unread_ms[m->h.processes[k->process].instance];

    return unread_ms > m->now_ms ? unread_ms : m->now_ms;
}

// A line that would have been read later is read now.
void sim_read_the_rest(struct sim *m, const struct sim_instance *k)
{
    int64_t now_ns = m->origin_ns + m->now_ms * NS_PER_MS;

    for (size_t i = 0; i < m->h.log.line_count; i++) {
        struct line_record *line = &m->h.lines[i];
        if (line->process == k->process)
            line->read_ns = clock_min(line->read_ns, now_ns);
    }
}

// Puts the deliveries into the order of their lines, and numbers both anew.
static void sort_deliveries(struct sim *m)
{
    struct delivery sorted[SIM_HISTORY_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < m->h.log.line_count; i++) {
        struct line_record *line = &m->h.lines[i];
        memcpy(
            &sorted[count], &m->h.deliveries[line->first_delivery], line->tokens * sizeof *sorted);
        line->first_delivery = count;
        for (uint32_t k = 0; k < line->tokens; k++)
            sorted[count++].line = i;
    }
    memcpy(m->h.deliveries, sorted, count * sizeof *sorted);
}

void sim_sort_lines(struct sim *m)
{
    struct line_record *lines = m->h.lines;

    // Lines of the same moment keep their order.
    for (size_t i = 1; i < m->h.log.line_count; i++) {
        const struct line_record line = lines[i];
        size_t at = i;
        for (; at > 0 && lines[at - 1].read_ns > line.read_ns; at--)
            lines[at] = lines[at - 1];
        lines[at] = line;
    }
    sort_deliveries(m);
}
