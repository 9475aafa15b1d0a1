// From a file to events: its lines, their repetitions (`repeat`), and other stories (`like`).
#include "story/event.h"

#include <ctype.h>

#include "os/paths.h"
#include "scenario/grammar.h"
#include "scenario/overrides.h"
#include "scenario/parse.h"

#define FILE_MAX ((size_t)4 << 20)
#define LINE_MAX_BYTES (64 << 10)
#define LIKE_MAX 16 // `like` lines of a story and of all stories that these name
#define REPEAT_MAX 100000

// The scenario with which each story begins: a reference collector that promises everything, with
// three tokens a line and a timeout of a tenth of a second. The promise `small` counts only where
// `needs` names it, so it does: memory and CPU use are judged. story_base appends the promises.
static const char base_scenario[] =
    "name: story\n"
    "summary: A story.\n"
    "load: [{for: 4s, rate: 1/s}]\n"
    "drain: 6s\n"
    "recovery_limit: 1s\n"
    "slack: 50ms\n"
    "needs: [small]\n"
    "collector: {layout: reference, batch_limit: 3, batch_timeout: 100ms, promises: [";

struct reader {
    struct story *t;
    struct event *events;
    size_t count;
    struct node *root; // the scenario, to which `set` is applied
    unsigned likes;    // `like` lines so far
};

static bool read_story_file(
    struct reader *r, const char *path, const struct origin *from, struct err *e);

const char *story_keep(struct story *t, const char *text)
{
    memory_add_text(&t->texts, &t->text_count, text);
    return t->texts[t->text_count - 1];
}

bool story_base(struct node **root, struct err *e)
{
    static const struct origin nowhere = {.file = "story", .line = 1, .column = 1};
    struct buf yaml FREED_BY(buf_fini) = BUF_INIT(4096);

    buf_append_str(&yaml, base_scenario);
    for (const struct word *w = promise_words; w->name; w++)
        buf_printf(&yaml, "%s%s", w == promise_words ? "" : ", ", w->name);
    buf_append_str(&yaml, "]}\n");
    return !yaml.failed && parse_yaml(root, yaml.data, yaml.len, &nowhere, e);
}

bool story_is_path(const char *path)
{
    static const char end[] = ".story";
    size_t len = strlen(path);

    return len > strlen(end) && strcmp(path + len - strlen(end), end) == 0;
}

// --- events -------------------------------------------------------------------------------

static bool append_event(struct reader *r, const struct event *event, struct err *e)
{
    if (r->count >= STORY_EVENTS_MAX)
        return origin_err(&event->origin, e, "a story has at most %u events", STORY_EVENTS_MAX);
    memory_grow(&r->events, r->count, 1, sizeof *r->events);
    r->events[r->count++] = *event;
    return true;
}

static bool read_like(struct reader *r, const struct event *event, struct err *e);
static bool read_repeat(
    struct reader *r, const struct event *event, struct words *w, struct err *e);

// Reads an event and, if it is a line, its tokens after the ':', which are events, too. With
// `repeated` the event may be neither a `like` nor a `repeat`. A `set` is applied at once, and adds
// no event.
static bool read_event(struct reader *r, struct words *w, bool repeated, struct err *e)
{
    struct event event, item;
    bool end;

    if (!event_read(w, &event, e))
        return false;
    if (repeated && (event.kind == EVENT_LIKE || event.kind == EVENT_REPEAT))
        return origin_err(&event.origin, e, "'%s' cannot be repeated, only an event",
            vocabulary[event.kind].name);
    if (event.kind == EVENT_SET) {
        struct origin at = event.origin;
        at.set = event.text;
        return override_apply(r->root, event.text, &at, e);
    }
    if (event.kind == EVENT_LIKE)
        return read_like(r, &event, e);
    if (event.kind == EVENT_REPEAT)
        return read_repeat(r, &event, w, e);
    size_t line = r->count;
    bool has_items = *w->at == ':';
    if (has_items && event.kind != EVENT_LINE)
        return origin_err(&w->origin, e, "only a line has tokens behind a ':'");
    if (!append_event(r, &event, e))
        return false;
    if (!has_items)
        return true;
    w->at++;
    for (;;) {
        if (!event_read_item(w, &item, &end, e))
            return false;
        if (end)
            return true;
        if (!append_event(r, &item, e))
            return false;
        r->events[line].items++;
    }
}

// Returns how many numbers the event and its items, which follow it, name: the default step of a
// repetition. The number of a fault does not count: it names a map, which all repetitions share
// unless a step is given.
static uint32_t numbers_of(const struct event *event)
{
    uint32_t numbers = 0;

    for (uint32_t i = 0; i <= event->items; i++)
        if (vocabulary[event[i].kind].head != HEAD_NONE && event[i].kind != EVENT_FAULT &&
            event[i].first != NUMBER_NONE)
            numbers += event[i].last - event[i].first + 1;
    return numbers;
}

// Reads the event after "repeat 9 every 300 step 3:": nine events, each 300 ms later than the one
// before and three numbers further on.
static bool read_repeat(struct reader *r, const struct event *event, struct words *w, struct err *e)
{
    int64_t times = event->first, every_ns = event->repeat.every_ns, step = event->repeat.step;
    size_t first = r->count;

    if (times < 1 || times > REPEAT_MAX || every_ns > TIME_MAX / times || step > STORY_TOKENS_MAX)
        return origin_err(&event->origin, e,
            "this repeats too much; at least once, at most %d times", REPEAT_MAX);
    if (*w->at != ':')
        return origin_err(
            &event->origin, e, "a ':' is missing, and behind it the event that is repeated");
    w->at++;
    const bool repeated = true, all_times = false;
    if (!read_event(r, w, repeated, e))
        return false;
    size_t events = r->count - first;
    // Without a step, the numbers of the repetitions follow each other without a gap.
    if (!event_has(event, "step") && events > 0)
        step = numbers_of(&r->events[first]);
    for (int64_t i = 1; events > 0 && i < times; i++) {
        for (size_t k = 0; k < events; k++) {
            struct event again = r->events[first + k];
            bool numbered = again.first != NUMBER_NONE && vocabulary[again.kind].head != HEAD_NONE;
            if (i * step + (numbered ? again.last : 0) >= NUMBER_NONE)
                return origin_err(&again.origin, e, "its numbers grow too large");
            event_shift(&again, i * every_ns, all_times);
            again.first += (uint32_t)(numbered ? i * step : 0);
            again.last += (uint32_t)(numbered ? i * step : 0);
            if (!append_event(r, &again, e))
                return false;
        }
    }
    return true;
}

// Reads another story, but not its claims. A relative path starts at the folder of this story.
static bool read_like(struct reader *r, const struct event *event, struct err *e)
{
    char path[PATH_MAX];

    if (!story_is_path(event->text))
        return origin_err(&event->origin, e, "name another story, such as other.story");
    // This limit also stops stories that are like each other.
    if (r->likes++ >= LIKE_MAX)
        return origin_err(&event->origin, e, "a story is like at most %d others", LIKE_MAX);
    if (!path_beside(path, event->origin.file, event->text))
        return origin_err(&event->origin, e, "the path is too long");
    size_t claims = r->t->claim_count;
    bool ok = read_story_file(r, story_keep(r->t, path), &event->origin, e);
    // The claims of the other story need not hold for this one.
    r->t->claim_count = claims;
    return ok;
}

// --- lines --------------------------------------------------------------------------------

// Cuts a comment off: a '#' at the beginning or after a blank, but not within quotes.
static void cut_comment(char *line)
{
    bool quoted = false;

    for (char *p = line; *p; p++) {
        if (*p == '"')
            quoted = !quoted;
        if (*p == '#' && !quoted && (p == line || isspace((unsigned char)p[-1]))) {
            *p = '\0';
            return;
        }
    }
}

// Reads one line of a story: an event, claims after =>, or nothing but a comment.
static bool read_line(struct reader *r, char *line, const struct origin *origin, struct err *e)
{
    struct words w = {.at = line, .start = line, .origin = *origin, .story = r->t};

    cut_comment(line);
    for (size_t len = strlen(line); len > 0 && isspace((unsigned char)line[len - 1]); len--)
        line[len - 1] = '\0';
    w.at += strspn(line, " \t");
    if (*w.at == '\0')
        return true;
    if (strncmp(w.at, "=>", 2) != 0) {
        const bool repeated = false;
        return read_event(r, &w, repeated, e);
    }
    w.at += 2;
    w.claims = true;
    return claims_read(&w, e);
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

// Reads the file at `path`. `from` is the place of the `like` that names it; NULL: none does.
static bool read_story_file(
    struct reader *r, const char *path, const struct origin *from, struct err *e)
{
    FILE *file = fopen(path, "rb");
    bool ok = true;

    if (!file) {
        err_sys(e, ERR_USAGE, "%s", path);
        return from ? err_prefix(e, "%s:%zu:%zu", from->file, from->line, from->column) : false;
    }
    char *text FREED_BY(memory_free) = memory_allocate(FILE_MAX + 1);
    size_t len = fread(text, 1, FILE_MAX, file);
    text[len] = '\0';
    if (ferror(file))
        ok = err_sys(e, ERR_USAGE, "%s", path);
    else if (len == FILE_MAX)
        ok = err_set(e, ERR_USAGE, "%s:1:1: a story is smaller than 4 MiB", path);
    // The rest of a line after a zero byte would silently be ignored.
    else if (strlen(text) < len)
        ok = err_set(e, ERR_USAGE, "%s:1:1: a story is text, and has no zero byte", path);
    fclose(file);
    return ok && read_lines(r, text, path, e);
}

// --- reading a story ----------------------------------------------------------------------

// Reads `text` or, if it is NULL, the file at `path`.
static bool read_all(struct story *t, const char *text, const char *path, struct err *e)
{
    struct reader r = {.t = t};

    *t = (struct story){0};
    bool ok = story_base(&r.root, e) &&
              (text ? read_lines(&r, text, path, e) : read_story_file(&r, path, NULL, e)) &&
              story_build(t, r.events, r.count, r.root, e);
    node_free(r.root);
    free(r.events);
    if (!ok)
        story_fini(t);
    return ok;
}

bool story_read(struct story *t, const char *path, struct err *e)
{
    return read_all(t, NULL, path, e);
}

bool story_read_text(struct story *t, const char *text, const char *path, struct err *e)
{
    return read_all(t, text, path, e);
}

void story_fini(struct story *t)
{
    history_fini(&t->history);
    scenario_fini(&t->scenario);
    free(t->claims);
    for (size_t i = 0; i < t->text_count; i++)
        free(t->texts[i]);
    free(t->texts);
    *t = (struct story){0};
}
