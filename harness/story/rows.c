// What the tables hold at the end: the rows of tokens, and the attempts that were recorded.
#include <stdlib.h>

#include "story/build.h"
#include "story/write.h"

// --- reading ------------------------------------------------------------------------------

static void set_flag(struct ledger_token *token, uint8_t flag, bool on)
{
    token->flags = (uint8_t)(on ? token->flags | flag : token->flags & ~flag);
}

bool build_row(struct build *b, const struct event *event, struct err *e)
{
    const int64_t *v = event->value;

    if (!build_want_token(b, event, e))
        return false;
    for (uint32_t t = event->first; t <= event->last; t++) {
        struct ledger_token *token = &b->t->history.ledger.tokens[t];
        if (event_has(event, SLOT_PRESENT))
            set_flag(token, TOKEN_PRESENT, v[SLOT_PRESENT]);
        if (event_has(event, SLOT_BURIED)) {
            set_flag(token, TOKEN_DEAD_LETTER, v[SLOT_BURIED]);
            set_flag(token, TOKEN_BURIED_AGAIN, v[SLOT_BURIED] > 1);
        }
        set_flag(token, TOKEN_WAITING, v[SLOT_WAITING] || (token->flags & TOKEN_WAITING));
        set_flag(token, TOKEN_UNMARKED, v[SLOT_UNMARKED] || (token->flags & TOKEN_UNMARKED));
        set_flag(token, TOKEN_TOLD, v[SLOT_TOLD] || (token->flags & TOKEN_TOLD));
        if (event_has(event, SLOT_CHANGED))
            token->row = v[SLOT_CHANGED] ? token->row ^ (uint16_t)v[SLOT_CHANGED] : 0;
        if (event_has(event, SLOT_EXPIRES))
            token->expires_at_s = (int32_t)(v[SLOT_EXPIRES] / NS_PER_S);
        if (event_has(event, SLOT_OUTCOME))
            token->outcome = (uint8_t)v[SLOT_OUTCOME];
    }
    return true;
}

bool build_attempt(struct build *b, const struct event *event, struct err *e)
{
    struct ledger *l = &b->t->history.ledger;

    if (!build_want_token(b, event, e))
        return false;
    if (!event_has(event, SLOT_KIND))
        return origin_err(&event->origin, e, "say how it ended: sent, transient, dead, …");
    size_t i = l->attempt_count;
    struct attempt_record *a = build_append(&l->attempts, &l->attempt_count, sizeof *a, e);
    if (!a)
        return false;
    // The records are sorted by token and number.
    for (; i > 0 && l->attempts[i - 1].token > event->first; i--)
        l->attempts[i] = l->attempts[i - 1];
    uint16_t number = i > 0 && l->attempts[i - 1].token == event->first
                          ? (uint16_t)(l->attempts[i - 1].number + 1)
                          : 1;
    l->attempts[i] = (struct attempt_record){.token = event->first,
        .number = event_has(event, SLOT_NUMBER) ? (uint16_t)event->value[SLOT_NUMBER] : number,
        .end = (uint8_t)event->value[SLOT_KIND]};
    struct ledger_token *token = &l->tokens[event->first];
    token->attempts = (uint16_t)(token->attempts + (l->attempts[i].end != ATTEMPT_LATE));
    return true;
}

// --- writing ------------------------------------------------------------------------------

static bool differs(uint8_t a, uint8_t b, uint8_t flags)
{
    return (a & flags) != (b & flags);
}

static struct event row_of(const struct writer *w, uint32_t t, const struct ledger_token *usual)
{
    const struct ledger_token *token = &w->l->tokens[t];
    const int64_t soon_s = run_ns(w) / NS_PER_S + 60;
    struct event event = {.kind = EVENT_ROW, .first = w->token_no[t], .last = w->token_no[t]};

    if (w->explain || differs(token->flags, usual->flags, TOKEN_PRESENT))
        event_set(&event, SLOT_PRESENT, (token->flags & TOKEN_PRESENT) != 0);
    if (w->explain || differs(token->flags, usual->flags, TOKEN_DEAD_LETTER | TOKEN_BURIED_AGAIN))
        event_set(&event, SLOT_BURIED,
            token->flags & TOKEN_BURIED_AGAIN ? 2 : (token->flags & TOKEN_DEAD_LETTER) != 0);
    if (token->flags & TOKEN_WAITING)
        event_set(&event, SLOT_WAITING, 1);
    if (token->flags & TOKEN_UNMARKED)
        event_set(&event, SLOT_UNMARKED, 1);
    if (w->explain || ((token->flags & TOKEN_PRESENT) && token->expires_at_s < soon_s))
        event_set(&event, SLOT_EXPIRES, (int64_t)token->expires_at_s * NS_PER_S);
    if (token->flags & TOKEN_TOLD)
        event_set(&event, SLOT_TOLD, 1);
    if (token->row != usual->row)
        event_set(&event, SLOT_CHANGED, token->row ? token->row ^ usual->row : 0);
    if (w->explain || token->outcome != usual->outcome)
        event_set(&event, SLOT_OUTCOME, token->outcome);
    return event;
}

bool write_rows(struct writer *w)
{
    struct ledger_token *usual = calloc(w->h->plan.token_count + 1, sizeof *usual);
    struct event row = {0};

    if (!usual)
        return false;
    story_settle_rows(usual, w->h, w->line_kept);
    for (uint32_t t = 0; t < w->h->plan.token_count; t++) {
        struct event next = row_of(w, t, &usual[t]);
        if (w->token_no[t] == DROPPED)
            continue;
        if (row.given && write_follows(&row, &next)) {
            row.last = next.last;
            continue;
        }
        if (row.given)
            write_event(w, &row);
        row = next;
    }
    if (row.given)
        write_event(w, &row);
    free(usual);
    return true;
}

void write_attempts(struct writer *w)
{
    for (size_t i = 0; i < w->l->attempt_count; i++) {
        const struct attempt_record *a = &w->l->attempts[i];
        struct event event = {.kind = EVENT_ATTEMPT, .first = w->token_no[a->token]};
        int usual = i > 0 && a[-1].token == a->token ? a[-1].number + 1 : 1;
        if (event.first == DROPPED)
            continue;
        event.last = event.first;
        event_set(&event, SLOT_KIND, a->end);
        if (w->explain || a->number != usual)
            event_set(&event, SLOT_NUMBER, a->number);
        write_event(w, &event);
    }
}
