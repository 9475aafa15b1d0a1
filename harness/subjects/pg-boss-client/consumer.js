// Fetches jobs, says "got N ATTEMPT", and ends each handler as the harness answers: "ok N",
// "fail N" or "hang N". With the argument "schema" it only makes the tables and the queue.
"use strict";
const { writeSync } = require("fs");
const { createInterface } = require("readline");
const { start } = require("../pg-boss/boss");

const waiting = new Map(); // for each job, the function that takes its answer

function answerOf(id) {
    return new Promise((resolve) => waiting.set(id, resolve));
}

async function work(boss, job) {
    const id = job.data.id;
    const answer = answerOf(id);
    writeSync(1, `got ${id} ${job.retryCount + 1}\n`);
    const word = await answer;
    if (word === "hang") return;
    if (word === "fail") return boss.fail("q", job.id);
    await boss.complete("q", job.id);
    writeSync(1, `done ${id}\n`);
}

async function main() {
    const boss = await start({ superviseIntervalSeconds: 2, maintenanceIntervalSeconds: 2, monitorIntervalSeconds: 2 });
    if (process.argv[2] === "schema") {
        await boss.createQueue("q", { retryLimit: 20, retryDelay: 1, expireInSeconds: 5 });
        return boss.stop({ graceful: false });
    }
    process.on("SIGTERM", () => process.exit(0));
    createInterface({ input: process.stdin }).on("line", (line) => {
        const [word, id] = line.split(" ");
        waiting.get(Number(id))?.(word);
        waiting.delete(Number(id));
    });
    for (;;) {
        const jobs = await boss.fetch("q", { batchSize: 50, includeMetadata: true }).catch(() => []);
        for (const job of jobs || []) work(boss, job).catch((error) => process.stderr.write(`${error.message}\n`));
        if (!jobs?.length) await new Promise((wake) => setTimeout(wake, 500));
    }
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
