// Lists the blows that stop the subject: of the plan's faults, and the deaths of the sender that
// the harness plays.
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "check/check.h"
#include "check/harm.h"
#include "check/sources/sources.h"

// What only slows the subject or burdens its server is no blow, except where nobody can say by how
// much it slows.
static bool is_blow(const struct scenario *s, const struct fault_spec *f)
{
    bool measured = f->verb->params & PARAM_BY;

    return harm_of(s, f) != HARM_NONE && f->verb->does != BURDENS && !measured &&
           f->verb->hits != HITS_SENDER;
}

static int instance_of(const struct scenario *s, const struct fault_spec *f)
{
    bool one = (f->verb->params & PARAM_INSTANCE) && f->instance >= 0;

    return one && s->collector.instances > 1 ? f->instance : EVERY;
}

static void add(struct sources *s, struct strike strike)
{
    s->strikes[s->strike_count++] = strike;
}

static bool is_death(const struct delivery *d)
{
    return d->reply == REPLY_DIED && d->replied_ns != 0;
}

// The sender's end takes the process with it, as the reference collector promises.
static struct strike death_of(const struct ledger *l, const struct delivery *d)
{
    uint32_t process = l->log->lines[d->line].process;
    const struct process_record *p = &l->log->processes[process];

    return (struct strike){.struck_ns = d->replied_ns,
        .undone_ns = clock_min(p->ended_ns, d->replied_ns + harm_sender_died_ns(l->scenario)),
        .instance = l->scenario->collector.instances > 1 ? p->instance : EVERY,
        .verb = &verbs[VERB_KILL_SENDER],
        .cause = {CAUSE_SENDER, process}};
}

static int compare(const void *a, const void *b)
{
    int64_t x = ((const struct strike *)a)->struck_ns, y = ((const struct strike *)b)->struck_ns;

    return (x > y) - (x < y);
}

bool strikes_make(struct sources *s, struct err *e)
{
    const struct ledger *l = s->l;
    size_t most = l->fault_count + 1;

    for (size_t i = 0; i < l->log->delivery_count; i++)
        most += is_death(&l->log->deliveries[i]);
    s->strikes = calloc(most, sizeof *s->strikes);
    if (!s->strikes)
        return err_memory(e);
    for (uint32_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        bool kill = f->spec->verb->id == VERB_KILL_SENDER;
        if (f->began_ns && (kill || is_blow(l->scenario, f->spec)))
            add(s, (struct strike){f->began_ns, f->ended_ns, instance_of(l->scenario, f->spec),
                       f->spec->verb, f->spec->for_ns == FOR_REST, {CAUSE_FAULT, i}});
    }
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        if (is_death(&l->log->deliveries[i]))
            add(s, death_of(l, &l->log->deliveries[i]));
    }
    qsort(s->strikes, s->strike_count, sizeof *s->strikes, compare);
    return true;
}

bool strike_is_taken_over(const struct sources *s, const struct strike *k)
{
    bool unread = k->verb->hits == HITS_READER && k->verb->ends == ENDS_NOTHING;

    return k->instance != EVERY && !check_shares(s->l->scenario) && !unread;
}

void sources_span(struct sources *s, struct span span)
{
    if (span.until_ns <= span.from_ns)
        return;
    if (!array_grow(&s->out->spans, s->out->span_count, 1, sizeof span)) {
        s->full = true;
        return;
    }
    s->out->spans[s->out->span_count++] = span;
}
