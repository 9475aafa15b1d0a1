// Keeps what became of tokens until the database has recorded it.
//
// Results go out in their order, many in one statement, and are kept until that statement's commit
// is confirmed. After a lost session they go out again. The database knows by token and nonce, the
// random number of a line's row, which ones it has recorded already.
#pragma once

#include "wire/answer.h"

enum result_kind {
    RESULT_SENT,
    RESULT_TRANSIENT, // an error: the token is tried again after delay_ms
    RESULT_DEAD,      // the token is not tried again
    RESULT_RETURNED,  // no answer, which counts as no error: the token is tried again
    RESULT_LATE,      // an answer that came after another result of the same attempt: only recorded
};

struct outbox_result {
    int64_t row, nonce; // n and nonce of its line's row in deliveries
    int64_t token;
    int64_t delay_ms; // how long to wait before the next attempt
    int number;       // the number of the attempt
    enum result_kind kind;
    bool alone; // the token is to come again in a line of its own
    char text[ANSWER_TEXT_MAX + 1];
};

enum { OUTBOX_COLUMNS = 8 };

struct outbox {
    struct outbox_result *results; // owned, in their order
    size_t first, count, cap;      // results[first] to results[count - 1] are not confirmed
    size_t sent;                   // how many results are in the statement that is under way
    struct buf columns[OUTBOX_COLUMNS];
};

void outbox_init(struct outbox *o);
void outbox_fini(struct outbox *o);

// Keeps a copy of the result.
bool outbox_add(struct outbox *o, const struct outbox_result *r, struct err *e) MUST_USE;
size_t outbox_left(const struct outbox *o);    // results that are not confirmed
bool outbox_sends_all(const struct outbox *o); // the statement under way has all of them

// True while a result of a token of this row is not confirmed.
bool outbox_knows(const struct outbox *o, int64_t row, int64_t nonce);

// Sets `columns` to the next statement's arrays, as text: rows, nonces, tokens, numbers, outcomes,
// texts, delays, alones. They stay valid until the next call. Call it only if results are left and
// no statement is under way.
bool outbox_send(struct outbox *o, const char *columns[OUTBOX_COLUMNS], struct err *e) MUST_USE;
void outbox_confirmed(struct outbox *o); // the statement under way was committed
void outbox_lost(struct outbox *o);      // it failed, or the session was lost before that
