// The fault proxy reads the messages that it cuts, so it speaks no TLS. This file decides when the
// proxy may send to the server in clear text.
#pragma once

#include <sys/socket.h>

#include "base/base.h"

// True when the bytes stay on this machine or the conninfo has sslmode=disable, and no setting of
// the conninfo demands encryption. Otherwise false, and ERR_SKIP names the setting.
MUST_USE bool clear_text_allowed(
    const char *conninfo, const struct sockaddr *server, struct err *e);
