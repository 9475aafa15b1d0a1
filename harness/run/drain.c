// The steps from the end of the load to the end of the collector.
#include "run/run.h"

#include "os/interrupt.h"
#include "postgres/migrate.h"
#include "run/subject_queue.h"
#include "scenario/leased.h"

static const int64_t load_end_limit_ns = 10 * NS_PER_S;
static const int64_t collector_end_ns = 5 * NS_PER_S;

// Waits for the end of the load, stores its records in the ledger, and asks the database for the
// outcome of the transactions that got no answer.
static bool join_load(struct run *r, struct err *e)
{
    bool none = false;

    if (!generator_join(&r->generator, e))
        return false;
    r->ledger.txns = r->generator.result.records;
    if (!ledger_take_changes(&r->ledger, r->generator.result.changes, e))
        return false;
    r->ledger.faults = r->faults;
    r->ledger.fault_count = r->plan.fault_count;
    // In two cases the database cannot say whether an unanswered transaction committed. A server
    // that did not start again gives no answers. And a subject's own client does not insert into
    // mailproof_sent in the job's transaction, as the generator does, so a put that got no answer
    // stays unknown.
    if (!r->server.running || manifest_is_client(&r->queue.manifest))
        return true;
    // A backend may still commit after its client is gone. So the outcome of an unanswered
    // transaction is known only when all backends of the load have ended.
    int64_t deadline = clock_now_ns() + load_end_limit_ns;
    while (!none) {
        if (!run_count_is(r,
                "SELECT count(*) FROM pg_stat_activity WHERE usename = '" MIGRATE_LOAD "'", "0",
                &none, e))
            return false;
        if (!none && clock_now_ns() > deadline)
            return err_set(e, ERR_SYSTEM, "backends of the load were still there after 10 s");
        if (!none && !interrupt_sleep(RUN_TICK_NS / 10, e))
            return false;
    }
    return ledger_settle_unknown(&r->ledger, r->context.admin, e);
}

// Returns how many tokens must become dead letters; 0 for a collector that keeps no dead letters.
static size_t count_undeliverable(const struct run *r)
{
    size_t count = 0;

    for (uint32_t token = 0; token < r->plan.token_count; token++)
        count += ledger_committed(&r->ledger, token) && token_kind_unsendable(r->plan.kinds[token]);
    return scenario_keeps_dead_letters(r->scenario) ? count : 0;
}

// True when at least `count` tokens are in the table of dead letters. Only this table shows that a
// collector has moved past a token that cannot be sent. False without an answer, for example from
// an old schema without the table.
static bool are_dead_letters_there(struct run *r, size_t count)
{
    char sql[80];
    bool buried = false;
    struct err unanswered;

    snprintf(
        sql, sizeof sql, "SELECT (count(DISTINCT token) >= %zu)::int FROM dead_letters", count);
    return count == 0 || (run_count_is(r, sql, "1", &buried, &unanswered) && buried);
}

// True when every token is finished; call it when all tokens were read.
static bool are_all_finished(struct run *r)
{
    bool none = false;
    struct leased m;
    struct err unanswered;

    // A job was read when its handler began. It is finished when the database has its completion.
    if (scenario_is_queue(r->scenario))
        return queue_is_done(r);
    leased_read(&m, r->scenario);
    // Outside of leased mode a token that was read is finished. In a collector's own tables the
    // harness cannot look for more.
    if (!m.on || r->scenario->collector.layout != LAYOUT_REFERENCE)
        return true;
    // In leased mode a token stays in deliveries until it has an outcome.
    return subject_answered(r->subject) &&
           run_count_is(r, "SELECT count(*) FROM deliveries", "0", &none, &unanswered) && none;
}

// Waits until every expected token was read, all dead letters are there and all tokens are
// finished, for the scenario's `drain` at most. Then waits until no token has come for the
// scenario's `rest`, because a collector may repeat tokens after a pause. It may repeat them for
// ever, so this second wait ends at `drain` + `rest`. *rested: both waits reached their goal.
// Returns false only on failure or interrupt.
static bool wait_for_deliveries(struct run *r, bool *rested, struct err *e)
{
    size_t undeliverable = count_undeliverable(r);
    int64_t deadline = clock_now_ns() + r->scenario->drain_ns, rest_ns = r->scenario->rest_ns;
    uint32_t token = 0; // all tokens before this one were read, or need not be
    uint64_t tokens = 0;
    int64_t last_change_ns = clock_now_ns();
    bool complete = false;

    *rested = false;
    for (;;) {
        int64_t now = clock_now_ns();
        while (token < r->plan.token_count &&
               (!ledger_must_come(&r->ledger, token) || subject_seen_ns(r->subject, token)))
            token++;
        if (tokens != subject_tokens(r->subject)) {
            tokens = subject_tokens(r->subject);
            last_change_ns = now;
        }
        // These two functions ask the database. So they are called only when all tokens were read,
        // and not again after both were true.
        if (!complete && token == r->plan.token_count)
            complete = are_dead_letters_there(r, undeliverable) && are_all_finished(r);
        *rested = complete && now - last_change_ns >= rest_ns;
        if (*rested || now >= deadline + (complete ? rest_ns : 0) ||
            subject_gave_up(r->subject, &r->end.gave_up))
            break;
        if (subject_failed(r->subject, e))
            return false;
        run_show(r, r->context.begun_count, "drain");
        if (!interrupt_sleep_until(now + RUN_TICK_NS))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return true;
}

// Counts round trips by the server's ReadyForQuery messages ('Z'), one for each query.
void run_count_trips(struct run *r)
{
    unsigned counts[2][256];

    if (!r->options.count_trips || !r->context.proxy)
        return;
    proxy_tally(r->context.proxy, counts);
    r->trips += counts[MESSAGE_SERVER]['Z'];
}

bool run_drain(struct run *r, struct err *e)
{
    bool rested = false;

    r->ledger.load_end_ns = clock_now_ns();
    if (r->end.gave_up.kind != ERR_NONE || r->end.input.interrupted)
        atomic_store(&r->generator.progress.stop, 1);
    if (!join_load(r, e) || !wait_for_deliveries(r, &rested, e))
        return false;
    observers_end_samples(&r->observers, &r->ledger);
    run_count_trips(r);
    // The checks take drain_end_ns for the time of the collector's TERM, and judge how soon it ends
    // after that. So everything slow is done before. With another segment to follow, no TERM comes.
    r->ledger.drain_end_ns = clock_now_ns();
    if (!run_prepare_next(r, rested, e))
        return false;
    if (!r->next_segment.ready)
        subject_stop(r->subject, collector_end_ns);
    observers_end_probes(&r->observers, &r->ledger);
    if (!r->options.quiet)
        progress_end(&r->progress.line);
    return !subject_failed(r->subject, e);
}
