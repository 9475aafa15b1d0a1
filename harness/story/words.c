// One line of a story: text to event, and back.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/rows.h"
#include "scenario/suggest.h"
#include "story/inside.h"

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
    const struct event *event, const struct origin *at, const char *word, struct err *e)
{
    const char *known[WORDS_MAX];
    size_t count = 0;

    FOR_WORDS(known_word, event)
    known[count++] = known_word->name;
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
    // The bound keeps the sum of all times of a story within 64 bits.
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

    // A collector may write a token that nobody planned.
    if (event->kind == EVENT_ITEM && strcmp(word, "strange") == 0) {
        event->first = event->last = NUMBER_NONE;
        return true;
    }
    snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - word) : 15, word);
    if (!words_count(at, first, &from, e) || !words_count(at, dash ? dash + 1 : first, &to, e))
        return false;
    // The last number stands for none.
    if (from > to || to >= NUMBER_NONE)
        return origin_err(at, e, "'%.40s' should be a number, or two such as 4-9", word);
    event->first = (uint32_t)from;
    event->last = (uint32_t)to;
    return true;
}

// --- reading an event -----------------------------------------------------------------

bool words_text(
    struct words *w, const struct origin *at, char *word, const char **text, struct err *e)
{
    size_t len = strlen(word);

    if (len < 2 || word[0] != '"' || word[len - 1] != '"')
        return origin_err(at, e, "'%.40s' should be a text within quotes", word);
    word[len - 1] = '\0';
    *text = story_keep(w->told, word + 1);
    return *text || err_memory(e);
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

// Reads the value of a word as the field has it.
static bool read_value(const struct event_word *word, const struct origin *at, char *text,
    int64_t *value, struct err *e)
{
    bool length = word->type == VALUE_LENGTH || word->type == VALUE_ANSWER;
    bool ever = word->type == VALUE_TIME || word->type == VALUE_LENGTH;

    if (word->type == VALUE_SHARE)
        return read_share(at, text, value, e);
    if (word->type == VALUE_COLUMNS)
        return read_columns(at, text, value, e);
    if (word->type == VALUE_COUNT)
        return words_count(at, text, value, e) &&
               (*value <= (word->size < sizeof(int) ? UINT16_MAX : INT32_MAX) ||
                   word->size > sizeof(int) ||
                   origin_err(at, e, "'%s' cannot be %.40s", word->name, text));
    if (!words_ms(at, text, value, e))
        return false;
    if ((ever && *value == CLOCK_NEVER) || (length && *value < 0))
        return origin_err(at, e, "'%s' cannot be %.40s", word->name, text);
    if (word->type == VALUE_LENGTH)
        *value /= word->flag;
    else if (!length && *value != CLOCK_NEVER)
        *value += STORY_START_NS;
    else if (!length && word->type != VALUE_END)
        *value = 0;
    return true;
}

// Reads what stands behind a word, and fills its field.
static bool read_word(struct words *w, const struct event_word *word, struct event *event,
    const struct origin *name, struct err *e)
{
    struct origin at;
    char text[512];
    int64_t value = word->flag;

    if ((event->given & event_bit(event, word)))
        return origin_err(name, e, "'%s' is said twice, or against another word", word->name);
    event->given |= event_bit(event, word);
    if (word->type == VALUE_BIT)
        // Other words may have set other bits of the field.
        value |= event_get(event, word->at, word->size);
    if (word->type == VALUE_FLAG || word->type == VALUE_FLAG_TIME || word->type == VALUE_BIT)
        event_put(event, word->at, word->size, value);
    if (word->type == VALUE_FLAG || word->type == VALUE_BIT)
        return true;
    if (!words_next(w, text, sizeof text, &at))
        return origin_err(&at, e, "'%s' needs a value behind it", word->name);
    if (word->type == VALUE_TEXT)
        return words_text(w, &at, text, &event->text, e);
    if (!read_value(word, &at, text, &value, e))
        return false;
    if (word->time)
        event_put(event, word->time, sizeof value, value);
    else
        event_put(event, word->at, word->size, value);
    return true;
}

static const struct event_word *find_word(const struct event *e, const char *name)
{
    FOR_WORDS(word, e)
    if (strcmp(word->name, name) == 0)
        return word;
    return NULL;
}

// Reads the words up to the end of the line, to a ':', or to the next item of a line.
static bool read_words(struct words *w, struct event *event, struct err *e)
{
    struct origin at;
    char text[64];

    for (const char *before = w->at; words_next(w, text, sizeof text, &at); before = w->at) {
        const struct event_word *word = find_word(event, text);
        // The next item of the line begins here, so the word is given back.
        if (!word && event->kind == EVENT_ITEM &&
            (isdigit((unsigned char)*text) || strcmp(text, "strange") == 0)) {
            w->at = before;
            return true;
        }
        if (!word)
            return unknown_here(event, &at, text, e);
        if (!read_word(w, word, event, &at, e))
            return false;
    }
    return true;
}

static bool read_head(struct words *w, struct event *event, struct err *e)
{
    const struct kind *k = &vocabulary[event->kind];
    struct origin at;
    char text[512];

    if (k->head == HEAD_NONE)
        return true;
    // A setting has blanks and colons of its own; the scenario's reader takes it as it is.
    if (k->head == HEAD_REST) {
        w->at += strspn(w->at, " \t");
        event->origin.column += (size_t)(w->at - w->start);
        event->text = story_keep(w->told, w->at);
        w->at += strlen(w->at);
        return event->text || err_memory(e);
    }
    if (!words_next(w, text, sizeof text, &at))
        return origin_err(&at, e, "'%s' needs a number behind it%s", k->name,
            k->head == HEAD_FAULT ? ", or a map such as {do: reset}" : "");
    event->first = event->last = NUMBER_NONE;
    if (k->head == HEAD_FAULT && *text == '{') {
        event->origin = at;
        event->text = story_keep(w->told, text);
        return event->text || err_memory(e);
    }
    return read_range(&at, text, k->head == HEAD_RANGE, event, e);
}

bool event_read(struct words *w, struct event *event, struct err *e)
{
    const char *known[EVENT_KINDS + 2] = {"like", "repeat"};
    struct origin at;
    char name[64];
    size_t count = 2;

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
    FOR_WORDS(word, event)
    if (word->type == VALUE_TIME) // what nobody dates lies at the load's beginning
        event_put(event, word->at, word->size, STORY_START_NS);
    return read_head(w, event, e) && read_words(w, event, e);
}

bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e)
{
    char text[64];

    *item = (struct event){.kind = EVENT_ITEM};
    *end = !words_next(w, text, sizeof text, &item->origin);
    if (*end)
        return *w->at == '\0' || origin_err(&item->origin, e, "there is one ':' too many");
    return read_range(&item->origin, text, true, item, e) && read_words(w, item, e);
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

static void write_value(const struct event *event, const struct event_word *word, struct buf *out)
{
    // The flag is said by the word itself; behind it stands its time.
    int64_t value = word->time ? event_get(event, word->time, sizeof value)
                               : event_get(event, word->at, word->size);

    switch (word->type) {
    case VALUE_TIME:
    case VALUE_WHEN:
    case VALUE_END:
    case VALUE_FLAG_TIME:
        write_ms(value == 0 || value == CLOCK_NEVER ? CLOCK_NEVER : value - STORY_START_NS, out);
        break;
    case VALUE_LENGTH:
        write_ms(value * word->flag, out);
        break;
    case VALUE_ANSWER:
        write_ms(value, out);
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

// True when the word is the one that says what its field holds.
static bool says(const struct event *event, const struct event_word *word)
{
    int64_t value = event_get(event, word->at, word->size);

    if (word->type == VALUE_FLAG || word->type == VALUE_FLAG_TIME)
        return value == word->flag;
    return word->type != VALUE_BIT || (value & word->flag);
}

void event_write(const struct event *event, struct buf *out)
{
    uint64_t left = event->given;

    write_head(event, out);
    FOR_WORDS(word, event)
    {
        uint64_t bit = event_bit(event, word);
        if (!(left & bit) || !says(event, word))
            continue;
        left &= ~bit;
        buf_printf(out, " %s", word->name);
        if (word->type == VALUE_FLAG || word->type == VALUE_BIT)
            continue;
        buf_append_char(out, ' ');
        write_value(event, word, out);
    }
}
