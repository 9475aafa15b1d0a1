// The messages of PostgreSQL's protocol 3.0 by their names in its documentation. Scenarios use
// the names to say where a connection is cut.
#pragma once

#include "base/base.h"

enum message_sender { MESSAGE_CLIENT, MESSAGE_SERVER };

// Messages without a type byte get a value here that is no type byte of the protocol.
enum message_type {
    MESSAGE_ANY = 0,
    MESSAGE_STARTUP = 1,
    MESSAGE_SSL_REQUEST = 2,
    MESSAGE_GSS_REQUEST = 3,
    MESSAGE_CANCEL_REQUEST = 4,
    MESSAGE_ENCRYPTION_ANSWER = 5,
    MESSAGE_TYPELESS_MAX = MESSAGE_ENCRYPTION_ANSWER,
};

#define MESSAGE_TAG_MAX 48

// A kind of message: "server CommandComplete UPDATE", "client Bind", "server any". The tag may have
// further words, as in "server CommandComplete SELECT 1".
struct message_kind {
    enum message_sender sender;
    unsigned char type;        // enum message_type, or the protocol's own byte
    char tag[MESSAGE_TAG_MAX]; // the message's text must begin with these words; "": any text
};

// Parses the text of a kind of message. ERR_USAGE names the mistake and the correct form.
MUST_USE bool message_kind_parse(const char *text, struct message_kind *kind, struct err *e);

// Returns a name such as "CommandComplete"; "unknown" for a byte that names no message.
const char *message_name(enum message_sender sender, unsigned char type);

// True when a message fits the kind's tag. `text` has the first `len` bytes of the message's text.
bool message_tag_fits(const struct message_kind *kind, const char *text, unsigned long len);

const char *message_sender_name(enum message_sender sender);
