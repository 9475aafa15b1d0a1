// A server elsewhere, named by a conninfo. These functions take the conninfo apart, and put it
// together again for other roles and databases.
#pragma once

#include <libpq-fe.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"

#define TARGET_PASSWORD_LEN 32

struct target {
    PQconninfoOption *options; // libpq's
    const char *user;          // of the conninfo, or what libpq would take; points into options
    char password[TARGET_PASSWORD_LEN + 1]; // of the roles that the harness makes there
};

// Random hexadecimal digits.
MUST_USE bool target_password(char password[TARGET_PASSWORD_LEN + 1], struct err *e);

// Accepts a conninfo string or a URI. Errors never show what it holds.
MUST_USE bool target_init(struct target *t, const char *conninfo, struct err *e);
void target_fini(struct target *t); // accepts a zeroed one

// Makes a conninfo for its own role, or for another one with the harness's password.
bool target_conninfo(const struct target *t, const char *user, const char *dbname, struct buf *out);

// Makes a conninfo for the n-th of several hosts alone, leader or not. False when there are fewer
// hosts, or `out` is full.
bool target_one_of(
    const struct target *t, size_t n, const char *user, const char *dbname, struct buf *out);

// Returns the address that it listens at; of several hosts, the first.
MUST_USE bool target_address(
    const struct target *t, struct sockaddr_storage *out, socklen_t *len, struct err *e);
