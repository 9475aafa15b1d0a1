// A collector whose n-th call to the C library's memory, to libpq or to libcrypto fails. The linker
// has the collector call these functions in place of the real ones (--wrap). FAIL_AT says which
// call fails; without it none does. The log says when the failure happened. With STOP_SIGNING the
// process is stopped when it is about to sign its first token.
#include <signal.h>

#include <libpq-fe.h>
#include <openssl/evp.h>

#include "base/base.h"

static bool fails(void)
{
    static const char mark[] = "the call fails\n";
    static long calls;
    const char *at = getenv("FAIL_AT");

    if (!at || ++calls != atol(at))
        return false;
    return write(STDERR_FILENO, mark, sizeof mark - 1) > 0;
}

static void stop_once(bool now)
{
    if (now && getenv("STOP_SIGNING")) {
        unsetenv("STOP_SIGNING");
        raise(SIGSTOP);
    }
}

// FAKE(type, name, (parameters), (arguments), what a failure returns) defines a call that fails on
// demand. The second macro does something before it.
#define FAKE(type, name, parameters, arguments, failure)                                           \
    FAKE_AFTER((void)0, type, name, parameters, arguments, failure)
#define FAKE_AFTER(before, type, name, parameters, arguments, failure)                             \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        before;                                                                                    \
        return fails() ? (failure) : __real_##name arguments;                                      \
    }

FAKE(void *, malloc, (size_t n), (n), NULL)
FAKE(void *, calloc, (size_t n, size_t size), (n, size), NULL)
FAKE(void *, realloc, (void *p, size_t n), (p, n), NULL)
FAKE(char *, strdup, (const char *s), (s), NULL)
FAKE(int, RAND_bytes, (unsigned char *out, int n), (out, n), 0)
FAKE(PGconn *, PQconnectStartParams, (const char *const *k, const char *const *v, int expand),
    (k, v, expand), NULL)
FAKE(PGnotify *, PQnotifies, (PGconn * c), (c), NULL)
FAKE(int, PQconsumeInput, (PGconn * c), (c), 0)
FAKE(int, PQflush, (PGconn * c), (c), -1)
FAKE(int, PQpipelineSync, (PGconn * c), (c), 0)
FAKE(int, PQenterPipelineMode, (PGconn * c), (c), 0)
FAKE(int, PQsetnonblocking, (PGconn * c, int on), (c, on), -1)
FAKE(PostgresPollingStatusType, PQconnectPoll, (PGconn * c), (c), PGRES_POLLING_FAILED)
FAKE(char *, PQescapeIdentifier, (PGconn * c, const char *s, size_t n), (c, s, n), NULL)
FAKE(int, PQsendPrepare, (PGconn * c, const char *name, const char *sql, int n, const Oid *types),
    (c, name, sql, n, types), 0)
FAKE(int, PQsendQueryParams,
    (PGconn * c, const char *sql, int n, const Oid *types, const char *const *values,
        const int *lengths, const int *formats, int format),
    (c, sql, n, types, values, lengths, formats, format), 0)
FAKE(int, PQsendQueryPrepared,
    (PGconn * c, const char *name, int n, const char *const *values, const int *lengths,
        const int *formats, int format),
    (c, name, n, values, lengths, formats, format), 0)
// EVP_MAC_init without a key begins to sign a token, with the key that the context has.
FAKE_AFTER(stop_once(!key), int, EVP_MAC_init,
    (EVP_MAC_CTX * c, const unsigned char *key, size_t n, const OSSL_PARAM params[]),
    (c, key, n, params), 0)
