#include "check/harm.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/check.h"

static const int64_t default_lease_ms = 30000;     // default of MAILROOM_LEASE
static const int64_t default_grace_ms = 500;       // default of MAILROOM_GRACE
static const int64_t sender_died_ns = NS_PER_S;    // a collector may take this long to end after
                                                   // its sender died
static const int64_t unanswered_ns = 5 * NS_PER_S; // a health check has failed after this time
                                                   // without an answer

// --- settings ---------------------------------------------------------------------

static int64_t setting_ns(const struct scenario *s, const char *name, int64_t default_ms)
{
    const long day_ms = 86400000;
    int64_t ms = default_ms;

    for (size_t i = 0; i < s->collector.env.count; i++) {
        const struct setting *v = &s->collector.env.items[i];
        long given = strcmp(v->name, name) == 0 ? atol(v->value) : -1;
        if (given >= 0 && given <= day_ms)
            ms = given;
    }
    return ms * NS_PER_MS;
}

int64_t harm_grace_ns(const struct scenario *s)
{
    return setting_ns(s, "MAILROOM_GRACE", default_grace_ms);
}

int64_t harm_hang_ns(const struct scenario *s)
{
    int64_t check_ns = setting_ns(s, "MAILROOM_HEALTHCHECK_INTERVAL", scenario_healthcheck_ms(s));

    return clock_min(setting_ns(s, "MAILROOM_LEASE", default_lease_ms), check_ns + unanswered_ns);
}

int64_t harm_sender_died_ns(const struct scenario *s)
{
    return sender_died_ns + harm_grace_ns(s);
}

// --- what a fault does ------------------------------------------------------------

enum harm harm_of(const struct scenario *s, const struct fault_spec *f)
{
    const struct verb *v = f->verb;

    if ((v->params & PARAM_TARGET) && f->target == TARGET_LOAD)
        return HARM_NONE;
    switch (v->ends) {
    case ENDS_PROCESSES:
        return HARM_PROCESS;
    case ENDS_SESSIONS:
        return HARM_SESSION;
    case MAY_END_SESSIONS:
        return HARM_FREEZES;
    default:
        break;
    }
    if (v->hits == HITS_READER || v->hits == HITS_SENDER)
        return HARM_OUTPUT;
    // A foreign transaction delays a subject that waits for writers, and no other. Nobody waits for
    // one that writes nothing.
    if (v->does == BURDENS || v->does == HOLDS_UP)
        return (s->collector.promises & PROMISE_WAITS_FOR_WRITERS) && v->id != VERB_OLD_SNAPSHOT
                   ? HARM_SLOWS
                   : HARM_NONE;
    return v->does == STOPS ? HARM_FREEZES : HARM_SLOWS;
}

bool harm_hits_one(const struct scenario *s, const struct fault_spec *f)
{
    enum harm harm = harm_of(s, f);
    bool one = (f->verb->params & PARAM_INSTANCE) && f->instance >= 0;

    // A collector whose output nobody reads stays alive and keeps its turn, as it should.
    return s->collector.instances > 1 && one &&
           (harm == HARM_PROCESS || harm == HARM_FREEZES ||
               (harm == HARM_OUTPUT && check_shares(s)));
}

int64_t harm_carry_on_ns(const struct scenario *s, const struct fault_spec *f)
{
    if (check_shares(s))
        return harm_grace_ns(s);
    return harm_of(s, f) == HARM_PROCESS ? harm_grace_ns(s) + harm_takeover_ns : harm_hang_ns(s);
}
