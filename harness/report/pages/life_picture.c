// Draws one token's life as a picture.
#include "report/life.h"

#include "page.h"
#include "report/escape.h"
#include "report/met.h"
#include "report/pages/template.h"

// The sizes of the picture, in its own units. On a telephone it shrinks to two thirds, and its
// letters must stay legible.
enum { WIDTH = 540, LEFT = 170, RIGHT = 525, ROW_HEIGHT = 30, ROWS_MAX = 24 };
// In a row, from its top: the bar, and the baseline of the name.
enum { BAR_TOP = 7, BAR_HEIGHT = 16, NAME_BASELINE = 19 };
// Below the last row: the axis, with the baselines of its numbers and its caption.
enum { NUMBERS_BASELINE = 16, CAPTION_BASELINE = 36, AXIS_HEIGHT = 44 };

struct picture {
    const struct ledger *l;
    struct met met;
    int64_t from_ns, until_ns;
    int rows;
    struct buf *out;
};

static double x_of(const struct picture *p, int64_t ns)
{
    double share = (double)(ns - p->from_ns) / (double)(p->until_ns - p->from_ns);

    // A time outside the picture is drawn at its edge.
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return LEFT + share * (RIGHT - LEFT);
}

// Begins a row with its name at the left. False when the picture has ROWS_MAX rows already.
static bool begin_row(struct picture *p, const char *name)
{
    if (p->rows == ROWS_MAX)
        return false;
    buf_printf(p->out, "<text class=\"name\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 10,
        p->rows * ROW_HEIGHT + NAME_BASELINE);
    append_escaped(p->out, name);
    buf_append_str(p->out, "</text>\n");
    p->rows++;
    return true;
}

// Draws a bar into the last row, at least 2 units wide. `what` is its tooltip.
static void draw_bar(
    struct picture *p, const char *class, int64_t from_ns, int64_t until_ns, const char *what)
{
    double x = x_of(p, from_ns), width = x_of(p, until_ns) - x;

    buf_printf(p->out,
        "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%.6f to %.6f "
        "s: ",
        class, x, (p->rows - 1) * ROW_HEIGHT + BAR_TOP, width < 2 ? 2 : width, BAR_HEIGHT,
        ledger_seconds(p->l, from_ns), ledger_seconds(p->l, until_ns));
    append_escaped(p->out, what);
    buf_append_str(p->out, "</title></rect>\n");
}

// Draws the row of the insert: three bars that end when the insert was sent, when its COMMIT was
// sent, and when the answer came.
static void draw_insert(struct picture *p, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(p->l, token);
    int64_t begin_ns = ledger_begin_ns(p->l, token);
    // A transaction that never came to its COMMIT ended during the insert.
    int64_t commit_ns = txn->commit_ns ? txn->commit_ns : txn->ended_ns;

    begin_row(p, "insert");
    // The run ended before the insert was sent.
    if (!txn->sent_ns)
        return;
    if (begin_ns < txn->sent_ns)
        draw_bar(p, "lag", begin_ns, txn->sent_ns, "waited for a connection");
    draw_bar(p, "sent", txn->sent_ns, commit_ns, "insert sent");
    draw_bar(p, "commit", commit_ns, txn->ended_ns, life_outcome(p->l, token));
}

// Draws the time from the end of a committed insert to the first delivery, or to the end of the
// drain. Draws nothing for a token that was not committed, or was read before its commit was
// answered.
static void draw_wait(struct picture *p, uint32_t token)
{
    const struct txn_record *txn = ledger_txn(p->l, token);
    int64_t until_ns = clock_min(ledger_read_ns(p->l, token), p->l->drain_end_ns);

    if (!ledger_committed(p->l, token) || txn->ended_ns == 0 || until_ns <= txn->ended_ns)
        return;
    begin_row(p, "in the queue");
    draw_bar(p, ledger_read_ns(p->l, token) == CLOCK_NEVER ? "never" : "wait", txn->ended_ns,
        until_ns,
        ledger_read_ns(p->l, token) == CLOCK_NEVER ? "never delivered" : "until it was read");
}

// Draws into the last row a dot for each delivery of the token by this process.
static void draw_deliveries(struct picture *p, uint32_t token, uint32_t process)
{
    char text[320];

    for (size_t i = 0; i < p->l->log->delivery_count; i++) {
        const struct delivery *d = &p->l->log->deliveries[i];
        const struct line_record *line = &p->l->log->lines[d->line];
        if (d->token != token || line->process != process)
            continue;
        life_delivery(p->l, d, text, sizeof text);
        // A job whose handler was told to fail (DELIVERY_REFUSED) has come in a good line.
        bool good = line->state == LINE_WHOLE && !(d->flags & (DELIVERY_FORGED | DELIVERY_NAMED));
        buf_printf(p->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"6\"><title>%.6f s: ",
            good ? "read" : "torn", x_of(p, line->read_ns),
            (p->rows - 1) * ROW_HEIGHT + BAR_TOP + BAR_HEIGHT / 2,
            ledger_seconds(p->l, line->read_ns));
        append_escaped(p->out, text);
        buf_append_str(p->out, "</title></circle>\n");
    }
}

static bool is_in_picture(const struct picture *p, const struct process_record *process)
{
    return process->started_ns <= p->until_ns && process->ended_ns >= p->from_ns;
}

// Draws a row for each instance, with its processes one after another.
static void draw_processes(struct picture *p, uint32_t token)
{
    const struct subject_log *log = p->l->log;
    char name[64];

    for (int instance = 0; instance < p->l->scenario->collector.instances; instance++) {
        snprintf(name, sizeof name, "collector %d", instance);
        if (!begin_row(p, name))
            return;
        // First all bars, then the dots, which must lie above them.
        for (uint32_t i = 0; i < log->process_count; i++) {
            if (log->processes[i].instance != instance || !is_in_picture(p, &log->processes[i]))
                continue;
            snprintf(name, sizeof name, "pid %d", (int)log->processes[i].pid);
            draw_bar(p, "process", log->processes[i].started_ns,
                clock_min(log->processes[i].ended_ns, p->l->drain_end_ns), name);
        }
        for (uint32_t i = 0; i < log->process_count; i++) {
            if (log->processes[i].instance == instance)
                draw_deliveries(p, token, i);
        }
    }
}

// Draws a row for each verb of the faults that the token met.
static void draw_faults(struct picture *p)
{
    char text[320];

    for (enum verb_id id = 0; id < VERB_COUNT; id++) {
        bool any = false;
        for (size_t i = 0; i < p->l->fault_count; i++) {
            const struct fault_record *f = &p->l->faults[i];
            if (f->spec->verb->id != id || !met_includes(&p->met, f))
                continue;
            if (!any && !begin_row(p, f->spec->verb->name))
                return;
            any = true;
            life_fault(p->l, f, text, sizeof text);
            draw_bar(p, "fault", f->began_ns, f->ended_ns, text);
        }
    }
}

// Draws a few round times, in milliseconds since the token's life began.
static void draw_axis(struct picture *p, uint32_t token)
{
    const int64_t zero_ns = ledger_begin_ns(p->l, token);
    const int64_t rough_ns = (p->until_ns - p->from_ns) / 6 + 1;
    int64_t step_ns = 1000;

    // The steps are 1, 2, 5, 10, 20, 50 … microseconds: each is 2 or 2.5 times the one before.
    for (int i = 0; step_ns < rough_ns; i++)
        step_ns = step_ns * (i % 3 == 1 ? 5 : 2) / (i % 3 == 1 ? 2 : 1);
    int64_t first_tick = (p->from_ns - zero_ns) / step_ns;
    for (int64_t tick = first_tick; zero_ns + tick * step_ns <= p->until_ns; tick++) {
        // The division rounds towards 0, so the first tick may lie left of the picture.
        if (zero_ns + tick * step_ns < p->from_ns)
            continue;
        double x = x_of(p, zero_ns + tick * step_ns);
        buf_printf(p->out,
            "<path class=\"grid\" d=\"M%.1f 0V%d\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%.6g</text>\n",
            x, p->rows * ROW_HEIGHT, x, p->rows * ROW_HEIGHT + NUMBERS_BASELINE,
            (double)(tick * step_ns) / 1e6);
    }
    buf_printf(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ms since the %s</text>\n",
        (LEFT + RIGHT) / 2, p->rows * ROW_HEIGHT + CAPTION_BASELINE,
        ledger_is_closed_loop(p->l, token) ? "insert was sent" : "intended insert");
}

// A life_tell that extends the picture's time to include the event.
static void include_event(const struct ledger *l, int64_t at_ns, const char *what, void *context)
{
    struct picture *p = context;

    (void)l;
    (void)what;
    p->from_ns = clock_min(p->from_ns, at_ns);
    p->until_ns = clock_max(p->until_ns, at_ns);
}

// Draws the picture: a row for the insert, one for the wait in the queue, then the collectors and
// the faults.
static void draw_life(const struct ledger *l, uint32_t token, struct buf *out)
{
    struct picture p = {
        .l = l, .met = met_of(l, token), .from_ns = INT64_MAX, .until_ns = INT64_MIN};
    struct buf rows FREED_BY(buf_fini) = BUF_INIT(1 << 22);

    life_each(l, token, include_event, &p);
    p.until_ns = clock_max(p.until_ns, p.met.until_ns);
    // Some room is left on both sides, so that no event lies at the edge.
    int64_t pad_ns = (p.until_ns - p.from_ns) / 20 + NS_PER_MS / 10;
    p.from_ns -= pad_ns;
    p.until_ns += pad_ns;
    // The rows are drawn before the picture's head, which has to say how high they are.
    p.out = &rows;
    draw_insert(&p, token);
    draw_wait(&p, token);
    draw_processes(&p, token);
    draw_faults(&p);
    buf_printf(out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"The token's life; the times are in "
        "the table\">\n",
        WIDTH, p.rows * ROW_HEIGHT + AXIS_HEIGHT);
    p.out = out;
    draw_axis(&p, token);
    buf_append_str(out, buf_str(&rows) ? rows.data : "");
    buf_append_str(out, "</svg>\n");
}

// Explains the colours that the picture has. `picture` is its SVG text.
static void put_key(const char *picture, struct buf *out)
{
    static const char *const keys[][2] = {{"lag", "waited for a connection"}, {"sent", "insert"},
        {"commit", "COMMIT"}, {"wait", "in the queue"}, {"never", "never delivered"},
        {"read", "read from a collector"}, {"torn", "read, but not a good line"},
        {"process", "a collector's process"}, {"fault", "fault"}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char class[40];
        snprintf(class, sizeof class, "class=\"%s\"", keys[i][0]);
        if (strstr(picture, class))
            buf_printf(out,
                "<span><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"%s\" x=\"1\" "
                "y=\"1\" width=\"10\" height=\"10\"/></svg>%s</span>\n",
                keys[i][0], keys[i][1]);
    }
}

// Puts what became of the token. If it was committed and never delivered, that is said first: the
// verdict tells whether it had to come.
static void put_end(const struct ledger *l, uint32_t token, struct buf *out)
{
    const struct txn_record *txn = ledger_txn(l, token);
    char end[200];
    bool due = token_kind_deliverable(l->plan->kinds[token]) && ledger_committed(l, token) &&
               txn->ended_ns > 0;

    if (due && ledger_read_ns(l, token) == CLOCK_NEVER)
        buf_printf(out, "<p class=\"lost\">Never delivered, though committed at %.3f s.</p>\n",
            ledger_seconds(l, txn->ended_ns));
    life_end(l, token, end, sizeof end);
    buf_append_str(out, "<p class=\"hint\">");
    append_escaped(out, l->scenario->name);
    buf_printf(out, ": at the end %s.</p>", end);
}

static void put_event(const struct ledger *l, int64_t at_ns, const char *what, void *context)
{
    struct buf *out = context;

    buf_printf(out, "<tr><td class=\"n\">%.6f</td><td>", ledger_seconds(l, at_ns));
    append_escaped(out, what);
    buf_append_str(out, "</td></tr>\n");
}

bool life_html(const struct ledger *l, uint32_t token, struct buf *out)
{
    enum { TITLE, END, PICTURE, KEY, EVENTS };
    static const char *const marks[] = {"title", "end", "picture", "key", "events", NULL};
    const char *rest = page_token;
    char name[LEDGER_FULL_NAME_MAX];
    size_t picture = 0;

    ledger_full_name(l, token, name);
    for (int mark; (mark = template_next(out, &rest, marks)) != TEMPLATE_END;) {
        if (mark == TITLE)
            append_escaped(out, name);
        else if (mark == PICTURE) {
            picture = out->len;
            draw_life(l, token, out);
        } else if (mark == KEY)
            // put_key finds in the picture which colours it has to explain.
            put_key(buf_str(out) ? out->data + picture : "", out);
        else if (mark == EVENTS)
            life_each(l, token, put_event, out);
        else
            put_end(l, token, out);
    }
    return buf_str(out);
}
