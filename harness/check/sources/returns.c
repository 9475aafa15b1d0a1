// After a fault, the struck instances have a bounded time in which they must work again.
//
// The bound is `collector.returns_within` (1s) after the fault's end, but
// - twice that after a fault that let no session be opened;
// - recovery_limit after a fault of which the subject was not told;
// - after a fault that ended the process, `starts_within` (500ms) from the next process's start;
// - no time after a fault that only kept the reader away.
//
// The time ends early when one process has written two lines, and the first of them has a token
// whose COMMIT was sent after the fault's end. In leased mode one line more than may be in flight
// takes the place of the two. In a trial of --every-cut and --every-kill the time also ends when as
// many connections as before are open and have rested for 20 ms.
#include "check/bounds.h"
#include "check/lookup.h"
#include "check/sources/sources.h"

// Returns when the next process of the instance (EVERY: of any) started after since_ns;
// CLOCK_NEVER: none did.
static int64_t started_ns(const struct ledger *l, int instance, int64_t since_ns)
{
    int64_t first = CLOCK_NEVER;

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if (p->started_ns > since_ns && (instance == EVERY || p->instance == instance))
            first = clock_min(first, p->started_ns);
    }
    return first;
}

int64_t sources_bound_ns(const struct sources *s, const struct strike *k, int instance)
{
    const struct scenario *sc = s->l->scenario;
    int64_t bound_ns = k->undone_ns + bounds_return_ns(sc, k->verb);

    if (k->verb->ends != ENDS_PROCESSES)
        return bound_ns;
    int64_t start_ns = started_ns(s->l, instance, k->struck_ns);
    // No process has started: nobody starts one (for_good), or the old one survived the fault.
    if (start_ns == CLOCK_NEVER)
        return k->for_good ? CLOCK_NEVER : bound_ns;
    start_ns += scenario_starts_ns(sc);
    // A process that starts before the server is back must also have the time to return.
    return verb_stops_server(k->verb) ? clock_max(start_ns, bound_ns) : start_ns;
}

// Returns when the last of `lines` lines of the process was read, counted from the line `first` on;
// until_ns when fewer were read by then.
static int64_t shown_ns(
    const struct ledger *l, uint32_t process, size_t first, int64_t until_ns, int lines)
{
    for (size_t i = first; i < l->log->line_count && l->log->lines[i].read_ns < until_ns; i++) {
        if (l->log->lines[i].process == process && --lines == 0)
            return l->log->lines[i].read_ns;
    }
    return until_ns;
}

int64_t sources_back_ns(const struct sources *s, const struct strike *k, int instance)
{
    const struct ledger *l = s->l;
    int64_t back_ns = sources_bound_ns(s, k, instance);
    // How many lines a process must have written, from its first fresh one on, to show that it
    // works. The first line alone proves nothing: its tokens may have been in the process's memory,
    // as may those of all lines in flight in leased mode, while its session does not work yet.
    int lines = s->leased.on ? s->leased.in_flight + 1 : 2;

    // Connections that were seen to rest have looked for waiting tokens, so the instance is back.
    if (k->ready_ns > k->undone_ns)
        back_ns = clock_min(back_ns, k->ready_ns);
    for (size_t i = line_after(l->log, k->undone_ns);
         i < l->log->line_count && l->log->lines[i].read_ns < back_ns; i++) {
        const struct line_record *line = &l->log->lines[i];
        const struct process_record *p = &l->log->processes[line->process];
        if ((instance == EVERY || p->instance == instance) && check_is_fresh(l, line, k->undone_ns))
            back_ns = clock_min(back_ns, shown_ns(l, line->process, i, back_ns, lines));
    }
    return back_ns;
}

// Returns the cause that excuses the time until the return. Where the fault ended the process, that
// is the start of another one.
static struct cause cause_of_return(const struct strike *k)
{
    bool starts = k->verb->ends == ENDS_PROCESSES;

    return (struct cause){starts ? CAUSE_START : CAUSE_RETURN, k->cause.index};
}

// Instances that share the work return one by one, so each gets its own span. All are excused until
// the first is back.
static void return_each(struct sources *s, const struct strike *k)
{
    int64_t first_ns = CLOCK_NEVER;

    for (int i = 0; i < s->l->scenario->collector.instances; i++) {
        int64_t back_ns = sources_back_ns(s, k, i);
        sources_add_span(s, (struct span){k->undone_ns, back_ns, i, cause_of_return(k)});
        first_ns = clock_min(first_ns, back_ns);
    }
    sources_add_span(s, (struct span){k->undone_ns, first_ns, EVERY, cause_of_return(k)});
}

void source_returns(struct sources *s)
{
    const struct scenario *sc = s->l->scenario;

    for (size_t i = 0; i < s->timeline->strike_count; i++) {
        const struct strike *k = &s->timeline->strikes[i];
        if (strike_is_taken_over(s, k) || strike_slows_reader(k))
            continue;
        if (k->instance == EVERY && sc->collector.instances > 1 && scenario_shares(sc))
            return_each(s, k);
        else
            sources_add_span(s, (struct span){k->undone_ns, sources_back_ns(s, k, k->instance),
                                    k->instance, cause_of_return(k)});
    }
}
