#include "story/vocabulary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/rows.h"
#include "scenario/suggest.h"

const char *event_name(enum event_kind kind)
{
    return vocabulary[kind].name;
}

void event_set(struct event *e, enum slot slot, int64_t value)
{
    e->value[slot] = value;
    e->given |= UINT64_C(1) << slot;
}

void event_shift(struct event *e, int64_t by_ns, uint32_t numbers)
{
    const struct kind *k = &vocabulary[e->kind];

    for (const struct word *word = k->words; word < k->words + WORDS_MAX && word->name; word++) {
        enum slot slot = word->type == VALUE_FLAG_TIME ? word->slot + 1 : word->slot;
        bool time = word->type == VALUE_TIME || word->type == VALUE_WHEN ||
                    (word->type == VALUE_FLAG_TIME && e->value[word->slot] == word->flag);
        if (time && event_has(e, slot) && e->value[slot] != CLOCK_NEVER)
            e->value[slot] += by_ns;
    }
    if (e->first != NUMBER_NONE && k->head != HEAD_NONE) {
        e->first += numbers;
        e->last += numbers;
    }
}

// --- the words of a line --------------------------------------------------------------

// Returns the end of a map or of a quotation that begins here; of a word: the next blank or ':'.
static const char *end_of(const char *p)
{
    int depth = 0;
    bool quoted = false;

    for (bool word = *p != '{' && *p != '"'; *p; p++) {
        if (*p == '"')
            quoted = !quoted;
        depth += quoted ? 0 : (*p == '{') - (*p == '}');
        if (word ? *p == ' ' || *p == '\t' || *p == ':' : !quoted && depth == 0)
            return word ? p : p + 1;
    }
    return p;
}

bool words_next(struct words *w, char *word, size_t size, struct origin *place)
{
    w->at += strspn(w->at, " \t");
    *place = w->origin;
    place->column += (size_t)(w->at - w->start);
    if (*w->at == '\0' || *w->at == ':')
        return false;
    const char *end = end_of(w->at);
    snprintf(word, size, "%.*s", (int)(end - w->at), w->at);
    w->at = end;
    return true;
}

bool words_unknown(const struct origin *at, const char *word, const char *const *known,
    size_t count, struct err *e)
{
    struct suggestion near;
    char text[64];

    suggest_init(&near, word);
    for (size_t i = 0; i < count; i++)
        suggest_offer(&near, known[i]);
    return origin_err(at, e, "'%.60s' is not a word that is known here%s", word,
        suggest_text(&near, text, sizeof text));
}

static bool unknown_here(
    const struct kind *k, const struct origin *at, const char *word, struct err *e)
{
    const char *known[WORDS_MAX];
    size_t count = 0;

    while (count < WORDS_MAX && k->words[count].name) {
        known[count] = k->words[count].name;
        count++;
    }
    return words_unknown(at, word, known, count, e);
}

bool words_ms(const struct origin *at, const char *word, int64_t *ns, struct err *e)
{
    const char *p = word + (*word == '-');
    int64_t value = 0, unit = NS_PER_MS;

    if (strcmp(word, "never") == 0) {
        *ns = CLOCK_NEVER;
        return true;
    }
    for (; isdigit((unsigned char)*p) && value <= TIME_MAX; p++)
        value = value * 10 + (*p - '0') * NS_PER_MS;
    if (*p == '.' && isdigit((unsigned char)p[1]))
        for (p++; isdigit((unsigned char)*p) && unit > 1; p++)
            value += (*p - '0') * (unit /= 10);
    if (*p || !isdigit((unsigned char)p[-1]) || value > TIME_MAX)
        return origin_err(at, e, "'%.40s' should be a number of ms, such as 150 or 2.25", word);
    *ns = *word == '-' ? -value : value;
    return true;
}

bool words_count(const struct origin *at, const char *word, int64_t *count, struct err *e)
{
    size_t digits = strspn(word, "0123456789");

    if (digits == 0 || word[digits] || digits > 12)
        return origin_err(at, e, "'%.40s' should be a number", word);
    *count = strtoll(word, NULL, 10);
    return true;
}

// Reads "4", "4-9", or for a token that was never planned "strange".
static bool read_range(
    const struct origin *at, const char *word, bool range, struct event *event, struct err *e)
{
    char first[16];
    const char *dash = range ? strchr(word, '-') : NULL;
    int64_t from, to;

    if (event->kind == EVENT_ITEM && strcmp(word, "strange") == 0) {
        event->first = event->last = NUMBER_NONE;
        return true;
    }
    snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - word) : 15, word);
    if (!words_count(at, first, &from, e) || !words_count(at, dash ? dash + 1 : first, &to, e))
        return false;
    if (from > to || to >= NUMBER_NONE)
        return origin_err(at, e, "'%.40s' should be a number, or two such as 4-9", word);
    event->first = (uint32_t)from;
    event->last = (uint32_t)to;
    return true;
}

// --- reading an event -----------------------------------------------------------------

struct reading {
    struct words *w;
    const char *(*keep)(void *arg, const char *text);
    void *arg;
};

static bool keep_text(const struct reading *r, struct event *event, const char *text, struct err *e)
{
    event->text = r->keep(r->arg, text);
    return event->text || err_memory(e);
}

static bool read_text(const struct reading *r, const struct origin *at, char *word,
    struct event *event, struct err *e)
{
    size_t len = strlen(word);

    if (len < 2 || word[0] != '"' || word[len - 1] != '"')
        return origin_err(at, e, "'%.40s' should be a text within quotes", word);
    word[len - 1] = '\0';
    return keep_text(r, event, word + 1, e);
}

static bool read_share(const struct origin *at, char *word, int64_t *value, struct err *e)
{
    size_t len = strlen(word);

    if (len > 1 && word[len - 1] == '%') {
        word[len - 1] = '\0';
        // A ms has a million ns as a percent has ten thousand millionths.
        if (words_ms(at, word, value, e) && *value >= 0 && (*value /= 100) <= NS_PER_MS)
            return true;
    }
    return origin_err(at, e, "this should be a share such as 90%%");
}

static bool read_columns(const struct origin *at, char *word, int64_t *bits, struct err *e)
{
    const char *known[ROW_COLUMNS];

    *bits = 0;
    for (size_t i = 0; i < ROW_COLUMNS; i++)
        known[i] = row_columns[i].name;
    for (char *name, *rest = word; (name = strsep(&rest, ",")) != NULL;) {
        size_t i = 0;
        while (i < ROW_COLUMNS && strcmp(known[i], name) != 0)
            i++;
        if (i == ROW_COLUMNS)
            return words_unknown(at, name, known, ROW_COLUMNS, e);
        *bits |= row_columns[i].bits;
    }
    return true;
}

static void write_columns(int64_t bits, struct buf *out)
{
    const char *before = "";

    for (size_t i = 0; i < ROW_COLUMNS; i++) {
        if (!(bits & row_columns[i].bits))
            continue;
        buf_printf(out, "%s%s", before, row_columns[i].name);
        before = ",";
    }
}

static bool read_value(const struct reading *r, const struct word *word, struct event *event,
    const struct origin *name, struct err *e)
{
    bool timed = word->type == VALUE_FLAG_TIME;
    enum slot slot = timed ? word->slot + 1 : word->slot;
    struct origin at;
    char text[512];
    int64_t value = word->flag;

    if (event_has(event, word->slot))
        return origin_err(name, e, "'%s' is said twice, or against another word", word->name);
    if (timed)
        event_set(event, word->slot, word->flag);
    if (word->type == VALUE_FLAG) {
        event_set(event, slot, value);
        return true;
    }
    if (!words_next(r->w, text, sizeof text, &at))
        return origin_err(&at, e, "'%s' needs a value behind it", word->name);
    if (word->type == VALUE_TEXT) {
        event_set(event, slot, 1);
        return read_text(r, &at, text, event, e);
    }
    if (!(word->type == VALUE_COUNT       ? words_count(&at, text, &value, e)
            : word->type == VALUE_SHARE   ? read_share(&at, text, &value, e)
            : word->type == VALUE_COLUMNS ? read_columns(&at, text, &value, e)
                                          : words_ms(&at, text, &value, e)))
        return false;
    bool ever = word->type == VALUE_TIME || word->type == VALUE_LENGTH;
    bool length = word->type == VALUE_LENGTH || word->type == VALUE_ANSWER;
    if ((ever && value == CLOCK_NEVER) || (length && value < 0))
        return origin_err(&at, e, "'%s' cannot be %.40s", word->name, text);
    event_set(event, slot, value);
    return true;
}

static const struct word *find_word(const struct kind *k, const char *name)
{
    for (size_t i = 0; i < WORDS_MAX && k->words[i].name; i++)
        if (strcmp(k->words[i].name, name) == 0)
            return &k->words[i];
    return NULL;
}

static bool read_words(const struct reading *r, struct event *event, struct err *e)
{
    const struct kind *k = &vocabulary[event->kind];
    struct origin at;
    char text[64];

    for (const char *before = r->w->at; words_next(r->w, text, sizeof text, &at);
         before = r->w->at) {
        const struct word *word = find_word(k, text);
        if (!word && event->kind == EVENT_ITEM &&
            (isdigit((unsigned char)*text) || strcmp(text, "strange") == 0)) {
            r->w->at = before;
            return true;
        }
        if (!word)
            return unknown_here(k, &at, text, e);
        if (!read_value(r, word, event, &at, e))
            return false;
    }
    return true;
}

static bool read_head(const struct reading *r, struct event *event, struct err *e)
{
    const struct kind *k = &vocabulary[event->kind];
    struct origin at;
    char text[512];

    if (k->head == HEAD_NONE)
        return true;
    if (k->head == HEAD_REST) {
        r->w->at += strspn(r->w->at, " \t");
        event->origin.column += (size_t)(r->w->at - r->w->start);
        bool ok = keep_text(r, event, r->w->at, e);
        r->w->at += strlen(r->w->at);
        return ok;
    }
    if (!words_next(r->w, text, sizeof text, &at))
        return origin_err(&at, e, "'%s' needs a number behind it%s", k->name,
            k->head == HEAD_FAULT ? ", or a map such as {do: reset}" : "");
    event->first = event->last = NUMBER_NONE;
    if (k->head == HEAD_FAULT && *text == '{') {
        event->origin = at;
        return keep_text(r, event, text, e);
    }
    return read_range(&at, text, k->head == HEAD_RANGE, event, e);
}

bool event_read(struct words *w, struct event *event,
    const char *(*keep)(void *arg, const char *text), void *arg, struct err *e)
{
    const struct reading r = {w, keep, arg};
    const char *known[EVENT_KINDS + 3] = {"like", "repeat", "without"};
    struct origin at;
    char name[64];
    size_t count = 3;

    *event = (struct event){.kind = EVENT_KINDS};
    if (!words_next(w, name, sizeof name, &at))
        return origin_err(&at, e, "an event is missing here, such as 'token 0 at 50'");
    for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++) {
        if (strcmp(vocabulary[kind].name, name) == 0)
            event->kind = kind;
        known[count++] = vocabulary[kind].name;
    }
    event->origin = at;
    if (event->kind == EVENT_KINDS)
        return words_unknown(&at, name, known, count, e);
    return read_head(&r, event, e) && read_words(&r, event, e);
}

bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e)
{
    const struct reading r = {.w = w};
    char text[64];

    *item = (struct event){.kind = EVENT_ITEM};
    *end = !words_next(w, text, sizeof text, &item->origin);
    if (*end)
        return *w->at == '\0' || origin_err(&item->origin, e, "there is one ':' too many");
    return read_range(&item->origin, text, true, item, e) && read_words(&r, item, e);
}

// --- writing an event -----------------------------------------------------------------

static void write_ms(int64_t ns, struct buf *out)
{
    int64_t size = ns < 0 ? -ns : ns;
    int digits = 6;

    if (ns == CLOCK_NEVER) {
        buf_append_str(out, "never");
        return;
    }
    buf_printf(out, "%s%lld", ns < 0 ? "-" : "", (long long)(size / NS_PER_MS));
    int64_t rest = size % NS_PER_MS;
    for (; rest > 0 && rest % 10 == 0; rest /= 10)
        digits--;
    if (rest > 0)
        buf_printf(out, ".%0*lld", digits, (long long)rest);
}

static void write_value(const struct event *event, const struct word *word, struct buf *out)
{
    int64_t value = event->value[word->slot];

    switch (word->type) {
    case VALUE_TIME:
    case VALUE_WHEN:
    case VALUE_LENGTH:
    case VALUE_ANSWER:
        write_ms(value, out);
        break;
    case VALUE_FLAG_TIME:
        write_ms(event->value[word->slot + 1], out);
        break;
    case VALUE_SHARE:
        write_ms(value * 100, out);
        buf_append_char(out, '%');
        break;
    case VALUE_TEXT:
        buf_printf(out, "\"%s\"", event->text);
        break;
    case VALUE_COLUMNS:
        write_columns(value, out);
        break;
    default:
        buf_printf(out, "%lld", (long long)value);
        break;
    }
}

static void write_head(const struct event *event, struct buf *out)
{
    const struct kind *k = &vocabulary[event->kind];

    buf_append_str(out, k->name);
    if (k->head == HEAD_NONE)
        return;
    if (event->first == NUMBER_NONE || k->head == HEAD_REST)
        buf_printf(out, " %s", event->text ? event->text : "strange");
    else if (event->first == event->last)
        buf_printf(out, " %u", event->first);
    else
        buf_printf(out, " %u-%u", event->first, event->last);
}

void event_write(const struct event *event, struct buf *out)
{
    const struct kind *k = &vocabulary[event->kind];
    uint64_t left = event->given;

    write_head(event, out);
    for (const struct word *word = k->words; word < k->words + WORDS_MAX && word->name; word++) {
        bool flag = word->type == VALUE_FLAG || word->type == VALUE_FLAG_TIME;
        if (!(left >> word->slot & 1) || (flag && event->value[word->slot] != word->flag))
            continue;
        left &= ~(UINT64_C(1) << word->slot);
        buf_printf(out, " %s", word->name);
        if (word->type == VALUE_FLAG)
            continue;
        buf_append_char(out, ' ');
        write_value(event, word, out);
    }
}
