#include "check/intervals.h"

#include "check/lookup.h"

static const int64_t highest_ns = 60 * NS_PER_S; // a longer latency makes the histogram grow

struct counts {
    uint64_t intended, committed;
    int64_t backlog_change; // tokens that must be delivered: committed in the step, less those that
                            // were delivered in it
};

struct steps {
    int64_t step_ns;
    struct counts *counts; // owned; one for each step
    size_t count;
};

// An upsert that finds its account commits and makes no token.
static bool is_acknowledged(const struct ledger *l, uint32_t token)
{
    return ledger_txn(l, token)->outcome == TXN_COMMITTED &&
           l->plan->kinds[token] != TOKEN_CONFLICT;
}

// Returns the index of the step in which a time lies. An earlier time belongs to the first step and
// a later one to the last.
static size_t step_of(const struct steps *s, const struct ledger *l, int64_t ns)
{
    int64_t step = (ns - l->start_ns) / s->step_ns;

    return step < 0 ? 0 : (size_t)step >= s->count ? s->count - 1 : (size_t)step;
}

// Counts the tokens of each step: planned, committed, and the change of the backlog. A closed loop
// plans no times, so its tokens count when they are sent.
static void count_tokens(struct steps *s, const struct ledger *l)
{
    for (uint32_t t = 0; t < l->plan->token_count; t++) {
        const struct txn_record *txn = ledger_txn(l, t);
        if (txn->outcome == TXN_NOT_NEEDED)
            continue;
        s->counts[step_of(s, l, ledger_begin_ns(l, t))].intended++;
        if (is_acknowledged(l, t))
            s->counts[step_of(s, l, txn->ended_ns)].committed++;
        int64_t read_ns = ledger_read_ns(l, t);
        // A token that was read before its acknowledgement never waited after it.
        if (ledger_must_come(l, t) && read_ns > txn->ended_ns) {
            s->counts[step_of(s, l, txn->ended_ns)].backlog_change++;
            if (read_ns != CLOCK_NEVER)
                s->counts[step_of(s, l, read_ns)].backlog_change--;
        }
    }
}

// Adds the stages of a token to the sums, if they can be measured.
static void add_stages(
    struct stage_times *sums, const struct ledger *l, uint32_t token, int64_t fire_ns)
{
    if (!stages_measurable(l, token))
        return;
    struct stage_times t = stages_of(l, token, fire_ns);
    sums->lag_ns += t.lag_ns;
    sums->insert_ns += t.insert_ns;
    sums->wait_ns += t.wait_ns;
    sums->dequeue_ns += t.dequeue_ns;
}

// Counts a line in its step, if it is whole, with the tokens that it delivers for the first time.
static void add_interval_line(
    struct interval *i, const struct ledger *l, const struct line_record *line)
{
    enum fired_by ignored;
    int64_t fire_ns = stages_fire_ns(l, line, &ignored);

    if (line->state != LINE_WHOLE)
        return;
    i->lines++;
    for (uint32_t d = 0; d < line->tokens; d++) {
        const struct delivery *delivery = &l->log->deliveries[line->first_delivery + d];
        if (!check_delivers_first(l, delivery))
            continue;
        i->delivered++;
        stages_record_latencies(l, delivery->token, i->from_intended, i->from_commit);
        add_stages(&i->stages, l, delivery->token, fire_ns);
    }
}

// Sets the interval to the next step. Only the backlog is carried over from the step before.
static void begin_step(struct interval *i, const struct steps *s, size_t step)
{
    i->from_ns = (int64_t)step * s->step_ns;
    i->length_ns = s->step_ns;
    i->intended = s->counts[step].intended;
    i->committed = s->counts[step].committed;
    i->backlog += s->counts[step].backlog_change;
    i->delivered = i->lines = 0;
    i->stages = (struct stage_times){0};
    histogram_clear(i->from_intended);
    histogram_clear(i->from_commit);
}

void intervals_each_step(const struct ledger *l, int64_t step_ns, intervals_use *use, void *arg)
{
    struct histogram from_intended FREED_BY(histogram_fini) = {0};
    struct histogram from_commit FREED_BY(histogram_fini) = {0};
    struct interval i = {.from_intended = &from_intended, .from_commit = &from_commit};
    int64_t whole_ns = l->drain_end_ns - l->start_ns;
    struct steps s = {
        .step_ns = step_ns, .count = whole_ns > 0 ? (size_t)((whole_ns - 1) / step_ns) + 1 : 1};
    size_t line = 0;

    s.counts = memory_zeroed(s.count, sizeof *s.counts);
    histogram_init(&from_intended, highest_ns);
    histogram_init(&from_commit, highest_ns);
    count_tokens(&s, l);
    for (size_t step = 0; step < s.count; step++) {
        begin_step(&i, &s, step);
        // Lines are in the order in which they were read.
        for (; line < l->log->line_count && step_of(&s, l, l->log->lines[line].read_ns) == step;
             line++)
            add_interval_line(&i, l, &l->log->lines[line]);
        use(arg, &i);
    }
    free(s.counts);
}

// Adds the tokens of a phase, from *token on, and moves *token past them. The plan's transactions,
// and so its tokens, are in the order of the phases.
static void add_interval_phase(
    struct interval *i, const struct ledger *l, size_t phase, uint32_t *token)
{
    for (; *token < l->plan->token_count && l->plan->txns[l->txn_of[*token]].phase == phase;
         ++*token) {
        const struct txn_record *txn = ledger_txn(l, *token);
        i->intended += txn->outcome != TXN_NOT_NEEDED;
        i->committed += is_acknowledged(l, *token);
        if (l->tokens[*token].deliveries == 0)
            continue;
        i->delivered++;
        stages_record_latencies(l, *token, i->from_intended, i->from_commit);
    }
}

void intervals_each_phase(const struct ledger *l, intervals_use *use, void *arg)
{
    struct histogram from_intended FREED_BY(histogram_fini) = {0};
    struct histogram from_commit FREED_BY(histogram_fini) = {0};
    int64_t from_ns = 0;
    uint32_t token = 0;

    histogram_init(&from_intended, highest_ns);
    histogram_init(&from_commit, highest_ns);
    for (size_t phase = 0; phase < l->scenario->load_count; phase++) {
        struct interval i = {.from_ns = from_ns,
            .length_ns = l->scenario->load[phase].for_ns,
            .phase = l->scenario->load[phase].name,
            .from_intended = &from_intended,
            .from_commit = &from_commit};
        histogram_clear(&from_intended);
        histogram_clear(&from_commit);
        add_interval_phase(&i, l, phase, &token);
        from_ns += i.length_ns;
        use(arg, &i);
    }
}
