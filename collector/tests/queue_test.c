#include "base/unit.h"
#include "queue/queue.h"

#include "loop/work.h"

static const struct config config = {.batch_limit = 10};

// Makes a session that learns its backend, and perhaps gets its set-up answered.
static void session(struct queue *q, const char *pid, bool set_up)
{
    queue_new_session(q);
    snprintf(q->backend.pid, sizeof q->backend.pid, "%s", pid);
    snprintf(q->backend.since, sizeof q->backend.since, "since %s", pid);
    q->set_up = set_up;
}

static void a_predecessor_stays_until_it_was_ended(void **state)
{
    struct queue q;

    assert_true(queue_init(&q, &config, &(struct err){0}));
    session(&q, "1", false);
    assert_string_equal(q.predecessor.pid, "");
    session(&q, "2", true);
    assert_string_equal(q.predecessor.pid, "");
    // Session 3 asks the server to end session 2, and is lost before the answer.
    session(&q, "3", false);
    assert_string_equal(q.predecessor.pid, "2");
    session(&q, "", false);
    session(&q, "4", true);
    assert_string_equal(q.predecessor.pid, "2");
    assert_string_equal(q.predecessor.since, "since 2");
    queue_new_session(&q);
    assert_string_equal(q.predecessor.pid, "4");
    assert_string_equal(q.predecessor.since, "since 4");
    assert_string_equal(q.backend.pid, "");
}

static void a_large_batch_gets_more_time(void **state)
{
    struct queue q;

    assert_true(queue_init(&q, &config, &(struct err){0}));
    assert_int_equal(queue_patience_ms(&q), 4001);
    q.limit = 100000;
    assert_int_equal(queue_patience_ms(&q), 14000);
}

static bool on_bell(struct collector *c, const PGresult *r, struct err *e)
{
    uint64_t silent_below;

    (void)c;
    return queue_decode_bell(r, &silent_below, e);
}

static bool on_check(struct collector *c, const PGresult *r, struct err *e)
{
    return queue_decode_check(&c->queue, r, e);
}

static bool on_schema(struct collector *c, const PGresult *r, struct err *e)
{
    (void)c;
    return queue_decode_schema(r, e);
}

// A function that somebody has replaced by one that returns a set may give no row.
static void an_answer_without_its_row_is_refused(void **state)
{
    bool (*const decoders[])(struct collector *, const PGresult *, struct err *) = {
        on_schema, on_check, on_bell, peers_on_join, peers_on_peers};
    struct collector c = {.queue.policy = policy_find("cursor")};
    PGresult *nothing = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) {
        struct err e = {0};
        assert_false(decoders[i](&c, nothing, &e));
        assert_int_equal(e.kind, ERR_SCHEMA);
        assert_non_null(strstr(e.text, "migrations"));
    }
    PQclear(nothing);
}

// --- a server that always answers with an error ---------------------------------------------

static int renewals;

// These take the place of libpq's functions, so that a session needs no server.
int PQsendQueryPrepared(PGconn *conn, const char *name, int n, const char *const *values,
    const int *lengths, const int *formats, int format)
{
    (void)conn, (void)n, (void)lengths, (void)formats, (void)format;
    assert_string_equal(name, "peers");
    renewals += values[5][0] == 't';
    return 1;
}

int PQpipelineSync(PGconn *conn)
{
    (void)conn;
    return 1;
}

int PQflush(PGconn *conn)
{
    (void)conn;
    return 0;
}

char *PQresultErrorField(const PGresult *r, int field)
{
    static char state[] = "55P03", text[] = "lock timeout";

    (void)r;
    return field == PG_DIAG_SQLSTATE ? state : text;
}

// Lets a round of the loop come after so many ms, and answers what it sends with an error. Returns
// whether it asked to renew the lease.
static bool fails_to_renew(struct collector *c, int after_ms, struct err *e)
{
    PGresult *failed = PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);
    int before = renewals;

    c->now_ns += after_ms * NS_PER_MS;
    c->wake_ns = CLOCK_NEVER;
    assert_true(peers_step(c, e));
    if (session_awaits(&c->link.session, QUEUE_PEERS)) {
        c->link.session.count = 0;
        assert_true(peers_on_peers(c, failed, e));
    }
    PQclear(failed);
    return renewals > before;
}

// A lease lasts 3 s and is renewed after each third. A renewal that failed is tried again after a
// pause, and does not count: after 3 s without one, others may have taken what we hold.
static void a_renewal_that_failed_is_tried_again(void **state)
{
    static const struct config short_lease = {
        .batch_limit = 10, .lease_ms = 3000, .healthcheck_interval_ms = 1000, .grace_ms = 500};
    struct collector c = {.config = &short_lease,
        .now_ns = NS_PER_S,
        .queue.policy = policy_find("leased"),
        .settle.giving_back = true};
    struct err e = {0};

    peers_restart(&c);
    assert_false(fails_to_renew(&c, 999, &e));
    assert_int_equal(c.wake_ns, 2 * NS_PER_S);
    assert_true(fails_to_renew(&c, 1, &e));
    assert_false(fails_to_renew(&c, 99, &e));
    assert_int_equal(c.wake_ns, c.now_ns + NS_PER_MS);
    assert_true(fails_to_renew(&c, 1, &e));
    while (c.now_ns < 3900 * NS_PER_MS)
        assert_true(fails_to_renew(&c, 100, &e));
    c.now_ns = 4 * NS_PER_S + 1;
    assert_false(peers_step(&c, &e));
    assert_int_equal(e.kind, ERR_CONNECTION);
    assert_string_equal(e.text, "we have not renewed our lease in time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_predecessor_stays_until_it_was_ended),
        cmocka_unit_test(a_large_batch_gets_more_time),
        cmocka_unit_test(an_answer_without_its_row_is_refused),
        cmocka_unit_test(a_renewal_that_failed_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
