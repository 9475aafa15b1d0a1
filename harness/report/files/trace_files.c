// Writes a run as a trace: the stages of each delivered token that has them (stages_measurable),
// each process, each fault. The spans come in two formats: Chrome's JSON for Perfetto, OTLP's JSON
// for OpenTelemetry.
#include "base/utf8.h"
#include "report/report.h"

// Viewers cannot handle traces of more tokens than this. A longer run shows every n-th token.
#define TOKENS_MAX 20000

// An activity with a beginning and an end, on the run's clock.
struct span {
    uint64_t track;  // the same for the spans of a token; each process and each fault has its own
    unsigned number; // number within its track, from 1
    unsigned parent; // number of its parent span; 0: it has none
    const char *family; // such as "token", "fault", "process"
    const char *name;
    char detail[160];
    int64_t from_ns, until_ns;
};

// What a format does for each span: `begin` is called before the spans inside of it, and `end`
// after them (NULL: nothing is done then).
struct sink {
    void (*begin)(struct sink *, const struct report *, const struct span *);
    void (*end)(struct sink *, const struct span *);
    struct buf *out;
    int64_t origin_ns; // the time on the run's clock from which the file's times count
};

static void end_span(struct sink *to, const struct span *s)
{
    if (to->end)
        to->end(to, s);
}

static void emit_span(struct sink *to, const struct report *r, const struct span *s)
{
    to->begin(to, r, s);
    end_span(to, s);
}

// The tracks of faults and processes begin above those of all tokens, which are token + 1.
#define TRACK_FAULT (UINT64_C(1) << 40)
#define TRACK_PROCESS (UINT64_C(2) << 40)

// Emits the span of a token, from its intended insert until it was read, and in it a span for each
// stage. `fire_ns`: when the batch of its first delivery fired.
static void emit_stages(const struct report *r, uint32_t token, int64_t fire_ns, struct sink *to)
{
    const struct ledger *l = r->ledger;
    const struct stage_times t = stages_of(l, token, fire_ns);
    struct span whole = {.track = token + 1,
        .number = 1,
        .family = "token",
        .name = "token",
        .from_ns = ledger_intended_ns(l, token),
        .until_ns = ledger_read_ns(l, token)};
    const struct {
        const char *name;
        int64_t took_ns;
    } stages[] = {{"schedule lag", t.lag_ns}, {"insert and commit", t.insert_ns},
        {"wait in batch", t.wait_ns}, {"dequeue and write", t.dequeue_ns}};
    // The stages follow each other without gaps, so each begins where the one before ended.
    int64_t at_ns = whole.from_ns;

    snprintf(whole.detail, sizeof whole.detail, "t%07u", token);
    to->begin(to, r, &whole);
    for (unsigned i = 0; i < sizeof stages / sizeof *stages; i++) {
        struct span s = {.track = whole.track,
            .number = i + 2,
            .parent = 1,
            .family = "token",
            .name = stages[i].name,
            .from_ns = at_ns,
            .until_ns = at_ns + stages[i].took_ns};
        emit_span(to, r, &s);
        at_ns = s.until_ns;
    }
    end_span(to, &whole);
}

// Emits the tokens whose stages can be measured; of a long run only every `step`-th token.
static void emit_tokens(const struct report *r, struct sink *to)
{
    const struct ledger *l = r->ledger;
    const uint32_t step = (uint32_t)(l->plan->token_count / TOKENS_MAX) + 1;

    for (uint32_t token = 0; token < l->plan->token_count; token += step) {
        enum fired_by ignored;
        if (!stages_measurable(l, token))
            continue;
        emit_stages(
            r, token, stages_fire_ns(l, &l->log->lines[l->tokens[token].first_line], &ignored), to);
    }
}

static void emit_faults(const struct report *r, struct sink *to)
{
    for (size_t i = 0; i < r->ledger->fault_count; i++) {
        const struct fault_record *f = &r->ledger->faults[i];
        struct span s = {.track = TRACK_FAULT + i,
            .number = 1,
            .family = "fault",
            .name = f->spec->verb->name,
            .from_ns = f->began_ns,
            .until_ns = f->ended_ns};
        if (f->began_ns == 0)
            continue;
        snprintf(s.detail, sizeof s.detail, "%s", f->evidence);
        utf8_mend(s.detail);
        emit_span(to, r, &s);
    }
}

static void emit_processes(const struct report *r, struct sink *to)
{
    for (size_t i = 0; i < r->ledger->log->process_count; i++) {
        const struct process_record *p = &r->ledger->log->processes[i];
        struct span s = {.track = TRACK_PROCESS + i,
            .number = 1,
            .family = "process",
            .name = "collector",
            .from_ns = p->started_ns,
            .until_ns = p->ended_ns};
        if (s.until_ns == CLOCK_NEVER)
            s.until_ns = r->ledger->drain_end_ns;
        snprintf(s.detail, sizeof s.detail, "instance %d, pid %d, %u %s", p->instance, (int)p->pid,
            p->lines, NOUN(p->lines, "line", "lines"));
        emit_span(to, r, &s);
    }
}

static void emit_all(const struct report *r, struct sink *to)
{
    emit_processes(r, to);
    emit_faults(r, to);
    emit_tokens(r, to);
}

// --- text inside JSON ---------------------------------------------------------------

static void append_json_string(struct buf *out, const char *text)
{
    buf_append_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            buf_printf(out, "\\u%04x", *text);
        else
            buf_append_char(out, *text);
    }
    buf_append_char(out, '"');
}

// --- Chrome ---------------------------------------------------------------------------

// Finds the beginning of the first span, from which the times in the file count. They cannot count
// from the start of the load: collectors start before it, and Perfetto drops what happened before
// 0.
static void find_origin(struct sink *to, const struct report *r, const struct span *s)
{
    (void)r;
    to->origin_ns = clock_min(to->origin_ns, s->from_ns);
}

// Appends the beginning of an event's object. The phase 'b' begins a slice, 'e' ends it.
static void append_chrome(struct sink *to, const struct span *s, char phase, int64_t at_ns)
{
    buf_printf(to->out,
        ",\n{\"ph\":\"%c\",\"cat\":\"%s\",\"id\":\"0x%" PRIx64 "\",\"pid\":1,\"tid\":1,"
        "\"ts\":%.3f,\"name\":",
        phase, s->family, s->track, (double)(at_ns - to->origin_ns) / 1e3);
    append_json_string(to->out, s->name);
}

// Writes a span as an asynchronous slice. Slices of one track share an id and nest by their times,
// which are in microseconds. Slices with equal times nest by the order in the file.
static void begin_chrome(struct sink *to, const struct report *r, const struct span *s)
{
    (void)r;
    append_chrome(to, s, 'b', s->from_ns);
    if (*s->detail) {
        buf_append_str(to->out, ",\"args\":{\"detail\":");
        append_json_string(to->out, s->detail);
        buf_append_char(to->out, '}');
    }
    buf_append_char(to->out, '}');
}

static void end_chrome(struct sink *to, const struct span *s)
{
    append_chrome(to, s, 'e', s->until_ns);
    buf_append_char(to->out, '}');
}

bool report_trace_chrome(const struct report *r, struct buf *out, struct err *e)
{
    struct sink origin = {.begin = find_origin, .origin_ns = CLOCK_NEVER};

    buf_append_str(out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"scenario\":");
    append_json_string(out, r->scenario->name);
    buf_append_str(out, ",\"verdict\":");
    append_json_string(out, verdict_name(r->result->verdict));
    buf_append_str(out,
        "},\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"mailproof\"}}");
    // The first pass writes nothing, and only finds the origin.
    emit_all(r, &origin);
    struct sink to = {begin_chrome, end_chrome, out, origin.origin_ns};
    emit_all(r, &to);
    return buf_append_str(out, "\n]}\n") || err_set(e, ERR_INTERNAL, "the trace is too long");
}

// --- OTLP -----------------------------------------------------------------------------

// Writes a span. Its ids are made of the run's seed, the track and the number. Track and
// number are never 0, because the format forbids ids of all zeros. Its times are nanoseconds since
// 1970 by the server's clock. All of them may be up to a second early, because the ledger has the
// time at which the load began in whole seconds.
static void emit_otlp(struct sink *to, const struct report *r, const struct span *s)
{
    struct buf *out = to->out;
    uint32_t track_id = (uint32_t)(s->track ^ s->track >> 32);

    // The first span, which follows the list's bracket, has no comma before it.
    buf_printf(out,
        "%s{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%08" PRIx32 "%08x\"",
        out->data[out->len - 1] == '[' ? "\n" : ",\n", (uint64_t)r->scenario->seed, s->track,
        track_id, s->number);
    if (s->parent)
        buf_printf(out, ",\"parentSpanId\":\"%08" PRIx32 "%08x\"", track_id, s->parent);
    buf_printf(out,
        ",\"kind\":1,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64
        "\",\"name\":",
        s->from_ns - to->origin_ns, s->until_ns - to->origin_ns);
    append_json_string(out, s->name);
    if (*s->detail) {
        buf_append_str(out, ",\"attributes\":[{\"key\":\"detail\",\"value\":{\"stringValue\":");
        append_json_string(out, s->detail);
        buf_append_str(out, "}}]");
    }
    buf_append_char(out, '}');
}

bool report_trace_otlp(const struct report *r, struct buf *out, struct err *e)
{
    struct sink to = {.begin = emit_otlp,
        .out = out,
        .origin_ns = r->ledger->start_ns - r->ledger->server_epoch_s * NS_PER_S};

    buf_append_str(out,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
        "\"value\":{\"stringValue\":\"mailproof\"}},{\"key\":\"scenario\",\"value\":{"
        "\"stringValue\":");
    append_json_string(out, r->scenario->name);
    buf_append_str(out, "}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"mailproof\"},\"spans\":[");
    // emit_otlp looks at the last byte of `out`, so there must be one.
    if (!out->failed)
        emit_all(r, &to);
    return buf_append_str(out, "\n]}]}]}\n") || err_set(e, ERR_INTERNAL, "the trace is too long");
}
