// Chooses which tokens, lines and processes of a history are written.
#include "story/event.h"

// True when the transaction touches the part: it was planned, sent or answered within it.
static bool txn_inside(const struct writer *w, size_t txn)
{
    const struct txn_record *r = &w->l->txns[txn];
    int64_t due_ns = w->l->start_ns + w->h->plan.txns[txn].at_ns;

    return is_inside(w, due_ns, due_ns) || (r->sent_ns && is_inside(w, r->sent_ns, r->ended_ns));
}

// Keeps the tokens of the part, then all lines that hold one of them or were read within it, then
// all tokens of these lines, so that no kept line lacks a token. token_no is DROPPED for the other
// tokens; for the kept ones it becomes the number in the story.
static void pick_tokens(struct writer *w)
{
    const struct plan *plan = &w->h->plan;
    const struct subject_log *log = &w->h->log;
    uint32_t count = 0;

    for (uint32_t t = 0; t < plan->token_count; t++)
        w->token_no[t] =
            (w->part && w->part->token == t) || txn_inside(w, w->l->txn_of[t]) ? 0 : DROPPED;
    for (size_t i = 0; i < log->line_count; i++)
        // Lines read within the part are kept even without such a token. The checks need them: a
        // line that is not full shows that no further token waited, and each line shows which
        // collector had the queue.
        w->line_kept[i] = is_inside(w, log->lines[i].read_ns, log->lines[i].read_ns);
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        if (d->token < plan->token_count && w->token_no[d->token] != DROPPED)
            w->line_kept[d->line] = true;
    }
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        if (d->token < plan->token_count && w->line_kept[d->line])
            w->token_no[d->token] = 0;
    }
    // Tokens keep their numbers, so that they have the names of the run's findings, unless a number
    // is too large for a story.
    for (uint32_t t = 0; t < plan->token_count; t++)
        if (w->token_no[t] != DROPPED)
            w->token_no[t] = write_keeps_numbers(w) ? t : count++;
}

// Keeps the processes that live during the part, and those that wrote a kept line.
static void pick_processes(struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    bool *wrote FREED_BY(memory_free) =
        memory_zeroed(log->process_count, sizeof *wrote); // it wrote a line that is kept

    for (size_t i = 0; i < log->line_count; i++)
        if (w->line_kept[i])
            wrote[log->lines[i].process] = true;
    for (size_t i = 0; i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        w->process_no[i] = DROPPED;
        if (!wrote[i] && !is_inside(w, p->started_ns, p->ended_ns))
            continue;
        w->process_no[i] = (uint32_t)w->log.process_count;
        w->log.processes[w->log.process_count] = *p;
        // Defaults are computed on the story's clock.
        w->log.processes[w->log.process_count].started_ns -= w->l->start_ns - STORY_START_NS;
        if (p->ended_ns != CLOCK_NEVER)
            w->log.processes[w->log.process_count].ended_ns -= w->l->start_ns - STORY_START_NS;
        w->log.process_count++;
    }
}

bool write_keeps_fault(const struct writer *w, const struct fault_record *f)
{
    // A fault may excuse what comes within recovery_limit after its end.
    int64_t ended_ns = f->ended_ns ? f->ended_ns : f->planned_ns;

    return is_inside(w, f->planned_ns, ended_ns + w->s->recovery_limit_ns);
}

// Fills in w->guessed: a copy of all lines, with the times of writing that a reader of the text
// will guess. The text then needs only the times that differ from these (write_line).
static void guess_write_times(struct writer *w)
{
    struct subject_log log = w->h->log;
    struct ledger l = *w->l;
    struct fault_record *kept FREED_BY(memory_free) = memory_zeroed(l.fault_count, sizeof *kept);

    // The guess depends on the faults, and a reader knows only those that are written.
    l.fault_count = 0;
    for (size_t i = 0; i < w->l->fault_count; i++) {
        if (write_keeps_fault(w, &w->l->faults[i]))
            kept[l.fault_count++] = w->l->faults[i];
    }
    l.faults = kept;
    if (log.line_count > 0)
        memcpy(w->guessed, log.lines, log.line_count * sizeof *w->guessed);
    for (size_t i = 0; i < log.line_count; i++)
        w->guessed[i].seen_ns = 0; // so that ledger_guess_written guesses both times
    log.lines = w->guessed;
    l.log = &log;
    ledger_guess_written(&l);
}

void write_pick(struct writer *w)
{
    pick_tokens(w);
    pick_processes(w);
    guess_write_times(w);
}
