// Ends the log of a soak's segment and begins that of the next segment, while the processes go on.
//
// new_log_make waits until nothing in the old log is still to be filled in: no answer of the mock
// sender, and nothing about what an ended process has left running. What can fail is done before
// the old log in memory is touched, so after a failure that log is still complete. The new log
// begins with a record of each living process, and with the last sample of the process, because a
// sample's figures are sums since the start of the process. The collectors write on to their log
// files; each file is moved to the new folder, and a copy stays in the old one.
#include "subject/serve.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "os/paths.h"
#include "subject/process_sample.h"

// The arrays that a new log needs. They are allocated before the old log is touched.
struct fresh {
    struct process_record *processes;
    _Atomic int64_t *seen_ns;
    uint8_t *tries;
};

static bool make_fresh(struct fresh *f, const struct subject *s, size_t tokens, struct err *e)
{
    size_t instances = (size_t)s->config.instances;

    // + 1, because calloc may return NULL for no items.
    *f = (struct fresh){
        .seen_ns = calloc(tokens + 1, sizeof *f->seen_ns),
        .tries = calloc(tokens + 1, sizeof *f->tries),
    };
    memory_grow(&f->processes, 0, instances, sizeof *f->processes);
    return (f->seen_ns && f->tries) || err_memory_for(e, "%zu tokens", tokens);
}

static void free_fresh(struct fresh *f)
{
    free(f->processes);
    free(f->seen_ns);
    free(f->tries);
}

// Copies an open file from its start to a new file.
static bool copy_log(int from, const char *to, struct err *e)
{
    char chunk[1 << 16];
    off_t at = 0;
    ssize_t got;
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    while (out >= 0 && (got = pread(from, chunk, sizeof chunk, at)) > 0) {
        if (write(out, chunk, (size_t)got) != got)
            break;
        at += got;
    }
    bool ok = out >= 0 && got == 0;
    if (out >= 0)
        ok = close(out) == 0 && ok;
    return ok || err_sys(e, ERR_SYSTEM, "cannot write %s", to);
}

// Moves the log file of an instance to the new folder, leaves a copy in the old one, and empties
// the file. The file itself moves and not the copy, because the process writes on to the open file.
static bool move_log(
    struct instance *in, int index, const struct subject_new_log *to, struct err *e)
{
    char name[64], here[PATH_MAX], there[PATH_MAX];

    snprintf(name, sizeof name, "collector-%d.log", index);
    if (!path_join(here, to->old_dir, name, e) || !path_join(there, to->log_dir, name, e))
        return false;
    if (rename(here, there) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot move %s", here);
    in->log_began = 0;
    return copy_log(in->log, here, e) &&
           (ftruncate(in->log, 0) == 0 || err_sys(e, ERR_SYSTEM, "cannot empty %s", there));
}

static bool move_logs(struct subject *s, const struct subject_new_log *to, struct err *e)
{
    for (int i = 0; i < s->config.instances; i++) {
        if (!move_log(&s->instances[i], i, to, e))
            return false;
    }
    return true;
}

// Returns the largest memory of the process, in KiB, that the log's samples saw.
static int64_t most_rss_kb(const struct subject_log *log, uint32_t process)
{
    int64_t most = 0;

    for (size_t i = 0; i < log->sample_count; i++) {
        if (log->samples[i].process == process && log->samples[i].rss_kb > most)
            most = log->samples[i].rss_kb;
    }
    return most;
}

// Enters a living process into the new log at index *count, which becomes the index in `in` and
// `sample`, too. Notes in the old log what the process used up to now.
static void carry_process(struct subject *s, struct instance *in, struct fresh *f, size_t *count,
    struct process_sample *sample)
{
    struct process_record *p = &s->reader.log.processes[in->process];

    f->processes[*count] = *p;
    f->processes[*count].lines = 0;
    // cpu_ms counts from the start of the process, so what earlier logs have is subtracted. 0: the
    // sample could not be read, or the process has used no time yet.
    if (sample->cpu_ms > 0) {
        double cpu_s = (double)sample->cpu_ms / 1e3;
        p->cpu_s = cpu_s - in->cpu_before_s;
        in->cpu_before_s = cpu_s;
    }
    p->rss_max_kb = most_rss_kb(&s->reader.log, in->process);
    in->process = sample->process = (uint32_t)(*count)++;
}

// Hands the present log to *old and begins the new one, with the last samples of the old one.
static void begin_log(struct subject *s, struct fresh *f, struct subject_log *old)
{
    struct process_sample samples[INSTANCES_MAX];
    size_t living = 0, sampled = 0;

    assert(s->config.instances <= INSTANCES_MAX);
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        struct process_sample sample = {.at_ns = clock_now_ns(), .process = in->process};
        if (in->pid == 0)
            continue;
        bool known = process_sample_read(in->pid, &sample);
        if (known)
            reader_add_sample(&s->reader, &sample);
        carry_process(s, in, f, &living, &sample);
        if (known)
            samples[sampled++] = sample;
    }
    *old = s->reader.log;
    s->reader.log = (struct subject_log){.processes = f->processes, .process_count = living};
    f->processes = NULL;
    for (size_t i = 0; i < sampled; i++)
        reader_add_sample(&s->reader, &samples[i]);
}

// Gives the next segment's plan to the reader and to the mock senders.
static void begin_plan(struct subject *s, struct fresh *f, const struct subject_new_log *to)
{
    struct reader *r = &s->reader;
    const size_t tokens = to->plan->token_count;

    // The new arrays were allocated by make_fresh, so nothing can fail here.
    free(r->seen_ns);
    r->seen_ns = f->seen_ns;
    r->seen_count = tokens;
    r->plan = *to->plan;
    r->tokens = r->torn = 0;
    atomic_store(&s->tokens, 0);
    free(s->tries);
    s->tries = f->tries;
    f->seen_ns = NULL;
    f->tries = NULL;
    for (int i = 0; i < s->config.instances; i++) {
        struct mock_sender *sender = &s->instances[i].sender;
        sender->seed = to->seed;
        sender->tries = s->tries;
        sender->tokens = tokens;
    }
}

// True when no part of the log is still to be filled in: no answer is to come, and it is known what
// each ended process has left. Otherwise tells the order what it waits for.
static bool is_at_rest(const struct subject *s, struct log_order *o)
{
    o->due = 0;
    for (int i = 0; i < s->config.instances; i++)
        // Without a descriptor no answer is given any more.
        o->due += s->instances[i].sender.fd >= 0 ? s->instances[i].sender.count : 0;
    o->litter = s->litter.count > 0;
    return o->due == 0 && !o->litter;
}

void new_log_make(struct subject *s)
{
    struct fresh fresh;

    pthread_mutex_lock(&s->lock);
    // Until the subject is at rest, the order waits. subject_begin_log gives up after its deadline.
    struct log_order *o = s->log_order;
    if (o && is_at_rest(s, o)) {
        o->ok = make_fresh(&fresh, s, o->to->plan->token_count, &o->err) &&
                move_logs(s, o->to, &o->err);
        if (o->ok) {
            begin_log(s, &fresh, o->log);
            begin_plan(s, &fresh, o->to);
            *o->cost = s->cost;
            s->cost = (struct subject_cost){0};
        }
        free_fresh(&fresh);
        s->log_order = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}
