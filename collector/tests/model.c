// The state of a server and of two collectors as one struct of bytes, the steps that change it, and
// the search that tries them in all orders.
//
// It is one file because a step is only right together with all others: each one reads the whole
// state, the judges look at it after each, and the search copies and hashes it as bytes. The state
// is nobody else's; only the rules and what was found have a header.
#include "model.h"

#include "base/base.h"

enum { TOKENS = 3, COLLECTORS = 2, ROWS = 6, PAST = 2, HAND = 2, NOBODY = 0 };

// A row of `deliveries`. `key` is the random number beside its number `n`.
struct row {
    uint8_t n, key, owner, token, paid;
};

// The state of the server. A crash puts an earlier one back.
struct database {
    uint8_t cursor, next_n, bucket, epoch, rows;
    struct row row[ROWS];
};

enum line_state { FREE, TAKEN, WRITTEN, DOUBT };

struct line {
    uint8_t state, n, key, token, paid, lazy;
};

struct collector {
    uint8_t number; // a new one for each process
    uint8_t epoch;
    bool connected;
    bool overtaken; // another took its rows, and it does not know
    struct line hand[HAND];
};

struct state {
    struct database now, past[PAST]; // past: the states that a crash may bring back
    uint8_t pasts;
    struct collector c[COLLECTORS];
    uint8_t numbers, keys; // the last ones given
    uint8_t tick, written_now;
    uint8_t consumed; // tokens that their users have consumed: a bit each
    uint8_t written[TOKENS], allowed[TOKENS];
    uint8_t crashes, deaths, losses, stops, ticks; // how many events of a kind there were
};

struct search {
    const struct model_rules *rules;
    struct model_found *found;
    uint64_t *seen; // a hash of each state, with the number of events that were to go (see known)
    size_t mask, used;
    const char *events[32];
    uint8_t who[32];
};

// --- the database ---------------------------------------------------------------

// Ends a transaction that began in the state `before`. Without a flush (lazily) a crash may bring
// that state back.
static void commit(struct state *s, const struct database *before, bool lazily)
{
    if (!lazily) {
        s->pasts = 0; // a flush takes all earlier commits with it
        return;
    }
    if (s->pasts == PAST)
        memmove(s->past, s->past + 1, sizeof s->past[0] * --s->pasts);
    s->past[s->pasts++] = *before;
}

// Returns the row of this line, if `owner` has it; else NULL.
static struct row *find(
    struct database *d, const struct model_rules *r, const struct line *l, uint8_t owner)
{
    for (int i = 0; i < d->rows; i++)
        if (d->row[i].n == l->n && d->row[i].owner == owner &&
            (r->without == RULE_KEY || d->row[i].key == l->key))
            return &d->row[i];
    return NULL;
}

static void delete_row(struct database *d, struct row *row)
{
    size_t after = (size_t)(d->row + d->rows - row - 1);

    memmove(row, row + 1, after * sizeof *row);
    d->row[--d->rows] = (struct row){0};
}

// True while the token is to be written: it is beyond the cursor, or in a row.
static bool waits(const struct database *d, uint8_t token)
{
    for (int i = 0; i < d->rows; i++)
        if (d->row[i].token == token)
            return true;
    return token >= d->cursor;
}

// --- judges ---------------------------------------------------------------------

static bool consumed(const struct state *s, int token)
{
    return s->consumed & 1U << token;
}

// Returns the promise that this state breaks; NULL: none. A token that waits no more was written,
// or consumed by its user. No token is written twice, unless an event has allowed that.
static const char *judge(const struct state *s)
{
    for (int t = 0; t < TOKENS; t++) {
        if (!waits(&s->now, (uint8_t)t) && s->written[t] == 0 && !consumed(s, t))
            return "lost";
        if (s->written[t] > 1 + s->allowed[t])
            return "twice";
    }
    return NULL;
}

// --- what a collector does --------------------------------------------------------

static struct line *first_in(struct collector *c, enum line_state state)
{
    for (int i = 0; i < HAND; i++)
        if (c->hand[i].state == state)
            return &c->hand[i];
    return NULL;
}

// Drops a line. The others stay in the order in which they were taken.
static void drop(struct collector *c, struct line *l)
{
    memmove(l, l + 1, (size_t)(c->hand + HAND - l - 1) * sizeof *l);
    c->hand[HAND - 1] = (struct line){0};
}

static bool in_hand(const struct collector *c, const struct row *r)
{
    for (int i = 0; i < HAND; i++)
        if (c->hand[i].state != FREE && !c->hand[i].lazy && c->hand[i].n == r->n &&
            c->hand[i].key == r->key)
            return true;
    return false;
}

static void disconnect(struct collector *c)
{
    c->connected = c->overtaken = false;
    while (first_in(c, TAKEN)) // what was not begun is read again, by whoever has it then
        drop(c, first_in(c, TAKEN));
}

// Puts a row into a free place of `hand`. A token whose line is out already needs no second line.
static void hold(struct collector *c, const struct row *r, bool lazy)
{
    struct line l = {
        .state = TAKEN, .n = r->n, .key = r->key, .token = r->token, .paid = r->paid, .lazy = lazy};

    for (int i = 0; i < HAND; i++)
        if (c->hand[i].state == DOUBT && c->hand[i].token == r->token) {
            l.state = WRITTEN;
            c->hand[i] = l;
            return;
        }
    *first_in(c, FREE) = l;
}

// Pays for a row, which is good for one step of the clock. False: the budget is spent.
static bool pay(struct state *s, const struct model_rules *rules, struct row *row)
{
    if (!rules->budget || row->paid == s->tick || (rules->without == RULE_PAID && row->paid > 0))
        return true;
    if (s->now.bucket == 0)
        return false;
    s->now.bucket--;
    row->paid = s->tick;
    return true;
}

// Returns a row to take again: first one that is ours and not in hand, then one of nobody's.
static struct row *leftover(struct database *d, const struct collector *c)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < d->rows; i++)
            if (d->row[i].owner == (pass == 0 ? c->number : NOBODY) && !in_hand(c, &d->row[i]))
                return &d->row[i];
    return NULL;
}

// Takes over a row that is left, or makes one for the token at the cursor. NULL: there is none.
static struct row *next_row(struct state *s, struct collector *c)
{
    struct database *d = &s->now;
    struct row *row = leftover(d, c);

    if (row) {
        row->owner = c->number;
        return row;
    }
    while (d->cursor < TOKENS && consumed(s, d->cursor))
        d->cursor++;
    if (d->cursor == TOKENS || d->rows == ROWS)
        return NULL;
    row = &d->row[d->rows++];
    *row =
        (struct row){.n = ++d->next_n, .key = ++s->keys, .owner = c->number, .token = d->cursor++};
    return row;
}

// True while a line was read and not taken. Until it is settled, anybody may take its token.
static bool has_lazy(const struct collector *c)
{
    for (int i = 0; i < HAND; i++)
        if (c->hand[i].lazy && c->hand[i].state != DOUBT)
            return true;
    return false;
}

// Takes as many lines as there is room for, or one with a budget. Returns whether it took any.
static bool take(struct state *s, const struct model_rules *rules, struct collector *c)
{
    const struct database before = s->now;
    bool any = false;

    if (!c->connected || (rules->exclusive && c->epoch != s->now.epoch) ||
        (rules->budget && first_in(c, TAKEN)) || has_lazy(c))
        return false;
    for (int lines = rules->budget ? 1 : HAND; lines > 0 && first_in(c, FREE); lines--) {
        const struct database unpaid = s->now;
        struct row *row = next_row(s, c);
        if (!row || !pay(s, rules, row)) {
            s->now = unpaid;
            break;
        }
        hold(c, row, false);
        any = true;
    }
    // Only one who has the queue alone may take asynchronously, and never what the budget pays.
    commit(s, &before, rules->async);
    return any;
}

// Reads the next token without taking it. The line's settle takes it.
static bool take_lazily(struct state *s, struct collector *c)
{
    if (!c->connected || c->epoch != s->now.epoch || leftover(&s->now, c))
        return false;
    for (int i = 0; i < HAND; i++)
        if (c->hand[i].state == TAKEN || c->hand[i].state == WRITTEN)
            return false;
    uint8_t token = s->now.cursor;
    while (token < TOKENS && consumed(s, token))
        token++;
    if (token == TOKENS || !first_in(c, FREE))
        return false;
    hold(c, &(struct row){.token = token}, true);
    return true;
}

// Writes the first line that was taken. Returns the promise that this breaks; NULL: none.
static const char *write_line(struct state *s, const struct model_rules *rules, struct collector *c)
{
    struct line *l = first_in(c, TAKEN);
    bool late = c->overtaken;

    if (rules->budget && rules->without != RULE_PAID && l->paid != s->tick) {
        drop(c, l); // the payment is too old: the next take pays again
        return NULL;
    }
    for (int t = 0; t < l->token; t++)
        if (rules->exclusive && !late && s->written[t] == 0 && !consumed(s, t))
            return "order";
    if (rules->budget && !late && ++s->written_now > 1)
        return "budget";
    // One that hung may still write the line that it was about to write, and none after it.
    if (late)
        s->allowed[l->token]++;
    s->written[l->token]++;
    l->state = WRITTEN;
    return NULL;
}

// Settles a line. Returns false if the line was not ours any more.
static bool settle(
    struct state *s, const struct model_rules *rules, struct collector *c, const struct line *l)
{
    const struct database before = s->now;

    if (rules->exclusive && c->epoch != s->now.epoch)
        return false;
    if (l->lazy) {
        if (s->now.cursor > l->token)
            return false;
        s->now.cursor = (uint8_t)(l->token + 1);
    } else {
        struct row *row = find(&s->now, rules, l, c->number);
        if (!row)
            return false;
        delete_row(&s->now, row);
    }
    commit(s, &before, false);
    return true;
}

// Gives a row to an owner. The earlier owner may have written the line, so its payment does not
// count for the new one.
static void give(struct row *row, uint8_t owner)
{
    if (row->owner != owner)
        row->paid = row->paid > 0 ? UINT8_MAX : 0;
    row->owner = owner;
}

// Makes all rows of `owner` those of the collector, which takes that owner for dead.
static void adopt(struct state *s, struct collector *c, uint8_t owner)
{
    for (int i = 0; i < COLLECTORS; i++) {
        struct collector *other = &s->c[i];
        if (other == c || other->number != owner)
            continue;
        other->overtaken = other->connected;
        for (int k = 0; k < HAND; k++) // its line is out, and may go out once more
            if (other->hand[k].state == WRITTEN || other->hand[k].state == DOUBT)
                s->allowed[other->hand[k].token]++;
    }
    for (int i = 0; i < s->now.rows; i++)
        if (s->now.row[i].owner == owner)
            give(&s->now.row[i], c->number);
}

static bool others_row(const struct state *s, const struct collector *c)
{
    for (int i = 0; i < s->now.rows; i++)
        if (s->now.row[i].owner != c->number && s->now.row[i].owner != NOBODY)
            return true;
    return false;
}

// Asks which lines in doubt are still rows of ours, and which tokens still wait.
static void ask_doubt(struct state *s, const struct model_rules *rules, struct collector *c)
{
    for (int i = HAND - 1; i >= 0; i--) {
        struct line *l = &c->hand[i];
        if (l->state != WRITTEN && l->state != DOUBT)
            continue;
        if (!l->lazy && l->state == WRITTEN && find(&s->now, rules, l, c->number))
            continue;
        l->state = DOUBT;
        if (rules->without == RULE_DOUBT || !waits(&s->now, l->token))
            drop(c, l);
    }
}

// Opens a session. Where one collector works at a time, it claims the queue and all rows.
static void connect(struct state *s, const struct model_rules *rules, struct collector *c)
{
    const struct database before = s->now;

    c->connected = true;
    if (rules->exclusive) {
        c->epoch = ++s->now.epoch;
        for (int i = 0; i < COLLECTORS; i++)
            if (&s->c[i] != c && rules->without != RULE_CLAIM)
                adopt(s, c, s->c[i].number);
        for (int i = 0; i < s->now.rows && rules->without != RULE_CLAIM; i++)
            give(&s->now.row[i], c->number);
        commit(s, &before, false);
    }
    // With answers a line waits for its answer, and the answer is given whatever the database says.
    if (!rules->answers)
        ask_doubt(s, rules, c);
}

// --- events -----------------------------------------------------------------------

enum event {
    CONNECT,
    TAKE,
    TAKE_LOST, // it was committed, and its answer is lost with the session
    LAZY,
    WRITE,
    SETTLE,
    SETTLE_LOST,
    DROP, // what was taken and not begun is too old, and is read again
    LOSE,
    DIE,
    STOP, // TERM: gives back what was not begun
    ADOPT,
    CRASH, // the newest takes that were not flushed are lost
    CRASH_KEEPS,
    TICK,
    CONSUME,
    EVENTS
};

static const char *const names[] = {"connect", "take", "take (answer lost)", "take lazily", "write",
    "settle", "settle (answer lost)", "drop what was taken", "lose the session", "die", "stop",
    "adopt", "crash, takes lost", "crash", "clock", "consume"};

static void new_process(struct state *s, struct collector *c)
{
    *c = (struct collector){.number = ++s->numbers};
}

static bool can_write(const struct state *s, const struct model_rules *rules, struct collector *c)
{
    (void)s;
    return c->connected && first_in(c, TAKEN) && (rules->answers || (!first_in(c, WRITTEN)));
}

// Lets the first written line be settled. If not `answered`, the answer is lost with the session.
static bool settle_event(
    struct state *s, const struct model_rules *rules, struct collector *c, bool answered)
{
    struct line *l = first_in(c, WRITTEN);

    if (!c->connected || !l)
        return false;
    bool ours = settle(s, rules, c, l);
    if (!answered) {
        disconnect(c);
        return true;
    }
    drop(c, l);
    if (!ours && (c->overtaken || rules->exclusive))
        disconnect(c);
    return true;
}

static bool stop(struct state *s, struct collector *c)
{
    if (!c->connected || s->stops > 0 || first_in(c, WRITTEN) || first_in(c, DOUBT))
        return false;
    const struct database before = s->now;
    for (int i = 0; i < s->now.rows; i++)
        if (s->now.row[i].owner == c->number)
            s->now.row[i].owner = NOBODY;
    commit(s, &before, false);
    s->stops++;
    new_process(s, c);
    return true;
}

// Lets the server crash, once. It goes back to past[to]; if `to` is the number of these states, it
// loses nothing. A sender does not notice a crash, so that with answers a line whose row is lost
// goes out once more.
static bool crash(struct state *s, const struct model_rules *rules, int to)
{
    if (s->crashes > 0 || to > s->pasts || to < 0)
        return false;
    if (to < s->pasts)
        s->now = s->past[to];
    s->pasts = 0;
    s->crashes++;
    for (int i = 0; i < COLLECTORS; i++) {
        disconnect(&s->c[i]);
        for (int k = 0; rules->answers && k < HAND; k++) {
            struct line *l = &s->c[i].hand[k];
            if (l->state == WRITTEN && !find(&s->now, rules, l, s->c[i].number))
                s->allowed[l->token]++;
        }
    }
    return true;
}

static bool adopt_event(struct state *s, const struct model_rules *rules, struct collector *c)
{
    const struct database before = s->now;

    if (!c->connected || c->overtaken || !others_row(s, c) ||
        (rules->exclusive && (rules->without != RULE_CLAIM || c->epoch != s->now.epoch)))
        return false;
    // The newest owner comes first, as its number may: the numbers are drawn at random.
    for (int i = s->now.rows - 1; i >= 0; i--) {
        uint8_t owner = s->now.row[i].owner;
        if (owner == c->number || owner == NOBODY)
            continue;
        if (rules->without == RULE_CLAIM) {
            give(&s->now.row[i], c->number);
        } else {
            adopt(s, c, owner);
        }
        break;
    }
    commit(s, &before, false);
    return true;
}

// Lets an event happen. Returns false if it cannot happen here. *broken: the promise that it broke.
static bool happen(struct state *s, const struct model_rules *rules, enum event event, int who,
    const char **broken)
{
    struct collector *c = &s->c[who];

    switch (event) {
    case CONNECT:
        if (c->connected)
            return false;
        connect(s, rules, c);
        return true;
    case TAKE:
        return take(s, rules, c);
    case TAKE_LOST:
        if (!take(s, rules, c))
            return false;
        disconnect(c);
        return true;
    case LAZY:
        return rules->lazy && take_lazily(s, c);
    case WRITE:
        if (!can_write(s, rules, c))
            return false;
        *broken = write_line(s, rules, c);
        return true;
    case SETTLE:
    case SETTLE_LOST:
        return settle_event(s, rules, c, event == SETTLE);
    case DROP:
        if (!c->connected || !first_in(c, TAKEN))
            return false;
        while (first_in(c, TAKEN))
            drop(c, first_in(c, TAKEN));
        return true;
    case LOSE:
        if (!c->connected || s->losses > 0)
            return false;
        s->losses++;
        disconnect(c);
        return true;
    case DIE:
        if (s->deaths == 2 || !c->number)
            return false;
        s->deaths++;
        for (int i = 0; i < HAND; i++)
            if (c->hand[i].state == WRITTEN || c->hand[i].state == DOUBT)
                s->allowed[c->hand[i].token]++;
        new_process(s, c);
        return true;
    case STOP:
        return stop(s, c);
    case ADOPT:
        return adopt_event(s, rules, c);
    case CRASH:
    case CRASH_KEEPS:
        // Without a loss, or with the loss of the newest take, or of all that were not flushed.
        return event == CRASH ? s->pasts > 0 && crash(s, rules, who == 0 ? 0 : s->pasts - 1)
                              : who == 0 && crash(s, rules, s->pasts);
    case TICK:
        if (who != 0 || !rules->budget || s->ticks == 2)
            return false;
        s->ticks++;
        s->tick++;
        s->now.bucket = 1;
        for (int i = 0; i < s->pasts; i++)
            s->past[i].bucket = 1;
        s->written_now = 0;
        return true;
    default:
        if (who != 0 || s->consumed)
            return false;
        s->consumed = 1;
        return true;
    }
}

// --- the search -------------------------------------------------------------------

static uint64_t hash(const struct state *s)
{
    const unsigned char *bytes = (const unsigned char *)s;
    uint64_t h = 14695981039346656037ULL, word = 0; // FNV-1a by words, and a mix after each

    for (size_t i = 0; i < sizeof *s; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof *s - i < sizeof word ? sizeof *s - i : sizeof word);
        h = (h ^ word) * 1099511628211ULL;
        h ^= h >> 29;
    }
    return h * 0xbf58476d1ce4e5b9ULL;
}

// Returns true if the search was in this state before with at least as many events to go; else
// notes the state. An entry of `seen` is a hash; its lower 4 bits are how many events were to go.
static bool known(struct search *x, const struct state *s, int left)
{
    uint64_t h = hash(s) & ~UINT64_C(15);

    for (size_t i = (size_t)(h >> 20) & x->mask;; i = (i + 1) & x->mask) {
        if (x->seen[i] != 0 && (x->seen[i] & ~UINT64_C(15)) != h)
            continue;
        if ((x->seen[i] & 15) >= (uint64_t)left && x->seen[i] != 0)
            return true;
        x->used += x->seen[i] == 0;
        x->seen[i] = h | (uint64_t)left;
        if (x->used > x->mask / 4 * 3)
            abort(); // the table is too small for this depth
        return false;
    }
}

// Notes the broken promise, and the events that lead to it.
static void tell(struct search *x, const char *broken, int depth)
{
    size_t len = 0;

    x->found->broken = broken;
    for (int i = 0; i <= depth && len < sizeof x->found->schedule; i++)
        len += (size_t)snprintf(x->found->schedule + len, sizeof x->found->schedule - len,
            "%s%c %s", i > 0 ? ", " : "", 'A' + x->who[i], x->events[i]);
}

// Tries each event in this state, and goes on from each new state with up to `left` events.
static void explore(struct search *x, const struct state *s, int depth, int left)
{
    for (int event = 0; event < EVENTS && !x->found->broken; event++)
        for (int who = 0; who < COLLECTORS && !x->found->broken; who++) {
            struct state next;
            const char *broken = NULL;
            memcpy(&next, s, sizeof next); // the padding too, for the hash
            if (!happen(&next, x->rules, (enum event)event, who, &broken))
                continue;
            x->events[depth] = names[event];
            x->who[depth] = (uint8_t)who;
            if (!broken)
                broken = judge(&next);
            if (broken)
                tell(x, broken, depth);
            else if (left > 1 && !known(x, &next, left - 1))
                explore(x, &next, depth + 1, left - 1);
        }
}

struct model_found model_explore(const struct model_rules *rules, int depth)
{
    struct model_found found = {0};
    struct search x = {.rules = rules, .found = &found, .mask = ((size_t)1 << 22) - 1};
    struct state start;

    memset(&start, 0, sizeof start);
    start.tick = start.now.bucket = 1;
    for (int i = 0; i < COLLECTORS; i++)
        start.c[i].number = ++start.numbers;
    x.seen = calloc(x.mask + 1, sizeof *x.seen);
    if (!x.seen)
        abort();
    explore(&x, &start, 0, depth);
    found.states = x.used;
    free(x.seen);
    return found;
}
