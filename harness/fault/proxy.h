// The proxy stands between collector and server and breaks the network between them.
//
// The collector connects to a port of 127.0.0.1, so its TCP timers and resets are real. The proxy
// connects to the server's address. One thread passes the bytes on; any other thread may call the
// functions here. Most runs have no proxy and measure PostgreSQL alone (run/prepare.c says which
// need one).
//
// A proxy has one limit: the kernel acknowledges everything that the collector sends it. So the
// collector's own deadlines notice a partition, but its TCP timers see a healthy peer. For a
// network whose silence TCP notices there is os/netns.h (`through: kernel`).
#pragma once

#include "fault/exchange.h"
#include "fault/transcript.h"
#include "postgres/provider.h"
#include "postgres/target.h"
#include "scenario/messages.h"
#include "scenario/verbs.h"

struct proxy;

struct proxy_counts {
    size_t links;       // number of connections at this moment
    size_t opaque;      // number of these whose messages cannot be seen: they are encrypted, or do
                        // not speak PostgreSQL's protocol
    uint64_t passed;    // number of bytes passed since the start, both ways
    size_t withheld[2]; // by sender: number of bytes that were read and not yet passed on
    uint64_t limited;   // number of connections that proxy_limit has ended
    uint64_t refused;   // number of connections that were refused: the client did not show the
                        // password, wanted to be superuser or was one too many, or the server had
                        // no address, refused at once or was about to encrypt
};

// Starts a proxy in front of the server. It looks up the server's address again for every
// connection. Returns NULL on failure.
MUST_USE struct proxy *proxy_start(const struct server *server, struct err *e);

// What proxy_start_open needs to know. Its proxy stands in front of any server, not one of the
// harness's. It listens at `at` (port 0: a free port) and lets every client in, because the server
// asks for its own password.
struct proxy_open {
    struct sockaddr_storage at;
    socklen_t at_len;
    const struct target *to; // where the server is; must outlive the proxy
};
// Starts a proxy that lets every client in. Returns NULL on failure.
MUST_USE struct proxy *proxy_start_open(const struct proxy_open *open, struct err *e);

// Returns the port at which the proxy listens.
int proxy_port(const struct proxy *p);
// Ends the proxy's thread and all its connections. Accepts NULL.
void proxy_free(struct proxy *p);

// Appends to a conninfo the settings that lead through the proxy, and a NUL. They include a
// password of the proxy's own, because every user of this machine can reach the port.
MUST_USE bool proxy_conninfo(const struct proxy *p, struct buf *conninfo, struct err *e);

// Counts the connections of this moment, and what has passed, ended and was refused since the
// start.
struct proxy_counts proxy_counts(struct proxy *p);

// Returns the state of the busiest connection at this moment.
enum exchange_state proxy_state(struct proxy *p);

// proxy_hold holds back the bytes that the client, the server or both send. proxy_heal passes the
// withheld bytes on or, with `drop`, drops them by resetting all connections.
void proxy_hold(struct proxy *p, bool client, bool server);
void proxy_heal(struct proxy *p, bool client, bool server, bool drop);

// Resets every connection. Returns how many it reset.
size_t proxy_reset(struct proxy *p);

// Sets the delay; 0, 0: none. All bytes of one read get the same delay, and no byte overtakes an
// earlier one.
void proxy_delay(struct proxy *p, int64_t by_ns, int64_t jitter_ns);

// Sets the bytes per second, in each direction of each connection; 0: unlimited.
void proxy_throttle(struct proxy *p, double rate);

// Ends each connection when this many bytes have passed through it, both ways; 0: never.
void proxy_limit(struct proxy *p, uint64_t bytes);

// Passes bytes on in pieces of at most this size, each way, with a pause after each; 0: as they
// come.
void proxy_slice(struct proxy *p, size_t bytes, int64_t gap_ns);

// Cuts one connection before or after the n-th message of this kind, counted over all connections
// from now on. If that connection ends before it is cut, the cut waits for the next such message.
// Replaces a cut that was not reached yet.
void proxy_cut(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side);
// Arms a second cut, whose messages are counted from the first cut on.
void proxy_cut_next(struct proxy *p, const struct message_kind *kind, int n, enum cut_side side);

// The proxy's thread calls this hook at each cut, with the cut's number from 0, while both ends are
// still open and nothing passes. The hook may kill the collector there. The hook must not call the
// proxy's functions. proxy_forget_cut removes the hook.
typedef void proxy_hook(void *arg, size_t cut);
void proxy_at_cut(struct proxy *p, proxy_hook *hook, void *arg);

// Returns how many cuts were made since the last proxy_cut or proxy_forget_cut. Stores their times
// in at_ns, unless it is NULL.
#define PROXY_CUTS_MAX 2
size_t proxy_cuts(struct proxy *p, int64_t at_ns[PROXY_CUTS_MAX]);
bool proxy_was_cut(struct proxy *p);

// A connection, as its client knows it.
struct proxy_client {
    unsigned number; // from 1, in the order in which the clients came; 0: no connection
    int port;        // the client's own TCP port
};

// Returns the connection that the last cut has ended.
struct proxy_client proxy_cut_client(struct proxy *p);
// Forgets the cuts that were armed or made, and removes the hook.
void proxy_forget_cut(struct proxy *p);

// Sets counts[sender][type] to the number of such messages that came since the last call.
void proxy_tally(struct proxy *p, unsigned counts[2][256]);

// Adds all messages from now on to `transcript`, until the next call; until then, the transcript
// belongs to the proxy's thread. NULL: keeps no messages.
void proxy_record(struct proxy *p, struct transcript *transcript);
