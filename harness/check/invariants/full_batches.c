// Judges what a batch has to be where the subject promises that it fills its batches: a full one
// goes out at once (late), and a short one leaves nothing behind (underfull).
//
// underfull is judged where `fills` is promised. Let P be the line before a short line. The short
// line is underfull when a later line holds a token that was acknowledged long before P was
// written: by slack + the p99 of a flush. A token that came after P was written counts for nothing,
// because the collector may look for the tokens of the short line while P is on its way. A fault, a
// stall, or a wait for a processor excuses the line if it touches the time from slack + flush
// before P until the line was read. underfull is not judged in a run with committed tokens that
// changed or never came out, with a budget, lanes or an adaptive window, in leased mode, or where
// the queue is shared.
#include "check/inside.h"

#define NO_TOKEN UINT32_MAX

// The waiting tokens of one lane.
struct lane {
    int64_t count;
    int64_t since_ns; // since when they have made a full batch and no line has come
};

struct fill {
    const struct check *c;
    uint32_t *order; // owned; the tokens that came out, sorted by the time since when they waited
    size_t count, next; // next: index in `order` of the first token not yet looked at
    struct lane lanes[2];
};

// Returns the index in `lanes`: 1 for recoveries where there are lanes, or else 0.
static int lane_of(const struct fill *f, uint32_t token)
{
    return f->c->leased.lanes && token_kind_recovery(f->c->l->plan->kinds[token]);
}

// True when the token waited from check_waits_since_ns until its line was read. A token that ever
// changed does not count, because nobody promises when it goes out.
static bool waited(const struct check *c, uint32_t token)
{
    const struct ledger *l = c->l;
    int64_t read_ns = ledger_read_ns(l, token);

    return ledger_txn(l, token)->outcome == TXN_COMMITTED && read_ns != CLOCK_NEVER &&
           check_waits_since_ns(c, token) <= read_ns && ledger_changed_ns(l, token) == CLOCK_NEVER;
}

static int by_wait(const void *a, const void *b, void *fill)
{
    const struct check *c = ((const struct fill *)fill)->c;
    int64_t x = check_waits_since_ns(c, *(const uint32_t *)a);
    int64_t y = check_waits_since_ns(c, *(const uint32_t *)b);

    return (x > y) - (x < y);
}

// Fills in `order`.
static void list_tokens(struct fill *f)
{
    const struct ledger *l = f->c->l;
    bool sorted = true;

    f->order = memory_zeroed(l->plan->token_count, sizeof *f->order);
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        if (!waited(f->c, token))
            continue;
        f->order[f->count++] = token;
        // The plan's order is nearly always that of the acknowledgements, and sorting millions
        // takes time.
        sorted = sorted && (f->count == 1 || by_wait(&f->order[f->count - 2], &token, f) <= 0);
    }
    if (!sorted)
        qsort_r(f->order, f->count, sizeof *f->order, by_wait, f);
}

// --- a full batch waits -------------------------------------------------------------

// Returns how long a full batch may wait: slack_ns (the run's slack and what slow faults add) for
// the query that finds it, and three flushes for the commits of its line and of the line before. If
// the time to read the rows of a batch is longer than the run's slack and the flushes, it takes
// their place. A collector reads as many rows a second as its capacity, or 5,000 if that is less or
// the capacity is not known.
static int64_t bound_ns(const struct check *c, int64_t slack_ns)
{
    const struct scenario_collector *s = &c->l->scenario->collector;
    const double rows_per_s = 5000;
    double capacity = s->capacity > 0 && s->capacity < rows_per_s ? s->capacity : rows_per_s;
    int64_t read_ns = (int64_t)((double)s->batch_limit / capacity * NS_PER_S);

    return slack_ns + clock_max(3 * c->flush_ns, read_ns - c->r->slack_ns);
}

// Adds a finding if a full batch that waited from since_ns until this line waited too long.
static void judge_full(const struct fill *f, const struct line_record *line, int64_t since_ns)
{
    const struct check *c = f->c;
    int64_t slack_ns = check_slack(c, since_ns, line->read_ns).ns;
    int64_t free_ns = timeline_free(&c->timeline, EVERY, since_ns, line->read_ns).ns;
    // As for a token, a stall may delay two steps of a batch's way.
    int64_t left_ns = check_left(c, line->process, since_ns, line->read_ns, free_ns, 2).ns;
    int64_t beyond_ns = left_ns - bound_ns(c, slack_ns);

    if (beyond_ns <= 0)
        return;
    finding_add(c->r, METRIC_LATE,
        "a full batch waited from %.3f s until %.3f s, %.0f ms longer than it may",
        ledger_seconds(c->l, since_ns), ledger_seconds(c->l, line->read_ns),
        (double)beyond_ns / 1e6);
    finding_add_faults(c->r, METRIC_LATE, c->l, since_ns);
}

// Adds to the lanes the tokens that began to wait by until_ns. Notes when a lane becomes a full
// batch.
static void add_arrived_tokens(struct fill *f, int64_t until_ns)
{
    for (; f->next < f->count; f->next++) {
        uint32_t token = f->order[f->next];
        struct lane *lane = &f->lanes[lane_of(f, token)];
        int64_t since_ns = check_waits_since_ns(f->c, token);
        if (since_ns > until_ns)
            return;
        // When further tokens come to a full batch, its time does not begin anew.
        if (++lane->count == f->c->l->scenario->collector.batch_limit)
            lane->since_ns = since_ns;
    }
}

// Takes the tokens of a line out of the lanes.
static void remove_line_tokens(struct fill *f, const struct line_record *line)
{
    const struct ledger *l = f->c->l;

    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        if (check_delivers_first(l, d) && waited(f->c, d->token))
            f->lanes[lane_of(f, d->token)].count--;
    }
    // The tokens that are left may make a full batch, too; its time begins now.
    f->lanes[0].since_ns = f->lanes[1].since_ns = line->read_ns;
}

// True when the run can show that a full batch waits: tokens are announced one by one, so that the
// collector can count them, and the timeout is at least five times the bound. With a shorter
// timeout, a batch that wrongly waits for it is late by too little.
static bool shows_full(const struct check *c)
{
    const struct scenario *s = c->l->scenario;
    // An older schema may announce in another way, whatever the setting says.
    bool each = s->postgres.announce == ANNOUNCE_EACH && s->postgres.schema == SCHEMA_LATEST;

    for (size_t i = 0; i < s->load_count; i++)
        each = each && s->load[i].rows_to <= 1; // a transaction announces all its rows at once
    return each && s->collector.batch_timeout_ns >= 5 * bound_ns(c, c->r->slack_ns);
}

// Judges each full batch that waited when a line came.
static void check_full(struct fill *f)
{
    const struct ledger *l = f->c->l;

    for (uint32_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        add_arrived_tokens(f, line->read_ns);
        for (int lane = 0; lane < 2; lane++) {
            // Only time in the load counts: the backlog lay there before any collector ran.
            if (f->lanes[lane].count >= l->scenario->collector.batch_limit)
                judge_full(f, line, clock_max(f->lanes[lane].since_ns, l->start_ns));
        }
        remove_line_tokens(f, line);
    }
}

// --- a short line leaves tokens behind ---------------------------------------------

// Returns by when a token must have been acknowledged so that the query for the line after line
// `before` has certainly shown it. A collector may make this query while `before` is on its way.
static int64_t last_shown_ns(const struct check *c, uint32_t before)
{
    const struct line_record *line = &c->l->log->lines[before];

    return check_written_ns(c, line) - c->r->slack_ns - c->flush_ns;
}

// Returns what may explain that the line left tokens behind; CAUSE_NONE: nothing does. It may be a
// fault, a stall of any length (0), or a wait for a processor between the look and the write.
static struct cause why_left(
    const struct check *c, const struct line_record *line, int64_t shown_ns)
{
    int instance = c->l->log->processes[line->process].instance;
    struct cause cause = timeline_cause(&c->timeline, instance, shown_ns, line->read_ns);

    return check_kept_by(c, line->process, shown_ns, line->read_ns, 0, cause);
}

// Returns a token of a later line than `index` that had waited since shown_ns or longer;
// NO_TOKEN: there is none.
static uint32_t find_left_token(struct fill *f, uint32_t index, int64_t shown_ns)
{
    const struct ledger *l = f->c->l;

    // The tokens before `next` are all in this line or in earlier ones.
    while (f->next < f->count && l->tokens[f->order[f->next]].first_line <= index)
        f->next++;
    return f->next < f->count && check_waits_since_ns(f->c, f->order[f->next]) <= shown_ns
               ? f->order[f->next]
               : NO_TOKEN;
}

// Judges a short line. Tokens that waited at shown_ns must be in it or in an earlier line.
static void judge_short(struct fill *f, uint32_t index, int64_t shown_ns)
{
    const struct check *c = f->c;
    const struct line_record *line = &c->l->log->lines[index];
    char login[NAMES_MAX];
    uint32_t token = find_left_token(f, index, shown_ns);
    struct cause cause = why_left(c, line, shown_ns);

    // A line that left nothing behind counts as well, to tell how many lines were excused, and by
    // what.
    judged_add(c->r, METRIC_UNDERFULL, 1, cause);
    if (token == NO_TOKEN || cause.kind != CAUSE_NONE)
        return;
    ledger_name(c->l, token, login);
    finding_add(c->r, METRIC_UNDERFULL,
        "pid %d, read at %.3f s: %u %s, limit %d, but %s had waited since %.3f s",
        (int)c->l->log->processes[line->process].pid, ledger_seconds(c->l, line->read_ns),
        line->tokens, NOUN(line->tokens, "token", "tokens"), c->l->scenario->collector.batch_limit,
        login, ledger_seconds(c->l, check_waits_since_ns(c, token)));
    finding_add_faults(c->r, METRIC_UNDERFULL, c->l, line->read_ns);
}

// True when the run can show that a short line left tokens behind. It cannot when a committed token
// changed or never came out: the collector's query reads a bounded number of rows, so a token that
// nobody may send can take the place of another. In leased mode a retry comes at its own time; each
// lane has lines of its own; and an adaptive window fires early.
static bool shows_short(const struct fill *f)
{
    const struct ledger *l = f->c->l;

    if (f->c->leased.on || f->c->leased.lanes || l->scenario->collector.adaptive_from_ns > 0)
        return false;
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        if (ledger_committed(l, token) &&
            (ledger_read_ns(l, token) == CLOCK_NEVER || ledger_changed_ns(l, token) != CLOCK_NEVER))
            return false;
    }
    return true;
}

// Judges each line that is not full, beside the line that the same process wrote before it.
static void check_short(struct fill *f)
{
    const struct subject_log *log = f->c->l->log;

    f->next = 0;
    for (uint32_t i = 1; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        bool same = log->lines[i - 1].process == line->process;
        // After the line of another process, nobody knows when this one began to look.
        if (!check_is_full(f->c->l, line) && same && line->tokens > 0)
            judge_short(f, i, last_shown_ns(f->c, i - 1));
    }
}

void check_fill(const struct check *c)
{
    const struct scenario *s = c->l->scenario;
    bool shared = s->collector.instances > 1 && scenario_shares(s);
    struct fill f = {.c = c};

    // Tokens that others have taken, or that the budget holds back, do not wait for this collector.
    if (!(s->collector.promises & PROMISE_FILLS) || shared || c->leased.budget_per_s > 0)
        return;
    bool full = shows_full(c), any_short = shows_short(&f);
    // A run that can show neither case needs no list.
    if (full || any_short)
        list_tokens(&f);
    if (full)
        check_full(&f);
    if (any_short)
        check_short(&f);
    free(f.order);
}
