#include "scenario/needs.h"

#include "scenario/grammar.h"
#include "scenario/leased.h"
#include "scenario/metric.h"

static bool asks_sharing(const struct scenario *s)
{
    // A queue hands out its jobs in its own way, whatever `dequeue` says, and several consumers
    // share them.
    return s->collector.dequeue == DEQUEUE_SHARED ||
           (scenario_is_queue(s) && s->collector.instances > 1);
}

static bool asks_standby(const struct scenario *s)
{
    return s->collector.dequeue == DEQUEUE_CURSOR && s->collector.instances > 1 &&
           !scenario_is_queue(s);
}

static bool asks_outcome(const struct scenario *s)
{
    return s->collector.dequeue == DEQUEUE_LEASED;
}

static bool asks_budget(const struct scenario *s)
{
    struct leased m;

    leased_read(&m, s);
    return m.budget_per_s > 0;
}

static bool asks_lanes(const struct scenario *s)
{
    struct leased m;

    leased_read(&m, s);
    return m.lanes;
}

// The promises that keys of a scenario ask for, and the first migration with which the reference
// collector can keep them.
static const struct implied {
    enum promise promise;
    bool (*asks)(const struct scenario *s);
    int schema;
} implied[] = {
    {PROMISE_STANDBY, asks_standby, 1},
    {PROMISE_SHARING, asks_sharing, 13},
    {PROMISE_OUTCOME, asks_outcome, 21},
    {PROMISE_BUDGET, asks_budget, 21},
    {PROMISE_LANES, asks_lanes, 21},
};

#define IMPLIED (sizeof implied / sizeof *implied)

// True when the first `len` bytes of `program` are the reference collector's name, in any folder.
static bool is_reference_name(const char *program, size_t len)
{
    static const char name[] = "mailroom-collector";
    const char *base = program + len;

    while (base > program && base[-1] != '/')
        base--;
    return len - (size_t)(base - program) == sizeof name - 1 &&
           strncmp(base, name, sizeof name - 1) == 0;
}

// True when one of the words, which blanks separate, is the reference collector's name.
static bool has_reference_name(const char *words)
{
    const char *word = words + strspn(words, " \t");

    while (*word) {
        size_t len = strcspn(word, " \t");
        if (is_reference_name(word, len))
            return true;
        word += len + strspn(word + len, " \t");
    }
    return false;
}

// True when the reference collector will run. `collector` is the value of --collector; NULL: the
// scenario's own command runs. Each word of a command counts, because `env`, `strace` and the like
// may stand before the collector.
static bool is_reference(const struct scenario *s, const char *collector)
{
    if (collector)
        return strcmp(collector, "reference") == 0 || has_reference_name(collector);
    if (!s->collector.command)
        return true;
    for (char **arg = s->collector.command; *arg; arg++)
        if (is_reference_name(*arg, strlen(*arg)))
            return true;
    return false;
}

void needs_resolve(struct scenario *s, const char *collector, bool promised)
{
    bool reference = is_reference(s, collector);

    if (s->collector.layout == LAYOUT_AUTO)
        s->collector.layout = reference ? LAYOUT_REFERENCE : LAYOUT_FOREIGN;
    // Stated promises stay. Otherwise a foreign command gets the promises that every collector of
    // mail lines is expected to make.
    if (!promised)
        s->collector.promises = reference ? PROMISES_REFERENCE : PROMISES_FOREIGN;
    for (size_t i = 0; i < IMPLIED; i++) {
        if (implied[i].asks(s))
            s->needs |= (int)implied[i].promise;
    }
}

static bool fail_promises(const struct scenario *s, int missing, struct err *e)
{
    struct buf words FREED_BY(buf_fini) = BUF_INIT(1000); // has room for all promises

    words_print(promise_words, missing, &words);
    // The message does not say that the subject breaks these promises: it may keep some that nobody
    // stated.
    return err_set(e, ERR_SKIP,
        scenario_is_queue(s) ? "its subject.yaml quotes no promise of %s"
                             : "it needs %s, not among the subject's promises (collector.promises)",
        buf_str(&words));
}

bool needs_met(const struct scenario *s, struct err *e)
{
    int missing = s->needs & ~s->collector.promises;

    if (missing)
        return fail_promises(s, missing, e);
    for (size_t i = 0; i < IMPLIED; i++) {
        // A subject with another layout has tables of its own, about which the numbers of our
        // migrations say nothing.
        if (!(s->needs & (int)implied[i].promise) || s->collector.layout != LAYOUT_REFERENCE ||
            s->postgres.schema == SCHEMA_LATEST || s->postgres.schema >= implied[i].schema)
            continue;
        return err_set(e, ERR_SKIP,
            "it needs %s, which comes with migration %d; postgres.schema is %d",
            word_name(promise_words, implied[i].promise), implied[i].schema, s->postgres.schema);
    }
    return true;
}

void needs_drop_expectations(struct scenario *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->expect_count; i++) {
        // Never NULL: an expectation about an unknown metric was refused when it was decoded.
        const struct metric *m = metric_find(s->expect[i].metric);
        bool promised = !m->promise || (m->promise & (unsigned)s->collector.promises);
        if (promised && metric_is_for(m->id, s)) {
            s->expect[kept++] = s->expect[i];
            continue;
        }
        free(s->expect[i].metric);
        free(s->expect[i].want);
    }
    s->expect_count = kept;
}
