// Where one collector works and others stand by, one of them takes over from an instance that a
// fault struck, within a time that the collectors promise.
//
// A strike on the instance that had the turn excuses the lines of all: for grace + 1 s after a
// death or a lost session, or for B after a hang or a lost network. B is the shorter of
// MAILROOM_LEASE (30 s) and the health-check interval + 5 s. The time counts from when one of the
// others is free; if that one is struck before it has taken over, the time begins anew on its
// return. The excuse ends early with the return of the struck instance, or with a line of another
// instance that holds a token whose COMMIT was sent after the strike.
//
// A fault on all instances that ended their sessions or processes excuses the same time, from the
// fault's end on. If it only may have ended their sessions, their return alone counts (returns.c).
#include "check/bounds.h"
#include "check/lookup.h"
#include "check/sources/sources.h"

static const int64_t read_within_ns = 100 * NS_PER_MS; // how soon after its writing a line is read

// True when the holder of the turn, which wrote this line, may have lost the turn before until_ns:
// its process ended, or a strike on it ended only after the line was written. The line was written
// at most read_within_ns before it was read.
static bool lost_turn(const struct sources *s, const struct line_record *line, int64_t until_ns)
{
    const struct process_record *p = &s->l->log->processes[line->process];

    for (size_t i = 0;
         i < s->timeline->strike_count && s->timeline->strikes[i].struck_ns < until_ns; i++) {
        const struct strike *k = &s->timeline->strikes[i];
        if ((k->instance == EVERY || k->instance == p->instance) &&
            k->undone_ns >= line->read_ns - read_within_ns)
            return true;
    }
    return p->ended_ns < until_ns;
}

// True when the struck instance may have had the turn: it wrote the last line before the strike, or
// the instance that wrote this line may have lost the turn before the strike.
static bool had_turn(const struct sources *s, const struct strike *k)
{
    const struct subject_log *log = s->l->log;

    for (size_t i = log->line_count; i-- > 0;) {
        const struct line_record *line = &log->lines[i];
        // A line that was read after the strike may be that of an instance that took over then.
        if (line->read_ns > k->struck_ns)
            continue;
        return log->processes[line->process].instance == k->instance ||
               lost_turn(s, line, k->struck_ns);
    }
    // Before the first line nobody knows who has the turn.
    return true;
}

// Returns when the first line was read that shows a takeover: a line of another instance, with a
// token whose COMMIT was sent after the strike. CLOCK_NEVER: there was none before until_ns.
static int64_t taken_ns(const struct ledger *l, const struct strike *k, int64_t until_ns)
{
    for (size_t i = line_after(l->log, k->struck_ns);
         i < l->log->line_count && l->log->lines[i].read_ns < until_ns; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (l->log->processes[line->process].instance != k->instance &&
            check_is_fresh(l, line, k->struck_ns))
            return line->read_ns;
    }
    return CLOCK_NEVER;
}

// To take over from the instance that `k` struck, an instance must watch it for needs_ns. Returns
// when this instance begins to watch, at the earliest when `k` comes; CLOCK_NEVER: it does not.
static int64_t watches_from_ns(
    const struct sources *s, const struct strike *k, int64_t needs_ns, int instance)
{
    int64_t begins_ns = k->struck_ns;

    for (size_t i = 0; i < s->timeline->strike_count && begins_ns != CLOCK_NEVER; i++) {
        const struct strike *other = &s->timeline->strikes[i];
        // Strikes are in the order of time, so this one and all that follow come after the watch.
        if (other->struck_ns > begins_ns + needs_ns)
            break;
        if (other->instance != EVERY && other->instance != instance)
            continue;
        // Before begins_ns the instance does not watch yet, and a strike makes it begin later. A
        // strike in the watch makes it begin anew, unless the takeover is done by then.
        if (other->struck_ns <= begins_ns || taken_ns(s->l, k, other->struck_ns) == CLOCK_NEVER)
            begins_ns = clock_max(begins_ns, other->back_ns);
    }
    return begins_ns;
}

// Returns when the first of the other instances begins to watch the struck one; CLOCK_NEVER: none
// does. One is enough, because it can take the turn.
static int64_t watch_begins_ns(const struct sources *s, const struct strike *k, int64_t needs_ns)
{
    int64_t first_ns = CLOCK_NEVER;

    for (int i = 0; i < s->l->scenario->collector.instances; i++) {
        if (i != k->instance)
            first_ns = clock_min(first_ns, watches_from_ns(s, k, needs_ns, i));
    }
    return first_ns;
}

int64_t sources_others_ns(const struct sources *s, const struct strike *k)
{
    const struct scenario *sc = s->l->scenario;
    bool share = scenario_shares(sc);

    if (k->instance == EVERY || (!share && !strike_is_taken_over(s, k)))
        return CLOCK_NEVER;
    // Where all share the work, the others only wait out the grace of the one that is missing.
    int64_t needs_ns = share ? bounds_grace_ns(sc) : bounds_handover_ns(sc, k->verb);
    int64_t begins_ns = watch_begins_ns(s, k, needs_ns);
    return begins_ns == CLOCK_NEVER ? begins_ns : begins_ns + needs_ns;
}

// Excuses the time until another instance has taken over or must have done so, or the struck
// instance is back.
static void take_over(struct sources *s, const struct strike *k)
{
    int64_t until_ns = clock_min(k->others_ns, k->back_ns);

    until_ns = clock_min(until_ns, taken_ns(s->l, k, until_ns));
    sources_add_span(
        s, (struct span){k->struck_ns, until_ns, EVERY, {CAUSE_TAKEOVER, k->cause.index}});
}

// Excuses the time after a fault that ended all sessions. During the grace only the old holder may
// go on; then another may need its time to take over.
static void take_over_from_all(struct sources *s, const struct strike *k)
{
    int64_t back_ns = sources_back_ns(s, k, EVERY);
    int64_t until_ns = k->undone_ns + bounds_handover_ns(s->l->scenario, k->verb);

    until_ns = clock_min(until_ns, taken_ns(s->l, k, until_ns));
    // The time until the return is excused already (returns.c).
    if (until_ns > back_ns)
        sources_add_span(
            s, (struct span){k->undone_ns, until_ns, EVERY, {CAUSE_TAKEOVER, k->cause.index}});
}

void source_takeovers(struct sources *s)
{
    const struct scenario *sc = s->l->scenario;

    if (sc->collector.instances == 1 || scenario_shares(sc))
        return;
    for (size_t i = 0; i < s->timeline->strike_count; i++) {
        const struct strike *k = &s->timeline->strikes[i];
        bool turn_ended = k->verb->ends == ENDS_SESSIONS || k->verb->ends == ENDS_PROCESSES;
        // A strike on an instance that stood by changes nothing for the tokens.
        if (strike_is_taken_over(s, k) && had_turn(s, k))
            take_over(s, k);
        else if (k->instance == EVERY && turn_ended)
            take_over_from_all(s, k);
    }
}
