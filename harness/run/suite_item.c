#include "run/suite_item.h"

#include <math.h>

#include "base/utf8.h"
#include "options/command_record.h"
#include "report/files/parse_json.h"

#define JUNIT_MAX (16u << 20)

static const char *const states[] = {
    [SUITE_JUDGED] = "judged", [SUITE_SKIPPED] = "skipped", [SUITE_FAILED] = "failed"};

void suite_item_init(struct suite_item *r)
{
    *r = (struct suite_item){.run = {.lost = NAN, .duplicated = NAN, .p50_ms = NAN, .p99_ms = NAN}};
    r->run.folder = r->folder;
    r->run.why = r->why;
    buf_init(&r->junit, JUNIT_MAX);
}

void suite_item_fini(struct suite_item *r)
{
    buf_fini(&r->junit);
}

static json_t *item_figure(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

json_t *suite_item_write(const struct suite_item *r, uint64_t number, const char *out)
{
    struct suite_run run = r->run;
    char why[SUITE_WHY];

    snprintf(why, sizeof why, "%s", r->why);
    utf8_mend(why);
    utf8_mend(run.broke);
    // "s%" takes a text with its length, because junit.data has no NUL when its buffer is full.
    return json_pack("{s:I, s:s, s:s, s:s, s:i, s:f, s:o, s:o, s:o, s:o, s:s, s:s, s:s, s:s%}", "n",
        (json_int_t)number, "scenario", run.scenario, "state", states[run.state], "verdict",
        verdict_name(run.verdict), "exit_code", r->exit_code, "took_s", (double)run.took_ns / 1e9,
        "lost", item_figure(run.lost), "duplicated", item_figure(run.duplicated), "p50_ms",
        item_figure(run.p50_ms), "p99_ms", item_figure(run.p99_ms), "broke", run.broke, "folder",
        command_record_below(r->folder, out), "why", why, "junit",
        r->junit.len > 0 ? r->junit.data : "", r->junit.len);
}

static bool read_state(const json_t *line, enum suite_state *state)
{
    char name[20];

    parse_text(line, "state", name, sizeof name);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (states[i] && strcmp(states[i], name) == 0) {
            *state = (enum suite_state)i;
            return true;
        }
    }
    return false;
}

bool suite_item_read(struct suite_item *r, const json_t *line, struct err *e)
{
    const char *junit = json_string_value(json_object_get(line, "junit"));
    const char *verdict = json_string_value(json_object_get(line, "verdict"));
    struct suite_run *run = &r->run;

    run->scenario = json_string_value(json_object_get(line, "scenario"));
    if (!run->scenario || !read_state(line, &run->state) || !verdict_find(verdict, &run->verdict))
        return err_set(e, ERR_USAGE, "an entry does not describe a run");
    r->exit_code = (int)parse_integer(line, "exit_code");
    run->took_ns = (int64_t)(parse_number(line, "took_s") * 1e9);
    run->lost = parse_figure(line, "lost");
    run->duplicated = parse_figure(line, "duplicated");
    run->p50_ms = parse_figure(line, "p50_ms");
    run->p99_ms = parse_figure(line, "p99_ms");
    parse_text(line, "broke", run->broke, sizeof run->broke);
    parse_text(line, "why", r->why, sizeof r->why);
    return !junit || buf_append_str(&r->junit, junit) ||
           err_set(e, ERR_USAGE, "the JUnit text of an entry is too long");
}
