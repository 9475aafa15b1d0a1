#!/usr/bin/env node
// A mail collector in Node.js, with pg (npm ci in this folder) and the outbox of ../outbox.sql.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const {Client} = require('pg');

const LIMIT = Number(process.env.MAILROOM_BATCH_LIMIT ?? 10);
const TIMEOUT = Number(process.env.MAILROOM_BATCH_TIMEOUT ?? 5000);
const HEALTH = Number(process.env.MAILROOM_HEALTHCHECK_INTERVAL ?? 270000);
const ANSWER = 5000; // milliseconds that one query may take
const NOTICE = Math.min(25, TIMEOUT); // by which a token's notice may come later than the token
const BATCH = `SELECT o.token, t.account, t.action, a.email, a.login, t.secret, t.code,
        t.consumed_at IS NULL AND t.expires_at > extract(epoch FROM now())
        AND (t.action, a.status) IN (('activation', 'provisioned'), ('password_recovery', 'active'))
            AS eligible
    FROM outbox o LEFT JOIN tokens t ON t.id = o.token LEFT JOIN accounts a ON a.id = t.account
    ORDER BY o.token LIMIT $1`;
const FORGET = 'DELETE FROM outbox WHERE token = ANY($1)';
const BURY = `WITH gone AS (DELETE FROM outbox WHERE token = $1 RETURNING token)
    INSERT INTO dead_letters (token, account, action, reason) SELECT token, $2, $3, $4 FROM gone`;

let stop = false, ready = false, failures = 0, wake = () => {};
let unconfirmed = []; // ids of a line that was written and may still be in the outbox

const now = () => performance.now();
const log = text => process.stderr.write(`${new Date().toISOString()} ${String(text).trim()}\n`);
// Waits for a notice, a signal or the end of the session, at most so many milliseconds.
const rest = ms => new Promise(resolve => {
    const timer = setTimeout(() => resolve(false), Math.min(ms, 2 ** 31 - 1));
    wake = () => { clearTimeout(timer); resolve(true); };
});

function unsendable(action, row) {
    if (/[,"\x00-\x1f\x7f-\x9f]/.test(row.email + row.login))
        return 'comma, quote or control character in email or login';
    const code = row.code ?? '';
    if (row.secret.length !== 32 || !(/^[0-9]{5}$/.test(code) || (action === 1 && code === '')))
        return 'secret is not 32 bytes, or code not 5 digits';
    return null;
}

function fields(action, row) {
    const hmac = crypto.createHmac('sha256', KEY).update(action === 1 ? '/activate' : '/recover');
    hmac.update(row.secret);
    if (action === 2)
        hmac.update(row.code);
    const text = Buffer.concat([row.secret, hmac.digest()]).toString('base64url');
    return [action, row.email, row.login, text, row.code ?? ''].join(',');
}

// Returns the next batch; tokens that cannot be sent leave the outbox here.
async function take(db) {
    for (;;) {
        const batch = [], passed = [], dead = [];
        for (const row of (await db.query(BATCH, [LIMIT])).rows) {
            const action = row.action === 'activation' ? 1 : 2;
            const reason = row.eligible ? unsendable(action, row) : null;
            if (!row.eligible)
                passed.push(row.token);
            else if (reason)
                dead.push([row.token, row.account, row.action, reason]);
            else
                batch.push({token: row.token, text: fields(action, row)});
        }
        if (!passed.length && !dead.length)
            return batch;
        log(`${passed.length} tokens are not eligible, ${dead.length} cannot be sent`);
        await db.query(FORGET, [passed]);
        for (const letter of dead)
            await db.query(BURY, letter);
    }
}

// process.stdout would block the whole process, signals and all, while its reader stands still. This
// write blocks a thread.
async function write(text) {
    for (let data = Buffer.from(text); data.length > 0;) {
        const written = await new Promise((resolve, reject) => fs.write(1, data,
            (error, count) => error ? reject(error) : resolve(count)));
        data = data.subarray(written);
    }
}

async function confirm(db) {
    await db.query(FORGET, [unconfirmed]);
    unconfirmed = [];
}

// Written first, then forgotten: a death in between repeats the line.
async function send(db, batch) {
    await write(batch.map(one => one.text).join(',') + '\n').catch(error => {
        log(`standard output: ${error.message}`);
        process.exit(74);
    });
    unconfirmed = batch.map(one => one.token);
    await confirm(db);
}

// One session, until it dies or the process is told to stop.
async function serve(db) {
    const due = new Map(); // when each waiting token has to go, by its id
    let more = true;       // a full batch was sent: look again at once
    let patience = -Infinity; // how long a token waits that was not announced; at first: not at all

    db.on('notification', notice => {
        due.set(notice.payload, now() + TIMEOUT);
        wake();
    });
    await db.query('LISTEN token_insert');
    await confirm(db); // the line that the last session could not confirm
    while (!stop) {
        let first = Infinity;
        for (const at of due.values())
            first = Math.min(first, at);
        if (db.lost)
            throw db.lost;
        if (now() < first && due.size < LIMIT && !more) {
            if (!await rest(Math.min(first - now(), HEALTH)) && first === Infinity)
                await db.query('SELECT 1'); // nothing was heard for long: does the session live?
            continue;
        }
        // A token that is announced from here on may come too late for this look.
        const before = [...due.keys()];
        const batch = await take(db);
        const at = now(), waiting = new Set(batch.map(one => one.token));
        more = batch.length === LIMIT;
        for (const token of waiting) {
            if (!due.has(token))
                due.set(token, at + patience);
        }
        patience = NOTICE;
        // All that waits is in a batch that is not full; others were passed over, or sent before.
        for (const token of more ? [] : before) {
            if (!waiting.has(token))
                due.delete(token);
        }
        if (more || batch.some(one => due.get(one.token) <= at)) {
            await send(db, batch);
            for (const token of waiting)
                due.delete(token);
        }
    }
}

async function session() {
    // pg knows URLs and libpq's variables, and mailproof sets the latter, too.
    const db = new Client({connectionTimeoutMillis: ANSWER, query_timeout: ANSWER, keepAlive: true});
    db.on('error', error => { db.lost = error; wake(); });
    try {
        await db.connect();
        if (!ready)
            await db.query(fs.readFileSync(path.join(__dirname, '..', 'outbox.sql'), 'utf8'));
        log('[PG] connected');
        ready = true;
        failures = 0;
        await serve(db);
    } finally {
        db.connection.stream.destroy(); // end() would wait for a server that is silent
    }
}

// A lost connection has no SQLSTATE, or one of these classes.
function is_lost(error) {
    return !/^[0-9A-Z]{5}$/.test(error.code ?? '') || /^(08|25|40|53|55|57|58|XX)/.test(error.code);
}

async function main() {
    while (!stop) {
        try {
            await session();
        } catch (error) {
            log(error.message);
            if (!is_lost(error)) {
                log('the schema does not fit');
                process.exit(78);
            }
            failures = Math.min(failures + 1, 8);
            if (!stop)
                await rest((0.5 + Math.random() / 2) * Math.min(20 * 2 ** failures, 1000));
        }
    }
    process.exit(unconfirmed.length ? 75 : 0);
}

// Gives the line that has begun 0.8 s. After that the signal itself ends the process, because exit
// would wait for the thread that writes.
function on_term(signal) {
    stop = true;
    setTimeout(() => {
        process.removeAllListeners(signal);
        process.kill(process.pid, signal);
    }, 800);
    wake();
}

const KEY = Buffer.from(process.env.MAILROOM_SECRET_KEY ?? '', 'hex');
if (KEY.length !== 32 || !process.env.MAILROOM_DATABASE_URL) {
    log('MAILROOM_DATABASE_URL and MAILROOM_SECRET_KEY (64 hex digits) are needed');
    process.exit(78);
}
process.on('SIGTERM', on_term);
process.on('SIGINT', on_term);
main();
