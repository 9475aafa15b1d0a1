#include "process/random.h"

#include <openssl/rand.h>

bool random_fill(void *bytes, size_t len, struct err *e)
{
    return RAND_bytes(bytes, (int)len) == 1 ||
           err_set(e, ERR_INTERNAL, "OpenSSL has no random numbers");
}
