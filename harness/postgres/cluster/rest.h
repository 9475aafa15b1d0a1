// Asks Patroni's REST interface, over HTTP. Each request uses a new connection.
#pragma once

#include "base/base.h"

#define REST_MEMBERS_MAX 16

struct rest_target {
    int net; // descriptor of the network namespace from which the interface is reached; -1: ours
    const char *host;
    int port;
    const char *user, *password; // NULL: the interface asks for none
};

struct rest_answer {
    int status;          // HTTP status
    char text[64 << 10]; // the body; a longer answer is an error
};

// Sends a request and reads the answer; `body` NULL: the request has none. Any HTTP status counts
// as an answer. Fails with ERR_CONNECTION when there is no answer within 30 s. Patroni answers the
// request for a switchover only when the switchover is over.
MUST_USE bool rest_ask(const struct rest_target *t, const char *method, const char *path,
    const char *body, struct rest_answer *out, struct err *e);

// A member, as GET /cluster lists it.
struct rest_member {
    char name[64], role[32], state[32], host[256];
    int port, timeline; // timeline 0: not known
};

// Parses the members in an answer to GET /cluster. *count becomes their number, at most
// REST_MEMBERS_MAX. Pure.
MUST_USE bool rest_members(
    const char *json, struct rest_member *members, size_t *count, struct err *e);

// Returns the member that leads and runs; NULL: there is none at this moment.
const struct rest_member *rest_leader(const struct rest_member *members, size_t count);
