// Lists the strikes that stop the subject: those of the plan's faults, and the deaths of the sender
// that the harness plays.
//
// A sender that dies (`collector.sender.dies`) counts like the fault kill-sender: it strikes from
// its death until the collector has ended, for 1 s at most.
#include "check/bounds.h"
#include "check/sources/sources.h"

bool strike_is_made_by(const struct scenario *s, const struct fault_spec *f)
{
    const struct verb *v = f->verb;
    bool waits = s->collector.promises & PROMISE_WAITS_FOR_WRITERS;

    if ((v->params & PARAM_TARGET) && f->target == TARGET_LOAD)
        return false; // it hits only sessions of the load
    // A fault with a known step_ns is a slowdown (slowdowns.c).
    if (sources_step_ns(s, f) > 0)
        return false;
    // How long a sender does not answer is measured (senders.c); only its end stops the collector.
    if (v->hits == HITS_SENDER)
        return v->ends == ENDS_PROCESSES;
    return v->does == STOPS || v->does == SLOWS || (v->does == HOLDS_UP && waits);
}

int strike_instance(const struct scenario *s, const struct fault_spec *f)
{
    bool one = (f->verb->params & PARAM_INSTANCE) && f->instance >= 0;

    return one && s->collector.instances > 1 ? f->instance : EVERY;
}

// True when the harness, in the role of the sender that had this delivery, died.
static bool is_death(const struct delivery *d)
{
    return d->reply == REPLY_DIED && d->replied_ns != 0;
}

// Makes a strike of a sender's death. The process ends with its sender, as the reference collector
// promises.
static struct strike death_of(const struct ledger *l, const struct delivery *d)
{
    uint32_t process = l->log->lines[d->line].process;
    const struct process_record *p = &l->log->processes[process];

    return (struct strike){.struck_ns = d->replied_ns,
        .undone_ns = clock_min(p->ended_ns, d->replied_ns + bounds_ending_ns),
        .instance = l->scenario->collector.instances > 1 ? p->instance : EVERY,
        .verb = &verbs[VERB_KILL_SENDER],
        .cause = {CAUSE_SENDER, process}};
}

// Orders strikes by time. At the same time, faults come in their order, and then the deaths of
// senders. With ties, the order would depend on the qsort of the C library.
static int by_strike(const void *a, const void *b)
{
    const struct strike *x = a, *y = b;
    bool x_died = x->cause.kind == CAUSE_SENDER, y_died = y->cause.kind == CAUSE_SENDER;

    if (x->struck_ns != y->struck_ns)
        return x->struck_ns < y->struck_ns ? -1 : 1;
    if (x_died != y_died)
        return x_died ? 1 : -1;
    return (x->cause.index > y->cause.index) - (x->cause.index < y->cause.index);
}

// True when a process of the instance (EVERY: of any) ended after since_ns and before the drain
// did.
static bool has_process_ended(const struct ledger *l, int instance, int64_t since_ns)
{
    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if ((instance == EVERY || p->instance == instance) && p->ended_ns >= since_ns &&
            p->ended_ns < l->drain_end_ns)
            return true;
    }
    return false;
}

// True when nobody starts the struck process again: the fault lasts for the rest of the run, or it
// ended the process of a scenario that restarts none.
static bool is_for_good(const struct ledger *l, const struct fault_record *f)
{
    return f->spec->for_ns == FOR_REST ||
           (!l->scenario->collector.restart && f->spec->verb->ends == ENDS_PROCESSES &&
               has_process_ended(l, strike_instance(l->scenario, f->spec), f->began_ns));
}

// Fills in bound_ns and back_ns. If the strike hit several instances that share the work, it is
// over when the last of them works again. If they take turns, the first one is enough: with EVERY,
// sources_bound_ns and sources_back_ns return the times of the first.
static void fill_in_return(const struct sources *s, struct strike *k)
{
    const struct scenario *sc = s->l->scenario;

    if (k->instance != EVERY || sc->collector.instances == 1 || !scenario_shares(sc)) {
        k->bound_ns = sources_bound_ns(s, k, k->instance);
        k->back_ns = sources_back_ns(s, k, k->instance);
        return;
    }
    for (int i = 0; i < sc->collector.instances; i++) {
        k->bound_ns = clock_max(k->bound_ns, sources_bound_ns(s, k, i));
        k->back_ns = clock_max(k->back_ns, sources_back_ns(s, k, i));
    }
}

void strikes_make(struct sources *s)
{
    const struct ledger *l = s->l;
    struct timeline *t = s->timeline;
    size_t most = l->fault_count;

    for (size_t i = 0; i < l->log->delivery_count; i++)
        most += is_death(&l->log->deliveries[i]);
    t->strikes = memory_zeroed(most, sizeof *t->strikes);
    for (uint32_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        const struct verb *v = f->spec->verb;
        // True when the fault only keeps the reader away or slows it.
        bool reader_only = v->hits == HITS_READER && v->ends == ENDS_NOTHING;
        // A fault that was left out, or still sought its victim at the end, struck nobody.
        if (f->began_ns && strike_is_made_by(l->scenario, f->spec))
            t->strikes[t->strike_count++] = (struct strike){.struck_ns = f->began_ns,
                .undone_ns = f->ended_ns,
                .ready_ns = f->ready_ns,
                .instance = strike_instance(l->scenario, f->spec),
                .verb = v,
                .for_good = is_for_good(l, f),
                .cause = {reader_only ? CAUSE_READER : CAUSE_FAULT, i}};
    }
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        if (is_death(&l->log->deliveries[i]))
            t->strikes[t->strike_count++] = death_of(l, &l->log->deliveries[i]);
    }
    qsort(t->strikes, t->strike_count, sizeof *t->strikes, by_strike);
    for (size_t i = 0; i < t->strike_count; i++)
        fill_in_return(s, &t->strikes[i]);
    // The time of a takeover depends on when the others are back, so it comes in a second pass.
    for (size_t i = 0; i < t->strike_count; i++)
        t->strikes[i].others_ns = sources_others_ns(s, &t->strikes[i]);
}
