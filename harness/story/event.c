// The fields of an event: what was said of them, what is usual, and what changes with time.
#include <stdlib.h>
#include <string.h>

#include "story/inside.h"

int64_t event_get(const struct event *e, size_t at, size_t size)
{
    const char *from = (const char *)e + at;

    switch (size) {
    case sizeof(uint8_t):
        return *(const uint8_t *)from;
    case sizeof(uint16_t):
        return *(const uint16_t *)(const void *)from;
    case sizeof(uint32_t):
        return *(const uint32_t *)(const void *)from;
    default:
        return *(const int64_t *)(const void *)from;
    }
}

void event_put(struct event *e, size_t at, size_t size, int64_t value)
{
    char *to = (char *)e + at;

    switch (size) {
    case sizeof(uint8_t):
        *(uint8_t *)to = (uint8_t)value;
        break;
    case sizeof(uint16_t):
        *(uint16_t *)(void *)to = (uint16_t)value;
        break;
    case sizeof(uint32_t):
        *(uint32_t *)(void *)to = (uint32_t)value;
        break;
    default:
        *(int64_t *)(void *)to = value;
        break;
    }
}

uint64_t event_bit(const struct event *e, const struct event_word *word)
{
    const struct event_word *words = vocabulary[e->kind].words, *first = words;

    while (first < word && (first->at != word->at || word->type == VALUE_BIT))
        first++;
    return UINT64_C(1) << (first - words);
}

const struct event_word *event_word_for(const struct event *e, size_t field)
{
    FOR_WORDS(word, e)
    if (word->at == field)
        return word;
    abort(); // the field belongs to another kind of event
}

static bool is_given(const struct event *e, const struct event_word *word)
{
    return (e->given & event_bit(e, word)) != 0;
}

bool event_has(const struct event *e, size_t field)
{
    return is_given(e, event_word_for(e, field));
}

void event_forget(struct event *e, size_t field)
{
    e->given &= ~event_bit(e, event_word_for(e, field));
}

void event_usual(struct event *e, size_t field, int64_t value)
{
    const struct event_word *word = event_word_for(e, field);

    if (is_given(e, word))
        return;
    event_put(e, word->at, word->size, value);
    e->given |= event_bit(e, word);
}

void event_fill(struct event *e, const struct event *other)
{
    FOR_WORDS(word, e)
    if (is_given(other, word))
        event_usual(e, word->at, event_get(other, word->at, word->size));
}

void event_give_all(struct event *e)
{
    FOR_WORDS(word, e)
    e->given |= event_bit(e, word);
}

bool event_same(const struct event *a, const struct event *b)
{
    bool same = a->kind == b->kind && a->given == b->given && !a->text == !b->text &&
                (!a->text || strcmp(a->text, b->text) == 0);

    FOR_WORDS(word, a)
    {
        if (!same)
            break;
        if (!is_given(a, word) || word->type == VALUE_TEXT)
            continue;
        int64_t value = event_get(a, word->at, word->size);
        same =
            value == event_get(b, word->at, word->size) &&
            (!word->time || value != word->flag ||
                event_get(a, word->time, sizeof value) == event_get(b, word->time, sizeof value));
    }
    return same;
}

void event_spare(struct event *e, const struct usual *u)
{
    FOR_WORDS(word, e)
    {
        struct event less = *e, full;
        less.given &= ~event_bit(e, word);
        full = less;
        event_complete(&full, u);
        if (is_given(&full, word) &&
            event_get(&full, word->at, word->size) == event_get(e, word->at, word->size))
            *e = less;
    }
}

int64_t event_time(const struct event *e)
{
    size_t at = vocabulary[e->kind].time;

    return at ? event_get(e, at, sizeof(int64_t)) : 0;
}

static void shift(struct event *e, size_t at, int64_t by_ns)
{
    int64_t ns = event_get(e, at, sizeof ns);

    // Both say never, each in other fields.
    if (ns != 0 && ns != CLOCK_NEVER)
        event_put(e, at, sizeof ns, ns + by_ns);
}

void event_shift(struct event *e, int64_t by_ns, bool all)
{
    FOR_WORDS(word, e)
    {
        bool flagged = word->time && event_get(e, word->at, word->size) == word->flag;
        bool time = word->type == VALUE_TIME || word->type == VALUE_WHEN || word->type == VALUE_END;
        if ((time || flagged) && (all || is_given(e, word)))
            shift(e, flagged ? word->time : word->at, by_ns);
    }
}

void event_grow(struct event *e, const void *before, int sign)
{
    struct event b;

    if (!before)
        return;
    memcpy(b.record, before, vocabulary[e->kind].size);
    FOR_WORDS(word, e)
    if (word->grows)
        event_put(e, word->at, word->size,
            event_get(e, word->at, word->size) + sign * event_get(&b, word->at, word->size));
}
