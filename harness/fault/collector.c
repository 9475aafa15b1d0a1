// Faults against the collector's own processes.
#include "fault/fault.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "os/process.h"

#define INSTANCES_MAX 64

// One that is just being started again is waited for.
static const int64_t victim_wait_ns = 2 * NS_PER_S;
static const int64_t gone_wait_ns = 5 * NS_PER_S;
static const int64_t poll_ns = 2 * NS_PER_MS;

static size_t signal_when_there(
    struct fault_context *c, const struct fault_record *r, int signal, pid_t *pids)
{
    int64_t deadline = clock_now_ns() + victim_wait_ns;
    size_t count;

    while ((count = subject_signal(c->subject, r->spec->instance, signal, pids)) == 0 &&
           clock_now_ns() < deadline) {
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            break;
    }
    return count;
}

static bool end_collector(
    struct fault_context *c, struct fault_record *r, int signal, struct err *e)
{
    pid_t pids[INSTANCES_MAX];
    size_t count = signal_when_there(c, r, signal, pids);
    int64_t deadline = clock_now_ns() + gone_wait_ns;

    if (count == 0)
        return err_set(e, ERR_SYSTEM, "no collector was running within 2 s");
    while (!subject_ended(c->subject, pids, count)) {
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_SYSTEM, "pid %d is still there after 5 s", (int)pids[0]);
        if (!interrupt_sleep_until(clock_now_ns() + poll_ns))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    snprintf(r->evidence, sizeof r->evidence, "%zu process%s gone, first pid %d", count,
        count == 1 ? "" : "es", (int)pids[0]);
    return true;
}

bool fault_kill_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    return end_collector(c, r, SIGKILL, e);
}

bool fault_stop_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    return end_collector(c, r, SIGTERM, e);
}

bool fault_pause_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];
    size_t count = signal_when_there(c, r, SIGSTOP, pids);

    if (count == 0)
        return err_set(e, ERR_SYSTEM, "no collector was running within 2 s");
    for (size_t i = 0; i < count; i++) {
        if (!process_wait_group_stopped(pids[i], clock_now_ns() + gone_wait_ns))
            return err_set(e, ERR_SYSTEM, "pid %d did not stop at SIGSTOP", (int)pids[i]);
    }
    snprintf(r->evidence, sizeof r->evidence, "%zu process%s seen stopped, first pid %d", count,
        count == 1 ? "" : "es", (int)pids[0]);
    return true;
}

bool fault_continue_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];

    (void)e;
    subject_signal(c->subject, r->spec->instance, SIGCONT, pids);
    return true;
}
