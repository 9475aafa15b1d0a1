// A worker, after the first example of graphile-worker's documentation: consumer.js MODE [MODULE].
// With the mode "schema" it only makes its tables; with "advised" it has the settings that the
// documentation advises to all; with "throws" each first attempt of a task fails; with "listens" it
// polls every ten minutes, so that only a notice wakes it in time. MODULE is another
// version of graphile-worker. No event of graphile-worker says that a completion is durable, so it
// writes no "done".
"use strict";
const { handle } = require("../answers");
// It logs to the console, but standard output is for the lines about jobs.
console.log = console.info = console.warn = console.debug = () => {};
const { Pool } = require("pg");
const { run, runMigrations, Logger } = require(process.argv[3] || "graphile-worker");

const mode = process.argv[2];
const logger = new Logger(() => (level, message) => {
    if (level !== "debug") process.stderr.write(`${level}: ${message}\n`);
});
const advised = { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } };

// Repeats the start until the server is there, as a supervisor of a worker does.
async function start(options) {
    for (;;) {
        try {
            return await run(options);
        } catch (error) {
            process.stderr.write(`start: ${error.message}\n`);
            await new Promise((wake) => setTimeout(wake, 200));
        }
    }
}

async function main() {
    const pgPool = new Pool({ max: 10 });
    // The documentation asks for both handlers.
    pgPool.on("error", (error) => process.stderr.write(`pool: ${error.message}\n`));
    pgPool.on("connect", (client) => client.on("error", (error) => process.stderr.write(`client: ${error.message}\n`)));
    if (mode === "schema") {
        await runMigrations({ pgPool, logger });
        return pgPool.end();
    }
    const runner = await start({
        pgPool,
        logger,
        concurrency: 4,
        pollInterval: mode === "listens" ? 600000 : undefined,
        noHandleSignals: false,
        preset: mode === "advised" ? advised : undefined,
        taskList: {
            t: async (payload, helpers) => {
                if (mode === "throws" && helpers.job.attempts === 1) throw new Error("as asked");
                await handle(payload.id, helpers.job.attempts);
            },
        },
    });
    await runner.promise;
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
