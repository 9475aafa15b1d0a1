#include "subject/reader.h"

#include <stdarg.h>

#include "plan/names.h"

bool reader_init(struct reader *r, const unsigned char *key, size_t token_count, struct err *e)
{
    *r = (struct reader){.decoder = decoder_new(key), .seen_count = token_count};
    // + 1, because calloc may return NULL for no items.
    r->seen_ns = calloc(token_count + 1, sizeof *r->seen_ns);
    if (!r->seen_ns)
        return err_memory_for(e, "%zu tokens", token_count);
    return r->decoder || err_set(e, ERR_INTERNAL, "libcrypto offers no HMAC-SHA256");
}

void subject_log_fini(struct subject_log *log)
{
    free(log->processes);
    free(log->lines);
    free(log->deliveries);
    free(log->samples);
    *log = (struct subject_log){0};
}

void reader_fini(struct reader *r)
{
    subject_log_fini(&r->log);
    free(r->seen_ns);
    decoder_free(r->decoder);
    *r = (struct reader){0};
}

uint32_t reader_add_process(struct reader *r, const struct process_record *process)
{
    struct subject_log *log = &r->log;

    memory_grow(&log->processes, log->process_count, 1, sizeof *process);
    log->processes[log->process_count] = *process;
    return (uint32_t)log->process_count++;
}

void reader_add_sample(struct reader *r, const struct process_sample *sample)
{
    struct subject_log *log = &r->log;

    memory_grow(&log->samples, log->sample_count, 1, sizeof *sample);
    log->samples[log->sample_count++] = *sample;
}

static void add_delivery(struct reader *r, const struct delivery *delivery)
{
    struct subject_log *log = &r->log;

    memory_grow(&log->deliveries, log->delivery_count, 1, sizeof *delivery);
    log->deliveries[log->delivery_count++] = *delivery;
}

static void add_line_record(struct reader *r, const struct line_record *line)
{
    struct subject_log *log = &r->log;

    memory_grow(&log->lines, log->line_count, 1, sizeof *line);
    log->lines[log->line_count++] = *line;
    r->torn += line->state == LINE_TORN;
    // A torn line counts, too, because it shows that the process did some work.
    log->processes[line->process].lines++;
}

// Finds the token that a login or an e-mail address names, and the token's segment. False: it names
// none.
static bool find_named(const char *name, size_t len, uint32_t *token, uint32_t *segment)
{
    const char *at = memchr(name, '@', len);

    return names_token(name, len, token, segment) ||
           (at && names_token(name, (size_t)(at - name), token, segment));
}

// Finds the token that a login or an e-mail address names. False when it names none of the plan
// that is carried out now.
static bool find_planned(const struct reader *r, const char *name, size_t len, uint32_t *token)
{
    uint32_t segment;

    return find_named(name, len, token, &segment) && segment == r->plan.segment;
}

// True when the login names a token of an earlier segment. All tokens of earlier segments are
// settled, so it must not come again; the line gets a note that names it.
static bool note_earlier_token(struct reader *r, const char *login, size_t len, uint32_t line)
{
    uint32_t token, segment;

    if (!find_named(login, len, &token, &segment) || segment >= r->plan.segment)
        return false;
    // The note is left out if the line has one already, because only NOTES_MAX notes are kept.
    if (r->log.note_count == 0 || r->log.notes[r->log.note_count - 1].line != line)
        subject_note(
            &r->log, line, TOKEN_UNKNOWN, NAMES_TOKEN " of segment %" PRIu32, token, segment);
    return true;
}

// Records the tokens that a line which cannot be parsed names. These tokens then count as torn and
// not also as lost.
static void add_named(struct reader *r, const char *line, size_t len)
{
    uint32_t last = TOKEN_UNKNOWN; // the token found last, because an account's address and login
                                   // name the same token

    for (size_t pos = 0; pos < len;) {
        const char *comma = memchr(line + pos, ',', len - pos);
        size_t field = comma ? (size_t)(comma - line) - pos : len - pos;
        // In a broken line a field may stand anywhere, so each field is tried as a name.
        struct delivery named = {.line = (uint32_t)r->log.line_count, .flags = DELIVERY_NAMED};
        bool found = find_planned(r, line + pos, field, &named.token);
        if (found && named.token != last)
            add_delivery(r, &named);
        last = found ? named.token : last;
        pos += field + 1;
    }
}

// Finds the account by the login, or else by the address, and among its tokens the one with the
// code; TOKEN_UNKNOWN: neither names an account. Because of the second try, a token whose fields
// are mixed up counts as forged and not as phantom (a token that nobody planned).
static uint32_t find_token(const struct reader *r, const struct decoded *t)
{
    uint32_t account;

    return find_planned(r, t->login, t->login_len, &account) ||
                   find_planned(r, t->email, t->email_len, &account)
               ? plan_token_with_code(&r->plan, account, t->code, t->code_len)
               : TOKEN_UNKNOWN;
}

// Makes the delivery of a decoded token. Also notes in the log when the token is one of an earlier
// segment.
static struct delivery make_delivery(struct reader *r, const struct decoded *t, uint32_t line)
{
    struct contents c = decode_contents(t);
    bool earlier = note_earlier_token(r, t->login, t->login_len, line);

    return (struct delivery){
        .line = line,
        .token = earlier ? TOKEN_UNKNOWN : find_token(r, t),
        .flags = (t->signature_ok ? 0 : DELIVERY_FORGED) | (earlier ? DELIVERY_EARLIER : 0),
        .marks = decode_marks(&c),
        .fingerprint = decode_fingerprint(&c),
    };
}

// Notes when each token of the line was first read. Only a delivery without flags counts: signed
// well, and of this segment.
static void mark_seen(struct reader *r, const struct line_record *line)
{
    r->tokens += line->tokens;
    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &r->log.deliveries[line->first_delivery + i];
        if (d->flags == 0 && d->token < r->seen_count && !atomic_load(&r->seen_ns[d->token]))
            atomic_store(&r->seen_ns[d->token], line->read_ns);
    }
}

bool reader_is_flooded(const struct reader *r, struct err *e)
{
    uint64_t limit = READER_BEYOND_MAX + (uint64_t)READER_EACH_MAX * r->seen_count;

    // err_set returns false.
    if (r->torn > READER_TORN_MAX)
        return !err_set(e, ERR_OUTPUT,
            "the collector wrote more than %u lines that cannot be parsed", READER_TORN_MAX);
    // Some repeated tokens do not end the run, because the verdict judges them; a flood does.
    if (r->log.line_count + r->log.delivery_count > limit)
        return !err_set(e, ERR_OUTPUT,
            "the collector wrote more than %llu lines and tokens, of which %zu were planned",
            (unsigned long long)limit, r->seen_count);
    return false;
}

void reader_refuse(struct reader *r, uint32_t line)
{
    const struct line_record *l = &r->log.lines[line];

    for (uint32_t i = 0; i < l->tokens; i++) {
        const struct delivery *d = &r->log.deliveries[l->first_delivery + i];
        // A job that fails at each attempt need not succeed, so the harness does not wait for it.
        if ((d->flags & DELIVERY_REFUSED) && d->reply != REPLY_PERMANENT &&
            d->token < r->seen_count)
            atomic_store(&r->seen_ns[d->token], 0);
    }
}

void subject_note(struct subject_log *log, uint32_t line, uint32_t token, const char *fmt, ...)
{
    va_list args;

    if (log->note_count == NOTES_MAX)
        return;
    struct line_note *note = &log->notes[log->note_count++];
    note->line = line;
    note->token = token;
    va_start(args, fmt);
    vsnprintf(note->text, sizeof note->text, fmt, args);
    va_end(args);
}

// Sizes of buffers for printable_text. They hold 40 bytes of a line and 12 of a field: few, because
// a line holds secrets.
enum {
    ESCAPED_SIZE = sizeof "\\xNN",
    SHOWN_LINE_SIZE = 40 + ESCAPED_SIZE,
    SHOWN_FIELD_SIZE = 12 + ESCAPED_SIZE,
};

// Copies bytes of a line as printable ASCII, other bytes as \xNN, and cuts what does not fit.
// Returns `out`.
static const char *printable_text(const char *text, size_t len, char *out, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < len && used + ESCAPED_SIZE < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= ' ' && c < 0x7f)
            out[used++] = (char)c;
        else
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
    }
    out[used] = '\0';
    return out;
}

// Notes why a line is torn: its number of fields is wrong (`wrong` is NULL), or the field that
// `wrong` describes is.
static void note_torn(struct reader *r, const char *text, size_t len, const struct decoded *wrong)
{
    uint32_t line = (uint32_t)r->log.line_count; // the line is added after its notes
    char begins[SHOWN_LINE_SIZE], there[SHOWN_FIELD_SIZE];
    size_t fields = 1;

    printable_text(text, len, begins, sizeof begins);
    for (size_t i = 0; i < len; i++)
        fields += text[i] == ',';
    if (!wrong) {
        subject_note(&r->log, line, TOKEN_UNKNOWN,
            "not a valid line ('%s', %zu %s): its fields are %zu, and not a multiple of %d", begins,
            len, NOUN(len, "byte", "bytes"), fields, DECODE_FIELDS);
        return;
    }
    size_t column = (size_t)(wrong->wrong_at - text);
    printable_text(wrong->wrong_at, len - column, there, sizeof there);
    subject_note(&r->log, line, TOKEN_UNKNOWN,
        "column %zu: '%s' where %s should be %s; begins with '%s'", column + 1, there,
        wrong->wrong_name, wrong->should_be, begins);
}

// Notes which signature is wrong by its place in the line. The bytes of a secret and its signature
// must not be shown.
static void note_forged(struct reader *r, const struct decoded *t, uint32_t token, const char *text)
{
    char login[SHOWN_LINE_SIZE];

    // The column is that of the field after the login: 1 for the comma, 1 because columns begin
    // at 1.
    printable_text(t->login, t->login_len, login, sizeof login);
    subject_note(&r->log, (uint32_t)r->log.line_count, token,
        "the signature after '%s', at column %zu, is not that of this key over %s", login,
        (size_t)(t->login - text) + t->login_len + 2,
        t->action == 1 ? "/activate and the secret" : "/recover, the secret and the code");
}

// Decodes a line and adds its tokens to the log. If one token cannot be decoded, the whole line is
// torn: its other tokens do not count as delivered either, because a sender that reads line by line
// would refuse the line.
static void add_tokens(struct reader *r, const char *text, size_t len, struct line_record *line)
{
    struct decoded token;
    size_t token_count, pos = 0;
    bool fits = decode_shape(text, len, &token_count);

    line->first_delivery = (uint32_t)r->log.delivery_count;
    while (fits && line->tokens < token_count) {
        if (!decode_subject_token(r->decoder, text, len, &pos, &token))
            break;
        struct delivery d = make_delivery(r, &token, (uint32_t)r->log.line_count);
        if (!token.signature_ok)
            note_forged(r, &token, d.token, text);
        add_delivery(r, &d);
        line->tokens++;
    }
    if (fits && line->tokens == token_count) {
        mark_seen(r, line);
        return;
    }
    note_torn(r, text, len, fits ? &token : NULL);
    // Take back the tokens that were added before the wrong one.
    r->log.delivery_count = line->first_delivery;
    line->tokens = 0;
    line->state = LINE_TORN;
    add_named(r, text, len);
}

// Adds the delivery of a line such as "got 42 1": job 42 was delivered, at its first attempt. A job
// has no fields of its own, so the delivery gets the fields that run/sql/facade.sql gives to every
// job.
static void add_job(struct reader *r, const char *text, size_t len, struct line_record *line)
{
    struct decoded job = {.action = 1, .email = "", .login = "", .code = "", .signature_ok = true};
    char login[NAMES_MAX], copy[48], shown[SHOWN_LINE_SIZE];
    unsigned number, attempt; // attempt is not used: the mock sender counts them itself
    int end = 0;

    line->first_delivery = (uint32_t)r->log.delivery_count;
    snprintf(copy, sizeof copy, "%.*s", (int)(len < sizeof copy ? len : sizeof copy - 1), text);
    // Nine digits always fit into an unsigned. %n: nothing may follow the second number.
    if (len >= sizeof copy || sscanf(copy, "got %9u %9u%n", &number, &attempt, &end) != 2 ||
        copy[end]) {
        subject_note(&r->log, (uint32_t)r->log.line_count, TOKEN_UNKNOWN,
            "'%s' is neither 'got N ATTEMPT' nor 'done N'",
            printable_text(text, len, shown, sizeof shown));
        line->state = LINE_TORN;
        return;
    }
    job.login = login;
    job.login_len = names_login(login, number);
    struct delivery d = make_delivery(r, &job, (uint32_t)r->log.line_count);
    add_delivery(r, &d);
    line->tokens = 1;
    mark_seen(r, line);
}

// True for a consumer's line "done N", which is not a delivery.
static bool is_completion(const struct reader *r, const char *text, size_t len)
{
    return r->jobs && len > 5 && memcmp(text, "done ", 5) == 0;
}

void reader_lines(
    struct reader *r, struct buf *pending, uint32_t process, const struct reading *reading)
{
    size_t used = 0;

    while (used < pending->len) {
        const char *text = pending->data + used;
        const char *end = memchr(text, '\n', pending->len - used);
        if (!end)
            break;
        size_t len = (size_t)(end - text);
        used += len + 1;
        struct line_record line = {.read_ns = reading->read_ns,
            .empty_ns = reading->empty_ns,
            // If the whole line was already in the pipe when the process got a signal that ends it,
            // the line was written before the signal.
            .seen_ns = used <= reading->seen_bytes ? clock_min(reading->seen_ns, reading->read_ns)
                                                   : reading->read_ns,
            .process = process,
            .state = LINE_WHOLE};
        if (is_completion(r, text, len))
            continue;
        (r->jobs ? add_job : add_tokens)(r, text, len, &line);
        add_line_record(r, &line);
    }
    buf_consume(pending, used);
}

// Notes how an unfinished last line begins.
static void note_tail(struct reader *r, const char *text, size_t len)
{
    char begins[SHOWN_LINE_SIZE];

    subject_note(&r->log, (uint32_t)r->log.line_count, TOKEN_UNKNOWN,
        "%zu %s without a newline at the end of its output; begins with '%s'", len,
        NOUN(len, "byte", "bytes"), printable_text(text, len, begins, sizeof begins));
}

void reader_tail(
    struct reader *r, struct buf *pending, uint32_t process, const struct reading *reading)
{
    const struct process_record *p = &r->log.processes[process];
    // An unfinished line is excused if the process was told to end and did not exit with 0: exit
    // code 0 says that it finished its line, and 75 that it had no time for that.
    bool excused = p->asked && p->status != 0;
    struct line_record line = {
        .read_ns = reading->read_ns,
        .empty_ns = reading->empty_ns,
        .seen_ns = reading->read_ns,
        .process = process,
        .first_delivery = (uint32_t)r->log.delivery_count,
        .state = excused ? LINE_TAIL : LINE_TORN,
    };

    if (pending->len == 0)
        return;
    if (!excused) {
        note_tail(r, pending->data, pending->len);
        add_named(r, pending->data, pending->len);
    }
    add_line_record(r, &line);
    buf_clear(pending);
}
