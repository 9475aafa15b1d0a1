// The messages of all connections through a proxy, in their order, each with the statement that it
// belongs to. Pure: an observer tells of each message. Only a collector's short session is kept, so
// the entries have an end; later messages are counted and not kept.
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "fault/wire.h"

#define TRANSCRIPT_MAX 10000    // entries
#define TRANSCRIPT_TEXT_MAX 300 // bytes of a statement

struct transcript_entry {
    unsigned link; // number of the connection, from 1
    enum message_sender sender;
    unsigned char type; // enum message_type, or the protocol's own byte
    int n;              // number of the message among those of its sender and type, from 1
    size_t text;        // place of its text in `texts`, or TRANSCRIPT_NO_TEXT
};

#define TRANSCRIPT_NO_TEXT ((size_t)-1)

struct transcript_link;

struct transcript {
    struct transcript_entry *entries; // owned
    size_t count;
    struct buf texts; // texts with a NUL behind each
    int counts[2][256];
    struct transcript_link *links; // owned: what each connection has asked for
    size_t link_count;
};

void transcript_init(struct transcript *t);
void transcript_fini(struct transcript *t);

// Takes the next message. Without memory the transcript ends here.
void transcript_take(
    struct transcript *t, unsigned link, enum message_sender sender, const struct wire_message *m);

// Adds an entry as another transcript had it; false without memory or room.
bool transcript_add(struct transcript *t, unsigned link, enum message_sender sender,
    unsigned char type, int n, const char *text);

// Returns the entry's text: the SQL of the statement that the message asks for or answers, the
// channel of a notification, the text of an error; "" when it has none.
const char *transcript_text(const struct transcript *t, const struct transcript_entry *entry);

// Returns the text of the n-th message of a kind, or "".
const char *transcript_find(
    const struct transcript *t, enum message_sender sender, unsigned char type, int n);
