#include "fault/exchange.h"

// Follows a message of the server. Types are the protocol's: A a notification, N a notice, S a
// changed parameter, Z ready for a query.
static void take_exchange_answer(struct exchange *x, const struct wire_message *m)
{
    x->notified = m->type == 'A';
    if (m->type == 'Z') {
        // The message's only byte is I (idle), T or E (in a transaction, or in a failed one). If
        // that byte has not arrived yet, assume I, the most likely.
        x->in_transaction = m->text_len > 0 && m->text[0] != 'I';
        x->opened = true;
        x->asking = x->answering = false;
    } else if (x->asking && m->type != 'A' && m->type != 'N' && m->type != 'S') {
        // A, N and S may come at any time, so they are no part of an answer.
        x->answering = true;
    }
}

void exchange_take(struct exchange *x, enum message_sender sender, const struct wire_message *m)
{
    if (sender == MESSAGE_SERVER) {
        take_exchange_answer(x, m);
        return;
    }
    x->asking = true;
    x->notified = false;
}

enum exchange_state exchange_state(const struct exchange *x)
{
    if (!x->opened)
        return EXCHANGE_OPENING;
    if (x->asking)
        return x->answering ? EXCHANGE_ANSWERED : EXCHANGE_ASKED;
    if (x->in_transaction)
        return EXCHANGE_IN_TRANSACTION;
    return x->notified ? EXCHANGE_NOTIFIED : EXCHANGE_IDLE;
}

const char *exchange_name(enum exchange_state state)
{
    static const char *const names[EXCHANGE_STATES] = {"unseen", "no connection", "idle",
        "notified", "opening", "in a transaction", "asked", "being answered"};

    return state < EXCHANGE_STATES ? names[state] : "unknown";
}
