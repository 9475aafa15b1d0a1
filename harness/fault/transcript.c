#include "fault/transcript.h"

#include <ctype.h>

#include "base/utf8.h"

#define LINKS_MAX 64
#define NAMES_MAX 64
#define ASKED_MAX 256
#define NAME_MAX_LEN 64

// A prepared statement, or a portal bound to one.
struct named {
    char kind; // 'S' or 'P', as in Describe and Close
    char name[NAME_MAX_LEN];
    size_t text; // place of its SQL in `texts`, or TRANSCRIPT_NO_TEXT
};

// A message of the client that the server has not answered in full.
struct asked {
    unsigned char type;
    size_t text; // place of its SQL in `texts`, or TRANSCRIPT_NO_TEXT
};

struct transcript_link {
    unsigned number;
    struct named names[NAMES_MAX];
    size_t name_count;
    struct asked asked[ASKED_MAX]; // from first_asked on, in the order of the questions
    size_t first_asked, asked_count;
};

void transcript_init(struct transcript *t)
{
    *t = (struct transcript){0};
    buf_init(&t->texts, 4 << 20);
}

void transcript_fini(struct transcript *t)
{
    free(t->entries);
    free(t->links);
    buf_fini(&t->texts);
    *t = (struct transcript){0};
}

// --- texts ---------------------------------------------------------------------------

// Returns the end of the SQL comment that begins at text[i], if this is the first word of its line;
// otherwise i.
static size_t skip_comment(const char *text, size_t len, size_t i, bool line_begins)
{
    if (!line_begins || i + 1 >= len || text[i] != '-' || text[i + 1] != '-')
        return i;
    while (i < len && text[i] && text[i] != '\n')
        i++;
    return i;
}

// Keeps a text as one line of UTF-8: without comment lines, with one blank between words, and cut
// to the size of `line`. Returns its place in `texts`, or TRANSCRIPT_NO_TEXT.
static size_t keep_transcript_text(struct transcript *t, const char *text, size_t len)
{
    char line[TRANSCRIPT_TEXT_MAX];
    size_t n = 0;
    bool line_begins = true;

    for (size_t i = 0; i < len && text[i] && n < sizeof line - 1; i++) {
        i = skip_comment(text, len, i, line_begins);
        if (i == len || !text[i])
            break;
        bool blank = isspace((unsigned char)text[i]) || iscntrl((unsigned char)text[i]);
        if (!blank)
            line[n++] = text[i];
        else if (n > 0 && line[n - 1] != ' ')
            line[n++] = ' ';
        line_begins = text[i] == '\n' || (line_begins && blank);
    }
    while (n > 0 && line[n - 1] == ' ')
        n--;
    line[n] = '\0';
    utf8_mend(line); // it may be cut within a character, or in another encoding
    size_t place = t->texts.len;
    return n > 0 && buf_append(&t->texts, line, n + 1) ? place : TRANSCRIPT_NO_TEXT;
}

// Copies the string that begins at m->text[at], or its beginning if it is too long or has not
// arrived in full. Returns the place after its NUL.
static size_t take_name(const struct wire_message *m, size_t at, char name[NAME_MAX_LEN])
{
    size_t from = at < m->text_len ? at : m->text_len;
    size_t len = strnlen(m->text + from, m->text_len - from);
    size_t kept = len < NAME_MAX_LEN - 1 ? len : NAME_MAX_LEN - 1;

    memcpy(name, m->text + from, kept);
    name[kept] = '\0';
    return from + len + 1;
}

// --- what a connection has asked for -----------------------------------------------------

// Returns what is known of the connection, which may be new; NULL when there is no room.
static struct transcript_link *find_link(struct transcript *t, unsigned number)
{
    for (size_t i = 0; i < t->link_count; i++) {
        if (t->links[i].number == number)
            return &t->links[i];
    }
    if (t->link_count == LINKS_MAX)
        return NULL;
    if (!t->links)
        t->links = memory_zeroed(LINKS_MAX, sizeof *t->links);
    t->links[t->link_count] = (struct transcript_link){.number = number};
    return &t->links[t->link_count++];
}

// Returns the place of the SQL of a prepared statement ('S') or portal ('P').
static size_t find_named_text(const struct transcript_link *l, char kind, const char *name)
{
    for (size_t i = 0; i < l->name_count; i++) {
        if (l->names[i].kind == kind && strcmp(l->names[i].name, name) == 0)
            return l->names[i].text;
    }
    return TRANSCRIPT_NO_TEXT;
}

// Notes the place of the SQL of a prepared statement ('S') or portal ('P'). Does nothing when there
// is no room for its name.
static void set_named_text(struct transcript_link *l, char kind, const char *name, size_t place)
{
    size_t i = 0;

    while (i < l->name_count && (l->names[i].kind != kind || strcmp(l->names[i].name, name) != 0))
        i++;
    if (i == NAMES_MAX)
        return;
    if (i == l->name_count)
        l->name_count++;
    l->names[i].kind = kind;
    memcpy(l->names[i].name, name, strlen(name) + 1);
    l->names[i].text = place;
}

// Appends a message to those that the server has to answer; drops it when there is no room.
static void expect_answer(struct transcript_link *l, unsigned char type, size_t text)
{
    if (l->asked_count < ASKED_MAX)
        l->asked[(l->first_asked + l->asked_count++) % ASKED_MAX] =
            (struct asked){.type = type, .text = text};
}

static const struct asked *first_asked(const struct transcript_link *l)
{
    return l->asked_count > 0 ? &l->asked[l->first_asked] : NULL;
}

static void forget_first_asked(struct transcript_link *l)
{
    l->first_asked = (l->first_asked + 1) % ASKED_MAX;
    l->asked_count--;
}

// --- the two senders ---------------------------------------------------------------------

// Takes a message of the client. Returns the place of the SQL that it belongs to, and remembers
// that the server has to answer it.
static size_t take_question(
    struct transcript *t, struct transcript_link *l, const struct wire_message *m)
{
    char name[NAME_MAX_LEN] = "", statement[NAME_MAX_LEN] = "";
    size_t text = TRANSCRIPT_NO_TEXT;
    size_t next;

    // The letters are those of the protocol: Query, Parse, Bind, Execute, Describe, Close, Sync.
    switch (m->type) {
    case 'Q':
        text = keep_transcript_text(t, m->text, m->text_len);
        break;
    case 'P':
        next = take_name(m, 0, name);
        if (next < m->text_len)
            text = keep_transcript_text(t, m->text + next, m->text_len - next);
        set_named_text(l, 'S', name, text);
        break;
    case 'B': // the portal's name, then that of the statement
        next = take_name(m, 0, name);
        take_name(m, next, statement);
        text = find_named_text(l, 'S', statement);
        set_named_text(l, 'P', name, text);
        break;
    case 'E':
        take_name(m, 0, name);
        text = find_named_text(l, 'P', name);
        break;
    case 'D':
    case 'C': // the kind, S or P, then the name
        take_name(m, 1, name);
        text = m->text_len > 0 ? find_named_text(l, m->text[0], name) : text;
        break;
    case 'S':
        break;
    default:
        return text; // no statement belongs to it: a password, CopyData, Flush, Terminate
    }
    expect_answer(l, m->type, text);
    return text;
}

// True when a message of type `answer` ends the server's answer to a message of type `type`. The
// answer to a simple query or to Sync ends with ReadyForQuery.
static bool ends_answer(unsigned char type, unsigned char answer)
{
    switch (type) {
    case 'P':
        return answer == '1'; // ParseComplete
    case 'B':
        return answer == '2'; // BindComplete
    case 'C':
        return answer == '3'; // CloseComplete
    case 'D':
        return answer == 'T' || answer == 'n'; // RowDescription or NoData
    case 'E':
        // CommandComplete, EmptyQueryResponse or PortalSuspended
        return answer == 'C' || answer == 'I' || answer == 's';
    default:
        return answer == 'Z';
    }
}

// Keeps the text of an error and returns its place. Each of the error's fields is a letter and a
// string; the letter M stands before the text.
static size_t error_text(struct transcript *t, const struct wire_message *m)
{
    for (size_t at = 0; at < m->text_len && m->text[at];) {
        size_t len = strnlen(m->text + at, m->text_len - at);
        if (m->text[at] == 'M')
            return keep_transcript_text(t, m->text + at + 1, len - 1);
        at += len + 1;
    }
    return TRANSCRIPT_NO_TEXT;
}

// Takes a message of the server. Returns the place of the SQL that it answers, or of a text of its
// own.
static size_t take_transcript_answer(
    struct transcript *t, struct transcript_link *l, const struct wire_message *m)
{
    // Notices and changes of parameters may come at any time, so they answer nothing.
    if (m->type == 'N' || m->type == 'S')
        return TRANSCRIPT_NO_TEXT;
    if (m->type == 'A') // the sender's process id, then the channel
        return m->text_len > 4 ? keep_transcript_text(t, m->text + 4, m->text_len - 4)
                               : TRANSCRIPT_NO_TEXT;
    // After an error, the server answers nothing before the next Sync. ReadyForQuery ends the
    // answer to a Query or a Sync, so all earlier questions are answered by then.
    bool failed = m->type == 'E', ready = m->type == 'Z';
    while ((failed || ready) && first_asked(l) && first_asked(l)->type != 'S' &&
           first_asked(l)->type != 'Q')
        forget_first_asked(l);
    if (failed)
        return error_text(t, m);
    const struct asked *a = first_asked(l);
    if (!a)
        return TRANSCRIPT_NO_TEXT;
    size_t text = a->text;
    if (ends_answer(a->type, m->type))
        forget_first_asked(l);
    return text;
}

static struct transcript_entry *add_transcript_entry(struct transcript *t)
{
    if (t->count == TRANSCRIPT_MAX)
        return NULL;
    if (!t->entries)
        t->entries = memory_zeroed(TRANSCRIPT_MAX, sizeof *t->entries);
    return &t->entries[t->count++];
}

void transcript_take(
    struct transcript *t, unsigned link, enum message_sender sender, const struct wire_message *m)
{
    // The counts include the messages for which a full transcript has no room.
    int n = ++t->counts[sender][m->type];
    struct transcript_entry *entry = add_transcript_entry(t);
    struct transcript_link *l = entry ? find_link(t, link) : NULL;

    if (!entry)
        return;
    *entry = (struct transcript_entry){.link = link, .sender = sender, .type = m->type, .n = n};
    entry->text = !l                         ? TRANSCRIPT_NO_TEXT
                  : sender == MESSAGE_CLIENT ? take_question(t, l, m)
                                             : take_transcript_answer(t, l, m);
}

bool transcript_add(struct transcript *t, unsigned link, enum message_sender sender,
    unsigned char type, int n, const char *text)
{
    struct transcript_entry *entry = add_transcript_entry(t);
    size_t place = t->texts.len;

    if (!entry || (*text && !buf_append(&t->texts, text, strlen(text) + 1)))
        return false;
    *entry = (struct transcript_entry){.link = link,
        .sender = sender,
        .type = type,
        .n = n,
        .text = *text ? place : TRANSCRIPT_NO_TEXT};
    return true;
}

const char *transcript_text(const struct transcript *t, const struct transcript_entry *entry)
{
    return entry->text == TRANSCRIPT_NO_TEXT ? "" : t->texts.data + entry->text;
}

const char *transcript_find(
    const struct transcript *t, enum message_sender sender, unsigned char type, int n)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct transcript_entry *entry = &t->entries[i];
        if (entry->sender == sender && entry->type == type && entry->n == n)
            return transcript_text(t, entry);
    }
    return "";
}
