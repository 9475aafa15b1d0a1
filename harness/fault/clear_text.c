#include "fault/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <libpq-fe.h>

static const struct {
    const char *key;
    const char *refused[4]; // values that the proxy cannot obey; none listed: any value
} demands[] = {
    {"sslmode", {"require", "verify-ca", "verify-full"}},
    {"channel_binding", {"require"}},
    {"gssencmode", {"require"}},
    {"sslcert", {NULL}},
};

static bool is_local_address(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)at)->sin_addr.s_addr) >> 24 == 127;
    if (at->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr);
    return at->sa_family == AF_UNIX;
}

// True when the proxy cannot obey this value of the i-th setting in `demands`.
static bool cannot_obey(size_t i, const char *value)
{
    const char *const *refused = demands[i].refused;

    if (!*refused)
        return true;
    while (*refused && strcmp(*refused, value) != 0)
        refused++;
    return *refused;
}

static bool refuse_encryption(const char *key, const char *value, struct err *e)
{
    return err_set(e, ERR_SKIP,
        "the proxy that breaks the network speaks no TLS, so with %s=%s it may not stand before "
        "this server; add sslmode=disable if tokens and passwords may cross the network in clear "
        "text",
        key, value);
}

bool clear_text_allowed(const char *conninfo, const struct sockaddr *server, struct err *e)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool ok = options || err_set(e, ERR_INTERNAL, "libpq does not read the run's conninfo");
    bool asks_clear_text = false;

    // libpq ignores all these settings at a Unix socket.
    for (PQconninfoOption *o = options; ok && server->sa_family != AF_UNIX && o->keyword; o++) {
        if (!o->val || !*o->val)
            continue;
        asks_clear_text |= strcmp(o->keyword, "sslmode") == 0 && strcmp(o->val, "disable") == 0;
        for (size_t i = 0; ok && i < sizeof demands / sizeof *demands; i++) {
            if (strcmp(o->keyword, demands[i].key) == 0 && cannot_obey(i, o->val))
                ok = refuse_encryption(o->keyword, o->val, e);
        }
    }
    PQconninfoFree(options);
    // Without a proxy, libpq's default, sslmode=prefer, might encrypt. We drop such an encryption
    // only on the way to a server on this machine, or when the conninfo asks for clear text.
    return ok && (asks_clear_text || is_local_address(server) ||
                     refuse_encryption("sslmode", "prefer", e));
}
