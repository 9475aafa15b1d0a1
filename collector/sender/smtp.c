#include "sender/smtp.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/utf8.h"

struct smtp {
    const struct settings *settings; // borrowed
    CURL *easy;
    struct buf body;
    bool quitting;              // libcurl has sent QUIT
    char command[16];           // the last command before QUIT, without its arguments
    char said[256];             // the server's last line before QUIT
    char curl[CURL_ERROR_SIZE]; // libcurl's text for a failure
};

enum outcome smtp_judge(long code, const char *command)
{
    bool ours = strcmp(command, "RCPT") == 0 || strcmp(command, "DATA") == 0;

    if (code == 421 || code == 454 || !ours)
        return MAIL_LATER;
    if (code >= 400 && code < 500)
        return MAIL_TRANSIENT;
    return code >= 500 && code < 600 ? MAIL_PERMANENT : MAIL_LATER;
}

static void copy_line(char *out, size_t size, const char *data, size_t len)
{
    size_t n = 0;

    while (n < len && n < size - 1 && data[n] != '\r' && data[n] != '\n') {
        out[n] = data[n] ? data[n] : '?';
        n++;
    }
    out[n] = '\0';
    utf8_mend(out);
}

static size_t on_header(char *data, size_t one, size_t len, void *context)
{
    struct smtp *s = context;

    (void)one; // always 1
    if (!s->quitting)
        copy_line(s->said, sizeof s->said, data, len);
    return len;
}

// Notes the last command. The end of a mail's data belongs to DATA and comes as no header. After a
// refusal libcurl sends QUIT, whose reply 221 would hide the refusal.
static int on_debug(CURL *easy, curl_infotype type, char *data, size_t len, void *context)
{
    struct smtp *s = context;
    size_t word = 0;

    (void)easy;
    if (type != CURLINFO_HEADER_OUT || s->quitting)
        return 0;
    s->quitting = len >= 4 && memcmp(data, "QUIT", 4) == 0;
    if (s->quitting)
        return 0;
    while (word < len && word < sizeof s->command - 1 && data[word] > ' ')
        word++;
    memcpy(s->command, data, word);
    s->command[word] = '\0';
    return 0;
}

static void configure(struct smtp *s)
{
    const struct settings *c = s->settings;
    CURL *easy = s->easy;

    curl_easy_setopt(easy, CURLOPT_URL, c->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)c->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)c->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_USE_SSL,
        (long)(strcmp(c->tls, "require") == 0 ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    if (c->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca_file);
    if (c->user) {
        curl_easy_setopt(easy, CURLOPT_USERNAME, c->user);
        curl_easy_setopt(easy, CURLOPT_PASSWORD, c->password);
    }
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, s->curl);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, s);
    // Prints nothing. The callback only learns which command libcurl sent last.
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, s);
    curl_easy_setopt(easy, CURLOPT_MAIL_FROM, c->from);
}

struct smtp *smtp_new(const struct settings *settings, struct err *e)
{
    struct smtp *s = calloc(1, sizeof *s);

    if (!s) {
        err_memory(e);
        return NULL;
    }
    s->settings = settings;
    buf_init(&s->body, (size_t)1024 * 1024);
    if (!smtp_rest(s, e)) {
        smtp_free(s);
        return NULL;
    }
    return s;
}

bool smtp_rest(struct smtp *s, struct err *e)
{
    curl_easy_cleanup(s->easy);
    s->easy = curl_easy_init();
    if (!s->easy)
        return err_set(e, ERR_SYSTEM, "libcurl cannot be used");
    configure(s);
    return true;
}

void smtp_free(struct smtp *s)
{
    if (!s)
        return;
    curl_easy_cleanup(s->easy);
    buf_fini(&s->body);
    free(s);
}

static bool add_header(struct curl_slist **list, struct err *e, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static bool add_header(struct curl_slist **list, struct err *e, const char *fmt, ...)
{
    char line[1024];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof line)
        return err_set(e, ERR_SYSTEM, "a header of a mail is too long");
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (!longer)
        return err_memory(e);
    *list = longer;
    return true;
}

static bool add_headers(struct curl_slist **list, const struct smtp *s, const struct template *t,
    const struct record *r, struct err *e)
{
    char id[MAIL_ID_LEN], date[64];
    time_t now = time(NULL);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &utc);
    return mail_id(id, r, s->settings->from, e) && add_header(list, e, "Date: %s", date) &&
           add_header(list, e, "From: <%s>", s->settings->from) &&
           add_header(list, e, "To: <%.*s>", (int)r->email.len, r->email.data) &&
           add_header(list, e, "Subject: %s", t->subject) &&
           add_header(list, e, "Message-ID: %s", id) &&
           add_header(list, e, "Auto-Submitted: auto-generated");
}

static bool add_body(curl_mime *mime, const struct buf *body, struct err *e)
{
    curl_mimepart *part = mime ? curl_mime_addpart(mime) : NULL;

    if (!part || curl_mime_data(part, body->data, body->len) != CURLE_OK ||
        curl_mime_type(part, "text/plain; charset=utf-8") != CURLE_OK ||
        curl_mime_encoder(part, "quoted-printable") != CURLE_OK)
        return err_memory(e);
    return true;
}

static void judge_reply(struct smtp *s, CURLcode result, struct reply *reply)
{
    long code = strtol(s->said, NULL, 10);

    reply->outcome = result == CURLE_OK ? MAIL_SENT : smtp_judge(code, s->command);
    // The server's reply is the best explanation; if there is none, libcurl's text is.
    const char *text = *s->curl ? s->curl : curl_easy_strerror(result);
    if (result == CURLE_OK || (code >= 400 && *s->said))
        text = s->said;
    copy_line(reply->text, sizeof reply->text, text, strlen(text));
    if (result != CURLE_OK && code < 400)
        reply->outcome = MAIL_LATER;
}

static void transfer(struct smtp *s, curl_mime *mime, struct curl_slist *headers, const char *to,
    struct reply *reply)
{
    struct curl_slist *recipients = curl_slist_append(NULL, to);

    s->said[0] = s->curl[0] = s->command[0] = '\0';
    s->quitting = false;
    if (!recipients) {
        *reply = (struct reply){.outcome = MAIL_LATER, .text = "no memory for a mail"};
        return;
    }
    curl_easy_setopt(s->easy, CURLOPT_MAIL_RCPT, recipients);
    curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(s->easy, CURLOPT_MIMEPOST, mime);
    judge_reply(s, curl_easy_perform(s->easy), reply);
    // The handle must not keep anything of this mail.
    curl_easy_setopt(s->easy, CURLOPT_MIMEPOST, NULL);
    curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(s->easy, CURLOPT_MAIL_RCPT, NULL);
    curl_slist_free_all(recipients);
}

bool smtp_send(struct smtp *s, const struct template *t, const struct record *r,
    struct reply *reply, struct err *e)
{
    struct curl_slist *headers = NULL;
    char to[512];
    int len = snprintf(to, sizeof to, "%.*s", (int)r->email.len, r->email.data);

    if (len < 0 || (size_t)len >= sizeof to) {
        *reply = (struct reply){.outcome = MAIL_PERMANENT, .text = "the address is too long"};
        return true;
    }
    curl_mime *mime = curl_mime_init(s->easy);
    buf_clear(&s->body);
    bool ok = mail_body(&s->body, t, r, s->settings->site, e) && add_body(mime, &s->body, e) &&
              add_headers(&headers, s, t, r, e);
    if (ok)
        transfer(s, mime, headers, to, reply);
    curl_mime_free(mime);
    curl_slist_free_all(headers);
    return ok;
}
