// end_state: the collector's tables contradict its output.
//
// It needs the layout `reference`. There are two cases:
// - A token was delivered, but the cursor has not passed it, or it was taken and not confirmed.
// - There is a dead letter that the wire could have carried, that is there twice, or whose token
//   still waits to be taken.
//
// The first case is excused when one of the last processes did not end as it should. It is also
// excused when one exited with 75 or 70, with which its line may be unconfirmed, and
// - the token's line was read within slack of TERM,
// - a fault hit its writer between the line and TERM,
// - or nobody read for half a second between the line and one second after TERM.
//
// Where the work is shared, a confirmation is expected only if nothing disturbed the writer until
// slack after the reading. A collector that dies between line and confirmation leaves the token to
// others, and the run may end before the grace has passed. A token that is confirmed and was not
// delivered is lost, and not counted twice.
// In leased mode a delivered token may have to be tried again, and is judged by its outcome.
#include "check/inside.h"

#include <sys/wait.h>

#include "check/bounds.h"

// How the last processes ended.
struct last_exits {
    bool ended_badly; // a process was killed, or did not end as it should
    bool unconfirmed; // a process's exit code says that its last line may be unconfirmed
};

// Looks at the processes that lived until the end of the drain.
static struct last_exits last_exits_of(const struct check *c)
{
    const struct ledger *l = c->l;
    struct last_exits exits = {0};

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        // An earlier process has a successor, which took over its tokens; a living one has no exit.
        if (p->ended_ns < l->drain_end_ns || p->ended_ns == CLOCK_NEVER)
            continue;
        exits.unconfirmed |= WIFEXITED(p->status) && check_says_unconfirmed(WEXITSTATUS(p->status));
        exits.ended_badly |= check_killed_by_plan(c, p) || !check_ended_as_asked(c, p);
    }
    return exits;
}

// Returns the instance that wrote the token.
static int writer_of(const struct ledger *l, uint32_t token)
{
    return l->log->processes[l->log->lines[l->tokens[token].first_line].process].instance;
}

// True when a fault hit the token's writer between two times.
static bool is_hit(const struct check *c, uint32_t token, int64_t from_ns, int64_t until_ns)
{
    return timeline_disturbed_by(&c->timeline, writer_of(c->l, token), from_ns, until_ns).kind !=
           CAUSE_NONE;
}

// True when nothing disturbed the writer until slack after the line was read, so that it had the
// time to confirm the token. An unconfirmed token goes out again, but the run may end before that.
static bool had_time_to_confirm(const struct check *c, uint32_t token)
{
    int64_t read_ns = ledger_read_ns(c->l, token);

    return !is_hit(c, token, read_ns, read_ns + c->r->slack_ns);
}

// True when the collector may have been unable to confirm the token's line before the end of the
// run, even in the second after TERM: the line came too late for that, a fault hit its writer, or
// nobody read for as long as half of that second.
static bool may_be_unconfirmed(const struct check *c, uint32_t token)
{
    int64_t read_ns = ledger_read_ns(c->l, token), end_ns = c->l->drain_end_ns;

    return read_ns + c->r->slack_ns > end_ns || is_hit(c, token, read_ns, end_ns) ||
           check_unread_ns(c, writer_of(c->l, token), read_ns, end_ns + bounds_ending_ns) >=
               bounds_ending_ns / 2;
}

// Returns how the collector's tables contradict what is known of a token; NULL when they agree. A
// dead letter and the cursor's move past it are one transaction, so a token in dead_letters cannot
// wait.
static const char *contradiction(
    const struct check *c, uint32_t token, const struct last_exits *exits)
{
    const struct ledger *l = c->l;
    const struct ledger_token *t = &l->tokens[token];
    bool shares = scenario_shares(l->scenario);
    bool waits = t->flags & (shares ? TOKEN_UNMARKED : TOKEN_WAITING);

    // In leased mode, dead_letters also has the tokens that were given up (OUTCOME_DEAD).
    if ((t->flags & TOKEN_DEAD_LETTER) && t->outcome != OUTCOME_DEAD &&
        !token_kind_unsendable(l->plan->kinds[token]))
        return "in dead_letters, though the wire can carry it";
    if (t->flags & TOKEN_DEAD_LETTER_AGAIN)
        return "more than once in dead_letters";
    if ((t->flags & TOKEN_DEAD_LETTER) && waits)
        return "in dead_letters, but still waiting in the queue";
    if (!waits || t->deliveries == 0)
        return NULL;
    // A process that did not end as it should may have had no time to confirm its last line.
    if (exits->ended_badly)
        return NULL;
    if (exits->unconfirmed && may_be_unconfirmed(c, token))
        return NULL;
    // The token may have to be tried again; its recorded outcome is judged in leased_outcome.c.
    if (l->scenario->collector.dequeue == DEQUEUE_LEASED)
        return NULL;
    if (!shares)
        return "delivered, but the cursor has not passed it";
    return had_time_to_confirm(c, token) ? "delivered, but not confirmed" : NULL;
}

void check_end_state(const struct check *c)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    struct last_exits exits = last_exits_of(c);
    char name[LEDGER_FULL_NAME_MAX];

    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        const char *wrong = contradiction(c, token, &exits);
        // A token that was never committed is in no table.
        if (ledger_committed(l, token))
            judged_add(r, METRIC_END_STATE, 1, CAUSE_IS_NONE);
        if (!wrong)
            continue;
        ledger_full_name(l, token, name);
        finding_add(r, METRIC_END_STATE, "%s: %s", name, wrong);
    }
}
