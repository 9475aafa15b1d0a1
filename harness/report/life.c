#include "report/life.h"

#include <stdio.h>

#include "base/clock.h"
#include "check/check.h"
#include "plan/names.h"
#include "page.h"
#include "report/escape.h"
#include "report/met.h"
#include "report/report.h"

// --- told ---------------------------------------------------------------------------------

static const char *outcome_text(const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_COMMITTED:
        return "COMMIT acknowledged";
    case TXN_ROLLED_BACK:
        return "rolled back";
    case TXN_UNKNOWN:
        return ledger_committed(l, token) ? "no answer; found in the database afterwards"
                                          : "no answer; not in the database afterwards";
    default:
        return "never sent";
    }
}

static void fault_text(const struct ledger *l, const struct fault_record *f, char *out, size_t size)
{
    snprintf(out, size, "fault %s, until %.3f s: %s", f->spec->verb->name,
        ledger_seconds(l, f->ended_ns), f->evidence);
}

static void delivery_text(const struct ledger *l, const struct delivery *d, char *out, size_t size)
{
    const struct line_record *line = &l->log->lines[d->line];
    const struct process_record *p = &l->log->processes[line->process];

    snprintf(out, size, "read from collector %d (pid %d), line of %u tokens%s%s%s", p->instance,
        (int)p->pid, line->tokens, line->state == LINE_WHOLE ? "" : ", torn",
        d->flags & DELIVERY_FORGED ? ", forged" : "",
        d->flags & DELIVERY_NAMED ? ", only named" : "");
}

// Writes the token's name as its sender gives it in an answer: "12.3" is the line since the process
// began, and the place in it.
static void name_text(const struct ledger *l, const struct delivery *d, char *out, size_t size)
{
    const struct line_record *lines = l->log->lines;
    size_t number = 0;

    for (uint32_t i = 0; i <= d->line; i++)
        number += lines[i].process == lines[d->line].process;
    snprintf(out, size, "%zu.%zu", number,
        (size_t)(d - l->log->deliveries) - lines[d->line].first_delivery + 1);
}

// Leased mode: the line that carried it, and what the harness as the sender made of it.
static void tell_attempt(const struct ledger *l, const struct delivery *d, unsigned attempt,
    life_tell *tell, void *context)
{
    static const char *const answers[REPLIES] = {
        [REPLY_SENT] = "answered with sent",
        [REPLY_TRANSIENT] = "answered with a transient error",
        [REPLY_PERMANENT] = "answered with a permanent error",
        [REPLY_DIED] = "the sender died of it",
    };
    const bool silent = d->replied_ns == 0 || !answers[d->reply];
    const int64_t read_ns = l->log->lines[d->line].read_ns;
    char name[48], read[240], text[320];

    name_text(l, d, name, sizeof name);
    delivery_text(l, d, read, sizeof read);
    snprintf(text, sizeof text, "attempt %u, %s: %s%s", attempt, name, read,
        silent ? "; never answered" : "");
    tell(l, read_ns, text, context);
    if (silent)
        return;
    snprintf(text, sizeof text, "attempt %u, %s: %s, after %.1f ms", attempt, name,
        answers[d->reply], (double)(d->replied_ns - read_ns) / 1e6);
    tell(l, d->replied_ns, text, context);
}

static void tell_deliveries(const struct ledger *l, uint32_t token, life_tell *tell, void *context)
{
    unsigned attempt = 0;
    char text[320];

    for (size_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        if (d->token != token)
            continue;
        if (d->reply != REPLY_NONE) {
            tell_attempt(l, d, ++attempt, tell, context);
            continue;
        }
        delivery_text(l, d, text, sizeof text);
        tell(l, l->log->lines[d->line].read_ns, text, context);
    }
}

// Returns how many faults came too late for the token.
static size_t tell_faults(
    const struct ledger *l, const struct met *met, life_tell *tell, void *context)
{
    size_t later = 0;
    char text[320];

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        later += f->began_ns > met->until_ns;
        if (!met_is(met, f))
            continue;
        fault_text(l, f, text, sizeof text);
        tell(l, f->began_ns, text, context);
    }
    return later;
}

void life_each(const struct ledger *l, uint32_t token, life_tell *tell, void *context)
{
    const struct txn_record *txn = ledger_txn(l, token);
    const struct {
        int64_t at_ns;
        const char *what;
    } steps[] = {{ledger_intended_ns(l, token), "intended"}, {txn->sent_ns, "insert sent"},
        {txn->commit_ns, "COMMIT or ROLLBACK sent"}, {txn->ended_ns, outcome_text(l, token)}};
    const struct met met = met_of(l, token);
    char text[80];

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].at_ns != 0 && steps[i].at_ns != CLOCK_NEVER)
            tell(l, steps[i].at_ns, steps[i].what, context);
    }
    const size_t later = tell_faults(l, &met, tell, context);
    tell_deliveries(l, token, tell, context);
    if (later > 0 && met.overdue) {
        snprintf(
            text, sizeof text, "%zu later fault%s not listed", later, later == 1 ? " is" : "s are");
        tell(l, met.until_ns, text, context);
    }
}

// In leased mode: what the collector recorded of the token in the database.
static void record_text(const struct ledger *l, uint32_t token, char *out, size_t size)
{
    static const char *const ends[] = {[OUTCOME_NONE] = "no end",
        [OUTCOME_SENT] = "sent",
        [OUTCOME_DEAD] = "dead",
        [OUTCOME_EXPIRED] = "expired"};
    const struct ledger_token *t = &l->tokens[token];

    *out = '\0';
    if (l->scenario->collector.dequeue == DEQUEUE_LEASED && (t->flags & TOKEN_PRESENT))
        snprintf(out, size, ", recorded: %s after %u attempt%s", ends[t->outcome], t->attempts,
            t->attempts == 1 ? "" : "s");
}

// In shared mode a token is first taken, and confirmed after it was written.
static const char *where_it_waits(const struct ledger *l, uint8_t flags)
{
    if (check_shares(l->scenario))
        return flags & TOKEN_UNMARKED ? ", not confirmed" : "";
    return flags & TOKEN_WAITING ? ", beyond the cursor" : "";
}

void life_end(const struct ledger *l, uint32_t token, char *out, size_t size)
{
    const struct ledger_token *t = &l->tokens[token];
    char record[64];

    record_text(l, token, record, sizeof record);
    snprintf(out, size, "%s%s%s, %u deliver%s%s",
        t->flags & TOKEN_PRESENT ? "in the database" : "not in the database",
        t->flags & TOKEN_DEAD_LETTER ? ", in dead_letters" : "", where_it_waits(l, t->flags),
        t->deliveries, t->deliveries == 1 ? "y" : "ies", record);
}

// --- drawn --------------------------------------------------------------------------------

// The picture's measures, in its own units.
enum { WIDTH = 760, LEFT = 175, RIGHT = 745, ROW = 30, LANES_MAX = 24 };

struct picture {
    const struct ledger *l;
    struct met met;
    int64_t from_ns, until_ns;
    int lanes;
    struct buf *out;
};

static double x_of(const struct picture *p, int64_t ns)
{
    double share = (double)(ns - p->from_ns) / (double)(p->until_ns - p->from_ns);

    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return LEFT + share * (RIGHT - LEFT);
}

// Begins a row with its name at the left. False when the picture is full.
static bool lane(struct picture *p, const char *name)
{
    if (p->lanes == LANES_MAX)
        return false;
    buf_printf(p->out, "<text class=\"name\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 10,
        p->lanes * ROW + 19);
    append_escaped(p->out, name);
    buf_append_str(p->out, "</text>\n");
    p->lanes++;
    return true;
}

static void bar(
    struct picture *p, const char *class, int64_t from_ns, int64_t until_ns, const char *what)
{
    double x = x_of(p, from_ns), width = x_of(p, until_ns) - x;

    buf_printf(p->out,
        "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"16\"><title>%.6f to %.6f "
        "s: ",
        class, x, (p->lanes - 1) * ROW + 7, width < 2 ? 2 : width, ledger_seconds(p->l, from_ns),
        ledger_seconds(p->l, until_ns));
    append_escaped(p->out, what);
    buf_append_str(p->out, "</title></rect>\n");
}

static void draw_insert(struct picture *p, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(p->l, token);
    int64_t intended_ns = ledger_intended_ns(p->l, token);
    int64_t commit_ns = txn->commit_ns ? txn->commit_ns : txn->ended_ns;

    lane(p, "insert");
    if (!txn->sent_ns)
        return;
    bar(p, "lag", intended_ns, txn->sent_ns, "waited for a connection");
    bar(p, "sent", txn->sent_ns, commit_ns, "insert sent");
    bar(p, "commit", commit_ns, txn->ended_ns, outcome_text(p->l, token));
}

static void draw_wait(struct picture *p, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(p->l, token);
    int64_t until_ns = clock_min(ledger_read_ns(p->l, token), p->l->drain_end_ns);

    if (!ledger_committed(p->l, token) || txn->ended_ns == 0 || until_ns <= txn->ended_ns)
        return;
    lane(p, "in the queue");
    bar(p, ledger_read_ns(p->l, token) == CLOCK_NEVER ? "never" : "wait", txn->ended_ns, until_ns,
        ledger_read_ns(p->l, token) == CLOCK_NEVER ? "never delivered" : "until it was read");
}

static void draw_deliveries(struct picture *p, uint32_t token, uint32_t process)
{
    char text[320];

    for (size_t i = 0; i < p->l->log->delivery_count; i++) {
        const struct delivery *d = &p->l->log->deliveries[i];
        const struct line_record *line = &p->l->log->lines[d->line];
        if (d->token != token || line->process != process)
            continue;
        delivery_text(p->l, d, text, sizeof text);
        buf_printf(p->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"6\"><title>%.6f s: ",
            line->state == LINE_WHOLE && d->flags == 0 ? "read" : "torn", x_of(p, line->read_ns),
            (p->lanes - 1) * ROW + 15, ledger_seconds(p->l, line->read_ns));
        append_escaped(p->out, text);
        buf_append_str(p->out, "</title></circle>\n");
    }
}

static bool is_seen(const struct picture *p, const struct process_record *process)
{
    return process->started_ns <= p->until_ns && process->ended_ns >= p->from_ns;
}

// A row for each instance: its processes one after another.
static void draw_processes(struct picture *p, uint32_t token)
{
    const struct subject_log *log = p->l->log;
    char name[64];

    for (int instance = 0; instance < p->l->scenario->collector.instances; instance++) {
        snprintf(name, sizeof name, "collector %d", instance);
        if (!lane(p, name))
            return;
        for (uint32_t i = 0; i < log->process_count; i++) {
            if (log->processes[i].instance != instance || !is_seen(p, &log->processes[i]))
                continue;
            snprintf(name, sizeof name, "pid %d", (int)log->processes[i].pid);
            bar(p, "process", log->processes[i].started_ns,
                clock_min(log->processes[i].ended_ns, p->l->drain_end_ns), name);
        }
        for (uint32_t i = 0; i < log->process_count; i++) {
            if (log->processes[i].instance == instance)
                draw_deliveries(p, token, i);
        }
    }
}

// A row for each verb.
static void draw_faults(struct picture *p)
{
    char text[320];

    for (enum verb_id id = 0; id < VERB_COUNT; id++) {
        bool any = false;
        for (size_t i = 0; i < p->l->fault_count; i++) {
            const struct fault_record *f = &p->l->faults[i];
            if (f->spec->verb->id != id || !met_is(&p->met, f))
                continue;
            if (!any && !lane(p, f->spec->verb->name))
                return;
            any = true;
            fault_text(p->l, f, text, sizeof text);
            bar(p, "fault", f->began_ns, f->ended_ns, text);
        }
    }
}

// About six round times, in milliseconds of the token's own life.
static void draw_axis(struct picture *p, uint32_t token)
{
    const int64_t zero_ns = ledger_intended_ns(p->l, token);
    const int64_t rough_ns = (p->until_ns - p->from_ns) / 6 + 1;
    int64_t step_ns = 1000;

    for (int i = 0; step_ns < rough_ns; i++)
        step_ns = step_ns * (i % 3 == 1 ? 5 : 2) / (i % 3 == 1 ? 2 : 1);
    int64_t first = (p->from_ns - zero_ns) / step_ns;
    for (int64_t at = first; zero_ns + at * step_ns <= p->until_ns; at++) {
        if (zero_ns + at * step_ns < p->from_ns)
            continue;
        double x = x_of(p, zero_ns + at * step_ns);
        buf_printf(p->out,
            "<path class=\"grid\" d=\"M%.1f 0V%d\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%.6g</text>\n",
            x, p->lanes * ROW, x, p->lanes * ROW + 16, (double)(at * step_ns) / 1e6);
    }
    buf_printf(p->out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ms since the intended insert</text>\n",
        (LEFT + RIGHT) / 2, p->lanes * ROW + 36);
}

// From just before the token, and the faults that it met, to just after its last event.
static void widen(const struct ledger *l, int64_t at_ns, const char *what, void *context)
{
    struct picture *p = context;

    (void)l;
    (void)what;
    p->from_ns = clock_min(p->from_ns, at_ns);
    p->until_ns = clock_max(p->until_ns, at_ns);
}

static void draw(const struct ledger *l, uint32_t token, struct buf *out)
{
    struct picture p = {
        .l = l, .met = met_of(l, token), .from_ns = INT64_MAX, .until_ns = INT64_MIN};
    struct buf lanes;

    life_each(l, token, widen, &p);
    p.until_ns = clock_max(p.until_ns, p.met.until_ns);
    int64_t pad_ns = (p.until_ns - p.from_ns) / 20 + NS_PER_MS / 10;
    p.from_ns -= pad_ns;
    p.until_ns += pad_ns;
    buf_init(&lanes, 1 << 22);
    p.out = &lanes;
    draw_insert(&p, token);
    draw_wait(&p, token);
    draw_processes(&p, token);
    draw_faults(&p);
    buf_printf(out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"The token's life; the times stand in "
        "the table\">\n",
        WIDTH, p.lanes * ROW + 44);
    p.out = out;
    draw_axis(&p, token);
    buf_append_str(out, buf_str(&lanes) ? lanes.data : "");
    buf_append_str(out, "</svg>\n");
    buf_fini(&lanes);
}

static void put_event(const struct ledger *l, int64_t at_ns, const char *what, void *context)
{
    struct buf *out = context;

    buf_printf(out, "<tr><td class=\"n\">%.6f</td><td>", ledger_seconds(l, at_ns));
    append_escaped(out, what);
    buf_append_str(out, "</td></tr>\n");
}

bool life_html(const struct ledger *l, uint32_t token, struct buf *out)
{
    char login[NAMES_MAX], end[200];
    const char *rest = append_until(out, page_token, "{{style}}");

    names_login(login, token);
    life_end(l, token, end, sizeof end);
    buf_append_str(out, report_style());
    rest = append_until(out, rest, "{{title}}");
    buf_printf(out, "%s (%s)", login, token_kind_name(l->plan->kinds[token]));
    rest = append_until(out, rest, "{{end}}");
    append_escaped(out, l->scenario->name);
    buf_printf(out, ": at the end %s.", end);
    rest = append_until(out, rest, "{{picture}}");
    draw(l, token, out);
    rest = append_until(out, rest, "{{events}}");
    life_each(l, token, put_event, out);
    return buf_append_str(out, rest) && !out->failed;
}
