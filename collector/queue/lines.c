#include "queue/lines.h"

#include "queue/lines_columns.h"
#include "session/column.h"

// An answer to a take or read, which several lines share. Lines that are not built yet point into
// it, and count as its users.
struct shared_answer {
    PGresult *result;
    int users;
};

bool lines_init(struct lines *l, int count, int limit, struct err *e)
{
    *l = (struct lines){.count = count, .limit = limit};
    l->all = calloc((size_t)count, sizeof *l->all);
    if (!l->all)
        return err_memory_for(e, "%d lines", count);
    for (int i = 0; i < count; i++) {
        // The most that one token needs: email and login of 254 characters, each of up to four
        // bytes, the signed text, the code, and the commas.
        buf_init(&l->all[i].text, (size_t)limit * (2 * 4 * 254 + SIGN_TEXT_LEN + 16) + 1);
        buf_init(&l->all[i].place, SIZE_MAX);
    }
    return true;
}

// Ends the line's use of its answer. Frees the answer if no other line uses it.
static void release_answer(struct line *line)
{
    if (line->answer && --line->answer->users == 0) {
        PQclear(line->answer->result);
        free(line->answer);
    }
    line->answer = NULL;
}

void lines_fini(struct lines *l)
{
    for (int i = 0; l->all && i < l->count; i++) {
        release_answer(&l->all[i]);
        free(l->all[i].tokens);
        buf_fini(&l->all[i].text);
        buf_fini(&l->all[i].place);
    }
    free(l->all);
    free(l->rereads);
    *l = (struct lines){0};
}

void lines_drop(struct line *line)
{
    release_answer(line);
    buf_clear(&line->text);
    buf_clear(&line->place);
    // The memory is kept for the next line that gets this place.
    *line = (struct line){
        .text = line->text, .place = line->place, .tokens = line->tokens, .room = line->room};
}

// Returns a free line or, where there is none, of those that are over the one that was taken first.
// NULL: all are in use.
static struct line *find_room(struct lines *l)
{
    struct line *best = NULL;

    for (int i = 0; i < l->count; i++) {
        struct line *a = &l->all[i];
        // A line may be over, and its row in `deliveries` still have tokens that were not in it.
        // Then the line is needed: it alone knows which row must be read again.
        if (a->state != LINE_FREE && (a->state != LINE_OVER || a->has_rest))
            continue;
        // LINE_FREE is less than LINE_OVER, so a free line is better.
        if (!best || a->state < best->state || (a->state == best->state && a->order < best->order))
            best = a;
    }
    return best;
}

// Adds the token in this row to the line. False: there is no memory.
static bool add_token(
    struct line *line, const PGresult *r, int row, const struct doubt *doubt, struct err *e)
{
    if (line->count == line->room) {
        // Room grows with the line. The limit may be 100,000 where most lines have ten tokens.
        int room = line->room > 0 ? 2 * line->room : 16;
        struct line_token *more = realloc(line->tokens, (size_t)room * sizeof *more);
        if (!more)
            return err_memory_for(e, "a line of %d tokens", room);
        line->tokens = more;
        line->room = room;
    }
    struct token t = lines_token(r, row);
    struct line_token *token = &line->tokens[line->count];
    *token = (struct line_token){.id = t.id,
        .row = row,
        .number = column_int32(r, row, LINES_NUMBER),
        .errors = column_int32(r, row, LINES_ERRORS),
        .unsendable = line_unsendable(&t)};
    // The secret outlives the result, which is freed when the line is built: a lost session puts
    // the line in doubt, and a token in doubt is known by its secret. A token whose secret has
    // another length is never sent.
    if (t.secret.len == sizeof token->secret)
        memcpy(token->secret, t.secret.data, sizeof token->secret);
    // A token in doubt is settled with this line, but an earlier session wrote it already.
    token->skipped = token->unsendable || doubt_has(doubt, &t);
    line->count++;
    line->sendable += !token->skipped;
    line->left = line->sendable;
    return true;
}

// Sets an error, because the answer has more than we asked for. Returns false.
static bool unexpected_answer(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "the server's answer to a take is not what was asked for");
}

// Begins the line of which this row is the first token; add_token adds the token. Returns NULL when
// all lines are in use: a function of the schema that somebody replaced, or another server, may
// answer with more than we asked for, and must not make us write past an array.
static struct line *add_taken_line(struct lines *l, const PGresult *r, int row, struct err *e)
{
    struct line *line = find_room(l);

    if (!line) {
        unexpected_answer(e);
        return NULL;
    }
    lines_drop(line);
    line->state = LINE_TAKEN;
    line->n = column_int64(r, row, LINES_LINE);
    line->nonce = column_int64(r, row, LINES_NONCE);
    line->order = ++l->last_order;
    return line;
}

bool lines_add_answer(struct lines *l, PGresult *result, int rows, int64_t asked_ns,
    const struct doubt *doubt, struct err *e)
{
    struct shared_answer *answer = calloc(1, sizeof *answer);
    struct line *line = NULL;
    bool ok = answer != NULL || err_memory(e);

    if (ok)
        // We count as a user, too, so that the result outlives a line that is dropped on the way.
        *answer = (struct shared_answer){.result = result, .users = 1};
    for (int row = 0; ok && row < rows; row++) {
        int kind = column_int32(result, row, LINES_KIND);
        if (!lines_is_token(kind))
            continue;
        // The rows of a line follow each other, and have the same n. Tokens that were only read
        // (mailroom_read) all have n = 0, and make one line.
        if (!line || column_int64(result, row, LINES_LINE) != line->n) {
            line = add_taken_line(l, result, row, e);
            if (!line) {
                ok = false;
                break;
            }
            line->asked_ns = asked_ns;
            line->answer = answer;
            answer->users++;
        }
        ok = line->count < l->limit ? add_token(line, result, row, doubt, e) : unexpected_answer(e);
    }
    if (!answer)
        PQclear(result);
    else // ends our own use, and frees the result if no line uses it
        release_answer(&(struct line){.answer = answer});
    return ok;
}

bool lines_build(struct line *line, struct sign *sign, struct err *e)
{
    buf_clear(&line->text);
    for (int i = 0; i < line->count; i++) {
        struct token t = lines_token(line->answer->result, line->tokens[i].row);
        if (!line->tokens[i].skipped && !line_add(&line->text, sign, &t, e))
            return false;
    }
    if (line->sendable > 0 && !line_end(&line->text, e))
        return false;
    release_answer(line);
    return true;
}

bool lines_add_reread(struct lines *l, int64_t n, int64_t nonce, struct err *e)
{
    int at = l->reread_count;

    for (int i = 0; i < l->count; i++)
        if (l->all[i].state == LINE_OVER && l->all[i].n == n && l->all[i].nonce == nonce)
            l->all[i].has_rest = false; // `rereads` knows the row from now on

    if (l->reread_count == l->reread_room) {
        int room = l->reread_room > 0 ? 2 * l->reread_room : 16;
        struct reread *more = realloc(l->rereads, (size_t)room * sizeof *more);
        if (!more)
            return err_memory_for(e, "%d rows", room);
        l->rereads = more;
        l->reread_room = room;
    }
    // Rows are sorted by n, because they are read again in the order in which they were taken. A
    // row is in the list already if both answers after a lost session name it (in_doubt.h).
    for (; at > 0 && l->rereads[at - 1].n >= n; at--)
        if (l->rereads[at - 1].n == n)
            return true;
    memmove(
        l->rereads + at + 1, l->rereads + at, (size_t)(l->reread_count - at) * sizeof *l->rereads);
    l->rereads[at] = (struct reread){.n = n, .nonce = nonce};
    l->reread_count++;
    return true;
}

bool lines_drop_to_reread(struct lines *l, struct line *line, struct err *e)
{
    int64_t n = line->n, nonce = line->nonce;

    lines_drop(line);
    return n == 0 || lines_add_reread(l, n, nonce, e);
}

void lines_forget_reread(struct lines *l, int64_t n)
{
    int kept = 0;

    for (int i = 0; i < l->reread_count; i++)
        if (l->rereads[i].n != n)
            l->rereads[kept++] = l->rereads[i];
    l->reread_count = kept;
}

void lines_forget_first_rereads(struct lines *l, int count)
{
    assert(count <= l->reread_count);
    l->reread_count -= count;
    memmove(l->rereads, l->rereads + count, (size_t)l->reread_count * sizeof *l->rereads);
}

int lines_in(const struct lines *l, enum line_state state)
{
    int n = 0;

    for (int i = 0; i < l->count; i++)
        n += l->all[i].state == state;
    return n;
}

bool lines_left_rest(const struct lines *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->all[i].state == LINE_OVER && l->all[i].has_rest)
            return true;
    return false;
}

struct line *lines_first(const struct lines *l, enum line_state state)
{
    struct line *first = NULL;

    for (int i = 0; i < l->count; i++) {
        struct line *a = &l->all[i];
        if (a->state == state && (!first || a->order < first->order))
            first = a;
    }
    return first;
}

struct line *lines_newest(const struct lines *l)
{
    struct line *newest = NULL;

    for (int i = 0; i < l->count; i++) {
        struct line *a = &l->all[i];
        if ((a->state == LINE_TAKEN || a->state == LINE_OUT || a->state == LINE_WRITTEN) &&
            (!newest || a->order > newest->order))
            newest = a;
    }
    return newest;
}

bool lines_knows(const struct lines *l, int64_t n, int64_t nonce)
{
    for (int i = 0; i < l->count; i++) {
        const struct line *a = &l->all[i];
        if (a->state != LINE_FREE && a->state != LINE_OVER && a->n == n && a->nonce == nonce)
            return true;
    }
    return false;
}

struct line *lines_find(const struct lines *l, int64_t number)
{
    for (int i = 0; i < l->count; i++) {
        struct line *a = &l->all[i];
        if (a->number == number && (a->state == LINE_OUT || a->state == LINE_OVER))
            return a;
    }
    return NULL;
}

bool lines_alone_out(const struct lines *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->all[i].state == LINE_OUT && l->all[i].alone)
            return true;
    return false;
}

void lines_answer(struct line *line, struct line_token *token)
{
    assert(!token->answered && line->left > 0);
    token->answered = true;
    if (--line->left == 0)
        line->state = LINE_OVER;
}

void lines_forget_numbers(struct lines *l)
{
    for (int i = 0; i < l->count; i++)
        l->all[i].number = 0;
}

static void give_back_buffer(struct buf *b)
{
    size_t max = b->max;

    buf_fini(b);
    buf_init(b, max);
}

void lines_give_back_memory(struct lines *l)
{
    for (int i = 0; i < l->count; i++) {
        struct line *line = &l->all[i];
        if (line->state != LINE_FREE)
            continue;
        give_back_buffer(&line->text);
        give_back_buffer(&line->place);
        free(line->tokens);
        line->tokens = NULL;
        line->room = 0;
    }
}

void lines_validate(const struct lines *l)
{
    for (int i = 0; i < l->count; i++) {
        const struct line *a = &l->all[i];
        (void)a; // unused in a build without assertions
        assert(0 <= a->left && a->left <= a->sendable && a->sendable <= a->count);
        assert(a->state != LINE_FREE || (a->count == 0 && !a->answer));
        assert(a->state != LINE_OVER || a->left == 0);
        assert(!a->settling || a->state == LINE_WRITTEN);
    }
}
