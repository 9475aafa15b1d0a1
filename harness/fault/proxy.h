// The proxy stands between collector and server and breaks the network between them.
//
// The collector connects to a port of 127.0.0.1, so its TCP timers and resets are real. The proxy
// connects to the server's address. One thread passes the bytes on; any other thread may call the
// functions here. Only a run whose scenario breaks the network has a proxy. All other runs measure
// PostgreSQL alone.
//
// A proxy has one limit: its kernel acknowledges everything that the collector sends. So the
// collector's own deadlines notice a partition, and its TCP does not.
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "fault/exchange.h"
#include "fault/transcript.h"
#include "postgres/provider.h"
#include "postgres/target.h"
#include "scenario/messages.h"
#include "scenario/verbs.h"

struct proxy;

struct proxy_counts {
    size_t links;       // number of connections at this moment
    size_t opaque;      // number of those that are encrypted, so that their messages cannot be seen
    uint64_t passed;    // number of bytes passed since the start, both ways
    size_t withheld[2]; // by sender: number of bytes that were read and not passed on
    uint64_t limited;   // number of connections that proxy_limit has ended
    uint64_t refused;   // number of connections without the run's password, or whose server was
                        // away
};

// Starts a proxy, which asks for the server's address again for every connection.
MUST_USE struct proxy *proxy_start(const struct server *server, struct err *e);

// Where a proxy listens that serves any client and is not in front of a server of the harness. It
// listens at `at` and lets everyone in, because the server asks for its own password. With port 0
// it takes a free port.
struct proxy_open {
    struct sockaddr_storage at;
    socklen_t at_len;
    const struct target *to; // where the server is; must outlive the proxy
};
MUST_USE struct proxy *proxy_start_open(const struct proxy_open *open, struct err *e);

int proxy_port(const struct proxy *p);
void proxy_free(struct proxy *p);

// Appends to a conninfo the settings that lead through the proxy. They include a password of the
// proxy's own, because every user of this machine can reach the port.
MUST_USE bool proxy_conninfo(const struct proxy *p, struct buf *conninfo);

struct proxy_counts proxy_counts(struct proxy *p);

// Returns the state of the busiest connection at this moment.
enum exchange_state proxy_state(struct proxy *p);

// Holds the bytes of each named sender back and passes on those of the other. Healing passes on the
// withheld bytes or, with `drop`, resets the connections together with them.
void proxy_hold(struct proxy *p, bool client, bool server);
void proxy_heal(struct proxy *p, bool client, bool server, bool drop);

// Resets every connection. Returns how many it reset.
size_t proxy_reset(struct proxy *p);

// Sets the delay; 0, 0: none. The bytes of one read get one delay and never overtake others.
void proxy_delay(struct proxy *p, int64_t by_ns, int64_t jitter_ns);

// Sets the bytes per second, in each direction of each connection; 0: unlimited.
void proxy_throttle(struct proxy *p, double rate);

// Ends each connection when this many bytes have passed through it, both ways; 0: never.
void proxy_limit(struct proxy *p, uint64_t bytes);

// Passes bytes on in pieces of at most this size, each way, with a pause behind each; 0: as they
// come.
void proxy_slice(struct proxy *p, size_t bytes, int64_t gap_ns);

// Cuts one connection before or after the n-th message of this kind, counted over all connections
// from now on. A cut that was not reached yet is replaced.
void proxy_cut(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side);
// Arms a second cut, whose messages count from the moment of the first.
void proxy_cut_next(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side);

// The proxy's thread calls this hook at each cut, with the cut's number from 0, while both ends are
// still open and nothing passes. The hook may kill the collector there. It must not call the proxy.
// proxy_forget_cut removes it.
typedef void proxy_hook(void *arg, size_t cut);
void proxy_at_cut(struct proxy *p, proxy_hook *hook, void *arg);

// Returns how many cuts were made since the last proxy_cut. at_ns gets their times; it may be NULL.
#define PROXY_CUTS_MAX 2
size_t proxy_cuts(struct proxy *p, int64_t at_ns[PROXY_CUTS_MAX]);
bool proxy_was_cut(struct proxy *p);

// A connection, as its client knows it.
struct proxy_client {
    unsigned number; // from 1, in the order in which the clients came; 0: none
    int port;        // the client's own TCP port
};

// Returns the connection that the last cut has ended.
struct proxy_client proxy_cut_client(struct proxy *p);
void proxy_forget_cut(struct proxy *p);

// Counts the messages of each type that have passed since the last call, by sender.
void proxy_tally(struct proxy *p, unsigned counts[2][256]);

// Keeps the messages that come from now on, until the next call. The transcript belongs to the
// proxy's thread until then. NULL: keeps none.
void proxy_record(struct proxy *p, struct transcript *transcript);
