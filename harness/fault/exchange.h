// What a connection is doing, worked out from its messages. Pure: exchange_take is given each
// message, and exchange_state returns the state.
#pragma once

#include "fault/wire.h"

// The states, from the least busy to the busiest.
enum exchange_state {
    EXCHANGE_UNSEEN,         // no proxy watches the connection
    EXCHANGE_NONE,           // there is no connection
    EXCHANGE_IDLE,           // the server waits for a question
    EXCHANGE_NOTIFIED,       // idle, and the last message was a notification
    EXCHANGE_OPENING,        // the session is not ready for its first question yet
    EXCHANGE_IN_TRANSACTION, // the server waits for a question, in a transaction
    EXCHANGE_ASKED,          // a question was sent, and nothing of the answer has come
    EXCHANGE_ANSWERED,       // a part of the answer has come
    EXCHANGE_STATES,
};

struct exchange {
    bool opened;         // the server was ready for a query once
    bool asking;         // the client sent something since the server was last ready
    bool answering;      // the server sent a part of the answer since the client asked
    bool notified;       // the last message was a notification
    bool in_transaction; // a transaction was open when the server was last ready
};

void exchange_take(struct exchange *x, enum message_sender sender, const struct wire_message *m);

// Returns the state of the connection after the messages that exchange_take was given.
enum exchange_state exchange_state(const struct exchange *x);

const char *exchange_name(enum exchange_state state);
