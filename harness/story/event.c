// The fields of an event: which words are given, what the fields hold, and which are times.
#include "story/event.h"

// Reads the integer of `size` bytes at offset `at` of the event.
static int64_t field_get(const struct event *e, size_t at, size_t size)
{
    const void *from = (const char *)e + at;

    switch (size) {
    case sizeof(uint8_t):
        return *(const uint8_t *)from;
    case sizeof(uint16_t):
        return *(const uint16_t *)from;
    case sizeof(int32_t): // fields of type uint32_t stay below INT32_MAX
        return *(const int32_t *)from;
    default:
        return *(const int64_t *)from;
    }
}

// Writes a value into the field of `size` bytes at offset `at` of the event.
static void field_put(struct event *e, size_t at, size_t size, int64_t value)
{
    void *to = (char *)e + at;

    if (size == sizeof(uint8_t))
        *(uint8_t *)to = (uint8_t)value;
    else if (size == sizeof(uint16_t))
        *(uint16_t *)to = (uint16_t)value;
    else if (size == sizeof(int32_t))
        *(int32_t *)to = (int32_t)value;
    else
        *(int64_t *)to = value;
}

int64_t event_get(const struct event *e, const struct event_word *word)
{
    int64_t value = field_get(e, word->at, word->size);

    return word->mask ? value & word->mask : value;
}

int64_t event_value(const struct event *e, const struct event_word *word)
{
    return word->time ? field_get(e, word->time, sizeof(int64_t)) : event_get(e, word);
}

void event_put(struct event *e, const struct event_word *word, int64_t value)
{
    if (word->mask)
        value |= field_get(e, word->at, word->size) & ~word->mask;
    field_put(e, word->at, word->size, value);
}

void event_put_value(struct event *e, const struct event_word *word, int64_t value)
{
    if (word->time)
        field_put(e, word->time, sizeof value, value);
    else
        event_put(e, word, value);
}

// Returns the first word of the table for the same bits of a field. It stands for all of them.
static const struct event_word *main_word(const struct event *e, const struct event_word *word)
{
    FOR_WORDS(first, e)
    if (first->at == word->at && first->mask == word->mask)
        return first;
    abort(); // the word belongs to another kind of event
}

uint64_t event_bit(const struct event *e, const struct event_word *word)
{
    return UINT64_C(1) << (main_word(e, word) - vocabulary[e->kind].words);
}

const struct event_word *event_word(const struct event *e, const char *name)
{
    FOR_WORDS(word, e)
    if (strcmp(word->name, name) == 0)
        return main_word(e, word);
    abort(); // all callers name words of the table
}

static bool is_given(const struct event *e, const struct event_word *word)
{
    return (e->given & event_bit(e, word)) != 0;
}

bool event_has(const struct event *e, const char *name)
{
    return is_given(e, event_word(e, name));
}

void event_unset(struct event *e, const char *name)
{
    e->given &= ~event_bit(e, event_word(e, name));
}

void event_default(struct event *e, const char *name, int64_t value)
{
    const struct event_word *word = event_word(e, name);

    if (is_given(e, word))
        return;
    event_put(e, word, value);
    e->given |= event_bit(e, word);
}

void event_merge(struct event *e, const struct event *other)
{
    FOR_WORDS(word, e)
    if (is_given(other, word))
        event_put(e, word, event_get(other, word));
    e->given |= other->given;
}

void event_set_all(struct event *e)
{
    FOR_WORDS(word, e)
    e->given |= event_bit(e, word);
}

bool event_follows(const struct event *e, const struct event *next)
{
    bool same = e->first != NUMBER_NONE && next->first == e->last + 1 && e->given == next->given;

    FOR_WORDS(word, e)
    same = same && (!is_given(e, word) || (event_get(e, word) == event_get(next, word) &&
                                              event_value(e, word) == event_value(next, word)));
    return same;
}

int64_t event_time(const struct event *e)
{
    const char *name = vocabulary[e->kind].time;

    return name ? event_get(e, event_word(e, name)) : 0;
}

void event_shift(struct event *e, int64_t by_ns, bool all)
{
    FOR_WORDS(word, e)
    {
        bool flagged = word->time && event_get(e, word) == word->flag;
        int64_t ns = event_value(e, word);
        // "Never" is 0 in some fields and CLOCK_NEVER in others; neither moves. All types up to
        // VALUE_END are times on the run's clock.
        if ((flagged || word->type <= VALUE_END) && ns != 0 && ns != CLOCK_NEVER &&
            (all || is_given(e, word)))
            event_put_value(e, word, ns + by_ns);
        // An expiry is on no clock, so it moves only with an event that comes again later.
        else if (word->type == VALUE_EXPIRY && !all && is_given(e, word))
            event_put(e, word, ns + by_ns / word->unit);
    }
}

void event_accumulate(struct event *e, const void *before, int sign)
{
    struct event b = {.kind = e->kind};

    if (!before)
        return;
    memcpy(b.record, before, vocabulary[e->kind].size);
    FOR_WORDS(word, e)
    if (word->cumulative)
        event_put(e, word, event_get(e, word) + sign * event_get(&b, word));
}

const char *event_records(const struct history *h, enum event_kind kind, size_t *count)
{
    const struct kind *k = &vocabulary[kind];
    const char *records;

    memcpy(&records, (const char *)h + k->array, sizeof records);
    memcpy(count, (const char *)h + k->count, sizeof *count);
    return records;
}

const void *event_record_before(const struct history *h, const struct event *e, size_t index)
{
    size_t count;
    const char *records = event_records(h, e->kind, &count);

    // The samples of all processes stand in one array.
    while (e->kind == EVENT_SAMPLE && index > 0 &&
           h->log.samples[index - 1].process != e->sample.process)
        index--;
    return index > 0 ? records + (index - 1) * vocabulary[e->kind].size : NULL;
}
