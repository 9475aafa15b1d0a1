// Any text is either refused, with the place and the reason, or is a story. A story can be judged,
// and is the same after it is written with all its defaults and read again.
#include <ctype.h>

#include "check/check.h"
#include "fuzz/fuzz.h"
#include "story/story.h"

#define FILE_NAME "x.story"
#define WRITTEN_MAX ((size_t)32 << 20)

// Larger stories are not judged, because that would take too long for thousands of inputs.
#define EVENTS_MAX 5000

// Checks that a refusal is one line that begins with the place.
static void check_refusal(const struct err *e)
{
    size_t line, column;

    FUZZ_MUST(e->kind == ERR_USAGE);
    for (const char *p = e->text; *p; p++)
        FUZZ_MUST(!iscntrl((unsigned char)*p));
    // "story" is the place of what every story's scenario has.
    FUZZ_MUST(sscanf(e->text, FILE_NAME ":%zu:%zu: ", &line, &column) == 2 ||
              sscanf(e->text, "story:%zu:%zu: ", &line, &column) == 2);
    FUZZ_MUST(line >= 1 && column >= 1);
}

static bool is_small(const struct story *t)
{
    return t->history.plan.token_count < EVENTS_MAX && t->history.log.line_count < EVENTS_MAX &&
           t->history.log.delivery_count < EVENTS_MAX && t->history.plan.fault_count < EVENTS_MAX;
}

static void check_judged(const struct story *t)
{
    struct check_input in = check_input_of(&t->history);
    struct buf differs;
    struct result r;

    check_ledger(&r, &t->history.ledger, &in);
    buf_init(&differs, 1u << 20);
    story_holds(t, &r, &differs);
    buf_fini(&differs);
    result_fini(&r);
}

static void check_round_trip(const struct story *t)
{
    static struct story again;
    struct buf first, second;
    struct err e;

    buf_init(&first, WRITTEN_MAX);
    buf_init(&second, WRITTEN_MAX);
    FUZZ_MUST(story_write(&t->scenario, &t->history, NULL, true, &first) && buf_str(&first));
    bool accepted = story_read_text(&again, first.data, "again", &e);
    if (!accepted)
        fprintf(stderr, "%s, after:\n%.*s\n", e.text, (int)first.len, first.data);
    FUZZ_MUST(accepted);
    FUZZ_MUST(story_write(&again.scenario, &again.history, NULL, true, &second));
    FUZZ_MUST(buf_str(&second) && strcmp(first.data, second.data) == 0);
    story_fini(&again);
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct story t;
    struct err e = {0};
    char *text = malloc(size + 1);

    FUZZ_MUST(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    files_clear();
    files_add(FILE_NAME, text, size);
    if (story_read(&t, FILE_NAME, &e)) {
        fuzz_accept();
        if (is_small(&t)) {
            check_judged(&t);
            check_round_trip(&t);
        }
        story_fini(&t);
    } else {
        check_refusal(&e);
    }
    free(text);
    return 0;
}
