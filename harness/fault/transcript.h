// The messages of all connections through a proxy, in their order, each with the statement that it
// belongs to. Pure: an observer passes in each message. It is meant for a collector's short
// session, so it keeps TRANSCRIPT_MAX messages; later ones are only counted.
#pragma once

#include "fault/wire.h"

#define TRANSCRIPT_MAX 10000    // entries
#define TRANSCRIPT_TEXT_MAX 300 // bytes of a text, with its NUL

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
    struct buf texts;              // texts, each followed by a NUL
    int counts[2][256];            // by sender and type: number of messages, also of those not kept
    struct transcript_link *links; // owned: what each connection has asked for
    size_t link_count;
};

void transcript_init(struct transcript *t);
void transcript_fini(struct transcript *t);

// Adds the next message. If the transcript is full, only counts the message.
void transcript_take(
    struct transcript *t, unsigned link, enum message_sender sender, const struct wire_message *m);

// Adds a copy of another transcript's entry, the n-th of its sender and type. text "": it has none.
// Returns false without room.
bool transcript_add(struct transcript *t, unsigned link, enum message_sender sender,
    unsigned char type, int n, const char *text);

// Returns the entry's text: the SQL of the statement that the message asks for or answers, the
// channel of a notification, the text of an error; "" when it has none.
const char *transcript_text(const struct transcript *t, const struct transcript_entry *entry);

// Returns the text of the n-th message of a kind, or "".
const char *transcript_find(
    const struct transcript *t, enum message_sender sender, unsigned char type, int n);
