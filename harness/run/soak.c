// From one segment of a soak to the next. All tokens of a segment are settled when it ends: no
// token has come for the scenario's `rest`, the tables were read, and nothing waits. So the harness
// frees its records of these tokens, and keeps only the segment's files. A token of an earlier
// segment that comes again is a duplicate.
#include "run/run.h"

#include <malloc.h>

#include "postgres/sql.h"
#include "run_sql.h"

bool run_prepare_next(struct run *r, bool rested, struct err *e)
{
    const struct segment *segment = &r->options.segment;
    struct next_segment *next = &r->next_segment;

    // A collector that is not at rest may have tokens in hand that the next segment's plan does not
    // know.
    if (!segment->next || !rested || r->end.gave_up.kind != ERR_NONE || r->end.input.interrupted)
        return true;
    if (!plan_make(&next->plan, segment->next, e) ||
        !folder_make(&next->folder, segment->next, r->options.out, e))
        return false;
    next->plan.segment = segment->number + 1;
    provider_fetch_log(&r->server);
    next->log_from = provider_log_length(&r->server);
    const struct subject_new_log to = {
        .plan = &next->plan,
        .seed = segment->next->seed,
        .old_dir = r->folder.logs,
        .log_dir = next->folder.logs,
    };
    next->ready = subject_begin_log(r->subject, &to, &next->log, &next->cost, e);
    return next->ready;
}

struct subject_log *run_log(struct run *r)
{
    return r->next_segment.ready ? &r->next_segment.log : subject_log(r->subject);
}

const struct subject_cost *run_cost(const struct run *r)
{
    return r->next_segment.ready ? &r->next_segment.cost : subject_cost(r->subject);
}

// True when server and collector run on in the next segment. A token that was lost, or that was
// written and not confirmed, may still come, and would wrongly count as a duplicate in the next
// segment. In that case the collector ends with this segment.
bool run_continues(const struct run *r)
{
    const unsigned open = TOKEN_WAITING | TOKEN_UNMARKED;

    if (!r->next_segment.ready || r->end.result.findings[METRIC_LOST].count > 0)
        return false;
    for (size_t t = 0; t < r->plan.token_count; t++) {
        if (r->ledger.tokens[t].deliveries > 0 && (r->ledger.tokens[t].flags & open))
            return false;
    }
    return true;
}

// Returns the number of processes in the log that have not ended.
static size_t count_living_processes(const struct subject_log *log)
{
    size_t count = 0;

    for (size_t i = 0; i < log->process_count; i++)
        count += log->processes[i].ended_ns == CLOCK_NEVER;
    return count;
}

void run_free_segment(struct run *r)
{
    r->context.begun = NULL;
    r->context.begun_count = 0;
    observers_fini(&r->observers);
    result_fini(&r->end.result);
    sessions_fini(&r->end.sessions);
    secret_scan_fini(&r->end.secrets);
    ledger_fini(&r->ledger);
    generator_fini(&r->generator);
    free(r->faults);
    plan_fini(&r->plan);
    folder_fini(&r->folder);
    subject_log_fini(&r->next_segment.log);
    stalls_fini(&r->next_segment.cost.stalls);
    // run_end calls this function again, which must not free the same memory twice.
    r->faults = NULL;
    r->observers = (struct observers){0};
    r->generator = (struct generator){0};
    r->progress = (struct run_progress){0};
    r->end = (struct end_facts){0};
}

// Turns the run into the run of the next segment. The tables of accounts, tokens, dead letters and
// attempts are emptied, as if an application had dropped old rows. The rest of the queue's state,
// such as its cursor, stays.
bool run_begin_next(struct run *r, struct err *e)
{
    r->carried_processes = count_living_processes(&r->next_segment.log);
    run_free_segment(r);
    r->plan = r->next_segment.plan;
    r->folder = r->next_segment.folder;
    r->log_from = r->next_segment.log_from;
    r->next_segment = (struct next_segment){0};
    // Returns freed memory to the system. Without this call the harness would grow for many hours,
    // because freed memory between blocks in use stays with the process.
    malloc_trim(0);
    return sql_exec(r->context.admin, run_sql_truncate_segment, e) && run_prepare_load(r, e) &&
           run_make_backlog(r, e);
}
