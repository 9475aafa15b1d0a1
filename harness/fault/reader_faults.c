// Faults of the reader of the collector's output. The harness is that reader.
#include "fault/family.h"

// Lets the harness read slowly. pause-reader has no `rate`; with 0 the harness reads nothing.
static bool slow_reader(struct fault_context *c, struct fault_record *r, struct err *e)
{
    (void)e;
    r->memo = subject_read_bytes(c->subject);
    subject_set_read_rate(c->subject, r->spec->instance, (int64_t)r->spec->rate);
    return true;
}

// Ends the fault. Bytes that wait in the pipe were written and not read, so they prove that the
// reader was slow. r->memo: the number of bytes that had been read when the fault began.
static bool resume_reader(struct fault_context *c, struct fault_record *r, struct err *e)
{
    size_t unread = subject_unread(c->subject, r->spec->instance);
    uint64_t read = subject_read_bytes(c->subject) - r->memo;

    subject_set_read_rate(c->subject, r->spec->instance, READER_UNLIMITED);
    if (unread == 0)
        return err_set(e, ERR_SKIP, "no bytes waited in the pipe when the fault ended");
    snprintf(r->evidence, sizeof r->evidence, "%llu %s read meanwhile, %zu waiting at its end",
        (unsigned long long)read, NOUN(read, "byte", "bytes"), unread);
    return true;
}

static bool close_reader(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];
    size_t count = subject_close_reader(c->subject, r->spec->instance, pids);

    if (count == 0)
        return err_set(e, ERR_SKIP, "no collector with a reader was running in time");
    snprintf(r->evidence, sizeof r->evidence, "pipe of %zu %s read empty and closed, pid %d", count,
        NOUN(count, "process", "processes"), (int)pids[0]);
    return true;
}

const struct fault_verb fault_reader_verbs[] = {
    {VERB_PAUSE_READER, .begin = slow_reader, .end = resume_reader},
    {VERB_SLOW_READER, .begin = slow_reader, .end = resume_reader},
    {VERB_CLOSE_READER, .look = fault_sees_collector, .begin = close_reader},
    {0},
};
