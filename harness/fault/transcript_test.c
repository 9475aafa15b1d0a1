#include "base/unit.h"
#include "fault/transcript.h"

// Takes a message such as "cP" or "sC": the sender (c client, s server), the type. Its content may
// have NULs inside.
static void take(
    struct transcript *t, unsigned link, const char *what, const char *text, size_t len)
{
    const struct wire_message m = {.type = (unsigned char)what[1], .text = text, .text_len = len};

    transcript_take(t, link, *what == 'c' ? MESSAGE_CLIENT : MESSAGE_SERVER, &m);
}

#define TAKE(what, text) take(&t, 1, what, text, sizeof(text) - 1)

// Checks the text of the last message.
static void last(const struct transcript *t, const char *text)
{
    assert_string_equal(transcript_text(t, &t->entries[t->count - 1]), text);
}

static void a_statement_is_known_by_its_names(void **state)
{
    struct transcript t;

    transcript_init(&t);
    TAKE("cP", "take\0SELECT  1\n  FROM jobs\0\0\0");
    last(&t, "SELECT 1 FROM jobs");
    TAKE("cB", "\0take\0\0\0");
    last(&t, "SELECT 1 FROM jobs");
    TAKE("cD", "P\0");
    TAKE("cE", "\0\0\0\0\0");
    last(&t, "SELECT 1 FROM jobs");
    TAKE("cP", "\0DELETE FROM outbox\0\0\0");
    TAKE("cB", "\0\0\0\0");
    last(&t, "DELETE FROM outbox");
    TAKE("cQ", "-- why\n  -- and how\nSELECT '--' -- told\n, 2\n--");
    last(&t, "SELECT '--' -- told , 2");
    TAKE("cB", "\0nobody\0\0\0");
    last(&t, "");
    transcript_fini(&t);
}

static void an_answer_has_the_text_of_its_question(void **state)
{
    struct transcript t;

    transcript_init(&t);
    TAKE("cP", "a\0SELECT 1\0\0\0");
    TAKE("cB", "\0a\0\0\0");
    TAKE("cE", "\0\0\0\0\0");
    TAKE("cP", "b\0SELECT 2\0\0\0");
    TAKE("cB", "\0b\0\0\0");
    TAKE("cD", "P\0");
    TAKE("cE", "\0\0\0\0\0");
    TAKE("cS", "");
    TAKE("s1", "");
    last(&t, "SELECT 1");
    TAKE("s2", "");
    TAKE("sA", "\0\0\0\1token_insert\0\0");
    last(&t, "token_insert");
    TAKE("sD", "");
    TAKE("sC", "SELECT 1\0");
    last(&t, "SELECT 1");
    TAKE("s1", "");
    last(&t, "SELECT 2");
    TAKE("s2", "");
    TAKE("sT", "");
    TAKE("sD", "");
    TAKE("sC", "SELECT 1\0");
    last(&t, "SELECT 2");
    TAKE("sZ", "I");
    last(&t, "");
    TAKE("cQ", "LISTEN token_insert\0");
    TAKE("sC", "LISTEN\0");
    last(&t, "LISTEN token_insert");
    TAKE("sZ", "I");
    last(&t, "LISTEN token_insert");
    assert_string_equal(transcript_find(&t, MESSAGE_SERVER, 'C', 2), "SELECT 2");
    assert_string_equal(transcript_find(&t, MESSAGE_SERVER, 'C', 4), "");
    transcript_fini(&t);
}

static void an_error_skips_to_the_sync(void **state)
{
    struct transcript t;

    transcript_init(&t);
    TAKE("cP", "\0SELECT broken\0\0\0");
    TAKE("cB", "\0\0\0\0");
    TAKE("cE", "\0\0\0\0\0");
    TAKE("cS", "");
    TAKE("sE", "SERROR\0MNo such column\0\0");
    last(&t, "No such column");
    TAKE("sZ", "I");
    TAKE("cQ", "SELECT 3\0");
    TAKE("sT", "");
    last(&t, "SELECT 3");
    transcript_fini(&t);
}

static void connections_do_not_mix(void **state)
{
    struct transcript t;

    transcript_init(&t);
    TAKE("cP", "a\0SELECT 1\0\0\0");
    take(&t, 2, "cB", "\0a\0\0", 4);
    last(&t, "");
    TAKE("cB", "\0a\0\0\0");
    last(&t, "SELECT 1");
    assert_int_equal(t.entries[2].link, 1);
    assert_int_equal(t.entries[2].n, 2);
    transcript_fini(&t);
}

static void cut_off_messages_are_read_to_their_end(void **state)
{
    struct transcript t;

    transcript_init(&t);
    TAKE("cP", "nam");
    last(&t, "");
    TAKE("cP", "");
    TAKE("cB", "");
    TAKE("cD", "");
    TAKE("cE", "");
    TAKE("sA", "\0\0");
    TAKE("sE", "M");
    last(&t, "");
    TAKE("cP", "x\0SELECT tr");
    last(&t, "SELECT tr");
    transcript_fini(&t);
}

static void a_text_is_never_cut_within_a_character(void **state)
{
    char query[TRANSCRIPT_TEXT_MAX + 10], want[TRANSCRIPT_TEXT_MAX];
    struct transcript t;

    transcript_init(&t);
    memset(query, 'x', sizeof query);
    memcpy(query + TRANSCRIPT_TEXT_MAX - 2, "\xc3\xbc", 2);
    take(&t, 1, "cQ", query, sizeof query);
    memset(want, 'x', sizeof want);
    memcpy(want + sizeof want - 2, "?", 2);
    last(&t, want);
    transcript_fini(&t);
}

static void the_end_is_bounded(void **state)
{
    struct transcript t;

    transcript_init(&t);
    for (unsigned i = 0; i < TRANSCRIPT_MAX + 10; i++)
        take(&t, i, "cP", "x\0SELECT 1\0\0\0", 12);
    assert_int_equal(t.count, TRANSCRIPT_MAX);
    assert_int_equal(t.counts[MESSAGE_CLIENT]['P'], TRANSCRIPT_MAX + 10);
    transcript_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_is_known_by_its_names),
        cmocka_unit_test(an_answer_has_the_text_of_its_question),
        cmocka_unit_test(an_error_skips_to_the_sync),
        cmocka_unit_test(connections_do_not_mix),
        cmocka_unit_test(cut_off_messages_are_read_to_their_end),
        cmocka_unit_test(a_text_is_never_cut_within_a_character),
        cmocka_unit_test(the_end_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
