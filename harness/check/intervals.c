#include "check/intervals.h"

#include "check/stages.h"

static const int64_t highest_ns = 60 * NS_PER_S;

struct counts {
    uint64_t intended, committed;
    int64_t backlog_change; // of the committed tokens that must be delivered and were not yet
};

// A token that changed while it waited may rightly be passed over.
static bool must_be_delivered(const struct ledger *l, uint32_t token)
{
    enum token_kind kind = l->plan->kinds[token];

    return ledger_committed(l, token) && token_kind_deliverable(kind) &&
           ledger_changed_ns(l, token) == CLOCK_NEVER;
}

// Returns the index of the second in which a time lies. An earlier time belongs to the first second
// and a later one to the last.
static size_t second_of(const struct ledger *l, int64_t ns, size_t count)
{
    int64_t second = (ns - l->start_ns) / NS_PER_S;

    return second < 0 ? 0 : (size_t)second >= count ? count - 1 : (size_t)second;
}

// Counts the tokens of each second.
static void count_tokens(const struct ledger *l, struct counts *counts, size_t count)
{
    for (uint32_t t = 0; t < l->plan->token_count; t++) {
        const struct txn_record *txn = ledger_txn(l, t);
        if (txn->outcome == TXN_NOT_NEEDED)
            continue;
        counts[second_of(l, ledger_intended_ns(l, t), count)].intended++;
        if (txn->outcome == TXN_COMMITTED)
            counts[second_of(l, txn->ended_ns, count)].committed++;
        if (must_be_delivered(l, t)) {
            counts[second_of(l, txn->ended_ns, count)].backlog_change++;
            if (l->tokens[t].deliveries > 0)
                counts[second_of(l, ledger_read_ns(l, t), count)].backlog_change--;
        }
    }
}

static void record_interval(const struct interval *i, const struct ledger *l, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);

    if (stages_measurable(l, token))
        histogram_record(i->from_intended, read_ns - ledger_intended_ns(l, token));
    if (txn->outcome == TXN_COMMITTED && !ledger_is_backlog(l, token))
        histogram_record(i->from_commit, read_ns > txn->ended_ns ? read_ns - txn->ended_ns : 0);
}

static void add_interval_line(struct interval *i, const struct ledger *l, uint32_t index)
{
    const struct line_record *line = &l->log->lines[index];

    i->lines += line->state == LINE_WHOLE;
    for (uint32_t d = 0; line->state == LINE_WHOLE && d < line->tokens; d++) {
        const struct delivery *delivery = &l->log->deliveries[line->first_delivery + d];
        uint32_t token = delivery->token;
        if (delivery->flags || token >= l->plan->token_count || l->tokens[token].deliveries == 0 ||
            l->tokens[token].first_line != index)
            continue;
        i->delivered++;
        record_interval(i, l, token);
    }
}

static void begin_second(struct interval *i, size_t second, const struct counts *counts)
{
    i->from_ns = (int64_t)second * NS_PER_S;
    i->length_ns = NS_PER_S;
    i->intended = counts->intended;
    i->committed = counts->committed;
    i->backlog += counts->backlog_change;
    i->delivered = i->lines = 0;
    histogram_clear(i->from_intended);
    histogram_clear(i->from_commit);
}

bool intervals_each_second(const struct ledger *l, intervals_use *use, void *arg, struct err *e)
{
    struct histogram from_intended = {0}, from_commit = {0};
    struct interval i = {.from_intended = &from_intended, .from_commit = &from_commit};
    int64_t whole_ns = l->drain_end_ns - l->start_ns;
    size_t count = whole_ns > 0 ? (size_t)((whole_ns - 1) / NS_PER_S) + 1 : 1;
    struct counts *counts = calloc(count, sizeof *counts);
    size_t line = 0;

    bool ok = (counts || err_memory(e)) && histogram_init(&from_intended, highest_ns, e) &&
              histogram_init(&from_commit, highest_ns, e);
    if (ok)
        count_tokens(l, counts, count);
    for (size_t second = 0; ok && second < count; second++) {
        begin_second(&i, second, &counts[second]);
        // Lines are in the order in which they were read.
        for (; line < l->log->line_count &&
               second_of(l, l->log->lines[line].read_ns, count) == second;
             line++)
            add_interval_line(&i, l, (uint32_t)line);
        ok = use(arg, &i, e);
    }
    free(counts);
    histogram_fini(&from_intended);
    histogram_fini(&from_commit);
    return ok;
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
        i->committed += txn->outcome == TXN_COMMITTED;
        if (l->tokens[*token].deliveries == 0)
            continue;
        i->delivered++;
        record_interval(i, l, *token);
    }
}

bool intervals_each_phase(const struct ledger *l, intervals_use *use, void *arg, struct err *e)
{
    struct histogram from_intended = {0}, from_commit = {0};
    bool ok = histogram_init(&from_intended, highest_ns, e) &&
              histogram_init(&from_commit, highest_ns, e);
    int64_t from_ns = 0;
    uint32_t token = 0;

    for (size_t phase = 0; ok && phase < l->scenario->load_count; phase++) {
        struct interval i = {.from_ns = from_ns,
            .length_ns = l->scenario->load[phase].for_ns,
            .phase = l->scenario->load[phase].name,
            .from_intended = &from_intended,
            .from_commit = &from_commit};
        histogram_clear(&from_intended);
        histogram_clear(&from_commit);
        // Tokens lie in the order of their phases, so one walk through them serves all.
        add_interval_phase(&i, l, phase, &token);
        from_ns += i.length_ns;
        ok = use(arg, &i, e);
    }
    histogram_fini(&from_intended);
    histogram_fini(&from_commit);
    return ok;
}
