#include "subject/mock_sender.h"

#include "plan/rng.h"

// The first stream of random numbers for answers: each attempt for each token has its own.
#define SENDER_STREAM UINT64_C(0x5e4de500000000)
#define TRIES_MAX 255 // the largest value of an item of `tries`
#define OUT_MAX ((size_t)64 << 20)

struct sender_reply mock_sender_draw(
    const struct scenario_sender *manner, uint64_t seed, uint32_t token, unsigned attempt)
{
    struct sender_reply r = {.reply = REPLY_SENT};
    struct rng rng;

    // With a given seed, the answer depends on the token and its attempt alone. So it is the same
    // in every run, whichever collector asks, and whenever it asks.
    rng_init(&rng, seed, SENDER_STREAM + (uint64_t)token * (TRIES_MAX + 1) + attempt);
    // Draw all numbers of an answer in a fixed order, even those that it does not use. So a change
    // to one share in the scenario does not shift the numbers that decide the others.
    double fate = rng_uniform(&rng); // the shares below divide the range from 0 to 1
    double span = (double)(manner->delay_to_ns - manner->delay_from_ns);
    r.delay_ns = manner->delay_from_ns + (int64_t)(rng_uniform(&rng) * span);
    r.twice = rng_uniform(&rng) < manner->twice;
    r.oddly = rng_uniform(&rng) < manner->wrong;
    if (rng_uniform(&rng) < manner->dies)
        r.reply = REPLY_DIED;
    else if (fate < manner->hang)
        r.reply = REPLY_NEVER;
    else if (fate < manner->hang + manner->permanent)
        r.reply = REPLY_PERMANENT;
    else if (fate < manner->hang + manner->permanent + manner->error)
        r.reply = REPLY_TRANSIENT;
    return r;
}

void mock_sender_init(struct mock_sender *s, const struct scenario_sender *manner, bool jobs,
    uint64_t seed, uint8_t *tries, size_t tokens)
{
    *s = (struct mock_sender){
        .manner = manner, .jobs = jobs, .seed = seed, .tries = tries, .tokens = tokens, .fd = -1};
    buf_init(&s->out, OUT_MAX);
}

void mock_sender_fini(struct mock_sender *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->heap);
    buf_fini(&s->out);
    *s = (struct mock_sender){.fd = -1};
}

void mock_sender_begin(struct mock_sender *s, int fd)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = fd;
    s->line_count = 0;
    s->count = 0;
    buf_clear(&s->out);
}

// --- a heap of the answers that are due, the earliest first -----------------------

// Adds an answer to the heap: moves it up from the end to its place.
static void push_due(struct mock_sender *s, struct sender_due due)
{
    memory_grow(&s->heap, s->count, 1, sizeof due);
    size_t at = s->count++;
    for (; at > 0 && s->heap[(at - 1) / 2].at_ns > due.at_ns; at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = due;
}

// Takes the earliest answer out of the heap, and moves the last one down from the top to its place.
static struct sender_due pop_due(struct mock_sender *s)
{
    struct sender_due first = s->heap[0], last = s->heap[--s->count];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < s->count; at = child) {
        if (child + 1 < s->count && s->heap[child + 1].at_ns < s->heap[child].at_ns)
            child++;
        if (s->heap[child].at_ns >= last.at_ns)
            break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = last;
    return first;
}

// --- answers ----------------------------------------------------------------------

// True when a reply is written, or ends the sender, at its time. REPLY_NEVER is written only to a
// queue's consumer: its handler waits for an answer, so it must be told to hang.
static bool is_reply_written(const struct mock_sender *s, enum reply reply)
{
    return reply != REPLY_NEVER || (s->jobs && s->fd >= 0);
}

// Draws the answer to an attempt. A job whose first attempt fails for good fails at each attempt.
// Only a job's first attempt is slow: a job that always takes longer than its claim would never
// end.
static struct sender_reply draw_reply(const struct mock_sender *s, uint32_t token, unsigned attempt)
{
    struct sender_reply first = mock_sender_draw(s->manner, s->seed, token, 0), r = first;

    if (attempt > 0 && (!s->jobs || first.reply != REPLY_PERMANENT))
        r = mock_sender_draw(s->manner, s->seed, token, attempt);
    if (attempt > 0 && s->jobs)
        r.delay_ns = s->manner->delay_from_ns;
    return r;
}

// True when the attempt does not count as the job's delivery, because the queue must deliver the
// job again. A job that fails at each attempt need never succeed. Its first attempt counts as its
// delivery, and the later attempts do not count as repeats.
static bool is_refused(enum reply reply, unsigned attempt)
{
    return reply == REPLY_PERMANENT ? attempt > 0 : reply != REPLY_SENT;
}

void mock_sender_line(
    struct mock_sender *s, struct subject_log *log, uint32_t line, enum sender_mood mood)
{
    const struct line_record *l = &log->lines[line];
    int64_t line_number = ++s->line_count;

    for (uint32_t i = 0; l->state == LINE_WHOLE && i < l->tokens; i++) {
        struct delivery *d = &log->deliveries[l->first_delivery + i];
        unsigned attempt = 0; // stays 0 for a token that is not planned
        if (d->token < s->tokens) {
            attempt = s->tries[d->token];
            s->tries[d->token] = (uint8_t)(attempt < TRIES_MAX ? attempt + 1 : TRIES_MAX);
        }
        struct sender_reply r = draw_reply(s, d->token, attempt);
        // The attempt was counted above even if nobody answers it, because the collector has made
        // it. Without a descriptor there is no way to answer.
        if (mood == SENDER_HANGS || s->fd < 0)
            r.reply = REPLY_NEVER;
        d->reply = (uint8_t)r.reply;
        d->replied_ns = 0;
        if (s->jobs && is_refused(r.reply, attempt))
            d->flags |= DELIVERY_REFUSED;
        if (is_reply_written(s, r.reply))
            push_due(s, (struct sender_due){.at_ns = l->read_ns + r.delay_ns,
                            .line = line_number,
                            .delivery = l->first_delivery + i,
                            .place = i + 1,
                            .answer = r});
    }
}

// Appends to `out` the answer for a queue's consumer.
static void put_job_answer(struct mock_sender *s, const struct sender_due *due, uint32_t token)
{
    static const char *const words[REPLIES] = {[REPLY_SENT] = "ok",
        [REPLY_TRANSIENT] = "fail",
        [REPLY_PERMANENT] = "fail",
        [REPLY_NEVER] = "hang"};

    buf_printf(&s->out, "%s %u\n", words[due->answer.reply], token);
}

// Appends to `out` the answer for a collector, which names the line and the token's place in it.
static void put_collector_answer(struct mock_sender *s, const struct sender_due *due)
{
    static const char *const words[REPLIES] = {
        [REPLY_SENT] = "sent",
        [REPLY_TRANSIENT] = "error transient 452 mailbox full",
        [REPLY_PERMANENT] = "error permanent 550 no such user",
    };

    // A mail server's words are no answer of this protocol.
    if (due->answer.oddly)
        buf_append_str(&s->out, "250 queued as 4F2A, \"soon\"\n");
    for (int i = 0; i < 1 + due->answer.twice; i++)
        buf_printf(
            &s->out, "%lld.%u %s\n", (long long)due->line, due->place, words[due->answer.reply]);
}

// Writes the answers in `out`. Bytes that a full pipe does not take stay for the next call. On any
// other error, such as a pipe without a reader, the descriptor is closed.
static void flush_replies(struct mock_sender *s)
{
    while (s->fd >= 0 && s->out.len > 0) {
        ssize_t n = write(s->fd, s->out.data, s->out.len);
        if (n > 0)
            buf_consume(&s->out, (size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno == EAGAIN)
            return;
        else
            mock_sender_begin(s, -1);
    }
}

void mock_sender_abandon(const struct mock_sender *s, struct subject_log *log)
{
    for (size_t i = 0; s->jobs && i < s->count; i++)
        log->deliveries[s->heap[i].delivery].flags |= DELIVERY_REFUSED;
}

// Ends the sender: sends what the pipe takes of its earlier answers, closes the descriptor, and
// drops the answers to come.
static void end_sender(struct mock_sender *s)
{
    flush_replies(s);
    mock_sender_begin(s, -1);
}

bool mock_sender_say(
    struct mock_sender *s, struct subject_log *log, enum sender_mood mood, int64_t now_ns)
{
    bool died = false;

    while (mood != SENDER_PAUSES && s->fd >= 0 && s->count > 0 && s->heap[0].at_ns <= now_ns) {
        struct sender_due due = pop_due(s);
        // From this moment on, the collector may have read the answer.
        log->deliveries[due.delivery].replied_ns = now_ns;
        died = due.answer.reply == REPLY_DIED;
        if (died)
            end_sender(s);
        else if (s->jobs)
            put_job_answer(s, &due, log->deliveries[due.delivery].token);
        else
            put_collector_answer(s, &due);
    }
    flush_replies(s);
    return died;
}

int64_t mock_sender_next_ns(const struct mock_sender *s, enum sender_mood mood)
{
    const int64_t soon_ns = NS_PER_MS; // when to try again to write to a full pipe

    if (s->out.len > 0)
        return clock_now_ns() + soon_ns;
    return mood == SENDER_PAUSES || s->fd < 0 || s->count == 0 ? CLOCK_NEVER : s->heap[0].at_ns;
}
