#include "metrics/tally.h"

#include "base/log.h"

void tally_init(struct tally *t)
{
    *t = (struct tally){.log_at_ns = CLOCK_NEVER};
}

void tally_add(
    struct tally *t, struct meters *m, const struct passed *p, int64_t dead_letters, int64_t now_ns)
{
    meters_add(m, METER_TOKENS_EXPIRED, (double)p->expired);
    meters_add(m, METER_TOKENS_CONSUMED, (double)p->consumed);
    meters_add(m, METER_TOKENS_STATUS, (double)p->status);
    meters_add(m, METER_TOKENS_DEAD_LETTER, (double)dead_letters);
    t->passed.expired += p->expired;
    t->passed.consumed += p->consumed;
    t->passed.status += p->status;
    t->dead_letters += dead_letters;
    if (t->log_at_ns == CLOCK_NEVER && p->expired + p->consumed + p->status + dead_letters > 0)
        t->log_at_ns = now_ns + NS_PER_S;
}

void tally_log(struct tally *t)
{
    const struct passed *p = &t->passed;

    if (p->expired + p->consumed + p->status > 0)
        log_line("QUEUE",
            "passed over: %" PRId64 " expired unsent, %" PRId64 " consumed, %" PRId64
            " of an account in another status",
            p->expired, p->consumed, p->status);
    if (t->dead_letters > 0)
        log_line("QUEUE", "dead letters: %" PRId64 " %s that a line cannot carry", t->dead_letters,
            NOUN(t->dead_letters, "token", "tokens"));
    tally_init(t);
}
