// The claims of a story: what the checks must find in it.
//
// Claims are no events. They have a small grammar of their own, with commas and brackets, so that
// they look like a line of a report: "late 1, judged late 3 of 5 (fault 2)". An invariant whose
// number no claim gives must hold, so that a story also shows what its author did not expect.
#include <ctype.h>
#include <math.h>

#include "story/event.h"

// --- reading --------------------------------------------------------------------------------

static bool read_claim_number(struct words *w, double *number, struct err *e)
{
    struct origin at;
    char word[32], *end;

    words_next(w, word, sizeof word, &at);
    *number = strtod(word, &end);
    return (isdigit((unsigned char)*word) && *end == '\0' && isfinite(*number)) ||
           origin_err(&at, e, "'%s' should be a number", word);
}

static bool read_expected(struct words *w, const char *wanted, struct err *e)
{
    struct origin at;
    char word[32];

    words_next(w, word, sizeof word, &at);
    return strcmp(word, wanted) == 0 || origin_err(&at, e, "'%s' should be '%s'", word, wanted);
}

// Takes `word` as the name of the claim's metric; with `invariant`, it must be an invariant.
static bool read_metric(
    const char *word, const struct origin *at, bool invariant, struct claim *claim, struct err *e)
{
    const struct metric *m = metric_named(word, invariant, e);

    if (!m)
        return err_prefix(e, "%s:%zu:%zu", at->file, at->line, at->column);
    claim->metric = m->id;
    return true;
}

// Reads "fault 2": the cause, and how much it excuses.
static bool read_cause(struct words *w, struct claim *claim, struct err *e)
{
    const char *known[CAUSE_KINDS];
    struct origin at;
    char word[32];

    for (enum cause_kind kind = 0; kind < CAUSE_KINDS; kind++)
        known[kind] = cause_name(kind);
    words_next(w, word, sizeof word, &at);
    size_t kind = words_find(&at, word, known, CAUSE_KINDS, e);
    return kind < CAUSE_KINDS && read_claim_number(w, &claim->excused[kind], e);
}

// Reads "late 3 of 5 (fault 2, stall 0)".
static bool read_judged(struct words *w, struct claim *claim, struct err *e)
{
    struct origin at;
    char word[64];

    claim->what = CLAIM_JUDGED;
    for (enum cause_kind kind = 0; kind < CAUSE_KINDS; kind++)
        claim->excused[kind] = -1; // nothing is claimed about this cause
    words_next(w, word, sizeof word, &at);
    if (!read_metric(word, &at, true, claim, e) || !read_claim_number(w, &claim->number, e) ||
        !read_expected(w, "of", e) || !read_claim_number(w, &claim->of, e))
        return false;
    w->at += strspn(w->at, " \t");
    if (*w->at != '(')
        return true;
    do {
        words_next(w, word, sizeof word, &at); // '(' or ','
        if (!read_cause(w, claim, e))
            return false;
        w->at += strspn(w->at, " \t");
    } while (*w->at == ',');
    return read_expected(w, ")", e);
}

// Reads one claim: "judged …", "says …", "verdict …", or a metric and its number.
static bool read_claim(struct words *w, struct claim *claim, struct err *e)
{
    const char *known[VERDICT_MISSED + 1];
    struct origin at;
    char word[256];

    words_next(w, word, sizeof word, &claim->origin);
    if (strcmp(word, "judged") == 0)
        return read_judged(w, claim, e);
    if (strcmp(word, "says") == 0) {
        words_next(w, word, sizeof word, &at);
        claim->what = CLAIM_SAYS;
        return words_unquote(w, &at, word, &claim->says, e);
    }
    if (strcmp(word, "verdict") == 0) {
        for (enum verdict v = VERDICT_PASS; v <= VERDICT_MISSED; v++)
            known[v] = verdict_name(v);
        words_next(w, word, sizeof word, &at);
        claim->what = CLAIM_VERDICT;
        claim->verdict = (enum verdict)words_find(&at, word, known, VERDICT_MISSED + 1, e);
        return claim->verdict <= VERDICT_MISSED;
    }
    claim->what = CLAIM_METRIC;
    if (!read_metric(word, &claim->origin, false, claim, e))
        return false;
    w->at += strspn(w->at, " \t");
    // `some` claims any number above 0, where the number depends on chance; NAN stands for it.
    if (strncmp(w->at, "some", 4) != 0)
        return read_claim_number(w, &claim->number, e);
    w->at += 4;
    claim->number = NAN;
    return true;
}

bool claims_read(struct words *w, struct err *e)
{
    struct story *t = w->story;
    struct origin at;
    char comma[8];

    do {
        struct claim claim = {0};
        if (!read_claim(w, &claim, e))
            return false;
        memory_grow(&t->claims, t->claim_count, 1, sizeof *t->claims);
        t->claims[t->claim_count++] = claim;
        words_next(w, comma, sizeof comma, &at);
    } while (strcmp(comma, ",") == 0);
    return *comma == '\0' || origin_err(&at, e, "'%s' should be a comma, or nothing", comma);
}

// --- comparing ------------------------------------------------------------------------------

// Returns the value that a claim is compared with; for an invariant, the number of its findings if
// it is broken, or else 0.
static double value_of(const struct result *r, enum metric_id id)
{
    if (metrics[id].invariant)
        return r->broken[id] ? (double)r->findings[id].count : 0;
    return r->values[id];
}

// True when a reason of the verdict, or an example of a finding, has this text.
static bool claim_says(const struct result *r, const char *text)
{
    for (size_t i = 0; i < r->reason_count; i++)
        if (strstr(r->reasons[i], text))
            return true;
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        for (size_t i = 0; i < r->findings[id].example_count; i++)
            if (strstr(r->findings[id].examples[i], text))
                return true;
    return false;
}

// True when both numbers are equal to three decimals, as reports print them.
static bool nearly_equal(double a, double b)
{
    return fabs(a - b) < 0.0005 || (isnan(a) && isnan(b));
}

static bool holds_judged(const struct claim *c, const struct result *r)
{
    const struct judged *j = &r->judged[c->metric];
    bool holds = nearly_equal(j->judged, c->number) && nearly_equal(j->of, c->of);

    for (enum cause_kind kind = 0; kind < CAUSE_KINDS; kind++)
        holds = holds && (c->excused[kind] < 0 || nearly_equal(j->excused[kind], c->excused[kind]));
    return holds;
}

// Returns whether a claim holds. If it does not, *e says how the result differs.
static bool claim_holds(const struct claim *c, const struct result *r, struct err *e)
{
    const struct origin *at = &c->origin;
    char text[200];

    // NAN stands for `some`: any number above 0.
    bool some = c->what == CLAIM_METRIC && isnan(c->number);

    if (some && !(value_of(r, c->metric) > 0))
        return origin_err(at, e, "%s is %g", metrics[c->metric].name, value_of(r, c->metric));
    if (c->what == CLAIM_METRIC && !some && !nearly_equal(value_of(r, c->metric), c->number))
        return origin_err(at, e, "%s is %g and not %g", metrics[c->metric].name,
            value_of(r, c->metric), c->number);
    if (c->what == CLAIM_VERDICT && r->verdict != c->verdict)
        return origin_err(at, e, "the verdict is %s and not %s%s%s", verdict_name(r->verdict),
            verdict_name(c->verdict), r->reason_count ? "; " : "", r->reasons[0]);
    if (c->what == CLAIM_SAYS && !claim_says(r, c->says))
        return origin_err(at, e, "nothing says \"%s\"", c->says);
    if (c->what == CLAIM_JUDGED && !holds_judged(c, r)) {
        judged_text(r, c->metric, text, sizeof text);
        return origin_err(at, e, "%g of %g were judged: %s", r->judged[c->metric].judged,
            r->judged[c->metric].of, text);
    }
    return true;
}

// Appends how a result differs. Returns false.
static bool append_difference(struct buf *out, const struct err *e)
{
    buf_printf(out, "%s\n", e->text);
    return false;
}

bool story_holds(const struct story *t, const struct result *r, struct buf *out)
{
    bool named[METRIC_COUNT] = {false}, verdict = false, broken = false, all = true;
    struct err e;

    // Without any claim, nothing has to hold.
    if (t->claim_count == 0)
        return true;
    const struct origin *first = &t->claims[0].origin;
    for (size_t i = 0; i < t->claim_count; i++) {
        const struct claim *c = &t->claims[i];
        named[c->metric] = named[c->metric] || c->what == CLAIM_METRIC;
        // A story that claims a broken invariant thereby claims the verdict violated, unless it
        // names a verdict.
        broken =
            broken || (c->what == CLAIM_METRIC && metrics[c->metric].invariant && c->number != 0);
        verdict = verdict || c->what == CLAIM_VERDICT;
        all = (claim_holds(c, r, &e) || append_difference(out, &e)) && all;
    }
    // An invariant whose number no claim gives must not be broken.
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (!r->broken[id] || named[id])
            continue;
        origin_err(first, &e, "%s is %llu and not 0: %s", metrics[id].name,
            (unsigned long long)r->findings[id].count, r->findings[id].examples[0]);
        all = append_difference(out, &e);
    }
    if (verdict)
        return all;
    const struct claim implied = {.what = CLAIM_VERDICT,
        .verdict = broken ? VERDICT_VIOLATED : VERDICT_PASS,
        .origin = *first};
    return (claim_holds(&implied, r, &e) || append_difference(out, &e)) && all;
}

void story_write_claims(const struct result *r, struct buf *out)
{
    const char *before = "=> ";
    bool broken = false;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (!r->broken[id])
            continue;
        buf_printf(
            out, "%s%s %llu", before, metrics[id].name, (unsigned long long)r->findings[id].count);
        before = ", ";
        broken = true;
    }
    // Claims of broken invariants imply the verdict violated (story_holds).
    if (!broken || r->verdict != VERDICT_VIOLATED)
        buf_printf(out, "%sverdict %s", before, verdict_name(r->verdict));
    buf_append_char(out, '\n');
}
