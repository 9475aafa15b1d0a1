#include "ledger/pack.h"

#include <math.h>

static const uint64_t no_limit = UINT64_MAX; // for numbers that need no limit
static const uint64_t processes_max = 1000000;

#define WAITS_MAX_US (UINT64_C(1) << 50) // limit for sums of waits: no run lasts so long

// Packs a process of the collector. The format has no fractions, so cpu_s is turned into whole µs
// and back.
static void pack_process(struct pack *p, struct process_record *r)
{
    uint64_t cpu_us = (uint64_t)llround(r->cpu_s * 1e6);

    PACK_LIMITED(p, r->instance, INT32_MAX);
    PACK_LIMITED(p, r->pid, INT32_MAX);
    pack_moment(p, &r->started_ns);
    pack_time(p, &r->ended_ns);
    PACK_LIMITED(p, r->status, INT32_MAX);
    PACK_LIMITED(p, r->asked, 1);
    PACK_LIMITED(p, r->lines, UINT32_MAX);
    PACK_LIMITED(p, r->rss_max_kb, INT64_MAX);
    pack_number(p, &cpu_us, no_limit);
    r->cpu_s = (double)cpu_us / 1e6;
}

void pack_lines(struct pack *p, struct subject_log *log)
{
    uint64_t deliveries = 0; // number of those that belong to the lines before

    log->processes =
        pack_array(p, &log->process_count, processes_max, log->processes, sizeof *log->processes);
    for (size_t i = 0; pack_ok(p) && i < log->process_count; i++)
        pack_process(p, &log->processes[i]);
    log->lines = pack_array(p, &log->line_count, PACK_LINES_MAX, log->lines, sizeof *log->lines);
    if (log->process_count == 0 && log->line_count > 0)
        pack_fail(p, "has lines that nobody wrote");
    for (size_t i = 0; pack_ok(p) && i < log->line_count; i++) {
        struct line_record *line = &log->lines[i];
        uint64_t skipped = line->first_delivery - deliveries; // number of tokens that torn lines
                                                              // before this line named
        pack_moment(p, &line->read_ns);
        PACK_LIMITED(p, line->process, log->process_count - 1);
        pack_number(p, &skipped, UINT32_MAX);
        PACK_LIMITED(p, line->tokens, UINT32_MAX);
        PACK_LIMITED(p, line->state, LINE_TAIL);
        line->first_delivery = (uint32_t)(deliveries + skipped);
        deliveries = line->first_delivery + (uint64_t)line->tokens;
        if (deliveries > UINT32_MAX)
            pack_fail(p, "has more deliveries than there can be");
    }
    PACK_LIMITED(p, log->delivery_count, UINT32_MAX);
    if (pack_ok(p) && deliveries > log->delivery_count)
        pack_fail(p, "has lines without their deliveries");
}

void pack_deliveries(struct pack *p, struct history *h)
{
    struct subject_log *log = &h->log;
    int64_t token = 0;
    uint32_t line = 0;

    log->deliveries = pack_room(p, log->deliveries, log->delivery_count, sizeof *log->deliveries);
    for (size_t i = 0; pack_ok(p) && i < log->delivery_count; i++) {
        struct delivery *d = &log->deliveries[i];
        int64_t step = (int64_t)d->token - token;
        uint64_t lines = d->line - line;
        pack_signed(p, &step);
        pack_number(p, &lines, UINT32_MAX);
        PACK_LIMITED(p, d->flags, UINT8_MAX);
        // Token and line are stored as steps from the delivery before. Tokens come nearly in their
        // order, so most steps fit into a byte.
        token += step;
        line += (uint32_t)lines;
        if (line >= log->line_count || token < 0 || token > (int64_t)TOKEN_UNKNOWN)
            pack_fail(p, "has deliveries without a line");
        d->token = (uint32_t)token;
        d->line = line;
    }
}

struct probe_sample *pack_probes(struct pack *p, struct probe_sample *probes, size_t *count)
{
    probes = pack_array(p, count, PACK_LINES_MAX, probes, sizeof *probes);
    for (size_t i = 0; pack_ok(p) && i < *count; i++) {
        struct probe_sample *s = &probes[i];
        bool answered = s->took_ns != CLOCK_NEVER;
        pack_moment(p, &s->due_ns);
        pack_signed(p, &s->stall_ns);
        PACK_LIMITED(p, answered, 1);
        if (answered)
            pack_signed(p, &s->took_ns);
        else
            s->took_ns = CLOCK_NEVER;
    }
    return probes;
}

// Packs a figure that only grows, as its growth since the sample before. `before` is its value in
// that sample. The figure itself may reach WAITS_MAX_US at most.
static void pack_growth(struct pack *p, uint64_t *value, uint64_t before)
{
    uint64_t step = *value - before;

    pack_number(p, &step, WAITS_MAX_US - before);
    *value = before + step;
}

void pack_starved(struct pack *p, struct history *h)
{
    struct starved_sample last = {0};
    size_t *count = &h->ledger.starved_count;

    h->starved = pack_array(p, count, PACK_LINES_MAX, h->starved, sizeof *h->starved);
    for (size_t i = 0; pack_ok(p) && i < *count; i++) {
        struct starved_sample *s = &h->starved[i];
        pack_moment(p, &s->at_ns);
        pack_growth(p, &s->collector_us, last.collector_us);
        pack_growth(p, &s->own_us, last.own_us);
        pack_growth(p, &s->busy_us, last.busy_us);
        pack_growth(p, &s->load_us, last.load_us);
        pack_growth(p, &s->load_ran_us, last.load_ran_us);
        // Times are searched by halving, which needs samples in the order of time.
        if (s->at_ns < last.at_ns)
            pack_fail(p, "has samples that are not in the order of time");
        last = *s;
    }
}

void pack_samples(struct pack *p, struct history *h)
{
    struct subject_log *log = &h->log;
    struct ledger *l = &h->ledger;

    log->samples =
        pack_array(p, &log->sample_count, PACK_LINES_MAX, log->samples, sizeof *log->samples);
    for (size_t i = 0; pack_ok(p) && i < log->sample_count; i++) {
        struct process_sample *s = &log->samples[i];
        pack_moment(p, &s->at_ns);
        PACK_LIMITED(p, s->process, log->process_count ? log->process_count - 1 : 0);
        PACK_LIMITED(p, s->rss_kb, UINT32_MAX);
        pack_number(p, &s->cpu_ms, no_limit);
        pack_number(p, &s->wakeups, no_limit);
        // Histories of version 2 do not have this figure.
        if (h->version > 2)
            pack_number(p, &s->starved_us, no_limit);
    }
    h->probes = pack_probes(p, h->probes, &l->probe_count);
}

void pack_note(struct pack *p, struct subject_log *log, struct line_note *note)
{
    PACK_LIMITED(p, note->line, log->line_count ? log->line_count - 1 : 0);
    PACK_LIMITED(p, note->token, UINT32_MAX);
    pack_text(p, note->text, sizeof note->text);
}
