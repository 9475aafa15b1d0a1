// Puts together what can have held a collector up: faults, stalls and waits for a processor. No
// other file combines them.
//
// Faults take whole spans of time. An invariant asks the timeline for the part of a time that no
// fault takes, and passes this part on to the functions here. Slow faults make a token's way
// longer, so they add to the slack. Two things take only a part of a time:
// - A stall of the harness, the machine or the server. It may delay two steps of a token's way, so
//   it explains twice its length.
// - A wait for a processor that others caused. A wait of up to slack/2 explains nothing, because
//   every machine shows it.
#include "check/inside.h"

struct free_time check_slack(const struct check *c, int64_t from_ns, int64_t until_ns)
{
    struct free_time slowed = timeline_allowance(&c->timeline, from_ns, until_ns);

    return (struct free_time){.ns = c->r->slack_ns + slowed.ns, .cause = slowed.cause};
}

// Returns how long others kept the processors from a process; ANY_PROCESS: from the one that waited
// longest; NO_PROCESS: 0.
static int64_t denied_ns(const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    int64_t longest_ns = 0;

    if (process < c->l->log->process_count)
        longest_ns = check_denied_ns(c->l, process, from_ns, until_ns);
    for (uint32_t i = 0; process == ANY_PROCESS && i < c->l->log->process_count; i++) {
        const struct process_record *p = &c->l->log->processes[i];
        if (p->started_ns < until_ns && p->ended_ns > from_ns)
            longest_ns = clock_max(longest_ns, check_denied_ns(c->l, i, from_ns, until_ns));
    }
    return longest_ns;
}

// Returns a wait for a processor, or 0 where it is at most slack/2, which every machine shows.
static int64_t felt_ns(const struct check *c, int64_t waited_ns)
{
    return waited_ns > c->r->slack_ns / 2 ? waited_ns : 0;
}

struct left check_left(const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns,
    int64_t free_ns, int steps)
{
    int64_t ns = free_ns - steps * stall_list_ns(&c->stalls, from_ns, until_ns);
    int64_t waited_ns = denied_ns(c, process, from_ns, until_ns);

    return (struct left){.ns = ns - waited_ns, .felt_ns = ns - felt_ns(c, waited_ns)};
}

struct cause check_explained_by(
    const struct check *c, uint32_t process, int64_t from_ns, int64_t until_ns, int64_t beyond_ns)
{
    // A stall may delay two steps of a token's way.
    if (beyond_ns <= 2 * stall_list_ns(&c->stalls, from_ns, until_ns))
        return stall_list_touches(&c->stalls, from_ns, until_ns, 0);
    if (beyond_ns <= felt_ns(c, denied_ns(c, process, from_ns, until_ns)))
        return (struct cause){CAUSE_PROCESSORS, process};
    return CAUSE_IS_NONE;
}

struct cause check_kept_by(const struct check *c, uint32_t process, int64_t from_ns,
    int64_t until_ns, int64_t least_ns, struct cause fault)
{
    if (fault.kind == CAUSE_NONE)
        fault = stall_list_touches(&c->stalls, from_ns, until_ns, least_ns);
    if (fault.kind == CAUSE_NONE && felt_ns(c, denied_ns(c, process, from_ns, until_ns)) > 0)
        return (struct cause){CAUSE_PROCESSORS, process};
    return fault;
}

int64_t check_written_ns(const struct check *c, const struct line_record *line)
{
    int writer = c->l->log->processes[line->process].instance;
    const struct span *span = timeline_span(&c->timeline, writer, line->empty_ns, line->read_ns);
    struct cause stall = stall_list_touches(&c->stalls, line->empty_ns, line->read_ns, 0);
    int64_t kept_ns = span ? span->from_ns : CLOCK_NEVER;

    if (stall.kind != CAUSE_NONE)
        kept_ns = clock_min(kept_ns, c->stalls.items[stall.index].from_ns);
    // Until the span or the stall began, the reader read each line at once. So this line was not
    // there before.
    return clock_min(clock_max(line->empty_ns, kept_ns), line->read_ns);
}

int64_t check_unread_ns(const struct check *c, int instance, int64_t from_ns, int64_t until_ns)
{
    int64_t unread_ns = stall_list_ns(&c->stalls, from_ns, until_ns), done_ns = from_ns;

    for (const struct strike *k = NULL;
         (k = timeline_strike(&c->timeline, k, instance, from_ns, until_ns));)
        if (k->verb->takes & THING_READER)
            unread_ns += timeline_strike_takes_ns(k, &done_ns, until_ns);
    return unread_ns;
}

int64_t check_awake_ns(const struct check *c, int instance, int64_t from_ns, int64_t until_ns)
{
    int64_t free_ns = timeline_free(&c->timeline, instance, from_ns, until_ns).ns;
    int64_t ns = free_ns - stall_list_ns(&c->stalls, from_ns, until_ns);

    for (uint32_t i = 0; i < c->l->log->process_count; i++) {
        const struct process_record *p = &c->l->log->processes[i];
        if (p->instance == instance && p->started_ns < until_ns && p->ended_ns > from_ns)
            ns -= check_starved_ns(c->l, i, from_ns, until_ns);
    }
    return ns;
}

struct sight check_seen(const struct check *c, int64_t at_ns, int64_t until_ns)
{
    return (struct sight){.by_ns = stall_list_over_ns(&c->stalls, at_ns) + c->r->slack_ns,
        .cause = timeline_disturbed_by(&c->timeline, ANY_INSTANCE, at_ns, until_ns)};
}
