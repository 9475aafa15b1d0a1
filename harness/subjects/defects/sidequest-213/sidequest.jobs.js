// The jobs of sidequest's consumer, which it finds by this file's name.
"use strict";
const { handle } = require("../../answers");
const { Job } = require(`${process.cwd()}/node_modules/sidequest`);

exports.Got = class Got extends Job {
    async run(id) {
        await handle(id, 1);
    }
};
