// Faults of the sender that answers the collector's lines. The harness is that sender.
#include "fault/family.h"
#include "os/interrupt.h"
#include "subject/mock_sender.h"

static const int64_t poll_ns = 2 * NS_PER_MS;

// Begins pause-sender or hang-sender.
static bool silence_sender(struct fault_context *c, struct fault_record *r, struct err *e)
{
    bool hangs = r->spec->verb->id == VERB_HANG_SENDER;

    (void)e;
    r->memo = subject_tokens_of(c->subject, r->spec->instance);
    subject_set_mood(c->subject, r->spec->instance, hangs ? SENDER_HANGS : SENDER_PAUSES);
    return true;
}

// Ends the fault. A line that was read meanwhile proves that the instance waited for an answer.
// r->memo: the number of tokens that had been read from the instance when the fault began.
static bool resume_sender(struct fault_context *c, struct fault_record *r, struct err *e)
{
    uint64_t read = subject_tokens_of(c->subject, r->spec->instance) - r->memo;

    subject_set_mood(c->subject, r->spec->instance, SENDER_WORKS);
    if (read == 0)
        return err_set(e, ERR_SKIP, "no line that needs an answer came while the fault lasted");
    snprintf(
        r->evidence, sizeof r->evidence, "%llu tokens read meanwhile", (unsigned long long)read);
    return true;
}

// Ends the sender. The proof is that its collector ends, too.
static bool kill_sender(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];
    // Like a wait for a victim, this wait must not hold up the end of another fault.
    int64_t deadline = fault_victim_deadline_ns(c);
    size_t count = subject_kill_sender(c->subject, r->spec->instance, pids);

    if (count == 0)
        return err_set(e, ERR_SKIP, "no collector was running in time");
    while (!subject_ended(c->subject, pids, count)) {
        if (clock_now_ns() > deadline)
            // A collector that waits for no answer need not notice that its sender is gone.
            return err_set(e, ERR_SKIP, "the collector did not end although its sender was gone");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    snprintf(r->evidence, sizeof r->evidence, "%zu %s ended without a sender, pid %d", count,
        NOUN(count, "process", "processes"), (int)pids[0]);
    return true;
}

const struct fault_verb fault_sender_verbs[] = {
    {VERB_KILL_SENDER, .look = fault_sees_collector, .begin = kill_sender},
    {VERB_PAUSE_SENDER, .begin = silence_sender, .end = resume_sender},
    {VERB_HANG_SENDER, .begin = silence_sender, .end = resume_sender},
    {0},
};
