#include "report/pages/glance.h"

#include <math.h>

// Greatest number of tokens of each state that are put into the page; each takes about 30 bytes.
#define SHOWN_MAX 4000
// Greatest number of groups whose times are listed when no fault explains them.
#define LISTED_MAX 5

// Returns the token's state at the end of the run.
static enum glance_state glance_state(
    const struct ledger *l, const struct result *r, uint32_t token)
{
    const struct ledger_token *t = &l->tokens[token];

    if (t->deliveries > 1)
        return GLANCE_TWICE;
    // A token that a torn line or a forged delivery names is not missing, either.
    if (t->deliveries == 0)
        return ledger_must_come(l, token) && !(t->flags & TOKEN_NAMED) ? GLANCE_MISSING
                                                                       : GLANCE_NONE;
    int64_t waited_ns = ledger_read_ns(l, token) - ledger_txn(l, token)->ended_ns;
    return waited_ns > l->scenario->collector.batch_timeout_ns + r->slack_ns ? GLANCE_LATE
                                                                             : GLANCE_DELIVERED;
}

// Returns when the token was committed; for one of the backlog, the start of the load.
static int64_t committed_ns(const struct ledger *l, uint32_t token)
{
    return clock_max(ledger_txn(l, token)->ended_ns, l->start_ns);
}

// --- groups -----------------------------------------------------------------------------

// Tokens that were committed one after another, each within gap_ns after the one before.
struct group {
    int64_t from_ns, until_ns; // when the first and the last one was committed
};

// Divides sorted times into groups. Returns how many there are.
static size_t group_times(struct group *groups, const int64_t *times, size_t count, int64_t gap_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (n == 0 || times[i] - groups[n - 1].until_ns > gap_ns)
            groups[n++] = (struct group){.from_ns = times[i]};
        groups[n - 1].until_ns = times[i];
    }
    return n;
}

struct nearness {
    const struct verb *verb; // of the faults nearest to the groups; NULL: none, or several verbs
    int64_t farthest_ns;     // longest reach_ns of a group (explains_group)
};

// True when a fault can explain a group of lost or late tokens. Tokens may become late after a
// fault (fault_first): then the fault must have begun before the group. Or the fault takes tokens
// that were committed before it: then it must have begun after the group's start, and the group
// must end at most gap_ns after the fault's end. *reach_ns: the time between the fault's beginning
// and the group's last token (with fault_first) or first token (without).
static bool explains_group(const struct fault_record *f, const struct group *g, bool fault_first,
    int64_t gap_ns, int64_t *reach_ns)
{
    if (f->began_ns == 0 || f->left_out)
        return false;
    *reach_ns = fault_first ? g->until_ns - f->began_ns : f->began_ns - g->from_ns;
    // A group that goes on long after the fault has another cause, too.
    return fault_first ? f->began_ns <= g->from_ns
                       : f->began_ns >= g->from_ns && g->until_ns <= f->ended_ns + gap_ns;
}

// Finds for each group the nearest fault that explains it: the next one or, with fault_first, the
// last one before it. Returns their verb, if they all have the same.
static struct nearness find_nearest(const struct ledger *l, const struct group *groups,
    size_t count, bool fault_first, int64_t gap_ns)
{
    struct nearness n = {0};

    for (size_t g = 0; g < count; g++) {
        const struct verb *verb = NULL;
        int64_t nearest_ns = INT64_MAX, reach_ns = 0;
        for (size_t i = 0; i < l->fault_count; i++) {
            if (!explains_group(&l->faults[i], &groups[g], fault_first, gap_ns, &reach_ns) ||
                reach_ns >= nearest_ns)
                continue;
            nearest_ns = reach_ns;
            verb = l->faults[i].spec->verb;
        }
        // The report has one sentence for all groups. If two groups lie near faults of different
        // verbs, it would be wrong for one of them.
        if (!verb || (g > 0 && verb != n.verb))
            return (struct nearness){.farthest_ns = INT64_MAX};
        n.verb = verb;
        n.farthest_ns = clock_max(nearest_ns, n.farthest_ns);
    }
    return n;
}

// Prints when a group was committed: its start and, if that is more than gap_ns later, its end.
static void print_span(
    const struct ledger *l, const struct group *g, int64_t gap_ns, struct buf *out)
{
    if (g->until_ns - g->from_ns <= gap_ns)
        buf_printf(out, " at %.3f s", ledger_seconds(l, g->from_ns));
    else
        buf_printf(out, " from %.3f to %.3f s", ledger_seconds(l, g->from_ns),
            ledger_seconds(l, g->until_ns));
}

// Appends where the groups lie: near the faults of one verb, or else at which times.
static void append_groups(const struct ledger *l, const struct group *groups, size_t count,
    int64_t gap_ns, struct buf *out)
{
    struct nearness before = find_nearest(l, groups, count, false, gap_ns);
    struct nearness after = find_nearest(l, groups, count, true, gap_ns);
    // A fault may lose tokens that were committed before it, and delay tokens that were committed
    // after it. If there is a fault on each side, the nearer one is named.
    bool is_before = before.verb && (!after.verb || before.farthest_ns <= after.farthest_ns);
    const struct nearness *n = is_before ? &before : &after;

    if (count > 1)
        buf_printf(out, " in %zu groups", count);
    // A fault that is seconds away explains nothing.
    if (n->verb && n->farthest_ns <= gap_ns + NS_PER_S) {
        const struct group all = {groups[0].from_ns, groups[count - 1].until_ns};
        print_span(l, &all, gap_ns, out);
        buf_printf(out, ",%s within %.0f ms %s a %s",
            count > 1                    ? " each"
            : all.until_ns > all.from_ns ? " all"
                                         : "",
            ceil((double)n->farthest_ns / 1e6), is_before ? "before" : "after", n->verb->name);
        return;
    }
    for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
        buf_append_str(out, i > 0 ? "," : count > 1 ? ":" : "");
        print_span(l, &groups[i], gap_ns, out);
    }
    if (count > LISTED_MAX)
        buf_append_str(out, ", …");
}

void glance_groups(const struct report *r, enum metric_id id, struct buf *out)
{
    const enum glance_state state = id == METRIC_LOST         ? GLANCE_MISSING
                                    : id == METRIC_DUPLICATED ? GLANCE_TWICE
                                    : id == METRIC_LATE       ? GLANCE_LATE
                                                              : GLANCE_NONE;
    const struct ledger *l = r->ledger;
    int64_t *times FREED_BY(memory_free) = NULL;
    size_t count = 0;

    for (uint32_t i = 0; state != GLANCE_NONE && i < l->plan->token_count; i++) {
        if (glance_state(l, r->result, i) != state)
            continue;
        memory_grow(&times, count, 1, sizeof *times);
        times[count++] = committed_ns(l, i);
    }
    // glance_state is simpler than the check. If their numbers differ, the check has counted other
    // tokens, such as undeliverable ones. It is not known here where these lie, so nothing is said.
    if (count > 0 && (double)count == r->result->values[id]) {
        // The tokens of a batch were committed within one batch timeout. Twice that time joins
        // batches that follow each other.
        const int64_t gap_ns = 2 * l->scenario->collector.batch_timeout_ns;
        struct group *groups FREED_BY(memory_free) = memory_allocate(count * sizeof *groups);
        qsort(times, count, sizeof *times, clock_compare);
        size_t n = group_times(groups, times, count, gap_ns);
        buf_printf(out, "%zu %s", count, metrics[id].name);
        append_groups(l, groups, n, gap_ns, out);
    }
}

// --- the picture --------------------------------------------------------------------------

static json_t *glance_seconds(const struct ledger *l, int64_t ns)
{
    return json_real(rint(ledger_seconds(l, ns) * 1e4) / 1e4);
}

// Returns a token as the list [number, state, committed, read, instance, deliveries]. The last
// three are left out if it was never delivered.
static json_t *glance_token_json(const struct ledger *l, uint32_t token, enum glance_state state)
{
    const struct ledger_token *t = &l->tokens[token];
    json_t *row = json_array();

    json_array_append_new(row, json_integer(token));
    json_array_append_new(row, json_integer((json_int_t)state));
    json_array_append_new(row, glance_seconds(l, committed_ns(l, token)));
    if (t->deliveries > 0) {
        const struct line_record *line = &l->log->lines[t->first_line];
        json_array_append_new(row, glance_seconds(l, line->read_ns));
        json_array_append_new(row, json_integer(l->log->processes[line->process].instance));
        json_array_append_new(row, json_integer((json_int_t)t->deliveries));
    }
    return row;
}

// Lists the tokens of each state or, if there are too many, every second, third … of them.
static json_t *tokens_json(const struct report *r)
{
    const struct ledger *l = r->ledger;
    size_t counts[GLANCE_STATES] = {0}, seen[GLANCE_STATES] = {0};
    json_t *list = json_array();

    for (uint32_t i = 0; i < l->plan->token_count; i++)
        counts[glance_state(l, r->result, i)]++;
    for (uint32_t i = 0; i < l->plan->token_count; i++) {
        enum glance_state state = glance_state(l, r->result, i);
        // Each state has a step of its own, so that a few lost tokens are all shown among a million
        // that were delivered.
        size_t every = (counts[state] + SHOWN_MAX - 1) / SHOWN_MAX;
        assert(every > 0); // this token was counted
        if (state != GLANCE_NONE && seen[state]++ % every == 0)
            json_array_append_new(list, glance_token_json(l, i, state));
    }
    return list;
}

// Lists when each process of the collector lived, and whether it ended before its time.
static json_t *processes_json(const struct ledger *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        // At the end of the drain the collectors get TERM. A process that ended earlier has died.
        bool lives = p->ended_ns == CLOCK_NEVER;
        json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:b}", "instance", p->instance,
                                        "from", glance_seconds(l, p->started_ns), "until",
                                        lives ? json_null() : glance_seconds(l, p->ended_ns),
                                        "died", !lives && p->ended_ns < l->drain_end_ns));
    }
    return list;
}

static json_t *groups_json(const struct report *r)
{
    json_t *list = json_array();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        struct buf text FREED_BY(buf_fini) = BUF_INIT(2000);
        if (r->result->broken[id])
            glance_groups(r, id, &text);
        if (text.len > 0 && buf_str(&text))
            json_array_append_new(list, json_string(text.data));
    }
    return list;
}

json_t *glance_json(const struct report *r)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens_json(r), "processes",
        processes_json(r->ledger), "groups", groups_json(r), "until",
        glance_seconds(r->ledger, r->ledger->drain_end_ns));
}
