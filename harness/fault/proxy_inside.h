// Internals shared by proxy.c, which other threads call, and proxy_thread.c, which passes the bytes
// on.
#pragma once

#include <pthread.h>

#include "fault/exchange.h"
#include "fault/proxy.h"
#include "fault/wire.h"
#include "plan/rng.h"
#include "postgres/target.h"
#include "scenario/verbs.h"

// --- proxy_link.c ------------------------------------------------------------------
//
// One connection through the proxy: two flows of bytes, one in each direction. Each flow follows
// the protocol's framing. The proxy owns the link and calls these functions under its lock.

// From due_ns on, the bytes of the flow up to number `upto` may pass.
struct link_stamp {
    uint64_t upto;
    int64_t due_ns;
};

// When so many stamps or bytes of a flow wait, the link reads no more, and the sender blocks.
#define LINK_STAMPS 512
#define LINK_BUFFER (256u << 10)

struct flow {
    struct wire wire;
    struct buf bytes;   // bytes that were read and not passed on yet
    size_t cleared;     // how many of `bytes` may pass, because their messages were looked at
    uint64_t in, ready; // since the start: number of bytes that were read, and that are due
    struct link_stamp stamps[LINK_STAMPS];
    size_t first_stamp, stamp_count;
    double budget;     // number of bytes that a throttle lets pass; pass_on takes off what it sends
    int64_t budget_ns; // when `budget` last grew
    int64_t slice_due_ns; // when the next piece may go out
    bool ended;           // nothing more comes from its source
    bool dead;            // nothing more can go to its sink
    bool blocked;         // its sink did not take all the bytes
    bool cut_next;        // the connection will be cut after the message that has begun
    bool cut;             // the connection is cut as soon as the cleared bytes have passed
};

struct link {
    unsigned number;      // from 1, in the order in which the clients came
    int client_port;      // the client's TCP port; 0: not known
    int fds[2];           // indexed by enum message_sender
    struct flow flows[2]; // indexed by the sender of the flow's bytes
    struct exchange exchange;
};

// The faults of the network at this moment.
struct link_conditions {
    bool hold[2]; // by sender; true: its bytes do not pass
    int64_t delay_ns;
    double rate;          // throttle: bytes per second each way; 0: unlimited
    uint64_t limit;       // a connection ends when this many bytes have passed, both ways; 0: never
    size_t slice;         // each way, bytes go out in pieces of at most this size; 0: as they come
    int64_t slice_gap_ns; // pause after each piece
};

// The link calls `message` for each message at its boundary, before it passes on a byte of it. To
// have the flow cut, `message` returns true and sets *side: cut before or after this message.
struct link_watcher {
    bool (*message)(
        void *self, enum message_sender sender, const struct wire_message *m, enum cut_side *side);
    void *self;
    bool clear_only; // cut a client whose first bytes are no message, before they pass: nobody can
                     // see whether it has the password
};

// Makes a link. Takes over both descriptors, which must be non-blocking.
struct link *link_new(int client, int server);
// Closes both ends. With `reset`, an end that is TCP is closed by a TCP reset.
void link_free(struct link *l, bool reset);

// Moves all bytes that can move. Returns false when the connection is over and must be freed;
// *was_cut says whether a cut ended it. Lowers *wake_ns to the time at which link_pump must be
// called again even if no descriptor becomes ready.
bool link_pump(struct link *l, const struct link_conditions *conditions,
    const struct link_watcher *watcher, int64_t now_ns, int64_t *wake_ns, bool *was_cut);

// True when `limit` bytes have passed through the connection; with limit 0, never.
bool link_is_at_limit(const struct link *l, uint64_t limit);

// Returns the events to wait for at one end; 0: leave this end out of the poll.
short link_events(const struct link *l, enum message_sender end);

// Returns how many bytes of this sender were read and not yet passed on.
size_t link_withheld(const struct link *l, enum message_sender sender);

// --- proxy.c and proxy_thread.c ---------------------------------------------------------

#define PROXY_LINKS_MAX 128
// For how long no client is accepted after descriptors or memory were short.
#define PROXY_ACCEPT_PAUSE_NS (50 * NS_PER_MS)
// The run's clients send the proxy's password as this setting in their startup message.
#define PROXY_PASSWORD_SETTING "mailproof.proxy"

enum cut_state { CUT_NONE, CUT_ARMED, CUT_BEGUN, CUT_DONE };

struct cut {
    enum cut_state state; // CUT_BEGUN: the message has come, and the connection is about to end
    struct message_kind kind;
    int left; // number of messages of the kind until the cut
    enum cut_side side;
    unsigned link; // since CUT_BEGUN: the number of the connection that is cut
};

// The holder of `lock` owns all fields below it. The proxy's thread releases the lock only while it
// waits for an event.
struct proxy {
    const struct server *server; // NULL: `target` says where the server is
    const struct target *target;
    bool asks_password; // true: a client without `password` is turned away
    char password[TARGET_PASSWORD_LEN + 1];
    int listener, port;
    int wake[2];
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    bool stopping;
    int64_t accept_at_ns; // no client is accepted before this time
    struct link *links[PROXY_LINKS_MAX];
    size_t link_count;
    struct link_conditions conditions;
    int64_t jitter_ns;
    struct rng rng;
    struct cut cut, next; // `next` replaces `cut` when that one is done
    proxy_hook *hook;
    void *hook_arg;
    size_t cut_count;
    int64_t cut_ns[PROXY_CUTS_MAX];
    struct proxy_client cut_client;
    unsigned tally[2][256];        // by sender and type: number of messages since proxy_tally
    struct transcript *transcript; // NULL: the messages are not kept
    unsigned accepted;             // number of clients so far
    unsigned pumped_link;          // number of the link whose bytes move now
    uint64_t passed_before;        // number of bytes passed by links that are gone
    uint64_t limited;              // number of links that the limit has ended
    uint64_t refused;              // number of clients that were turned away, see proxy.h
};

// Runs as a thread: passes bytes until `stopping` is set. Its argument is the proxy.
void *proxy_pass_bytes(void *proxy);

// Returns the TCP port of a socket or, with `peer`, of its other end; 0: it is not known.
int proxy_port_of(int fd, bool peer);

// Ends the connection links[i], and adds the number of bytes that it has passed to passed_before.
// The caller holds the lock.
void proxy_remove_link(struct proxy *p, size_t i, bool reset);
