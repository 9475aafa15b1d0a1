// Run by load_test.sh, which starts the server that PGHOST names.
#include <pthread.h>

#include "base/unit.h"
#include "load/load.h"
#include "plan/names.h"

// A run against the server while a second thread disturbs it.
struct fixture {
    struct scenario scenario;
    struct load_phase phases[2];
    struct plan plan;
    struct load_config config;
    struct load_progress progress;
    struct load_result result;
    PGconn *admin;
    const char *disturbance; // SQL that the second thread runs; NULL: none
    atomic_bool over;
};

static PGresult *ask(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    return result;
}

static void execute(PGconn *conn, const char *sql)
{
    PQclear(ask(conn, sql));
}

static void set_up(struct fixture *f, double rate)
{
    *f = (struct fixture){0};
    f->phases[0] = (struct load_phase){.name = "one",
        .for_ns = NS_PER_S,
        .rate_from = rate,
        .rate_to = rate,
        .arrivals = ARRIVALS_CONSTANT,
        .connections = 4,
        .rows_from = 1,
        .rows_to = 1};
    f->scenario = (struct scenario){.name = "x", .seed = 1, .load = f->phases, .load_count = 1};
    f->admin = PQconnectdb("");
    if (PQstatus(f->admin) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(f->admin));
    execute(f->admin, "SET client_min_messages = error; TRUNCATE accounts CASCADE");
}

// Strikes again only after a transaction has ended, so that a slow machine gets on as well.
static void *disturb(void *arg)
{
    struct fixture *f = arg;
    PGconn *conn = PQconnectdb("");
    size_t struck = SIZE_MAX;

    while (!atomic_load(&f->over)) {
        size_t ended = atomic_load(&f->progress.committed) + atomic_load(&f->progress.failed);
        if (ended != struck)
            PQclear(PQexec(conn, f->disturbance));
        struck = ended;
        PQclear(PQexec(conn, "SELECT pg_sleep(0.01)"));
    }
    PQfinish(conn);
    return NULL;
}

static void run(struct fixture *f)
{
    struct err e = {0};
    pthread_t thread = 0;

    if (!plan_make(&f->plan, &f->scenario, &e) || !load_prepare(f->admin, &f->plan, &e))
        fail_msg("%s", e.text);
    f->config = (struct load_config){.conninfo = "user=postgres application_name=generator",
        .plan = &f->plan,
        .scenario = &f->scenario,
        .start_ns = clock_now_ns() + 100 * NS_PER_MS,
        .deadline_ns = clock_now_ns() + 60 * NS_PER_S,
        .end = f->plan.txn_count};
    if (f->disturbance)
        assert_int_equal(pthread_create(&thread, NULL, disturb, f), 0);
    bool ok = load_run(&f->config, &f->progress, &f->result, &e);
    atomic_store(&f->over, true);
    if (f->disturbance)
        pthread_join(thread, NULL);
    if (!ok)
        fail_msg("%s", e.text);
}

static void tear_down(struct fixture *f)
{
    load_result_fini(&f->result);
    plan_fini(&f->plan);
    PQfinish(f->admin);
}

static size_t count(const struct fixture *f, enum txn_outcome outcome)
{
    size_t found = 0;

    for (size_t i = 0; i < f->plan.txn_count; i++)
        found += f->result.records[i].outcome == outcome;
    return found;
}

// Returns for each token, by its number in the plan, whether it is in the database.
static bool *present(struct fixture *f)
{
    bool *there = calloc(f->plan.token_count + 1, sizeof *there);

    assert_non_null(there);
    // The test waits for backends whose client is gone, because they may still commit.
    for (bool gone = false; !gone;) {
        PGresult *left = ask(f->admin, "SELECT pg_stat_clear_snapshot(), count(*)"
                                       " FROM pg_stat_activity WHERE application_name LIKE"
                                       " 'mailproof load%' OR application_name = 'generator'");
        gone = strcmp(PQgetvalue(left, 0, 1), "0") == 0;
        PQclear(left);
    }
    PGresult *rows =
        ask(f->admin, "SELECT substring(login FROM '[0-9]+')::bigint FROM accounts JOIN tokens ON "
                      "tokens.account = accounts.id");
    for (int i = 0; i < PQntuples(rows); i++) {
        size_t token = (size_t)strtoull(PQgetvalue(rows, i, 0), NULL, 10);
        assert_true(token < f->plan.token_count && !there[token]);
        there[token] = true;
    }
    PQclear(rows);
    return there;
}

// A transaction is in the database as a whole or not at all, as its outcome says.
static void check_outcomes(struct fixture *f)
{
    bool *there = present(f);

    for (size_t i = 0; i < f->plan.txn_count; i++) {
        const struct plan_txn *txn = &f->plan.txns[i];
        const struct txn_record *r = &f->result.records[i];
        for (uint32_t t = txn->first_token; t < txn->first_token + txn->rows; t++) {
            if (r->outcome == TXN_UNKNOWN)
                assert_int_equal(there[t], there[txn->first_token]);
            else
                assert_int_equal(there[t], r->outcome == TXN_COMMITTED);
        }
        if (r->sent_ns)
            assert_true(r->sent_ns >= f->config.start_ns + txn->at_ns && r->ended_ns >= r->sent_ns);
        if (r->outcome == TXN_COMMITTED || r->outcome == TXN_UNKNOWN)
            assert_true(r->commit_ns >= r->sent_ns && r->ended_ns >= r->commit_ns);
    }
    free(there);
}

static void every_kind_ends_as_planned(void **state)
{
    struct fixture f;

    set_up(&f, 400);
    f.phases[0].recovery = 0.2;
    f.phases[0].rollback = 0.1;
    f.phases[0].ineligible = 0.1;
    f.phases[0].unsendable = 0.1;
    f.phases[0].hold_share = 0.1;
    f.phases[0].hold_for_ns = 20 * NS_PER_MS;
    f.phases[0].rows_to = 4;
    run(&f);
    check_outcomes(&f);
    assert_int_equal(f.result.refused, 0);
    for (size_t i = 0; i < f.plan.txn_count; i++) {
        bool rollback = f.plan.txns[i].flags & TXN_ROLLBACK;
        bool held = f.plan.txns[i].flags & TXN_HOLD;
        const struct txn_record *r = &f.result.records[i];
        assert_int_equal(r->outcome, rollback ? TXN_ROLLED_BACK : TXN_COMMITTED);
        if (held)
            assert_true(r->commit_ns - r->sent_ns >= 20 * NS_PER_MS);
    }
    tear_down(&f);
}

static void outcomes_are_true_when_backends_are_terminated(void **state)
{
    struct fixture f;

    set_up(&f, 1000);
    f.phases[0].rows_to = 3;
    f.phases[0].rollback = 0.1;
    f.phases[0].hold_share = 0.2;
    f.phases[0].hold_for_ns = 5 * NS_PER_MS;
    f.disturbance = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name IN ('mailproof load', 'generator')";
    run(&f);
    check_outcomes(&f);
    // Errors that a fault explains do not count as refusals, and the whole plan was attempted.
    if (f.result.refused)
        fail_msg("%s", f.result.refusal);
    assert_int_equal(count(&f, TXN_NOT_SENT), 0);
    assert_true(atomic_load(&f.progress.connects) > 4);
    assert_true(count(&f, TXN_COMMITTED) > 0);
    tear_down(&f);
}

static void a_cancelled_statement_is_rolled_back(void **state)
{
    struct fixture f;

    set_up(&f, 1000);
    f.phases[0].rows_from = f.phases[0].rows_to = 20;
    f.disturbance = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name IN ('mailproof load', 'generator')";
    run(&f);
    check_outcomes(&f);
    if (f.result.refused)
        fail_msg("%s", f.result.refusal);
    assert_int_equal(count(&f, TXN_COMMITTED) + count(&f, TXN_ROLLED_BACK), f.plan.txn_count);
    tear_down(&f);
}

// The backends that are there at first take no writes from then on, as those of a leader that was
// replaced. Each refuses at most one transaction.
static void a_server_that_takes_no_writes_is_left(void **state)
{
    struct fixture f;
    struct fault_spec failover = {.verb = &verbs[VERB_SWITCHOVER]};

    set_up(&f, 500);
    f.scenario.faults = &failover;
    f.scenario.fault_count = 1;
    execute(f.admin, "CREATE TABLE demoted (pid int);"
                     "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                     " IF EXISTS (SELECT FROM demoted WHERE pid = pg_backend_pid()) THEN"
                     " RAISE read_only_sql_transaction; END IF; RETURN NEW; END $$;"
                     "CREATE TRIGGER refuse BEFORE INSERT ON accounts"
                     " FOR EACH ROW EXECUTE FUNCTION refuse()");
    f.disturbance = "INSERT INTO demoted SELECT pid FROM pg_stat_activity"
                    " WHERE application_name IN ('mailproof load', 'generator')"
                    " AND NOT EXISTS (SELECT FROM demoted)"
                    " AND EXISTS (SELECT FROM accounts)";
    run(&f);
    execute(f.admin, "DROP TRIGGER refuse ON accounts; DROP FUNCTION refuse; DROP TABLE demoted");
    check_outcomes(&f);
    if (f.result.refused)
        fail_msg("%s", f.result.refusal);
    assert_in_range(count(&f, TXN_ROLLED_BACK), 1, f.phases[0].connections);
    assert_int_equal(count(&f, TXN_COMMITTED) + count(&f, TXN_ROLLED_BACK), f.plan.txn_count);
    tear_down(&f);
}

// Takes a login that the plan may give to a token's account.
static void take_login(struct fixture *f, uint32_t token, enum name_shape shape)
{
    struct names names;
    char email[40];

    names_make(&names, token, 0, shape);
    snprintf(email, sizeof email, "%u.%d@x", (unsigned)token, (int)shape);
    PGresult *result = PQexecParams(f->admin, "INSERT INTO accounts (email, login) VALUES ($1, $2)",
        2, NULL, (const char *const[]){email, names.login}, NULL, NULL, 0);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

static void a_refusal_is_counted_and_quoted(void **state)
{
    struct fixture f;

    set_up(&f, 200);
    f.phases[0].hold_share = 0.5;
    f.phases[0].hold_for_ns = NS_PER_MS;
    for (uint32_t token = 0; token < 10; token++) {
        take_login(&f, token, NAME_PLAIN);
        take_login(&f, token, NAME_MIXED);
    }
    run(&f);
    assert_int_equal(f.result.refused, 10);
    assert_non_null(strstr(f.result.refusal, "duplicate key"));
    for (size_t i = 0; i < f.plan.txn_count; i++)
        assert_int_equal(f.result.records[i].outcome, i < 10 ? TXN_ROLLED_BACK : TXN_COMMITTED);
    tear_down(&f);
}

static void a_closed_loop_ends_with_its_phase(void **state)
{
    struct fixture f;

    set_up(&f, 100);
    f.phases[1] = f.phases[0];
    f.phases[0].closed = true;
    f.scenario.load_count = 2;
    run(&f);
    check_outcomes(&f);
    assert_true(count(&f, TXN_NOT_NEEDED) > 0);
    assert_int_equal(count(&f, TXN_NOT_SENT), 0);
    // The second phase is an open loop, and its whole plan was committed.
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(f.result.records[f.plan.txn_count - 100 + i].outcome, TXN_COMMITTED);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_ends_as_planned),
        cmocka_unit_test(outcomes_are_true_when_backends_are_terminated),
        cmocka_unit_test(a_cancelled_statement_is_rolled_back),
        cmocka_unit_test(a_server_that_takes_no_writes_is_left),
        cmocka_unit_test(a_refusal_is_counted_and_quoted),
        cmocka_unit_test(a_closed_loop_ends_with_its_phase),
    };
    return cmocka_run_group_tests_name("harness.load", tests, NULL, NULL);
}
