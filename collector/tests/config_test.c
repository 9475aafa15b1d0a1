#include "base/unit.h"
#include "settings/config.h"

#define URL "MAILROOM_DATABASE_URL=host=/tmp password=hunter2"
#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F"
#define KEY "MAILROOM_SECRET_KEY=" HEX

static bool load(struct config *c, struct err *e, const char *const *extra)
{
    char *env[16] = {(char *)URL, (char *)KEY};
    size_t n = 2;

    while (extra && *extra)
        env[n++] = (char *)*extra++;
    return config_load(c, env, e);
}

static void defaults(void **state)
{
    struct config c;
    struct err e;

    assert_true(load(&c, &e, NULL));
    assert_string_equal(c.channel_name, "token_insert");
    assert_string_equal(c.queue_name, "mailroom");
    assert_int_equal(c.healthcheck_interval_ms, 270000);
    assert_int_equal(c.batch_timeout_ms, 5000);
    assert_int_equal(c.batch_limit, 10);
    assert_int_equal(c.grace_ms, 500);
    for (int i = 0; i < SIGN_KEY_LEN; i++)
        assert_int_equal(c.key[i], i);
    assert_null(strstr(c.secret_key, "0001"));
    config_fini(&c);
}

static void an_adaptive_window_has_two_bounds(void **state)
{
    struct config c;
    struct err e;

    assert_true(load(&c, &e, (const char *const[]){"MAILROOM_BATCH_TIMEOUT=auto:20..500", NULL}));
    assert_int_equal(c.batch_least_ms, 20);
    assert_int_equal(c.batch_timeout_ms, 500);
    config_fini(&c);
    assert_true(load(&c, &e, (const char *const[]){"MAILROOM_BATCH_TIMEOUT=500", NULL}));
    assert_int_equal(c.batch_least_ms, 0);
    config_fini(&c);
}

static void secrets_are_wiped_from_the_environment(void **state)
{
    char key[] = KEY, file[] = "MAILROOM_SECRET_KEY_FILE=/k", again[] = KEY;
    char url[] = "MAILROOM_DATABASE_URL=password=horse";
    char *env[] = {key, file, url, again, NULL};

    variables_wipe(&config_variables, env);
    assert_string_equal(key, "MAILROOM_SECRET_KEY=");
    assert_string_equal(again, "MAILROOM_SECRET_KEY=");
    assert_string_equal(url, "MAILROOM_DATABASE_URL=");
    assert_string_equal(file, "MAILROOM_SECRET_KEY_FILE=/k");
    for (size_t i = sizeof "MAILROOM_SECRET_KEY="; i < sizeof key; i++)
        assert_int_equal(key[i], '\0');
}

static void bad_values(void **state)
{
    static const struct {
        const char *setting;
        const char *text; // what the message must hold
    } table[] = {
        {"MAILROOM_BATCH_LIMIT=ten", "MAILROOM_BATCH_LIMIT is 'ten'; it must be"},
        {"MAILROOM_BATCH_LIMIT=0", "from 1 to"},
        {"MAILROOM_BATCH_LIMIT=10 ", "'10 '"},
        {"MAILROOM_BATCH_LIMIT=", "''"},
        {"MAILROOM_BATCH_LIMIT=99999999999999999999", "from 1 to"},
        {"MAILROOM_BATCH_TIMEOUT=-1", "milliseconds from 0 to"},
        {"MAILROOM_BATCH_TIMEOUT=1s", "'1s'"},
        {"MAILROOM_BATCH_TIMEOUT=auto:500..20",
            "MAILROOM_BATCH_TIMEOUT is 'auto:500..20'; it must be auto:LEAST..MOST"},
        {"MAILROOM_BATCH_TIMEOUT=auto:x", "'auto:x'; it must be auto:LEAST..MOST"},
        {"MAILROOM_BATCH_TIMEOUT=auto:", "auto:20..500"},
        {"MAILROOM_BATCH_TIMEOUT=auto:20", "auto:20..500"},
        {"MAILROOM_BATCH_TIMEOUT=auto:20..", "auto:20..500"},
        {"MAILROOM_BATCH_TIMEOUT=auto:20..500ms", "auto:20..500"},
        {"MAILROOM_BATCH_TIMEOUT=auto:0..500", "LEAST from 1 to MOST"},
        {"MAILROOM_BATCH_TIMEOUT=auto:-1..500", "LEAST from 1 to MOST"},
        {"MAILROOM_BATCH_TIMEOUT=auto:20..86400001", "MOST to 86400000"},
        {"MAILROOM_BATCH_TIMEOUT=auto:20..99999999999999999999", "MOST to 86400000"},
        {"MAILROOM_BATCH_TIMEOUT=auto:20..270001", "MAILROOM_HEALTHCHECK_INTERVAL is '270000'"},
        {"MAILROOM_BATCH_TIMEOUT=270001", "MAILROOM_HEALTHCHECK_INTERVAL is '270000'"},
        {"MAILROOM_CHANNEL_NAME=", "1 to 63 characters"},
        {"MAILROOM_DEQUEUE=skip", "MAILROOM_DEQUEUE is 'skip'; it must be one of: cursor, shared"},
        {"MAILROOM_BUDGET=10", "MAILROOM_BUDGET is '10'; it must be a rate"},
        {"MAILROOM_BUDGET=-1/s", "MAILROOM_BUDGET is '-1/s'; it must be a rate"},
        {"MAILROOM_BUDGET=0/s", "from 0.000001/s to 1000000/s"},
        {"MAILROOM_DAILY=200", "MAILROOM_DAILY is '200'; it needs MAILROOM_BUDGET"},
        {"MAILROOM_SECRET_KEY_FILE=/x", "exactly one is needed"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct config c;
        struct err e;
        assert_false(load(&c, &e, (const char *const[]){table[i].setting, NULL}));
        assert_int_equal(e.kind, ERR_USAGE);
        if (!strstr(e.text, table[i].text))
            fail_msg("%s: %s", table[i].setting, e.text);
        config_fini(&c);
    }
}

static void secrets_are_not_repeated(void **state)
{
    char *envs[][3] = {
        {(char *)URL, (char *)"MAILROOM_SECRET_KEY=abcdef", NULL},
        {(char *)URL,
            (char *)"MAILROOM_SECRET_KEY="
                    "abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefzzzz",
            NULL},
        {(char *)"MAILROOM_DATABASE_URL=host=/tmp abcdef", (char *)KEY, NULL},
        {(char *)"MAILROOM_DATABASE_URL=postgres://abcdef@[/", (char *)KEY, NULL},
    };

    for (size_t i = 0; i < sizeof envs / sizeof envs[0]; i++) {
        struct config c;
        struct err e;
        assert_false(config_load(&c, envs[i], &e));
        assert_int_equal(e.kind, ERR_USAGE);
        assert_non_null(strstr(e.text, "MAILROOM_"));
        assert_null(strstr(e.text, "abcdef"));
        if (strstr(e.text, "SECRET_KEY"))
            assert_non_null(strstr(e.text, "exactly 64 hex digits"));
        config_fini(&c);
    }
}

static void required(void **state)
{
    struct config c;
    struct err e;
    char *no_url[] = {(char *)KEY, NULL};
    char *no_key[] = {(char *)URL, NULL};

    assert_false(config_load(&c, no_url, &e));
    assert_non_null(strstr(e.text, "MAILROOM_DATABASE_URL is not set"));
    config_fini(&c);
    assert_false(config_load(&c, no_key, &e));
    assert_non_null(strstr(e.text, "none of MAILROOM_SECRET_KEY"));
    config_fini(&c);
}

static void key_from_a_file(void **state)
{
    static const struct {
        const char *content;
        bool good;
    } table[] = {{HEX, true}, {HEX "\n", true}, {HEX "\r\n", true}, {HEX "0", false},
        {HEX " ", false}, {"", false}, {"short\n", false}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct config c;
        struct err e;
        char setting[64] = "MAILROOM_SECRET_KEY_FILE=/tmp/mailroom-key.XXXXXX";
        char *path = strchr(setting, '/');
        char *env[] = {(char *)URL, setting, NULL};
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        size_t len = strlen(table[i].content);
        assert_int_equal(write(fd, table[i].content, len), len);
        close(fd);
        assert_int_equal(config_load(&c, env, &e), table[i].good);
        if (table[i].good)
            assert_int_equal(c.key[31], 31);
        else
            assert_non_null(strstr(e.text, "MAILROOM_SECRET_KEY_FILE"));
        config_fini(&c);
        unlink(path);
    }
}

static void unknown_variables_are_named(void **state)
{
    char *env[] = {(char *)"PATH=/bin", (char *)URL, (char *)"MAILROOM_BATCHLIMIT=3",
        (char *)"MAILROOM_GRACE=1", (char *)"MAILROOM_GRACES=1", NULL};
    size_t at = 0;
    size_t len;

    assert_string_equal(
        variables_unknown(&config_variables, env, &at, &len), "MAILROOM_BATCHLIMIT=3");
    assert_int_equal(len, strlen("MAILROOM_BATCHLIMIT"));
    assert_string_equal(variables_unknown(&config_variables, env, &at, &len), "MAILROOM_GRACES=1");
    assert_null(variables_unknown(&config_variables, env, &at, &len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(an_adaptive_window_has_two_bounds),
        cmocka_unit_test(secrets_are_wiped_from_the_environment),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(secrets_are_not_repeated),
        cmocka_unit_test(required),
        cmocka_unit_test(key_from_a_file),
        cmocka_unit_test(unknown_variables_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
