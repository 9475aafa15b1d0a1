#include "fuzz/fuzz.h"

#include "scenario/grammar.h"

// Compares two structs by the fields of their table. Returns the key that differs; NULL: none does.
static const char *same_table(const struct table *t, const void *a, const void *b);

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_strings(char *const *a, char *const *b)
{
    // NULL counts as an empty list.
    for (; a && b && *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return (!a || !*a) && (!b || !*b);
}

static bool same_settings(const struct settings *a, const struct settings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_text(a->items[i].name, b->items[i].name) ||
            !same_text(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

static bool same_allow(const struct scenario *a, const struct scenario *b)
{
    if (a->allow_count != b->allow_count)
        return false;
    for (size_t i = 0; i < a->allow_count; i++)
        if (!same_text(a->allow[i].invariant, b->allow[i].invariant) ||
            a->allow[i].most != b->allow[i].most)
            return false;
    return true;
}

static bool same_expect(const struct scenario *a, const struct scenario *b)
{
    if (a->expect_count != b->expect_count)
        return false;
    for (size_t i = 0; i < a->expect_count; i++) {
        const struct expectation *x = &a->expect[i], *y = &b->expect[i];
        if (!same_text(x->metric, y->metric) || !same_text(x->want, y->want) ||
            !same_text(x->comparison, y->comparison) || x->value != y->value)
            return false;
    }
    return true;
}

static bool same_judged(const struct scenario *a, const struct scenario *b)
{
    if (a->judged_count != b->judged_count)
        return false;
    for (size_t i = 0; i < a->judged_count; i++)
        if (!same_text(a->judged[i].invariant, b->judged[i].invariant) ||
            a->judged[i].share < b->judged[i].share || a->judged[i].share > b->judged[i].share)
            return false;
    return true;
}

// Compares two arrays of structs. At `a` and at `b` there are a pointer to the array and its
// length.
static const char *same_items(const struct field *f, const void *a, const void *b)
{
    const char *items_a, *items_b, *differs = NULL;
    size_t count_a, count_b;

    memcpy(&items_a, a, sizeof items_a);
    memcpy(&items_b, b, sizeof items_b);
    memcpy(&count_a, (const char *)a + sizeof items_a, sizeof count_a);
    memcpy(&count_b, (const char *)b + sizeof items_b, sizeof count_b);
    if (count_a != count_b)
        return f->key;
    for (size_t i = 0; !differs && i < count_a; i++)
        differs = same_table(f->table, items_a + i * f->table->size, items_b + i * f->table->size);
    return differs;
}

// Returns the size in bytes of a field that is compared byte by byte.
static size_t width(const struct field *f)
{
    switch (f->type) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_WORD:
    case FIELD_INT:
    case FIELD_FLAGS:
        return sizeof(int);
    case FIELD_RANGE:
        return 2 * sizeof(int);
    case FIELD_SPAN:
        return 2 * sizeof(int64_t);
    case FIELD_RATE:
        return 2 * sizeof(double) + sizeof(bool);
    default:
        return sizeof(int64_t); // size of a duration, a seed, a double or the address of a verb
    }
}

// Compares a field of two structs. Some types keep their list and its length in fields of the
// scenario that the table does not name; their functions get the whole struct.
static bool same_value(const struct field *f, const void *base_a, const void *base_b)
{
    const char *a = (const char *)base_a + f->offset, *b = (const char *)base_b + f->offset;

    switch (f->type) {
    case FIELD_STRING:
        return same_text(*(char *const *)a, *(char *const *)b);
    case FIELD_STRINGS:
        return same_strings(*(char **const *)a, *(char **const *)b);
    case FIELD_SETTINGS:
        return same_settings((const void *)a, (const void *)b);
    case FIELD_ALLOW:
        return same_allow(base_a, base_b);
    case FIELD_JUDGED:
        return same_judged(base_a, base_b);
    case FIELD_EXPECT:
        return same_expect(base_a, base_b);
    default:
        return memcmp(a, b, width(f)) == 0;
    }
}

static const char *same_field(const struct field *f, const void *a, const void *b)
{
    if (f->type == FIELD_MAP)
        return same_table(f->table, a, b);
    if (f->type == FIELD_ITEMS)
        return same_items(f, (const char *)a + f->offset, (const char *)b + f->offset);
    return same_value(f, a, b) ? NULL : f->key;
}

static const char *same_table(const struct table *t, const void *a, const void *b)
{
    const char *differs = NULL;

    for (size_t i = 0; !differs && i < t->count; i++)
        differs = same_field(&t->fields[i], a, b);
    return differs;
}

// Compares the recorded times of two phases. They come from a file, so the table has no field for
// them.
static bool same_trace(const struct load_phase *a, const struct load_phase *b)
{
    return a->trace_count == b->trace_count &&
           (a->trace_count == 0 ||
               memcmp(a->trace_ns, b->trace_ns, a->trace_count * sizeof *a->trace_ns) == 0);
}

const char *same_scenario(const struct scenario *a, const struct scenario *b)
{
    const char *differs = same_table(&scenario_table, a, b);

    for (size_t i = 0; !differs && i < a->load_count; i++)
        if (!same_trace(&a->load[i], &b->load[i]))
            differs = "trace";
    return differs;
}
