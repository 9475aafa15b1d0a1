#include "ledger/ledger.h"

bool ledger_init(struct ledger *l, const struct scenario *s, const struct plan *p, struct err *e)
{
    *l = (struct ledger){.scenario = s, .plan = p};
    // One item more, because calloc may return NULL for no items.
    l->tokens = calloc(p->token_count + 1, sizeof *l->tokens);
    l->txn_of = calloc(p->token_count + 1, sizeof *l->txn_of);
    if (!l->tokens || !l->txn_of) {
        ledger_fini(l);
        return err_memory_for(e, "%zu tokens", p->token_count);
    }
    // The tokens of a transaction have numbers in a row.
    for (size_t i = 0; i < p->txn_count; i++) {
        for (uint32_t t = 0; t < p->txns[i].rows; t++)
            l->txn_of[p->txns[i].first_token + t] = (uint32_t)i;
    }
    return true;
}

void ledger_fini(struct ledger *l)
{
    free(l->tokens);
    free(l->txn_of);
    free(l->change_of);
    free(l->attempts);
    *l = (struct ledger){0};
}

bool ledger_committed(const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_COMMITTED:
        return true;
    // The answer to COMMIT was lost, so only the database knows.
    case TXN_UNKNOWN:
        return l->tokens[token].flags & TOKEN_SETTLED;
    default:
        return false;
    }
}

bool ledger_take_changes(struct ledger *l, const struct change_record *changes, struct err *e)
{
    const struct plan *p = l->plan;

    if (p->change_count == 0 || !changes)
        return true;
    l->changes = changes;
    l->change_of = calloc(p->token_count + 1, sizeof *l->change_of);
    if (!l->change_of)
        return err_memory_for(e, "%zu changes", p->change_count);
    for (size_t i = 0; i < p->change_count; i++)
        // One more than the index, because 0 says that the token has no change.
        l->change_of[p->changes[i].token] = (uint32_t)i + 1;
    return true;
}

// Returns the token's change and sets *record to its result, if the change was sent and is a change
// of names (renames) or of eligibility (not renames); NULL otherwise.
static const struct plan_change *sent_change(
    const struct ledger *l, uint32_t token, bool renames, const struct change_record **record)
{
    uint32_t i = l->change_of ? l->change_of[token] : 0;

    if (i == 0 || l->changes[i - 1].sent_ns == 0 ||
        change_kind_renames(l->plan->changes[i - 1].kind) != renames)
        return NULL;
    *record = &l->changes[i - 1];
    return &l->plan->changes[i - 1];
}

const struct plan_change *ledger_change(
    const struct ledger *l, uint32_t token, const struct change_record **record)
{
    return sent_change(l, token, false, record);
}

const struct plan_change *ledger_rename(
    const struct ledger *l, uint32_t token, const struct change_record **record)
{
    return sent_change(l, token, true, record);
}

int64_t ledger_changed_ns(const struct ledger *l, uint32_t token)
{
    const struct change_record *record;

    return ledger_change(l, token, &record) ? record->sent_ns : CLOCK_NEVER;
}

bool ledger_must_come(const struct ledger *l, uint32_t token)
{
    return token_kind_deliverable(l->plan->kinds[token]) && ledger_committed(l, token) &&
           ledger_changed_ns(l, token) == CLOCK_NEVER;
}

bool ledger_is_backlog(const struct ledger *l, uint32_t token)
{
    return l->plan->txns[l->txn_of[token]].flags & TXN_BACKLOG;
}

bool ledger_is_closed_loop(const struct ledger *l, uint32_t token)
{
    return l->scenario->load[l->plan->txns[l->txn_of[token]].phase].closed &&
           !ledger_is_backlog(l, token);
}

int64_t ledger_intended_ns(const struct ledger *l, uint32_t token)
{
    // The plan has no time for a token of the backlog, because it is inserted before the load
    // begins.
    if (ledger_is_backlog(l, token))
        return ledger_txn(l, token)->sent_ns;
    return l->start_ns + l->plan->txns[l->txn_of[token]].at_ns;
}

int64_t ledger_begin_ns(const struct ledger *l, uint32_t token)
{
    const int64_t sent_ns = ledger_txn(l, token)->sent_ns;

    // The run may have ended before a closed loop sent it.
    return sent_ns && ledger_is_closed_loop(l, token) ? sent_ns : ledger_intended_ns(l, token);
}

int64_t ledger_read_ns(const struct ledger *l, uint32_t token)
{
    if (l->tokens[token].deliveries == 0)
        return CLOCK_NEVER;
    return l->log->lines[l->tokens[token].first_line].read_ns;
}

// True for a fault that makes the server's clock step.
static bool is_server_step(const struct fault_spec *s)
{
    return s->verb->hits == HITS_CLOCK && s->target == TARGET_SERVER;
}

// Returns how many faults must be searched for steps of the server's clock: all, or 0 when the
// scenario has no such step. The search is made for every token, so a scenario without steps must
// not look at each of a thousand faults every time.
static size_t count_to_search(const struct ledger *l)
{
    for (size_t i = 0; i < l->scenario->fault_count; i++) {
        if (is_server_step(&l->scenario->faults[i]))
            return l->fault_count;
    }
    return 0;
}

// True when the fault has begun and makes the server's clock step.
static bool has_stepped_server(const struct fault_record *f)
{
    return f->began_ns && is_server_step(f->spec);
}

int64_t ledger_server_clock_ns(const struct ledger *l, int64_t at_ns)
{
    const size_t count = count_to_search(l);
    int64_t shows_ns = at_ns;

    for (size_t i = 0; i < count; i++) {
        const struct fault_record *f = &l->faults[i];
        // A fault that steps the clock forward may not have done so until it ends. A step back
        // counts from the beginning, so the sum is the least that the clock may show.
        if (has_stepped_server(f) && f->began_ns <= at_ns &&
            (f->spec->by_ns < 0 || f->ended_ns <= at_ns))
            shows_ns += f->spec->by_ns;
    }
    return shows_ns;
}

int64_t ledger_clock_shows_ns(const struct ledger *l, int64_t server_ns, int64_t from_ns)
{
    const size_t count = count_to_search(l);
    int64_t offset_ns = 0; // the sum of the steps so far

    // Each turn looks at the time up to the next step; the last turn, at the time after all steps.
    for (size_t i = 0;; i++) {
        bool last = i == count;
        if (!last && !has_stepped_server(&l->faults[i]))
            continue;
        int64_t until_ns = last ? CLOCK_NEVER : l->faults[i].began_ns;
        int64_t at_ns = clock_max(server_ns - offset_ns, from_ns);
        if (last || at_ns < until_ns)
            return at_ns;
        // The clock did not show server_ns before this step. If the step skips that time, the clock
        // shows a later one from here on.
        from_ns = clock_max(until_ns, from_ns);
        offset_ns += l->faults[i].spec->by_ns;
    }
}

int64_t ledger_expires_ns(const struct ledger *l, uint32_t token)
{
    return ledger_clock_shows_ns(
        l, l->start_ns + l->tokens[token].expires_at_s * NS_PER_S, ledger_txn(l, token)->sent_ns);
}

// True when the fault may have delayed the reading of the line: it stopped the reader of the line's
// instance (or, with an instance below 0, all readers), and the line was read between the fault's
// beginning and its end, or so soon after the end that the reader may still have been behind.
static bool may_delay_reading(
    const struct ledger *l, const struct fault_record *f, const struct line_record *line)
{
    const int64_t drained_ns = 100 * NS_PER_MS; // time in which a reader that runs again catches up
    int instance = l->log->processes[line->process].instance;

    return f->began_ns && f->began_ns < line->read_ns && f->spec->verb->takes & THING_READER &&
           (f->spec->instance < 0 || f->spec->instance == instance) &&
           f->ended_ns > line->read_ns - drained_ns;
}

void ledger_guess_written(struct ledger *l)
{
    for (size_t i = 0; i < l->log->line_count; i++) {
        struct line_record *line = &l->log->lines[i];
        if (line->seen_ns) // the reader noted both times
            continue;
        line->empty_ns = line->seen_ns = line->read_ns;
        for (size_t k = 0; k < l->fault_count; k++) {
            if (may_delay_reading(l, &l->faults[k], line))
                line->empty_ns = clock_min(line->empty_ns, l->faults[k].began_ns);
        }
    }
}

void ledger_name(const struct ledger *l, uint32_t token, char out[NAMES_MAX])
{
    if (scenario_is_queue(l->scenario))
        snprintf(out, NAMES_MAX, "job %" PRIu32, token);
    else
        names_login(out, token);
}

void ledger_full_name(const struct ledger *l, uint32_t token, char out[LEDGER_FULL_NAME_MAX])
{
    ledger_name(l, token, out);
    size_t len = strlen(out);
    if (!scenario_is_queue(l->scenario))
        snprintf(
            out + len, LEDGER_FULL_NAME_MAX - len, " (%s)", token_kind_name(l->plan->kinds[token]));
}
