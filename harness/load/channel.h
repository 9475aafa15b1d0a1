// Lines and bytes between the run and a worker, over the standard streams of the command that the
// run starts: ssh, kubectl exec, podman exec, or mailproof itself. There is no other way to a
// worker, so nobody can reach one who could not run commands there anyway, and the command
// encrypts.
//
// A call blocks for a limited time. A worker that is silent for longer than POST_SILENCE_NS counts
// as lost. Before that, a worker stops by itself when it has heard nothing from its run for
// POST_UNHEARD_NS.
//
// Fails with ERR_CONNECTION. One thread uses a channel at a time.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"

#define CHANNEL_LINE_MAX 1024
#define CHANNEL_SILENCE_NS (10 * NS_PER_S)
#define CHANNEL_UNHEARD_NS (5 * NS_PER_S)

struct channel {
    int in, out; // descriptors, which may be the same; -1: closed
    size_t from, used;
    char bytes[16384]; // bytes that were read and not taken yet
};

void channel_init(struct channel *p, int in, int out); // owns the descriptors from now on
void channel_close(struct channel *p);

// Starts a command, which is split at blanks, without a shell. It writes its messages to our
// standard error. Returns its pid, -1 with the reason. The caller ends it when the channel is
// closed.
MUST_USE pid_t channel_start(struct channel *p, const char *command, struct err *e);

// Takes our own standard streams. From then on, what the program prints is lost.
MUST_USE bool channel_standard(struct channel *p, struct err *e);

MUST_USE bool channel_say(struct channel *p, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
MUST_USE bool channel_write(struct channel *p, const void *bytes, size_t count, struct err *e);

// Reads a line, without its newline.
MUST_USE bool channel_line(struct channel *p, char line[CHANNEL_LINE_MAX], struct err *e);
MUST_USE bool channel_read(struct channel *p, void *bytes, size_t count, struct err *e);

// Waits for at most limit_ms. True when there is something to read, or the other side is gone.
bool channel_waits(const struct channel *p, int limit_ms);
