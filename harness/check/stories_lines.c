// Stories of the content of lines, and of their order.
#include "check/stories.h"

#include "base/clock.h"

static void tell_over_limit(struct story *s)
{
    story_line(s, 50, story_txn(s, 50, 4), 4);
}

static void tell_torn(struct story *s)
{
    story_good_token(s);
    struct line_record *line = story_line(s, 150, 0, 0);
    line->state = LINE_TORN;
}

static void tell_tail(struct story *s)
{
    story_good_token(s);
    struct line_record *line = story_line(s, 150, 0, 0);
    line->state = LINE_TAIL;
    story_death(s, 150, true);
}

// The process is asked to end at 150 ms, and ends by itself in the middle of a line.
static void tell_broken_off(struct story *s)
{
    tell_tail(s);
    s->processes[0].status = 75 << 8;
}

static void tell_reader_away(struct story *s)
{
    tell_broken_off(s);
    story_fault(s, "pause-reader", 140, 160);
}

// A shell that started the process returns 128 plus the signal.
static void tell_broken_off_by_signal(struct story *s)
{
    tell_broken_off(s);
    s->processes[0].status = 143 << 8;
}

static void tell_forged(struct story *s)
{
    story_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    s->deliveries[1].flags = DELIVERY_FORGED;
}

static void tell_fields_of_another(struct story *s)
{
    story_good_token(s);
    story_line(s, 350, story_txn(s, 250, 1), 1);
    s->deliveries[1].fingerprint = 1000;
}

// The line prints a name as it is that the wire cannot carry. In this story the line can still be
// parsed, in the next one it cannot.
static void tell_bad_name(struct story *s)
{
    story_good_token(s);
    uint32_t bad = story_txn(s, 250, 1);
    s->kinds[bad] = TOKEN_BAD_NAME;
    story_line(s, 350, bad, 1);
}

static void tell_torn_by_name(struct story *s)
{
    tell_bad_name(s);
    s->lines[1].state = LINE_TORN;
    s->lines[1].tokens = 0;
    s->deliveries[1].flags = DELIVERY_NAMED;
}

static void tell_out_of_order(struct story *s)
{
    uint32_t first = story_txn(s, 50, 2);
    uint32_t later = story_txn(s, 60, 1);
    story_line(s, 60, first + 1, 1);
    story_line(s, 150, later, 1);
    story_line(s, 150, first, 1);
}

static void tell_overtaken_while_open(struct story *s)
{
    uint32_t a = story_txn(s, 50, 1);
    story_last(s)->commit_ns += 20 * NS_PER_MS;
    story_last(s)->ended_ns += 20 * NS_PER_MS;
    uint32_t b = story_txn(s, 60, 1);
    story_line(s, 160, b, 1);
    story_line(s, 170, a, 1);
}

static const struct story_case cases[] = {
    {"over the limit", tell_over_limit, "over_limit=1 ", VERDICT_VIOLATED},
    {"torn", tell_torn, "torn=1 ", VERDICT_VIOLATED},
    {"the tail of a killed process", tell_tail, "", VERDICT_PASS},
    {"the tail of one that ends by itself", tell_broken_off, "torn=1 ", VERDICT_VIOLATED},
    {"the tail of one whose reader is away", tell_reader_away, "", VERDICT_PASS},
    {"the tail of one behind a shell, killed", tell_broken_off_by_signal, "", VERDICT_PASS},
    {"bad signature", tell_forged, "forged=1 ", VERDICT_VIOLATED},
    {"fields of another", tell_fields_of_another, "forged=1 ", VERDICT_VIOLATED},
    {"a bad name, printed", tell_bad_name, "forged=1 ", VERDICT_VIOLATED},
    {"torn by a bad name", tell_torn_by_name, "forged=1 ", VERDICT_VIOLATED},
    {"out of order", tell_out_of_order, "out_of_order=1 ", VERDICT_VIOLATED},
    {"overtaken while open", tell_overtaken_while_open, "", VERDICT_PASS},
};

const struct story_cases stories_lines = {cases, sizeof cases / sizeof *cases};
