// Implements scenario_write with the same tables that drive the reading.

#include <strings.h>

#include "scenario/grammar.h"
#include "scenario/scenario.h"
#include "scenario/units.h"
#include "base/utf8.h"

static void write_table(
    const struct table *t, const void *base, int indent, bool item, struct buf *out);
static void write_field(const struct field *f, const void *base, int indent, struct buf *out);
static void write_plain_value(const struct field *f, const void *slot, struct buf *out);

bool scenario_write(const struct scenario *s, struct buf *out, struct err *e)
{
    write_table(&scenario_table, s, 0, false, out);
    return buf_str(out) || err_set(e, ERR_INTERNAL, "the scenario is too long");
}

// True when the field is to be written: it applies to this item and, if it is optional, has a
// value.
static bool is_written(const struct field *f, const void *base)
{
    const void *slot = (const char *)base + f->offset;

    if (f->written && !f->written(base))
        return false;
    // Only keys of faults have `param`, so `base` is a fault.
    if (f->param && !f->any_verb) {
        const struct fault_spec *fault = base;
        if (!(fault->verb->params & f->param))
            return false;
    }
    if (f->optional && f->type == FIELD_STRING)
        return *(char *const *)slot;
    if (f->optional && f->type == FIELD_DURATION)
        return *(const int64_t *)slot != 0;
    return !f->optional || f->type != FIELD_PER_S || *(const double *)slot > 0;
}

// Writes the keys of a table. `item`: the table is an item of a list, so "- " begins its first key.
static void write_table(
    const struct table *t, const void *base, int indent, bool item, struct buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct field *f = &t->fields[i];
        if (!is_written(f, base))
            continue;
        if (item)
            buf_printf(out, "%*s- %s:", indent - 2, "", f->key);
        else
            buf_printf(out, "%*s%s:", indent, "", f->key);
        item = false;
        write_field(f, base, indent + 2, out);
    }
}

// True for a key that says when a fault comes, and not what the fault does. `jitter` varies the
// times of a fault, but with PARAM_JITTER the delay of each byte.
static bool is_time(const struct field *f, const struct fault_spec *fault)
{
    return f->offset == offsetof(struct fault_spec, at_ns) ||
           f->offset == offsetof(struct fault_spec, every_ns) ||
           f->offset == offsetof(struct fault_spec, until_ns) ||
           (f->offset == offsetof(struct fault_spec, jitter_ns) &&
               !(fault->verb->params & PARAM_JITTER));
}

bool scenario_write_fault(const struct fault_spec *fault, struct buf *out)
{
    struct buf value;

    buf_printf(out, "{do: %s", fault->verb->name);
    for (size_t i = 0; i < fault_table.count; i++) {
        const struct field *f = &fault_table.fields[i];
        buf_init(&value, 4096);
        if (f->type != FIELD_VERB && !is_time(f, fault) && is_written(f, fault)) {
            write_plain_value(f, (const char *)fault + f->offset, &value);
            // The text begins with a blank, which a default does not have.
            const char *text = buf_str(&value);
            if (text && (!f->default_text || strcmp(text + 1, f->default_text) != 0))
                buf_printf(out, ", %s:%s", f->key, text);
        }
        buf_fini(&value);
    }
    return buf_append_char(out, '}');
}

// True when every YAML reader takes the unquoted text as a string. Some readers take words such as
// `on` for a truth value.
static bool is_plain_scalar(const char *text)
{
    static const char *const truths[] = {
        "on", "off", "yes", "no", "true", "false", "null", "y", "n"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";

    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strcasecmp(truths[i], text) == 0)
            return false;
    return *text && strchr(letters, *text) && text[strspn(text, safe)] == '\0';
}

// Writes a text as YAML, between quotes unless every reader takes it as a string without them.
static void write_text(const char *text, struct buf *out)
{
    if (is_plain_scalar(text)) {
        buf_append_str(out, text);
        return;
    }
    buf_append_char(out, '"');
    for (;;) {
        const char *start = text;
        uint32_t c;
        // All texts were checked when they were read.
        if (!utf8_next(&text, &c) || c == 0)
            break;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", (char)c);
        else if (utf8_prints(c))
            buf_append(out, start, (size_t)(text - start));
        else // all characters above U+FFFF print, so four digits do
            buf_printf(out, "\\u%04X", (unsigned)c);
    }
    buf_append_char(out, '"');
}

static void write_strings(char *const *strings, struct buf *out)
{
    buf_append_str(out, " [");
    for (size_t i = 0; strings && strings[i]; i++) {
        buf_append_str(out, i ? ", " : "");
        write_text(strings[i], out);
    }
    buf_append_str(out, "]");
}

static void write_entry(const char *key, const char *value, int indent, struct buf *out)
{
    buf_printf(out, "\n%*s", indent, "");
    write_text(key, out);
    buf_append_str(out, ": ");
    write_text(value, out);
}

static void write_settings_map(const struct settings *settings, int indent, struct buf *out)
{
    if (settings->count == 0)
        buf_append_str(out, " {}");
    for (size_t i = 0; i < settings->count; i++)
        write_entry(settings->items[i].name, settings->items[i].value, indent, out);
}

static void write_allow(const struct scenario *s, int indent, struct buf *out)
{
    if (s->allow_count == 0)
        buf_append_str(out, " {}");
    for (size_t i = 0; i < s->allow_count; i++) {
        const struct allowance *a = &s->allow[i];
        if (a->most == INT64_MAX)
            write_entry(a->invariant, "any", indent, out);
        else
            buf_printf(out, "\n%*s%s: %lld", indent, "", a->invariant, (long long)a->most);
    }
}

static void write_judged(const struct scenario *s, int indent, struct buf *out)
{
    if (s->judged_count == 0)
        buf_append_str(out, " {}");
    for (size_t i = 0; i < s->judged_count; i++) {
        buf_printf(out, "\n%*s%s: ", indent, "", s->judged[i].invariant);
        units_print_number(out, s->judged[i].share);
    }
}

static void write_expect(const struct scenario *s, int indent, struct buf *out)
{
    if (s->expect_count == 0)
        buf_append_str(out, " {}");
    for (size_t i = 0; i < s->expect_count; i++)
        write_entry(s->expect[i].metric, s->expect[i].want, indent, out);
}

// Writes a list of maps. `slot` is the pointer to the items; their number stands right after it.
static void write_list(const struct field *f, const void *slot, int indent, struct buf *out)
{
    const char *items;
    size_t count;

    memcpy(&items, slot, sizeof items);
    memcpy(&count, (const char *)slot + sizeof items, sizeof count);
    buf_append_str(out, count == 0 ? " []\n" : "\n");
    for (size_t i = 0; i < count; i++)
        write_table(f->table, items + i * f->table->size, indent + 2, true, out);
}

// Writes the word that stands for the value; false when there is none.
static bool write_as_word(const struct field *f, int64_t value, struct buf *out)
{
    const char *name = word_name(f->words, value);

    return name && buf_printf(out, " %s", name);
}

static void write_range(const int range[2], struct buf *out)
{
    buf_printf(out, " %d", range[0]);
    if (range[1] != range[0])
        buf_printf(out, "..%d", range[1]);
}

static void write_rate(const struct field *f, const double rate[2], struct buf *out)
{
    // The bool right after the two rates in the struct says that the rate is `max`.
    if (*(const bool *)(rate + 2) && write_as_word(f, 1, out))
        return;
    buf_append_char(out, ' ');
    units_print_number(out, rate[0]);
    buf_append_str(out, "/s");
    if (rate[1] == rate[0])
        return;
    buf_append_str(out, "..");
    units_print_number(out, rate[1]);
    buf_append_str(out, "/s");
}

static void write_number(const struct field *f, const void *slot, struct buf *out)
{
    int64_t value = f->type == FIELD_DURATION ? *(const int64_t *)slot : *(const int *)slot;

    if (write_as_word(f, value, out))
        return;
    buf_append_char(out, ' ');
    if (f->type == FIELD_DURATION)
        units_print_duration(out, value);
    else
        buf_printf(out, "%lld", (long long)value);
}

// Writes a value that fits on the line of its key.
static void write_plain_value(const struct field *f, const void *slot, struct buf *out)
{
    switch (f->type) {
    case FIELD_STRING:
        buf_append_char(out, ' ');
        write_text(*(char *const *)slot, out);
        break;
    case FIELD_STRINGS:
        write_strings(*(char **const *)slot, out);
        break;
    case FIELD_BOOL:
        buf_append_str(out, *(const bool *)slot ? " true" : " false");
        break;
    case FIELD_SEED:
        buf_printf(out, " %llu", (unsigned long long)*(const uint64_t *)slot);
        break;
    case FIELD_RATE:
        write_rate(f, slot, out);
        break;
    case FIELD_RANGE:
        write_range(slot, out);
        break;
    case FIELD_SPAN:
        buf_append_char(out, ' ');
        units_print_duration(out, ((const int64_t *)slot)[0]);
        if (((const int64_t *)slot)[1] != ((const int64_t *)slot)[0]) {
            buf_append_str(out, "..");
            units_print_duration(out, ((const int64_t *)slot)[1]);
        }
        break;
    case FIELD_SHARE:
    case FIELD_BYTE_RATE:
    case FIELD_PER_S:
        buf_append_char(out, ' ');
        units_print_number(out, *(const double *)slot);
        if (f->type != FIELD_SHARE)
            buf_append_str(out, f->type == FIELD_BYTE_RATE ? "B/s" : "/s");
        break;
    case FIELD_FLAGS:
        buf_append_str(out, " [");
        words_print(f->words, *(const int *)slot, out);
        buf_append_char(out, ']');
        break;
    case FIELD_VERB:
        buf_printf(out, " %s", (*(const struct verb *const *)slot)->name);
        break;
    default:
        write_number(f, slot, out);
        break;
    }
}

static void write_field(const struct field *f, const void *base, int indent, struct buf *out)
{
    const void *slot = (const char *)base + f->offset;

    switch (f->type) {
    case FIELD_MAP:
        buf_append_char(out, '\n');
        write_table(f->table, base, indent, false, out); // a map's keys lie in `base` itself
        return;
    case FIELD_ITEMS:
        write_list(f, slot, indent, out);
        return;
    case FIELD_SETTINGS:
        write_settings_map(slot, indent, out);
        break;
    case FIELD_ALLOW:
        write_allow(base, indent, out);
        break;
    case FIELD_JUDGED:
        write_judged(base, indent, out);
        break;
    case FIELD_EXPECT:
        write_expect(base, indent, out);
        break;
    default:
        write_plain_value(f, slot, out);
        break;
    }
    buf_append_char(out, '\n');
}
