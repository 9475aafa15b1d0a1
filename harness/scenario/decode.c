// Decodes a tree into a struct by the tables of the grammar.
//
// decode_map walks the table and not the tree: each field is decoded from its node or, without one,
// from the text of its default, by the same function. So a default obeys the rules of the file. An
// optional field without a node stays 0. Keys without a row are found in a pass of their own,
// before anything is decoded.
//
// Each type has one decoder, which checks the limits of the row. Rules about several keys are in
// rules.c.
#include "scenario/decode.h"

#include "scenario/gone.h"
#include "scenario/parse.h"
#include "scenario/quoted.h"
#include "scenario/scenario.h"
#include "scenario/suggest.h"
#include "scenario/units.h"

static bool refuse_unknown_keys(const struct table *t, const struct node *map, struct err *e);
static bool decode_field(const struct field *f, const struct node *n, void *base, struct err *e);

bool decode_map(const struct table *t, const struct node *map, void *base, struct err *e)
{
    if (map->kind != NODE_MAP)
        return node_err(map, e, "this should be a map of keys and values");
    if (!refuse_unknown_keys(t, map, e))
        return false;
    for (size_t i = 0; i < t->count; i++) {
        const struct field *f = &t->fields[i];
        const struct node *n = node_child(map, f->key);
        struct node *parsed = NULL; // the default, when the key is absent

        if (!n && f->optional)
            continue;
        if (!n && !f->default_text)
            return node_err(map, e, "'%s' is missing: %s", f->key, f->help);
        if (!n) {
            // A default is YAML text, so it can also be a list or a map.
            if (!parse_yaml(&parsed, f->default_text, strlen(f->default_text), &map->origin, e))
                return false;
            n = parsed;
        }
        bool ok = decode_field(f, n, base, e);
        node_free(parsed);
        if (!ok)
            return false;
    }
    return true;
}

static bool refuse_unknown_keys(const struct table *t, const struct node *map, struct err *e)
{
    for (const struct node *n = map->first; n; n = n->next) {
        struct suggestion near;
        char instead[GONE_TEXT_MAX];
        size_t i = 0;

        suggest_init(&near, n->key);
        for (; i < t->count && strcmp(t->fields[i].key, n->key) != 0; i++)
            suggest_offer(&near, t->fields[i].key);
        // For a key that older versions knew, the error says what to write now; for any other it
        // suggests the nearest known key.
        if (i == t->count)
            return node_key_err(n, e, "'%s' is not a key that is known here%s%s", n->key,
                gone_text("", n->key, instead), near.text);
    }
    return true;
}

bool check_is_scalar(const struct node *n, struct err *e)
{
    if (n->kind != NODE_SCALAR)
        return node_err(
            n, e, "this should be a single value, not a %s", n->kind == NODE_LIST ? "list" : "map");
    return true;
}

bool check_is_line(const struct node *n, struct err *e)
{
    if (!check_is_scalar(n, e))
        return false;
    if (n->text[0] == '\0')
        return node_err(n, e, "there is no value here");
    for (const char *p = n->text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return node_err(n, e, "this should be one line without control characters");
    return true;
}

// Fails, and lists the words that the field takes: "one, two or three".
static bool unknown_word(const struct field *f, const struct node *n, struct err *e)
{
    char list[256] = "";

    for (const struct word *w = f->words; w->name; w++) {
        size_t used = strlen(list);
        const char *before = w == f->words ? "" : w[1].name ? ", " : " or ";
        snprintf(list + used, sizeof list - used, "%s%s", before, w->name);
    }
    return node_err(n, e, "'%s' should be %s", n->text, list);
}

static bool decode_string(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    if (!check_is_line(n, e))
        return false;
    if (f->words && !word_find(f->words, n->text))
        return unknown_word(f, n, e);
    *(char **)slot = memory_copy(n->text);
    return true;
}

static bool decode_strings(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    char ***list = slot;
    size_t i = 0;

    (void)f;
    if (n->kind != NODE_LIST)
        return node_err(n, e, "this should be a list, such as [one, two]");
    // One more, for the NULL at the end. If an item fails, the owner frees the list.
    *list = memory_zeroed(n->count + 1, sizeof **list);
    for (const struct node *item = n->first; item; item = item->next) {
        if (!check_is_scalar(item, e))
            return false;
        (*list)[i++] = memory_copy(item->text);
    }
    return true;
}

static bool decode_word(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    if (!check_is_scalar(n, e))
        return false;
    const struct word *word = word_find(f->words, n->text);
    if (!word)
        return unknown_word(f, n, e);
    *(int *)slot = (int)word->value;
    return true;
}

static bool decode_bool(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    (void)f;
    if (!check_is_scalar(n, e))
        return false;
    // YAML's yes, no, on and off are refused, because some YAML readers take them for truth values
    // and others for text.
    *(bool *)slot = strcmp(n->text, "true") == 0;
    return *(bool *)slot || strcmp(n->text, "false") == 0 ||
           node_err(n, e, "'%s' should be true or false", n->text);
}

// Decodes a whole number within the row's limits, or one of the field's words.
static bool decode_count(const struct field *f, const struct node *n, int64_t *value, struct err *e)
{
    if (!check_is_scalar(n, e))
        return false;
    const struct word *word = word_find(f->words, n->text);
    if (word) {
        *value = word->value;
        return true;
    }
    if (!units_count(n->text, value, e))
        return node_err_here(n, e);
    if (*value < f->min || *value > f->max)
        return node_err(n, e, "'%s' should lie between %lld and %lld", n->text, (long long)f->min,
            (long long)f->max);
    return true;
}

static bool decode_int(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    int64_t value = 0;

    if (!decode_count(f, n, &value, e))
        return false;
    *(int *)slot = (int)value;
    return true;
}

static bool decode_seed(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    int64_t value = 0;

    if (!decode_count(f, n, &value, e))
        return false;
    *(uint64_t *)slot = (uint64_t)value;
    return true;
}

bool decode_share(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    double *share = slot;

    (void)f;
    if (!check_is_scalar(n, e))
        return false;
    if (!units_share(n->text, share, e))
        return node_err_here(n, e);
    return *share <= 1 || node_err(n, e, "'%s' should be a share between 0 and 1", n->text);
}

// Decodes one number, or two with `..` between them, into two ints. A single one is stored twice.
static bool decode_range(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    int64_t from, to;
    int *range = slot;

    if (!check_is_scalar(n, e))
        return false;
    if (!units_range(n->text, &from, &to, e))
        return node_err_here(n, e);
    if (from < f->min || to > f->max || from > to)
        return node_err(n, e, "'%s' should lie between %lld and %lld%s", n->text, (long long)f->min,
            (long long)f->max, from > to ? ", the smaller number first" : "");
    range[0] = (int)from;
    range[1] = (int)to;
    return true;
}

// Decodes a rate, or a ramp between two, into two doubles. A single rate is stored twice.
static bool decode_rate(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    double *rate = slot;

    if (!check_is_scalar(n, e))
        return false;
    const struct word *word = word_find(f->words, n->text);
    if (word) {
        // The only word is `max`. Its flag is the bool right after the two rates in the struct.
        *(bool *)(rate + 2) = true;
        return true;
    }
    if (!units_rate(n->text, &rate[0], &rate[1], e))
        return node_err_here(n, e);
    if (rate[0] > (double)f->max || rate[1] > (double)f->max)
        return node_err(n, e, "'%s' should not exceed %lld/s", n->text, (long long)f->max);
    return true;
}

// Decodes a rate that does not change, of bytes (FIELD_BYTE_RATE) or of anything else.
static bool decode_fixed_rate(
    const struct field *f, const struct node *n, void *slot, struct err *e)
{
    const bool bytes = f->type == FIELD_BYTE_RATE;
    const char *unit = bytes ? "B/s" : "/s";
    double *rate = slot;

    if (!check_is_scalar(n, e))
        return false;
    if (!(bytes ? units_bytes_per_second : units_per_second)(n->text, rate, e))
        return node_err_here(n, e);
    return (*rate >= (double)f->min && *rate <= (double)f->max) ||
           node_err(n, e, "'%s' should lie between %lld%s and %lld%s", n->text, (long long)f->min,
               unit, (long long)f->max, unit);
}

bool decode_words(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    int *flags = slot;

    if (n->kind != NODE_LIST)
        return node_err(n, e, "this should be a list, such as [one, two]");
    *flags = 0;
    for (const struct node *item = n->first; item; item = item->next) {
        int flag = 0;
        if (!decode_word(f, item, &flag, e))
            return false;
        *flags |= flag;
    }
    return true;
}

// Decodes one duration, or two with `..` between them. A single one is stored twice.
static bool decode_span(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    int64_t *span = slot;
    char first[64];

    if (!check_is_scalar(n, e))
        return false;
    const char *dots = strstr(n->text, "..");
    size_t len = dots ? (size_t)(dots - n->text) : strlen(n->text);
    if (len >= sizeof first)
        return node_err(n, e, "'%s' is too long for two durations", n->text);
    snprintf(first, sizeof first, "%.*s", (int)len, n->text);
    if (!units_duration(first, &span[0], e) ||
        !units_duration(dots ? dots + 2 : first, &span[1], e))
        return node_err_here(n, e);
    return (span[0] <= span[1] && span[0] >= f->min && span[1] <= f->max) ||
           node_err(
               n, e, "'%s' should be two durations such as 20ms..80ms, the smaller first", n->text);
}

static bool decode_duration(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    int64_t *ns = slot;

    if (!check_is_scalar(n, e))
        return false;
    const struct word *word = word_find(f->words, n->text);
    if (word) {
        *ns = word->value;
        return true;
    }
    // Only a field whose minimum is negative, such as the step of a clock, takes a '-'. It is
    // skipped here, because units_duration does not read it.
    bool negative = f->min < 0 && n->text[0] == '-';
    if (!units_duration(n->text + negative, ns, e))
        return node_err_here(n, e);
    *ns = negative ? -*ns : *ns;
    if (*ns >= f->min && *ns <= f->max)
        return true;

    struct buf range FREED_BY(buf_fini) = BUF_INIT(64);
    units_print_duration(&range, f->min);
    buf_append_str(&range, " and ");
    units_print_duration(&range, f->max);
    node_err(n, e, "'%s' should lie between %s", n->text, buf_str(&range));
    return false;
}

static bool decode_verb(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    const struct verb **verb = slot;
    struct suggestion near;

    (void)f;
    if (!check_is_scalar(n, e))
        return false;
    *verb = verb_find(n->text);
    if (*verb)
        return true;
    suggest_init(&near, n->text);
    for (size_t i = 0; i < VERB_COUNT; i++)
        suggest_offer(&near, verbs[i].name);
    // The list of verbs is long, so the error points to it only when no verb's name is near.
    return node_err(n, e, "'%s' is not a fault verb%s", n->text,
        *near.text ? near.text : "; `mailproof list` shows them");
}

static bool decode_settings(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    struct settings *settings = slot;

    (void)f;
    if (n->kind != NODE_MAP)
        return node_err(n, e, "this should be a map, such as {name: value}");
    settings->items = memory_zeroed(n->count, sizeof *settings->items);
    for (const struct node *item = n->first; item; item = item->next) {
        if (!check_is_scalar(item, e))
            return false;
        settings->items[settings->count++] =
            (struct setting){.name = memory_copy(item->key), .value = memory_copy(item->text)};
    }
    return true;
}

// Decodes a list of maps. In the struct, the number of items stands right after the pointer to
// them.
static bool decode_items(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    size_t *count = (size_t *)((char *)slot + sizeof(void *));

    if (n->kind != NODE_LIST)
        return node_err(n, e, "this should be a list: lines that begin with '- '");
    char *items = memory_zeroed(n->count, f->table->size);
    // `slot` holds a pointer to items of the table's own type, so the pointer is copied as bytes.
    memcpy(slot, &items, sizeof items);
    for (const struct node *item = n->first; item; item = item->next)
        if (!decode_map(f->table, item, items + (*count)++ * f->table->size, e))
            return false;
    return true;
}

static bool decode_field(const struct field *f, const struct node *n, void *base, struct err *e)
{
    static bool (*const decoders[])(
        const struct field *, const struct node *, void *, struct err *) = {
        [FIELD_STRING] = decode_string,
        [FIELD_STRINGS] = decode_strings,
        [FIELD_WORD] = decode_word,
        [FIELD_BOOL] = decode_bool,
        [FIELD_INT] = decode_int,
        [FIELD_SEED] = decode_seed,
        [FIELD_SHARE] = decode_share,
        [FIELD_RATE] = decode_rate,
        [FIELD_RANGE] = decode_range,
        [FIELD_BYTE_RATE] = decode_fixed_rate,
        [FIELD_PER_S] = decode_fixed_rate,
        [FIELD_FLAGS] = decode_words,
        [FIELD_QUOTED] = quoted_decode,
        [FIELD_DURATION] = decode_duration,
        [FIELD_SPAN] = decode_span,
        [FIELD_VERB] = decode_verb,
        [FIELD_SETTINGS] = decode_settings,
        [FIELD_ALLOW] = objectives_decode_allow,
        [FIELD_JUDGED] = objectives_decode_judged,
        [FIELD_EXPECT] = objectives_decode_expect,
        [FIELD_ITEMS] = decode_items,
    };

    // A map has no slot of its own: the offsets of its fields count from the same struct.
    if (f->type == FIELD_MAP)
        return decode_map(f->table, n, base, e);
    return decoders[f->type](f, n, (char *)base + f->offset, e);
}
