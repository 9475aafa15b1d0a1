#include "metrics/meters.h"

#include <math.h>

#include "base/openmetrics.h"

enum modes { EVERY, LEASED, OTHERS }; // which modes have a figure; OTHERS: all but leased

// Rows of one family stand together. The first of them has its help.
static const struct row {
    const char *family;
    enum openmetrics_type type;
    const char *label, *value;
    enum modes modes;
    const char *help;
} rows[METERS] = {
#define G OPENMETRICS_GAUGE
#define C OPENMETRICS_COUNTER
    [METER_BATCHES_FULL] = {"mailroom_batches", C, "reason", "full", EVERY,
        "lines that were written, by the reason for writing them then"},
    [METER_BATCHES_TIMEOUT] = {"mailroom_batches", C, "reason", "timeout", EVERY, NULL},
    [METER_BATCHES_START] = {"mailroom_batches", C, "reason", "start", EVERY, NULL},
    [METER_BATCHES_LEFT_OVER] = {"mailroom_batches", C, "reason", "left_over", EVERY, NULL},
    [METER_BATCHES_SCAN] = {"mailroom_batches", C, "reason", "scan_limit", EVERY, NULL},
    [METER_BATCHES_BUDGET] = {"mailroom_batches", C, "reason", "budget", EVERY, NULL},
    [METER_TOKENS_WRITTEN] = {"mailroom_tokens_written", C, NULL, NULL, EVERY,
        "tokens in the lines that were written"},
    [METER_TOKENS_EXPIRED] = {"mailroom_tokens", C, "outcome", "expired", EVERY,
        "what became of tokens; retry, returned and late end an attempt, not the token"},
    [METER_TOKENS_CONSUMED] = {"mailroom_tokens", C, "outcome", "consumed", EVERY, NULL},
    [METER_TOKENS_STATUS] = {"mailroom_tokens", C, "outcome", "other_status", EVERY, NULL},
    [METER_TOKENS_SETTLED] = {"mailroom_tokens", C, "outcome", "written", OTHERS, NULL},
    [METER_TOKENS_DEAD_LETTER] = {"mailroom_tokens", C, "outcome", "dead_letter", EVERY, NULL},
    [METER_TOKENS_SENT] = {"mailroom_tokens", C, "outcome", "sent", LEASED, NULL},
    [METER_TOKENS_RETRY] = {"mailroom_tokens", C, "outcome", "retry", LEASED, NULL},
    [METER_TOKENS_DEAD] = {"mailroom_tokens", C, "outcome", "dead", LEASED, NULL},
    [METER_TOKENS_RETURNED] = {"mailroom_tokens", C, "outcome", "returned", LEASED, NULL},
    [METER_TOKENS_LATE] = {"mailroom_tokens", C, "outcome", "late", LEASED, NULL},
    [METER_RETRIES] = {"mailroom_retries", C, NULL, NULL, LEASED,
        "tokens that were leased after an earlier attempt"},
    [METER_SENDER_STARTS] = {"mailroom_sender_starts", C, NULL, NULL, LEASED,
        "how often the sender that is given after -- was started"},
    [METER_RECONNECTS_ENDED] = {"mailroom_reconnects", C, "reason", "ended", EVERY,
        "sessions that were lost or could not be opened; each was followed by another try"},
    [METER_RECONNECTS_REFUSED] = {"mailroom_reconnects", C, "reason", "refused", EVERY, NULL},
    [METER_RECONNECTS_SILENT] = {"mailroom_reconnects", C, "reason", "silent", EVERY, NULL},
    [METER_RECONNECTS_COMPLAINT] = {"mailroom_reconnects", C, "reason", "needs_attention", EVERY,
        NULL},
    [METER_CONNECTED] = {"mailroom_connected", G, NULL, NULL, EVERY,
        "1 while there is a session with the database, else 0"},
    [METER_COLLECTING] = {"mailroom_collecting", G, NULL, NULL, EVERY,
        "1 while this collector may write lines, 0 while it stands by or is not connected"},
    [METER_LAST_LINE] = {"mailroom_last_line_timestamp_seconds", G, NULL, NULL, EVERY,
        "when the last line was written, in seconds since 1970"},
    [METER_LINES_UNANSWERED] = {"mailroom_lines_unanswered", G, NULL, NULL, LEASED,
        "lines of this collector that wait for answers"},
    [METER_ANSWER_AWAITED] = {"mailroom_answer_awaited_seconds", G, NULL, NULL, LEASED,
        "how long the oldest of these lines has waited; 0: there is none"},
    [METER_BACKLOG_SCHEDULED] = {"mailroom_backlog", G, "state", "scheduled", EVERY,
        "unfinished tokens of the queue: not taken, taken and not confirmed, or to be tried again; "
        "counted up to 200000 each"},
    [METER_BACKLOG_LEASED] = {"mailroom_backlog", G, "state", "leased", EVERY, NULL},
    [METER_BACKLOG_RETRY] = {"mailroom_backlog", G, "state", "retry", EVERY, NULL},
    [METER_OLDEST_TOKEN] = {"mailroom_oldest_token_age_seconds", G, NULL, NULL, EVERY,
        "age of the oldest token that nobody has taken, even if it has expired; 0: there is none"},
    [METER_OLDEST_LEASE] = {"mailroom_oldest_lease_age_seconds", G, NULL, NULL, EVERY,
        "how long any collector has leased the oldest unconfirmed line; 0: there is none"},
    [METER_BUDGET_LEFT] = {"mailroom_budget_left", G, NULL, NULL, EVERY,
        "tokens that the budget allows at once"},
    [METER_BUDGET_TODAY] = {"mailroom_budget_left_today", G, NULL, NULL, EVERY,
        "tokens that MAILROOM_DAILY still allows until midnight UTC"},
    [METER_LOOK_AGE] = {"mailroom_look_age_seconds", G, NULL, NULL, EVERY,
        "how long ago the backlog was counted"},
    [METER_STARTED] = {"mailroom_start_time_seconds", G, NULL, NULL, EVERY,
        "when this collector was started, in seconds since 1970"},
#undef G
#undef C
};

static const double wait_bounds[WAIT_BUCKETS] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 300};

static const struct row wait_row = {"mailroom_wait_seconds", OPENMETRICS_HISTOGRAM, NULL, NULL,
    EVERY,
    "how long tokens waited, from the announcement of their commit to the end of their line"};

static const struct row about_row = {"mailroom_collector", OPENMETRICS_GAUGE, NULL, NULL, EVERY,
    "always 1; the labels tell version, mode and queue"};

void meters_init(struct meters *m)
{
    for (int i = 0; i < METERS; i++)
        m->of[i] = rows[i].type == OPENMETRICS_COUNTER ? 0 : NAN;
    m->wait = (struct wait){0};
}

void meters_waited(struct meters *m, double seconds)
{
    int i = 0;

    while (i < WAIT_BUCKETS && seconds > wait_bounds[i])
        i++;
    if (i < WAIT_BUCKETS)
        m->wait.counts[i]++;
    m->wait.count++;
    m->wait.sum += seconds;
}

void meters_forget(struct meters *m, enum meter_id from, enum meter_id to)
{
    for (int i = (int)from; i <= (int)to; i++)
        m->of[i] = NAN;
}

// True when the figure was measured and the mode has it.
static bool is_shown(const struct meters *m, int id, bool leased)
{
    return !isnan(m->of[id]) && rows[id].modes != (leased ? OTHERS : LEASED);
}

// True when row b exists and belongs to the family of row a.
static bool same_family(int a, int b)
{
    return b < METERS && strcmp(rows[a].family, rows[b].family) == 0;
}

// Appends the family that begins with this row: those of its figures that are shown.
static void render_family(const struct meters *m, int first, bool leased, struct buf *out)
{
    bool begun = false;

    for (int id = first; same_family(first, id); id++) {
        const struct row *r = &rows[id];
        const struct openmetrics_label label = {r->label, r->value};
        if (!is_shown(m, id, leased))
            continue;
        if (!begun)
            openmetrics_family(out, r->family, r->type, rows[first].help);
        begun = true;
        openmetrics_sample(out, r->family, r->type, &label, 1, m->of[id]);
    }
}

bool meters_render(
    const struct meters *m, const char *queue, const struct policy *mode, struct buf *out)
{
    const struct openmetrics_label labels[] = {
        {"version", MAILROOM_VERSION}, {"mode", mode->name}, {"queue", queue}};

    openmetrics_family(out, about_row.family, about_row.type, about_row.help);
    openmetrics_sample(out, about_row.family, about_row.type, labels, 3, 1);
    openmetrics_family(out, wait_row.family, wait_row.type, wait_row.help);
    openmetrics_histogram(out, wait_row.family, wait_bounds, m->wait.counts, WAIT_BUCKETS,
        m->wait.count, m->wait.sum);
    for (int id = 0; id < METERS; id++)
        if (id == 0 || !same_family(id - 1, id))
            render_family(m, id, mode->answers, out);
    return openmetrics_end(out);
}

// Prints a row of the table in METRICS.md.
static void markdown_row(const struct row *r, FILE *out)
{
    static const char *const modes[] = {[EVERY] = "", [LEASED] = "leased", [OTHERS] = "not leased"};

    fprintf(out, "| `%s%s`", r->family, r->type == OPENMETRICS_COUNTER ? "_total" : "");
    if (r->label)
        fprintf(out, " `%s=\"%s\"`", r->label, r->value);
    fprintf(out, " | %s | %s | %s |\n", openmetrics_types[r->type], modes[r->modes],
        r->help ? r->help : "");
}

void meters_markdown(FILE *out)
{
    fprintf(out, "| metric | type | mode | what it is |\n|---|---|---|---|\n");
    markdown_row(&about_row, out);
    markdown_row(&wait_row, out);
    for (int id = 0; id < METERS; id++)
        markdown_row(&rows[id], out);
}
