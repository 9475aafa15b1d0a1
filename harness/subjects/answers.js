// Ends each handler as the harness answers: "ok N", "fail N" or "hang N" on standard input. Where it
// does not answer (MAILPROOF_ANSWERS is not set), a handler ends at once.
"use strict";
const { writeSync } = require("fs");
const { createInterface } = require("readline");

const answers = process.env.MAILPROOF_ANSWERS === "1";
const waiting = new Map(); // for each job, the functions that take its answers, the oldest first

if (answers) {
    createInterface({ input: process.stdin }).on("line", (line) => {
        const [word, id] = line.split(" ");
        waiting.get(Number(id))?.shift()?.(word);
    });
    process.stdin.unref?.(); // it keeps no process alive
}

exports.handle = async function handle(id, attempt) {
    const answer = new Promise((resolve) => {
        if (!waiting.has(id)) waiting.set(id, []);
        waiting.get(id).push(resolve);
    });
    writeSync(1, `got ${id} ${attempt}\n`);
    const word = answers ? await answer : "ok";
    if (word === "fail") throw new Error("as asked");
    if (word === "hang") await new Promise(() => {});
};
