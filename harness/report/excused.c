#include "report/excused.h"

bool excused_whole(const struct report *r, enum metric_id id)
{
    return result_judged(r->result, id) && r->result->judged[id].judged <= 0 &&
           !r->result->broken[id] && !r->result->doubted[id];
}

// Appends for each verb (a kind of fault) how long such a fault may excuse the subject after its
// end, and how long one did at most. Verbs of which no fault struck the subject are left out.
static void append_fault_excuses(const struct report *r, struct buf *out)
{
    for (int id = 0; id < VERB_COUNT; id++) {
        const struct excuse *x = &r->result->excuses[id];
        if (x->strikes == 0)
            continue;
        if (x->to_end) {
            buf_printf(out, "%s (%llu): %sall time until the run's end is excused\n",
                verbs[id].name, (unsigned long long)x->strikes,
                x->strikes > 1 ? "after one, " : "");
            continue;
        }
        buf_printf(out, "%s (%llu): %smay excuse up to %.0f ms after its end, and ", verbs[id].name,
            (unsigned long long)x->strikes, x->strikes > 1 ? "each " : "",
            (double)x->most_ns / 1e6);
        if (x->used_ns > 0)
            buf_printf(out, "at most %.0f ms were used\n", (double)x->used_ns / 1e6);
        else
            buf_append_str(out, "none was used\n");
    }
}

// Appends the judged part of each invariant of which less than `share` was judged.
static void append_judged_parts(const struct report *r, double share, struct buf *out)
{
    char text[200];

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct judged *j = &r->result->judged[id];
        if (!result_judged(r->result, id) || j->of <= 0 || judged_share(j) >= share)
            continue;
        judged_text(r->result, id, text, sizeof text);
        buf_printf(out, "%s: %s\n", metrics[id].name, text);
    }
}

// Appends the invariants that had nothing to judge, because they would otherwise look as if they
// had held, and the invariants that the subject does not promise.
static void append_not_judged(const struct report *r, struct buf *out)
{
    size_t named = 0;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(2000);

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (!excused_whole(r, id) || r->result->judged[id].of > 0)
            continue;
        buf_printf(out, "%s%s", named++ ? ", " : "nothing to judge: ", metrics[id].name);
    }
    if (named > 0)
        buf_append_char(out, '\n');
    unpromised_text(r->scenario, &text);
    if (text.len > 0)
        buf_printf(out, "not judged: %.*s\n", (int)text.len, text.data);
}

void excused_lines(const struct report *r, double share, struct buf *out)
{
    append_fault_excuses(r, out);
    append_judged_parts(r, share, out);
    append_not_judged(r, out);
}
