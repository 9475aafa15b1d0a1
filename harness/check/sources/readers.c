// While a slow reader takes its time, unread lines lie in the pipe, and further lines may find no
// room in it. The reader notes when it last found the pipe empty.
//
// So a line that was read slowly is excused until it was read: from when its pipe was last empty
// or, if that was later, from when the reader became slow.
#include "check/sources/sources.h"

// Adds a span for each line that lay unread because this strike slowed its reader.
static void add_unread_lines(struct sources *s, const struct strike *k)
{
    const struct subject_log *log = s->l->log;
    bool share = scenario_shares(s->l->scenario);

    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        int instance = log->processes[line->process].instance;
        bool read_slowly = line->read_ns >= k->struck_ns && line->empty_ns <= k->undone_ns;
        if (read_slowly && (k->instance == EVERY || k->instance == instance))
            // Before the reader became slow, it read each line at once. Where one works at a time,
            // a collector whose output nobody reads keeps its turn, so all others wait, too.
            sources_add_span(
                s, (struct span){clock_max(line->empty_ns, k->struck_ns), line->read_ns,
                       share ? instance : EVERY, {CAUSE_READER, k->cause.index}});
    }
}

void source_readers(struct sources *s)
{
    for (size_t i = 0; i < s->timeline->strike_count; i++) {
        if (strike_slows_reader(&s->timeline->strikes[i]))
            add_unread_lines(s, &s->timeline->strikes[i]);
    }
}
