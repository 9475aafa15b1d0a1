// Serves one text to every client that asks for it: GET /metrics over HTTP/1.1.
//
// The owner calls it from its own poll loop, and no call but scrape_open waits. There are
// SCRAPE_CLIENTS places, so clients that are silent, slow or hostile cost a few kilobytes and a
// copy of the text each, until their deadlines. When no place is free, a new client takes the place
// of the client whose request has been awaited for longest; when all requests are complete, the new
// client waits in the kernel's queue. Each connection gets one answer.
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
        SCRAPE_READING, // the client's request is being read
        SCRAPE_WAITING, // the request is read, and the owner's text is awaited
        SCRAPE_WRITING, // the answer to the client is being written
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
    int64_t accept_at_ns; // no client is accepted before this time; 0: at any time
    char path[108];       // the path of our Unix socket; "": we have none
    struct scrape_client clients[SCRAPE_CLIENTS];
};

// Initializes a struct, so that scrape_close and scrape_poll accept it before scrape_open.
#define SCRAPE_INIT                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

// Begins to listen at the address. To resolve a host name may take a while. A Unix socket that
// nobody serves any more is replaced. ERR_USAGE says what is wrong with the address.
bool scrape_open(struct scrape *s, const char *address, struct err *e) MUST_USE;
// Ends all clients, and removes our Unix socket.
void scrape_close(struct scrape *s);

// Listens at a Unix socket only, which it may replace as scrape_open does. Returns the listening
// socket, which does not block; -1: failed.
int scrape_listen_path(const char *path, struct err *e) MUST_USE;

// Writes in readable form where we listen, with the real port if the address had the port 0.
// Returns `place`.
const char *scrape_place(const struct scrape *s, char place[SCRAPE_PLACE_MAX]);

// Fills in what the owner polls before it calls scrape_serve.
void scrape_poll(const struct scrape *s, struct pollfd fds[SCRAPE_FDS]);
// Returns when to call scrape_serve even if poll reports nothing.
int64_t scrape_deadline_ns(const struct scrape *s);

// Accepts clients, reads and writes, as far as that is possible without waiting. Returns true while
// a client waits for the text: the owner then calls scrape_answer.
bool scrape_serve(struct scrape *s, int64_t now_ns);

// Gives the text to every client that waits for it. NULL: there is no text, and these clients get a
// 503.
void scrape_answer(struct scrape *s, const char *text, size_t len);

// --- pure ---------------------------------------------------------------------------

// Judges a request by the `len` bytes that were read so far. Returns 0 while more must be read,
// else the status 200, 400, 404, 405 or 505. Further bytes do not change a status.
int scrape_judge(const char *request, size_t len);
