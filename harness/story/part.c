// The neighbourhood of a token: the smallest part of a history that shows the same about it.
//
// Nothing here knows why a token breaks an invariant. The part is written, read back and judged.
// Its margin of time grows by the factor four until the same invariants name the token as in the
// whole run, and the part has no finding of an invariant of which the run has none. Findings are
// compared and not verdicts, because a part has no `allow`: what the run tolerates may break it.
//
// Rejected: to collect what a finding depends on. Each invariant would need a rule for that.
#include <ctype.h>

#include "plan/names.h"
#include "story/event.h"

// The invariants of which an example names the token, or the time at which its line was read.
struct accused {
    bool by[METRIC_COUNT];
    bool any; // at least one of `by` is true
};

// True when the text has the name, and not only as the beginning of a longer one: "job 4" is no
// name in "job 48".
static bool has_name(const char *text, const char *name)
{
    const char *at = text;

    while ((at = strstr(at, name)) && isdigit((unsigned char)at[strlen(name)]))
        at++;
    return at;
}

// Adds the invariants that have an example with this text.
static void add_accused(struct accused *s, const struct result *r, const char *text)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        for (size_t i = 0; i < r->findings[id].example_count; i++)
            if (has_name(r->findings[id].examples[i], text))
                s->by[id] = s->any = true;
}

// Collects the invariants whose findings in this history name the token.
static struct accused accused_by(const struct result *r, const struct history *h, uint32_t token)
{
    char text[NAMES_MAX];
    struct accused s = {0};

    ledger_name(&h->ledger, token, text);
    add_accused(&s, r, text);
    for (size_t i = 0; i < h->log.delivery_count; i++) {
        const struct delivery *d = &h->log.deliveries[i];
        if (d->token != token)
            continue;
        snprintf(text, sizeof text, "read at %.3f s",
            ledger_seconds(&h->ledger, h->log.lines[d->line].read_ns));
        add_accused(&s, r, text);
    }
    return s;
}

// True when some invariant names the token in the part, among them all that name it in the whole
// run, and no invariant has findings in the part alone.
static bool shows_the_same(const struct result *part, const struct result *whole,
    const struct accused *in_part, const struct accused *in_whole)
{
    bool same = in_part->any;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        same = same && (part->findings[id].count == 0 || whole->findings[id].count > 0);
        same = same && (!in_whole->by[id] || in_part->by[id]);
    }
    return same;
}

// Writes a part, reads it back and judges it, because only this shows what a reader of the story
// will see. *same says whether it shows the same as the whole run. If so, appends its claims.
static bool try_part(const struct scenario *s, const struct history *h, const struct result *whole,
    struct part *part, struct buf *out, bool *same, struct err *e)
{
    struct accused in_whole = accused_by(whole, h, part->token), in_part;
    struct story t;
    struct result r;

    if (!story_write(s, h, part, false, out) || !buf_str(out))
        return err_set(e, ERR_USAGE, "no part of this history that a story can hold shows it");
    if (!story_read_text(&t, buf_str(out), "story", e))
        return err_prefix(e, "no part of this history that a story can hold shows it");
    struct check_input in = check_input_of(&t.history);
    check_ledger(&r, &t.history.ledger, &in);
    in_part = accused_by(&r, &t.history, part->number);
    *same = shows_the_same(&r, whole, &in_part, &in_whole);
    if (*same)
        story_write_claims(&r, out);
    result_fini(&r);
    story_fini(&t);
    return true;
}

// True when the part holds the whole run. A backlog and the collector's start come before the load,
// and the collector's last lines and its end come after the drain.
static bool holds_run(const struct part *part, const struct history *h)
{
    const struct ledger *l = &h->ledger;
    int64_t first_ns = l->start_ns, last_ns = l->drain_end_ns;

    for (size_t i = 0; i < h->plan.txn_count; i++)
        if (l->txns[i].sent_ns)
            first_ns = clock_min(first_ns, l->txns[i].sent_ns);
    for (size_t i = 0; i < h->log.process_count; i++) {
        const struct process_record *p = &h->log.processes[i];
        first_ns = clock_min(first_ns, p->started_ns);
        last_ns = clock_max(last_ns, p->ended_ns == CLOCK_NEVER ? last_ns : p->ended_ns);
    }
    for (size_t i = 0; i < h->log.line_count; i++)
        last_ns = clock_max(last_ns, h->log.lines[i].read_ns);
    return part->from_ns <= first_ns && part->until_ns >= last_ns;
}

bool story_of_token(const struct scenario *s, const struct history *h, const struct result *whole,
    uint32_t token, struct buf *out, struct err *e)
{
    const struct ledger *l = &h->ledger;
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t sent_ns = txn->sent_ns ? txn->sent_ns : ledger_intended_ns(l, token);
    int64_t last_ns = clock_max(sent_ns, txn->ended_ns);
    // Checks of latency look at least this far around a token.
    int64_t margin_ns = 2 * s->collector.batch_timeout_ns + whole->slack_ns;
    bool same = false, all = false;

    for (size_t i = 0; i < h->log.delivery_count; i++)
        if (h->log.deliveries[i].token == token)
            last_ns = clock_max(last_ns, h->log.lines[h->log.deliveries[i].line].read_ns);
    // The reason may lie far before the token, such as a long row of full lines.
    for (; !same && !all; margin_ns *= 4) {
        struct part part = {.from_ns = sent_ns - margin_ns,
            .until_ns = last_ns + margin_ns,
            .token = token,
            .slack_ns = whole->slack_ns};
        // When a part holds the whole run, a larger one can show no more.
        all = holds_run(&part, h);
        buf_clear(out);
        if (!try_part(s, h, whole, &part, out, &same, e))
            return false;
    }
    return same ||
           err_set(e, ERR_USAGE,
               "no finding names this token; 'mailproof check' shows some that findings name");
}
