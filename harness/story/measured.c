// What was measured beside the tokens: sessions, samples, probes, stalls.
#include <stdlib.h>

#include "story/build.h"
#include "story/write.h"

// --- reading ------------------------------------------------------------------------------

bool build_session(struct build *b, const struct event *event, struct err *e)
{
    struct history *h = &b->t->history;
    int64_t *at_ns = build_append(&h->sessions, &h->ledger.session_count, sizeof *at_ns, e);

    if (at_ns)
        *at_ns = at(event, SLOT_AT);
    return at_ns;
}

bool build_sample(struct build *b, const struct event *told, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct process_sample before = {0};
    struct event event = *told;

    event_complete(&event, b->run_ns, NULL);
    size_t process = (size_t)event.value[SLOT_BY];
    if (process >= log->process_count)
        return origin_err(&told->origin, e, "there is no process %zu; the story has %zu", process,
            log->process_count);
    if (b->last_sample[process] > 0)
        before = log->samples[b->last_sample[process] - 1];
    struct process_sample *s = build_append(&log->samples, &log->sample_count, sizeof *s, e);
    if (!s)
        return false;
    b->last_sample[process] = (uint32_t)log->sample_count;
    *s = (struct process_sample){.at_ns = at(&event, SLOT_AT),
        .process = (uint32_t)process,
        .rss_kb = (uint32_t)event.value[SLOT_RSS],
        .cpu_ms = before.cpu_ms + (uint64_t)(event.value[SLOT_CPU] / NS_PER_MS),
        .wakeups = before.wakeups + (uint64_t)event.value[SLOT_WAKEUPS],
        .starved_us = before.starved_us + (uint64_t)(event.value[SLOT_STARVED] / NS_PER_US),
        .fds = (uint32_t)event.value[SLOT_NUMBER],
        .processes = (uint32_t)event.value[SLOT_FAILED]};
    return true;
}

bool build_look(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct event event = *told;
    struct starved_sample before = {.at_ns = at(told, SLOT_AT)};
    size_t *count = &h->ledger.starved_count;

    if (*count > 0)
        before = h->starved[*count - 1];
    struct starved_sample *s = build_append(&h->starved, count, sizeof *s, e);
    if (!s)
        return false;
    if (!event_has(told, SLOT_BUSY)) // both of the machine's processors are busy
        event_set(&event, SLOT_BUSY, 2 * (at(told, SLOT_AT) - before.at_ns));
    event_complete(&event, b->run_ns, NULL);
    const int64_t *v = event.value;
    *s = (struct starved_sample){.at_ns = at(&event, SLOT_AT),
        .collector_us = before.collector_us + (uint64_t)(v[SLOT_WAITED] / NS_PER_US),
        .own_us = before.own_us + (uint64_t)(v[SLOT_OWN] / NS_PER_US),
        .busy_us = before.busy_us + (uint64_t)(v[SLOT_BUSY] / NS_PER_US),
        .load_us = before.load_us + (uint64_t)(v[SLOT_LOAD] / NS_PER_US),
        .load_ran_us = before.load_ran_us + (uint64_t)(v[SLOT_RAN] / NS_PER_US)};
    return true;
}

bool build_probe(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    bool flush = told->kind == EVENT_FLUSH;
    struct event event = *told;

    if (!event_has(told, SLOT_AT))
        return origin_err(&told->origin, e, "say when it was due: 'probe at 200 took 1'");
    struct probe_sample *s = build_append(flush ? &h->flushes : &h->probes,
        flush ? &h->ledger.flush_count : &h->ledger.probe_count, sizeof *s, e);

    event_complete(&event, b->run_ns, NULL);
    if (s)
        record_fill(RECORD_PROBE, s, &event);
    return s;
}

bool build_stall(struct build *b, const struct event *event, struct err *e)
{
    (void)e;
    stalls_note(&b->t->history.notes.reader_stalls, at(event, SLOT_FROM), at(event, SLOT_UNTIL));
    return true;
}

// Looks at the sessions give their CPU time since the look before.
bool build_presence(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    size_t *count = &h->ledger.look_count;
    uint64_t before_ms = *count > 0 ? h->looks[*count - 1].cpu_ms : 0;
    struct presence_look *look = build_append(&h->looks, count, sizeof *look, e);

    if (look)
        *look = (struct presence_look){.at_ns = at(told, SLOT_AT),
            .sessions = event_has(told, SLOT_NUMBER) ? (uint32_t)told->value[SLOT_NUMBER] : 1,
            .cpu_ms = before_ms + (uint64_t)(told->value[SLOT_CPU] / NS_PER_MS)};
    return look;
}

bool build_hold(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct presence_hold *hold = build_append(&h->holds, &h->ledger.hold_count, sizeof *hold, e);

    if (hold)
        *hold = (struct presence_hold){.from_ns = at(told, SLOT_FROM),
            .until_ns = at(told, SLOT_UNTIL),
            .pid = told->value[SLOT_KIND] ? 0 : 7};
    return hold;
}

// --- writing ------------------------------------------------------------------------------

void write_probes(
    struct writer *w, enum event_kind kind, const struct probe_sample *probes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct probe_sample *p = &probes[i];
        struct event event = {.kind = kind};
        int64_t took_ns = p->took_ns == CLOCK_NEVER ? 0 : p->took_ns;
        int64_t until_ns = p->due_ns + p->stall_ns + took_ns;
        // In a part, where the slack is set, only what may be a stall matters.
        if (w->part &&
            (!is_inside(w, p->due_ns, until_ns) ||
                (p->took_ns != CLOCK_NEVER && until_ns - p->due_ns <= w->part->slack_ns / 2)))
            continue;
        record_tell(RECORD_PROBE, p, &event, w->l->start_ns);
        write_event(w, &event);
    }
}

void write_samples(struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    struct process_sample *last = calloc(log->process_count + 1, sizeof *last);

    for (size_t i = 0; last && i < log->sample_count; i++) {
        const struct process_sample *s = &log->samples[i], *before = &last[s->process];
        struct event event = {.kind = EVENT_SAMPLE};
        if (w->process_no[s->process] == DROPPED ||
            !is_inside(w, s->at_ns - NS_PER_S, s->at_ns + NS_PER_S))
            continue;
        set_time(w, &event, SLOT_AT, s->at_ns);
        event_set(&event, SLOT_BY, w->process_no[s->process]);
        event_set(&event, SLOT_RSS, s->rss_kb);
        event_set(&event, SLOT_CPU, (int64_t)(s->cpu_ms - before->cpu_ms) * NS_PER_MS);
        event_set(&event, SLOT_WAKEUPS, (int64_t)(s->wakeups - before->wakeups));
        event_set(&event, SLOT_STARVED, (int64_t)(s->starved_us - before->starved_us) * NS_PER_US);
        if (s->processes > 0) {
            event_set(&event, SLOT_NUMBER, s->fds);
            event_set(&event, SLOT_FAILED, s->processes);
        }
        last[s->process] = *s;
        write_event(w, &event);
    }
    free(last);
}

void write_looks(struct writer *w)
{
    struct starved_sample before = {0};

    for (size_t i = 0; i < w->l->starved_count; i++) {
        const struct starved_sample *s = &w->l->starved[i];
        struct event event = {.kind = EVENT_LOOK};
        int64_t busy_ns = (int64_t)(s->busy_us - before.busy_us) * NS_PER_US;
        if (!is_inside(w, s->at_ns - NS_PER_S, s->at_ns + NS_PER_S))
            continue;
        set_time(w, &event, SLOT_AT, s->at_ns);
        event_set(
            &event, SLOT_WAITED, (int64_t)(s->collector_us - before.collector_us) * NS_PER_US);
        event_set(&event, SLOT_OWN, (int64_t)(s->own_us - before.own_us) * NS_PER_US);
        event_set(&event, SLOT_LOAD, (int64_t)(s->load_us - before.load_us) * NS_PER_US);
        event_set(&event, SLOT_RAN, (int64_t)(s->load_ran_us - before.load_ran_us) * NS_PER_US);
        if (w->explain || busy_ns != (before.at_ns ? 2 * (s->at_ns - before.at_ns) : 0))
            event_set(&event, SLOT_BUSY, busy_ns);
        before = *s;
        write_event(w, &event);
    }
}

void write_sessions(struct writer *w)
{
    for (size_t i = 0; i < w->l->session_count; i++) {
        struct event event = {.kind = EVENT_SESSION};
        // The last one before the part is the session that was open.
        int64_t next_ns = i + 1 < w->l->session_count ? w->l->sessions[i + 1] : CLOCK_NEVER;
        if (!is_inside(w, w->l->sessions[i], next_ns))
            continue;
        set_time(w, &event, SLOT_AT, w->l->sessions[i]);
        write_event(w, &event);
    }
}

void write_stalls(struct writer *w)
{
    const struct stalls *stalls = &w->h->notes.reader_stalls;

    for (size_t i = 0; i < stalls->kept_count; i++) {
        const struct stall *s = &stalls->kept[i];
        struct event event = {.kind = EVENT_STALL};
        if (w->part && (!is_inside(w, s->from_ns, s->until_ns) ||
                           s->until_ns - s->from_ns <= w->part->slack_ns / 2))
            continue;
        record_tell(RECORD_STALL, s, &event, w->l->start_ns);
        write_event(w, &event);
    }
}

void write_presence(struct writer *w)
{
    uint64_t before_ms = 0;

    for (size_t i = 0; i < w->l->look_count; i++) {
        const struct presence_look *look = &w->l->looks[i];
        struct event event = {.kind = EVENT_PRESENCE};
        if (!is_inside(w, look->at_ns - NS_PER_S, look->at_ns + NS_PER_S))
            continue;
        set_time(w, &event, SLOT_AT, look->at_ns);
        event_set(&event, SLOT_NUMBER, look->sessions);
        event_set(&event, SLOT_CPU, (int64_t)(look->cpu_ms - before_ms) * NS_PER_MS);
        before_ms = look->cpu_ms;
        write_event(w, &event);
    }
    for (size_t i = 0; i < w->l->hold_count; i++) {
        const struct presence_hold *hold = &w->l->holds[i];
        struct event event = {.kind = EVENT_HOLD};
        if (!is_inside(w, hold->from_ns, hold->until_ns))
            continue;
        set_time(w, &event, SLOT_FROM, hold->from_ns);
        set_time(w, &event, SLOT_UNTIL, hold->until_ns);
        if (hold->pid == 0)
            event_set(&event, SLOT_KIND, 1);
        write_event(w, &event);
    }
}
