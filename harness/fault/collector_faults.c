// Faults against the collector's own processes.
#include "fault/family.h"

#include "os/interrupt.h"
#include "os/process.h"

static const int64_t gone_wait_ns = 5 * NS_PER_S;
static const int64_t poll_ns = 2 * NS_PER_MS;

bool fault_sees_collector(struct fault_context *c, const struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];

    return subject_signal(c->subject, r->spec->instance, 0, pids) > 0 ||
           err_set(e, ERR_SKIP, "no collector was running in time");
}

// Signals the running processes of the fault's instances and returns how many there were. If the
// fault has a `for`, the subject does not start them again by itself.
static size_t signal_and_hold(
    struct fault_context *c, struct fault_record *r, int signal, pid_t *pids)
{
    bool for_good = r->spec->for_ns == FOR_REST; // they are never started again

    if (r->spec->for_ns == 0)
        return subject_signal(c->subject, r->spec->instance, signal, pids);
    // Two faults may hold the same instance down. It starts when the later of them ends.
    return subject_hold_down(c->subject, r->spec->instance, signal, for_good, pids, &r->memo);
}

bool fault_await_end(const struct fault_context *c, const pid_t *pids, size_t count, struct err *e)
{
    int64_t deadline = clock_now_ns() + gone_wait_ns;

    while (!subject_ended(c->subject, pids, count)) {
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_SYSTEM, "pid %d is still there after 5 s", (int)pids[0]);
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return true;
}

// Kills the collectors or asks them to end, and waits until they are gone. If the fault has a
// `for`, they are held down until fault_start_collector releases them or, with `rest`, for good.
static bool end_collectors(struct fault_context *c, struct fault_record *r, struct err *e)
{
    int signal = r->spec->verb->id == VERB_STOP_COLLECTOR ? SIGTERM : SIGKILL;
    pid_t pids[INSTANCES_MAX];
    size_t count = signal_and_hold(c, r, signal, pids);

    // Without a `for` (0), the subject starts the process again by itself, as a service manager
    // would; with FOR_REST (-1), it never does. Either way there is nothing to undo.
    r->undone = r->spec->for_ns <= 0;
    if (count == 0)
        return err_set(e, ERR_SKIP, "no collector was running in time");
    if (!fault_await_end(c, pids, count, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "%zu %s gone%s, first pid %d", count,
        NOUN(count, "process", "processes"), r->spec->for_ns == FOR_REST ? " for good" : "",
        (int)pids[0]);
    return true;
}

// Ends the fault: waits until the collectors that it held down run again, except those that another
// fault still holds down.
bool fault_start_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    uint64_t held = r->memo;
    int64_t deadline = clock_now_ns() + gone_wait_ns;
    size_t len = strlen(r->evidence);

    r->memo = 0;
    if (held == 0)
        return true;
    subject_release(c->subject, held);
    while (!subject_started(c->subject, held)) {
        // The subject starts no collector any more after too many exits. The verdict is about those
        // exits, so this fault does not fail.
        if (subject_gave_up(c->subject, NULL))
            return true;
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_SYSTEM, "it was not started again within 5 s");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    snprintf(r->evidence + len, sizeof r->evidence - len, "; started again");
    return true;
}

// Stops the collectors, and waits until each is seen to stand still.
static bool pause_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];
    size_t count = subject_signal(c->subject, r->spec->instance, SIGSTOP, pids);

    if (count == 0)
        return err_set(e, ERR_SKIP, "no collector was running in time");
    for (size_t i = 0; i < count; i++) {
        // A process in an uninterruptible wait stops only after that wait.
        if (!process_wait_group_stopped(pids[i], clock_now_ns() + gone_wait_ns))
            return err_set(e, ERR_SYSTEM, "pid %d did not stop at SIGSTOP", (int)pids[i]);
    }
    snprintf(r->evidence, sizeof r->evidence, "%zu %s seen stopped, first pid %d", count,
        NOUN(count, "process", "processes"), (int)pids[0]);
    return true;
}

static bool continue_collector(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];

    (void)e;
    subject_signal(c->subject, r->spec->instance, SIGCONT, pids);
    return true;
}

const struct fault_verb fault_collector_verbs[] = {
    {VERB_KILL_COLLECTOR, .look = fault_sees_collector, .begin = end_collectors,
        .end = fault_start_collector},
    {VERB_STOP_COLLECTOR, .look = fault_sees_collector, .begin = end_collectors,
        .end = fault_start_collector},
    {VERB_PAUSE_COLLECTOR, .look = fault_sees_collector, .begin = pause_collector,
        .end = continue_collector},
    {0},
};
