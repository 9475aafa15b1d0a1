// Follows the framing of PostgreSQL's protocol 3.0 in one direction of one connection. It knows
// only where messages begin and what type they have. Pure: bytes in, boundaries out.
#pragma once

#include <sys/socket.h>

#include "base/base.h"
#include "scenario/messages.h"

enum wire_phase {
    WIRE_STARTUP,  // the client's first messages have no type byte
    WIRE_ANSWER,   // the server answers a request for encryption with one byte
    WIRE_MESSAGES, // each message has a type, a length and a content
    WIRE_OPAQUE,   // encrypted, or not PostgreSQL's protocol: no boundaries can be seen
};

struct wire {
    enum message_sender sender;
    enum wire_phase phase;
    uint64_t left; // number of bytes until the end of the message that has begun
};

struct wire_message {
    unsigned char type; // enum message_type, or the protocol's own byte
    uint64_t len;       // bytes, header included
    const char *text;   // the part of the message's content that has arrived; points into the data
    size_t text_len;
};

// Begins to follow what one side, `sender`, sends on a new connection.
void wire_init(struct wire *w, enum message_sender sender);

// Call this at a boundary (w->left == 0). Returns true when the bytes identify the message that
// begins here; the message then counts as begun. False: more bytes are needed, or the wire has
// become opaque.
bool wire_begin(struct wire *w, const char *data, size_t len, struct wire_message *m);

// Returns how many of the next `len` bytes belong to the message that has begun, and counts them as
// passed. On an opaque wire, returns `len`.
size_t wire_pass(struct wire *w, size_t len);

// Tells the server's wire that the client has asked for encryption: the server's next byte is its
// answer.
void wire_expect_answer(struct wire *server);

// --- clear_text.c ------------------------------------------------------------------
//
// The fault proxy reads the messages that it cuts, so it speaks no TLS. clear_text.c decides when
// the proxy may send to the server in clear text.

// True when the bytes stay on this machine or the conninfo has sslmode=disable, and no setting of
// the conninfo demands encryption. Otherwise false, and ERR_SKIP names the setting.
MUST_USE bool clear_text_allowed(
    const char *conninfo, const struct sockaddr *server, struct err *e);
