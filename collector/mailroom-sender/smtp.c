#include "mailroom-sender/smtp.h"

#include <time.h>

#include <curl/curl.h>
#include <openssl/evp.h>

#include "base/utf8.h"

#define BODY_MAX ((size_t)1024 * 1024)

struct smtp {
    const struct settings *settings; // borrowed
    CURL *easy;
    struct buf body; // the text of the mail in hand
    struct buf mail; // all of that mail, with its header
    size_t sent;     // bytes of `mail` that libcurl has taken
    // transfer_mail clears these for each mail:
    bool quitting;                 // libcurl has sent QUIT
    char command[16];              // the last command before QUIT, without its arguments
    char said[256];                // the server's last line before QUIT
    char failure[CURL_ERROR_SIZE]; // libcurl's text for a failure
};

enum outcome smtp_judge(long code, const char *command)
{
    bool mails_fault = strcmp(command, "RCPT") == 0 || strcmp(command, "DATA") == 0;

    if (code == 421 || code == 454 || !mails_fault)
        return MAIL_LATER;
    if (code >= 400 && code < 500)
        return MAIL_TRANSIENT;
    return code >= 500 && code < 600 ? MAIL_PERMANENT : MAIL_LATER;
}

// Copies as much of the first line of `data` as there is room for, and makes it fit to be shown.
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

// Keeps the server's last line; libcurl hands over the server's lines as headers.
static size_t on_header(char *data, size_t one, size_t len, void *context)
{
    struct smtp *s = context;

    (void)one; // always 1
    if (!s->quitting)
        copy_line(s->said, sizeof s->said, data, len);
    return len;
}

// Notes the last command before QUIT. libcurl does not report the end of a mail's data as a
// command, so the server's reply to the whole mail counts as one to DATA. QUIT does not count:
// libcurl sends it after a refusal, and its reply (221) would hide the refusal.
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

// Copies the next part of the mail to `out`. Returns how many bytes; 0: the mail has ended.
static size_t on_mail_read(char *out, size_t one, size_t room, void *context)
{
    struct smtp *s = context;
    size_t left = s->mail.len - s->sent, n = left < one * room ? left : one * room;

    memcpy(out, s->mail.data + s->sent, n);
    s->sent += n;
    return n;
}

// Goes back in the mail: libcurl sends it again when the connection that it used had ended.
static int on_mail_seek(void *context, curl_off_t offset, int origin)
{
    struct smtp *s = context;

    if (origin != SEEK_SET || offset < 0 || (size_t)offset > s->mail.len)
        return CURL_SEEKFUNC_CANTSEEK;
    s->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

// Sets what all mails have in common.
static void configure_curl(struct smtp *s)
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
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, s->failure);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, s);
    // Prints nothing. The callback only learns which command libcurl sent last.
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, s);
    curl_easy_setopt(easy, CURLOPT_MAIL_FROM, c->from);
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_mail_read);
    curl_easy_setopt(easy, CURLOPT_READDATA, s);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_mail_seek);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, s);
}

static bool make_handle(struct smtp *s, struct err *e)
{
    s->easy = curl_easy_init();
    if (!s->easy)
        return err_set(e, ERR_SYSTEM, "libcurl cannot be used");
    configure_curl(s);
    return true;
}

bool smtp_hang_up(struct smtp *s, struct err *e)
{
    curl_easy_cleanup(s->easy); // sends QUIT and closes the connection
    return make_handle(s, e);
}

struct smtp *smtp_new(const struct settings *settings, struct err *e)
{
    struct smtp *s = calloc(1, sizeof *s);

    if (!s) {
        err_memory(e);
        return NULL;
    }
    s->settings = settings;
    buf_init(&s->body, BODY_MAX);
    buf_init(&s->mail, 2 * BODY_MAX); // base64 makes four bytes of three
    if (!make_handle(s, e)) {
        smtp_free(s);
        return NULL;
    }
    return s;
}

void smtp_free(struct smtp *s)
{
    if (!s)
        return;
    curl_easy_cleanup(s->easy);
    buf_fini(&s->body);
    buf_fini(&s->mail);
    free(s);
}

// Tells whether a body can go out as it is: plain ASCII in lines that SMTP allows, 998 bytes
// without their end (RFC 5321, 4.5.3.1.6). Other bodies go as base64, which any server passes on
// unchanged.
static bool is_seven_bit(const struct buf *body)
{
    size_t line = 0;

    for (size_t i = 0; i < body->len; i++) {
        line = body->data[i] == '\n' ? 0 : line + 1;
        if ((unsigned char)body->data[i] > 0x7e || line > 999) // 998 bytes, and the CR
            return false;
    }
    return true;
}

// Appends lines of 76 characters, the most that MIME allows.
static void add_base64(struct buf *out, const struct buf *body)
{
    enum { BYTES = 57 }; // these make 76 characters
    unsigned char line[BYTES / 3 * 4 + 1];

    for (size_t at = 0; at < body->len; at += BYTES) {
        size_t n = body->len - at < BYTES ? body->len - at : BYTES;
        int len = EVP_EncodeBlock(line, (const unsigned char *)body->data + at, (int)n);
        buf_append(out, line, (size_t)len);
        buf_append_str(out, "\r\n");
    }
}

// Makes the whole mail. libcurl's own MIME functions are not used, because they make a multipart
// mail even of a single part, and some programs show that part as an attachment.
static bool make_mail(
    struct smtp *s, const struct template *t, const struct record *r, struct err *e)
{
    const char *name = s->settings->from_name;
    char id[MAIL_ID_LEN], date[64];
    time_t now = time(NULL);
    struct tm utc;

    s->sent = 0;
    buf_clear(&s->body);
    buf_clear(&s->mail);
    if (!mail_body(&s->body, t, r, s->settings->site, e) || !mail_id(id, r, s->settings->from, e))
        return false;
    bool plain = is_seven_bit(&s->body);
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &utc);
    buf_printf(&s->mail, "Date: %s\r\n", date);
    if (name && *name)
        buf_printf(&s->mail, "From: \"%s\" <%s>\r\n", name, s->settings->from);
    else
        buf_printf(&s->mail, "From: <%s>\r\n", s->settings->from);
    buf_printf(&s->mail, "To: <%.*s>\r\n", (int)r->email.len, r->email.data);
    buf_printf(&s->mail,
        "Subject: %s\r\nMessage-ID: %s\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: %s\r\n\r\n",
        t->subject, id, plain ? "7bit" : "base64");
    if (plain)
        buf_append(&s->mail, s->body.data, s->body.len);
    else
        add_base64(&s->mail, &s->body);
    return !s->mail.failed || err_set(e, ERR_SYSTEM, "a mail is too long");
}

// Fills in *reply after a transfer. Without a refusal of the server (a code from 400 on), a failure
// is one of the network or of libcurl, and not the mail's fault.
static void judge_reply(struct smtp *s, CURLcode result, struct reply *reply)
{
    long code = strtol(s->said, NULL, 10);

    reply->outcome = result == CURLE_OK ? MAIL_SENT : smtp_judge(code, s->command);
    // The server's reply is the best explanation; if there is none, libcurl's text is.
    const char *text = *s->failure ? s->failure : curl_easy_strerror(result);
    if (result == CURLE_OK || (code >= 400 && *s->said))
        text = s->said;
    copy_line(reply->text, sizeof reply->text, text, strlen(text));
}

// Sends the mail that make_mail has made to this address, and fills in *reply.
static void transfer_mail(struct smtp *s, const char *to, struct reply *reply)
{
    struct curl_slist *recipients = curl_slist_append(NULL, to);

    s->said[0] = s->failure[0] = s->command[0] = '\0';
    s->quitting = false;
    if (!recipients) {
        *reply = (struct reply){.outcome = MAIL_LATER, .text = "no memory for a mail"};
        return;
    }
    curl_easy_setopt(s->easy, CURLOPT_MAIL_RCPT, recipients);
    curl_easy_setopt(s->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)s->mail.len);
    judge_reply(s, curl_easy_perform(s->easy), reply);
    // The handle must not keep anything of this mail.
    curl_easy_setopt(s->easy, CURLOPT_MAIL_RCPT, NULL);
    curl_slist_free_all(recipients);
}

bool smtp_send(struct smtp *s, const struct template *t, const struct record *r,
    struct reply *reply, struct err *e)
{
    char to[512];
    int len = snprintf(to, sizeof to, "%.*s", (int)r->email.len, r->email.data);

    if (len < 0 || (size_t)len >= sizeof to) {
        *reply = (struct reply){.outcome = MAIL_PERMANENT, .text = "the address is too long"};
        return true;
    }
    if (!make_mail(s, t, r, e))
        return false;
    transfer_mail(s, to, reply);
    return true;
}
