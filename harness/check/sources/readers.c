// While a slow reader takes its time, the lines that it has not read yet lie in the pipe, and
// perhaps no further line finds room there. The harness knows when it last found the pipe empty.
//
// So each of these lines is excused from when its pipe was last empty, but not before the reader
// became slow, until it was read.
#include "base/clock.h"
#include "check/sources/sources.h"

static void lie_unread(struct sources *s, const struct strike *k)
{
    const struct subject_log *log = s->l->log;
    bool share = scenario_shares(s->l->scenario);

    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        int instance = log->processes[line->process].instance;
        bool read_slowly = line->read_ns >= k->struck_ns && line->empty_ns <= k->undone_ns;
        if (read_slowly && (k->instance == EVERY || k->instance == instance))
            // Until the reader became slow, it read each line at once.
            sources_span(s, (struct span){clock_max(line->empty_ns, k->struck_ns), line->read_ns,
                                share ? instance : EVERY, {CAUSE_READER, k->cause.index}});
    }
}

void source_readers(struct sources *s)
{
    for (size_t i = 0; i < s->out->strike_count; i++) {
        if (strike_slows_reader(&s->out->strikes[i]))
            lie_unread(s, &s->out->strikes[i]);
    }
}
