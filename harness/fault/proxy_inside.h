// Internals shared by proxy.c, which other threads call, and proxy_thread.c, which passes the bytes
// on.
#pragma once

#include <pthread.h>

#include "fault/proxy_link.h"
#include "fault/proxy.h"
#include "plan/rng.h"
#include "postgres/target.h"

#define PROXY_LINKS_MAX 128
// How long no client is accepted after one came for which there was no descriptor.
#define PROXY_ACCEPT_PAUSE_NS (50 * NS_PER_MS)
#define PROXY_PASSWORD_SETTING "mailproof.proxy"

enum cut_state { CUT_NONE, CUT_ARMED, CUT_BEGUN, CUT_DONE };

struct cut {
    enum cut_state state; // CUT_BEGUN: the message has come, and the connection is about to end
    struct message_kind kind;
    int left; // number of messages of the kind until the cut
    enum cut_side side;
};

// The holder of `lock` owns all fields below it. The proxy's thread releases the lock only while it
// waits for an event.
struct proxy {
    const struct server *server; // NULL: `target` says where the server is
    const struct target *target;
    bool asks_password;
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
    unsigned tally[2][256];
    struct transcript *transcript; // NULL: the messages are not kept
    unsigned accepted;             // number of clients so far
    unsigned pumped;               // number of the link whose bytes move now
    uint64_t passed_before;        // number of bytes passed by links that are gone
    uint64_t limited;              // number of links that the limit has ended
    uint64_t refused;
};

// Runs as a thread: passes bytes until `stopping` is set. Its argument is the proxy.
void *proxy_pass_bytes(void *proxy);

// Ends the connection links[i], and adds the number of bytes that it has passed to passed_before.
// The caller holds the lock.
void proxy_remove_link(struct proxy *p, size_t i, bool reset);
