// A worker, after the first example of graphile-worker's documentation. With the argument "schema"
// it only makes its tables.
"use strict";
const { writeSync } = require("fs");
const { Pool } = require("pg");
const { run, runMigrations, Logger } = require("graphile-worker");

const logger = new Logger(() => (level, message) => {
    if (level !== "debug") process.stderr.write(`${level}: ${message}\n`);
});

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
    if (process.argv[2] === "schema") {
        await runMigrations({ pgPool, logger });
        return pgPool.end();
    }
    const runner = await start({
        pgPool,
        logger,
        concurrency: 4,
        noHandleSignals: false,
        taskList: {
            t: async (payload, helpers) => {
                writeSync(1, `got ${payload.id} ${helpers.job.attempts}\n`);
            },
        },
    });
    runner.events.on("job:success", ({ job }) => writeSync(1, `done ${job.payload.id}\n`));
    await runner.promise;
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
