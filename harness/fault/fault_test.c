#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/unit.h"
#include "fault/wire.h"
#include "fault/family.h"

// A fault of the network never turns an encrypted connection into clear text by itself.
static void clear_text_is_asked_for(void **state)
{
    static const struct {
        const char *address; // NULL: a Unix socket
        const char *conninfo;
        const char *refused; // the setting that the message names; NULL: allowed
    } cases[] = {
        {NULL, "host=/run/postgresql sslmode=verify-full", NULL},
        {"127.0.0.1", "host=localhost sslmode=prefer", NULL},
        {"127.9.9.9", "host=localhost", NULL},
        {"127.0.0.1", "host=localhost sslmode=require", "sslmode=require"},
        {"192.0.2.1", "host=db", "sslmode=prefer"},
        {"192.0.2.1", "host=db sslmode=prefer", "sslmode=prefer"},
        {"192.0.2.1", "host=db sslmode=verify-full", "sslmode=verify-full"},
        {"192.0.2.1", "host=db sslmode=disable", NULL},
        {"192.0.2.1", "host=db sslmode=disable channel_binding=require", "channel_binding=require"},
        {"192.0.2.1", "host=db sslmode=disable sslcert=/me.crt", "sslcert=/me.crt"},
        {"192.0.2.1", "host=db sslmode=disable gssencmode=require", "gssencmode=require"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_in in = {.sin_family = AF_INET};
        const struct sockaddr un = {.sa_family = AF_UNIX};
        struct err e = {0};
        if (cases[i].address)
            assert_int_equal(inet_pton(AF_INET, cases[i].address, &in.sin_addr), 1);
        bool allowed = clear_text_allowed(
            cases[i].conninfo, cases[i].address ? (const struct sockaddr *)&in : &un, &e);
        assert_int_equal(allowed, cases[i].refused == NULL);
        if (cases[i].refused) {
            assert_int_equal(e.kind, ERR_SKIP);
            assert_non_null(strstr(e.text, cases[i].refused));
        }
    }
}

// On a server of somebody else, ALTER SYSTEM would stop the writes of everybody there.
static void a_server_elsewhere_is_not_made_read_only(void **state)
{
    struct fault_spec spec = {.verb = &verbs[VERB_READ_ONLY_SERVER]};
    const struct scenario scenario = {.faults = &spec, .fault_count = 1};
    struct err e = {0};

    assert_true(fault_possible(&provider_local, &scenario, &e));
    assert_true(fault_possible(&provider_container, &scenario, &e));
    assert_false(fault_possible(&provider_url, &scenario, &e));
    assert_int_equal(e.kind, ERR_SKIP);
    assert_non_null(strstr(e.text, "read-only-server needs a server that the harness controls"));
}

static bool never_starts(struct server *s, struct err *e)
{
    (void)s;
    return err_set(e, ERR_CONNECTION, "the server was not ready after 60 s");
}

// Another fault at work explains why a victim was away, but not why a server that was killed does
// not start again.
static void a_server_that_stays_down_is_no_fault_left_out(void **state)
{
    const struct provider provider = {.start = never_starts};
    struct server server = {.provider = &provider};
    const struct fault_spec specs[] = {
        {.verb = &verbs[VERB_TERMINATE_BACKEND]}, {.verb = &verbs[VERB_KILL_SERVER]}};
    struct fault_record records[] = {{.spec = &specs[0],
                                         .ok = true,
                                         .undone = true,
                                         .sought_ns = 1,
                                         .began_ns = 1,
                                         .ended_ns = 3},
        {.spec = &specs[1], .ok = true, .sought_ns = 2, .began_ns = 2}};
    struct fault_context c = {
        .server = &server, .begun = records, .begun_count = 2, .recovery_ns = 1000};

    fault_end(&c, &records[1]);
    assert_false(records[1].ok);
    assert_int_equal(records[1].left_out, LEFT_OUT_NOT);
    assert_non_null(strstr(records[1].evidence, "was not ready"));
}

// Lets the sender of an instance hang until some instance has written a line. Returns true when the
// fault counts as proved.
static bool proves_hang(struct subject *s, int instance)
{
    const struct fault_spec spec = {.verb = &verbs[VERB_HANG_SENDER], .instance = instance};
    struct fault_record r = {.spec = &spec};
    struct fault_context c = {.subject = s};

    fault_begin(&c, &r);
    const uint64_t before = subject_tokens(s);
    while (subject_tokens(s) == before)
        usleep(1000);
    fault_end(&c, &r);
    return r.ok;
}

// Only the second of two instances writes. Its lines do not prove a fault of the first one's
// sender.
static void a_sender_s_fault_is_proved_by_its_own_instance(void **state)
{
    static char *const command[] = {"/bin/sh", "-c",
        "case $MAILPROOF_PROCESS in *-*-1-*) while echo got 0 1; do sleep 0.01; done;; esac;"
        " exec sleep 1000",
        NULL};
    static const unsigned char key[32];
    static const char *const no_env[] = {NULL};
    const struct subject_config config = {.command = command,
        .env = no_env,
        .key = key,
        .instances = 2,
        .token_count = 1,
        .jobs = true};
    struct err e;

    alarm(100);
    struct subject *s = subject_start(&config, &e);
    assert_non_null(s);
    assert_false(proves_hang(s, 0));
    assert_true(proves_hang(s, 1));
    subject_free(s);
    alarm(0);
}

static bool gives_no_conninfo(
    const struct server *s, const char *user, const char *dbname, struct buf *out)
{
    (void)s, (void)user, (void)dbname, (void)out;
    return false;
}

// Connecting would wait, and so hold up the end of the pause.
static void no_session_is_opened_at_a_paused_server(void **state)
{
    const struct provider provider = {.conninfo = gives_no_conninfo};
    struct server server = {.provider = &provider, .running = true, .paused = true};

    for (const struct fault_verb *v = fault_idle_verbs; v->begin; v++) {
        const struct fault_spec spec = {.verb = &verbs[v->id]};
        struct fault_record r = {.spec = &spec};
        struct fault_context c = {.server = &server};
        struct err e = {0};
        assert_false(v->begin(&c, &r, &e));
        assert_non_null(strstr(e.text, "the server is paused"));
        assert_false(v->end(&c, &r, &e));
    }
}

static void every_verb_has_a_family(void **state)
{
    for (enum verb_id id = 0; id < VERB_COUNT; id++) {
        const struct fault_verb *found = fault_verb_find(id);
        if (!found) {
            fail_msg("no file of fault/ carries out %s", verbs[id].name);
            return;
        }
        assert_int_equal(found->id, id);
        // A verb that requires `for` must have an end. A verb that acts on a disk must say that it
        // needs one.
        assert_true(found->end || !(verbs[id].params & PARAM_NEEDS_FOR));
        assert_int_equal(found->need == NEEDS_DISK, verbs[id].needs_disk);
        assert_int_equal(found->need == NEEDS_CLUSTER, verbs[id].needs_cluster);
        assert_true(found->need == NEEDS_ADDRESS || verbs[id].hits != HITS_NETWORK);
    }
    assert_null(fault_verb_find(VERB_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clear_text_is_asked_for),
        cmocka_unit_test(a_server_elsewhere_is_not_made_read_only),
        cmocka_unit_test(a_server_that_stays_down_is_no_fault_left_out),
        cmocka_unit_test(a_sender_s_fault_is_proved_by_its_own_instance),
        cmocka_unit_test(no_session_is_opened_at_a_paused_server),
        cmocka_unit_test(every_verb_has_a_family),
    };
    return cmocka_run_group_tests_name("harness.fault", tests, NULL, NULL);
}
