// The orders with which a person or a script breaks a proxy's network. console_parse reads an order
// without touching a proxy; console_apply carries it out.
#pragma once

#include "fault/proxy.h"
#include "scenario/messages.h"
#include "scenario/verbs.h"

enum order_id {
    ORDER_CUT_AT,
    ORDER_PARTITION,
    ORDER_HALF_OPEN,
    ORDER_RESET,
    ORDER_DELAY,
    ORDER_THROTTLE,
    ORDER_LIMIT_DATA,
    ORDER_SLICE,
    ORDER_HEAL,
    ORDER_STATUS,
    ORDER_HELP,
    ORDER_QUIT,
    ORDER_COUNT,
};

struct order {
    enum order_id id;
    int64_t for_ns;                 // time after which the order is undone; 0: only heal undoes it
    int64_t by_ns, jitter_ns;       // delay: how much later bytes pass; slice: by_ns is the pause
    double rate;                    // throttle: bytes per second
    int64_t bytes;                  // limit-data, slice
    bool drop;                      // heal: what is withheld is lost, with all connections
    enum fault_direction direction; // half-open
    enum cut_side side;             // cut-at, as are n, message and kind
    int n;                          // which of these messages is meant, counted from 1
    char message[80];               // the kind of message, as the order names it
    struct message_kind kind;
};

// Parses an order such as "cut-at before 3 server CommandComplete COMMIT" or "delay 20ms for 2s".
// ERR_USAGE names the word that is wrong, and what the order takes.
MUST_USE bool console_parse(const char *line, struct order *o, struct err *e);

// The orders that are at work, and until when. The caller sets proxy, out and start_ns, and the
// rest to zero.
struct console {
    struct proxy *proxy;
    FILE *out; // one line is written to it for each event, with the seconds since start_ns
    int64_t start_ns;
    int64_t undo_ns[ORDER_COUNT]; // time at which each order is undone; 0: it is not at work;
                                  // CLOCK_NEVER: until heal
    struct order cut;             // the cut that was ordered and not reached yet
    bool cutting;                 // `cut` waits for its message
    bool warned; // it was reported that an encrypted connection may hide the message of `cut`
    struct order half_open; // the last half-open; counts while undo_ns says that it is at work
};

// Does what console_tick does, then carries out an order. Ignores ORDER_QUIT, which the caller must
// obey.
void console_apply(struct console *c, const struct order *o, int64_t now_ns);

// Undoes the orders whose time is over. Reports a cut that was reached, or that an encrypted
// connection may make impossible.
void console_tick(struct console *c, int64_t now_ns);

// --- control.c ---------------------------------------------------------------------
//
// What the proxy obeys besides its console: a socket and a script.
//
// The control socket: a program connects to a Unix socket, writes orders, one a line, and reads a
// report on each. Only the proxy's own user may connect.

#define CONTROL_CLIENTS 8
#define CONTROL_LINE_MAX 4096

struct control_client {
    int fd; // -1: free
    char text[CONTROL_LINE_MAX];
    size_t len;
};

struct control {
    const char *path; // borrowed; NULL: there is no socket
    int listener;     // -1: none
    struct control_client clients[CONTROL_CLIENTS];
};

// Carries out one line and appends a report to `answer`. Returns false when the line is the order
// to quit.
typedef bool control_obey(void *arg, const char *line, struct buf *answer);

// Makes the socket; with path NULL, none. Replaces a socket at which nobody listens any more, but
// never removes another kind of file. ERR_USAGE when the path cannot be used.
MUST_USE bool control_open(struct control *c, const char *path, struct err *e);
void control_close(struct control *c);

// Accepts new clients and obeys the lines that have arrived, without waiting. Returns false when
// one of them was the order to quit.
bool control_serve(struct control *c, control_obey *obey, void *arg);

// --- orders with times ---------------------------------------------------------------

// A script is a file with lines such as "2s partition for 500ms"; # begins a comment.

struct script_line {
    int64_t at_ns; // since the proxy's start
    struct order order;
};

struct script {
    struct script_line *lines; // owned; in the order of their times
    size_t count, next;        // next: the first line that is not carried out yet
};

// Parses the text of a script. ERR_USAGE names the line that is wrong. Call script_fini even after
// a failure.
MUST_USE bool script_parse(struct script *s, const char *text, struct err *e);
// Parses the script in a file.
MUST_USE bool script_read(struct script *s, const char *path, struct err *e);
void script_fini(struct script *s);

// Returns the next order if its time has come, and moves on to the one after it; NULL when no order
// is due.
const struct order *script_due(struct script *s, int64_t since_start_ns);
