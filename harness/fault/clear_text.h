// The fault proxy reads the messages that it cuts, so it speaks no TLS. This tells when the way
// from the proxy to the server must not be in clear text.
#pragma once

#include <sys/socket.h>

#include "base/err.h"

// True when the bytes stay on this machine, or the conninfo says that clear text is all right.
// ERR_SKIP names the setting that the proxy cannot keep.
MUST_USE bool clear_text_allowed(
    const char *conninfo, const struct sockaddr *server, struct err *e);
