#include "lease/flight.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sign.h"

#define REMEMBERED 16 // how many lines that are over stay known

bool flight_init(struct flight *f, int in_flight, int limit, struct err *e)
{
    *f = (struct flight){.count = in_flight + REMEMBERED};
    f->lines = calloc((size_t)f->count, sizeof *f->lines);
    if (!f->lines)
        return err_memory_for(e, "%d lines", f->count);
    for (int i = 0; i < f->count; i++) {
        f->lines[i].cap = limit;
        // The most that one token needs: email and login of 254 characters, each of up to four
        // bytes, the signed text, the code, and the commas.
        buf_init(&f->lines[i].text, (size_t)limit * (2 * 4 * 254 + SIGN_TEXT_LEN + 16) + 1);
    }
    return true;
}

void flight_fini(struct flight *f)
{
    for (int i = 0; f->lines && i < f->count; i++) {
        free(f->lines[i].tokens);
        buf_fini(&f->lines[i].text);
    }
    free(f->lines);
    *f = (struct flight){0};
}

struct flight_line *flight_new(struct flight *f, int64_t row)
{
    struct flight_line *best = NULL;

    for (int i = 0; i < f->count; i++) {
        struct flight_line *l = &f->lines[i];
        if (l->state != FLIGHT_FREE && l->state != FLIGHT_OVER)
            continue;
        if (!best || l->state < best->state || (l->state == best->state && l->order < best->order))
            best = l;
    }
    assert(best);
    best->state = FLIGHT_READY;
    best->row = row;
    best->number = 0;
    best->order = ++f->orders;
    best->count = best->left = 0;
    best->alone = best->timed_out = false;
    buf_clear(&best->text);
    return best;
}

bool flight_add(struct flight_line *line, struct flight_token token, struct err *e)
{
    if (!line->tokens) {
        line->tokens = calloc((size_t)line->cap, sizeof *line->tokens);
        if (!line->tokens)
            return err_memory_for(e, "a line of %d tokens", line->cap);
    }
    // The count comes from the server, which anybody may be who can replace its functions.
    if (line->count == line->cap)
        return err_set(
            e, ERR_INTERNAL, "the server has leased more than the %d tokens asked for", line->cap);
    line->tokens[line->count++] = token;
    line->left += !token.answered;
    return true;
}

void flight_give_up(struct flight_line *line)
{
    assert(line->state == FLIGHT_READY);
    line->state = FLIGHT_FREE;
}

int flight_in(const struct flight *f, enum flight_state state)
{
    int n = 0;

    for (int i = 0; i < f->count; i++)
        n += f->lines[i].state == state;
    return n;
}

struct flight_line *flight_next(struct flight *f)
{
    struct flight_line *next = NULL;

    for (int i = 0; i < f->count; i++) {
        struct flight_line *l = &f->lines[i];
        if (l->state == FLIGHT_READY && (!next || l->order < next->order))
            next = l;
    }
    return next;
}

struct flight_line *flight_find(struct flight *f, int64_t number)
{
    for (int i = 0; i < f->count; i++) {
        struct flight_line *l = &f->lines[i];
        if (l->number == number && (l->state == FLIGHT_OUT || l->state == FLIGHT_OVER))
            return l;
    }
    return NULL;
}

bool flight_alone(const struct flight *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->lines[i].state == FLIGHT_OUT && f->lines[i].alone)
            return true;
    return false;
}

void flight_answer(struct flight_line *line, struct flight_token *token)
{
    assert(!token->answered && line->left > 0);
    token->answered = true;
    if (--line->left == 0)
        line->state = FLIGHT_OVER;
}

struct flight_line *flight_older(struct flight *f, int64_t than_ns)
{
    for (int i = 0; i < f->count; i++)
        if (f->lines[i].state == FLIGHT_OUT && f->lines[i].out_ns <= than_ns)
            return &f->lines[i];
    return NULL;
}

int64_t flight_oldest_ns(const struct flight *f)
{
    int64_t oldest = CLOCK_NEVER;

    for (int i = 0; i < f->count; i++)
        if (f->lines[i].state == FLIGHT_OUT)
            oldest = clock_min(oldest, f->lines[i].out_ns);
    return oldest;
}

void flight_forget_numbers(struct flight *f)
{
    for (int i = 0; i < f->count; i++)
        f->lines[i].number = 0;
}

void flight_validate(const struct flight *f, int64_t numbers)
{
    for (int i = 0; i < f->count; i++) {
        const struct flight_line *l = &f->lines[i];
        (void)l; // both are unused in a build without assertions
        (void)numbers;
        assert(0 <= l->left && l->left <= l->count && l->count <= l->cap);
        assert(l->state != FLIGHT_OUT || (l->left > 0 && l->number > 0));
        assert(l->state != FLIGHT_OVER || l->left == 0);
        assert(l->state == FLIGHT_OUT || l->state == FLIGHT_OVER || l->number == 0);
        assert(l->number <= numbers);
    }
}
