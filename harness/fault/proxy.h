// Stands between collector and server, and is the network that breaks.
//
// The collector connects to a port of 127.0.0.1, so that its own TCP timers and
// resets are real; the proxy connects to wherever the server listens. One
// thread passes bytes on; the functions here may be called from any other.
// Only a run whose scenario breaks the network has a proxy: a run without one
// measures PostgreSQL and nothing else.
//
// What a proxy cannot do: its kernel acknowledges everything, so a partition is
// silence to the collector's own deadlines, not to its TCP.
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "fault/exchange.h"
#include "postgres/provider.h"
#include "postgres/target.h"
#include "scenario/messages.h"
#include "scenario/verbs.h"

struct proxy;

struct proxy_counts {
    size_t links;       // connections at this moment
    size_t opaque;      // of them, those that are encrypted: no messages to be seen
    uint64_t passed;    // bytes, both ways, ever
    size_t withheld[2]; // by sender: bytes that were read and are not passed on
    uint64_t refused;   // connections without the run's password, or whose server was away
};

// The server's address is asked for anew for every connection.
MUST_USE struct proxy *proxy_start(const struct server *server, struct err *e);

// For any client, without a server of the harness: listens at `at`, and lets in
// whoever connects, because the server asks for its own password. A port of 0
// takes a free one.
struct proxy_open {
    struct sockaddr_storage at;
    socklen_t at_len;
    const struct target *to; // outlives the proxy
};
MUST_USE struct proxy *proxy_start_open(const struct proxy_open *open, struct err *e);

int proxy_port(const struct proxy *p);
void proxy_free(struct proxy *p);

// Appends to a conninfo what leads through the proxy. It holds a password of
// the proxy's own: the port is open to everyone on this machine.
MUST_USE bool proxy_conninfo(const struct proxy *p, struct buf *conninfo);

struct proxy_counts proxy_counts(struct proxy *p);

// What the connection that is most under way is doing at this moment.
enum exchange_state proxy_state(struct proxy *p);

// Silence, by the sender of the bytes; the one that is not named stays as it is.
// Healing passes on what was withheld, or with `drop` resets the connections
// together with it.
void proxy_hold(struct proxy *p, bool client, bool server);
void proxy_heal(struct proxy *p, bool client, bool server, bool drop);

// Resets every connection; returns how many.
size_t proxy_reset(struct proxy *p);

// 0, 0: no delay. Each read's bytes get one delay, and never overtake others.
void proxy_delay(struct proxy *p, int64_t by_ns, int64_t jitter_ns);

// Bytes per second, each way of each connection; 0: unlimited.
void proxy_throttle(struct proxy *p, double rate);

// Cuts one connection before or after the n-th message of this kind, counted
// over all connections from now on. A cut replaces one that was not reached.
void proxy_cut(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side);
// The second cut, whose messages count from the moment of the first.
void proxy_cut_next(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side);

// Called by the proxy's thread at each cut, with the cut's number from 0, while
// both ends are still open and nothing passes: it may kill the collector there. It
// must not call the proxy. proxy_forget_cut lets go of it.
typedef void proxy_hook(void *arg, size_t cut);
void proxy_at_cut(struct proxy *p, proxy_hook *hook, void *arg);

// How many cuts were made since the last proxy_cut, and when. at_ns may be NULL.
#define PROXY_CUTS_MAX 2
size_t proxy_cuts(struct proxy *p, int64_t at_ns[PROXY_CUTS_MAX]);
bool proxy_was_cut(struct proxy *p);
void proxy_forget_cut(struct proxy *p);

// How many messages of each type have passed since the last call, by sender.
void proxy_tally(struct proxy *p, unsigned counts[2][256]);
