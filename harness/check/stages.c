#include "check/stages.h"

#include "check/lookup.h"

// How much earlier than the timeout the collector's timer may fire by our clock.
static const int64_t tolerance_ns = 2 * NS_PER_MS;

bool stages_measurable(const struct ledger *l, uint32_t token)
{
    return l->tokens[token].deliveries > 0 && ledger_txn(l, token)->sent_ns != 0 &&
           !ledger_is_closed_loop(l, token) && !ledger_is_backlog(l, token);
}

void stages_record_latencies(const struct ledger *l, uint32_t token,
    struct histogram *from_intended, struct histogram *from_commit)
{
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);

    if (stages_measurable(l, token))
        histogram_record(from_intended, read_ns - ledger_intended_ns(l, token));
    // A line may be read before the acknowledgement arrives. The latency is then negative, and the
    // histogram counts it as 0.
    if (txn->outcome == TXN_COMMITTED && read_ns != CLOCK_NEVER && !ledger_is_backlog(l, token))
        histogram_record(from_commit, read_ns - txn->ended_ns);
}

int64_t stages_fire_ns(const struct ledger *l, const struct line_record *line, enum fired_by *why)
{
    int64_t first_ns = CLOCK_NEVER, last_ns = 0;
    int64_t timeout_ns = l->scenario->collector.batch_timeout_ns;
    bool full = line->tokens >= (uint32_t)l->scenario->collector.batch_limit;

    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        if (!check_delivers(l, d))
            continue;
        int64_t ack_ns = ledger_txn(l, d->token)->ended_ns;
        first_ns = clock_min(first_ns, ack_ns);
        last_ns = clock_max(last_ns, ack_ns);
    }
    *why = FIRED_OTHERWISE;
    if (first_ns == CLOCK_NEVER)
        return CLOCK_NEVER;
    int64_t timeout_at_ns = first_ns + timeout_ns;
    if (full)
        *why = FIRED_BY_LIMIT;
    else if (line->read_ns >= timeout_at_ns - tolerance_ns)
        *why = FIRED_BY_TIMEOUT;
    // A full line fires with its last token, unless the timeout came before that.
    return full ? clock_min(last_ns, timeout_at_ns) : timeout_at_ns;
}

const char *fired_name(enum fired_by why)
{
    static const char *const names[FIRED_KINDS] = {
        "full", "timeout", "at a start", "after a fault", "at the end", "otherwise"};

    return names[why];
}

// What a process has written so far: last_ns is when its last line was read, and settled_ns when
// its last short line was read, after which no tokens waited. 0: it has written no such line.
struct catching_up {
    int64_t last_ns, settled_ns;
};

// True when a short line that looks early may hold the rest of what waited at a fault's end
// (ended_ns), after the full lines. Either it is the process's first line since that end; or its
// first token, acknowledged at first_ns, waited already when the process's last line was read.
static bool is_backlog_rest(const struct catching_up *c, int64_t ended_ns, int64_t first_ns)
{
    return c->last_ns < ended_ns || first_ns <= c->last_ns;
}

// True when a fault held up the line: the line's first token, acknowledged at first_ns, was there
// before the fault's end, or the line looks early (`early`) and may hold the rest of what waited at
// that end. The fault no longer counts once the process has written a short line after it.
static bool waited_for_fault(const struct ledger *l, const struct line_record *line,
    const struct catching_up *c, int64_t first_ns, bool early)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns == 0 || f->began_ns > line->read_ns || f->ended_ns <= c->settled_ns)
            continue;
        if (first_ns < f->ended_ns || (early && is_backlog_rest(c, f->ended_ns, first_ns)))
            return true;
    }
    return false;
}

// Returns why the collector sent this line, as far as the run shows it. `c` is what the line's
// process had written before.
static enum fired_by stage_reason(
    const struct ledger *l, const struct line_record *line, const struct catching_up *c)
{
    enum fired_by why;
    int64_t fire_ns = stages_fire_ns(l, line, &why);
    int64_t started_ns = l->log->processes[line->process].started_ns;
    bool early = why == FIRED_OTHERWISE;

    if (why == FIRED_BY_LIMIT || fire_ns == CLOCK_NEVER)
        return why;
    // When the first token of the line was acknowledged, and so began to wait.
    int64_t first_ns = fire_ns - l->scenario->collector.batch_timeout_ns;
    // Until its first short line, a process may still send what waited when it started. It sends
    // these tokens at once, and does not let them wait for the timeout again.
    bool starting = c->settled_ns == 0;
    if (starting && (first_ns < started_ns || (early && c->last_ns == 0)))
        return FIRED_AT_START;
    if (waited_for_fault(l, line, c, first_ns, early))
        return FIRED_AFTER_FAULT;
    // The rest of what waited at the start: the line's first token waited already when the
    // process's last line was read.
    if (starting && early && first_ns <= c->last_ns)
        return FIRED_AT_START;
    return early && line->read_ns >= l->drain_end_ns ? FIRED_AT_END : why;
}

unsigned char *stages_reasons(const struct ledger *l)
{
    const struct subject_log *log = l->log;
    unsigned char *whys = memory_zeroed(log->line_count, sizeof *whys);
    struct catching_up *processes FREED_BY(memory_free) =
        memory_zeroed(log->process_count, sizeof *processes);

    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        struct catching_up *c = &processes[line->process];
        if (line->state != LINE_WHOLE)
            continue;
        whys[i] = (unsigned char)stage_reason(l, line, c);
        c->last_ns = line->read_ns;
        // After a full line more tokens may wait, so only a short line shows that nothing is left
        // of what a fault held up.
        if (whys[i] != FIRED_BY_LIMIT)
            c->settled_ns = line->read_ns;
    }
    return whys;
}

struct stage_times stages_of(const struct ledger *l, uint32_t token, int64_t fire_ns)
{
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);
    int64_t acked_ns = clock_min(clock_max(txn->sent_ns, txn->ended_ns), read_ns);
    int64_t fired_ns = clock_min(clock_max(acked_ns, fire_ns), read_ns);

    return (struct stage_times){
        .lag_ns = txn->sent_ns - ledger_intended_ns(l, token),
        .insert_ns = acked_ns - txn->sent_ns,
        .wait_ns = fired_ns - acked_ns,
        .dequeue_ns = read_ns - fired_ns,
    };
}

// Records how long each stage of a token took. fire_ns: when the batch of its line fired.
static void record_stage(struct stages *s, const struct ledger *l, uint32_t token, int64_t fire_ns)
{
    const struct txn_record *txn = ledger_txn(l, token);
    struct stage_times t = stages_of(l, token, fire_ns);

    histogram_record(&s->lag, t.lag_ns);
    histogram_record(&s->insert, t.insert_ns);
    histogram_record(&s->wait, t.wait_ns);
    histogram_record(&s->dequeue, t.dequeue_ns);
    s->before_ack += txn->outcome == TXN_COMMITTED && ledger_read_ns(l, token) < txn->ended_ns;
}

// Records the size of a whole line, and the stages of each token that came with it for the first
// time.
static void add_stage_line(struct stages *s, const struct ledger *l, const struct line_record *line)
{
    enum fired_by why;
    int64_t fire_ns = stages_fire_ns(l, line, &why);

    histogram_record(&s->sizes, line->tokens);
    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        if (check_delivers_first(l, d) && stages_measurable(l, d->token))
            record_stage(s, l, d->token, fire_ns);
    }
}

void stages_make(struct stages *s, const struct ledger *l)
{
    const int64_t highest_ns = 60 * NS_PER_S; // a longer time makes the histogram grow

    *s = (struct stages){0};
    histogram_init(&s->lag, highest_ns);
    histogram_init(&s->insert, highest_ns);
    histogram_init(&s->wait, highest_ns);
    histogram_init(&s->dequeue, highest_ns);
    histogram_init(&s->sizes, 1000);
    unsigned char *whys FREED_BY(memory_free) = stages_reasons(l);
    for (size_t i = 0; i < l->log->line_count; i++) {
        // A line that is not whole does not show why it was sent.
        if (l->log->lines[i].state != LINE_WHOLE)
            continue;
        s->fired[whys[i]]++;
        add_stage_line(s, l, &l->log->lines[i]);
    }
}

void stages_fini(struct stages *s)
{
    histogram_fini(&s->lag);
    histogram_fini(&s->insert);
    histogram_fini(&s->wait);
    histogram_fini(&s->dequeue);
    histogram_fini(&s->sizes);
    *s = (struct stages){0};
}
