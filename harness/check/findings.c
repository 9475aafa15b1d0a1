// The findings: the cases of each invariant, the amount that was judged, and the causes that excuse
// the rest.
#include "check/inside.h"

#include <math.h>
#include <stdarg.h>

#include "os/mutant.h"
#include "base/utf8.h"
#include "scenario/grammar.h"

// The text may quote bytes of the collector, and may be cut in the middle of a character, so
// utf8_mend repairs it.
void finding_add(struct result *r, enum metric_id id, const char *fmt, ...)
{
    struct finding *f = &r->findings[id];
    va_list args;

    // In the build for mutation tests a check can be silenced, to see whether a test notices that.
    if (mutant_is("check", metrics[id].name))
        return;
    if (f->count++ >= FINDING_EXAMPLES)
        return;
    va_start(args, fmt);
    vsnprintf(f->examples[f->example_count], sizeof f->examples[0], fmt, args);
    va_end(args);
    utf8_mend(f->examples[f->example_count++]);
}

// Appends a fault to a text: `before`, its verb and its time.
static void append_fault(char *text, size_t size, const struct ledger *l,
    const struct fault_record *f, const char *before)
{
    size_t len = strlen(text);

    snprintf(text + len, size - len, "%s%s %.3f-%.3f s", before, f->spec->verb->name,
        ledger_seconds(l, f->began_ns), ledger_seconds(l, f->ended_ns));
}

void finding_add_faults(struct result *r, enum metric_id id, const struct ledger *l, int64_t at_ns)
{
    struct finding *found = &r->findings[id];
    const struct fault_record *before = NULL, *after = NULL;

    // Only the first cases have a description to which the faults can be added. A silenced check
    // has none.
    if (found->count > FINDING_EXAMPLES || found->example_count == 0)
        return;
    for (size_t i = 0; i < l->fault_count && !after; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->began_ns <= at_ns)
            before = f;
        else if (f->began_ns)
            after = f;
    }
    char *text = found->examples[found->example_count - 1];
    if (before)
        append_fault(text, sizeof found->examples[0], l, before, "; faults: ");
    if (after)
        append_fault(text, sizeof found->examples[0], l, after, before ? ", " : "; faults: ");
}

void result_reason(struct result *r, const char *fmt, ...)
{
    va_list args;

    if (r->reason_count == REASONS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(r->reasons[r->reason_count], sizeof r->reasons[0], fmt, args);
    va_end(args);
    utf8_mend(r->reasons[r->reason_count++]);
}

// --- how much was judged ----------------------------------------------------------

const char *cause_name(enum cause_kind kind)
{
    static const char *const names[CAUSE_KINDS] = {"nothing", "fault", "reader", "return", "start",
        "takeover", "adoption", "batch", "transaction", "stall", "processors", "sender", "budget"};

    return names[kind];
}

void judged_add(struct result *r, enum metric_id id, double amount, struct cause cause)
{
    struct judged *j = &r->judged[id];

    j->of += amount;
    if (cause.kind == CAUSE_NONE)
        j->judged += amount;
    else
        j->excused[cause.kind] += amount;
}

double judged_share(const struct judged *j)
{
    return j->of > 0 ? j->judged / j->of : NAN;
}

void judged_text(const struct result *r, enum metric_id id, char *out, size_t size)
{
    const struct judged *j = &r->judged[id];
    const char *before = "; excused: ";
    size_t len = (size_t)snprintf(
        out, size, "%.0f of %.0f %s judged", j->judged, j->of, metric_over_name(metrics[id].over));

    for (enum cause_kind kind = 0; kind < CAUSE_KINDS && len < size; kind++) {
        if (j->excused[kind] <= 0)
            continue;
        len += (size_t)snprintf(
            out + len, size - len, "%s%.0f by %s", before, j->excused[kind], cause_name(kind));
        before = ", ";
    }
}

static bool is_expected(const struct scenario *s, enum metric_id id)
{
    for (size_t i = 0; i < s->expect_count; i++) {
        if (strcmp(s->expect[i].metric, metrics[id].name) == 0)
            return true;
    }
    return false;
}

// Returns the item of `judged` that names this invariant, or NULL.
static const struct judged_least *judged_item(const struct scenario *s, enum metric_id id)
{
    for (size_t i = 0; i < s->judged_count; i++) {
        if (strcmp(s->judged[i].invariant, metrics[id].name) == 0)
            return &s->judged[i];
    }
    return NULL;
}

void check_judged(struct result *r, const struct scenario *s)
{
    const double share_of_expected = 0.5;
    char text[200];

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct judged_least *asked = judged_item(s, id);
        double least = asked ? asked->share : is_expected(s, id) ? share_of_expected : 0;
        bool nothing = r->judged[id].of <= 0;
        if (!metrics[id].invariant || !check_promised(s, id))
            continue;
        // Where nothing could break it, its count is 0: enough for `expect`, not for `judged`.
        if (nothing && asked && least > 0)
            result_reason(r, "nothing showed whether %s is broken; at least %.0f%% must be judged",
                metrics[id].name, 100 * least);
        if (nothing || !result_judged(r, id) || judged_share(&r->judged[id]) >= least)
            continue;
        judged_text(r, id, text, sizeof text);
        result_reason(r, "too little of %s was judged: %s; at least %.0f%% is needed",
            metrics[id].name, text, 100 * least);
    }
}

bool result_judged(const struct result *r, enum metric_id id)
{
    return metrics[id].invariant && !isnan(r->values[id]);
}

// A scenario that names an invariant in `expect` promises it on behalf of its subject. Whether a
// collector is small shows only under a load that is made for it. So the promise `small` counts
// only where the scenario's `needs` names it.
bool check_promised(const struct scenario *s, enum metric_id id)
{
    unsigned promise = metrics[id].promise;
    unsigned asked = (unsigned)s->collector.promises & ~(unsigned)(PROMISE_SMALL & ~s->needs);

    return metric_is_for(id, s) && (promise == 0 || (asked & promise) || is_expected(s, id));
}

// Appends " (lead promises)"; nothing when there are no promises.
static void append_promise_words(const char *lead, unsigned promises, struct buf *out)
{
    if (!promises)
        return;
    buf_printf(out, " (%s ", lead);
    words_print(promise_words, (int)promises, out);
    buf_append_char(out, ')');
}

void unpromised_text(const struct scenario *s, struct buf *out)
{
    const char *before = "";
    unsigned missing = 0;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (!metrics[id].invariant || !metric_is_for(id, s) || check_promised(s, id))
            continue;
        buf_printf(out, "%s%s", before, metrics[id].name);
        before = ", ";
        missing |= metrics[id].promise;
    }
    append_promise_words("not promised:", missing & ~(unsigned)s->collector.promises, out);
    append_promise_words(
        "not among the scenario's needs:", missing & (unsigned)s->collector.promises, out);
}
