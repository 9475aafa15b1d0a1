#include "run/cuts/cutreport.h"

static bool is_pair(const struct cutreport *c, size_t i)
{
    return c->points->items[i].count > 1;
}

bool cutkinds_reached(const struct cutreport *c, size_t i)
{
    return c->results[i].reached == c->points->items[i].count;
}

bool cutkinds_unjudged(const struct cutreport *c, size_t i)
{
    enum verdict verdict = c->results[i].verdict;

    return verdict != VERDICT_VIOLATED && (verdict != VERDICT_PASS || !cutkinds_reached(c, i));
}

bool cutkinds_uncut_counts(const struct cutreport *c)
{
    return c->points->count == 0 || c->uncut->verdict != VERDICT_PASS;
}

static bool same_kind(const struct cutreport *c, size_t i, size_t j)
{
    const struct cut_point *a = &c->points->items[i].at[0], *b = &c->points->items[j].at[0];

    if (is_pair(c, i) || is_pair(c, j))
        return is_pair(c, i) && is_pair(c, j);
    return a->sender == b->sender && a->type == b->type;
}

bool cutkinds_next(const struct cutreport *c, size_t *i, struct cutkind *k)
{
    size_t first = *i;

    if (first >= c->points->count)
        return false;
    const struct cut_point *p = &c->points->items[first].at[0];
    *k = (struct cutkind){
        .sender = message_sender_name(p->sender), .message = message_name(p->sender, p->type)};
    // Pairs are drawn from all messages, so all pairs together are one kind.
    if (is_pair(c, first)) {
        k->sender = "pairs";
        k->message = "of messages";
    }
    for (; *i < c->points->count && same_kind(c, first, *i); ++*i, k->tried++) {
        const struct trial_result *r = &c->results[*i];
        k->reached += cutkinds_reached(c, *i);
        k->unjudged += cutkinds_unjudged(c, *i);
        k->broken += r->verdict == VERDICT_VIOLATED;
        for (enum metric_id id = 0; id < METRIC_COUNT; id++)
            k->sums[id] += metrics[id].invariant && r->broken[id] ? r->values[id] : 0;
    }
    return true;
}

static void append_count(char text[CUTKINDS_TEXT], enum metric_id id, double count)
{
    size_t len = strlen(text);

    snprintf(
        text + len, CUTKINDS_TEXT - len, "%s%s %.0f", len > 0 ? ", " : "", metrics[id].name, count);
}

const char *cutkinds_others(const double sums[METRIC_COUNT], char text[CUTKINDS_TEXT])
{
    text[0] = '\0';
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (id != METRIC_LOST && id != METRIC_DUPLICATED && id != METRIC_UNPLANNED_EXIT &&
            sums[id] > 0)
            append_count(text, id, sums[id]);
    }
    return text[0] ? text : "0";
}

const char *cutkinds_broken(const struct trial_result *r, char text[CUTKINDS_TEXT])
{
    text[0] = '\0';
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (r->broken[id])
            append_count(text, id, r->values[id]);
    }
    return text;
}

const char *cutkinds_example(const struct trial_result *r)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (r->broken[id] && *r->example[id])
            return r->example[id];
    }
    return "";
}
