// From one segment of a soak to the next. All tokens of a segment are settled when it ends: its
// rest has passed, its tables were read, and nothing waits. So the harness forgets these tokens and
// keeps only the segment's history file. A token of an earlier segment that comes again is a
// duplicate.
#include "run/run.h"

#include <malloc.h>
#include <stdlib.h>

#include "postgres/sql.h"
#include "run_sql.h"

bool run_make_turn(struct run *r, bool rested, struct err *e)
{
    const struct segment *segment = &r->options->segment;
    struct turned *t = &r->turned;
    const struct subject_turn turn = {
        .plan = &t->plan,
        .seed = segment->next ? segment->next->seed : 0,
        .old_dir = r->folder.logs,
        .log_dir = t->folder.logs,
    };

    // A collector that is not at rest may have tokens in hand that the next segment's plan does not
    // know.
    if (!segment->next || !rested || r->end.gave_up.kind != ERR_NONE || r->end.input.interrupted)
        return true;
    if (!plan_make(&t->plan, segment->next, e) ||
        !folder_make(&t->folder, segment->next, r->options->out, e))
        return false;
    t->plan.segment = segment->number + 1;
    provider_fetch_log(&r->server);
    t->log_from = provider_log_length(&r->server);
    t->made = subject_turn(r->subject, &turn, &t->log, &t->cost, e);
    return t->made;
}

struct subject_log *run_log(struct run *r)
{
    return r->turned.made ? &r->turned.log : subject_log(r->subject);
}

const struct subject_cost *run_cost(const struct run *r)
{
    return r->turned.made ? &r->turned.cost : subject_cost(r->subject);
}

// True when server and collector go on into the next segment. A token that was lost, or that was
// written and not confirmed, could rightly come in a later segment, where it would count as a
// duplicate. In that case the collector ends with this segment.
bool run_goes_on(const struct run *r)
{
    const unsigned open = TOKEN_WAITING | TOKEN_UNMARKED;

    if (!r->turned.made || r->end.result.findings[METRIC_LOST].count > 0)
        return false;
    for (size_t t = 0; t < r->plan.token_count; t++) {
        if (r->ledger.tokens[t].deliveries > 0 && (r->ledger.tokens[t].flags & open))
            return false;
    }
    return true;
}

// Returns the number of processes in the log that have not ended.
static size_t living(const struct subject_log *log)
{
    size_t count = 0;

    for (size_t i = 0; i < log->process_count; i++)
        count += log->processes[i].ended_ns == CLOCK_NEVER;
    return count;
}

void run_forget(struct run *r)
{
    r->context.begun = NULL;
    r->context.begun_count = 0;
    observers_fini(&r->observers);
    result_fini(&r->end.result);
    sessions_fini(&r->end.sessions);
    secret_scan_fini(&r->end.tells);
    ledger_fini(&r->ledger);
    generator_fini(&r->generator);
    free(r->faults);
    plan_fini(&r->plan);
    folder_fini(&r->folder);
    subject_log_fini(&r->turned.log);
    stalls_fini(&r->turned.cost.stalls);
    // run_end calls this function again, so no pointer may be left to what was freed.
    r->faults = NULL;
    r->observers = (struct observers){0};
    r->generator = (struct generator){0};
    r->progress = (struct run_progress){0};
    r->end = (struct run_end){0};
}

// Turns the run into the next segment's. The tables of accounts and tokens begin empty again, as if
// an application had dropped old rows. The queue's own state, such as its cursor, stays.
bool run_take_up(struct run *r, struct err *e)
{
    r->carried = living(&r->turned.log);
    run_forget(r);
    r->plan = r->turned.plan;
    r->folder = r->turned.folder;
    r->log_from = r->turned.log_from;
    r->turned = (struct turned){0};
    // Returns freed memory to the system. Otherwise the harness would grow for many hours, because
    // of the holes between the blocks that it keeps.
    malloc_trim(0);
    return sql_exec(r->context.admin, run_sql_forget, e) && run_prepare_load(r, e) &&
           run_make_backlog(r, e);
}
