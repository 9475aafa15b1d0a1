#include "fault/wire.h"

#define HEADER 5          // a type byte and the length
#define STARTUP_HEADER 8  // the length, and a code or the protocol's version
#define STARTUP_MAX 10000 // the server's own limit
#define PROTOCOL_3 3
#define CODE_CANCEL ((1234u << 16) | 5678)
#define CODE_SSL ((1234u << 16) | 5679)
#define CODE_GSS ((1234u << 16) | 5680)

void wire_init(struct wire *w, enum message_sender sender)
{
    *w = (struct wire){
        .sender = sender,
        .phase = sender == MESSAGE_CLIENT ? WIRE_STARTUP : WIRE_MESSAGES,
    };
}

void wire_expect_answer(struct wire *server)
{
    server->phase = WIRE_ANSWER;
}

static uint32_t big_endian_number(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool become_opaque(struct wire *w)
{
    w->phase = WIRE_OPAQUE;
    return false;
}

static bool start_message(struct wire *w, struct wire_message *m, unsigned char type, uint64_t len)
{
    m->type = type;
    m->len = len;
    w->left = len;
    return true;
}

// Begins a message without a type byte: the startup message, or a request before it.
// False: more bytes are needed, or the wire has become opaque.
static bool begin_startup(struct wire *w, const char *data, size_t len, struct wire_message *m)
{
    if (len < STARTUP_HEADER)
        return false;
    uint32_t total = big_endian_number(data), code = big_endian_number(data + 4);
    // This is not PostgreSQL's protocol. The bytes pass as they are, but no cut is possible.
    if (total < STARTUP_HEADER || total > STARTUP_MAX)
        return become_opaque(w);
    // Wait for the whole message, because the proxy looks for the run's password in it.
    if (len < total)
        return false;
    m->text = data + STARTUP_HEADER;
    m->text_len = total - STARTUP_HEADER;
    if (code == CODE_SSL)
        return start_message(w, m, MESSAGE_SSL_REQUEST, total);
    if (code == CODE_GSS)
        return start_message(w, m, MESSAGE_GSS_REQUEST, total);
    if (code == CODE_CANCEL)
        return start_message(w, m, MESSAGE_CANCEL_REQUEST, total);
    if (code >> 16 != PROTOCOL_3)
        return become_opaque(w);
    w->phase = WIRE_MESSAGES;
    return start_message(w, m, MESSAGE_STARTUP, total);
}

// Begins the server's answer to a request for encryption. 'N' means that the client goes on in
// plain text. A server that does not know the request sends an error instead: an ordinary message,
// for which this returns false.
static bool begin_encryption_answer(struct wire *w, const char *data, struct wire_message *m)
{
    w->phase = *data == 'N' || *data == 'E' ? WIRE_MESSAGES : WIRE_OPAQUE;
    if (*data == 'E')
        return false;
    m->text = data;
    m->text_len = 1;
    return start_message(w, m, MESSAGE_ENCRYPTION_ANSWER, 1);
}

// Begins an ordinary message: a type byte, a length and a content. False: more bytes are needed,
// or the wire has become opaque.
static bool begin_message(struct wire *w, const char *data, size_t len, struct wire_message *m)
{
    if (len < HEADER)
        return false;
    // The length counts itself, but not the type before it.
    uint64_t total = (uint64_t)big_endian_number(data + 1) + 1;
    // The protocol's types are letters and digits. Smaller values are the harness's own numbers for
    // messages without a type.
    if (total < HEADER || (unsigned char)*data <= MESSAGE_TYPELESS_MAX)
        return become_opaque(w);
    // A CommandComplete's tag may decide whether this is the place to cut, so wait for the tag.
    bool tagged = w->sender == MESSAGE_SERVER && *data == 'C';
    uint64_t tag_end = total < HEADER + MESSAGE_TAG_MAX ? total : HEADER + MESSAGE_TAG_MAX;
    uint64_t need = tagged ? tag_end : HEADER;
    if (len < need)
        return false;
    m->text = data + HEADER;
    m->text_len = (len < total ? len : (size_t)total) - HEADER;
    return start_message(w, m, (unsigned char)*data, total);
}

bool wire_begin(struct wire *w, const char *data, size_t len, struct wire_message *m)
{
    *m = (struct wire_message){0};
    if (len == 0 || w->phase == WIRE_OPAQUE)
        return false;
    if (w->phase == WIRE_ANSWER && begin_encryption_answer(w, data, m))
        return true;
    return w->phase == WIRE_STARTUP    ? begin_startup(w, data, len, m)
           : w->phase == WIRE_MESSAGES ? begin_message(w, data, len, m)
                                       : false;
}

size_t wire_pass(struct wire *w, size_t len)
{
    if (w->left == 0)
        return w->phase == WIRE_OPAQUE ? len : 0;
    size_t n = w->left < len ? (size_t)w->left : len;
    w->left -= n;
    return n;
}
