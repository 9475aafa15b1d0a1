// From a file to events: what stands in it, what it repeats and what it is like.
#include "story/inside.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "scenario/grammar.h"
#include "scenario/overrides.h"
#include "scenario/parse.h"

#define FILE_MAX ((size_t)4 << 20)
#define LINE_MAX_BYTES 4096
#define LIKE_MAX 16 // stories that one is like, and that these are like
#define REPEAT_MAX 100000

// The reference collector, which is asked to be small, too: three tokens a line, a tenth of a
// second of patience.
static const char base[] =
    "name: story\n"
    "summary: A story.\n"
    "load: [{for: 4s, rate: 1/s}]\n"
    "drain: 6s\n"
    "recovery_limit: 1s\n"
    "slack: 50ms\n"
    "needs: [small]\n"
    "collector: {layout: reference, batch_limit: 3, batch_timeout: 100ms, promises: [";

struct reader {
    struct told *t;
    struct event *events;
    size_t count;
    struct node *root;
    unsigned likes;
};

static bool read_story_file(
    struct reader *r, const char *path, const struct origin *from, struct err *e);

const char *story_keep(struct told *t, const char *text)
{
    struct err e;

    return array_add_text(&t->texts, &t->text_count, text, &e) ? t->texts[t->text_count - 1] : NULL;
}

bool story_base(struct node **root, struct err *e)
{
    static const struct origin nowhere = {.file = "story", .line = 1, .column = 1};

    struct buf yaml;

    buf_init(&yaml, 4096);
    buf_append_str(&yaml, base);
    for (const struct word *w = promise_words; w->name; w++)
        buf_printf(&yaml, "%s%s", w == promise_words ? "" : ", ", w->name);
    buf_append_str(&yaml, "]}\n");
    bool ok = !yaml.failed && parse_yaml(root, yaml.data, yaml.len, &nowhere, e);
    buf_fini(&yaml);
    return ok;
}

bool story_is_path(const char *path)
{
    static const char end[] = ".story";
    size_t len = strlen(path);

    return len > strlen(end) && strcmp(path + len - strlen(end), end) == 0;
}

// --- events -------------------------------------------------------------------------------

static bool add_event_line(struct reader *r, const struct event *event, struct err *e)
{
    if (r->count >= STORY_EVENTS_MAX)
        return origin_err(&event->origin, e, "a story has at most %u events", STORY_EVENTS_MAX);
    if (!array_grow(&r->events, r->count, 1, sizeof *r->events))
        return err_memory(e);
    r->events[r->count++] = *event;
    return true;
}

// Reads an event, and behind the ':' of a line its tokens. *first is the index of the event, which
// is followed by its items.
static bool read_event(struct reader *r, struct words *w, struct err *e)
{
    struct event event, item;
    bool end = false;

    if (!event_read(w, &event, e))
        return false;
    if (*w->at != ':')
        return event.kind == EVENT_SET ? override_apply(r->root, event.text,
                                             &(struct origin){event.origin.file, event.text,
                                                 event.origin.line, event.origin.column},
                                             e)
                                       : add_event_line(r, &event, e);
    if (event.kind != EVENT_LINE) {
        w->at += strspn(w->at, " \t");
        event.origin.column += (size_t)(w->at - w->start);
        return origin_err(&w->origin, e, "only a line has tokens behind a ':'");
    }
    size_t line = r->count;
    w->at++;
    if (!add_event_line(r, &event, e))
        return false;
    for (;;) {
        if (!event_read_item(w, &item, &end, e))
            return false;
        if (end)
            return true;
        if (!add_event_line(r, &item, e))
            return false;
        r->events[line].items++;
    }
}

// --- repeat, like ----------------------------------------------------------------

static bool read_number(struct words *w, int64_t *value, bool ms, struct err *e)
{
    struct origin at;
    char word[32];

    if (!words_next(w, word, sizeof word, &at))
        return origin_err(&at, e, "a number is missing here");
    return ms ? words_ms(&at, word, value, e) : words_count(&at, word, value, e);
}

// Returns how many tokens the event and its items name: the numbers by which a repetition moves on.
static uint32_t numbers_of(const struct event *event)
{
    uint32_t numbers = 0;

    if (event->kind != EVENT_LINE)
        return event->first == NUMBER_NONE || event->kind == EVENT_FAULT
                   ? 0
                   : event->last - event->first + 1;
    for (uint32_t i = 1; i <= event->items; i++)
        numbers += event[i].first == NUMBER_NONE ? 0 : event[i].last - event[i].first + 1;
    return numbers;
}

// Reads "repeat 9 every 300 step 3: EVENT": nine events, each 300 ms later than the one before and
// three numbers further on.
static bool read_repeat(struct reader *r, struct words *w, struct err *e)
{
    int64_t times = 0, every_ns = 0, step = -1;
    struct origin at;
    char word[32];

    if (!read_number(w, &times, false, e))
        return false;
    while (words_next(w, word, sizeof word, &at)) {
        static const char *const known[] = {"every", "step"};
        if (strcmp(word, "every") == 0  ? !read_number(w, &every_ns, true, e)
            : strcmp(word, "step") == 0 ? !read_number(w, &step, false, e)
                                        : !words_unknown(&at, word, known, 2, e))
            return false;
    }
    if (times < 1 || times > REPEAT_MAX || every_ns < 0 || every_ns > TIME_MAX / times ||
        step > (int64_t)STORY_TOKENS_MAX)
        return origin_err(&w->origin, e, "this repeats too much; at most %d times", REPEAT_MAX);
    if (*w->at++ != ':')
        return origin_err(&at, e, "a ':' is missing, and behind it the event that is repeated");
    size_t first = r->count;
    if (!read_event(r, w, e))
        return false;
    size_t events = r->count - first;
    for (int64_t i = 1; events > 0 && i < times; i++) {
        // Without a step the repetitions follow each other without a gap.
        int64_t numbers = i * (step >= 0 ? step : (int64_t)numbers_of(&r->events[first]));
        for (size_t k = 0; k < events; k++) {
            struct event again = r->events[first + k];
            if (numbers + (again.first == NUMBER_NONE ? 0 : again.last) >= NUMBER_NONE)
                return origin_err(&again.origin, e, "its numbers grow too large");
            event_shift(&again, i * every_ns, false);
            if (again.first != NUMBER_NONE && vocabulary[again.kind].head != HEAD_NONE) {
                again.first += (uint32_t)numbers;
                again.last += (uint32_t)numbers;
            }
            if (!add_event_line(r, &again, e))
                return false;
        }
    }
    return true;
}

// Reads "like OTHER.story": all that it tells, but not what it claims.
static bool read_like(struct reader *r, struct words *w, struct err *e)
{
    char name[256], path[PATH_MAX];
    struct origin at;
    const char *slash = strrchr(w->origin.file, '/');

    if (!words_next(w, name, sizeof name, &at) || !story_is_path(name))
        return origin_err(&at, e, "name another story, such as other.story");
    // This also ends stories that are like each other.
    if (r->likes++ >= LIKE_MAX)
        return origin_err(&at, e, "a story is like at most %d others", LIKE_MAX);
    int folder = *name == '/' || !slash ? 0 : (int)(slash + 1 - w->origin.file);
    snprintf(path, sizeof path, "%.*s%s", folder, w->origin.file, name);
    const char *kept = story_keep(r->t, path);
    if (!kept)
        return err_memory(e);
    bool ok = read_story_file(r, kept, &at, e);
    // What comes out of the other story says nothing about this one.
    r->t->claim_count = 0;
    return ok;
}

// --- lines --------------------------------------------------------------------------------

// Cuts a comment off: a '#' at the beginning or behind a blank, but not within quotes.
static void cut_comment(char *line)
{
    bool quoted = false;

    for (char *p = line; *p; p++) {
        quoted ^= *p == '"';
        if (*p == '#' && !quoted && (p == line || isspace((unsigned char)p[-1]))) {
            *p = '\0';
            return;
        }
    }
}

static bool read_line(struct reader *r, char *line, const struct origin *origin, struct err *e)
{
    struct words w = {.at = line, .start = line, .origin = *origin, .told = r->t};
    struct origin at;
    char word[32];
    bool ok;

    cut_comment(line);
    for (size_t len = strlen(line); len > 0 && isspace((unsigned char)line[len - 1]); len--)
        line[len - 1] = '\0';
    if (line[strspn(line, " \t")] == '\0')
        return true;
    words_next(&w, word, sizeof word, &at);
    if (strcmp(word, "=>") == 0)
        ok = claims_read(r->t, &w, e);
    else if (strcmp(word, "like") == 0)
        ok = read_like(r, &w, e);
    else if (strcmp(word, "repeat") == 0)
        ok = read_repeat(r, &w, e);
    else
        ok = read_event(r, &(struct words){line, line, *origin, r->t}, e);
    return ok;
}

static bool read_lines(struct reader *r, const char *text, const char *path, struct err *e)
{
    struct origin origin = {.file = path, .line = 1, .column = 1};
    char line[LINE_MAX_BYTES];

    for (const char *end; *text; text = *end ? end + 1 : end, origin.line++) {
        end = text + strcspn(text, "\n");
        if ((size_t)(end - text) >= sizeof line)
            return origin_err(&origin, e, "this line is longer than %d bytes", LINE_MAX_BYTES - 1);
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        if (!read_line(r, line, &origin, e))
            return false;
    }
    return true;
}

static bool read_story_file(
    struct reader *r, const char *path, const struct origin *from, struct err *e)
{
    struct buf text;
    FILE *file = fopen(path, "rb");

    if (!file) {
        err_sys(e, ERR_USAGE, "%s", path);
        return from ? err_prefix(e, "%s:%zu:%zu", from->file, from->line, from->column) : false;
    }
    buf_init(&text, FILE_MAX + 1);
    char *room = buf_reserve(&text, FILE_MAX);
    text.len = room ? fread(room, 1, FILE_MAX, file) : 0;
    bool failed = ferror(file) != 0;
    bool ok = (room && buf_str(&text)) || err_memory(e);
    if (failed)
        ok = err_sys(e, ERR_USAGE, "%s", path);
    else if (text.len == FILE_MAX)
        ok = err_set(e, ERR_USAGE, "%s:1:1: a story is smaller than 4 MiB", path);
    // Behind a zero byte the rest of a line would silently be ignored.
    else if (ok && strlen(text.data) < text.len)
        ok = err_set(e, ERR_USAGE, "%s:1:1: a story is text, and has no zero byte", path);
    fclose(file);
    ok = ok && read_lines(r, buf_str(&text), path, e);
    buf_fini(&text);
    return ok;
}

// --- reading a story ----------------------------------------------------------------------

static bool read_all(struct told *t, const char *text, const char *path, struct err *e)
{
    struct reader r = {.t = t};

    *t = (struct told){0};
    bool ok = story_base(&r.root, e) &&
              (text ? read_lines(&r, text, path, e) : read_story_file(&r, path, NULL, e)) &&
              story_build(t, r.events, r.count, r.root, e);
    // An error quotes the file, which may hold anything, and a terminal would obey it.
    for (char *p = e->text; !ok && *p; p++)
        if (iscntrl((unsigned char)*p))
            *p = '?';
    node_free(r.root);
    free(r.events);
    if (!ok)
        story_fini(t);
    return ok;
}

bool story_read(struct told *t, const char *path, struct err *e)
{
    return read_all(t, NULL, path, e);
}

bool story_read_text(struct told *t, const char *text, const char *path, struct err *e)
{
    return read_all(t, text, path, e);
}

void story_fini(struct told *t)
{
    history_fini(&t->history);
    scenario_fini(&t->scenario);
    free(t->claims);
    for (size_t i = 0; i < t->text_count; i++)
        free(t->texts[i]);
    free(t->texts);
    *t = (struct told){0};
}
