#include "report/files/observed.h"

#include <jansson.h>
#include <sys/resource.h>

#include "base/utf8.h"
#include "report/escape.h"
#include "report/files/parse_json.h"

// The numbers of a sample, under their names in the file.
static const struct {
    const char *name;
    size_t at;
} numbers[] = {
    {"commits", offsetof(struct sample, commits)},
    {"wal_bytes", offsetof(struct sample, wal_bytes)},
    {"dead_tuples", offsetof(struct sample, dead_tuples)},
    {"oldest_xmin_age", offsetof(struct sample, oldest_xmin_age)},
    {"checkpoints", offsetof(struct sample, checkpoints)},
    {"notify_queue_usage", offsetof(struct sample, queue_usage)},
    {"database_bytes", offsetof(struct sample, database_bytes)},
    {"collector_fds", offsetof(struct sample, collector_fds)},
    {"collector_backends_kb", offsetof(struct sample, backends_kb)},
    {"harness_rss_kb", offsetof(struct sample, harness_kb)},
    {"server_fds", offsetof(struct sample, server_fds)},
    {"server_shared_bytes", offsetof(struct sample, shm_bytes)},
    {"machine_busy_s", offsetof(struct sample, busy_s)},
    {"machine_total_s", offsetof(struct sample, total_s)},
};

#define NUMBERS (sizeof numbers / sizeof *numbers)

// Appends the first override of the list, such as "seed=3", as the command-line option that would
// make it. Returns how many overrides, from the first on, the option stands for. `sets` ends with
// NULL.
static size_t append_override(struct buf *out, const char *const *sets)
{
    static const char subject[] = "collector.subject=", layout[] = "collector.layout=",
                      promises[] = "collector.promises=[", provider[] = "postgres.provider=";
    const char *set = *sets;
    size_t len = strlen(set);

    buf_append_str(out, out->len ? " " : "");
    if (strncmp(set, subject, strlen(subject)) == 0) {
        // --subject stands for the layout and the promises, too, because the queue's manifest names
        // them.
        size_t overrides = 1;
        overrides += sets[overrides] && strncmp(sets[overrides], layout, strlen(layout)) == 0;
        overrides += sets[overrides] && strncmp(sets[overrides], promises, strlen(promises)) == 0;
        buf_append_str(out, "--subject ");
        append_word(out, set + strlen(subject));
        return overrides;
    }
    // Only a list in brackets and without blanks can be a value of --promises.
    if (strncmp(set, promises, strlen(promises)) == 0 && set[len - 1] == ']' && !strchr(set, ' '))
        buf_printf(
            out, "--promises %.*s", (int)(len - strlen(promises) - 1), set + strlen(promises));
    else if (strncmp(set, provider, strlen(provider)) == 0)
        // A conninfo may hold a password, so it is not stored.
        buf_printf(out, "--postgres %s",
            strcmp(set, "postgres.provider=url") == 0 ? "CONNINFO" : set + strlen(provider));
    else if (strncmp(set, "seed=", strlen("seed=")) == 0)
        buf_printf(out, "--seed %s", set + strlen("seed="));
    else {
        buf_append_str(out, "--set ");
        append_word(out, set);
    }
    return 1;
}

// Returns the options that changed the scenario, quoted for a shell; NULL: none. The caller frees
// the text.
static char *changed_by(const struct scenario *s, const char *collector)
{
    const char *const *sets = (const char *const *)s->sets;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 20);

    while (sets && *sets)
        sets += append_override(&text, sets);
    if (s->scale > 0)
        buf_printf(&text, "%s--scale %g", text.len ? " " : "", s->scale);
    if (collector) {
        buf_append_str(&text, text.len ? " --collector " : "--collector ");
        append_word(&text, collector);
    }
    return text.len ? memory_copy(buf_str(&text)) : NULL;
}

static void mend_text(char *text)
{
    if (text)
        utf8_mend(text);
}

void observed_take(struct observed *o, const struct sampler *s, int64_t start_ns,
    const struct scenario *scenario, const char *collector, char *program)
{
    const struct usage *usage = sampler_usage(s);
    struct rusage self;

    getrusage(RUSAGE_SELF, &self);
    *o = (struct observed){.sampled = usage != NULL,
        .start_wall_ns = clock_wall_ns() - (clock_now_ns() - start_ns),
        .harness_rss_kb = self.ru_maxrss,
        .collector = memory_copy(collector),
        .changed = changed_by(scenario, collector),
        .program = program};
    // Words from the command line may be any bytes, and JSON takes only UTF-8.
    mend_text(o->collector);
    mend_text(o->changed);
    mend_text(o->program);
    const struct wait_count *waits = sampler_waits(s, &o->wait_count);
    if (o->wait_count > 0)
        memcpy(o->waits, waits, o->wait_count * sizeof *waits);
    // Without a sampler these figures stay 0, and `sampled` says that nothing was measured.
    if (usage) {
        memcpy(o->cpu_s, usage->cpu_s, sizeof o->cpu_s);
        o->busy_s = usage->busy_s;
        o->total_s = usage->total_s;
    }
    const struct sample *samples = sampler_samples(s, &o->count);
    o->samples = memory_zeroed(o->count, sizeof *o->samples);
    if (o->count > 0)
        memcpy(o->samples, samples, o->count * sizeof *o->samples);
}

void observed_fini(struct observed *o)
{
    free(o->samples);
    free(o->collector);
    free(o->changed);
    free(o->program);
    quoted_fini(&o->promises);
    *o = (struct observed){0};
}

// --- writing -------------------------------------------------------------------

static json_t *cpu_json(const double *cpu_s)
{
    json_t *cpu = json_object();

    for (enum usage_group g = 0; g < USAGE_GROUPS; g++)
        json_object_set_new(cpu, usage_group_name(g), json_real(cpu_s[g]));
    return cpu;
}

static json_t *sample_json(const struct sample *s, int64_t start_ns)
{
    json_t *object = json_pack("{s:I, s:b, s:i, s:I, s:o}", "at_ns",
        (json_int_t)(s->at_ns - start_ns), "up", s->up, "active_backends", s->active,
        "collector_rss_kb", (json_int_t)s->collector_rss_kb, "cpu_s", cpu_json(s->cpu_s));

    for (size_t i = 0; i < NUMBERS; i++) {
        const double *value = (const void *)((const char *)s + numbers[i].at);
        json_object_set_new(object, numbers[i].name, json_real(*value));
    }
    return object;
}

static json_t *quoted_promises_json(const struct quoted_flags *promises)
{
    json_t *list = json_array();

    for (const struct word *w = promise_words; promises && w->name; w++) {
        const struct quoted *q = quoted_find(promises, (int)w->value);
        if (q)
            json_array_append_new(list,
                json_pack("{s:s, s:s, s:s}", "promise", w->name, "quote", q->quote, "url", q->url));
    }
    return list;
}

static json_t *observed_json(
    const struct observed *o, const struct quoted_flags *promises, int64_t start_ns)
{
    json_t *samples = json_array(), *waits = json_object();

    for (size_t i = 0; i < o->count; i++)
        json_array_append_new(samples, sample_json(&o->samples[i], start_ns));
    for (size_t i = 0; i < o->wait_count; i++)
        json_object_set_new(waits, o->waits[i].event, json_integer((json_int_t)o->waits[i].seen));
    return json_pack("{s:I, s:I, s:s?, s:s?, s:s?, s:b, s:o, s:f, s:f, s:o, s:o, s:o}",
        "start_unix_ns", (json_int_t)o->start_wall_ns, "harness_rss_max_kb",
        (json_int_t)o->harness_rss_kb, "collector", o->collector, "changed", o->changed, "program",
        o->program, "sampled", o->sampled, "cpu_s", cpu_json(o->cpu_s), "machine_busy_s", o->busy_s,
        "machine_total_s", o->total_s, "promises", quoted_promises_json(promises), "wait_events",
        waits, "samples", samples);
}

bool observed_write(const struct observed *o, const struct quoted_flags *promises, int64_t start_ns,
    struct buf *out, struct err *e)
{
    return append_root(observed_json(o, promises, start_ns), JSON_COMPACT, out) ||
           err_set(e, ERR_INTERNAL, "cannot make observed.json");
}

// --- reading -------------------------------------------------------------------

static void read_cpu(double *cpu_s, const json_t *from)
{
    for (enum usage_group g = 0; g < USAGE_GROUPS; g++)
        cpu_s[g] = parse_number(from, usage_group_name(g));
}

// Reads a time. A time of many years, which would overflow and comes from a damaged file, becomes
// start_ns.
static int64_t read_time(int64_t start_ns, const json_t *from)
{
    const int64_t years_ns = INT64_MAX / 4;
    int64_t at_ns = parse_integer(from, "at_ns");

    return at_ns > -years_ns && at_ns < years_ns ? start_ns + at_ns : start_ns;
}

static void read_sample(struct sample *s, int64_t start_ns, const json_t *from)
{
    s->at_ns = read_time(start_ns, from);
    s->up = json_is_true(json_object_get(from, "up"));
    s->active = (int)parse_integer(from, "active_backends");
    s->collector_rss_kb = parse_integer(from, "collector_rss_kb");
    read_cpu(s->cpu_s, json_object_get(from, "cpu_s"));
    for (size_t i = 0; i < NUMBERS; i++) {
        double *value = (void *)((char *)s + numbers[i].at);
        *value = parse_number(from, numbers[i].name);
    }
}

static void read_waits(struct observed *o, json_t *from)
{
    const char *event;
    json_t *seen;

    json_object_foreach(from, event, seen)
    {
        if (o->wait_count == SAMPLER_WAITS_MAX)
            break;
        struct wait_count *w = &o->waits[o->wait_count++];
        snprintf(w->event, sizeof w->event, "%s", event);
        w->seen = (uint64_t)json_integer_value(seen);
    }
}

// Returns a text of one line; NULL if it is none.
static const char *one_line_text(const json_t *from, const char *key)
{
    const char *text = json_string_value(json_object_get(from, key));

    return text && text[strcspn(text, "\r\n")] == '\0' ? text : NULL;
}

// Reads the promises. One that this version does not know is left out.
static void take_promises(struct quoted_flags *promises, const json_t *from)
{
    const json_t *item;
    size_t i;

    json_array_foreach(from, i, item)
    {
        const char *name = one_line_text(item, "promise"), *quote = one_line_text(item, "quote");
        const char *url = one_line_text(item, "url");
        for (const struct word *w = promise_words; w->name && name && quote && url; w++) {
            if (strcmp(w->name, name) != 0)
                continue;
            memory_grow(&promises->items, promises->count, 1, sizeof *promises->items);
            promises->items[promises->count++] = (struct quoted){
                .flag = (int)w->value, .quote = memory_copy(quote), .url = memory_copy(url)};
            promises->flags |= (int)w->value;
        }
    }
}

bool observed_read(struct observed *o, int64_t start_ns, const char *folder, struct err *e)
{
    *o = (struct observed){0};
    json_t *root FREED_BY(json_decrefp) = parse_file(folder, "observed.json", e);
    if (!root)
        return false;
    const json_t *samples = json_object_get(root, "samples");
    bool whole = json_is_array(samples);

    o->count = json_array_size(samples);
    o->samples = memory_zeroed(o->count, sizeof *o->samples);
    for (size_t i = 0; i < o->count; i++)
        read_sample(&o->samples[i], start_ns, json_array_get(samples, i));
    read_waits(o, json_object_get(root, "wait_events"));
    o->sampled = json_is_true(json_object_get(root, "sampled"));
    read_cpu(o->cpu_s, json_object_get(root, "cpu_s"));
    o->busy_s = parse_number(root, "machine_busy_s");
    o->total_s = parse_number(root, "machine_total_s");
    o->start_wall_ns = parse_integer(root, "start_unix_ns");
    o->harness_rss_kb = parse_integer(root, "harness_rss_max_kb");
    o->collector = memory_copy(json_string_value(json_object_get(root, "collector")));
    o->changed = memory_copy(json_string_value(json_object_get(root, "changed")));
    o->program = memory_copy(json_string_value(json_object_get(root, "program")));
    take_promises(&o->promises, json_object_get(root, "promises"));
    // Later versions add fields, and older files lack some, so only the samples are required.
    return whole || err_set(e, ERR_USAGE, "%.500s/observed.json is not one of mailproof's", folder);
}
