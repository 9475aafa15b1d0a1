// Asks the database for one thing at a time: a read, a take, a delivery that is left over, or
// who else has something. fetch.c treats the answers.
#pragma once

#include "batch.h"
#include "meters.h"
#include "owners.h"

struct fetch {
    enum asked {
        ASK_NOTHING,
        ASK_READ,
        ASK_AHEAD,    // a read of the batch after `next`, which is not confirmed
        ASK_STOCK,    // a batch of the stock, perhaps the one after `next`
        ASK_DELIVERY, // a delivery that is left over
        ASK_OWNERS,   // who else has deliveries
        ASK_STALE,    // the answer will be dropped
    } asked;
    enum next_step {
        NEXT_EMPTY,
        NEXT_READY, // a batch is in `next`
        NEXT_BUILT, // and its line is already made
    } next_step;
    struct batch next;
    PGresult *early;  // the answer to ASK_AHEAD or ASK_STOCK, while `next` is in use
    int wanted;       // tokens to ask for
    int examine;      // rows to look at for them
    int64_t asked_ns; // when the last request was sent
    int64_t next_asked_ns;
    int64_t ready_ns; // when `next` was certain to be ours; later it may be another's
    int64_t retry_at_ns;
    int slow; // answers in a row that took too long to be relied upon
    enum haste {
        HASTE_NONE,
        HASTE_FOLLOWS, // the read under way travels behind a move
        HASTE_BACKLOG, // more tokens are likely to wait, and answers are quick
    } haste;
    bool at_once;         // what waits after a connect is not held back
    enum meter_id reason; // the last reason why a batch that is not full was to go out
    bool large;           // a batch was large since memory was last given back
    struct stock {        // what we took and do not have in hand
        int left;         // about how many tokens
        int batches;      // how many to take at once
        int64_t taken_ns; // when that was last asked for
        bool every;       // the last take left nothing for others
        bool due;         // the next batch goes out even if it is not full
    } stock;
};

// The deliveries that are left over.
struct leftovers {
    struct owners others;
    struct owner *whose; // the owner that ASK_DELIVERY asks for; NULL: ours
    bool ours;           // we have deliveries from an earlier session or a stale answer
    int64_t look_at_ns;  // when to look at the other owners again
};

struct collector;

// Asks for what is next. A delivery that is left over comes before what the cursor shows.
bool ask_next(struct collector *c, struct err *e) MUST_USE;

// Asks for what waits: the stock, and the tokens behind the cursor.
bool ask_look(struct collector *c, struct err *e) MUST_USE;

// Asks for a batch of the stock. If the stock has less than a batch, takes tokens before that: as
// many full batches as are likely to be used up soon, or what there is for one batch.
enum portion { FULL_BATCHES, ONE_BATCH };
bool ask_stock(struct collector *c, enum portion portion, struct err *e) MUST_USE;

// Gives back all tokens that we have taken and do not have in hand, so that any collector can take
// them.
bool ask_give_back(struct collector *c, struct err *e) MUST_USE;

// Gives back the stock if it is old; otherwise wakes the loop when it will be. Call it while a line
// that was begun cannot be finished, because its reader has stopped.
bool ask_give_back_if_old(struct collector *c, struct err *e) MUST_USE;

// Asks for the batch after the one in hand, if that is likely to pay, before this one's line is
// signed.
bool ask_ahead(struct collector *c, struct err *e) MUST_USE;

// Asks for the batch after this one, in the same round trip as this one's move. Asks nothing while
// a delivery is left over.
bool ask_behind(struct collector *c, struct err *e) MUST_USE;

// Returns true when the statement that failed is to be tried again, at `retry_at_ns`.
bool ask_retry(struct collector *c, struct err *e) MUST_USE;
