// Asks the database for one thing at a time: a read, a take, a delivery that is left over, or
// which other collectors have deliveries. fetch.c deals with the answers.
#pragma once

#include "batch.h"
#include "meters.h"
#include "owners.h"

struct fetch {
    enum asked {
        ASK_NOTHING,
        ASK_READ,
        ASK_AHEAD,    // a read of the batch that comes after `next`
        ASK_STOCK,    // a batch of the stock; while `next` is in use, the batch after it
        ASK_DELIVERY, // a delivery that is left over
        ASK_OWNERS,   // who else has deliveries
        ASK_STALE,    // the answer will be dropped
    } asked;
    enum next_step {
        NEXT_EMPTY,
        NEXT_READY, // a batch is in `next`
        NEXT_BUILT, // a batch is in `next`, and its line is already made
    } next_step;
    struct batch next;
    PGresult *early;       // the answer to ASK_AHEAD or ASK_STOCK, while `next` is in use
    int wanted;            // tokens to ask for
    int examine;           // rows to look at for them
    int64_t asked_ns;      // when the last request was sent
    int64_t next_asked_ns; // when the request was sent whose answer is `next`
    int64_t ready_ns;      // the last time at which `next` was certain to be ours
    int64_t retry_at_ns;   // when to send a statement again that failed
    int slow;              // how many answers in a row took too long to be relied upon
    enum haste {
        HASTE_NONE,
        HASTE_FOLLOWS, // the read under way was sent in the same trip as a move
        HASTE_BACKLOG, // more tokens are likely to wait, and answers are quick
    } haste;
    bool at_once;         // tokens that waited before we connected go out without a wait
    enum meter_id reason; // why the last batch that was not full was to go out
    unsigned turns;       // how many takes found tokens
    bool large;           // a batch was large since memory was last given back
    struct stock {        // the tokens that we took and do not have in hand
        int left;         // about how many tokens these are
        int batches;      // how many batches to take at once
        int64_t taken_ns; // when the last take was sent
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
// many full batches as are likely to be used up soon, or what there is for one batch. With a budget
// it is always one batch.
enum portion { FULL_BATCHES, ONE_BATCH };
bool ask_stock(struct collector *c, enum portion portion, struct err *e) MUST_USE;

// Gives back all tokens that we have taken and do not have in hand, so that any collector can take
// them. A collector that works alone keeps them.
bool ask_give_back(struct collector *c, struct err *e) MUST_USE;

// Gives back the stock if it is old. If it is not, the loop is woken when it becomes old. Call this
// while a line that was begun cannot be finished because its reader has stopped.
bool ask_give_back_if_old(struct collector *c, struct err *e) MUST_USE;

// Asks for the batch after the one in hand, if that is likely to save time. Call it before the line
// of the batch in hand is signed.
bool ask_ahead(struct collector *c, struct err *e) MUST_USE;

// Asks for the batch after the one whose move was just sent, in the same round trip. Asks nothing
// while a delivery is left over.
bool ask_behind(struct collector *c, struct err *e) MUST_USE;

// Returns true when the statement that failed is to be tried again, at `retry_at_ns`.
bool ask_retry(struct collector *c, struct err *e) MUST_USE;
