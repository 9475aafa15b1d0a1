// Lines and bytes between the run and a worker, over the standard streams of the command that the
// run starts: ssh, kubectl exec, podman exec, or mailproof itself. There is no other way to a
// worker, so only those who may run commands on its machine can reach it; ssh and kubectl encrypt.
//
// A call blocks for a limited time. A worker that is silent for longer than CHANNEL_SILENCE_NS
// counts as lost. A worker that has heard nothing from its run for CHANNEL_UNHEARD_NS stops by
// itself; as this is shorter, a silent worker has ceased to send before it counts as lost.
//
// When the other side is gone or silent, the functions fail with ERR_CONNECTION. Only one thread
// may use a channel at a time.
#pragma once

#include <sys/types.h>

#include "base/base.h"

#define CHANNEL_LINE_MAX 1024
#define CHANNEL_SILENCE_NS (10 * NS_PER_S)
#define CHANNEL_UNHEARD_NS (5 * NS_PER_S)

struct channel {
    int in, out;       // descriptors, which may be the same; -1: closed
    size_t from, used; // bytes[from] up to bytes[used] were read and not taken yet
    char bytes[16384];
};

void channel_init(struct channel *p, int in, int out); // the channel owns both from now on
void channel_close(struct channel *p);

// Splits a command at its blanks and starts it, without a shell. The command shares mailproof's
// standard error. Returns its pid, or -1 with the reason in e. The caller must end the command when
// the channel is closed.
MUST_USE pid_t channel_start(struct channel *p, const char *command, struct err *e);

// Makes a channel of this program's own standard streams. From then on, whatever else the program
// prints to standard output is lost.
MUST_USE bool channel_standard(struct channel *p, struct err *e);

// Writes a line, to which it adds the newline. channel_write writes bytes as they are.
MUST_USE bool channel_say(struct channel *p, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
MUST_USE bool channel_write(struct channel *p, const void *bytes, size_t count, struct err *e);

// Reads a line, without its newline. channel_read reads exactly `count` bytes.
MUST_USE bool channel_line(struct channel *p, char line[CHANNEL_LINE_MAX], struct err *e);
MUST_USE bool channel_read(struct channel *p, void *bytes, size_t count, struct err *e);

// Waits for at most limit_ms. True when there is something to read, or the other side is gone.
bool channel_has_input(const struct channel *p, int limit_ms);
