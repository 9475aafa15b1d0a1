// Serves one text to every client that asks for it: GET /metrics over HTTP/1.1.
//
// The owner calls it from its own poll loop, and no call waits. A client that is silent, slow or
// hostile costs a few kilobytes until its deadline: there are SCRAPE_CLIENTS places. A new client
// takes the place of the one that has been silent for longest; where none is silent it waits in the
// kernel's queue. Each connection gets one answer.
//
// An address is HOST:PORT, [IPV6]:PORT, or the path of a Unix socket, which begins with '/'.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SCRAPE_CLIENTS 4
#define SCRAPE_FDS (SCRAPE_CLIENTS + 1)
#define SCRAPE_REQUEST_MAX 4096 // bytes of a request line and its headers
#define SCRAPE_PLACE_MAX 300

struct scrape_client {
    enum scrape_step {
        SCRAPE_FREE,    // the place has no client
        SCRAPE_READING, // its request is being read
        SCRAPE_WAITING, // the request is read, and the owner's text is awaited
        SCRAPE_WRITING, // the answer is being written
    } step;
    int fd;
    int64_t deadline_ns;
    size_t len;  // bytes of the request that were read so far
    size_t sent; // bytes of the answer that were written so far
    struct buf answer;
    char request[SCRAPE_REQUEST_MAX];
};

struct scrape {
    int fd;               // the listening socket; -1: closed
    int64_t accept_at_ns; // no client is taken in before this time; 0: at any time
    char path[108];       // where our Unix socket lies; "": we have none
    struct scrape_client clients[SCRAPE_CLIENTS];
};

// Initializes a struct, so that scrape_close and scrape_poll accept it before scrape_open.
#define SCRAPE_INIT                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

// Listens. A host name is resolved here, which may take a while. A Unix socket that nobody
// serves any more is replaced. ERR_USAGE says what is wrong with the address.
bool scrape_open(struct scrape *s, const char *address, struct err *e) MUST_USE;
void scrape_close(struct scrape *s);

// Writes the address that it listens on in readable form, with the real port in place of 0. Returns
// `place`.
const char *scrape_place(const struct scrape *s, char place[SCRAPE_PLACE_MAX]);

void scrape_poll(const struct scrape *s, struct pollfd fds[SCRAPE_FDS]);
// Returns when to call scrape_serve even if poll reports nothing.
int64_t scrape_deadline_ns(const struct scrape *s);

// Reads and writes as far as it can without waiting. True: a client waits for the text.
bool scrape_serve(struct scrape *s, int64_t now_ns);

// Gives the text to every client that waits for it. NULL: there is no text, and they get a 503.
void scrape_answer(struct scrape *s, const char *text, size_t len);

// --- pure ---------------------------------------------------------------------------

// Judges the first `len` bytes of a request: 0 while more is to come, else the status 200, 400,
// 404, 405 or 505. More bytes do not change a status.
int scrape_judge(const char *request, size_t len);
