// The trials of --every-cut and --every-kill as JSON, for the strip that html/cuts.js draws.
#include "run/cuts/cutreport.h"

#include "base/utf8.h"

static const char *state_of(const struct cutreport *c, size_t i)
{
    switch (c->results[i].verdict) {
    case VERDICT_VIOLATED:
        return "broken";
    case VERDICT_INCONCLUSIVE:
        return "inconclusive";
    default:
        return cutkinds_reached(c, i) ? "holds" : "not reached";
    }
}

static json_t *trial_json(const struct cutreport *c, size_t i)
{
    const struct trial_result *r = &c->results[i];
    char broken[CUTKINDS_TEXT];
    char why[sizeof r->example[0] + sizeof r->why];

    cutkinds_broken(r, broken);
    snprintf(why, sizeof why, "%s", *broken ? cutkinds_example(r) : r->why);
    utf8_mend(why);
    return json_pack("{s:s, s:s, s:s}", "state", state_of(c, i), "broken", broken, "why", why);
}

// Adds the trial on one side of a message to the message's object. There is no such trial where
// --cut-at asks for another kind of message, where another shard has it, or where the message did
// not come in each learning run.
static void add_side(
    const struct cutreport *c, const struct transcript_entry *m, enum cut_side side, json_t *object)
{
    for (size_t i = 0; i < c->points->singles; i++) {
        const struct cut_point *p = &c->points->items[i].at[0];
        if (p->sender == m->sender && p->type == m->type && p->n == m->n && p->side == side)
            json_object_set_new(object, points_side(side), trial_json(c, i));
    }
}

static json_t *message_json(const struct cutreport *c, const struct transcript_entry *m)
{
    char text[TRANSCRIPT_TEXT_MAX];
    json_t *object;

    snprintf(text, sizeof text, "%s", transcript_text(c->transcript, m));
    utf8_mend(text);
    object = json_pack("{s:i, s:s, s:s, s:i, s:s}", "link", (int)m->link, "sender",
        message_sender_name(m->sender), "name", message_name(m->sender, m->type), "n", m->n, "text",
        text);
    add_side(c, m, CUT_BEFORE, object);
    add_side(c, m, CUT_AFTER, object);
    return object;
}

static json_t *kinds_json(const struct cutreport *c)
{
    json_t *list = json_array();
    struct cutkind k;
    char others[CUTKINDS_TEXT];

    for (size_t i = 0; cutkinds_next(c, &i, &k);)
        json_array_append_new(
            list, json_pack("[s, s, I, I, I, f, f, f, s]", k.sender, k.message, (json_int_t)k.tried,
                      (json_int_t)k.reached, (json_int_t)k.broken, k.sums[METRIC_LOST],
                      k.sums[METRIC_DUPLICATED], k.sums[METRIC_UNPLANNED_EXIT],
                      cutkinds_others(k.sums, others)));
    return list;
}

static json_t *pairs_json(const struct cutreport *c)
{
    json_t *list = json_array();
    char text[POINTS_TEXT];

    for (size_t i = c->points->singles; i < c->points->count; i++) {
        json_t *pair = trial_json(c, i);
        json_object_set_new(pair, "where", json_string(points_text(&c->points->items[i], text)));
        json_array_append_new(list, pair);
    }
    return list;
}

json_t *cutstrip_json(const struct cutreport *c)
{
    json_t *messages = json_array();

    // If nothing was tried, the messages have no results to draw.
    for (size_t i = 0; c->points->count > 0 && i < c->transcript->count; i++)
        json_array_append_new(messages, message_json(c, &c->transcript->entries[i]));
    return json_pack("{s:s, s:o, s:o, s:o}", "action",
        c->how->action == ACTION_KILL ? "kill" : "cut", "messages", messages, "kinds",
        kinds_json(c), "pairs", pairs_json(c));
}
