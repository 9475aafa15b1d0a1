// One line of a story: text to event, and back, by the rows of vocabulary.c.
#include <ctype.h>

#include "ledger/ledger.h"
#include "scenario/suggest.h"
#include "story/event.h"

// How the field of a word keeps a value that the text has in ms (a share: in percent).
static const struct rule {
    int64_t zero;  // what the field holds for 0 ms
    int64_t never; // what the field holds for `never`; -1: the value cannot be `never`
    bool negative; // values below 0 are allowed
} rules[] = {
    [VALUE_TIME] = {STORY_START_NS, -1, true},
    [VALUE_WHEN] = {STORY_START_NS, 0, true},
    [VALUE_END] = {STORY_START_NS, CLOCK_NEVER, true},
    [VALUE_EXPIRY] = {0, -1, true},
    [VALUE_LENGTH] = {0, -1, false},
    [VALUE_ANSWER] = {0, CLOCK_NEVER, false},
    [VALUE_SHARE] = {0, -1, false},
    [VALUE_FLAG_TIME] = {STORY_START_NS, 0, true},
};

// --- the words of a line --------------------------------------------------------------

// Returns the end of the map, the quotation or the word that begins at p. A word ends before the
// next character of `ends`.
static const char *word_end(const char *p, const char *ends)
{
    int depth = 0;
    bool quoted = false;

    if (*p != '{' && *p != '"')
        return p + strcspn(p, ends);
    for (; *p; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (!quoted && *p == '{')
            depth++;
        else if (!quoted && *p == '}')
            depth--;
        if (!quoted && depth == 0)
            return p + 1;
    }
    return p;
}

bool words_next(struct words *w, char *word, size_t size, struct origin *place)
{
    w->at += strspn(w->at, " \t");
    *place = w->origin;
    place->column += (size_t)(w->at - w->start);
    const char *end = word_end(w->at, w->claims ? " \t,()" : " \t:");
    // In a claim, each comma and each parenthesis is a word.
    if (end == w->at && w->claims && *end)
        end++;
    snprintf(word, size, "%.*s", (int)(end - w->at), w->at);
    bool any = end > w->at;
    w->at = end;
    return any;
}

size_t words_find(const struct origin *at, const char *word, const char *const *known, size_t count,
    struct err *e)
{
    struct suggestion near;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1024);

    suggest_init(&near, word);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i], word) == 0)
            return i;
        suggest_offer(&near, known[i]);
    }
    buf_append_str(&text, near.text);
    // A near word is enough of a hint. Without one, all words that may stand here are named.
    for (size_t i = 0; i < count && !*near.text; i++)
        buf_printf(&text, "%s%s", i == 0 ? "; write " : i + 1 < count ? ", " : " or ", known[i]);
    origin_err(at, e, "'%.60s' is not a word that is known here%s", word, buf_str(&text));
    return count;
}

// Reads a number of ms with up to 6 decimals, such as -2.25, as ns.
static bool read_ms(const struct origin *at, const char *word, int64_t *ns, struct err *e)
{
    const char *p = word + (*word == '-');
    int64_t value = 0, unit = NS_PER_MS;

    // A number beyond TIME_MAX is refused below. The loop ends there, before `value` overflows.
    for (; isdigit((unsigned char)*p) && value <= TIME_MAX; p++)
        value = value * 10 + (*p - '0') * NS_PER_MS;
    if (*p == '.' && isdigit((unsigned char)p[1]))
        for (p++; isdigit((unsigned char)*p) && unit > 1; p++)
            value += (*p - '0') * (unit /= 10);
    if (*p || p == word || !isdigit((unsigned char)p[-1]) || value > TIME_MAX)
        return origin_err(at, e, "'%.40s' should be a number of ms, such as 150 or 2.25", word);
    *ns = *word == '-' ? -value : value;
    return true;
}

// Reads a whole number of at most 12 digits.
static bool words_count(const struct origin *at, const char *word, int64_t *count, struct err *e)
{
    size_t digits = strspn(word, "0123456789");

    if (digits == 0 || word[digits] || digits > 12)
        return origin_err(at, e, "'%.40s' should be a number", word);
    *count = strtoll(word, NULL, 10);
    return true;
}

bool words_unquote(
    struct words *w, const struct origin *at, char *word, const char **text, struct err *e)
{
    size_t len = strlen(word);

    if (len < 2 || word[0] != '"' || word[len - 1] != '"')
        return origin_err(at, e, "'%.40s' should be a text within quotes", word);
    word[len - 1] = '\0';
    *text = story_keep(w->story, word + 1);
    return true;
}

// --- reading an event -----------------------------------------------------------------

// Reads the numbers of an event: "4"; of a kind with HEAD_RANGE also "4-9"; of an item also
// "strange", a token that was never planned.
static bool read_range(const struct origin *at, char *word, struct event *event, struct err *e)
{
    char *dash = vocabulary[event->kind].head == HEAD_RANGE ? strchr(word, '-') : NULL;
    int64_t from = 0, to = 0;

    if (event->kind == EVENT_ITEM && strcmp(word, "strange") == 0) {
        event->first = event->last = NUMBER_NONE;
        return true;
    }
    if (dash)
        *dash = '\0';
    if (!words_count(at, word, &from, e) || !words_count(at, dash ? dash + 1 : word, &to, e))
        return false;
    // NUMBER_NONE stands for no number.
    if (from > to || to >= NUMBER_NONE)
        return origin_err(
            at, e, "'%.40s' should be a number below %u, or two such as 4-9", word, NUMBER_NONE);
    event->first = (uint32_t)from;
    event->last = (uint32_t)to;
    return true;
}

// Reads names of columns between commas as bits. Overwrites the commas in `word`.
static bool read_columns(const struct origin *at, char *word, int64_t *bits, struct err *e)
{
    const char *known[ROW_COLUMNS];

    *bits = 0;
    for (size_t i = 0; i < ROW_COLUMNS; i++)
        known[i] = row_columns[i].name;
    for (char *name, *rest = word; (name = strsep(&rest, ",")) != NULL;) {
        size_t i = words_find(at, name, known, ROW_COLUMNS, e);
        if (i == ROW_COLUMNS)
            return false;
        *bits |= row_columns[i].bits;
    }
    return true;
}

// Reads the value after a word, and converts it to what the word's field keeps. Returns false when
// the word cannot have this value.
static bool read_value(const struct event_word *word, const struct origin *at, char *text,
    int64_t *value, struct err *e)
{
    const struct rule *rule = &rules[word->type];
    // The largest value that a field of this size holds. No count has a field of one byte.
    int64_t most = word->size < sizeof(int)   ? UINT16_MAX
                   : word->size > sizeof(int) ? INT64_MAX
                                              : INT32_MAX;

    if (word->type == VALUE_COLUMNS)
        return read_columns(at, text, value, e);
    if (word->type == VALUE_COUNT) {
        if (!words_count(at, text, value, e))
            return false;
        return *value <= most || origin_err(at, e, "'%s' cannot be %.40s", word->name, text);
    }
    char *percent = strchr(text, '%');
    if (word->type == VALUE_SHARE && (!percent || percent[1]))
        return origin_err(at, e, "'%.40s' should be a share such as 90%%", text);
    if (word->type == VALUE_SHARE)
        *percent = '\0';
    bool never = strcmp(text, "never") == 0;
    if (!never && !read_ms(at, text, value, e))
        return false;
    if (never ? rule->never < 0 : *value < 0 && !rule->negative)
        return origin_err(at, e, "'%s' cannot be %.40s", word->name, text);
    *value = never ? rule->never : *value / (word->unit ? word->unit : 1) + rule->zero;
    // The field of a share has millionths.
    return word->type != VALUE_SHARE || *value <= 1000000 ||
           origin_err(at, e, "'%s' is at most 100%%", word->name);
}

// Reads what stands behind a word that has a value, and fills in the word's field. `name` is the
// place of the word.
static bool read_word(struct words *w, const struct event_word *word, struct event *event,
    const struct origin *name, struct err *e)
{
    struct origin at;
    char text[512];
    int64_t value = 0;

    if (event->given & event_bit(event, word))
        return origin_err(name, e, "'%s' is said twice, or against another word", word->name);
    event->given |= event_bit(event, word);
    if (word->type >= VALUE_FLAG)
        event_put(event, word, word->flag);
    if (word->type == VALUE_FLAG)
        return true;
    if (!words_next(w, text, sizeof text, &at))
        return origin_err(&at, e, "'%s' needs a value behind it", word->name);
    if (word->type == VALUE_TEXT)
        return words_unquote(w, &at, text, &event->text, e);
    if (!read_value(word, &at, text, &value, e))
        return false;
    event_put_value(event, word, value);
    return true;
}

// Reads an event's words up to the end of the line or a ':'; of an item, also up to the next item.
static bool read_words(struct words *w, struct event *event, struct err *e)
{
    const char *known[WORDS_MAX];
    size_t count = 0;
    struct origin at;
    char text[64];

    FOR_WORDS(word, event)
    known[count++] = word->name;
    for (const char *before = w->at; words_next(w, text, sizeof text, &at); before = w->at) {
        // The next item of the line begins here, so the word is given back.
        if (event->kind == EVENT_ITEM &&
            (isdigit((unsigned char)*text) || strcmp(text, "strange") == 0)) {
            w->at = before;
            return true;
        }
        size_t i = words_find(&at, text, known, count, e);
        if (i == count || !read_word(w, &vocabulary[event->kind].words[i], event, &at, e))
            return false;
    }
    return true;
}

// Reads the head of an event, which follows its name: see `head` of struct kind.
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
        event->origin.column = w->origin.column + (size_t)(w->at - w->start);
        event->text = story_keep(w->story, w->at);
        w->at += strlen(w->at);
        return true;
    }
    if (!words_next(w, text, sizeof text, &at))
        return origin_err(&at, e, "'%s' needs a number behind it%s", k->name,
            k->head == HEAD_FAULT ? ", or a map such as {do: reset}" : "");
    event->first = event->last = NUMBER_NONE;
    if (k->head == HEAD_FAULT && *text == '{') {
        event->origin = at;
        event->text = story_keep(w->story, text);
        return true;
    }
    return read_range(&at, text, event, e);
}

bool event_read(struct words *w, struct event *event, struct err *e)
{
    const char *known[EVENT_KINDS];
    size_t count = 0;
    char name[64];

    *event = (struct event){0};
    if (!words_next(w, name, sizeof name, &event->origin))
        return origin_err(&event->origin, e, "an event is missing here, such as 'token 0 at 50'");
    // Items have no name, because they stand after the ':' of a line.
    for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++)
        if (kind != EVENT_ITEM)
            known[count++] = vocabulary[kind].name;
    size_t found = words_find(&event->origin, name, known, count, e);
    if (found == count)
        return false;
    event->kind = (enum event_kind)(found < EVENT_ITEM ? found : found + 1);
    // A time that the line does not give is the load's beginning.
    FOR_WORDS(word, event)
    if (word->type == VALUE_TIME)
        event_put(event, word, STORY_START_NS);
    return read_head(w, event, e) && read_words(w, event, e);
}

bool event_read_item(struct words *w, struct event *item, bool *end, struct err *e)
{
    char text[64];

    *item = (struct event){.kind = EVENT_ITEM};
    *end = !words_next(w, text, sizeof text, &item->origin);
    if (*end)
        return *w->at == '\0' || origin_err(&item->origin, e, "there is one ':' too many");
    return read_range(&item->origin, text, item, e) && read_words(w, item, e);
}

// --- writing an event -----------------------------------------------------------------

// Writes a time in milliseconds, with as many decimal places as it needs.
static void write_ms(int64_t ns, struct buf *out)
{
    int64_t size = ns < 0 ? -ns : ns, rest = size % NS_PER_MS;
    int digits = 6;

    buf_printf(out, "%s%lld", ns < 0 ? "-" : "", (long long)(size / NS_PER_MS));
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

// Appends a blank and the value behind a word, the inverse of read_value.
static void write_value(const struct event *event, const struct event_word *word, struct buf *out)
{
    const struct rule *rule = &rules[word->type];
    int64_t value = event_value(event, word);

    buf_append_char(out, ' ');
    if (word->type == VALUE_TEXT)
        buf_printf(out, "\"%s\"", event->text);
    else if (word->type == VALUE_COLUMNS)
        write_columns(value, out);
    else if (word->type == VALUE_COUNT)
        buf_printf(out, "%lld", (long long)value);
    // A field with a time on the run's clock (`zero` is not 0) may also hold 0 for never.
    else if (value == CLOCK_NEVER || (value == 0 && rule->zero))
        buf_append_str(out, "never");
    else
        write_ms((value - rule->zero) * (word->unit ? word->unit : 1), out);
    buf_append_str(out, word->type == VALUE_SHARE ? "%" : "");
}

// Writes the name of an event and the numbers that it is about, such as `token 4-7`.
static void write_head(const struct event *event, struct buf *out)
{
    const struct kind *k = &vocabulary[event->kind];

    buf_append_str(out, k->name);
    if (k->head == HEAD_NONE)
        return;
    // Without a number, it is a fault with its map, or an item with a token that was never planned.
    if (event->first == NUMBER_NONE)
        buf_printf(out, " %s", event->text ? event->text : "strange");
    else if (event->first == event->last)
        buf_printf(out, " %u", event->first);
    else
        buf_printf(out, " %u-%u", event->first, event->last);
}

void event_write(const struct event *event, struct buf *out)
{
    uint64_t left = event->given;

    write_head(event, out);
    FOR_WORDS(word, event)
    {
        uint64_t bit = event_bit(event, word);
        // Of the flags for a field, only the one that the field holds is written.
        if (!(left & bit) || (word->type >= VALUE_FLAG && event_get(event, word) != word->flag))
            continue;
        left &= ~bit;
        buf_printf(out, " %s", word->name);
        if (word->type != VALUE_FLAG)
            write_value(event, word, out);
    }
}
