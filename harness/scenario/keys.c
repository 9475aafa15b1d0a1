// Lists the keys of the grammar for the help.
#include "scenario/scenario.h"

#include "scenario/grammar.h"
#include "scenario/units.h"

static void print_limits(const struct field *f, struct buf *out)
{
    switch (f->type) {
    case FIELD_INT:
    case FIELD_SEED:
    case FIELD_RANGE:
        buf_printf(out, "; %lld to %lld", (long long)f->min, (long long)f->max);
        break;
    case FIELD_SHARE:
        buf_append_str(out, "; 0 to 1");
        break;
    case FIELD_RATE:
    case FIELD_PER_S:
        buf_printf(out, "; %lld/s to %lld/s", (long long)f->min, (long long)f->max);
        break;
    case FIELD_BYTE_RATE:
        buf_printf(out, "; %lldB/s to %lldB/s", (long long)f->min, (long long)f->max);
        break;
    case FIELD_SPAN:
    case FIELD_DURATION:
        buf_append_str(out, "; ");
        units_print_duration(out, f->min);
        buf_append_str(out, " to ");
        units_print_duration(out, f->max);
        break;
    // The other types are words, texts, lists or maps, which have no limits.
    default:
        break;
    }
}

// Tells a key with its help, its default and its limits.
static void tell_field(
    const struct field *f, const char *path, void (*tell)(const char *path, const char *text))
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1000);

    buf_append_str(&text, f->help);
    // The keys of a map have defaults of their own, which say more than "{}".
    if (f->default_text && f->type != FIELD_MAP)
        buf_printf(&text, "; default: %s", f->default_text);
    else if (!f->default_text && !f->optional)
        buf_append_str(&text, "; must be given");
    print_limits(f, &text);
    tell(path, buf_str(&text));
}

// Tells the keys of a table and of the tables below it. `prefix` is the table's path, such as
// "load.N.".
static void tell_table(
    const struct table *t, const char *prefix, void (*tell)(const char *path, const char *text))
{
    for (size_t i = 0; i < t->count; i++) {
        const struct field *f = &t->fields[i];
        char path[100], below[110];
        snprintf(path, sizeof path, "%s%s", prefix, f->key);
        tell_field(f, path, tell);
        snprintf(below, sizeof below, "%s.%s", path, f->type == FIELD_ITEMS ? "N." : "");
        if (f->table)
            tell_table(f->table, below, tell);
    }
}

void keys_each(void (*tell)(const char *path, const char *text))
{
    tell_table(&scenario_table, "", tell);
}
