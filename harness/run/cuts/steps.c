#include "run/cuts/trial.h"

#include "load/txn.h"
#include "postgres/sql.h"

// The most rows in the step with a full batch. More rows would only add messages of the same kinds.
#define ROWS_MAX 12

enum step { STEP_ONE, STEP_TWO, STEP_ONE_MORE, STEP_BATCH, STEP_LAST, STEP_AFTER_CUT };

_Static_assert(STEP_AFTER_CUT + 1 == STEPS, "every step has a name");

// Returns the number of rows for a full batch, one more token, and one that is not to be sent; at
// most ROWS_MAX, so a larger batch is not filled.
static int batch_rows(const struct scenario *s)
{
    int rows = s->collector.batch_limit + 2;

    return rows < ROWS_MAX ? rows : ROWS_MAX;
}

// Plans one transaction a second. The trial itself decides when it sends each of them.
static void make_phases(struct steps *s, const struct scenario *of)
{
    static char name[] = "step";

    for (size_t i = 0; i < STEPS; i++) {
        int rows = i == STEP_TWO ? 2 : i == STEP_BATCH ? batch_rows(of) : 1;
        s->phases[i] = (struct load_phase){
            .name = name,
            .for_ns = NS_PER_S,
            .rate_from = rows,
            .rate_to = rows,
            .arrivals = ARRIVALS_CONSTANT,
            .connections = 1,
            .rows_from = rows,
            .rows_to = rows,
        };
    }
}

// Makes the second token of STEP_TWO a password recovery, and the second of STEP_BATCH one that is
// not to be sent: unsendable or, where the collector keeps no dead letters, consumed.
static void set_kinds(struct steps *s)
{
    const struct plan_txn *two = &s->plan.txns[STEP_TWO], *batch = &s->plan.txns[STEP_BATCH];

    s->plan.kinds[two->first_token + 1] = TOKEN_RECOVERY;
    s->plan.kinds[batch->first_token + 1] =
        scenario_keeps_dead_letters(&s->scenario) ? TOKEN_SHORT_SECRET : TOKEN_CONSUMED;
}

bool steps_init(struct steps *s, const struct scenario *of, struct err *e)
{
    *s = (struct steps){.scenario = *of};
    make_phases(s, of);
    s->scenario.load = s->phases;
    s->scenario.load_count = STEPS;
    s->scenario.faults = NULL;
    s->scenario.fault_count = 0;
    // Expectations are dropped, because they are about the scenario's own load.
    s->scenario.expect = NULL;
    s->scenario.expect_count = 0;
    if (!plan_make(&s->plan, &s->scenario, e))
        return false;
    if (s->plan.txn_count != STEPS)
        return err_set(e, ERR_INTERNAL, "%zu transactions were planned for %d steps",
            s->plan.txn_count, STEPS);
    set_kinds(s);
    // A step that is never sent keeps this outcome.
    for (size_t i = 0; i < STEPS; i++)
        s->records[i].outcome = TXN_NOT_NEEDED;
    return true;
}

void steps_fini(struct steps *s)
{
    plan_fini(&s->plan);
}

// --- the server's side -------------------------------------------------------------

// Reads the answers up to the pipeline's Sync. Returns false if there is an error among them, with
// the first one in e.
static bool take_step_answers(PGconn *conn, struct err *e)
{
    bool ok = true, between = false;

    for (;;) {
        PGresult *result FREED_BY(sql_clear) = PQgetResult(conn);
        ExecStatusType status = PQresultStatus(result);
        if (!result) {
            // PQgetResult returns NULL after the results of each statement. Two NULLs in a row mean
            // that nothing follows.
            if (between)
                return err_set(e, ERR_CONNECTION, "the load's connection is gone");
            between = true;
            continue;
        }
        between = false;
        if (status == PGRES_FATAL_ERROR && ok)
            ok = sql_fail(conn, result, "a step failed", e);
        if (status == PGRES_PIPELINE_SYNC)
            return ok;
    }
}

// Reads the answers to what was sent in the pipeline, and leaves pipeline mode. `sent`: whether it
// could be sent.
static bool finish_pipeline(PGconn *conn, bool sent, struct err *e)
{
    bool ok = sent ? take_step_answers(conn, e) : sql_fail(conn, NULL, "cannot send a step", e);

    if (!PQexitPipelineMode(conn))
        return ok && sql_fail(conn, NULL, "cannot end a pipeline", e);
    return ok;
}

bool steps_prepare(const struct steps *s, PGconn *conn, struct err *e)
{
    // The connection still has the prepared statements of the trial before.
    if (!sql_exec(conn, "DEALLOCATE ALL", e) || !load_prepare(conn, &s->plan, e))
        return false;
    if (!PQenterPipelineMode(conn))
        return sql_fail(conn, NULL, "cannot begin a pipeline", e);
    return finish_pipeline(conn, txn_prepare_all(conn, NULL), e);
}

bool steps_commit(struct steps *s, PGconn *conn, size_t step, int64_t start_ns, struct err *e)
{
    struct txn_record *record = &s->records[step];
    struct plan_txn *txn = &s->plan.txns[step];
    struct buf scratch FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    // Each step enters the pipeline anew, because the same connection also asks simple queries.
    if (!PQenterPipelineMode(conn))
        return sql_fail(conn, NULL, "cannot begin a pipeline", e);
    // The plan cannot know when a trial sends a step, so the time of sending becomes the intended
    // time. A step is one statement, which commits by itself, so no COMMIT is sent later.
    record->sent_ns = record->commit_ns = clock_now_ns();
    txn->at_ns = record->sent_ns - start_ns;
    bool ok = finish_pipeline(conn, txn_send(conn, &s->plan, txn, INSERT_ROW, &scratch), e);
    record->ended_ns = clock_now_ns();
    record->outcome = ok ? TXN_COMMITTED : TXN_ROLLED_BACK;
    return ok;
}
