// A server elsewhere, named by a conninfo. These functions take the conninfo apart, and put it
// together again for other roles and databases.
#pragma once

#include <libpq-fe.h>
#include <sys/socket.h>

#include "base/base.h"

#define TARGET_PASSWORD_LEN 32
#define TARGET_UNIQUE_LEN 8

struct target {
    PQconninfoOption *options;              // owned; libpq's form of the conninfo
    const char *user;                       // the conninfo's user, or libpq's default; in `options`
    char password[TARGET_PASSWORD_LEN + 1]; // password of the roles that the harness makes there
    char unique[TARGET_UNIQUE_LEN + 1];     // random digits for names that anybody may see
};

// Fills in `count` random hexadecimal digits, at most TARGET_PASSWORD_LEN, and a NUL.
MUST_USE bool target_random(char *digits, size_t count, struct err *e);

// Finds `count` TCP ports, at most TARGET_PORTS_MAX, that differ and that are free at this moment
// on 127.0.0.1.
#define TARGET_PORTS_MAX 8
MUST_USE bool target_free_ports(int *ports, int count, struct err *e);

// Parses a conninfo string or a URI. An error message shows none of its values. It may name an
// option that libpq does not know, or a service that is not defined.
MUST_USE bool target_init(struct target *t, const char *conninfo, struct err *e);
void target_fini(struct target *t); // accepts a zeroed struct

// Returns the value of a key of the conninfo; NULL: the key has no value, or an empty one.
const char *target_value(const struct target *t, const char *key);

// Appends a conninfo for this role and database. The conninfo's own user keeps its password; any
// other role gets the harness's. False when `out` has failed.
bool target_conninfo(const struct target *t, const char *user, const char *dbname, struct buf *out);

// As target_conninfo, but for only the n-th host, counted from 0, whether it leads or not. False
// also when there are fewer hosts.
bool target_one_of(
    const struct target *t, size_t n, const char *user, const char *dbname, struct buf *out);

// Finds the address on which the server listens; of several hosts, that of the first. If the host's
// name has several addresses, takes the first that accepts connections, or else the last.
MUST_USE bool target_address(
    const struct target *t, struct sockaddr_storage *out, socklen_t *len, struct err *e);

// Fills in the address of the Unix socket at which the server of this port listens in a folder.
MUST_USE bool target_socket_address(
    const char *dir, const char *port, struct sockaddr_storage *out, socklen_t *len, struct err *e);
