#include "run/cuts/points.h"

#include "plan/rng.h"

#define POINTS_MAX 20000

// The number of the random stream for pairs (see rng.h). No plan uses a stream with this number.
#define PAIRS_STREAM 1000003

static bool is_kind_wanted(const struct message_kind *only, int sender, int type)
{
    return !only ||
           ((int)only->sender == sender && (only->type == MESSAGE_ANY || only->type == type));
}

static size_t count_points(unsigned counts[2][256], const struct message_kind *only)
{
    size_t count = 0;

    for (int sender = 0; sender < 2; sender++) {
        for (int type = 0; type < 256; type++)
            count += is_kind_wanted(only, sender, type) ? 2 * (size_t)counts[sender][type] : 0;
    }
    return count;
}

// Adds two points for each message of a kind: before it and after it.
static void add_point_kind(struct points *p, int sender, int type, unsigned messages)
{
    for (unsigned i = 0; i < 2 * messages; i++)
        p->items[p->count++] = (struct trial_cuts){
            .at = {{(enum message_sender)sender, (unsigned char)type, (int)i / 2 + 1,
                i % 2 ? CUT_AFTER : CUT_BEFORE}},
            .count = 1,
        };
}

bool points_make(
    struct points *p, unsigned counts[2][256], const struct message_kind *only, struct err *e)
{
    size_t count = count_points(counts, only);

    *p = (struct points){0};
    if (count == 0)
        return err_set(e, ERR_SYSTEM, "the collector exchanged no such message");
    if (count > POINTS_MAX)
        return err_set(e, ERR_USAGE,
            "%zu cut points are more than %d, the most that one command tries; restrict them "
            "with --cut-at",
            count, POINTS_MAX);
    memory_grow(&p->items, 0, count, sizeof *p->items);
    for (int sender = 0; sender < 2; sender++) {
        for (int type = 0; type < 256; type++) {
            if (is_kind_wanted(only, sender, type))
                add_point_kind(p, sender, type, counts[sender][type]);
        }
    }
    assert(p->count == count);
    // points_add_pairs appends the pairs after these.
    p->singles = count;
    return true;
}

// Draws the second cut of a pair. It comes at one of the messages with which the collector recovers
// from the first; `recovery`: how many of them each sender sends.
static struct cut_point draw_second(struct rng *rng, const unsigned recovery[2])
{
    unsigned all = recovery[MESSAGE_CLIENT] + recovery[MESSAGE_SERVER];
    unsigned n = (unsigned)rng_below(rng, all);
    // The messages of both senders are numbered as one series, so each message is equally likely.
    bool client = n < recovery[MESSAGE_CLIENT];
    enum cut_side side = rng_below(rng, 2) ? CUT_AFTER : CUT_BEFORE;

    return (struct cut_point){
        .sender = client ? MESSAGE_CLIENT : MESSAGE_SERVER,
        .type = MESSAGE_ANY,
        .n = (int)(client ? n : n - recovery[MESSAGE_CLIENT]) + 1,
        .side = side,
    };
}

// True for a cut from which the collector may not have to recover, because it comes at the very
// end: at the Terminate ('X'), or at the last of several messages of a kind.
static bool is_last(const struct points *p, size_t i)
{
    // Each message has two points, so i + 2 belongs to the next message.
    const struct cut_point *a = &p->items[i].at[0];
    const struct cut_point *next = i + 2 < p->singles ? &p->items[i + 2].at[0] : NULL;

    return (a->sender == MESSAGE_CLIENT && a->type == 'X') ||
           (a->n > 1 && (!next || next->sender != a->sender || next->type != a->type));
}

// Draws the first cut of a pair. If the cut that was drawn is_last, takes the next one that is not;
// if all are, takes any.
static struct trial_cuts draw_first(const struct points *p, struct rng *rng)
{
    size_t i = rng_below(rng, p->singles), first = i;

    while (is_last(p, i) && (i + 1) % p->singles != first)
        i = (i + 1) % p->singles;
    return p->items[i];
}

bool points_add_pairs(
    struct points *p, size_t pairs, uint64_t seed, const unsigned recovery[2], struct err *e)
{
    struct rng rng;

    assert(p->singles > 0);
    if (pairs == 0)
        return true;
    if (recovery[MESSAGE_CLIENT] + recovery[MESSAGE_SERVER] == 0)
        return err_set(e, ERR_SYSTEM, "the collector exchanged no message before its first line");
    memory_grow(&p->items, p->count, pairs, sizeof *p->items);
    rng_init(&rng, seed, PAIRS_STREAM);
    for (size_t i = 0; i < pairs; i++) {
        struct trial_cuts pair = draw_first(p, &rng);
        pair.at[1] = draw_second(&rng, recovery);
        pair.count = 2;
        p->items[p->count++] = pair;
    }
    return true;
}

void points_fini(struct points *p)
{
    free(p->items);
    *p = (struct points){0};
}

const char *points_side(enum cut_side side)
{
    return side == CUT_BEFORE ? "before" : "after";
}

const char *points_text(const struct trial_cuts *cuts, char text[POINTS_TEXT])
{
    int len = 0;

    text[0] = '\0';
    for (int i = 0; i < cuts->count; i++) {
        const struct cut_point *p = &cuts->at[i];
        len += snprintf(text + len, POINTS_TEXT - (size_t)len, "%s%s %s %s number %d",
            i ? ", then " : "", points_side(p->side), message_sender_name(p->sender),
            message_name(p->sender, p->type), p->n);
    }
    return text;
}
